"""Pins of a derived view (M-9.11): units that its `pin` steps name are pinned in this view alone, found whenever it is computed.

Hands on `pinned_in`. Must not know: stored pins' making, windows, stores.
"""

from __future__ import annotations

from itertools import islice

from .entries import Entry, units_back

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from ..records import Msg
    from .entries import Unit
    from .policy import Policy
    from .source import Source


def pins_message(policy: Policy, message: Msg) -> bool:
    """What the `pin` steps of a policy say of a message (M-4.6)."""
    return message.role in policy.pin_roles or any(pins(message) for pins in policy.pin_when)


def pins_unit(policy: Policy, unit: Unit) -> bool:
    """Whether a view of that policy pins it, or the log does."""
    return unit[0].pinned or (policy.pins_in_view and any(pins_message(policy, entry.message) for entry in unit))


def pinned_in(policy: Policy, source: Source) -> Source:
    """The log as a view of that policy takes it. The whole log is looked through: a pin may be anywhere."""
    return _Pinned(policy, source) if policy.pins_in_view else source


class _Pinned:
    __slots__ = ("length", "_pins", "_others")

    def __init__(self, policy: Policy, source: Source) -> None:
        self.length = source.length
        found = list(source.pins())
        self._others: list[Entry] = []
        for unit in units_back(source.back()):
            if any(pins_message(policy, entry.message) for entry in unit):
                found += [entry.with_pinned(True) for entry in unit]  # copies: the stored entries are nobody's pins
            else:
                self._others += reversed(unit)
        self._pins = sorted(found, key=lambda entry: entry.seq)

    def pins(self) -> list[Entry]:
        return self._pins

    def back(self) -> Iterator[Entry]:
        return iter(self._others)

    def newest(self, limit: int) -> list[Entry]:
        return list(islice(self._others, limit))[::-1]
