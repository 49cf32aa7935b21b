"""Walking over values (L-5.7.3 to L-5.7.8)."""

from __future__ import annotations

from .panics import Panic
from .values import Array, Map, Queue, RangeValue, Set, Stack, elements, typeof

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any


def iterate(value: Any) -> Iterator[Any]:
    """An iterator over the elements; the storage is not written while it is walked because the value was marked shared."""
    kind = type(value)
    if kind is Array:
        return iter(value.items)
    if kind is RangeValue:
        return iter(value.span())
    if kind is Map:
        return iter(list(value.entries()))
    if kind is str or kind is tuple:
        return iter(value)
    if kind is Set or kind is Queue or kind is Stack:
        return iter(elements(value))
    raise Panic("P007", f"expected a value to walk over, found {typeof(value)}")
