"""Arithmetic and comparison with the language's exact results, and numbers from text (L-5.2, L-5.3.2, L-3.6).

Hands on the Int and Float primitives that typed instructions use (`int_div`, `float_pow` …), generic operators for operands whose
kinds are known only at run time (`add`, `less` …; L-3.6.12) to both tiers and to the compiler, which computes constants by them,
`overflow` to both tiers and built-ins, `fit` to built-ins, and `read_int`, `read_float` and WHITE_SPACE to casts, built-ins,
patterns and translated code, `read_float` to `batches/` too. Every failure of an operation is a panic: P002, P003, P007, P013,
and P103 where `add` would make too long a String or Bytes, or what it shows nests too deep. With long texts or Bytes, and a large
value to show, `add`, `read_int` and `read_float` also let out what ends the run (P102 for its time, P103 for its memory, or what
the host has set: `metering.py`). Equality is in `equality.py`; the type of a result is for the checker.
"""

from __future__ import annotations

import math

from ..panics import Panic
from .containers import concat_bytes
from .equality import comparable
from .limits import INT_MAX, INT_MIN, concat
from .long_text import lstrip, strip
from .metering import BLOCK, look
from .text import display
from .types import typeof

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn


def overflow(operation: str) -> NoReturn:
    """Raise P002 for an Int result outside 64 bits; `operation` is the name in the message."""
    raise Panic("P002", f"integer overflow in `{operation}`")


def division_by_zero(operation: str) -> NoReturn:
    """Raise P003; `operation` is the name in the message."""
    raise Panic("P003", f"division by zero in `{operation}`")


def fit(number: int, operation: str) -> int:
    """Return `number` if it is an Int of 64 bits. Raises P002."""
    if INT_MIN <= number <= INT_MAX:
        return number
    return overflow(operation)


def int_div(a: int, b: int) -> int:
    """Return the quotient truncated toward zero (L-5.2.1). Raises P003 for 0, P002 for the least Int divided by -1."""
    if b == 0:
        division_by_zero("/")
    quotient = a // b
    if quotient < 0 and quotient * b != a:  # Python rounds down
        return quotient + 1
    return fit(quotient, "/")


def int_rem(a: int, b: int) -> int:
    """Return the remainder with the sign of the left operand, which is always in range (L-5.2.1). Raises P003 for 0."""
    if b == 0:
        division_by_zero("%")
    remainder = a % b  # with the sign of `b` in Python
    return remainder - b if remainder and (a < 0) != (b < 0) else remainder


def int_pow(base: int, exponent: int) -> int:
    """Return the power; `x ** 0` is 1. Raises P013 for a negative exponent, P002 before any large power is computed (L-5.2.3,
    G-6.3)."""
    if exponent < 0:
        raise Panic("P013", f"negative exponent in `**`: {exponent}")
    if exponent > 63 and not -1 <= base <= 1:
        overflow("**")
    if base == -1:
        return -1 if exponent % 2 else 1
    return fit(base**exponent, "**") if exponent <= 63 else base


def float_div(a: float, b: float) -> float:
    """Return the quotient as IEEE 754 has it: by zero it is an infinity or NaN (L-5.2.2)."""
    if b != 0:
        return a / b
    if a == 0 or a != a:
        return math.nan
    return math.copysign(math.inf, math.copysign(1.0, a) * math.copysign(1.0, b))


def float_rem(a: float, b: float) -> float:
    """Return the remainder as C `fmod`; NaN where that has none."""
    try:
        return math.fmod(a, b)
    except ValueError:
        return math.nan


def float_pow(base: float, exponent: float) -> float:
    """Return the power as C `pow`: beyond the range an infinity, outside the domain NaN."""
    try:
        return math.pow(base, exponent)
    except OverflowError:
        return -math.inf if base < 0 and exponent % 2 == 1 else math.inf
    except ValueError:
        if base != 0:
            return math.nan
    # Zero to a negative power: a pole, whose sign an odd exponent takes from the zero.
    return math.copysign(math.inf, base) if exponent % 2 == 1 else math.inf


def _mismatch(operation: str, a: Any, b: Any, expected: str = "two numbers") -> NoReturn:
    raise Panic("P007", f"expected {expected} for `{operation}`, found {typeof(a)} and {typeof(b)}")


def _both_int(operation: str, a: Any, b: Any) -> bool:
    """Return whether two numbers are both Int. Raises P007 for other operands."""
    left, right = type(a), type(b)
    if left is int and right is int:
        return True
    if (left is not int and left is not float) or (right is not int and right is not float):
        _mismatch(operation, a, b)
    return False


# The generic operators. They raise P007 for operands that the operator does not take, and what the operation on Ints raises:
# P002, P003, P013. One Int beside a Float counts as a Float, but for comparisons, which are exact (L-5.3.2).


def add(a: Any, b: Any) -> Any:
    """Return `a + b` of numbers, Strings, Bytes, or of a String and the Display text of another value (L-3.6.1). Raises P002,
    P007, P103."""
    if type(a) is int and type(b) is int:
        return fit(a + b, "+")
    if type(a) is str or type(b) is str:
        return concat(display(a), display(b))
    if type(a) is bytes and type(b) is bytes:
        return concat_bytes(a, b)
    if not (type(a) in (int, float) and type(b) in (int, float)):
        _mismatch("+", a, b, "two numbers or a String")
    return float(a) + float(b)


def sub(a: Any, b: Any) -> Any:
    """Return `a - b`. Raises P002, P007."""
    return fit(a - b, "-") if _both_int("-", a, b) else float(a) - float(b)


def mul(a: Any, b: Any) -> Any:
    """Return `a * b`. Raises P002, P007."""
    return fit(a * b, "*") if _both_int("*", a, b) else float(a) * float(b)


def div(a: Any, b: Any) -> Any:
    """Return `a / b`, of Ints truncated toward zero. Raises P002, P003, P007."""
    return int_div(a, b) if _both_int("/", a, b) else float_div(float(a), float(b))


def rem(a: Any, b: Any) -> Any:
    """Return `a % b`, with the sign of `a`. Raises P003, P007."""
    return int_rem(a, b) if _both_int("%", a, b) else float_rem(float(a), float(b))


def power(a: Any, b: Any) -> Any:
    """Return `a ** b`. Raises P002, P007, P013."""
    return int_pow(a, b) if _both_int("**", a, b) else float_pow(float(a), float(b))


def negate(value: Any) -> Any:
    """Return `-value`. Raises P002, P007."""
    if type(value) is int:
        return fit(-value, "-")
    if type(value) is float:
        return -value
    raise Panic("P007", f"expected a number for unary `-`, found {typeof(value)}")


def less(a: Any, b: Any) -> bool:
    """Return `a < b` of two numbers or two Strings, which are compared by code points. Raises P007."""
    comparable(a, b, "<")
    return a < b  # type: ignore[no-any-return]


def less_equal(a: Any, b: Any) -> bool:
    """Return `a <= b` of two numbers or two Strings, which are compared by code points. Raises P007."""
    comparable(a, b, "<=")
    return a <= b  # type: ignore[no-any-return]


def greater(a: Any, b: Any) -> bool:
    """Return `a > b` of two numbers or two Strings, which are compared by code points. Raises P007."""
    comparable(a, b, ">")
    return a > b  # type: ignore[no-any-return]


def greater_equal(a: Any, b: Any) -> bool:
    """Return `a >= b` of two numbers or two Strings, which are compared by code points. Raises P007."""
    comparable(a, b, ">=")
    return a >= b  # type: ignore[no-any-return]


# ----------------------------------------------------------------
# Numbers read from text: `parse_int`, `parse_float` and the casts from String (L-6.3.6, L-3.5).
#
# `read_int` and `read_float` return None for text that is no number.

# The characters with the Unicode property White_Space; Python's own notion has four control characters more.
WHITE_SPACE = "\t\n\v\f\r \x85\xa0\u1680" + "".join(map(chr, range(0x2000, 0x200B))) + "\u2028\u2029\u202f\u205f\u3000"
# No Int has more digits than this after leading zeros; longer text is refused before it is converted.
MOST_DIGITS = 19
WORDS = {"inf": float("inf"), "nan": float("nan")}


def _split_sign(text: str) -> tuple[int, str]:
    if text[:1] in ("+", "-"):
        return (-1 if text[0] == "-" else 1), text[1:]
    return 1, text


def _is_digits(text: str) -> bool:
    return text.isascii() and text.isdigit()


def read_int(text: str) -> int | None:
    """Return the Int that a text writes: an optional sign and decimal digits; white space around them does not count. None for
    any other text, or beyond the range of Int."""
    if len(text) < MOST_DIGITS:
        if text.isascii() and text.isdigit():
            return int(text)
        last = text[-1:]
        if not last.isdigit() and last not in WHITE_SPACE:
            return None
        text = text.strip(WHITE_SPACE)
    else:
        text = strip(text, WHITE_SPACE)
    digits = text[1:] if text[:1] in ("+", "-") else text
    if not (digits.isascii() and digits.isdigit()):
        return None
    digits = lstrip(digits, "0") or "0"
    if len(digits) > MOST_DIGITS:
        return None
    number = -int(digits) if text[0] == "-" else int(digits)
    return number if INT_MIN <= number <= INT_MAX else None


def read_float(text: str) -> float | None:
    """Return the Float that a text writes: an optional sign, then decimal digits with optional fraction and exponent, or `inf` or
    `nan` in any case; white space around them does not count. None for any other text; beyond the range of Float an infinity."""
    sign, body = _split_sign(strip(text, WHITE_SPACE))
    long = len(body) > BLOCK
    lowered = body.lower()
    if lowered in WORDS:
        return sign * WORDS[lowered]
    if long:
        look()
    mantissa, mark, exponent = lowered.partition("e")
    whole, point, fraction = mantissa.partition(".")
    digits = whole + fraction
    if long:
        look()
    if not _is_digits(digits) or (point and not (whole and fraction)):
        return None
    if mark and not _is_digits(_split_sign(exponent)[1]):
        return None
    if long:
        look()
    return sign * float(body)
