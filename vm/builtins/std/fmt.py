"""`std::fmt`: text from values (L-7.5)."""

from __future__ import annotations

from ...panics import Panic
from ...values import long_text
from ...values.display import brief, debug, display
from ...values.limits import check_string_size, concat, join, limits, repeat
from ...values.metering import LARGE, paced, spend
from ..guards import array, integer, number, text
from ..registry import std
from .fmt_spec import HELP, formatted, number_text, parse_spec

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


MOST_BETWEEN = 8  # characters between thousands, and as the point, of a number


def _of_length(size: int) -> None:
    """Charges a text of so many characters."""
    if LARGE <= size <= limits.string:
        spend(size)


@std("fmt", "format(t: String, args: Array<Any>) -> String", clause="L-7.5.1", linear=True)
def format_function(t: Any, args: Any) -> str:
    """Each `{}` replaced by the next Display text, each `{:…}` by the next value so formatted; further arguments are ignored."""
    _of_length(len(text(t)))
    if "{:" in t:
        return _with_formats(t, array(args))
    pieces = t.split("{}", len(array(args)))
    parts = [pieces[0]]
    size = 0
    for piece, argument in paced(zip(pieces[1:], args.items, strict=False)):
        parts += (display(argument), piece)
        # One argument shown many times must not fill the memory before the sum is known.
        size += len(parts[-2])
        check_string_size(size)
    return join("", parts)


def _with_formats(t: str, args: list[Any]) -> str:
    import re

    parts: list[str] = []
    size = at = 0
    holes = re.compile(r"\{[}:]")
    for argument in paced(args):
        hole = holes.search(t, at)
        if hole is None:
            break
        start = hole.start()
        end = t.find("}", start)
        spec = None if end < 0 else parse_spec(t[start + 2 : end])
        if t[start + 1] == ":" and spec is None:
            raise Panic("P013", f"no format at character {start + 1} of `{brief(t, 60)}`: {HELP}")
        parts += (t[at:start], display(argument) if spec is None else formatted(argument, spec))
        size += len(parts[-1])
        check_string_size(size)
        at = end + 1
    return join("", [*parts, t[at:]])


@std(
    "fmt", 'number(x: Any, decimals: Int? = nil, thousands: String = "", point: String = ".") -> String', clause="L-7.5.5",
)  # fmt: skip
def number_function(x: Any, decimals: Any, thousands: Any, point: Any) -> str:
    """A number with so many decimals, as many as it has when nil; halves are rounded away from zero."""
    if decimals is not None and integer(decimals) < 0:
        raise Panic("P013", f"number of decimals must not be negative: {decimals}")
    if max(len(text(thousands)), len(text(point))) > MOST_BETWEEN:
        raise Panic("P013", f"what stands between thousands and as the point has at most {MOST_BETWEEN} characters")
    return number_text(number(x), decimals, text(thousands), text(point))


def _padding(s: Any, width: Any, ch: Any) -> str:
    _of_length(integer(width))
    return repeat(text(ch)[:1] or " ", integer(width) - len(text(s)))


@std("fmt", 'pad_left(s: String, width: Int, ch: String = " ") -> String', clause="L-7.5.2", linear=True)
def pad_left(s: Any, width: Any, ch: Any) -> str:
    """The text with the first character of ch before it, up to the width; never shortened."""
    return concat(_padding(s, width, ch), s)


@std("fmt", 'pad_right(s: String, width: Int, ch: String = " ") -> String', clause="L-7.5.2", linear=True)
def pad_right(s: Any, width: Any, ch: Any) -> str:
    """The text with the first character of ch behind it, up to the width; never shortened."""
    return concat(s, _padding(s, width, ch))


@std("fmt", "truncate(s: String, n: Int) -> String", clause="L-7.5.3", linear=True)
def truncate(s: Any, n: Any) -> str:
    """The first n characters."""
    _of_length(min(len(text(s)), integer(n)))
    return text(s)[: max(0, integer(n))]


@std("fmt", "indent(s: String, n: Int) -> String", clause="L-7.5.3", linear=True)
def indent(s: Any, n: Any) -> str:
    """The text with n blanks before each line; a final line end begins no further line."""
    _of_length(len(text(s)))
    blanks = repeat(" ", integer(n))
    if not s:
        return ""
    lines = s.removesuffix("\n")
    indented = long_text.replace(lines, "\n", "\n" + blanks)
    check_string_size(len(blanks) + len(indented) + len(s) - len(lines))
    return concat(blanks, indented + s[len(lines) :])


@std("fmt", "debug(v: Any) -> String", clause="L-7.5.3", linear=True)
def debug_function(v: Any) -> str:
    """The debug form: Strings quoted, integral Floats with `.0`."""
    shown = debug(v)
    _of_length(len(shown))
    return shown
