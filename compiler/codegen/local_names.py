"""Which variable of the source a slot or cell holds, and where in the code (V-3.9).

A variable has a value from its first assignment to the end of the expression or body that declares it; one that is assigned
inside a branch has it for sure behind that branch only. Hands on rows by instruction index, and `CellRef`. Must not know: trees,
types, images.
"""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heappop, heappush
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..symbols import Local


class CellRef:
    """A cell of the function: a captured one by its position, or an own one, numbered after all captured ones are known."""

    __slots__ = ("captured", "position")

    def __init__(self, captured: bool, position: int) -> None:
        self.captured = captured
        self.position = position


@dataclass(eq=False, slots=True)
class NamedPlace:
    """`place`: a slot number or a cell. `start` and `end`: indexes of instructions, None where not known yet."""

    name: str
    place: int | CellRef
    depth: int = 0  # how many others were in scope when it was declared
    start: int | None = None
    end: int | None = None


class LocalNames:
    def __init__(self) -> None:
        self.rows: dict[Local, NamedPlace] = {}
        self.around: list[NamedPlace] = []  # those of enclosing functions
        self.open: list[NamedPlace] = []  # those in scope, outermost first
        self.unsettled: list[tuple[int, int, int, NamedPlace]] = []  # a heap, innermost first
        self.base = 0  # how many of them belong to the scopes around the current one
        self.held = False  # a pattern is tested: what it binds counts when all of it matched

    def declare(self, local: Local, place: int | CellRef) -> None:
        if local not in self.rows:
            self.rows[local] = NamedPlace(local.name, place, len(self.open))
            self.open.append(self.rows[local])

    def captured(self, local: Local, place: int | CellRef) -> None:
        """It has its value before the function runs."""
        self.around.append(NamedPlace(local.name, place, start=0))

    def assign(self, local: Local, here: int) -> None:
        row = self.rows.get(local)
        if row is None or row.start is not None:
            return
        if not self.held and row.end is None and row.depth >= self.base:
            row.start = here
        else:
            heappush(self.unsettled, (-row.depth, here, id(row), row))

    def enter(self) -> int:
        """A scope begins; the result is what `leave` takes."""
        outer, self.base = self.base, len(self.open)
        return outer

    def leave(self, outer: int, here: int) -> None:
        if len(self.open) > self.base:
            self._end(self.base, here)
        self.base = outer
        if len(self.open) > outer:
            self.settle(here)

    def settle(self, here: int) -> None:
        """What the current scope declared and something within assigned has its value from here on."""
        while self.unsettled and -self.unsettled[0][0] >= self.base:
            row = heappop(self.unsettled)[-1]
            if row.start is None and row.end is None:
                row.start = here

    def finished(self, here: int) -> list[NamedPlace]:
        """All rows of a function whose code ends at `here`, outer ones first."""
        self._end(0, here)
        for row in self.around:
            row.end = here
        return [*self.around, *self.rows.values()]

    def _end(self, first: int, here: int) -> None:
        for row in self.open[first:]:
            row.end = here
        del self.open[first:]
