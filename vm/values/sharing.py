"""When storage is shared and what a write does about it (V-5.7, L-5.5.2, L-5.5.3).

Hands on `share` and `own`. A container with its mark clear is seen through exactly one place, so a write may change it;
a marked one is first replaced by a copy of one level whose children are marked. Marks are never cleared: a mark that is
no longer needed costs one copy, never a wrong result.
"""

from __future__ import annotations

from .containers import Array, Map, Queue, Set, Stack
from .enums import EnumValue
from .functions import Closure
from .metering import LARGE, STRIDE, look, made
from .ranges import RangeValue
from .records import Response, Struct
from .results import Err, NoneOption, Ok, Some

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

# Kinds without anything inside that a write could reach.
PLAIN = frozenset({int, float, str, bytes, bool, type(None), NoneOption, RangeValue, Closure})
# Kinds that carry the mark; struct classes do too.
CONTAINERS = frozenset({Array, Map, Set, Queue, Stack})
MARKED = (Struct, *CONTAINERS)
# Immutable wholes around values that may be containers.
WRAPPERS = frozenset({tuple, Some, Ok, Err, EnumValue})


def share(value: Any) -> Any:
    """Marks `value` as seen through more than one place and returns it; only the top container is touched.

    Handles, errors and tasks pass through: nothing inside them is a place.
    """
    kind = type(value)
    if kind in PLAIN:
        return value
    if kind in CONTAINERS or isinstance(value, Struct):
        value.shared = True
    elif kind in WRAPPERS:
        for part in wrapped(value):
            if type(part) not in PLAIN:
                _share_inside(value)
                break
        else:
            if kind is not tuple:
                value.shared = True  # there is nothing in it to mark
    return value


def _share_inside(value: Any) -> None:
    """Marks the containers a wrapper holds, each wrapper once: a tuple may hold one tuple many times over."""
    seen: set[int] = set()
    pending = [value]
    while pending:
        wrapper = pending.pop()
        if id(wrapper) in seen or getattr(wrapper, "shared", False):
            continue
        seen.add(id(wrapper))
        for part in wrapped(wrapper):
            if type(part) in WRAPPERS:
                pending.append(part)
            else:
                share(part)
        if type(wrapper) is not tuple:
            wrapper.shared = True


def wrapped(wrapper: Any) -> tuple[Any, ...]:
    """What a tuple, Some, Ok, Err or enum value holds."""
    if type(wrapper) is tuple:
        return wrapper
    if type(wrapper) is EnumValue:
        return wrapper.payload or ()
    return (wrapper.value,)


def share_all(values: Iterable[Any]) -> list[Any]:
    """A new list of `values`, each marked: for built-ins that put elements of one container into another."""
    elements = list(values)
    if len(elements) < LARGE:
        _mark(elements)
    else:
        made(len(elements))
        for at in range(0, len(elements), STRIDE):
            look()
            _mark(elements[at : at + STRIDE])
    return elements


def _mark(elements: list[Any]) -> None:
    kinds = {*map(type, elements)}
    if not kinds <= PLAIN:
        if len(kinds) == 1 and issubclass(kinds.pop(), MARKED):
            for element in elements:
                element.shared = True
        else:
            for element in elements:
                share(element)


def own(value: Any) -> Any:
    """`value` ready for a write: itself, or its unshared copy of one level when it is shared."""
    kind = type(value)
    if kind is Array:
        return Array(share_all(value.items)) if value.shared else value
    if kind is Map:
        if not value.shared:
            return value
        share_all(value.items.values())
        return Map(value.items.copy())
    if isinstance(value, Struct):
        if not value.shared:
            return value
        copy = value.copied(share, PLAIN)
        return copy.of_run(value.run) if isinstance(value, Response) else copy
    if (kind is Set or kind is Queue or kind is Stack) and value.shared:
        return _collection_copy(value)
    return value


def _collection_copy(value: Any) -> Any:
    share_all(value.items.values() if type(value) is Set else value.items)
    return type(value)(value.items.copy())
