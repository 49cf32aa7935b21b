"""Methods of Array (L-6.4). Those that take functions are Concerto text, so that calls stay on the machine's frames. `mut` marks
a method that changes its receiver in place (the text of one gives the new receiver), `linear` one whose work grows with the
Array: it charges the run for that (`spend`) and looks between two parts of it whether the run is to stop (`look`). Nothing here
asks the host.

Hands on rows, to the registry: the docstring of a decorated function is its text in the reference, for readers of the language. A
body raises P007 for an argument of another kind, P004 for a position out of range, P002 for a sum beyond Int, P103 for a result
beyond the limits of G-6.1, and, where it looks at the run meanwhile, what ends the run. Hands on `array_join` to `strings.py`,
too.
"""

from __future__ import annotations

from _operator import add
from functools import reduce

from ..values.access import index_out_of_range
from ..values.arithmetic import overflow
from ..values.containers import Array, RangeValue, share, share_all
from ..values.equality import equal
from ..values.limits import INT_MAX, INT_MIN, check_items, check_string_size, collection_too_long, join, limits
from ..values.metering import LARGE, STRIDE, look, paced, spend
from ..values.objects import NONE, Some
from ..values.text import display
from .registry import array, integer, method, mismatch, prelude, text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any


# ----------------------------------------------------------------
# Sorting long lists in steps, with a look at the run between two (G-6.3).

RUN = 1 << 14  # elements that are sorted in one breath
LONG = 1 << 12  # characters of a String whose comparison is worth a look


class Paced:
    """A long String as it is compared: with a look at the run before each comparison."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text

    def __lt__(self, other: Paced) -> bool:
        look()
        return self.text < other.text


def sort_in_place(items: list[Any]) -> None:
    """Sort as `items.sort()` does, with looks at the run: Ints, numbers without NaN, or Strings. Returns nothing. Raises what
    ends the run; then the order of the items means nothing."""
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
    """Return two sorted lists as one: Python's sort recognises the two runs and merges them in linear time."""
    look()
    if len(pair) == 1:
        return pair[0]
    both = pair[0] + pair[1]
    both.sort()
    return both


NUMBERS = frozenset({int, float})
FEW_NUMBERS = 8  # that are added one by one in the time that a look at their kinds takes
INTS, FLOATS = frozenset({int}), frozenset({float})


def _over(items: list[Any]) -> None:
    """Charge the run for work on all elements."""
    if len(items) >= LARGE:
        spend(len(items))


@method("Array<T>", "len() -> Int", clause="L-6.4.1")
def array_len(a: Array) -> int:
    """Number of elements."""
    return len(a.items)


@method("Array<T>", "is_empty() -> Bool", clause="L-6.4.1")
def array_is_empty(a: Array) -> bool:
    """Whether the length is 0."""
    return not a.items


@method("Array<T>", "get(i: Int) -> Option<T>", clause="L-6.4.2")
def array_get(a: Array, i: Any) -> Any:
    """The element at a position, None out of range."""
    return Some(share(a.items[i])) if 0 <= integer(i) < len(a.items) else NONE


@method("Array<T>", "first() -> Option<T>", clause="L-6.4.2")
def first(a: Array) -> Any:
    """The first element."""
    return Some(share(a.items[0])) if a.items else NONE


@method("Array<T>", "last() -> Option<T>", clause="L-6.4.2")
def last(a: Array) -> Any:
    """The last element."""
    return Some(share(a.items[-1])) if a.items else NONE


@method("Array<T>", "push(x: T) -> Nil", clause="L-6.4.3", mut=True)
def push(a: Array, x: Any) -> None:
    """Adds an element at the end."""
    items = a.items
    if len(items) >= limits.items:
        collection_too_long()
    items.append(x)


@method("Array<T>", "pop() -> Option<T>", clause="L-6.4.4", mut=True)
def pop(a: Array) -> Any:
    """Removes the last element and gives it."""
    return Some(a.items.pop()) if a.items else NONE


@method("Array<T>", "insert(i: Int, x: T) -> Nil", clause="L-6.4.5", mut=True, linear=True)
def insert(a: Array, i: Any, x: Any) -> None:
    """Puts an element before position i; i may be the length."""
    if not 0 <= integer(i) <= len(a.items):
        index_out_of_range(i, len(a.items))
    check_items(len(a.items) + 1)
    _over(a.items)
    a.items.insert(i, x)


@method("Array<T>", "remove(i: Int) -> T", clause="L-6.4.5", mut=True, linear=True)
def remove(a: Array, i: Any) -> Any:
    """Removes the element at position i and gives it."""
    if not 0 <= integer(i) < len(a.items):
        index_out_of_range(i, len(a.items))
    _over(a.items)
    return a.items.pop(i)


@method("Array<T>", "clear() -> Nil", clause="L-6.4.6", mut=True)
def array_clear(a: Array) -> None:
    """Removes all elements."""
    a.items.clear()


@method("Array<T>", "reverse() -> Nil", clause="L-6.4.6", mut=True, linear=True)
def array_reverse(a: Array) -> None:
    """Turns the order round, in place."""
    _over(a.items)
    a.items.reverse()


@method("Array<T>", "sort() -> Nil", clause="L-6.4.7", mut=True, linear=True)
def sort(a: Array) -> None:
    """Sorts in place, stable and ascending: numbers, NaN last, or Strings."""
    items = a.items
    _over(items)
    kinds = set(map(type, items))
    if kinds <= {str} or kinds <= {int}:
        sort_in_place(items)
    elif kinds <= NUMBERS:
        ordered = [x for x in items if x == x]
        unordered = [x for x in items if x != x]
        sort_in_place(ordered)
        items[:] = ordered + unordered
    else:
        mismatch("elements that are all numbers or all Strings", next(x for x in items if type(x) is not str))


@method("Array<T>", "contains(x: T) -> Bool", clause="L-6.4.9", linear=True)
def array_contains(a: Array, x: Any) -> bool:
    """Whether an equal element is there."""
    _over(a.items)
    if len(a.items) < LARGE and (type(x) is str or (type(x) is int and INTS.issuperset(map(type, a.items)))):
        return x in a.items
    return any(equal(item, x) for item in paced(a.items))


@method("Array<T>", "index_of(x: T) -> Option<Int>", clause="L-6.4.9", linear=True)
def array_index_of(a: Array, x: Any) -> Any:
    """The position of the first equal element."""
    _over(a.items)
    for position, item in enumerate(paced(a.items)):
        if equal(item, x):
            return Some(position)
    return NONE


@method("Array<T>", "enumerate() -> Array<(Int, T)>", clause="L-6.4.14", linear=True)
def array_enumerate(a: Array) -> Array:
    """Each element with its position before it."""
    _over(a.items)
    return Array(_pairs(range(len(a.items)), share_all(a.items)))


@method("Array<T>", "zip<U>(o: Array<U>) -> Array<(T, U)>", clause="L-6.4.14", linear=True)
def array_zip(a: Array, o: Any) -> Array:
    """Pairs of elements at equal positions, as many as the shorter Array has."""
    _over(a.items)
    return Array(_pairs(share_all(a.items), share_all(array(o))))


def _pairs(first: Sequence[Any], second: Sequence[Any]) -> list[tuple[Any, Any]]:
    """Return tuples of elements at equal positions."""
    pairs: list[tuple[Any, Any]] = []
    for at in range(0, min(len(first), len(second)), STRIDE):
        look()
        pairs += zip(first[at : at + STRIDE], second[at : at + STRIDE], strict=False)
    return pairs


@method("Array<T>", "slice(a: Int, b: Int) -> Array<T>", clause="L-6.4.15", linear=True)
def array_slice(a: Array, start: Any, end: Any) -> Array:
    """As `xs[a..b]`."""
    # b is not included; both are cut to 0 and the length, so no position is out of range
    low, high = RangeValue(integer(start), integer(end)).slice_bounds(len(a.items))
    part = a.items[low:high]
    _over(part)
    return Array(share_all(part))


@method("Array<T>", "concat(o: Array<T>) -> Array<T>", clause="L-6.4.15", linear=True)
def concat(a: Array, o: Any) -> Array:
    """The elements of both, in order."""
    check_items(len(a.items) + len(array(o)))
    _over(a.items)
    _over(o.items)
    return Array(share_all(a.items) + share_all(o.items))


@method("Array<T>", 'join(sep: String = "") -> String', clause="L-6.4.16", linear=True)
def array_join(a: Array, sep: Any) -> str:
    """The Display texts with the separator between them."""
    text(sep)
    _over(a.items)
    if {*map(type, a.items)} == {str}:
        return joined(sep, a.items)
    parts = []
    size = 0
    for item in paced(a.items):
        parts.append(display(item))
        # One element shown many times must not fill the memory before the sum is known.
        size += len(parts[-1])
        check_string_size(size)
    return joined(sep, parts)


def joined(separator: str, parts: list[str]) -> str:
    """Return `parts` with `separator` between them, and charge the run for its length. P103 beyond the length of a String; with
    many parts or a long text also what ends the run."""
    text = join(separator, parts)
    if len(text) >= LARGE:
        spend(len(text))
    return text


SURELY = (1 << 30) - 1


@method("Array<T>", "sum() -> T", clause="L-6.4.17", linear=True, special="numeric")
def array_sum(a: Array) -> Any:
    """The sum of numbers, from left to right; of no element 0."""
    _over(a.items)
    if len(a.items) <= FEW_NUMBERS:
        return _added(0, a.items)
    total: Any = 0
    for at in range(0, len(a.items), STRIDE):
        some = a.items[at : at + STRIDE]
        kinds = {*map(type, some)}
        if at:
            look()
        if kinds == INTS and type(total) is int and abs(total) + sum(map(abs, some)) <= INT_MAX:
            total += sum(some)  # no sum on the way is beyond the bounds
        elif kinds == FLOATS:
            total = reduce(add, some, total)  # `sum` rounds in another way
        else:
            total = _added(total, some)
    return total


def _added(total: Any, items: list[Any]) -> Any:
    """Return a sum with more items. Raises P002 for a sum beyond Int on the way, P007 for what is no number."""
    for item in items:
        if type(item) is not int and type(item) is not float:
            mismatch("elements that are numbers", item)
        total += item
        # what is within 30 bits Python compares fastest
        if not -SURELY <= total <= SURELY and type(total) is int and not INT_MIN <= total <= INT_MAX:
            overflow("sum")
    return total


prelude(
    "Array<T>", "sort_by(f: fn(T, T) -> Int) -> Nil", clause="L-6.4.8", mut=True,
    doc="Sorts in place, stable; f gives a negative number, zero or a positive one.",
    source="""
    let mut runs: Array<Any> = self;
    let n = runs.len();
    let mut width = 1;
    while width < n {
        let mut merged: Array<Any> = [];
        let mut low = 0;
        while low < n {
            let middle = (low + width).min(n);
            let high = (low + width * 2).min(n);
            let mut i = low;
            let mut j = middle;
            while i < middle && j < high {
                let order: Int = f(runs[i], runs[j]);
                if order > 0 {
                    merged.push(runs[j]);
                    j = j + 1;
                } else {
                    merged.push(runs[i]);
                    i = i + 1;
                }
            }
            while i < middle {
                merged.push(runs[i]);
                i = i + 1;
            }
            while j < high {
                merged.push(runs[j]);
                j = j + 1;
            }
            low = low + width * 2;
        }
        runs = merged;
        width = width * 2;
    }
    runs
    """,
)  # fmt: skip
prelude(
    "Array<T>", "map<U>(f: fn(T) -> U) -> Array<U>", clause="L-6.4.10",
    doc="The results of f for each element, in order.",
    source="let mut out: Array<Any> = []; for x in self { out.push(f(x)); } out",
)  # fmt: skip
prelude(
    "Array<T>", "flat_map<U>(f: fn(T) -> Array<U>) -> Array<U>", clause="L-6.4.10",
    doc="The elements of the Arrays f gives, in order.",
    source="""
    let mut out: Array<Any> = [];
    for x in self {
        let part: Array<Any> = f(x);
        for y in part { out.push(y); }
    }
    out
    """,
)  # fmt: skip
prelude(
    "Array<T>", "filter(f: fn(T) -> Bool) -> Array<T>", clause="L-6.4.11",
    doc="The elements for which f is true, in order.",
    source="let mut out: Array<Any> = []; for x in self { if f(x) { out.push(x); } } out",
)  # fmt: skip
prelude(
    "Array<T>", "find(f: fn(T) -> Bool) -> Option<T>", clause="L-6.4.12",
    doc="The first element for which f is true; later ones are not asked.",
    source="for x in self { if f(x) { return Some(x); } } None",
)  # fmt: skip
prelude(
    "Array<T>", "any(f: fn(T) -> Bool) -> Bool", clause="L-6.4.12",
    doc="Whether f is true for some element; stops at the first.",
    source="for x in self { if f(x) { return true; } } false",
)  # fmt: skip
prelude(
    "Array<T>", "all(f: fn(T) -> Bool) -> Bool", clause="L-6.4.12",
    doc="Whether f is true for every element; stops at the first that fails.",
    source="for x in self { if !f(x) { return false; } } true",
)  # fmt: skip
prelude(
    "Array<T>", "reduce<A>(init: A, f: fn(A, T) -> A) -> A", clause="L-6.4.13",
    doc="f applied to the result so far, beginning with init, and each element in turn.",
    source="let mut result: Any = init; for x in self { result = f(result, x); } result",
)  # fmt: skip
