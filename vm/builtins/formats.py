"""Text from values: `std::fmt` and `std::prompt` (L-7.5, L-7.9).

Hands on rows only, to the registry, which `modules.py` loads when a program names one of the modules: the docstring of a
decorated function is its text in the reference, for readers of the language. A body raises P007 for an argument of another kind,
P013 for a format or a number that is not allowed, and P103 for a text beyond the limits of G-6.1. `linear` marks one whose work
grows with its text, for which it charges the run; what ends the run may come out of it. How a value is shown without a format is
`values/text.py`.
"""

from __future__ import annotations

from ..panics import Panic
from ..values import long_text
from ..values.arithmetic import WHITE_SPACE
from ..values.limits import check_string_size, concat, join, limits, repeat
from ..values.long_text import at_blanks
from ..values.metering import LARGE, STRIDE, look, paced, spend
from ..values.text import brief, debug, display
from ..values.types import typeof
from .registry import array, integer, number, std, std_prelude, table, text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


# ----------------------------------------------------------------
# What stands behind the colon of `{:…}`: how a value is shown in `fmt::format` (L-7.5.4), and numbers with a number of
# decimals.
#
#     [[fill]align][sign][0][width][,][.precision][form]

ALIGNMENTS = "<^>"
FORMS = "bdefoxX%?"
SEPARATORS = ",_"
RADIX = {"b": "b", "o": "o", "x": "x", "X": "X"}
MOST_DECIMALS = 400  # digits behind the point that a format may ask for
HELP = "a format is `[[fill]align][sign][0][width][,][.precision][form]`, such as `{:>8.2}`, `{:+,}`, `{:04x}`, `{:.1%}`"


class Spec:
    """A format, part by part; `text` is all of it. `align` is one of ALIGNMENTS, "=" where the fill stands between sign and
    digits, or empty for the usual one; `sign` is "+" where a positive number shows one, else "-"; `width` is in characters;
    `separator` (one of SEPARATORS) and `form` (one of FORMS) are empty without one, `precision` is None."""

    __slots__ = ("text", "fill", "align", "sign", "width", "separator", "precision", "form")

    def __init__(self, text: str) -> None:
        self.text = text
        self.fill = " "
        self.align = ""
        self.sign = "-"
        self.width = 0
        self.separator = ""
        self.precision: int | None = None
        self.form = ""

    @property
    def wants_number(self) -> bool:
        """Whether only a number can be shown so."""
        return bool(self.sign == "+" or self.separator or self.form not in ("", "?") or self.align == "=")


def parse_spec(text: str) -> Spec | None:
    """Return the format of the text behind a colon, None for a text that is no format; an empty text is none."""
    spec = Spec(text)
    at = 0
    if len(text) > 1 and text[1] in ALIGNMENTS:
        spec.fill, spec.align, at = text[0], text[1], 2
    elif text[:1] and text[0] in ALIGNMENTS:
        spec.align, at = text[0], 1
    if text[at : at + 1] in ("+", "-"):
        spec.sign = text[at]
        at += 1
    if text[at : at + 1] == "0" and not spec.align:
        spec.fill, spec.align = "0", "="
        at += 1
    spec.width, at = _digits(text, at)
    if text[at : at + 1] and text[at] in SEPARATORS:
        spec.separator = text[at]
        at += 1
    if text[at : at + 1] == ".":
        start = at + 1
        spec.precision, at = _digits(text, start)
        if at == start:
            return None
    if text[at : at + 1] and text[at] in FORMS:
        spec.form = text[at]
        at += 1
    return spec if at == len(text) and at > 0 else None


def _digits(text: str, at: int) -> tuple[int, int]:
    start = at
    while text[at : at + 1] in tuple("0123456789") and at - start < 9:
        at += 1
    return int(text[start:at] or "0"), at


def formatted(value: Any, spec: Spec) -> str:
    """Return the text of the value that the format demands. Raises P007 for no number where one is demanded, P013 for a form that
    its kind does not have or that takes no precision, and for more than MOST_DECIMALS decimals, P103 for a text that is too long
    or a value that nests too deep, and with a large value what ends the run."""
    is_number = type(value) is int or type(value) is float
    if spec.wants_number and not is_number:
        raise Panic("P007", f"expected a number for `{{:{spec.text}}}`, found {typeof(value)}")
    if not is_number:
        text = debug(value) if spec.form == "?" else display(value)
        return _aligned("", text if spec.precision is None else text[: spec.precision], spec, "<")
    text = _digits_of(value, spec)
    sign = "-" if text.startswith("-") else "+" if spec.sign == "+" and value == value else ""
    return _aligned(sign, text.removeprefix("-"), spec, ">", "0" if value - value == 0 else " ")


def _digits_of(value: Any, spec: Spec) -> str:
    form = spec.form
    if form in RADIX or form == "d":
        if type(value) is not int or spec.precision is not None:
            reason = "a precision" if type(value) is int else "a Float"
            raise Panic("P013", f"the form `{form}` is for whole Ints, found {reason} in `{{:{spec.text}}}`")
        text = format(value, form)
        return grouped(text, spec.separator, 3 if form == "d" else 4)
    if value - value != 0:
        return display(value)
    if form == "e":
        return _with_exponent(value, 6 if spec.precision is None else spec.precision)
    if form == "%":
        return grouped(decimal_text(value, spec.precision or 0, 2), spec.separator) + "%"
    if spec.precision is None and form != "f":
        return grouped(debug(value) if form == "?" else display(value), spec.separator)
    return grouped(decimal_text(value, 6 if spec.precision is None else spec.precision), spec.separator)


def grouped(number: str, separator: str, size: int = 3) -> str:
    """Return a number's text with `separator` between groups of `size` digits before the point; the same text where the separator
    is empty."""
    if not separator:
        return number
    sign = "-" if number.startswith("-") else ""
    whole, point, fraction = number.removeprefix("-").partition(".")
    first = len(whole) % size or size
    groups = [whole[:first], *(whole[at : at + size] for at in range(first, len(whole), size))]
    return sign + separator.join(groups) + point + fraction


def decimal_text(value: Any, decimals: int, shift: int = 0) -> str:
    """Return the text of a finite Int or Float with so many decimals, halves away from zero as `round()` rounds (L-6.2.6).
    `shift`: the exponent of the power of ten by which it is multiplied first. Raises P013 for more than MOST_DECIMALS
    decimals."""
    from decimal import ROUND_HALF_UP, Context, Decimal

    if decimals > MOST_DECIMALS:
        raise Panic("P013", f"at most {MOST_DECIMALS} decimals, not {decimals}")
    context = Context(prec=1500)  # no Float has as many digits before the point and behind it
    exact = Decimal(value).scaleb(shift, context)
    return format(exact.quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP, context), "f")


def _with_exponent(value: Any, decimals: int) -> str:
    """Return the text of a finite Int or Float with one digit before the point, so many decimals, and the power of ten, rounded
    as `decimal_text` does. Raises P013 for more than MOST_DECIMALS decimals."""
    from decimal import ROUND_HALF_UP, Context, Decimal

    if decimals > MOST_DECIMALS:
        raise Panic("P013", f"at most {MOST_DECIMALS} decimals, not {decimals}")
    if not value:
        return f"{float(value):.{decimals}f}e0"
    rounded = Context(prec=decimals + 1, rounding=ROUND_HALF_UP).create_decimal(Decimal(value))
    mantissa, _, exponent = format(rounded, f".{decimals}e").partition("e")
    return f"{mantissa}e{int(exponent)}"


def _aligned(sign: str, text: str, spec: Spec, usual: str, zero: str = " ") -> str:
    """Return the text in the width of the format. `usual`: the alignment without one; `zero`: what stands between sign and digits
    where zeros are demanded, a blank for what is no finite number."""
    check_string_size(4 * spec.width)
    missing = spec.width - len(sign) - len(text)
    align = spec.align or usual
    if missing <= 0:
        return sign + text
    if align == "=":
        return sign + repeat("0", missing) + text if zero == "0" else repeat(" ", missing) + sign + text
    before = {"<": 0, ">": missing, "^": missing // 2}[align]
    return repeat(spec.fill, before) + sign + text + repeat(spec.fill, missing - before)


def number_text(value: Any, decimals: int | None, thousands: str, point: str) -> str:
    """Return the text of an Int or Float with so many decimals (None: as many as it has), with `thousands` between groups of
    three digits and `point` before the decimals; of no finite number the Display text. Raises P013 for more than MOST_DECIMALS
    decimals."""
    if value - value != 0:
        return display(value)
    text = display(value) if decimals is None else decimal_text(value, decimals)
    whole, has_point, fraction = grouped(text, "," if thousands else "").partition(".")
    return whole.replace(",", thousands) + (point + fraction if has_point else "")


# ----------------------------------------------------------------
# `std::fmt`: text from values (L-7.5).

MOST_BETWEEN = 8  # characters between thousands, and as the point, of a number


def _of_length(size: int) -> None:
    """Charge the run for a text of so many characters."""
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
    text = debug(v)
    _of_length(len(text))
    return text


# ----------------------------------------------------------------
# `std::prompt`: templates and token estimates (L-7.9.3, L-7.9.4).

PROMPT_FORMS = (("${", "}"), ("{{", "}}"))  # what opens and closes a placeholder; an opening has two characters


class Marker:
    """One form of placeholder in a text, such as `${` to `}`: it finds each from left to right and looks at every character
    once. `start` is the offset of the opening sign that it stands at, `end` that of the closing one; the length of the text
    stands for none."""

    __slots__ = ("text", "opening", "closing", "start", "end")

    def __init__(self, source: str, opening: str, closing: str) -> None:
        self.text = source
        self.opening = opening
        self.closing = closing
        self.start = -1
        self.end = -1
        self.advance(0)

    def advance(self, position: int) -> None:
        """Set `start` and `end` to the first opening at or after `position` and the first closing behind it; the end of the text
        stands for a missing one."""
        if self.start < position:
            self.start = self._find(self.opening, position)
        if self.end < self.start + len(self.opening):
            self.end = self._find(self.closing, self.start + len(self.opening))

    def _find(self, sign: str, position: int) -> int:
        index = self.text.find(sign, position)
        return len(self.text) if index < 0 else index


@std("prompt", "template(t: String, vars: Map<String, Any>) -> String", clause="L-7.9.3", linear=True)
def template(t: Any, variables: Any) -> str:
    """`${k}` and `{{k}}` replaced by the Display text of vars at k, in one pass; unknown ones stay."""
    if len(text(t)) >= LARGE:
        spend(len(t))
    if len(table(variables)) >= LARGE:
        spend(len(variables.items))
    texts = {key: value for key, value in table(variables).items() if type(key) is str}
    lengths = set(map(len, texts))
    markers = [Marker(t, *form) for form in PROMPT_FORMS]
    parts: list[str] = []
    size = copied = at = pace = 0
    while True:
        pace += 1
        if pace % STRIDE == 0:
            look()
        for marker in markers:
            marker.advance(at)
        first = min(markers, key=lambda marker: marker.start)
        if first.start == len(t):
            return join("", [*parts, t[copied:]])
        inside = first.start + 2
        at = first.start + 1
        # The length is asked first: a far closing sign must not cost a long slice for each opening.
        if first.end < len(t) and first.end - inside in lengths and t[inside : first.end] in texts:
            parts += (t[copied : first.start], display(texts[t[inside : first.end]]))
            size += len(parts[-1])
            check_string_size(size)
            at = copied = first.end + len(first.closing)


std_prelude(
    "prompt", "from_file(path: String, vars: Map<String, Any> = {}) -> Result<String, FsError>", clause="L-7.9.4",
    doc="The text of a file as a template filled with vars.",
    source="""
    match std::fs::read_file(path) {
        Ok(text) => Ok(std::prompt::template(text, vars)),
        Err(e) => Err(e),
    }
    """,
)  # fmt: skip


def words(s: str) -> int:
    """Return how many runs of characters that are no Unicode white space a text has."""
    if s.isascii():
        # Python's own notion has the four control characters 1C to 1F more.
        return len(s.translate(_NOT_BLANK).split())
    return len("".join(" " if c in WHITE_SPACE else "x" for c in s).split())


_NOT_BLANK = dict.fromkeys(range(28, 32), "x")


@std("prompt", 'count_tokens(text: String, model: String = "") -> Int', clause="L-7.9.4", linear=True)
def count_tokens(content: Any, model: Any) -> int:
    """An estimate of the tokens: words × 4/3, rounded up, whatever the model."""
    text(model)
    if len(text(content)) >= LARGE:
        spend(len(content))
    return -(-sum(map(words, at_blanks(content))) * 4 // 3)
