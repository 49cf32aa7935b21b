"""Starting the processes of a program: the words of a command, the environment, the permission (O-4.17, O-4.38, O-4.42, G-11.1).

Hands on `split_command` and `environment` to agents, MCP servers and ShellTool (`effects/files.py`), `start_process` to agents
and ShellTool, `start` and `permitted_name` to MCP servers, and the exceptions `Missing` and `NotStarted` to those who meet
them: a program must start no process in another way. What a running process can do is `child.py`. The variables that every
child sees are INHERITED.
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

    from ..running import EffectContext
    from .child import Child

    T = TypeVar("T")

INHERITED = ("PATH", "HOME", "LANG", "TMPDIR")  # variables that every child sees (O-4.42)


class Missing(Exception):
    """The host lacks the variable of the environment `source`, which the child was to see under `name`."""

    def __init__(self, name: str, source: str) -> None:
        super().__init__(name, source)
        self.name = name
        self.source = source

    @property
    def message(self) -> str:
        """Return what is missing, for a message."""
        return f"the environment variable {self.source} is not set"


class NotStarted(Exception):
    """A permitted command that does not start; `message` says why."""

    def __init__(self, command: str, reason: object) -> None:
        super().__init__(command, reason)
        self.message = f"the command {command} does not start: {reason}"


def split_command(command: str, args: Sequence[str] | None = None) -> list[str]:
    """Return the words of a command: the command as it is and then `args`, or, when `args` is None, the command split by POSIX
    quoting. Raises ValueError when it cannot be split, or is split into no words."""
    if args is not None:
        return [command, *args]
    import shlex

    words = shlex.split(command)
    if not words:
        raise ValueError("it is empty")
    return words


def environment(run: EffectContext, owner: str, variables: Mapping[str, str | dict[str, str]]) -> dict[str, str]:
    """Return the environment of a child: those variables of INHERITED that the host has, TRACEPARENT, and TRACESTATE if there
    is one, where spans are sent, and `variables`. Raises Missing when the host lacks one of the latter.

    `variables` maps the name that the child sees to the name that the host has, or to `{"value": text}`. The values of secret
    names become known to the redactor: one of the host by its variable there, a text by `OWNER.NAME`, since each `owner` (the
    name of an agent or tool) may have another one."""
    host = run.host.env
    env = {name: host[name] for name in INHERITED if name in host}
    if run.services.telemetry is not None:
        env |= {name.upper(): value for name, value in run.services.telemetry.carrier().items()}
    for name, source in variables.items():
        if not isinstance(source, str):
            known_as, value = f"{owner}.{name}", source["value"]
        elif source in host:
            known_as, value = source, host[source]
        else:
            raise Missing(name, source)
        env[name] = value
        if is_secret_name(name) or (known_as == source and is_secret_name(source)):
            run.redactor.add(value, known_as)
    return env


def permitted_name(name: str, folder: str) -> str:
    """Return a command as permissions name it: a path (it has a `/`), absolute from `folder` and with its links resolved; or a
    bare name, which the system searches."""
    return real_path(os.path.join(folder, name)) if "/" in name else name


async def start(run: EffectContext, words: Sequence[str], folder: str, begin: Callable[[list[str], str], Awaitable[T]]) -> T:
    """Start a command, if that is permitted: return what `begin` returns for its argument list, which begins with the file that
    is executed, and for the name by which the process is to know itself: the same without links resolved, by which a Python of a
    virtual environment finds its packages. `words` has at least one word, the command, which may be a path relative to `folder`.
    An audit record of the session `run` tells of the start or the denial.

    Raises Denied (`access/permissions.py`) where the program may not run the command, and NotStarted when `begin` raises OSError
    or ValueError; its other exceptions pass through."""
    name = words[0]
    command = permitted_name(name, folder)
    known_as = os.path.abspath(os.path.join(folder, name)) if "/" in name else name

    async def perform() -> T:
        try:
            return await begin([command, *words[1:]], known_as)
        except (OSError, ValueError) as error:
            raise NotStarted(name, getattr(error, "strerror", None) or error) from None

    access = Access("run", command, "audit:run", {"command": command})
    return await guarded(run, access, permissions_of(run).allows_command(command), perform)


async def start_process(run: EffectContext, owner: str, words: Sequence[str], env: dict[str, str], folder: str) -> Child:
    """Start a process of the system in `folder`, or what the host has in its place (`Host.children`), and return it; `owner` is
    the name of the agent or tool that it is for, `env` the whole environment, as `environment` gives it. The caller must `stop`
    it. Raises as `start`, and `roots.Unsupported` where no process could be ended safely; other exceptions of the host's own
    `children` pass through."""

    async def begin(arguments: list[str], known_as: str) -> Child:
        if run.host.children is not None:
            child: Child = await run.host.children(owner, arguments, env, folder)
            return child
        from .child import Child

        return await Child.start([known_as, *arguments[1:]], env, folder, arguments[0])

    return await start(run, words, folder, begin)
