"""What others store while a run is on its way, for views that show it at the next step (M-5.31, M-5.32).

Hands on a `Refreshing` for each log. Must not know: requests, calls, where a run keeps what is in flight.
"""

from __future__ import annotations

from ..records import Msg
from .entries import units

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .entries import Unit
    from .memory import Memory
    from .policy import Policy


class Refreshing:
    """What others store while a run is on its way, as the views of one log with `refresh` show it (M-5.31). `since`: the newest
    number of the snapshot; `after`: the newest that was shown."""

    __slots__ = ("memory", "policies", "since", "after")

    def __init__(self, memory: Memory, policies: list[Policy], since: int) -> None:
        self.memory = memory
        self.policies = policies
        self.since = self.after = since

    def found(self) -> tuple[int, list[Msg]]:
        """What came since then, each unit once, and the newest number by then."""
        newest = self.memory.head().next - 1
        came = [entry for entry in self.memory.entries(min(self.after, newest)) if entry.seq <= newest]
        shown = [max((self._as(policy, unit) for policy in self.policies), key=len) for unit in units(came)]
        return newest, [_as_user(unit) for unit in shown if unit]

    def _as(self, policy: Policy, unit: Unit) -> Unit:
        """In the form of the view, and of those it is of before it."""
        from .stages import clipped, of_roles

        for each in policy.chain:
            if unit and each.roles is not None:
                unit = of_roles(each.roles, unit, each.counter)
            unit = clipped(each, unit)
        return unit


def _as_user(unit: Unit) -> Msg:
    """Between the steps of a run only the user speaks: a reply that is none of its own would be taken for one, and a system
    message would change what was sent before (O-1.86)."""
    first = unit[0].message
    if first.role == "user":
        return first
    from .stages import without_tools

    (said,) = without_tools([entry.message for entry in unit])
    return Msg("user", f"[{said.role}] {said.content}")
