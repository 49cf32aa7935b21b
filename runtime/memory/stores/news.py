"""What has changed in a volatile log since it was last written down (M-14.6).

Entries are numbered, so those from a floor on are new; of what stands by name or number it is known whether it was there when
the log was last written, so that what came and left again is forgotten, and news are never larger than the log was and is.
Must not know: the log, how it is written.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Iterable
    from typing import Any

    from ..entries import Entry

    Touched = dict[Any, bool]


class News:
    """Of entries: those from `floor` on are others than were written; of those before, `gone` have left, and `pins` are pinned or
    not, now. Of turn records, view states, facts and observations: what was `touched`, with whether it was written."""

    __slots__ = ("floor", "gone", "pins", "turns", "views", "facts", "seen")

    def __init__(self, floor: int) -> None:
        self.floor = floor
        self.gone: set[int] = set()
        self.pins: dict[int, bool] = {}
        self.turns: Touched = {}
        self.views: Touched = {}
        self.facts: Touched = {}
        self.seen: Touched = {}

    def entries_left(self, entries: Iterable[Entry]) -> None:
        for entry in entries:
            if entry.seq < self.floor:
                self.gone.add(entry.seq)
                self.pins.pop(entry.seq, None)

    def pinned(self, seq: int, on: bool) -> None:
        if seq < self.floor:
            self.pins[seq] = on

    def goes_on_from(self, seq: int) -> None:
        """Numbers from there on are given again (M-6.18)."""
        if seq < self.floor:
            self.floor = seq
            self.gone = {number for number in self.gone if number < seq}
            self.pins = {number: on for number, on in self.pins.items() if number < seq}


def came(touched: Touched, keys: Iterable[Any], there: Container[Any]) -> None:
    """`there`: what stood there before they came."""
    for key in keys:
        if key not in touched:
            touched[key] = key in there


def left(touched: Touched, keys: Iterable[Any], there: Container[Any]) -> None:
    """`there`: what stands there before they leave."""
    for key in keys:
        if touched.setdefault(key, key in there) is False:
            del touched[key]


def split(touched: Touched, there: Container[Any]) -> tuple[list[Any], list[Any]]:
    """What stands there now, and what was written and has left."""
    return [key for key in touched if key in there], [key for key, written in touched.items() if written and key not in there]
