"""Walking over values (L-5.7.3 to L-5.7.8)."""

from __future__ import annotations

from .panics import Panic
from .values import Array, HashMapRef, Map, Queue, RangeValue, Set, Stack, elements, typeof

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any


def iterate(value: Any, machine: Any = None) -> Iterator[Any]:
    """An iterator over the elements; the storage is not written while it is walked because the value was marked shared. A
    HashMap, which the machine holds, is walked as it is now (L-5.7.7)."""
    kind = type(value)
    if kind is Array:
        return iter(value.items)
    if kind is RangeValue:
        return iter(value.span())
    if kind is Map:
        return iter(list(value.entries()))
    if kind is str or kind is tuple or kind is bytes:
        return iter(value)
    if kind is Set or kind is Queue or kind is Stack:
        return iter(elements(value))
    if kind is HashMapRef:
        return iter(machine.stores.view(value).entries())
    raise Panic("P007", f"expected a value to walk over, found {typeof(value)}")
