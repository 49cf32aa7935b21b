"""The text of every value: Display and debug form (L-5.1, columns Display; L-5.1.19), and JSON of plain values.

Hands on `display`, `debug` and `brief`, `quote`, `to_json`, `json_fits`, `key_text` and `from_json`, and `cut_to` with its sign
CUT, to the rest of the machine, the compiler, the runtime and the rooms above it. Display and debug form have the same rows for
composite kinds and differ in Strings, Floats and errors. With large values, what ends the run (P102 for its time, P103 for its
memory, or what the host has set: `metering.py`) may come out of `display`, `debug`, `to_json`, `json_fits` and `from_json`. How
the parts of a Float or of Bytes are written stands in `limits.py` and `containers.py`. Texts are read into JSON data elsewhere,
and secrets removed by the host; nothing is printed here. How a kind is shown is its row in DISPLAY, DEBUG or JSON.
"""

from __future__ import annotations

from itertools import chain

from ..panics import Panic
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

try:  # what the package json calls; the package is more than a start should load
    from _json import encode_basestring, make_encoder

    ENCODER: Any = make_encoder
except ImportError:  # a Python without it
    from json.encoder import encode_basestring

    ENCODER = None

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
    """The text of a value with parts, made at once. `levels`: the most that it may nest; `pieces`: makes the pieces, for a walk
    that is near the limit on nesting."""

    __slots__ = ("text", "levels", "pieces")

    def __init__(self, text: str, levels: int, pieces: Callable[[], Iterator[Any]]) -> None:
        self.text = text
        self.levels = levels
        self.pieces = pieces


def text_or_whole(value: Any, form: Form) -> Any:
    """Return the text of `value` when it is a leaf of `form`, else a `Whole` of its pieces."""
    writer = form.get(type(value))
    if writer is None:
        # Generated struct classes are not in the table; every other class that may appear falls under `object`.
        writer = form[Struct if isinstance(value, Struct) else object]
    written = writer(value)
    return written if type(written) is str else Whole(written)


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
    return _joined(text_or_whole(value, form))


def _joined(first: Any) -> str:
    """Return the text that begins with a first piece and has no other beside it. Raises as `render`."""
    if type(first) is str:
        check_string_size(utf8_size(first))
        return first
    text = first.text if type(first) is Flat else "".join(_walk(first))
    look()
    if len(text) * 4 > limits.surely:  # shorter texts are within the limit whatever their characters are
        check_string_size(utf8_size(text))
    return text


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
        elif type(piece) is Flat:
            look()
            deep = len(stack) + piece.levels > limits.nesting
            stack[-1] = chain(piece.pieces() if deep else (piece.text,), stack[-1])
        else:
            if len(stack) >= limits.nesting:
                nesting_too_deep()
            stack.append(iter(piece.pieces))


_ESCAPES = {ord("\\"): "\\\\", ord('"'): '\\"', ord("\n"): "\\n", ord("\r"): "\\r", ord("\t"): "\\t", 0: "\\0"}
_ESCAPES.update({code: f"\\u{{{code:x}}}" for code in (*range(1, 32), 127) if code not in _ESCAPES})


def quote(text: str) -> str:
    """Return `text` as a basic string literal would write it, quotes included (L-1.5.6). It asks for no limit; with more than
    BLOCK characters what ends the run may come out."""
    if len(text) <= BLOCK and text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
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
# Reading text is the business of whoever received it, under its own bounds (G-9.2). What is small goes to the encoder in C of
# Python's library; a row of JSON gives the pieces of the rest.

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


def key_text(key: Any) -> str:
    """Return a Map key as the text of an object's key; of Bytes the base64 digits. Raises P103 where those are too long."""
    if type(key) is bool:
        return "true" if key else "false"
    return to_base64(key) if type(key) is bytes else str(key)


class _Refused(Exception):
    """A value is not small, or the encoder would write it in another way."""


PLAIN_LEAVES = frozenset({str, int, bool, type(None)})
NUMBER_KEYS = frozenset({int})


class _Small:
    """What the encoder in C is told of a value: the plain data that it is written as, one level at a time. `wholes` counts the
    values with parts, `room` and `characters` what else there may be. The methods raise _Refused."""

    __slots__ = ("wholes", "room", "characters")

    def __init__(self) -> None:
        self.wholes = 0
        self.room = STRIDE
        self.characters = BLOCK

    def plain(self, value: Any) -> Any:
        """Return plain data for a value that is none. The encoder calls it."""
        kind = type(value)
        if kind is NoneOption:
            return None
        self.wholes += 1
        if kind is Map:
            entries = value.items
            try:
                self.characters -= sum(map(len, entries))
            except TypeError:  # not all are Strings
                if {*map(type, entries)} != NUMBER_KEYS:
                    raise _Refused from None
            self.check(entries.values())
            return entries
        if kind is Array:
            self.check(value.items)
            return value.items
        if isinstance(value, Struct):
            if value.decl.hidden:
                raise _Refused
            values = value.values()
            self.check(values)
            return dict(zip(value.decl.fields, values, strict=True))
        if kind is EnumValue:
            return self.enum(value)
        if kind is Some:
            self.check((value.value,))
            return value.value
        raise _Refused

    def check(self, values: Collection[Any]) -> None:
        """Count values that lie side by side, and refuse those that the encoder writes in another way. The parts of tuples are
        counted here too: the encoder knows tuples and asks nobody."""
        self.room -= len(values)
        kinds = {*map(type, values)}
        if str in kinds:
            self.characters -= sum([len(each) for each in values if type(each) is str])
        if self.room < 0 or self.characters < 0 or self.wholes > MOST_WHOLES:
            raise _Refused
        if not kinds <= PLAIN_LEAVES:
            if float in kinds and not all(_is_usual(each) for each in values if type(each) is float):
                raise _Refused
            if tuple in kinds:
                for each in values:
                    if type(each) is tuple:
                        self.wholes += 1
                        self.check(each)

    def enum(self, value: EnumValue) -> dict[str, Any]:
        """Return the object that an enum value is written as (L-5.1.9)."""
        variant = value.decl.variants[value.variant]
        payload = value.payload or ()
        self.check(payload)
        if variant.fields:
            return {"variant": variant.name, "data": dict(zip(variant.fields, payload, strict=True))}
        data = list(payload) if len(payload) > 1 else payload[0] if payload else None
        return {"variant": variant.name, "data": data}


def _is_usual(value: float) -> bool:
    """Return whether Python writes a Float without exponent, as a program does."""
    return 1e-4 <= value < 1e16 or -1e16 < value <= -1e-4 or value == 0


MOST_WHOLES = 128  # of a small value: fewer than the levels that a value may nest
MANY = 64  # elements of an Array that are tried together
PRICE = 4  # how many wholes are tried in the time that one takes piece by piece


class _Json:
    """One JSON text that is being made. `debt`: how many wholes go piece by piece before the next try to write one at once, since
    tries came to nothing: all tries together take no longer than the walk."""

    __slots__ = ("debt",)

    def __init__(self, *, in_pieces: bool = False) -> None:
        self.debt = INT_MAX if in_pieces else 0

    def piece(self, value: Any) -> Any:
        """Return the text of a leaf, else a `Flat` or a `Whole`."""
        leaf = JSON_LEAVES.get(type(value))
        if leaf is not None:
            return leaf(value)
        flat = self.flat(value)
        return self.whole(value) if flat is None else flat

    def whole(self, value: Any) -> Any:
        """Return a value with parts as a `Whole`, a handle as its text."""
        row = JSON.get(type(value))
        if row is not None:
            return Whole(row(self, value))
        return Whole(self.entries(shown_fields(value))) if isinstance(value, Struct) else json_string(handle_text(value))

    def flat(self, value: Any) -> Flat | None:
        """Return a small value as a `Flat`, None for any other."""
        if self.debt:
            self.debt -= 1
            return None
        small = _Small()
        text = self.written([value], small)
        return None if text is None else Flat(text[1:-1], small.wholes, lambda: iter((self.whole(value),)))

    def written(self, elements: list[Any], small: _Small) -> str | None:
        """Return the text of a list, if all its elements together are small."""
        if ENCODER is None:
            return None
        try:
            small.check(elements)
            encode = ENCODER(None, small.plain, encode_basestring, None, ":", ",", False, False, False)
            text = "".join(encode(elements, 0))
        except (_Refused, TypeError, RecursionError):  # TypeError: for keys that are Bytes
            self.debt = small.wholes // PRICE
            return None
        return text if small.wholes <= limits.nesting else None

    def array(self, values: Collection[Any]) -> Iterator[Any]:
        """Yield the pieces of an array: small elements that follow one another as one `Flat`."""
        elements = values if type(values) is list else list(values)
        opening = "["
        many = MANY
        at = 0
        while at < len(elements):
            yield opening
            opening = ","
            some = elements[at : at + many] if many > 1 and not self.debt else ()
            flat = self.row(some) if len(some) > 1 else None
            if flat is not None:
                yield flat
                at += len(some)
                continue
            if some:
                many //= 2
            yield self.piece(elements[at])
            at += 1
        yield "]" if elements else "[]"

    def row(self, elements: list[Any]) -> Flat | None:
        """Return elements with commas between them, if all together are small."""
        small = _Small()
        text = self.written(elements, small)
        return None if text is None else Flat(text[1:-1], small.wholes, lambda: self.one_by_one(elements))

    def one_by_one(self, elements: list[Any]) -> Iterator[Any]:
        """Yield the pieces of a row."""
        for position, element in enumerate(elements):
            if position:
                yield ","
            yield self.piece(element)

    def entries(self, entries: Iterable[tuple[str, Any]]) -> Iterator[Any]:
        """Yield the pieces of an object."""
        separator = "{"
        for key, value in entries:
            yield f"{separator}{json_string(key)}:"
            yield self.piece(value)
            separator = ","
        yield "{}" if separator == "{" else "}"

    def map_entries(self, value: Map) -> Iterator[Any]:
        return self.entries((key_text(key), content) for key, content in value.entries())

    def enum(self, value: EnumValue) -> Iterator[Any]:
        """Yield the pieces of `{"variant": …, "data": …}`: `data` is null without a payload, else the one value, an array of two
        or more, or an object of named fields (L-5.1.9)."""
        variant = value.decl.variants[value.variant]
        payload = value.payload or ()
        yield f'{{"variant":{json_string(variant.name)},"data":'
        if variant.fields:
            yield from self.entries(zip(variant.fields, payload, strict=True))
        elif len(payload) > 1:
            yield from self.array(payload)
        else:
            yield self.piece(payload[0] if payload else None)
        yield "}"

    def error(self, error: ErrorValue) -> Iterator[Any]:
        variant = () if error.variant is None else (("variant", error.variant),)
        head = (("kind", error.family), *variant, ("message", error.message))
        return self.entries((*head, *((name, value) for name, value in error.fields.items() if name != FOR_MODEL)))


JSON_LEAVES: Form = {
    str: json_string,
    int: str,
    float: _float,
    bool: LEAVES[bool],
    type(None): lambda _: "null",
    NoneOption: lambda _: "null",
    bytes: lambda value: f'"{to_base64(value)}"',
    Closure: lambda value: json_string(function_text(value)),
}
# The pieces of values with parts.
JSON: dict[type, Callable[[_Json, Any], Iterable[Any]]] = {
    Array: lambda json, value: json.array(value.items),
    tuple: _Json.array,
    Set: lambda json, value: json.array(value.items.values()),
    Queue: lambda json, value: json.array(value.items),
    Stack: lambda json, value: json.array(value.items),
    Map: _Json.map_entries,
    EnumValue: _Json.enum,
    ErrorValue: _Json.error,
    RangeValue: lambda json, value: json.entries((("start", value.start), ("end", value.end), ("inclusive", value.inclusive))),
    Some: lambda json, value: (json.piece(value.value),),
    Ok: lambda json, value: json.entries((("ok", value.value),)),
    Err: lambda json, value: json.entries((("err", value.value),)),
}


def to_json(value: Any) -> str:
    """Return the compact JSON text of `value`, of any kind. Raises P103 beyond the limits on String size and nesting (G-6.1)."""
    return _joined(_Json().piece(value))


def json_fits(value: Any, most: int) -> bool:
    """Return whether the JSON text of `value` has at most so many bytes of UTF-8; it stops at the first piece beyond them. Raises
    P103 beyond the limits on nesting and on String size."""
    try:
        return _fits(_Json(), value, most)
    except Panic:  # which of both bounds it passes first, only its pieces tell
        return _fits(_Json(in_pieces=True), value, most)


def _fits(json: _Json, value: Any, most: int) -> bool:
    first = json.piece(value)
    if type(first) is str:
        return utf8_size(first) <= most
    if type(first) is Flat:
        check_string_size(len(first.text))
        return utf8_size(first.text) <= most
    size = 0
    for piece in _walk(first):
        size += utf8_size(piece)
        if size > most:
            return False
    return True


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
