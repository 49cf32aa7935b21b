"""Sorting long lists in steps, with a look at the run between two (G-6.3).

Hands on `sort_in_place`. Must not know: Arrays.
"""

from __future__ import annotations

from ..values.metering import look

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

RUN = 1 << 14  # elements that are sorted in one breath
LONG = 1 << 12  # characters of a String whose comparison is worth a look


class Paced:
    """A long String as it is compared."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text

    def __lt__(self, other: Paced) -> bool:
        look()
        return self.text < other.text


def sort_in_place(items: list[Any]) -> None:
    """As `items.sort()`, of Ints, of numbers without NaN, or of Strings."""
    if items and type(items[0]) is str and max(map(len, items)) > LONG:
        items.sort(key=Paced)
        return
    if len(items) <= RUN:
        items.sort()
        return
    runs = []
    for at in range(0, len(items), RUN):
        look()
        runs.append(sorted(items[at : at + RUN]))
    while len(runs) > 1:
        runs = [_merged(runs[at : at + 2]) for at in range(0, len(runs), 2)]
    items[:] = runs[0]


def _merged(pair: list[list[Any]]) -> list[Any]:
    """Two sorted lists as one: Python finds the two runs and merges them."""
    look()
    if len(pair) == 1:
        return pair[0]
    both = pair[0] + pair[1]
    both.sort()
    return both
