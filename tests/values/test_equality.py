"""Equality and order (L-5.3)."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import pytest
from concerto.vm.panics import Panic
from concerto.vm.values import (
    NONE,
    Array,
    Closure,
    EnumType,
    EnumValue,
    Err,
    ErrorValue,
    Map,
    MemoryRef,
    ModelRef,
    Ok,
    RangeValue,
    Some,
    StructType,
    Variant,
    equal,
    from_json,
    make_struct_class,
    set_key,
)
from concerto.vm.values.errors import FOR_MODEL
from hypothesis import given
from hypothesis import strategies as st

Point = make_struct_class(StructType("P", ("x", "y")))
Other = make_struct_class(StructType("Q", ("x", "y")))
Shape = EnumType("E", ["A", Variant("B", 1)])
F = Closure(SimpleNamespace(name="f"))
G = Closure(SimpleNamespace(name=""))

EQUAL = [
    (1, 1.0), ("a", "a"), (0.0, -0.0), (Array([1, Array([2])]), Array([1.0, Array([2])])), ((1, "a"), (1, "a")),
    (Map.of(["a", 1, "b", 2]), Map.of(["b", 2, "a", 1])), (Point(1, 2), Point(1.0, 2)), (NONE, NONE), (None, None),
    (EnumValue(Shape, 0), EnumValue(Shape, 0)), (EnumValue(Shape, 1, (1,)), EnumValue(Shape, 1, (1,))),
    (Some(Array([1])), Some(Array([1]))), (Ok(1), Ok(1)), (Err("e"), Err("e")), (RangeValue(1, 2), RangeValue(1, 2)),
    (ErrorValue("ToolError", None, "m", {"tool": "t"}), ErrorValue("ToolError", None, "m", {"tool": "t"})),
    (ErrorValue("ToolError", None, "m", {"tool": "t", FOR_MODEL: "x"}), ErrorValue("ToolError", None, "m", {"tool": "t"})),
    (ErrorValue("ToolError", None, "m", {FOR_MODEL: "x"}), ErrorValue("ToolError", None, "m", {FOR_MODEL: "y"})),
    (ModelRef("M"), ModelRef("M")), (F, F), (F, Closure(F.function)), (G, G), (True, True),
]  # fmt: skip
UNEQUAL = [
    (1, True), (0, False), (1, "1"), (None, NONE), (None, False), (math.nan, math.nan), (Array([1]), Array([1, 2])),
    (Array([math.nan]), Array([math.nan])), (Array([1]), Array([True])), (Array([1]), (1,)), ((1,), (1, 2)),
    (Map.of([1, 1]), Map.of(["1", 1])), (Map.of([1, 1]), Map.of([True, 1])), (Point(1, 2), Other(1, 2)),
    (Point(1, 2), Point(1, 3)), (EnumValue(Shape, 0), EnumValue(Shape, 1, (1,))), (Some(1), Ok(1)), (Some(None), NONE),
    (Ok(1), Err(1)), (RangeValue(1, 2), RangeValue(1, 2, True)), (2**53 + 1, float(2**53)),
    (ErrorValue("ToolError", None, "m", {"tool": "t"}), ErrorValue("ToolError", None, "m", {"tool": "u", FOR_MODEL: "x"})),
    (ErrorValue("ToolError", None, "m"), ErrorValue("ToolError", "Timeout", "m")), (ModelRef("M"), MemoryRef("M")),
    (F, Closure(SimpleNamespace(name="f"))), (G, Closure(G.function)), (Array([]), Map({})),
]  # fmt: skip


@pytest.mark.parametrize(("a", "b"), EQUAL)
def test_equal(a: Any, b: Any) -> None:
    assert equal(a, b) and equal(b, a)


@pytest.mark.parametrize(("a", "b"), UNEQUAL)
def test_unequal(a: Any, b: Any) -> None:
    assert not equal(a, b) and not equal(b, a)


DATA = st.recursive(
    st.none() | st.booleans() | st.integers(0, 3) | st.floats(0, 3) | st.text(max_size=2),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=1), inner, max_size=3),
    max_leaves=8,
)


def strict(a: Any, b: Any) -> bool:
    """A naive reading of L-5.3: Python's equality, with Bool and number apart."""
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(strict, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(strict(a[key], b[key]) for key in a)
    return bool(a == b)


@given(DATA, DATA)
def test_equality_of_data(a: Any, b: Any) -> None:
    assert equal(from_json(a), from_json(b)) == strict(a, b)
    assert equal(from_json(a), from_json(a))


def test_nesting_limit() -> None:
    a: Any = Array([])
    b: Any = Array([])
    for _ in range(255):
        a, b = Array([a]), Array([b])
    assert equal(a, b)
    with pytest.raises(Panic) as caught:
        equal(Array([a]), Array([b]))
    assert caught.value.code == "P103"


SCALARS = st.sampled_from([0, 1, 2, 1.0, 2.0, 0.0, -0.0, 1e300, 2**62, True, False, None, "", "1", "a", b"", b"a"])
PARTS = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3).map(tuple), max_leaves=6)


@given(PARTS, PARTS)
def test_two_values_are_one_element_of_a_set_if_they_are_equal(a: object, b: object) -> None:
    """Of tuples too, which are keys as they are, whatever Python takes for equal within them."""
    assert (set_key(a) == set_key(b)) is equal(a, b)
    if equal(a, b):
        assert hash(set_key(a)) == hash(set_key(b))


def test_a_tuple_of_scalars_is_its_own_key_and_one_with_a_bool_or_a_nan_is_not() -> None:
    nan = float("nan")
    for value in [(1, "a"), ((0, 0), 2.5), (None, b"x"), ()]:
        assert set_key(value) is value
    for other in [(True, 1), (1, (nan,)), (Array([]), 1), ((((1,),),),)]:
        assert set_key(other) is not other
