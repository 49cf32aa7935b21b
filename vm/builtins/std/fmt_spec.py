"""What stands behind the colon of `{:…}`: how a value is shown in `fmt::format` (L-7.5.4), and numbers with a number of decimals.

    [[fill]align][sign][0][width][,][.precision][form]

Hands on `parse_spec`, `formatted` and `number_text`. Must not know: templates, built-ins.
"""

from __future__ import annotations

from ...panics import Panic
from ...values.display import debug, display
from ...values.limits import check_string_size, repeat
from ...values.typeof import typeof

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

ALIGNMENTS = "<^>"
FORMS = "bdefoxX%?"
SEPARATORS = ",_"
RADIX = {"b": "b", "o": "o", "x": "x", "X": "X"}
MOST_DECIMALS = 400
HELP = "a format is `[[fill]align][sign][0][width][,][.precision][form]`, such as `{:>8.2}`, `{:+,}`, `{:04x}`, `{:.1%}`"


class Spec:
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
        return bool(self.sign == "+" or self.separator or self.form not in ("", "?") or self.align == "=")


def parse_spec(text: str) -> Spec | None:
    """None for what is no format."""
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
    """The value as the format asks; P007 for what is no number where one is asked for, P013 for a form that its kind has not."""
    is_number = type(value) is int or type(value) is float
    if spec.wants_number and not is_number:
        raise Panic("P007", f"expected a number for `{{:{spec.text}}}`, found {typeof(value)}")
    if not is_number or spec.form == "?":
        shown = debug(value) if spec.form == "?" else display(value)
        return _aligned("", shown if spec.precision is None else shown[: spec.precision], spec, "<")
    shown = _digits_of(value, spec)
    sign = "-" if shown.startswith("-") else "+" if spec.sign == "+" and value == value else ""
    return _aligned(sign, shown.removeprefix("-"), spec, ">")


def _digits_of(value: Any, spec: Spec) -> str:
    form = spec.form
    if form in RADIX or form == "d":
        if type(value) is not int or spec.precision is not None:
            found = "a precision" if type(value) is int else "a Float"
            raise Panic("P013", f"the form `{form}` is for whole Ints, found {found} in `{{:{spec.text}}}`")
        shown = format(value, form)
        return grouped(shown, spec.separator, 3 if form == "d" else 4)
    if value - value != 0:
        return display(value)
    if form == "e":
        return _with_exponent(value, 6 if spec.precision is None else spec.precision)
    if form == "%":
        return grouped(decimal_text(value, spec.precision or 0, 2), spec.separator) + "%"
    if spec.precision is None and form != "f":
        return grouped(display(value), spec.separator)
    return grouped(decimal_text(value, 6 if spec.precision is None else spec.precision), spec.separator)


def grouped(shown: str, separator: str, size: int = 3) -> str:
    """The digits before the point in groups."""
    if not separator:
        return shown
    sign = "-" if shown.startswith("-") else ""
    whole, point, fraction = shown.removeprefix("-").partition(".")
    first = len(whole) % size or size
    groups = [whole[:first], *(whole[at : at + size] for at in range(first, len(whole), size))]
    return sign + separator.join(groups) + point + fraction


def decimal_text(value: Any, decimals: int, shift: int = 0) -> str:
    """A finite number with so many decimals, halves away from zero as `round()` has it (L-6.2.6); `shift`: a power of ten."""
    from decimal import ROUND_HALF_UP, Context, Decimal

    if decimals > MOST_DECIMALS:
        raise Panic("P013", f"at most {MOST_DECIMALS} decimals, not {decimals}")
    context = Context(prec=1500)  # no Float has as many digits before the point and behind it
    exact = Decimal(value).scaleb(shift, context)
    return format(exact.quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP, context), "f")


def _with_exponent(value: Any, decimals: int) -> str:
    if decimals > MOST_DECIMALS:
        raise Panic("P013", f"at most {MOST_DECIMALS} decimals, not {decimals}")
    mantissa, _, exponent = f"{value:.{decimals}e}".partition("e")
    return f"{mantissa}e{int(exponent)}"


def _aligned(sign: str, shown: str, spec: Spec, usual: str) -> str:
    check_string_size(4 * spec.width)
    missing = spec.width - len(sign) - len(shown)
    align = spec.align or usual
    if missing <= 0:
        return sign + shown
    if align == "=":  # zeros stand behind the sign; what is no finite number has none
        fill = "0" if shown[0].isdigit() else " "
        return sign + fill * missing + shown if fill == "0" else repeat(" ", missing) + sign + shown
    before = {"<": 0, ">": missing, "^": missing // 2}[align]
    return repeat(spec.fill, before) + sign + shown + repeat(spec.fill, missing - before)


def number_text(value: Any, decimals: int | None, thousands: str, point: str) -> str:
    """A number for people: decimals, what stands between thousands and as the point."""
    if value - value != 0:
        return display(value)
    shown = display(value) if decimals is None else decimal_text(value, decimals)
    whole, has_point, fraction = grouped(shown, "," if thousands else "").partition(".")
    return whole.replace(",", thousands) + (point + fraction if has_point else "")
