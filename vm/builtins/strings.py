"""Methods of String (L-6.3; `to_bytes` is in `bytes.py`), and those in AS_METHODS, with `join`, as functions of `std::string`
(L-7.8); every one gives a new value, and none asks the host.

Hands on its rows only. Positions and lengths are in code points, 0-based; sizes against the limit are in bytes of UTF-8. Bodies
panic with P007 for an argument of another type and with P103 for a result beyond the limits; what works on long texts, as those
marked `linear` do, charges the run, and may raise what ends it (`values/metering.py`). How texts too long for one breath are
searched and changed stands in `values/long_text.py`.
"""

from __future__ import annotations

from ..values import long_text
from ..values.arithmetic import WHITE_SPACE, read_float, read_int
from ..values.containers import Array, RangeValue
from ..values.errors import ErrorValue
from ..values.limits import check_items, check_string_size, limits, repeat, utf8_size
from ..values.metering import BLOCK, LARGE, spend
from ..values.objects import NONE, Err, Ok, Some
from ..values.text import CUT, quote
from . import arrays
from .registry import METHODS, array, integer, method, std, text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


@method("String", "len() -> Int", clause="L-6.3.1")
def string_len(s: str) -> int:
    """Number of code points."""
    return len(s)


@method("String", "is_empty() -> Bool", clause="L-6.3.1")
def string_is_empty(s: str) -> bool:
    """Whether the length is 0."""
    return not s


@method("String", "contains(s: String) -> Bool", clause="L-6.3.2", linear=True)
def string_contains(s: str, part: Any) -> bool:
    """Whether the text occurs."""
    if len(s) >= LARGE:
        spend(len(s))
        return long_text.find(s, text(part)) >= 0
    return text(part) in s


@method("String", "starts_with(s: String) -> Bool", clause="L-6.3.2")
def starts_with(s: str, part: Any) -> bool:
    """Whether the String begins with the text."""
    return s.startswith(text(part))


@method("String", "ends_with(s: String) -> Bool", clause="L-6.3.2")
def ends_with(s: str, part: Any) -> bool:
    """Whether the String ends with the text."""
    return s.endswith(text(part))


@method("String", "trim() -> String", clause="L-6.3.3", linear=True)
def trim(s: str) -> str:
    """Without Unicode white space at both ends."""
    if len(s) >= LARGE:
        spend(len(s))
    return long_text.strip(s, WHITE_SPACE)


@method("String", "trim_start() -> String", clause="L-6.3.3", linear=True)
def trim_start(s: str) -> str:
    """Without Unicode white space at the start."""
    if len(s) >= LARGE:
        spend(len(s))
    return long_text.lstrip(s, WHITE_SPACE)


@method("String", "trim_end() -> String", clause="L-6.3.3", linear=True)
def trim_end(s: str) -> str:
    """Without Unicode white space at the end."""
    if len(s) >= LARGE:
        spend(len(s))
    return long_text.rstrip(s, WHITE_SPACE)


def _sized(mapped: str) -> str:
    """Check the size of a text after a case mapping, which makes at most three characters of one, so that this is soon enough."""
    if len(mapped) * 4 > limits.surely:
        check_string_size(utf8_size(mapped))
    return mapped


@method("String", "to_upper() -> String", clause="L-6.3.4", linear=True)
@method("String", "to_uppercase() -> String", clause="L-6.3.4", linear=True)
def to_upper(s: str) -> str:
    """In upper case, by the full Unicode mapping."""
    if len(s) >= LARGE:
        spend(len(s))
        if len(s) > BLOCK:
            return long_text.mapped(s, str.upper)
    return _sized(s.upper())


@method("String", "to_lower() -> String", clause="L-6.3.4", linear=True)
@method("String", "to_lowercase() -> String", clause="L-6.3.4", linear=True)
def to_lower(s: str) -> str:
    """In lower case, by the full Unicode mapping."""
    if len(s) >= LARGE:
        spend(len(s))
        if len(s) > BLOCK:  # a sigma looks at its word, so words stay whole
            if "Σ" not in s:
                return long_text.mapped(s, str.lower)
            return _sized("".join([part.lower() for part in long_text.at_blanks(s)]))
    return _sized(s.lower())


@method("String", "repeat(n: Int) -> String", clause="L-6.3.5", linear=True)
def string_repeat(s: str, n: Any) -> str:
    """The String n times in a row; empty for n of 0 or less."""
    size = len(s) * integer(n)
    if LARGE <= size <= limits.string:
        spend(size)
    return repeat(s, n)


def _not_a(what: str, s: str) -> Err:
    excerpt = s if len(s) <= 40 else s[:40] + CUT
    return Err(ErrorValue.of_text("ParseError", f"not {what}: {quote(excerpt)}", s))


@method("String", "parse_int() -> Result<Int, ParseError>", clause="L-6.3.6", linear=True)
def parse_int(s: str) -> Ok | Err:
    """The Int the trimmed text writes: a sign and decimal digits."""
    if len(s) >= LARGE:
        spend(len(s))
    value = read_int(s)
    return _not_a("an Int", s) if value is None else Ok(value)


@method("String", "parse_float() -> Result<Float, ParseError>", clause="L-6.3.6", linear=True)
def parse_float(s: str) -> Ok | Err:
    """The Float the trimmed text writes: as an Int, with fraction, exponent, or `inf` and `nan`."""
    if len(s) >= LARGE:
        spend(len(s))
    value = read_float(s)
    return _not_a("a Float", s) if value is None else Ok(value)


@method("String", "split(sep: String) -> Array<String>", clause="L-6.3.7", linear=True)
def split(s: str, sep: Any) -> Array:
    """The parts between separators; an empty separator splits into characters."""
    if not text(sep):
        return chars(s)
    if len(s) >= LARGE:
        spend(len(s))
    return Array(s.split(sep) if len(s) < min(LARGE, limits.items) else long_text.split(s, sep))


@method("String", "replace(from: String, to: String) -> String", clause="L-6.3.8", linear=True)
def replace(s: str, old: Any, new: Any) -> str:
    """All occurrences replaced."""
    old, new = text(old), text(new)
    if len(s) >= LARGE:
        spend(len(s))
        return long_text.replace(s, old, new)
    if (len(s) + 1) * (len(new) + 1) * 4 > limits.surely:  # as if it stood between all characters
        check_string_size(utf8_size(s) + s.count(old) * (utf8_size(new) - utf8_size(old)))
    return s.replace(old, new)


@method("String", "substring(a: Int, b: Int) -> String", clause="L-6.3.9", linear=True)
def substring(s: str, a: Any, b: Any) -> str:
    """As `s[a..b]`."""
    # b is not included; both are cut to 0 and the length, so no position is out of range
    start, end = RangeValue(integer(a), integer(b)).slice_bounds(len(s))
    if end - start >= LARGE:
        spend(end - start)
    return s[start:end]


@method("String", "get(i: Int) -> Option<String>", clause="L-6.3.10")
def string_get(s: str, i: Any) -> Any:
    """The character at a position, None out of range."""
    return Some(s[i]) if 0 <= integer(i) < len(s) else NONE


@method("String", "index_of(s: String) -> Option<Int>", clause="L-6.3.10", linear=True)
def string_index_of(s: str, part: Any) -> Any:
    """The first position of the text."""
    if len(s) >= LARGE:
        spend(len(s))
        at = long_text.find(s, text(part))
    else:
        at = s.find(text(part))
    return NONE if at < 0 else Some(at)


@method("String", "chars() -> Array<String>", clause="L-6.3.11", linear=True)
def chars(s: str) -> Array:
    """The characters as one-character Strings."""
    check_items(len(s))
    if len(s) >= LARGE:
        spend(len(s))
    return Array(list(s))


@method("String", "lines() -> Array<String>", clause="L-6.3.11", linear=True)
def lines(s: str) -> Array:
    """The lines without their ends, LF or CR LF; a final line end begins no further line, and a CR without LF is none."""
    if len(s) >= LARGE:
        spend(len(s))
    if not s:
        return Array([])
    is_ended = s.endswith("\n")
    # without its end, so that the nothing behind it counts for no line of too many
    *ended, last = long_text.split(s.removesuffix("\n"), "\n")
    before_last = [line.removesuffix("\r") for line in ended]
    return Array([*before_last, last.removesuffix("\r") if is_ended else last])


@method("String", "reverse() -> String", clause="L-6.3.11", linear=True)
def string_reverse(s: str) -> str:
    """The characters from last to first."""
    if len(s) >= LARGE:
        spend(len(s))
    return s[::-1]


# ----------------------------------------------------------------
# `std::string`: the String methods as functions (L-7.8).

# The methods that are functions of `std::string` too, with the String as their first parameter.
AS_METHODS = (
    "len", "trim", "trim_start", "trim_end", "to_upper", "to_lower", "contains", "starts_with", "ends_with", "split", "replace",
    "substring", "repeat", "reverse", "parse_int", "parse_float",
)  # fmt: skip


def _function_of(method: Callable[..., Any], doc: str) -> Callable[..., Any]:
    def function(string: Any, *arguments: Any) -> Any:
        return method(text(string), *arguments)

    function.__doc__ = doc
    return function


for _name in AS_METHODS:
    _row = METHODS["String", _name]
    _parameters = _row.text.replace("(", "(string: String, ").replace(", )", ")")
    std("string", _parameters, clause="L-7.8.1", linear=_row.linear)(_function_of(_row.body, _row.doc))


@std("string", "join(xs: Array<Any>, sep: String) -> String", clause="L-7.8.2", linear=True)
def join(xs: Any, sep: Any) -> str:
    """The Display texts of the elements with the separator between them."""
    array(xs)
    return arrays.array_join(xs, sep)
