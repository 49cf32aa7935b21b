"""Run-time types: the shallow check behind `Any`, the deep cast `as`, the test of `catch` (L-3.3.3, L-3.5, L-5.12.3).

Hands on `matches`, `check`, `cast` and `try_cast`, all driven by descriptors (`types.py`), to both tiers, built-ins, snapshots,
the compiler and the runtime, and `truth` to built-ins. None of them changes the value. A descriptor is a type as a tuple: a word,
such as "array", then the descriptors of its parts or what else the word needs. Panics are P007 (`check`, unless it is given
another code), P008 (`cast`), and P103 beyond a limit. What values a type takes is a row of CLASSES or `_TESTS`, a conversion one
of SCALAR_CASTS.
"""

from __future__ import annotations

from ..panics import Panic
from .arithmetic import MOST_DIGITS, read_float, read_int
from .containers import Array, Map, Queue, RangeValue, Set, Stack, elements
from .errors import ErrorValue, is_family, make_error
from .handles import ModelBuilder, ModelRef, ToolRef
from .limits import limits, nesting_too_deep, to_int
from .metering import LARGE, look, paced
from .objects import NONE, Closure, EnumValue, Err, NoneOption, Ok, Prompt, Some, Struct
from .structural import make_set
from .text import brief, display
from .types import type_text, typeof

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any, NoReturn

    from .types import Descriptor


CLASSES: dict[str, tuple[type, ...]] = {
    "int": (int,), "float": (float,), "string": (str,), "bool": (bool,), "nil": (type(None),), "range": (RangeValue,),
    "array": (Array,), "map": (Map,), "option": (Some, NoneOption), "result": (Ok, Err), "fn": (Closure,),
    "prompt": (Prompt,), "bytes": (bytes,), "set": (Set,), "queue": (Queue,), "stack": (Stack,),
}


def matches(value: Any, descriptor: Descriptor) -> bool:
    """Return whether the kind of `value` is that of the type; type arguments do not count (L-3.1.22). Raises KeyError for the
    descriptors that only signatures of built-ins have."""
    head = descriptor[0]
    classes = CLASSES.get(head)
    if classes is not None:
        return type(value) in classes
    return _TESTS[head](value, descriptor)


def _is_nominal(value: Any, descriptor: Descriptor) -> bool:
    return isinstance(value, Struct) and value.decl.key == descriptor[1]


def _is_enum(value: Any, descriptor: Descriptor) -> bool:
    return type(value) is EnumValue and value.decl.key == descriptor[1]


def _is_error(value: Any, descriptor: Descriptor) -> bool:
    """Return whether a value is an error of a family, which covers its descendants; `Error` covers types with `impl Error` too
    (L-3.11.15)."""
    if type(value) is ErrorValue:
        variant_fits = len(descriptor) == 2 or value.variant == descriptor[2]
        return variant_fits and is_family(value.family, descriptor[1])
    return descriptor[1] == "Error" and isinstance(value, Struct | EnumValue) and value.decl.is_error


def _is_tuple(value: Any, descriptor: Descriptor) -> bool:
    return type(value) is tuple and len(value) == len(descriptor[1])


def _is_handle(value: Any, descriptor: Descriptor) -> bool:
    """Return whether a value is a handle of that type; `M.` is the model M alone, `T@` the tool T. A builder stands for its model
    or agent (L-3.3.20)."""
    if type(value) is ModelBuilder and descriptor[1] == type(value.model).type_name:
        return True
    one = f"{value.name}." if type(value) is ModelRef else f"{value.name}@" if type(value) is ToolRef else None
    return descriptor[1] in (typeof(value), one)


_TESTS: dict[str, Callable[[Any, Descriptor], bool]] = {
    "any": lambda value, descriptor: True,
    "never": lambda value, descriptor: False,
    "tuple": _is_tuple,
    "nilable": lambda value, descriptor: value is None or matches(value, descriptor[1]),
    "union": lambda value, descriptor: type(value) is str and value in descriptor[1],
    "struct": _is_nominal,
    "schema": _is_nominal,
    "enum": _is_enum,
    "record": _is_nominal,
    "error": _is_error,
    "trait": lambda value, descriptor: any(matches(value, each) for each in descriptor[2]),
    **dict.fromkeys(("errors", "channels", "by_model", "offers"), lambda value, descriptor: False),  # no types, but lists
    "handle": _is_handle,
}


def check(value: Any, descriptor: Descriptor, code: str = "P007") -> Any:
    """Return a value from behind Any where the type is expected: its kind is checked, and an Int becomes a Float where the type
    is Float or Float?. Raises the panic `code` (L-3.3.3)."""
    if matches(value, descriptor):
        return value
    wanted = descriptor[1] if descriptor[0] == "nilable" else descriptor
    if type(value) is int and wanted[0] == "float":
        return float(value)
    raise Panic(code, f"expected {type_text(descriptor)}, found {_named_value(value, descriptor)}")


def _named_value(value: Any, descriptor: Descriptor) -> str:
    """Return how a message names a value that does not fit: a String where a union of texts is expected by itself, any other
    value by its type."""
    return brief(value) if type(value) is str and descriptor[0] == "union" else typeof(value)


def _fail(value: Any, descriptor: Descriptor) -> NoReturn:
    raise Panic("P008", f"cannot cast {brief(value)} to {type_text(descriptor)}")


def truth(value: Any) -> bool:
    """Return `value as Bool`, of any value, raising nothing: false for `false nil 0 0.0 "" [] {} () None Err(_)` and empty Bytes,
    else true (L-3.5.4)."""
    kind = type(value)
    if kind is Array or kind is Map:
        return bool(value.items)
    if kind is bool or kind is int or kind is float or kind is str or kind is tuple or kind is bytes:
        return bool(value)
    return not (value is None or value is NONE or kind is Err)


def _cast_int(value: Any, descriptor: Descriptor) -> int:
    kind = type(value)
    if kind is int:
        return value  # type: ignore[no-any-return]
    if kind is str and len(value) < MOST_DIGITS and value.isascii() and value.isdigit():
        return int(value)
    if kind is float:
        return to_int(value)
    if kind is bool:
        return int(value)
    number = read_int(value) if kind is str else None
    return _fail(value, descriptor) if number is None else number


def _cast_float(value: Any, descriptor: Descriptor) -> float:
    kind = type(value)
    if kind is float or kind is int:
        return float(value)
    number = read_float(value) if kind is str else None
    return _fail(value, descriptor) if number is None else number


# What `as` a scalar type does, by the head of its descriptor.
SCALAR_CASTS: dict[str, Callable[[Any, Descriptor], Any]] = {
    "int": _cast_int,
    "float": _cast_float,
    "string": lambda value, descriptor: display(value),
    "bool": lambda value, descriptor: truth(value),
}


def cast(value: Any, descriptor: Descriptor) -> Any:
    """Return `value as T` (L-3.5): a conversion to a scalar type, for any other type the value after a deep check, or a copy of
    it where an Int inside becomes a Float. Raises P008, P103 beyond the limits on nesting and on the size of a text, and what
    ends the run (P102 for its time, P103 for its memory, or what the host has set: `metering.py`)."""
    scalar = SCALAR_CASTS.get(descriptor[0])
    return scalar(value, descriptor) if scalar else Conformer(value, descriptor).conform(value, descriptor, 1)


def try_cast(value: Any, descriptor: Descriptor) -> Ok | Err:
    """Return the cast as a Result: what would be P008 is an Err with a RuntimeError (L-3.5.8). Raises the rest of what
    `cast` raises."""
    try:
        return Ok(cast(value, descriptor))
    except Panic as panic:
        if panic.code != "P008":
            raise
        return Err(make_error("RuntimeError", None, (panic.message,)))


SIMPLE = {"any": frozenset(), **{head: frozenset(CLASSES[head]) for head in ("int", "float", "string", "bool", "nil")}}


class Conformer:
    """One deep check. It keeps the whole value and type for the message (L-3.5.6). Depths count levels, from 1. It does not look
    into enums, errors, records behind `record` or `prompt`, functions, or values behind a trait."""

    __slots__ = ("value", "descriptor")

    def __init__(self, value: Any, descriptor: Descriptor) -> None:
        self.value = value
        self.descriptor = descriptor

    def conform(self, value: Any, descriptor: Descriptor, depth: int) -> Any:
        """Return `value` with Ints made Floats where the type wants them, the same object when nothing changes. Raises P008, P103
        beyond the limit on nesting, and what ends the run; so do the methods below."""
        if type(value) is int and descriptor[0] == "float":
            return float(value)
        if not matches(value, descriptor) and descriptor[0] != "nilable":
            _fail(self.value, self.descriptor)
        if depth > limits.nesting:
            nesting_too_deep()
        return self.inside(value, descriptor, depth + 1)

    def inside(self, value: Any, descriptor: Descriptor, depth: int) -> Any:
        """Return a value whose kind fits, with its parts checked."""
        head = descriptor[0]
        if head == "nilable":
            return None if value is None else self.conform(value, descriptor[1], depth)
        if head == "array":
            if self.all_fit(value.items, descriptor[1], depth):
                return value
            items = self.each(value.items, [descriptor[1]] * len(value.items), depth)
            return value if items is None else Array(items)
        if head == "map":
            return self.map_entries(value, descriptor, depth)
        if head == "tuple":
            parts = self.each(value, descriptor[1], depth)
            return value if parts is None else tuple(parts)
        if head in ("set", "queue", "stack"):
            return self.collection(value, descriptor[1], depth)
        if head in ("option", "result"):
            return self.payload(value, descriptor, depth)
        if head in ("struct", "schema") and value.decl.types:
            parts = self.each(value.values(), value.decl.types, depth)
            return value if parts is None else type(value).of(parts)
        return value

    def all_fit(self, values: Iterable[Any], descriptor: Descriptor, depth: int) -> bool:
        """Return whether values fit a type that asks for no more than their class, all of them, so that there is nothing to
        change and nothing inside to look at; False for any other type. Raises P103 beyond the limit on nesting, and what ends the
        run, but not P008."""
        simple = SIMPLE.get(descriptor[0])
        if simple is None or not simple.issuperset(map(type, values)) and descriptor[0] != "any":
            return False
        look()
        if depth > limits.nesting and values:
            nesting_too_deep()
        return True

    def each(self, values: Iterable[Any], types: Iterable[Descriptor], depth: int) -> list[Any] | None:
        """Return the checked elements, or None when each is the same object as before."""
        look()  # a value of few parts may stand inside itself so often that the walk has no end in sight
        before = list(values)
        pairs = zip(before, types, strict=True)
        after = [self.conform(value, kind, depth) for value, kind in (pairs if len(before) < LARGE else paced(pairs))]
        return None if all(map(_same, before, after)) else after

    def map_entries(self, value: Map, descriptor: Descriptor, depth: int) -> Map:
        """Return a Map with checked keys and values."""
        if descriptor[1] != ("string",) or not {str}.issuperset(map(type, value.items)):
            for key in paced(value.key_list()):
                self.conform(key, descriptor[1], depth)
        if self.all_fit(value.items.values(), descriptor[2], depth):
            return value
        contents = self.each(value.items.values(), [descriptor[2]] * len(value.items), depth)
        return value if contents is None else Map(dict(paced(zip(value.items, contents, strict=True))))

    def collection(self, value: Any, element: Descriptor, depth: int) -> Any:
        """Return a Set, Queue or Stack with checked elements."""
        items = self.each(elements(value), [element] * len(value.items), depth)
        if items is None:
            return value
        if type(value) is Set:
            return make_set(paced(items))
        return type(value)(type(value.items)(items))

    def payload(self, value: Any, descriptor: Descriptor, depth: int) -> Any:
        """Return an Option or Result with its payload checked."""
        if type(value) is NoneOption:
            return value
        inner = self.conform(value.value, descriptor[2 if type(value) is Err else 1], depth)
        if inner is value.value:
            return value
        return Err(inner, value.way) if type(value) is Err else type(value)(inner)


def _same(a: Any, b: Any) -> bool:
    return a is b
