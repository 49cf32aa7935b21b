"""The grants of one run and what they match (O-4.12 to O-4.18), and the tools it may not use (O-4.20).

Hands on `Permissions`.
"""

from __future__ import annotations

from ...vm.builtins.capabilities import BY_KEY, BY_NAME, Malformed, canonical_host, split_host
from ...vm.panics import Panic
from ...vm.values import Err, ErrorValue
from ..errors import ConfigFailure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping
    from typing import Any, NoReturn, TypeVar

    from ...vm.interp.effects import Effect
    from ..running import Running

    Scope = tuple[str, ...] | bool


class Permissions:
    """The grants of one run, a scope per capability key: True for all of it, else the texts granted, none by default. `named`:
    the texts alone, which stand beside a True and open what it does not (G-8.9). `tools`: by tool whether it may be used, or
    the methods that may; `disabled`: those taken away on top, as `T` or `T.m`."""

    __slots__ = ("scopes", "named", "tools", "disabled", "in_python")

    def __init__(self, scopes: Mapping[str, Scope] | None = None) -> None:
        """Raises Malformed for a scope that is written wrongly."""
        self.scopes: dict[str, Scope] = dict.fromkeys(BY_KEY, ())
        self.named: dict[str, tuple[str, ...]] = dict.fromkeys(BY_KEY, ())
        self.tools: dict[str, bool | tuple[str, ...]] = {}
        self.disabled: tuple[str, ...] = ()
        self.in_python = False  # a host of Python grants, not a command line
        for key, scope in (scopes or {}).items():
            self.grant(key, scope)

    @classmethod
    def of_texts(cls, texts: Iterable[str]) -> Permissions:
        """From `fs:read=in`, or `net` for all of it."""
        made = cls()
        for text in texts:
            name, given, scope = text.partition("=")
            if name not in BY_NAME:
                raise Malformed(f"{name!r} is no capability; there are {', '.join(BY_NAME)}")
            made.grant(BY_NAME[name].key, (scope,) if given else True)
        return made

    def grant(self, key: str, scope: Any) -> None:
        """Adds to what is granted; no grant takes from another (G-8.9)."""
        if scope is True:
            self.scopes[key] = True
            return
        texts = tuple(scope or ())
        for text in texts:
            BY_KEY[key].check(text)
        self.named[key] = (*self.named[key], *texts)
        if self.scopes[key] is not True:
            self.scopes[key] = self.named[key]

    def way(self, key: str, flag: str, scope: str) -> str:
        """How a missing permission is granted where the program runs (O-4.19)."""
        if not self.in_python:
            return f"{flag}={scope}" if scope else flag
        return f"permissions=Permissions({key}={f'({scope!r},)' if scope else True})"

    def allows_tool(self, tool: str, method: str) -> bool:
        allowed = self.tools.get(tool, True)
        listed = allowed if isinstance(allowed, bool) else method in allowed
        return listed and tool not in self.disabled and f"{tool}.{method}" not in self.disabled

    def allows_some_of(self, tool: str) -> bool:
        """Whether any of its methods may be allowed."""
        return bool(self.tools.get(tool, True)) and tool not in self.disabled

    def check_tools(self, declared: Mapping[str, Iterable[str]], open_servers: Iterable[str]) -> None:
        """E4003 for what was to be disabled and is not there: nobody should believe it is. Of `open_servers` nobody knows the
        tools yet."""
        known = {name for tool, methods in declared.items() for name in (tool, *(f"{tool}.{method}" for method in methods))}
        known.update(open_servers)
        for name in self.disabled:
            if name not in known and name.partition(".")[0] not in open_servers:
                there = ", ".join(sorted(known)) or "none"
                raise ConfigFailure("E4003", f"there is no tool {name} to disable; tools and methods are: {there}")

    def allows_variable(self, name: str) -> bool:
        granted = self.scopes["env"]
        return granted if isinstance(granted, bool) else name in granted

    def allows_command(self, command: str) -> bool:
        """`command`: a bare name, or an absolute path without links, which what is granted is compared with (O-4.17)."""
        granted = self.scopes["run"]
        if isinstance(granted, bool):
            return granted
        from .roots import real_path  # a run without processes starts without it

        return any(command == (real_path(scope) if "/" in scope else scope) for scope in granted)

    def allows_host(self, host: str, port: int) -> bool:
        """Whether a grant matches: the exact host, `*.domain` for what lies below it, any port where none is given."""
        granted = self.scopes["net"]
        return granted if isinstance(granted, bool) else any(_matches(scope, host, port) for scope in granted)

    def names_host(self, host: str, port: int) -> bool:
        """Whether a grant names just this host or address, which opens private addresses too (G-8.3), also beside a grant of the
        whole network (G-8.9)."""
        return any(_matches(scope, host, port) for scope in self.named["net"] if not scope.startswith("*."))


def _matches(scope: str, host: str, port: int) -> bool:
    """`host`: a name or address in canonical form, or an address that a look-up gave."""
    wanted, wanted_port = split_host(scope)
    if wanted_port is not None and wanted_port != port:
        return False
    try:
        host = canonical_host(host)
    except Malformed:
        return False
    return host.endswith(wanted[1:]) and len(host) >= len(wanted) if wanted.startswith("*.") else host == wanted


# The one door to what is outside: decides, emits the audit record, performs (G-8.1, O-4.19, O-4.21).

if TYPE_CHECKING:
    T = TypeVar("T")


NOTHING = Permissions()


def permissions_of(run: Running) -> Permissions:
    """What the host granted; nothing unless it said something (O-4.12)."""
    return run.host.permissions or NOTHING


class Access:
    """One operation that needs a permission: its capability, what it would touch, and the audit record it leaves."""

    __slots__ = ("capability", "target", "channel", "record")

    def __init__(self, capability: str, target: str, channel: str, record: dict[str, Any]) -> None:
        self.capability = capability
        self.target = target
        self.channel = channel
        self.record = record


class Denied(Exception):
    """The permission for an access is missing; `capability` and `flag` say which and the flag that grants it, the message how it
    is granted where the program runs."""

    def __init__(self, access: Access, permissions: Permissions) -> None:
        super().__init__(access.capability)
        self.capability = f"{access.capability}={access.target}"
        capability = BY_NAME[access.capability]
        self.flag = f"{capability.flag}={access.target}"
        self.way = permissions.way(capability.key, capability.flag, access.target)

    @property
    def message(self) -> str:
        return f"permission denied: {self.capability} (grant it with {self.way})"


async def guarded(run: Running, access: Access, allowed: bool, perform: Callable[[], Awaitable[T]]) -> T:
    """Performs what is allowed, after its audit record; else raises Denied."""
    if not allowed:
        deny(run, access)
    run.runtime_emit(access.channel, access.record)
    return await perform()


def deny(run: Running, access: Access) -> NoReturn:
    denied = Denied(access, permissions_of(run))
    run.runtime_emit("audit:denied", {"capability": denied.capability, "flag": denied.flag})
    raise denied


def denied_error(family: str, denied: Denied, **fields: Any) -> Err:
    """The Err of an operation that has a Result (O-4.19)."""
    given = {**fields, "capability": denied.capability, "flag": denied.flag}
    return Err(ErrorValue(family, "PermissionDenied", denied.message, given))


def denied_panic(run: Running, effect: Effect, denied: Denied) -> Panic:
    """P407 at the place of the call (O-4.19)."""
    return run.machine.placed(effect.task, Panic("P407", denied.message))
