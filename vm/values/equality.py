"""Equality and order (L-5.3).

Hands on `equal` to both tiers, built-ins, the compiler, typed streams (`runtime/calls/typed_streams.py`) and Sets, `comparable`
to arithmetic and `fresh_key` to the methods of Sets (`builtins/maps.py`). No value is changed; how keys of a Set are made is in
`structural.py`. Equality walks with an explicit stack and holds to the nesting limit of G-6.1, but for Sets in Sets: each such
level goes through Python's own stack (`structural.py`), so P103 comes where that ends. What of a kind is compared is its row in
`_SPLITTERS`.
"""

from __future__ import annotations

from ..panics import Panic
from .containers import Array, BoolKey, Map, Queue, RangeValue, Set, Stack
from .errors import FOR_MODEL, ErrorValue
from .limits import limits, nesting_too_deep
from .metering import BLOCK, LARGE, STRIDE, look, paced
from .objects import Closure, EnumValue, Err, Ok, Some, Struct
from .types import typeof

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


# Elements for which Python's own comparison of lists means the same: no NaN, no Bool that would equal an Int.
SIMPLE = frozenset({int, str, bytes})
NUMBERS = frozenset({int, float})
# Keys of a Set that are the elements themselves, or stand for them; a tuple that is a key holds no NaN.
SCALAR_KEYS = frozenset({int, float, str, bytes, BoolKey, type(None), tuple})


def equal(a: Any, b: Any) -> bool:
    """Return whether `a == b` in Concerto: structural; functions, tasks and handles are equal when they are, or name, the same
    one, whatever object stands for it. Raises P103 beyond the limit on nesting, and with large values what ends the run (P102 for
    its time, P103 for its memory, or what the host has set: `metering.py`)."""
    kind = type(a)
    if kind is type(b):
        if kind is str:
            if len(a) > BLOCK:
                look()
            return a == b  # type: ignore[no-any-return]
        if kind is int or kind is float:
            return a == b  # type: ignore[no-any-return]
        if kind is Some and type(a.value) in SIMPLE and type(b.value) in SIMPLE:
            return a.value == b.value  # type: ignore[no-any-return]
        if kind is EnumValue and not (a.payload and b.payload):
            return a.variant == b.variant and a.decl is b.decl  # a variant has a payload or has none
        if kind is Array and len(a.items) < LARGE:
            if len(a.items) != len(b.items):
                return False
            if SIMPLE.issuperset(map(type, a.items)) and SIMPLE.issuperset(map(type, b.items)):
                return a.items == b.items  # type: ignore[no-any-return]
        if kind is EnumValue:
            if a.decl is not b.decl or a.variant != b.variant:
                return False
            if SIMPLE.issuperset(map(type, a.payload)) and SIMPLE.issuperset(map(type, b.payload)):
                return a.payload == b.payload  # type: ignore[no-any-return]
        if kind is tuple and SIMPLE.issuperset(map(type, a)) and SIMPLE.issuperset(map(type, b)):
            return a == b  # type: ignore[no-any-return]
        if (kind is Some or kind is Ok or kind is Err) and type(a.value) in SIMPLE and type(b.value) in SIMPLE:
            return a.value == b.value  # type: ignore[no-any-return]
        if isinstance(a, Struct):
            left, right = a.values(), b.values()
            if SIMPLE.issuperset(map(type, left)) and SIMPLE.issuperset(map(type, right)):
                return left == right  # type: ignore[no-any-return]
        return _equal_within(a, b)
    return kind in NUMBERS and type(b) in NUMBERS and a == b


def _equal_within(a: Any, b: Any) -> bool:
    pending = [(a, b, 1)]  # an explicit stack: values may nest deeper than Python's own stack allows
    compared: set[tuple[int, int]] = set()  # parts shared many times over are walked once
    pace = 0
    while pending:
        pace += 1
        if pace == STRIDE:
            pace = 0
            look()
        left, right, depth = pending.pop()
        kind = type(left)
        if kind is not type(right):
            if not (kind in NUMBERS and type(right) in NUMBERS and left == right):
                return False
            continue
        if kind in SIMPLE or kind is float:
            if left != right:
                return False
            continue
        if depth > limits.nesting:
            nesting_too_deep()
        parts = _parts(left, right)
        if parts is False:
            return False
        if parts is not True and (id(left), id(right)) not in compared:
            compared.add((id(left), id(right)))
            pending.extend((x, y, depth + 1) for x, y in zip(*parts, strict=True))
    return True


def _parts(a: Any, b: Any) -> Any:
    """Return for two values of one class whether they are equal, or the two sequences that must be equal pairwise."""
    split = _SPLITTERS.get(type(a))
    if split is not None:
        return split(a, b)
    if isinstance(a, Struct):
        return a.values(), b.values()
    return bool(a == b)


def _arrays(a: Array, b: Array) -> Any:
    if len(a.items) != len(b.items):
        return False
    if len(a.items) >= LARGE:
        look()
    if SIMPLE.issuperset(map(type, a.items)) and SIMPLE.issuperset(map(type, b.items)):
        return a.items == b.items
    return a.items, b.items


def _maps(a: Map, b: Map) -> Any:
    if a.items.keys() != b.items.keys():
        return False
    keys = paced(a.items) if len(a.items) >= LARGE else a.items
    return a.items.values(), [b.items[key] for key in keys]


def _sets(a: Set, b: Set) -> bool:
    """Return whether two Sets are equal, in any order (L-5.3.2)."""
    if len(a.items) != len(b.items):
        return False
    keys = paced(a.items) if len(a.items) >= LARGE else a.items
    return all(fresh_key(key) in b.items for key in keys)


def fresh_key(key: Any) -> Any:
    """Return the key of a Set's element (`structural.set_key`) as one to look up in another Set. A dict takes one and the same
    key object for equal without comparing, but a value that holds a NaN differs from itself."""
    return key if type(key) in SCALAR_KEYS else key.fresh()


def _sequences(a: Any, b: Any) -> Any:
    return (a.items, b.items) if len(a.items) == len(b.items) else False


def _enums(a: EnumValue, b: EnumValue) -> Any:
    if a.decl is not b.decl or a.variant != b.variant:
        return False
    return a.payload or (), b.payload or ()


def _errors(a: ErrorValue, b: ErrorValue) -> Any:
    """Split two errors into what a program can read of them (L-5.3.1); what a model is told of one is no part of it."""
    names = [name for name in a.fields if name != FOR_MODEL]
    if (a.family, a.variant, a.message) != (b.family, b.variant, b.message) or {*names} != b.fields.keys() - {FOR_MODEL}:
        return False
    return [a.fields[name] for name in names], [b.fields[name] for name in names]


def _functions(a: Closure, b: Closure) -> bool:
    """Return whether two functions are the same: a named function is one function, however often its name is read; a closure
    is the result of one evaluation."""
    return a is b or (a.function is b.function and bool(a.function.name))


def _wrapped(a: Any, b: Any) -> Any:
    return (a.value,), (b.value,)


_SPLITTERS: dict[type, Callable[[Any, Any], Any]] = {
    Array: _arrays,
    Map: _maps,
    Set: _sets,
    Queue: _sequences,
    Stack: _sequences,
    tuple: lambda a, b: (a, b) if len(a) == len(b) else False,
    EnumValue: _enums,
    Closure: _functions,
    ErrorValue: _errors,
    RangeValue: lambda a, b: (a.start, a.end, a.inclusive) == (b.start, b.end, b.inclusive),
    Some: _wrapped,
    Ok: _wrapped,
    Err: _wrapped,
}


def comparable(a: Any, b: Any, operator: str) -> None:
    """Raise P007 for operands that have no order, else return nothing: only two numbers or two Strings have one (L-3.6.6)."""
    if not ((type(a) in NUMBERS and type(b) in NUMBERS) or (type(a) is str and type(b) is str)):
        kinds = f"{typeof(a)} and {typeof(b)}"
        raise Panic("P007", f"expected two numbers or two Strings for `{operator}`, found {kinds}")
