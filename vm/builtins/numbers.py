"""Methods of Int and Float, `to_string` of every value, and `std::math` (L-6.2, L-7.7).

Hands on its rows only. Bodies panic with P002 where the result is no Int, with P007 for an argument that is no number, with P013
where the docstring or `arithmetic.power` says so; `to_string` panics with P103 for a text beyond the limits, and with a large
value what ends the run comes out of it. Operators on numbers, powers and conversions to Int stand in `values/arithmetic.py` and
`values/limits.py`; random numbers are made by the host, to which their rows give a tuple of the word for the kind and, for an
Int, the bounds. `special="numeric"`: a Float parameter takes an Int as it is, and a Float result is an Int when all arguments
are. On a method of Int it lets an Int parameter take a Float, and the result is a Float then: the checker reads the row of Float
of the same name, and the body of Int is called all the same.
"""

from __future__ import annotations

import math

from ..panics import Panic
from ..values.arithmetic import fit, float_pow, power
from ..values.limits import to_int
from ..values.metering import LARGE, spend
from ..values.text import display
from .registry import float_of, integer, method, number, std, std_effect

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


# ----------------------------------------------------------------
# Methods of Int and Float, and `to_string` of every value (L-6.2).


@method("Any", "to_string() -> String", clause="L-6.2.1", linear=True)
def to_string(value: Any) -> str:
    """The Display text of the value."""
    text = display(value)
    if len(text) >= LARGE:
        spend(len(text))
    return text


@method("Int", "abs() -> Int", clause="L-6.2.2")
def int_abs(value: int) -> int:
    """The magnitude; the smallest Int has none and panics with P002."""
    return fit(abs(value), "abs")


@method("Float", "abs() -> Float", clause="L-6.2.2")
def float_abs(value: float) -> float:
    """The magnitude."""
    return abs(value)


@method("Int", "sqrt() -> Float", clause="L-6.2.3")
@method("Float", "sqrt() -> Float", clause="L-6.2.3")
def sqrt(value: float) -> float:
    """The square root; NaN below 0."""
    root = float(value)
    return math.sqrt(root) if root >= 0 else math.nan


@method("Int", "pow(e: Int) -> Int", clause="L-6.2.4", special="numeric")
def int_pow_method(value: int, e: Any) -> Any:
    """`value ** e`: Int for an Int exponent, else Float."""
    return power(value, e)


@method("Float", "pow(e: Float) -> Float", clause="L-6.2.4")
def float_pow_method(value: float, e: Any) -> float:
    """`value ** e`."""
    return float_pow(value, float_of(e))


def _pick(a: Any, b: Any, take_first: bool) -> Any:
    """Return one of two numbers, as a Float unless both are Int; NaN if either is."""
    if type(a) is int and type(b) is int:
        return a if take_first else b
    first, second = float(a), float(b)
    if first != first or second != second:
        return math.nan
    return first if take_first else second


@method("Int", "min(o: Int) -> Int", clause="L-6.2.5", special="numeric")
@method("Float", "min(o: Float) -> Float", clause="L-6.2.5")
def minimum(value: Any, o: Any) -> Any:
    """The smaller of the two: Int for two Ints, else Float."""
    return _pick(value, o, value <= number(o))


@method("Int", "max(o: Int) -> Int", clause="L-6.2.5", special="numeric")
@method("Float", "max(o: Float) -> Float", clause="L-6.2.5")
def maximum(value: Any, o: Any) -> Any:
    """The larger of the two: Int for two Ints, else Float."""
    return _pick(value, o, value >= number(o))


@method("Int", "to_int() -> Int", clause="L-6.2.7")
@method("Int", "floor() -> Int", clause="L-6.2.6")
@method("Int", "ceil() -> Int", clause="L-6.2.6")
@method("Int", "round() -> Int", clause="L-6.2.6")
def int_itself(value: int) -> int:
    """The Int itself."""
    return value


def _finite(value: float) -> bool:
    return value - value == 0


@method("Float", "floor() -> Int", clause="L-6.2.6")
def float_floor(value: float) -> int:
    """The largest Int not above the value; saturates, NaN gives 0."""
    return to_int(float(math.floor(value)) if _finite(value) else value)


@method("Float", "ceil() -> Int", clause="L-6.2.6")
def float_ceil(value: float) -> int:
    """The smallest Int not below the value; saturates, NaN gives 0."""
    return to_int(float(math.ceil(value)) if _finite(value) else value)


@method("Float", "round() -> Int", clause="L-6.2.6")
def float_round(value: float) -> int:
    """The nearest Int, halves away from zero; saturates, NaN gives 0."""
    whole = to_int(value)
    # The fraction of a truncated Float is exact, unlike value + 0.5.
    fraction = value - whole if _finite(value) else 0.0
    if abs(fraction) >= 0.5 and abs(value) < 2.0**52:
        return whole + (1 if value > 0 else -1)
    return whole


@method("Float", "to_int() -> Int", clause="L-6.2.7")
def float_to_int(value: float) -> int:
    """As the cast: truncates toward zero, saturates, NaN gives 0."""
    return to_int(value)


@method("Int", "to_float() -> Float", clause="L-6.2.7")
@method("Float", "to_float() -> Float", clause="L-6.2.7")
def to_float(value: float) -> float:
    """The nearest Float."""
    return float(value)


# ----------------------------------------------------------------
# `std::math` (L-7.7). Randomness is an effect: tests and replay fix it (V-6.6).


@std("math", "abs(x: Float) -> Float", clause="L-7.7.1", special="numeric")
def absolute(x: Any) -> Any:
    """The magnitude; the smallest Int has none and panics with P002."""
    return int_abs(x) if type(x) is int else abs(number(x))


@std("math", "min(a: Float, b: Float) -> Float", clause="L-7.7.1", special="numeric")
def math_minimum(a: Any, b: Any) -> Any:
    """The smaller of the two."""
    return minimum(number(a), b)


@std("math", "max(a: Float, b: Float) -> Float", clause="L-7.7.1", special="numeric")
def math_maximum(a: Any, b: Any) -> Any:
    """The larger of the two."""
    return maximum(number(a), b)


@std("math", "clamp(x: Float, lo: Float, hi: Float) -> Float", clause="L-7.7.1", special="numeric")
def clamp(x: Any, lo: Any, hi: Any) -> Any:
    """The number of lo to hi that is nearest to x; lo above hi panics with P013."""
    number(x)
    if number(lo) > number(hi):
        raise Panic("P013", f"lower bound of `clamp` is above the upper one: {display(lo)} > {display(hi)}")
    return minimum(maximum(_like(x, lo, hi), lo), hi)


def _like(x: Any, *others: Any) -> Any:
    """Return `x` as a Float unless all numbers are Int, so that the result has one type whichever number it is."""
    return float(x) if any(type(other) is float for other in others) else x


@std("math", "pow(b: Float, e: Float) -> Float", clause="L-7.7.1", special="numeric")
def pow_function(b: Any, e: Any) -> Any:
    """`b ** e`: a negative exponent of Ints panics with P013."""
    return power(number(b), number(e))


@std("math", "floor(x: Float) -> Int", clause="L-7.7.2", special="numeric")
def floor(x: Any) -> int:
    """The largest Int not above x; saturates, NaN gives 0."""
    return x if type(x) is int else float_floor(number(x))


@std("math", "ceil(x: Float) -> Int", clause="L-7.7.2", special="numeric")
def ceil(x: Any) -> int:
    """The smallest Int not below x; saturates, NaN gives 0."""
    return x if type(x) is int else float_ceil(number(x))


@std("math", "round(x: Float) -> Int", clause="L-7.7.2", special="numeric")
def round_function(x: Any) -> int:
    """The nearest Int, halves away from zero; saturates, NaN gives 0."""
    return x if type(x) is int else float_round(number(x))


@std("math", "sqrt(x: Float) -> Float", clause="L-7.7.2")
def math_sqrt(x: Any) -> float:
    """The square root; NaN below 0."""
    return sqrt(float_of(x))


@std_effect("math", "random() -> Float", effect="random", clause="L-7.7.3")
def random() -> tuple[Any, ...]:
    """A random Float in [0, 1)."""
    return ("float",)


@std_effect("math", "random_int(lo: Int, hi: Int) -> Int", effect="random", clause="L-7.7.3")
def random_int(lo: Any, hi: Any) -> tuple[Any, ...]:
    """A random Int from lo up to but not including hi; lo not below hi panics with P013."""
    if integer(lo) >= integer(hi):
        raise Panic("P013", f"range of `random_int` is empty: {lo} to {hi}")
    return ("int", lo, hi)
