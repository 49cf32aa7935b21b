"""The one door to what is outside: decides, emits the audit record, performs (G-8.1, O-4.19, O-4.21).

Hands on `guarded`, and what a denial becomes: an error of the operation's family, or P407 where it has no Result. Must not know:
what the operations do.
"""

from __future__ import annotations

from ..vm.builtins.capabilities import BY_NAME
from ..vm.panics import Panic
from ..vm.values import Err, ErrorValue
from .permissions import Permissions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from typing import Any, NoReturn, TypeVar

    from ..vm.effects import Effect
    from .running import Running

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
