"""Methods of Int and Float (L-6.2)."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
from concerto.vm.builtins.numbers import float_ceil, float_floor, float_round
from concerto.vm.values import INT_MAX, INT_MIN, Array
from hypothesis import example, given
from hypothesis import strategies as st

Call = Callable[..., Any]


@pytest.mark.parametrize(
    ("receiver", "name", "arguments", "result"),
    [
        (-3, "abs", (), 3), (-3.5, "abs", (), 3.5), (-0.0, "abs", (), 0.0), (9, "sqrt", (), 3.0),
        (2.25, "sqrt", (), 1.5),
        (2, "pow", (10,), 1024), (2, "pow", (0.5,), 2**0.5), (2.0, "pow", (3,), 8.0), (3, "min", (2,), 2),
        (3, "max", (2,), 3),
        (3, "min", (2.5,), 2.5), (3, "max", (2.5,), 3.0), (1.5, "min", (2,), 1.5), (1.5, "max", (2,), 2.0),
        (7, "floor", (), 7), (7, "ceil", (), 7), (7, "round", (), 7), (7, "to_int", (), 7), (7, "to_float", (), 7.0),
        (-2.9, "to_int", (), -2), (2.5, "to_float", (), 2.5), (2.5, "to_string", (), "2.5"),
        (Array([1]), "to_string", (), "[1]"),
        (None, "to_string", (), "nil"),
    ],
)  # fmt: skip
def test_methods(call: Call, receiver: Any, name: str, arguments: Any, result: Any) -> None:
    found = call(receiver, name, *arguments)
    assert found == result and type(found) is type(result)


@pytest.mark.parametrize(
    ("value", "floor", "ceil", "nearest"),
    [
        (2.5, 2, 3, 3), (-2.5, -3, -2, -3), (0.49999999999999994, 0, 1, 0), (-0.5, -1, 0, -1), (3.0, 3, 3, 3),
        (math.nan, 0, 0, 0), (math.inf, INT_MAX, INT_MAX, INT_MAX), (-math.inf, INT_MIN, INT_MIN, INT_MIN),
        (1e300, INT_MAX, INT_MAX, INT_MAX), (-1e300, INT_MIN, INT_MIN, INT_MIN), (2.0**63, INT_MAX, INT_MAX, INT_MAX),
        (-(2.0**63), INT_MIN, INT_MIN, INT_MIN),
        (4503599627370497.0, 4503599627370497, 4503599627370497, 4503599627370497),
    ],
)  # fmt: skip
def test_rounding(call: Call, value: float, floor: int, ceil: int, nearest: int) -> None:
    assert [call(value, name) for name in ("floor", "ceil", "round")] == [floor, ceil, nearest]


@given(st.floats(-(2.0**62), 2.0**62))
@example(4503599627370495.5)
@example(-4503599627370495.5)
def test_rounding_is_exact(value: float) -> None:
    exact = Fraction(value)
    assert float_floor(value) == math.floor(exact) and float_ceil(value) == math.ceil(exact)
    away = math.floor(abs(exact) + Fraction(1, 2))
    assert float_round(value) == (away if value >= 0 else -away)


def test_domain_and_overflow(call: Call, panics: Callable[..., str]) -> None:
    assert math.isnan(call(-1, "sqrt")) and math.isnan(call(-1.0, "sqrt"))
    assert math.isnan(call(1.0, "min", math.nan)) and math.isnan(call(1, "max", math.nan))
    assert panics(call, INT_MIN, "abs").startswith("P002 integer overflow")
    assert panics(call, 2, "pow", 64).startswith("P002") and panics(call, 2, "pow", -1).startswith("P013")
    for name in ("min", "max", "pow"):
        for argument in ("1", True, None):
            assert panics(call, 1, name, argument).startswith("P007") and panics(call, 1.0, name, argument).startswith("P007")
