"""Elements of a Set as dict keys: equal keys for structurally equal values (L-6.7.3, L-5.3.1).

Hands on `make_set` to casts, snapshots, the API, copies without secrets (`runtime/access/secrets.py`) and JSON in `builtins/`,
and with `set_key` to the methods of Sets there. What is equal is decided in `equality.py`, not here; keys of a Map are in
`containers.py`. Scalars are their own keys, apart from Bools, for which `TRUE_KEY` and `FALSE_KEY` stand, and NaN; so are tuples
of the others, nested a few levels. Any other value stands behind a `StructuralKey`, which hashes part of the value and compares
whole values with `equal`. With large values, what ends the run (P102, P103 or what the host has set: `metering.py`) may come out
of making a key and of comparing two.
"""

from __future__ import annotations

from .containers import FALSE_KEY, TRUE_KEY, Array, Map, Queue, RangeValue, Set, Stack
from .equality import equal
from .errors import ErrorValue
from .limits import nesting_too_deep
from .metering import LARGE, paced
from .objects import Closure, EnumValue, Err, Ok, Some, Struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any


# Kinds of elements by which a tuple is a key as it is: Python compares such tuples as Concerto does.
_AS_IT_IS = frozenset({int, str, bytes, type(None)})
_TUPLES_WITHIN = 2  # as many levels of tuples are looked into; deeper ones are walked with an explicit stack

# Parts of one value that its hash looks at: enough to tell values apart, few enough for a large one. Of a Map or Set that is
# among them every key is hashed, with a look now and then, since no order says which ones to take.
HASHED_PARTS = 256


class StructuralKey:
    """A composite value, a NaN, a function or a handle as a dict key. Comparing two raises P103 beyond the limit on nesting."""

    __slots__ = ("value", "hash")

    def __init__(self, value: Any, known_hash: int) -> None:
        self.value = value
        self.hash = known_hash

    def fresh(self) -> StructuralKey:
        """Return another key object of the same value."""
        return StructuralKey(self.value, self.hash)

    def __hash__(self) -> int:
        return self.hash

    def __eq__(self, other: object) -> bool:
        if type(other) is not StructuralKey:
            return False
        try:
            return equal(self.value, other.value)
        except RecursionError:  # Sets inside Sets: each level compares through the dict of the one above
            nesting_too_deep()

    def __repr__(self) -> str:
        return f"StructuralKey({self.value!r})"


def set_key(value: Any) -> Any:
    """Return the key of `value`, any value, in the dict of a Set. To look it up may raise what `equal` raises: P103 beyond the
    limit on nesting, and what ends the run."""
    kind = type(value)
    if kind is str or kind is int or kind is bytes or value is None:
        return value
    if kind is bool:
        return TRUE_KEY if value else FALSE_KEY
    if kind is float and value == value:
        return value
    if kind is tuple and (_AS_IT_IS.issuperset(map(type, value)) or _is_key(value, _TUPLES_WITHIN)):
        return value
    return StructuralKey(value, structural_hash(value))


def _is_key(value: tuple[Any, ...], levels: int) -> bool:
    """Return whether a tuple holds scalars alone, in itself and in tuples down to so many levels, and no Bool and no NaN, which
    Python takes for an Int or for equal to itself."""
    for part in value:
        kind = type(part)
        if kind in _AS_IT_IS or (kind is float and part == part):
            continue
        if kind is not tuple or not levels or not _is_key(part, levels - 1):
            return False
    return True


def make_set(values: Iterable[Any]) -> Set:
    """Return a Set of `values` without repetitions; the first of equal ones stays. Raises what `equal` raises. It asks for no
    limit on items, and marks nothing as shared."""
    items: dict[Any, Any] = {}
    for value in values:
        items.setdefault(set_key(value), value)
    return Set(items)


def structural_hash(value: Any) -> int:
    """Return a hash that is equal for equal values: of a walk in an order that equality fixes, which ends after HASHED_PARTS
    parts."""
    digest = 0
    pending = [value]
    budget = HASHED_PARTS
    while pending and budget:
        budget -= 1
        part = pending.pop()
        mark, inner = _parts(part)
        digest = hash((digest, mark))
        pending.extend(reversed(inner))
    return digest


def _parts(value: Any) -> tuple[Any, tuple[Any, ...]]:
    """Return what of `value` is hashed as it is, and the parts to walk into."""
    kind = type(value)
    split = _SPLITTERS.get(kind)
    if split is not None:
        return split(value)
    if isinstance(value, Struct):
        return kind, value.values()
    return (0 if value != value else value), ()


def _sequence(value: Any) -> tuple[Any, tuple[Any, ...]]:
    items = value if type(value) is tuple else value.items
    few = tuple(items[:HASHED_PARTS]) if type(value) is not Queue else _front(value)
    return (type(value), len(items)), few


def _front(value: Queue) -> tuple[Any, ...]:
    return tuple(part for part, _ in zip(value.items, range(HASHED_PARTS), strict=False))


def _keyed(value: Any) -> tuple[Any, tuple[Any, ...]]:
    """Return class, size, and the hashes of the keys of a Map or Set combined without an order, since these are equal in any
    order."""
    combined = 0
    for key in paced(value.items) if len(value.items) >= LARGE else value.items:
        combined ^= hash(key)
    return (type(value), len(value.items), combined), ()


def _error(value: ErrorValue) -> tuple[Any, tuple[Any, ...]]:
    return (value.family, value.variant, value.message), ()


def _function(value: Closure) -> tuple[Any, tuple[Any, ...]]:
    """Return what identifies a function: a named one is the same however often its name is read, a closure is only itself."""
    return id(value.function if value.function.name else value), ()


def _wrapped(value: Any) -> tuple[Any, tuple[Any, ...]]:
    return type(value), (value.value,)


_SPLITTERS: dict[type, Callable[[Any], tuple[Any, tuple[Any, ...]]]] = {
    Array: _sequence,
    tuple: _sequence,
    Queue: _sequence,
    Stack: _sequence,
    Map: _keyed,
    Set: _keyed,
    EnumValue: lambda value: ((id(value.decl), value.variant), value.payload or ()),
    ErrorValue: _error,
    Closure: _function,
    RangeValue: lambda value: ((value.start, value.end, value.inclusive), ()),
    Some: _wrapped,
    Ok: _wrapped,
    Err: _wrapped,
}
