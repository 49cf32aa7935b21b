"""Arithmetic against Python's unbounded integers and C's floats (L-5.2, L-5.3.2)."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
from concerto.vm.panics import Panic
from concerto.vm.values import (
    INT_MAX,
    INT_MIN,
    NONE,
    Array,
    add,
    div,
    float_div,
    float_pow,
    float_rem,
    greater,
    greater_equal,
    int_div,
    int_pow,
    int_rem,
    less,
    less_equal,
    mul,
    negate,
    power,
    rem,
    sub,
)
from hypothesis import example, given
from hypothesis import strategies as st

EDGES = st.sampled_from([INT_MIN, INT_MIN + 1, -1, 0, 1, 2, INT_MAX - 1, INT_MAX])
INTS = EDGES | st.integers(INT_MIN, INT_MAX) | st.integers(-100, 100)
FLOATS = st.floats() | st.sampled_from([0.0, -0.0, math.inf, -math.inf, math.nan, 1e308, 5e-324])


def code_of(action: Callable[[], Any]) -> str:
    with pytest.raises(Panic) as caught:
        action()
    return caught.value.code


def same(a: float, b: float) -> bool:
    """Equal Floats, NaN with NaN, and zero with zero of one sign."""
    return (a != a and b != b) or (a == b and math.copysign(1, a) == math.copysign(1, b))


@given(INTS, INTS)
def test_int_results_are_exact_or_overflow(a: int, b: int) -> None:
    for operation, exact in ((add, a + b), (sub, a - b), (mul, a * b)):
        if INT_MIN <= exact <= INT_MAX:
            assert operation(a, b) == exact
        else:
            assert code_of(lambda operation=operation: operation(a, b)) == "P002"


@given(INTS, INTS)
@example(INT_MIN, -1)
@example(-7, 3)
@example(7, -3)
def test_division_truncates_and_remainder_follows_the_left(a: int, b: int) -> None:
    if b == 0:
        assert code_of(lambda: int_div(a, b)) == code_of(lambda: int_rem(a, b)) == "P003"
    elif (a, b) == (INT_MIN, -1):
        assert code_of(lambda: int_div(a, b)) == "P002"
        assert int_rem(a, b) == 0
    else:
        assert int_div(a, b) == div(a, b) == math.trunc(Fraction(a, b))
        assert int_rem(a, b) == rem(a, b) == a - b * math.trunc(Fraction(a, b))


@given(INTS, st.integers(0, 200))
@example(-2, 63)
@example(2, 63)
@example(-1, INT_MAX)
@example(0, 0)
def test_power_is_exact_or_overflows(base: int, exponent: int) -> None:
    if abs(base) <= 1:
        exact = 1 if exponent == 0 or base == 1 or (base == -1 and exponent % 2 == 0) else base
    else:
        exact = base**exponent
    if INT_MIN <= exact <= INT_MAX:
        assert int_pow(base, exponent) == power(base, exponent) == exact
    else:
        assert code_of(lambda: int_pow(base, exponent)) == "P002"


def test_a_huge_power_is_refused_at_once() -> None:
    assert code_of(lambda: int_pow(3, INT_MAX)) == "P002"
    assert code_of(lambda: int_pow(2, -1)) == "P013"
    assert int_pow(0, INT_MAX) == 0


@given(INTS)
def test_negation(a: int) -> None:
    if a == INT_MIN:
        assert code_of(lambda: negate(a)) == "P002"
    else:
        assert negate(a) == -a


@given(FLOATS, FLOATS)
def test_float_operations_never_panic(a: float, b: float) -> None:
    for operation in (add, sub, mul, div, rem, power):
        assert type(operation(a, b)) is float
    if b != 0 and not math.isinf(a) and a == a and b == b:
        assert same(float_rem(a, b), math.fmod(a, b))
        assert same(float_div(a, b), a / b)


@pytest.mark.parametrize(
    ("a", "b", "result"),
    [
        (1.0, 0.0, math.inf), (-1.0, 0.0, -math.inf), (1.0, -0.0, -math.inf), (0.0, 0.0, math.nan),
        (math.nan, 0.0, math.nan), (math.inf, 0.0, math.inf),
    ],
)  # fmt: skip
def test_float_division_by_zero(a: float, b: float, result: float) -> None:
    assert same(float_div(a, b), result)


@pytest.mark.parametrize(
    ("base", "exponent", "result"),
    [
        (-8.0, 1 / 3, math.nan), (0.0, -1.0, math.inf), (-0.0, -1.0, -math.inf), (-0.0, -2.0, math.inf),
        (1e200, 2.0, math.inf), (-1e200, 3.0, -math.inf), (-1e200, 2.0, math.inf), (2.0, 0.5, 2**0.5),
        (math.nan, 0.0, 1.0), (1.0, math.nan, 1.0), (-1.0, math.inf, 1.0), (0.0, -math.inf, math.inf),
        (-0.0, -math.inf, math.inf), (-2.0, math.inf, math.inf),
    ],
)  # fmt: skip
def test_float_power_is_that_of_c(base: float, exponent: float, result: float) -> None:
    assert same(float_pow(base, exponent), result)


def test_remainder_of_float_domain_errors() -> None:
    assert math.isnan(float_rem(math.inf, 2.0)) and math.isnan(float_rem(1.0, 0.0))
    assert float_rem(-7.5, 2.0) == -1.5


def test_mixed_numbers_make_floats() -> None:
    assert add(1, 2.5) == 3.5 and type(add(1, 2.0)) is float
    assert mul(2**53 + 1, 1.0) == float(2**53)
    assert div(1, 2.0) == 0.5 and power(2, 0.5) == 2**0.5


def test_plus_with_a_string_displays_the_other() -> None:
    assert add("a", "b") == "ab"
    assert add("n=", 4.0) == "n=4" and add(NONE, "!") == "None!"


@pytest.mark.parametrize("operation", [add, sub, mul, div, rem, power])
@pytest.mark.parametrize(("a", "b"), [(True, 1), (1, None), (Array([]), Array([])), (1.0, False)])
def test_other_operands_are_mismatches(operation: Any, a: Any, b: Any) -> None:
    assert code_of(lambda: operation(a, b)) == "P007"


@given(INTS | FLOATS, INTS | FLOATS)
def test_numbers_compare_by_mathematical_value(a: Any, b: Any) -> None:
    assert (less(a, b), less_equal(a, b), greater(a, b), greater_equal(a, b)) == (a < b, a <= b, a > b, a >= b)


def test_comparison_by_kind() -> None:
    assert not less(2**53 + 1, float(2**53)) and greater(2**53 + 1, float(2**53))
    assert less("Z", "a") and less("\uffff", "\U00010000")
    for a, b in ((1, "1"), (True, False), (None, 1), (Array([1]), Array([2]))):
        assert code_of(lambda a=a, b=b: less(a, b)) == "P007"
