"""Numbers read from text: `parse_int`, `parse_float` and the casts from String (L-6.3.6, L-3.5).

Hands on `read_int` and `read_float`, which give None for text that is no number.
"""

from __future__ import annotations

from .long_text import lstrip, strip
from .metering import BLOCK, look
from .scalars import INT_MAX, INT_MIN

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
    """Trimmed; sign and decimal digits; None beyond the range of Int."""
    sign, digits = _split_sign(strip(text, WHITE_SPACE))
    if not _is_digits(digits):
        return None
    digits = lstrip(digits, "0") or "0"
    if len(digits) > MOST_DIGITS:
        return None
    number = sign * int(digits)
    return number if INT_MIN <= number <= INT_MAX else None


def read_float(text: str) -> float | None:
    """Trimmed; sign, decimal digits with optional fraction and exponent, `inf`, `nan`."""
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
