"""Bounds and number forms shared by everything that handles Int and Float (L-3.1.1, L-5.1.2).

Hands on the Int bounds, the text of a Float and the saturating way from Float to Int.
"""

from __future__ import annotations

INT_MIN = -(2**63)
INT_MAX = 2**63 - 1


def positional(digits: str) -> str:
    """`repr` of a finite float rewritten without exponent."""
    if "e" not in digits:
        return digits
    mantissa, exponent = digits.split("e")
    sign = "-" if mantissa.startswith("-") else ""
    whole, _, fraction = mantissa.lstrip("-").partition(".")
    point = len(whole) + int(exponent)
    all_digits = whole + fraction
    if point <= 0:
        return f"{sign}0.{'0' * -point}{all_digits}"
    return f"{sign}{all_digits.ljust(point, '0')[:point]}.{all_digits[point:] or '0'}"


def float_text(value: float) -> str:
    """Shortest digits that read back equal, never an exponent, no fraction when integral (L-5.1.2)."""
    if value != value:
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "inf" if value > 0 else "-inf"
    return positional(repr(value)).removesuffix(".0")


def float_literal(value: float) -> str:
    """As `float_text`, with `.0` when integral, so that it reads back as a Float (L-5.1.19)."""
    text = float_text(value)
    return text + ".0" if text.lstrip("-").isdigit() else text


def to_int(value: float) -> int:
    """Truncated toward zero, saturated, NaN is 0 (L-3.5.1)."""
    if value != value:
        return 0
    if value >= 2.0**63:
        return INT_MAX
    return INT_MIN if value < -(2.0**63) else int(value)
