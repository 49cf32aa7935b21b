"""`std::json` (L-7.1): reading text into values, writing values as text.

Hands on, besides its rows, `parse_as`, the body of the special form of that name, which takes the type as a descriptor and a
`TypeTable`, and `fill`, which puts in the defaults that it left open, both to the opcodes (`interp/ops.py`), a descriptor being
the nested tuple by which the machine knows a type (`values/types.py`): its head, then the types inside; `read` and `Fault` to
hashmaps with a file (`hashmaps.py`); `StoredBuilder`, which builds values of what is stored or answered, with `Misfit` to them,
to what is in a store (`interp/`, `runtime/search/session_indexes.py`), to the answers of hosts and mocks (`runtime/effects/`,
with SCALARS) and to the Python API (`api/json_calls.py`, with ABSENT); `Misfit` to recordings (`runtime/journal/border.py`) too.

`json::value_as` has no body: the compiler writes its value as JSON text and reads that with `parse_as`. How a value becomes JSON
text stands in `values/text.py`; here it is only spread over lines. The decoder of Python's library is loaded with the first text;
a text it refuses is read again by `find_fault`, which returns the fault with its position. A text that is no JSON, or none of the
type, is an Err of JsonError; a body panics with P007 for an argument of another kind and with P103 for a result beyond the limits
of G-6.1. Whatever works on a long text may raise what ends the run (`metering.look`).
"""

from __future__ import annotations

from collections import deque

from ..values.arithmetic import read_int
from ..values.containers import Array, Map, Queue, RangeValue, Stack, from_base64, key_of
from ..values.errors import make_error
from ..values.limits import INT_MAX, INT_MIN, limits, repeat, string_too_long
from ..values.metering import BLOCK, LARGE, STRIDE, look, paced, spend
from ..values.objects import NONE, RECORDS, EnumValue, Err, Ok, Some
from ..values.structural import make_set
from ..values.text import brief, to_json
from ..values.types import type_text, typeof
from .registry import integer, std, std_special, text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from json import JSONDecoder
    from typing import Any, NoReturn, Protocol

    from ..values.objects import EnumType
    from ..values.types import Descriptor

    # Of a struct: its class, the names of its fields, and by the kinds of values which fields are to be built.
    Shape = tuple[Any, tuple[str, ...], dict[Any, tuple[int, ...]]]


# ----------------------------------------------------------------
# Where and why a text is no JSON that `std::json` reads (L-7.1.1, G-9.2).
#
# `find_fault` looks at a text only after the fast reader refused it, so it builds no values and its one concern is the
# position.

BLANK = " \t\r\n"
DIGITS = frozenset("0123456789")
HEX = frozenset("0123456789abcdefABCDEF")
ESCAPES = frozenset('"\\/bfnrt')
LITERALS = ("true", "false", "null")
CLOSING = {"[": "]", "{": "}"}


class Fault(Exception):
    """Why (`reason`) a text is no JSON that `std::json` reads. `at`: the 0-based offset, in characters, of the character that
    cannot stand there, or where the string, escape or number begins that cannot."""

    def __init__(self, reason: str, at: int) -> None:
        super().__init__(reason, at)
        self.reason = reason
        self.at = at


def find_fault(text: str) -> Fault | None:
    """Return the first fault of `text`, None when there is none. Raises what ends the run."""
    try:
        Scanner(text).document()
    except Fault as fault:
        return fault
    return None


class Scanner:
    """One pass over a text. `open`: the brackets that are open; `counts`: the items in each so far; `at`: the offset of the next
    character; `next_look`: the offset from which on `pace` looks at the run. A method reads the part that it is named after and
    goes behind it; it raises the first Fault, and what ends the run."""

    __slots__ = ("text", "at", "open", "counts", "next_look")

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.open: list[str] = []
        self.counts: list[int] = []
        self.next_look = STRIDE

    def pace(self) -> None:
        """Look at the run after each STRIDE characters."""
        if self.at >= self.next_look:
            self.next_look = self.at + STRIDE
            look()

    def fail(self, reason: str, at: int | None = None) -> NoReturn:
        """Raise the Fault at the offset `at`, None for the position."""
        raise Fault(reason, self.at if at is None else at)

    def sign(self) -> str:
        """Return the character at the position, empty at the end."""
        return self.text[self.at : self.at + 1]

    def skip_blanks(self) -> str:
        """Go behind white space and return the character there, empty at the end."""
        self.pace()
        while self.sign() and self.sign() in BLANK:
            self.at += 1
            self.pace()
        return self.sign()

    def document(self) -> None:
        """Read the whole text: one value, and nothing but white space around it."""
        while True:
            self.skip_blanks()
            if self.value():
                continue
            while self.open and self.after_item():
                pass
            if not self.open:
                break
        if self.skip_blanks():
            self.fail("text after the value")

    def value(self) -> bool:
        """Read a scalar or an opening bracket; return whether another value must follow at once."""
        sign = self.sign()
        if sign in CLOSING:
            return self.opening(sign)
        if sign == '"':
            self.string()
        elif sign in DIGITS or sign == "-":
            self.number()
        else:
            self.literal()
        return False

    def opening(self, sign: str) -> bool:
        """Read an opening bracket, of an object its first key too, or an empty whole; return whether a value must follow."""
        if len(self.open) >= limits.nesting:
            self.fail(f"nested deeper than {limits.nesting}")
        self.at += 1
        if self.skip_blanks() == CLOSING[sign]:
            self.at += 1
            return False
        self.open.append(sign)
        self.counts.append(1)
        if sign == "{":
            self.key()
        return True

    def after_item(self) -> bool:
        """Read what stands behind an item; return whether a bracket was closed. After a comma another value follows."""
        sign = self.skip_blanks()
        if sign == CLOSING[self.open[-1]]:
            self.at += 1
            self.open.pop()
            self.counts.pop()
            return True
        if sign != ",":
            self.fail(f"expected `,` or `{CLOSING[self.open[-1]]}`")
        self.counts[-1] += 1
        if self.counts[-1] > limits.items:
            self.fail(f"more than {limits.items} items")
        self.at += 1
        self.skip_blanks()
        if self.open[-1] == "{":
            self.key()
        return False

    def key(self) -> None:
        """Read a key and the colon behind it."""
        if self.sign() != '"':
            self.fail("expected a key in double quotes")
        self.string()
        if self.skip_blanks() != ":":
            self.fail("expected `:`")
        self.at += 1

    def string(self) -> None:
        start = self.at
        self.at += 1
        while self.sign() != '"':
            sign = self.sign()
            if not sign:
                self.fail("unterminated string", start)
            if sign < " ":
                self.fail("control character in a string")
            self.at += 1
            self.pace()
            if sign == "\\":
                self.escape()
        self.at += 1

    def escape(self) -> None:
        """Read what stands behind a backslash."""
        sign = self.sign()
        if sign == "u":
            digits = self.text[self.at + 1 : self.at + 5]
            if len(digits) < 4 or not HEX.issuperset(digits):
                self.fail("expected four hexadecimal digits after `\\u`", self.at - 1)
            self.at += 5
        elif sign in ESCAPES:
            self.at += 1
        else:
            self.fail("unknown escape", self.at - 1)

    def digits(self) -> None:
        """Read one digit or more."""
        if self.sign() not in DIGITS:
            self.fail("expected a digit")
        more = True
        while more:  # a number may be as long as a text
            look()
            block = self.text[self.at : self.at + BLOCK]
            digits = len(block) - len(block.lstrip("0123456789"))
            self.at += digits
            more = digits == BLOCK

    def number(self) -> None:
        start = self.at
        if self.sign() == "-":
            self.at += 1
        if self.sign() == "0":
            self.at += 1
        else:
            self.digits()
        if self.sign() == ".":
            self.at += 1
            self.digits()
        if self.sign() in ("e", "E"):
            self.at += 1
            if self.sign() in ("+", "-"):
                self.at += 1
            self.digits()
        if float(self.text[start : self.at]) in (float("inf"), float("-inf")):
            self.fail("number beyond the range of Float", start)

    def literal(self) -> None:
        for word in LITERALS:
            if self.text.startswith(word, self.at):
                self.at += len(word)
                return
        self.fail("expected a value" if self.sign() else "the text ends where a value is expected")


SHORT = 1 << 16  # characters that are read in one breath
INFINITIES = (float("inf"), float("-inf"))
_decoder: JSONDecoder | None = None


class Refused(Exception):
    """The fast reader refuses a text; `find_fault` says where and why."""


@std("json", "parse(s: String) -> Result<Any, JsonError>", clause="L-7.1.1", linear=True)
def parse(s: Any) -> Ok | Err:
    """The value a JSON text writes; of equal keys the last one counts."""
    if len(text(s)) >= LARGE:
        spend(len(s))
    data = read(s)
    return Err(json_error(s, data)) if isinstance(data, Fault) else Ok(data)


@std("json", "is_valid(s: String) -> Bool", clause="L-7.1.4", linear=True)
def is_valid(s: Any) -> bool:
    """Whether `parse` gives Ok."""
    if len(text(s)) >= LARGE:
        spend(len(s))
    return not isinstance(read(s), Fault)


std_special(
    "json", "parse_as<T>(s: String) -> Result<T, JsonError>", clause="L-7.1.2",
    doc="The value a JSON text writes, built as a value of the type; unknown keys are ignored.",
)  # fmt: skip


std_special(
    "json", "value_as<T>(v: Any) -> Result<T, JsonError>", clause="L-7.1.5",
    doc="A value of JSON kinds, such as the content of a fact, built as a value of the type, as `parse_as` builds it.",
)  # fmt: skip


@std("json", "stringify(v: Any) -> String", clause="L-7.1.3", linear=True)
def stringify(v: Any) -> str:
    """Compact JSON text of a value, in insertion order."""
    return _charged(to_json(v))


def _charged(text: str) -> str:
    if len(text) >= LARGE:
        spend(len(text))
    return text


@std("json", "stringify_pretty(v: Any, indent: Int = 2) -> String", clause="L-7.1.3", linear=True)
def stringify_pretty(v: Any, indent: Any) -> str:
    """JSON text of a value on lines, each level indented by so many blanks."""
    return _charged(Pretty(to_json(v), max(0, integer(indent))).text())


def json_error(source: str, fault: Fault) -> Any:
    """Return the JsonError of a fault. Its line and column count from 1, the column in characters."""
    line = source.count("\n", 0, fault.at) + 1
    column = fault.at - source.rfind("\n", 0, fault.at)
    message = f"{fault.reason} at line {line}, column {column}"
    return make_error("JsonError", None, {"message": message, "line": line, "column": column})


# ---------------------------------------------------------------- reading


def read(source: str) -> Any:
    """Return the value of a JSON text, or its `Fault`, which is returned and not raised. A text beyond the limits on nesting and
    items has one too. Raises what ends the run."""
    builder = _Builder("\\u" in source)
    try:
        if len(source) > SHORT:
            return _read_long(source, builder)
        return builder.build(_the_decoder().decode(source), 0)
    except (ValueError, RecursionError, StopIteration, Refused):
        fault = find_fault(source)
        return Fault("no JSON", 0) if fault is None else fault


def _read_long(source: str, builder: _Builder) -> Any:
    from .json_long import LongText

    return LongText(source, _the_decoder(), builder.element, builder.items, Array, builder.table).document()


def _the_decoder() -> JSONDecoder:
    global _decoder
    if _decoder is None:
        from json import JSONDecoder

        _decoder = JSONDecoder(parse_constant=_refuse)
    return _decoder


def _refuse(_: str) -> NoReturn:
    raise Refused


class _Builder:
    """From plain data, which it takes over, to values; `clean`: an escape may have brought in half of a surrogate pair (G-9.1).
    `alone`: the data are of one of many calls of the decoder. Raises Refused for data beyond the limits on nesting and items or
    the range of Float."""

    __slots__ = ("clean", "alone", "keys")

    def __init__(self, clean: bool) -> None:
        self.clean = clean
        self.alone = False
        self.keys: dict[str, str] = {}  # one text for equal keys, which the decoder only has within a call

    def element(self, data: Any, depth: int) -> Any:
        """Return the value of data that the decoder has read by themselves."""
        self.alone = True
        value = self.build(data, depth)
        self.alone = False
        return value

    def build(self, data: Any, depth: int) -> Any:
        kind = type(data)
        if kind is str:
            return whole_text(data) if self.clean else data
        if kind is dict or kind is list:
            if depth >= limits.nesting or len(data) > limits.items:
                raise Refused
            return Array(self.items(data, depth + 1)) if kind is list else self.entries(data, depth + 1)
        if kind is int and not INT_MIN <= data <= INT_MAX:
            return whole_float(data)
        if data in INFINITIES:
            raise Refused
        return data

    def items(self, data: list[Any], depth: int) -> list[Any]:
        """Return the values of the elements of an array."""
        kinds = {*map(type, data)}
        if kinds <= TEXTS and not self.clean:
            return data
        if kinds == INTS and min(data) >= INT_MIN and max(data) <= INT_MAX:
            return data
        build = self.build
        return [build(item, depth) for item in (paced(data) if len(data) > STRIDE else data)]

    def entries(self, data: dict[str, Any], depth: int) -> Map:
        """Return the Map of an object."""
        clean = self.clean
        if clean or not TEXTS.issuperset(map(type, data.values())):
            for key, item in data.items():
                kind = type(item)
                if kind is int:
                    if not INT_MIN <= item <= INT_MAX:
                        data[key] = whole_float(item)
                elif clean or kind is not str:
                    data[key] = self.build(item, depth)
        return self.table(data) if clean or self.alone else Map(data)

    def table(self, entries: dict[str, Any]) -> Map:
        """Return a Map of values that have been built; equal keys of one text are one object."""
        keys = map(whole_text, entries) if self.clean else entries
        pairs = zip(keys, entries.values(), strict=True)
        return Map({self.keys.setdefault(key, key): value for key, value in (paced(pairs) if len(entries) > STRIDE else pairs)})


TEXTS = frozenset({str, bool, type(None)})
INTS = frozenset({int})


def whole_float(number: int) -> float:
    """Return the nearest Float. Raises Refused beyond its range."""
    try:
        return float(number)
    except OverflowError:
        raise Refused from None


def whole_text(source: str) -> str:
    """Return a text with U+FFFD in place of each half of a surrogate pair, which has no UTF-8."""
    try:
        source.encode()
    except UnicodeEncodeError:
        return "".join("\ufffd" if "\ud800" <= sign <= "\udfff" else sign for sign in source)
    return source


# ---------------------------------------------------------------- writing


class Pretty:
    """Compact JSON text spread over lines, each level indented by `indent` more blanks. It walks over the signs of the compact
    text, `source`, so that the rules about values stand once. `depth`: how many brackets are open; `parts`: what is written so
    far, of `size` characters. `text` raises P103 when the result is longer than the limit on Strings."""

    __slots__ = ("source", "indent", "depth", "parts", "size")

    def __init__(self, source: str, indent: int) -> None:
        self.source = source
        self.indent = indent
        self.depth = 0
        self.parts: list[str] = []
        self.size = 0

    def text(self) -> str:
        """Return the whole text."""
        at = pace = 0
        while at < len(self.source):
            pace += 1
            if pace % STRIDE == 0:
                look()
            at = self.sign(at)
        return "".join(self.parts)

    def sign(self, at: int) -> int:
        """Write the token that begins at `at`, and return where the next begins."""
        source = self.source
        sign = source[at]
        if sign == '"':
            end = string_end(source, at)
            self.write(source[at:end])
            return end
        if sign in "[{":
            if source[at + 1] in "]}":
                self.write(source[at : at + 2])
                return at + 2
            self.depth += 1
            self.write(sign, self.line())
        elif sign in "]}":
            self.depth -= 1
            self.write(self.line(), sign)
        elif sign == ",":
            self.write(sign, self.line())
        else:
            self.write(": " if sign == ":" else sign)
        return at + 1

    def line(self) -> str:
        """Return a line end and the blanks of the present level. Raises P103 for more blanks than a String may have."""
        return "\n" + repeat(" ", self.indent * self.depth)

    def write(self, *parts: str) -> None:
        """Add texts to the result. Raises P103 when it is longer than a String may be."""
        self.parts.extend(parts)
        self.size += sum(map(len, parts))
        if self.size > limits.surely and self.size > limits.string:
            string_too_long()


def string_end(source: str, at: int) -> int:
    """Return the position behind the closing quote of the string that begins at `at`."""
    end = at
    while True:
        end = source.index('"', end + 1)
        before = end - 1
        while source[before] == "\\":
            before -= 1
        if (end - before) % 2:
            return end + 1


# ----------------------------------------------------------------
# `json::parse_as<T>`: a JSON text as a value of a type (L-7.1.2), driven by the type's descriptor.
#
# Defaults of fields are functions of the program, which only the machine can call: a struct that lacks such a field is built
# with a hole, and the holes come back beside the result, in the order in which the defaults are evaluated.

if TYPE_CHECKING:
    class TypeTable(Protocol):
        """The declared types of a program by the keys of their descriptors."""

        def struct_class(self, key: str) -> type[Any]:
            """Return the class of a struct or schema; `decl.types` describes its fields."""

        def enum_type(self, key: str) -> EnumType:
            """Return the declaration of an enum; its variants have their `types`."""


class Misfit(Exception):
    """A text that is JSON, but not of the type. Its text says what was expected and found, not where: see `Builder.place`."""


def parse_as(s: Any, defaults: Map, descriptor: Descriptor, types: TypeTable) -> tuple[Ok | Err, Array]:
    """Return `Result<T, JsonError>` and the fields that still have to be filled; an Err has none. `defaults`: the default of
    each field that has one, as a function, under the key of the type and the position of the field, as `Point.0`. The holes are
    what `fill` takes, in the order in which the defaults are evaluated. Raises P007 unless `s` is a String."""
    data = read(text(s))
    if isinstance(data, Fault):
        return Err(json_error(s, data)), Array([])
    builder = Builder(types, defaults)
    try:
        return Ok(builder.build(data, descriptor)), Array(builder.holes)
    except Misfit as misfit:
        return Err(make_error("JsonError", None, (f"{misfit} at {builder.place()}",))), Array([])
    except RecursionError:
        return Err(make_error("JsonError", None, ("nested too deeply for its type",))), Array([])


def fill(hole: Any, value: Any) -> None:
    """Set the field of a hole to `value`, which the machine got by calling the hole's default; a hole is the tuple (struct,
    position of the field, its default function)."""
    struct, position, _ = hole
    setattr(struct, struct.__slots__[position], value)


def refuse(data: Any, descriptor: Descriptor) -> NoReturn:
    """Raise Misfit for a value that is not of the type."""
    value = "null" if data is None else brief(data, 40) if type(data) is str else typeof(data)
    raise Misfit(f"expected {type_text(descriptor)}, found {value}")


def some_of(value: Any, wrappers: int) -> Any:
    """Return `value` inside as many Options as its type has around it."""
    for _ in range(wrappers):
        value = Some(value)
    return value


class Builder:
    """One reading of a text as a type: it turns values of JSON kinds into values of the type. `types` and `defaults`, a dict
    here, are those of `parse_as`. `path` leads to the part being built, and after a Misfit to the part that does not fit. `holes`
    are the fields that their defaults are to fill, as `fill` takes them. The methods that a type is built by, in RULES, take
    plain data and descriptor, return the value and raise Misfit, KeyError for the key of a type that `types` does not have, and
    with base64, or a Set of large values, what ends the run."""

    __slots__ = ("types", "defaults", "shapes", "holes", "path")

    def __init__(self, types: TypeTable, defaults: Map) -> None:
        self.types = types
        self.shapes: dict[str, Shape] = {}
        self.defaults = defaults.items
        self.holes: list[tuple[Any, int, Any]] = []
        self.path: list[Any] = []

    def place(self) -> str:
        """Return the path as text: `$.items[2].name`."""
        return "$" + "".join(f"[{step}]" if type(step) is int else f".{step}" for step in self.path)

    def build(self, data: Any, descriptor: Descriptor) -> Any:
        """Return the value of plain data as one of the type; missing fields that have a default are noted in `holes`. Raises
        Misfit when it is none, RecursionError when it nests deeper than the host's stack."""
        head = descriptor[0]
        wrappers = 0
        # A loop and not a rule: each level of a deep text takes as few frames of the host as can be.
        while head in ABSENT:
            if data is None:
                return some_of(ABSENT[head], wrappers)
            wrappers += head == "option"
            descriptor = descriptor[1]
            head = descriptor[0]
        rule = RULES.get(head)
        if rule is None:
            refuse(data, descriptor)
        value = rule(self, data, descriptor)
        return some_of(value, wrappers) if wrappers else value

    def scalar(self, data: Any, descriptor: Descriptor) -> Any:
        """Return a value of one of SCALARS, an Int as a Float and base64 as Bytes where the type says so."""
        head = descriptor[0]
        if head == "any" or type(data) is SCALARS[head]:
            return data
        if head == "float" and type(data) is int:
            return float(data)
        if head == "bytes" and type(data) is str:
            return self.bytes_of(data)
        return refuse(data, descriptor)

    def bytes_of(self, data: str) -> bytes:
        """Return the Bytes that a text in base64 stands for."""
        decoded = from_base64(data)
        if type(decoded) is not bytes:
            raise Misfit(f"expected Bytes as base64, found {brief(data, 40)}")
        return decoded

    def within(self, step: Any, data: Any, descriptor: Descriptor) -> Any:
        """Return the value of a part, which is reached by a name or a position."""
        self.path.append(step)
        built = self.build(data, descriptor)
        self.path.pop()
        return built

    def items(self, data: Any, descriptor: Descriptor) -> list[Any]:
        """Return the values of an array's elements, all of one type."""
        if type(data) is not Array:
            refuse(data, descriptor)
        if set(map(type, data.items)) == {SCALARS.get(descriptor[1][0])}:
            return list(data.items)
        items = []
        for position, item in enumerate(data.items):
            # Without a call of `within`, for the same reason as the loop of `build`.
            self.path.append(position)
            items.append(self.build(item, descriptor[1]))
            self.path.pop()
        return items

    def sequence(self, data: Any, descriptor: Descriptor) -> Any:
        """Return an Array, Set, Queue or Stack of the elements of an array."""
        return SEQUENCES[descriptor[0]](self.items(data, descriptor))

    def tuple_of(self, data: Any, descriptor: Descriptor) -> Any:
        """Return a tuple from an array of as many elements."""
        if type(data) is not Array or len(data.items) != len(descriptor[1]):
            refuse(data, descriptor)
        return tuple(self.parts(data.items, descriptor[1]))

    def parts(self, data: list[Any], descriptors: tuple[Descriptor, ...]) -> list[Any]:
        """Return the values of parts, each of its own type."""
        values = []
        for position, descriptor in enumerate(descriptors):
            values.append(self.within(position, data[position], descriptor))
        return values

    def union_member(self, data: Any, descriptor: Descriptor) -> Any:
        """Return the text if it is one of the union."""
        return data if type(data) is str and data in descriptor[1] else refuse(data, descriptor)

    def map_of(self, data: Any, descriptor: Descriptor) -> Any:
        """Return a Map from an object, whose names become keys of their type."""
        entries = {}
        for name, item in self.entries_of(data, descriptor).items():
            key = self.map_key(name, descriptor[1])
            entries[key_of(key)] = self.within(name, item, descriptor[2])
        return Map(entries)

    def entries_of(self, data: Any, descriptor: Descriptor) -> dict[str, Any]:
        """Return the entries of an object by their names."""
        return data.items if type(data) is Map else refuse(data, descriptor)

    def map_key(self, name: str, descriptor: Descriptor) -> Any:
        """Return a key from its text in an object (L-5.1.7)."""
        key: Any = name
        if descriptor[0] == "int":
            key = read_int(name)
        elif descriptor[0] == "bool":
            key = BOOL_KEYS.get(name)
        elif descriptor[0] == "bytes":
            key = self.bytes_of(name)
        elif descriptor[0] == "union" and name not in descriptor[1]:
            key = None
        return refuse(name, descriptor) if key is None else key

    def result_of(self, data: Any, descriptor: Descriptor) -> Any:
        """Return Ok or Err from an object whose only entry is `ok` or `err`."""
        entries = self.entries_of(data, descriptor)
        if entries.keys() == {"ok"}:
            return Ok(self.within("ok", entries["ok"], descriptor[1]))
        if entries.keys() == {"err"}:
            return Err(self.within("err", entries["err"], descriptor[2]))
        raise Misfit(f'expected {type_text(descriptor)} as {{"ok": …}} or {{"err": …}}')

    def range_of(self, data: Any, descriptor: Descriptor) -> Any:
        """Return a Range from the entries `start`, `end` (null or missing for an open end) and `inclusive` (false if missing)."""
        entries = self.entries_of(data, descriptor)
        start = self.within("start", entries.get("start"), ("nilable", ("int",)))
        end = self.within("end", entries.get("end"), ("nilable", ("int",)))
        return RangeValue(start, end, self.within("inclusive", entries.get("inclusive", False), ("bool",)))

    def enum_of(self, data: Any, descriptor: Descriptor) -> Any:
        """Return an enum value from `{"variant": V, "data": d}` (L-5.1.9), or from the name alone of a variant without payload
        (L-5.1.21)."""
        decl = self.types.enum_type(descriptor[1])
        if type(data) is str:
            number = decl.index.get(data)
            if number is None or decl.variants[number].arity:
                names = ", ".join(f'"{variant.name}"' for variant in decl.variants if not variant.arity)
                raise Misfit(f"expected {type_text(descriptor)}{names and f' as one of {names}'}, found {brief(data, 40)}")
            return EnumValue(decl, number, None)
        entries = self.entries_of(data, descriptor)
        name = entries.get("variant")
        if type(name) is not str or name not in decl.index:
            names = ", ".join(f'"{variant.name}"' for variant in decl.variants)
            raise Misfit(f'expected {type_text(descriptor)} with "variant" one of {names}')
        payload = self.payload(entries.get("data"), decl.variants[decl.index[name]])
        return EnumValue(decl, decl.index[name], payload)

    def payload(self, data: Any, variant: Any) -> Any:
        """Return the parts of a variant as a tuple, None for a variant without: from an object by names, the value alone of one
        part, an array of several."""
        if variant.fields:
            entries = self.entries_of(data, ("map", ("string",), ("any",)))
            fields = zip(variant.fields, variant.types, strict=True)
            return tuple([self.within(f"data.{name}", entries.get(name), kind) for name, kind in fields])
        if variant.arity == 0:
            return None if data is None else refuse(data, ("nil",))
        if variant.arity == 1:
            return (self.within("data", data, variant.types[0]),)
        return self.within("data", data, ("tuple", variant.types))

    def struct_of(self, data: Any, descriptor: Descriptor) -> Any:
        """Return a struct, a value of a schema or a built-in record from an object; other names in it are left out. A field that
        is missing becomes a hole if it has a default, nil or None if its type allows that, what HIDDEN has if it is hidden; any
        other is a Misfit."""
        entries = self.entries_of(data, descriptor)
        cls, names, positions = self.shapes.get(descriptor[1]) or self.shape(descriptor[1])
        values = [*map(entries.get, names)]
        kinds = (*map(type, values),)
        missing: list[tuple[int, Any]] = []
        parts = positions.get(kinds)
        for position in self.positions(cls.decl, kinds, positions) if parts is None else parts:
            values[position] = self.field(entries, cls.decl, descriptor, position, missing)
        struct = cls(*values)
        if missing:
            self.holes.extend([(struct, position, default) for position, default in missing])
        return struct

    def shape(self, key: str) -> Shape:
        """Return what `struct_of` asks of a type, and note it."""
        cls = RECORDS.get(key) or self.types.struct_class(key)
        shape: Shape = cls, cls.decl.fields, {}
        self.shapes[key] = shape
        return shape

    def positions(self, decl: Any, kinds: tuple[Any, ...], known: dict[Any, tuple[int, ...]]) -> tuple[int, ...]:
        """Return the positions of fields whose values, being of these kinds, are not taken as they are. `known` are those of the
        type, into which these are put."""
        expected = [AS_THEY_ARE.get(kind[0]) for kind in decl.types]
        positions = tuple([at for at, kind in enumerate(kinds) if kind is not expected[at]])
        if len(known) < MOST_KNOWN:
            known[kinds] = positions
        return positions

    def field(
        self, entries: dict[str, Any], decl: Any, descriptor: Descriptor, position: int, missing: list[tuple[int, Any]]
    ) -> Any:
        """Return the value of a field of a type; one that its default is to fill is noted in `missing`."""
        name, kind = decl.fields[position], decl.types[position]
        default = self.defaults.get(f"{descriptor[1]}.{position}") if name not in entries else None
        if default is not None:
            missing.append((position, default))
            return None
        if name not in entries and name in decl.hidden:
            return HIDDEN[kind[0]]()
        if name not in entries and kind[0] not in ABSENT:
            raise Misfit(f"missing field `{name}` of {type_text(descriptor)}")
        self.path.append(name)
        value = self.build(entries.get(name), kind)
        self.path.pop()
        return value


SCALARS: dict[str, Any] = {
    "any": object, "int": int, "float": float, "string": str, "bool": bool, "nil": type(None), "bytes": bytes,
}  # fmt: skip
ABSENT: dict[str, Any] = {"option": NONE, "nilable": None}
# What a hidden field of a record holds where a text leaves it out, as the text of such a record does (L-5.1.17).
HIDDEN: dict[str, Any] = {"int": int, "array": lambda: Array([]), "nilable": lambda: None}
AS_THEY_ARE: dict[str, Any] = {"int": int, "float": float, "string": str, "bool": bool}
MOST_KNOWN = 64
BOOL_KEYS = {"true": True, "false": False}
SEQUENCES: dict[str, Any] = {
    "array": Array, "set": make_set, "queue": lambda items: Queue(deque(items)), "stack": Stack,
}  # fmt: skip
RULES: dict[str, Any] = {
    **dict.fromkeys(SCALARS, Builder.scalar), **dict.fromkeys(SEQUENCES, Builder.sequence), "tuple": Builder.tuple_of,
    "union": Builder.union_member, "map": Builder.map_of, "result": Builder.result_of,
    "range": Builder.range_of, "enum": Builder.enum_of, "struct": Builder.struct_of, "schema": Builder.struct_of,
    "record": Builder.struct_of, "prompt": lambda builder, data, _: builder.struct_of(data, ("record", "Prompt")),
}  # fmt: skip


class StoredBuilder(Builder):
    """Builds a value from what an earlier declaration of its type may have written (M-8.23): fields that were added get their
    defaults, renamed ones the value under their earlier name, and fields that are not declared any more are left out. The
    function `computed` that it is made with runs the `Code` of a default to its end and returns its value."""

    __slots__ = ("computed", "declared")

    def __init__(self, program: Any, computed: Any) -> None:
        self.declared = program.declared
        super().__init__(self.declared, Map({}))
        self.defaults = _Defaults(self.declared)  # type: ignore[assignment]
        self.computed: Callable[[int], Any] = lambda number: computed(program.codes[number])

    def stored(self, data: Any, descriptor: Any) -> Any:
        """Return the value of stored data, as `from_json` gives it, with missing fields computed. Raises Misfit when it does not
        fit the type, RecursionError as `build`, and the Panic of a default that cannot be computed."""
        built = self.build(data, descriptor)
        for struct, position, number in self.holes:
            setattr(struct, struct.__slots__[position], self.computed(number))
        return built

    def entries_of(self, data: Any, descriptor: Any) -> dict[str, Any]:
        """Return the entries of an object; of a struct or schema those under an earlier name of a field also under its present
        name, unless that is there. Raises Misfit for what is no object."""
        entries = super().entries_of(data, descriptor)
        before = self.declared.names_before(descriptor[1]) if descriptor[0] in ("struct", "schema") else {}
        return {**{new: entries[old] for new, old in before.items() if old in entries}, **entries} if before else entries


class _Defaults:
    """The functions of defaults, by type and position of the field, as `Builder` asks for them."""

    __slots__ = ("types",)

    def __init__(self, types: Any) -> None:
        self.types = types

    def get(self, place: str) -> int | None:
        key, _, position = place.rpartition(".")
        if key not in self.types.numbers:
            return None
        functions: dict[str, int] = self.types.field_defaults(key)
        return functions.get(self.types.struct_class(key).decl.fields[int(position)])
