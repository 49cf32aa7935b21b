"""Ranges of Int (L-3.1.10, L-5.7.6).

Hands on `RangeValue` with the length, membership and order of its elements; `slice_bounds` reads one as a slice.
"""

from __future__ import annotations

from ..panics import Panic
from .scalars import INT_MAX
from .typeof import typeof

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class RangeValue:
    """`start..end` or `start..=end`; an absent bound is None."""

    __slots__ = ("start", "end", "inclusive")
    type_name = "Range"

    def __init__(self, start: int | None, end: int | None, inclusive: bool = False) -> None:
        self.start = start
        self.end = end
        self.inclusive = inclusive

    @classmethod
    def checked(cls, start: Any, end: Any, inclusive: bool) -> RangeValue:
        """A Range from bounds known at run time: each an Int, or nil where it is open; else P007."""
        for bound in (start, end):
            if type(bound) is not int and bound is not None:
                raise Panic("P007", f"expected Int as a bound of a range, found {typeof(bound)}")
        return cls(start, end, inclusive)

    def span(self) -> range:
        """The elements: no start is 0, no end the largest Int, which then belongs to the range (L-5.7.6)."""
        start = 0 if self.start is None else self.start
        if self.end is None:
            return range(start, INT_MAX + 1)
        return range(start, self.end + 1 if self.inclusive else self.end)

    def length(self) -> int:
        """Number of elements; a Python int, since a range may hold more than `len` can say."""
        span = self.span()
        return max(0, span.stop - span.start)

    def contains(self, value: Any) -> bool:
        return type(value) is int and value in self.span()

    def slice_bounds(self, length: int) -> tuple[int, int]:
        """Both ends clamped to 0 … `length`, first not above second (L-5.6.2)."""
        span = self.span()
        start = min(max(span.start, 0), length)
        return start, max(start, min(max(span.stop, 0), length))

    def __repr__(self) -> str:
        return f"RangeValue({self.start}, {self.end}, {self.inclusive})"
