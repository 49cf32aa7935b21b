"""`std::math` (L-7.7). Randomness is an effect: tests and replay fix it (V-6.6)."""

from __future__ import annotations

from ...panics import Panic
from ...values.arithmetic import power
from ...values.display import display
from .. import numbers
from ..guards import float_of, integer, number
from ..registry import std, std_effect

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


@std("math", "abs(x: Float) -> Float", clause="L-7.7.1", special="numeric")
def absolute(x: Any) -> Any:
    """The magnitude; the smallest Int has none and panics with P002."""
    return numbers.int_abs(x) if type(x) is int else abs(number(x))


@std("math", "min(a: Float, b: Float) -> Float", clause="L-7.7.1", special="numeric")
def minimum(a: Any, b: Any) -> Any:
    """The smaller of the two."""
    return numbers.minimum(number(a), b)


@std("math", "max(a: Float, b: Float) -> Float", clause="L-7.7.1", special="numeric")
def maximum(a: Any, b: Any) -> Any:
    """The larger of the two."""
    return numbers.maximum(number(a), b)


@std("math", "clamp(x: Float, lo: Float, hi: Float) -> Float", clause="L-7.7.1", special="numeric")
def clamp(x: Any, lo: Any, hi: Any) -> Any:
    """The number of lo to hi that is nearest to x; lo above hi panics with P013."""
    number(x)
    if number(lo) > number(hi):
        raise Panic("P013", f"lower bound of `clamp` is above the upper one: {display(lo)} > {display(hi)}")
    return numbers.minimum(numbers.maximum(_like(x, lo, hi), lo), hi)


def _like(x: Any, *others: Any) -> Any:
    """`x` as a Float unless all are Int: the result has one type whichever number it is."""
    return float(x) if any(type(other) is float for other in others) else x


@std("math", "pow(b: Float, e: Float) -> Float", clause="L-7.7.1", special="numeric")
def pow_function(b: Any, e: Any) -> Any:
    """`b ** e`: a negative exponent of Ints panics with P013."""
    return power(number(b), number(e))


@std("math", "floor(x: Float) -> Int", clause="L-7.7.2", special="numeric")
def floor(x: Any) -> int:
    """The largest Int not above x; saturates, NaN gives 0."""
    return x if type(x) is int else numbers.float_floor(number(x))


@std("math", "ceil(x: Float) -> Int", clause="L-7.7.2", special="numeric")
def ceil(x: Any) -> int:
    """The smallest Int not below x; saturates, NaN gives 0."""
    return x if type(x) is int else numbers.float_ceil(number(x))


@std("math", "round(x: Float) -> Int", clause="L-7.7.2", special="numeric")
def round_function(x: Any) -> int:
    """The nearest Int, halves away from zero; saturates, NaN gives 0."""
    return x if type(x) is int else numbers.float_round(number(x))


@std("math", "sqrt(x: Float) -> Float", clause="L-7.7.2")
def sqrt(x: Any) -> float:
    """The square root; NaN below 0."""
    return numbers.sqrt(float_of(x))


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
