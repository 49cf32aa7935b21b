"""Walks over values that have begun, as they stand on operand stacks (G-13.7): what is still to come.

Hands on `lowered_iterator` and `read_iterator`. A Python iterator is copied by its own description, so that looking at what
remains takes nothing from it. Must not know: stacks.
"""

from __future__ import annotations

from collections import deque

from ..values import INT_MAX, INT_MIN
from .errors import SnapshotError, misshapen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any, Protocol

    class Writer(Protocol):
        def put(self, value: Any) -> Any: ...

    class Reader(Protocol):
        def values(self, forms: Any) -> list[Any]: ...
        def list(self, given: Any) -> list[Any]: ...


# Of what `iterate` walks over, with the ranges that Python keeps apart by size.
_WALKED: tuple[Iterable[Any], ...] = ([], (), "", "é", b"", deque(), {}.values(), range(1), range(1 << 70))
KINDS = frozenset(type(iter(walked)) for walked in _WALKED)
RANGE, ITEMS = 0, 1


def is_iterator(value: Any) -> bool:
    return type(value) in KINDS


def lowered_iterator(w: Writer, walk: Iterator[Any]) -> list[Any]:
    """A range by its bounds, anything else by the values that are left."""
    description: Any = walk.__reduce__()
    if type(description) is not tuple:
        raise SnapshotError("V008", "a walk that cannot be described; end it first")
    make, arguments, *place = description
    if arguments and type(arguments[0]) is range:
        left = arguments[0][place[0] if place and place[0] else 0 :]
        return [RANGE, left.start, max(left.start, left.stop)]
    twin = make(*arguments)
    if place and place[0] is not None:
        twin.__setstate__(place[0])
    return [ITEMS, [w.put(value) for value in twin]]


def read_iterator(r: Reader, form: Any) -> Iterator[Any]:
    kind, *parts = r.list(form)
    if kind == RANGE:
        start, stop = parts
        if type(start) is not int or type(stop) is not int or not INT_MIN <= start <= stop <= INT_MAX + 1:
            raise misshapen("a walk over no range")
        return iter(range(start, stop))
    (items,) = parts
    if kind != ITEMS:
        raise misshapen("a walk over nothing that is known")
    return iter(r.values(items))
