"""Methods of tuple and Range (L-6.5.8 to L-6.5.10).

Hands on its rows only. A Range without a start begins at 0, one without an end goes to the largest Int (L-5.7.6), so P002 is the
panic of a length that is no Int, and P103 of an Array with more items than the limit. An argument that is no Int is P007, a step
below 1 P013. `linear` marks a method that makes an Array of all Ints, for which it charges the run; what ends the run may come
out of it. Which Ints a Range has stands in `RangeValue` of `values/containers.py`.
"""

from __future__ import annotations

from ..panics import Panic
from ..values.access import fit_length
from ..values.containers import Array, RangeValue
from ..values.limits import check_items
from ..values.metering import LARGE, announce, spend
from .registry import integer, method, prelude

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

PIECE = 1 << 16  # Ints made at once, about 2.6 MB


@method("Tuple", "len() -> Int", clause="L-6.5.8")
def tuple_len(t: tuple[Any, ...]) -> int:
    """Number of elements."""
    return len(t)


@method("Range", "len() -> Int", clause="L-6.5.9")
def range_len(r: RangeValue) -> int:
    """Number of Ints in the Range."""
    return fit_length(r)


@method("Range", "is_empty() -> Bool", clause="L-6.5.9")
def range_is_empty(r: RangeValue) -> bool:
    """Whether no Int is in the Range."""
    return r.length() == 0


@method("Range", "contains(i: Int) -> Bool", clause="L-6.5.9")
def range_contains(r: RangeValue, i: Any) -> bool:
    """Whether the Int is in the Range."""
    return r.contains(integer(i))


def _collect(span: range) -> Array:
    check_items(max(0, -(-(span.stop - span.start) // span.step)))
    if len(span) >= LARGE:
        spend(len(span))
    collected = list(span[:PIECE])
    for start in range(PIECE, len(span), PIECE):  # a million Ints are 40 MB: more than a run with a small budget has left
        announce(PIECE)
        collected += span[start : start + PIECE]
    return Array(collected)


@method("Range", "to_array() -> Array<Int>", clause="L-6.5.10", linear=True)
def to_array(r: RangeValue) -> Array:
    """The Ints in order."""
    return _collect(r.span())


@method("Range", "rev() -> Array<Int>", clause="L-6.5.10", linear=True)
def rev(r: RangeValue) -> Array:
    """The Ints from last to first."""
    collected = _collect(r.span())
    collected.items.reverse()
    return collected


@method("Range", "step_by(n: Int) -> Array<Int>", clause="L-6.5.10", linear=True)
def step_by(r: RangeValue, n: Any) -> Array:
    """Every n-th Int, beginning with the first."""
    if integer(n) < 1:
        raise Panic("P013", f"step of `step_by` must be at least 1, not {n}")
    span = r.span()
    return _collect(range(span.start, span.stop, n))


prelude(
    "Range", "map<U>(f: fn(Int) -> U) -> Array<U>", clause="L-6.5.10", doc="The results of f for each Int, in order.",
    source="let mut out: Array<Any> = []; for x in self { out.push(f(x)); } out",
)  # fmt: skip
prelude(
    "Range", "filter(f: fn(Int) -> Bool) -> Array<Int>", clause="L-6.5.10", doc="The Ints for which f is true.",
    source="let mut out: Array<Any> = []; for x in self { if f(x) { out.push(x); } } out",
)  # fmt: skip
