"""Processes a program starts: their words, what they see of the environment, the permission (O-4.17, O-4.38, O-4.42, G-11.1).

Hands on `split_command`, `environment`, `start` and `start_process`.
"""

from __future__ import annotations

import os

from ..access.permissions import Access, guarded, permissions_of
from ..access.roots import real_path
from ..access.secrets import is_secret_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence
    from typing import TypeVar

    from ..running import Running
    from .child import Child

    T = TypeVar("T")

INHERITED = ("PATH", "HOME", "LANG", "TMPDIR")  # what every child sees (O-4.42)


class Missing(Exception):
    """The host lacks the variable `source`, which the child was to see as `name`."""

    def __init__(self, name: str, source: str) -> None:
        super().__init__(name, source)
        self.name = name
        self.source = source

    @property
    def message(self) -> str:
        return f"the environment variable {self.source} is not set"


class NotStarted(Exception):
    """The command is there but does not start."""

    def __init__(self, command: str, reason: object) -> None:
        super().__init__(command, reason)
        self.message = f"the command {command} does not start: {reason}"


def split_command(command: str, args: Sequence[str] | None = None) -> list[str]:
    """The words of a command, split by POSIX quoting when `args` is None. Raises ValueError."""
    if args is not None:
        return [command, *args]
    import shlex

    words = shlex.split(command)
    if not words:
        raise ValueError("it is empty")
    return words


def environment(run: Running, variables: Mapping[str, str | dict[str, str]]) -> dict[str, str]:
    """PATH, HOME, LANG, TMPDIR and `variables`, from the name the child sees to that of the host, or to `{"value": text}`; values
    of secret names are learnt by the redactor. Raises Missing."""
    host = run.host.env
    found = {name: host[name] for name in INHERITED if name in host}
    for name, source in variables.items():
        if not isinstance(source, str):
            found[name], source = source["value"], name
        elif source in host:
            found[name] = host[source]
        else:
            raise Missing(name, source)
        if is_secret_name(source) or is_secret_name(name):
            run.redactor.add(found[name], source)
    return found


def permitted_name(name: str, folder: str) -> str:
    """A command as permissions name it: a path without links, or a name that is searched."""
    return real_path(os.path.join(folder, name)) if "/" in name else name


async def start(run: Running, words: Sequence[str], folder: str, begin: Callable[[list[str]], Awaitable[T]]) -> T:
    """Starts a command, if that is permitted: what `begin` makes of its argument list. Raises Denied, NotStarted."""
    name = words[0]
    command = permitted_name(name, folder)

    async def started() -> T:
        try:
            return await begin([command, *words[1:]])
        except (OSError, ValueError) as error:
            raise NotStarted(name, getattr(error, "strerror", None) or error) from None

    access = Access("run", command, "audit:run", {"command": command})
    return await guarded(run, access, permissions_of(run).allows_command(command), started)


async def start_process(run: Running, owner: str, words: Sequence[str], env: dict[str, str], folder: str) -> Child:
    """A process of the system, or what the host has in its place. Raises as `start`."""

    async def begin(arguments: list[str]) -> Child:
        from .child import Child

        child: Child = await (run.host.children or Child.started)(owner, arguments, env, folder)
        return child

    return await start(run, words, folder, begin)
