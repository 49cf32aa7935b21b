"""Values as compact JSON text and JSON data as values (L-5.1, column JSON; L-5.1.20, O-0.5).

Hands on `to_json` and `from_json`. Reading text is the business of whoever received it, under its own bounds (G-9.2).
"""

from __future__ import annotations

from .binary import to_base64
from .containers import Array, Map, Queue, Set, Stack
from .display import LEAVES, function_text, handle_text, shown_fields
from .enums import EnumValue
from .errors import FOR_MODEL, ErrorValue
from .functions import Closure
from .limits import limits, nesting_too_deep
from .metering import BLOCK, STRIDE, look, paced
from .ranges import RangeValue
from .records import Struct
from .rendering import fits, listed, render, write
from .results import Err, NoneOption, Ok, Some
from .scalars import INT_MAX, INT_MIN, float_literal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from .rendering import Form

_ESCAPES = {code: f"\\u{code:04x}" for code in range(32)}
_ESCAPES.update({ord(c): f"\\{name}" for c, name in zip('"\\\n\r\t\f\b', '"\\nrtfb', strict=True)})


def json_string(text: str) -> str:
    """`text` as a JSON string; characters beyond ASCII stay as they are (O-0.5)."""
    if len(text) <= BLOCK:
        return f'"{text.translate(_ESCAPES)}"'
    parts = []
    for at in range(0, len(text), BLOCK):
        look()
        parts.append(text[at : at + BLOCK].translate(_ESCAPES))
    return f'"{"".join(parts)}"'


def _float(value: float) -> str:
    """NaN and the infinities have no JSON number (L-5.1.2)."""
    return float_literal(value) if value - value == 0 else "null"


def _array(values: Iterable[Any]) -> Iterator[Any]:
    yield "["
    yield from listed(values, JSON, ",")
    yield "]"


def _object(entries: Iterable[tuple[str, Any]]) -> Iterator[Any]:
    separator = "{"
    for key, value in entries:
        yield f"{separator}{json_string(key)}:"
        yield write(value, JSON)
        separator = ","
    yield "{}" if separator == "{" else "}"


def key_text(key: Any) -> str:
    """A Map key as the text of an object key."""
    if type(key) is bool:
        return "true" if key else "false"
    return to_base64(key) if type(key) is bytes else str(key)


def _map(value: Map) -> Iterator[Any]:
    return _object((key_text(key), content) for key, content in value.entries())


def _enum(value: EnumValue) -> Iterator[Any]:
    """`data` is null, the value, an array of two or more, or an object (L-5.1.9)."""
    variant = value.decl.variants[value.variant]
    payload = value.payload or ()
    yield f'{{"variant":{json_string(variant.name)},"data":'
    if variant.fields:
        yield from _object(zip(variant.fields, payload, strict=True))
    elif len(payload) > 1:
        yield from _array(payload)
    else:
        yield write(payload[0] if payload else None, JSON)
    yield "}"


def _error(error: ErrorValue) -> Iterator[Any]:
    variant = () if error.variant is None else (("variant", error.variant),)
    head = (("kind", error.family), *variant, ("message", error.message))
    return _object((*head, *((name, value) for name, value in error.fields.items() if name != FOR_MODEL)))


def _range(value: RangeValue) -> Iterator[Any]:
    return _object((("start", value.start), ("end", value.end), ("inclusive", value.inclusive)))


def _null(_: Any) -> str:
    return "null"


JSON: Form = {
    str: json_string,
    int: str,
    float: _float,
    bool: LEAVES[bool],
    type(None): _null,
    NoneOption: _null,
    Array: lambda value: _array(value.items),
    tuple: _array,
    Set: lambda value: _array(value.items.values()),
    Queue: lambda value: _array(value.items),
    Stack: lambda value: _array(value.items),
    Map: _map,
    Struct: lambda value: _object(shown_fields(value)),
    EnumValue: _enum,
    ErrorValue: _error,
    RangeValue: _range,
    bytes: lambda value: f'"{to_base64(value)}"',
    Some: lambda value: (write(value.value, JSON),),
    Ok: lambda value: _object((("ok", value.value),)),
    Err: lambda value: _object((("err", value.value),)),
    Closure: lambda value: json_string(function_text(value)),
    object: lambda value: json_string(handle_text(value)),
}


def to_json(value: Any) -> str:
    """Compact JSON text of `value`; P103 beyond the limits of G-6.1."""
    return render(value, JSON)


def json_fits(value: Any, most: int) -> bool:
    """Whether the JSON text of `value` has at most so many bytes of UTF-8; P103 beyond the limit on nesting."""
    return fits(value, JSON, most)


def _whole_float(number: int) -> float:
    try:
        return float(number)
    except OverflowError:
        raise ValueError("number beyond the range of Float") from None


def from_json(data: Any, depth: int = 0) -> Any:
    """Values for what a JSON reader gave: objects become Maps in source order, whole numbers beyond Int Floats.

    A number beyond Float is ValueError: such text does not parse (G-9.2).
    """
    kind = type(data)
    if kind is int:
        return data if INT_MIN <= data <= INT_MAX else _whole_float(data)
    if kind is not dict and kind is not list:
        return data
    if depth >= limits.nesting:
        nesting_too_deep()
    if kind is list:
        if set(map(type, data)) == {str}:
            return Array(data.copy())
        return Array([from_json(item, depth + 1) for item in (paced(data) if len(data) > STRIDE else data)])
    return Map({key: from_json(item, depth + 1) for key, item in data.items()})
