"""The text of every value: Display and debug form (L-5.1, columns Display; L-5.1.19), and JSON of plain values.

Hands on `display`, `debug` and `brief`, `quote`, `to_json`, `json_fits`, `key_text` and `from_json`, and `cut_to` with its sign
CUT, to the rest of the machine, the compiler, the runtime and the rooms above it. Display and debug form have the same rows for
composite kinds and differ in Strings, Floats and errors. With large values, what ends the run (P102 for its time, P103 for its
memory, or what the host has set: `metering.py`) may come out of `display`, `debug`, `to_json`, `json_fits` and `from_json`. How
the parts of a Float or of Bytes are written stands in `limits.py` and `containers.py`. Texts are read into JSON data elsewhere,
and secrets removed by the host; nothing is printed here. How a kind is shown is its row in DISPLAY, DEBUG or JSON.
"""

from __future__ import annotations

from .containers import Array, Map, Queue, RangeValue, Set, Stack, bytes_text, elements, to_base64
from .errors import FOR_MODEL, ErrorValue
from .limits import (
    INT_MAX,
    INT_MIN,
    check_string_size,
    float_literal,
    float_text,
    limits,
    nesting_too_deep,
    string_too_long,
    utf8_size,
)
from .metering import BLOCK, STRIDE, look, paced
from .objects import Closure, EnumValue, Err, Media, NoneOption, Ok, Response, Some, Struct

try:
    from _json import encode_basestring  # what the package json calls; the package is more than a start should load
except ImportError:  # a Python without it
    from json.encoder import encode_basestring

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator
    from typing import Any


# ----------------------------------------------------------------
# The engine that writes a value as text: one walk with an explicit stack for Display, debug form and JSON (G-6.1).
#
# A form is a table from class to a function that gives text for a leaf, or the pieces of a whole: text as it stands and inner
# wholes still to be walked. The walk needs no Python recursion and stops at the limits.

if TYPE_CHECKING:
    Form = dict[type, Callable[[Any], Any]]


class Whole:
    """A value with parts, whose pieces of text come later."""

    __slots__ = ("pieces",)

    def __init__(self, pieces: Iterable[Any]) -> None:
        self.pieces = pieces


class Flat:
    """A value with parts that are all leaves, and its text."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text


def text_or_whole(value: Any, form: Form) -> Any:
    """Return the text of `value` when it is a leaf of `form`, else a `Whole` of its pieces, or a `Flat` where its text is made at
    once."""
    writer = form.get(type(value))
    if writer is None:
        # Generated struct classes are not in the table; every other class that may appear falls under `object`.
        writer = form[Struct if isinstance(value, Struct) else object]
    written = writer(value)
    return written if type(written) in (str, Flat) else Whole(written)


def listed(values: Iterable[Any], form: Form, separator: str = ", ") -> Iterator[Any]:
    """Yield the pieces of `values` with `separator` between them."""
    first = True
    for value in values:
        if not first:
            yield separator
        first = False
        yield text_or_whole(value, form)


def render(value: Any, form: Form) -> str:
    """Return `value` in `form`. Raises P103 beyond the limits on String size and nesting."""
    first = text_or_whole(value, form)
    if type(first) is str:
        check_string_size(utf8_size(first))
        return first
    text = first.text if type(first) is Flat else "".join(_walk(first))
    look()
    if len(text) * 4 > limits.surely:  # shorter texts are within the limit whatever their characters are
        check_string_size(utf8_size(text))
    return text


def fits(value: Any, form: Form, most: int) -> bool:
    """Return whether `value` in `form` has at most `most` bytes of UTF-8; it stops at the first piece beyond them. Raises P103
    beyond the limits on nesting and on String size."""
    first = text_or_whole(value, form)
    if type(first) is str:
        return utf8_size(first) <= most
    if type(first) is Flat:
        return utf8_size(first.text) <= most
    size = 0
    for piece in _walk(first):
        size += utf8_size(piece)
        if size > most:
            return False
    return True


def _walk(first: Whole) -> Iterator[str]:
    """Yield every piece in order. Raises P103 as soon as the pieces have more code points than the limit has bytes: a code
    point takes at least one byte, so an oversized text is stopped early."""
    size = pace = 0
    stack = [iter(first.pieces)]
    while stack:
        pace += 1
        if pace == STRIDE:
            pace = 0
            look()
        piece = next(stack[-1], None)
        if piece is None:
            stack.pop()
        elif type(piece) is str:
            size += len(piece)
            if size > limits.surely and size > limits.string:
                string_too_long()
            yield piece
        else:
            if len(stack) >= limits.nesting:
                nesting_too_deep()
            stack.append(iter((piece.text,) if type(piece) is Flat else piece.pieces))


_ESCAPES = {ord("\\"): "\\\\", ord('"'): '\\"', ord("\n"): "\\n", ord("\r"): "\\r", ord("\t"): "\\t", 0: "\\0"}
_ESCAPES.update({code: f"\\u{{{code:x}}}" for code in (*range(1, 32), 127) if code not in _ESCAPES})


def quote(text: str) -> str:
    """Return `text` as a basic string literal would write it, quotes included (L-1.5.6). It asks for no limit; with more than
    BLOCK characters what ends the run may come out."""
    return f'"{_translated(text, _ESCAPES)}"'


def _translated(text: str, escapes: dict[int, str]) -> str:
    if len(text) <= BLOCK:
        return text.translate(escapes)
    parts = []
    for at in range(0, len(text), BLOCK):
        look()
        parts.append(text[at : at + BLOCK].translate(escapes))
    return "".join(parts)


def handle_text(handle: Any) -> str:
    """Return `<model X>` or the like (L-5.1.18); every handle class has a `word` and a `name`."""
    return f"<{handle.word} {handle.name}>"


def function_text(value: Any) -> str:
    """Return `<fn name>` or `<fn>` (L-5.1.15)."""
    name = value.function.name
    return f"<fn {name}>" if name else "<fn>"


def range_text(value: RangeValue) -> str:
    """Return `1..5`, `1..=5` or `1..` (L-5.1.12)."""
    start = "" if value.start is None else str(value.start)
    end = "" if value.end is None else str(value.end)
    return f"{start}{'..=' if value.inclusive else '..'}{end}"


def debug_error(error: ErrorValue) -> str:
    """Return `Family::Variant {message: "…"}`, without the variant where it has none (L-5.1.19)."""
    name = f"{error.family}::{error.variant}" if error.variant else error.family
    return f"{name} {{message: {quote(error.message)}}}"


def _bool_text(value: bool) -> str:
    return "true" if value else "false"


def shown_fields(value: Struct) -> Iterator[tuple[str, Any]]:
    """Yield name and value of each field in declaration order, without hidden fields at their default (M-6)."""
    hidden = value.decl.hidden
    for name, content in zip(value.decl.fields, value.values(), strict=True):
        if name not in hidden or not (content is None or content == 0 or (type(content) is Array and not content.items)):
            yield name, content


def _array(form: Form) -> Callable[[Array], Any]:
    def pieces(value: Array) -> Iterator[Any]:
        yield "["
        yield from listed(value.items, form)
        yield "]"

    return pieces


def _collection(form: Form, opening: str, closing: str) -> Callable[[Any], Any]:
    def pieces(value: Any) -> Iterator[Any]:
        yield opening
        yield from listed(elements(value), form)
        yield closing

    return pieces


def _tuple(form: Form) -> Callable[[tuple[Any, ...]], Any]:
    def pieces(value: tuple[Any, ...]) -> Iterator[Any]:
        yield "("
        yield from listed(value, form)
        yield ",)" if len(value) == 1 else ")"

    return pieces


def _map(form: Form) -> Callable[[Map], Any]:
    def pieces(value: Map) -> Iterator[Any]:
        separator = "{"
        for key, content in value.entries():
            yield separator + (quote(key) if type(key) is str else form[type(key)](key)) + ": "
            yield text_or_whole(content, form)
            separator = ", "
        yield "{}" if not value.items else "}"

    return pieces


def _fields(form: Form, fields: Iterator[tuple[str, Any]]) -> Iterator[Any]:
    separator = " {"
    for name, content in fields:
        yield f"{separator}{name}: "
        yield text_or_whole(content, form)
        separator = ", "
    yield " {}" if separator == " {" else "}"


def _struct(form: Form) -> Callable[[Struct], Any]:
    def pieces(value: Struct) -> Iterator[Any]:
        yield value.decl.name
        yield from _fields(form, shown_fields(value))

    return pieces


def _enum(form: Form) -> Callable[[EnumValue], Any]:
    def pieces(value: EnumValue) -> Iterator[Any]:
        variant = value.decl.variants[value.variant]
        yield f"{value.decl.name}::{variant.name}"
        if variant.fields:
            yield from _fields(form, zip(variant.fields, value.payload or (), strict=True))
        elif value.payload:
            yield "("
            yield from listed(value.payload, form)
            yield ")"

    return pieces


def _wrapper(form: Form, name: str) -> Callable[[Any], Any]:
    def pieces(value: Any) -> Iterator[Any]:
        yield f"{name}("
        yield text_or_whole(value.value, form)
        yield ")"

    return pieces


def _add_composites(form: Form) -> Form:
    form.update({Array: _array(form), tuple: _tuple(form), Map: _map(form), Struct: _struct(form)})
    form[EnumValue] = _enum(form)
    form[Set] = _collection(form, "Set {", "}")
    form[Queue] = _collection(form, "Queue [", "]")
    form[Stack] = _collection(form, "Stack [", "]")
    for cls in (Some, Ok, Err):
        form[cls] = _wrapper(form, cls.__name__)
    return form


LEAVES: Form = {
    int: str,
    bool: _bool_text,
    type(None): lambda _: "nil",
    NoneOption: lambda _: "None",
    RangeValue: range_text,
    Closure: function_text,
    object: handle_text,
}


def _form(string: Any, number: Any, error: Any, data: Any = bytes_text) -> Form:
    form: Form = {str: string, float: number, ErrorValue: error, bytes: data, Response: lambda response: response.f0}
    form[Media] = _media
    return _add_composites({**LEAVES, **form})


def _media(value: Media) -> str:
    from .media import media_text  # few programs have one

    kind, mime, size, _, name = value.values()
    return media_text(kind, name, size, is_link=not mime)


def _first_signs(value: str) -> str:
    """Return as much of `quote` as any cut shows."""
    return quote(value[:BLOCK])


def _first_bytes(value: bytes) -> str:
    """Return as much of `bytes_text` as any cut shows: a message about long Bytes is no long String."""
    return f"Bytes({value[:BLOCK].hex()})"


DISPLAY = _form(str, float_text, lambda error: error.message)
DEBUG = _form(quote, float_literal, debug_error)
BRIEF = _form(_first_signs, float_literal, debug_error, _first_bytes)


def display(value: Any) -> str:
    """Return the Display text: what `print`, `${}` and `to_string` write; of a String itself, whatever its size. Raises P103
    beyond the limits on size and nesting."""
    kind = type(value)
    if kind is str:
        return value  # type: ignore[no-any-return]
    return str(value) if kind is int else render(value, DISPLAY)


def debug(value: Any) -> str:
    """Return the debug form of assertions and traces: Strings quoted, integral Floats with `.0` (L-5.1.19). Raises P103 as
    `display`."""
    return render(value, DEBUG)


def brief(value: Any, cut: int = 200) -> str:
    """Return the debug form, of a longer one `cut` code points, which are at most BLOCK, and `…`, for the texts of panics. Of a
    composite value it walks no more parts than it shows. It asks for no limit."""
    first = text_or_whole(value, BRIEF)
    if type(first) is str:
        return first if len(first) <= cut else first[:cut] + CUT
    parts: list[str] = []
    stack = [iter(first.pieces)]
    while stack and sum(map(len, parts)) <= cut:
        piece = next(stack[-1], None)
        if piece is None:
            stack.pop()
        elif type(piece) is str:
            parts.append(piece)
        else:
            stack.append(iter(piece.pieces))
    text = "".join(parts)
    return text if len(text) <= cut else text[:cut] + CUT


CUT = "…"
"""What stands where a text was cut: the filter of secrets looks there for parts of them (G-10.3)."""


def cut_to(text: str, most: int) -> str:
    """Return a text of at most `most` code points, 1 or more: the text itself, or its beginning with CUT."""
    return text if len(text) <= most else text[: most - 1] + CUT


# ----------------------------------------------------------------
# Values as compact JSON text and JSON data as values (L-5.1, column JSON; L-5.1.20, O-0.5).
#
# Reading text is the business of whoever received it, under its own bounds (G-9.2).

SHORT = frozenset({str, int, float, bool, type(None)})
_JSON_ESCAPES = {code: f"\\u{code:04x}" for code in range(32)}
_JSON_ESCAPES.update({ord(c): f"\\{name}" for c, name in zip('"\\\n\r\t\f\b', '"\\nrtfb', strict=True)})


def json_string(text: str) -> str:
    """Return `text` as a JSON string, quotes included; characters beyond ASCII stay as they are (O-0.5). It asks for no limit;
    with more than BLOCK characters what ends the run may come out."""
    if len(text) <= BLOCK:
        return encode_basestring(text)
    return f'"{_translated(text, _JSON_ESCAPES)}"'


def _float(value: float) -> str:
    """Return a Float as a JSON number, `null` for NaN and the infinities, which JSON has no number for (L-5.1.2)."""
    return float_literal(value) if value - value == 0 else "null"


def _is_short(values: Collection[Any]) -> bool:
    """Return whether values are few texts and numbers, whose texts together take no long time."""
    if len(values) > STRIDE:
        return False
    kinds = {*map(type, values)}
    if not SHORT.issuperset(kinds):
        return False
    return str not in kinds or sum([len(value) for value in values if type(value) is str]) <= BLOCK


def _array_or_pieces(value: Array) -> Flat | Iterator[Any]:
    values = value.items
    return Flat(f"[{','.join([JSON[type(each)](each) for each in values])}]") if _is_short(values) else _json_array(values)


def _json_array(values: Iterable[Any]) -> Iterator[Any]:
    yield "["
    yield from listed(values, JSON, ",")
    yield "]"


def _object(entries: Iterable[tuple[str, Any]]) -> Iterator[Any]:
    separator = "{"
    for key, value in entries:
        yield f"{separator}{json_string(key)}:"
        yield text_or_whole(value, JSON)
        separator = ","
    yield "{}" if separator == "{" else "}"


def key_text(key: Any) -> str:
    """Return a Map key as the text of an object's key; of Bytes the base64 digits. Raises P103 where those are too long."""
    if type(key) is bool:
        return "true" if key else "false"
    return to_base64(key) if type(key) is bytes else str(key)


def _json_map(value: Map) -> Flat | Iterator[Any]:
    items = value.items
    if not _is_short(items.values()) or not {str}.issuperset(map(type, items)) or not _is_short(items.keys()):
        return _object((key_text(key), content) for key, content in value.entries())
    return Flat(f"{{{','.join([f'{json_string(key)}:{JSON[type(each)](each)}' for key, each in items.items()])}}}")


def _json_enum(value: EnumValue) -> Iterator[Any]:
    """Return the pieces of `{"variant": …, "data": …}`: `data` is null without a payload, else the one value, an array of two or
    more, or an object of named fields (L-5.1.9)."""
    variant = value.decl.variants[value.variant]
    payload = value.payload or ()
    yield f'{{"variant":{json_string(variant.name)},"data":'
    if variant.fields:
        yield from _object(zip(variant.fields, payload, strict=True))
    elif len(payload) > 1:
        yield from _json_array(payload)
    else:
        yield text_or_whole(payload[0] if payload else None, JSON)
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
    Array: _array_or_pieces,
    tuple: _json_array,
    Set: lambda value: _json_array(value.items.values()),
    Queue: lambda value: _json_array(value.items),
    Stack: lambda value: _json_array(value.items),
    Map: _json_map,
    Struct: lambda value: _object(shown_fields(value)),
    EnumValue: _json_enum,
    ErrorValue: _error,
    RangeValue: _range,
    bytes: lambda value: f'"{to_base64(value)}"',
    Some: lambda value: (text_or_whole(value.value, JSON),),
    Ok: lambda value: _object((("ok", value.value),)),
    Err: lambda value: _object((("err", value.value),)),
    Closure: lambda value: json_string(function_text(value)),
    object: lambda value: json_string(handle_text(value)),
}


def to_json(value: Any) -> str:
    """Return the compact JSON text of `value`, of any kind. Raises P103 beyond the limits on String size and nesting (G-6.1)."""
    return render(value, JSON)


def json_fits(value: Any, most: int) -> bool:
    """Return whether the JSON text of `value` has at most so many bytes of UTF-8. Raises P103 beyond the limits on nesting and
    on String size."""
    return fits(value, JSON, most)


def _whole_float(number: int) -> float:
    try:
        return float(number)
    except OverflowError:
        raise ValueError("number beyond the range of Float") from None


def from_json(data: Any, depth: int = 0) -> Any:
    """Return the value of the program for what a JSON reader gave: None, bool, int, float, str, or lists and dicts of such.

    Arrays become Arrays, objects Maps in source order, whole numbers beyond Int Floats; everything else stays as it is. `depth`
    is how many arrays and objects are around `data`. Raises ValueError for a number beyond Float, since such text does not parse
    (G-9.2), and P103 for more nesting than the limit.
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
    items = paced(data.items()) if len(data) > STRIDE else data.items()
    return Map({key: from_json(item, depth + 1) for key, item in items})
