"""`std::json` (L-7.1): reading text into values, writing values as text.

Hands on, besides its rows, `parse_as`, the body of the special form of that name: it takes the type as a descriptor and
a `TypeTable`. The reader of the standard library is loaded with the first text; a text it refuses is looked at again by
`json_faults`, which says where the fault is.
"""

from __future__ import annotations

from ...values.containers import Array, Map
from ...values.errors import make_error
from ...values.json import to_json
from ...values.limits import limits, repeat, string_too_long
from ...values.metering import LARGE, STRIDE, look, paced, spend
from ...values.results import Err, Ok
from ...values.scalars import INT_MAX, INT_MIN
from ..guards import integer, text
from ..registry import std, std_special
from .json_faults import Fault, find_fault

TYPE_CHECKING = False
if TYPE_CHECKING:
    from json import JSONDecoder
    from typing import Any, NoReturn

SHORT = 1 << 16  # characters that are read in one breath
INFINITIES = (float("inf"), float("-inf"))
_decoder: JSONDecoder | None = None


class Refused(Exception):
    """The text is no JSON, or beyond a bound; `find_fault` says where."""


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


def _charged(made: str) -> str:
    if len(made) >= LARGE:
        spend(len(made))
    return made


@std("json", "stringify_pretty(v: Any, indent: Int = 2) -> String", clause="L-7.1.3", linear=True)
def stringify_pretty(v: Any, indent: Any) -> str:
    """JSON text of a value on lines, each level indented by so many blanks."""
    return _charged(Pretty(to_json(v), max(0, integer(indent))).text())


def json_error(source: str, fault: Fault) -> Any:
    line = source.count("\n", 0, fault.at) + 1
    column = fault.at - source.rfind("\n", 0, fault.at)
    message = f"{fault.reason} at line {line}, column {column}"
    return make_error("JsonError", None, {"message": message, "line": line, "column": column})


# ---------------------------------------------------------------- reading


def read(source: str) -> Any:
    """The value of a JSON text, or the `Fault` that makes it none."""
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

    return LongText(source, _the_decoder(), builder.build, Array, builder.table).document()


def _the_decoder() -> JSONDecoder:
    global _decoder
    if _decoder is None:
        from json import JSONDecoder

        _decoder = JSONDecoder(parse_constant=_refuse)
    return _decoder


def _refuse(_: str) -> NoReturn:
    raise Refused


class _Builder:
    """From plain data to values; `clean`: an escape may have brought in half of a surrogate pair (G-9.1)."""

    __slots__ = ("clean", "keys")

    def __init__(self, clean: bool) -> None:
        self.clean = clean
        self.keys: dict[str, str] = {}  # one text for equal keys

    def build(self, data: Any, depth: int) -> Any:
        kind = type(data)
        if kind is str:
            return whole_text(data) if self.clean else data
        if kind is dict or kind is list:
            if depth >= limits.nesting or len(data) > limits.items:
                raise Refused
            return self.container(data, depth + 1)
        if kind is int and not INT_MIN <= data <= INT_MAX:
            return whole_float(data)
        if data in INFINITIES:
            raise Refused
        return data

    def container(self, data: Any, depth: int) -> Any:
        if type(data) is list:
            items = []
            for item in paced(data) if len(data) > STRIDE else data:
                items.append(self.build(item, depth))
            return Array(items)
        entries = {}
        for key, item in data.items():
            entries[key] = self.build(item, depth)
        return self.table(entries)

    def table(self, entries: dict[str, Any]) -> Map:
        """A Map of values."""
        keys = map(whole_text, entries) if self.clean else entries
        return Map(dict(zip([self.keys.setdefault(key, key) for key in keys], entries.values(), strict=True)))


def whole_float(number: int) -> float:
    try:
        return float(number)
    except OverflowError:
        raise Refused from None


def whole_text(source: str) -> str:
    """With U+FFFD for what encodes to no UTF-8."""
    try:
        source.encode()
    except UnicodeEncodeError:
        return "".join("\ufffd" if "\ud800" <= sign <= "\udfff" else sign for sign in source)
    return source


# ---------------------------------------------------------------- writing


class Pretty:
    """Compact JSON text spread over lines: a walk over its signs, so that every rule about values stands once."""

    __slots__ = ("source", "indent", "depth", "parts", "size")

    def __init__(self, source: str, indent: int) -> None:
        self.source = source
        self.indent = indent
        self.depth = 0
        self.parts: list[str] = []
        self.size = 0

    def text(self) -> str:
        at = pace = 0
        while at < len(self.source):
            pace += 1
            if pace % STRIDE == 0:
                look()
            at = self.sign(at)
        return "".join(self.parts)

    def sign(self, at: int) -> int:
        """Writes what begins at `at`; gives where the next begins."""
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
        return "\n" + repeat(" ", self.indent * self.depth)

    def write(self, *parts: str) -> None:
        self.parts.extend(parts)
        self.size += sum(map(len, parts))
        if self.size > limits.surely and self.size > limits.string:
            string_too_long()


def string_end(source: str, at: int) -> int:
    """Behind the closing quote of the string that begins at `at`."""
    end = at
    while True:
        end = source.index('"', end + 1)
        before = end - 1
        while source[before] == "\\":
            before -= 1
        if (end - before) % 2:
            return end + 1
