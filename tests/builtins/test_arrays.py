"""Methods of Array with Python bodies (L-6.4)."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from typing import Any

import pytest
from concerto.vm.builtins.arrays import sort
from concerto.vm.values import INT_MAX, INT_MIN, NONE, Array, Map, debug, equal, share
from hypothesis import given
from hypothesis import strategies as st

Call = Callable[..., Any]

CASES = [
    ([1, 2], "len", (), "2"), ([], "is_empty", (), "true"), ([1], "get", (0,), "Some(1)"), ([1], "get", (1,), "None"),
    ([1], "get", (-1,), "None"), ([1, 2], "first", (), "Some(1)"), ([1, 2], "last", (), "Some(2)"),
    ([], "first", (), "None"),
    ([], "last", (), "None"), ([1, "a", 2.0], "contains", (2,), "true"), ([True], "contains", (1,), "false"),
    (["a"], "contains", ("a",), "true"), ([math.nan], "contains", (math.nan,), "false"),
    ([5, 6, 6], "index_of", (6,), "Some(1)"),
    ([5], "index_of", ("5",), "None"), (["a", "b"], "enumerate", (), '[(0, "a"), (1, "b")]'),
    ([1, 2, 3], "zip", (Array(["a", "b"]),), '[(1, "a"), (2, "b")]'), ([1, 2, 3], "slice", (1, 9), "[2, 3]"),
    ([1, 2, 3], "slice", (-3, 1), "[1]"), ([1], "concat", (Array([2]),), "[1, 2]"),
    ([1, 2.0, None], "join", (", ",), '"1, 2, nil"'),
    (["a", "b"], "join", (), '"ab"'), ([], "join", ("-",), '""'), ([1, 2, 3], "sum", (), "6"),
    ([1, 2.5], "sum", (), "3.5"),
    ([], "sum", (), "0"),
]  # fmt: skip


@pytest.mark.parametrize(("items", "name", "arguments", "result"), CASES)
def test_reading(call: Call, items: list[Any], name: str, arguments: Any, result: str) -> None:
    receiver = Array(list(items))
    before = debug(receiver)
    assert debug(call(receiver, name, *arguments)) == result
    assert debug(receiver) == before


CHANGES = [
    ([1], "push", (2,), "nil", "[1, 2]"), ([1, 2], "pop", (), "Some(2)", "[1]"), ([], "pop", (), "None", "[]"),
    ([1, 3], "insert", (1, 2), "nil", "[1, 2, 3]"), ([1], "insert", (1, 2), "nil", "[1, 2]"),
    ([1, 2, 3], "remove", (0,), "1", "[2, 3]"), ([1], "clear", (), "nil", "[]"),
    ([1, 2, 3], "reverse", (), "nil", "[3, 2, 1]"),
    ([3, 1.5, 2], "sort", (), "nil", "[1.5, 2, 3]"), (["b", "a", "B"], "sort", (), "nil", '["B", "a", "b"]'),
    ([math.nan, 2, math.nan, 1.0], "sort", (), "nil", "[1.0, 2, NaN, NaN]"), ([], "sort", (), "nil", "[]"),
]  # fmt: skip


@pytest.mark.parametrize(("items", "name", "arguments", "result", "after"), CHANGES)
def test_changing_in_place(call: Call, items: list[Any], name: str, arguments: Any, result: str, after: str) -> None:
    receiver = Array(items)
    assert debug(call(receiver, name, *arguments)) == result
    assert debug(receiver) == after


@pytest.mark.parametrize("case", CHANGES)
def test_a_copy_never_sees_the_change(call: Call, case: Any) -> None:
    items, name, arguments, _, _ = case
    receiver = share(Array(list(items)))
    before = debug(receiver)
    call(receiver, name, *arguments)
    assert debug(receiver) == before


@given(st.lists(st.integers(0, 3) | st.sampled_from([0.0, 1.0, 2.5])))
def test_sort_is_stable(items: list[Any]) -> None:
    array = Array(list(items))
    sort(array)
    assert [(type(x), x) for x in array.items] == [(type(x), x) for x in sorted(items)]


@pytest.mark.parametrize("items", [[1, "a"], [None], [True, False], ["a", None]])
def test_sort_refuses_other_elements_and_changes_nothing(call: Call, panics: Callable[..., str], items: Any) -> None:
    receiver = Array(list(items))
    assert panics(call, receiver, "sort").startswith("P007 expected")
    assert receiver.items == items


def test_positions_are_checked(call: Call, panics: Callable[..., str]) -> None:
    two = Array([1, 2])
    for name, arguments in (("insert", (3, 0)), ("insert", (-1, 0)), ("remove", (2,)), ("remove", (-1,))):
        assert panics(call, two, name, *arguments) == f"P004 index out of range: index {arguments[0]}, length 2"
    for name, arguments in (("get", (True,)), ("remove", ("0",)), ("insert", (1.0, 0)), ("zip", ((1,),)),
    ("concat", ("ab",)),
                            ("join", (1,)), ("slice", (0, None))):  # fmt: skip
        assert panics(call, two, name, *arguments).startswith("P007 expected")


def test_sum_overflows_and_refuses(call: Call, panics: Callable[..., str]) -> None:
    assert panics(call, Array([INT_MAX, 1, -1]), "sum").startswith("P002")
    assert panics(call, Array([1, "a"]), "sum").startswith("P007")
    assert panics(call, Array([True]), "sum").startswith("P007")
    assert call(Array([INT_MAX, 1.0]), "sum") == float(INT_MAX)


@pytest.mark.parametrize("size", [0, 7, 8, 9, 1023, 1024, 1025, 3000])
def test_sums_of_many_are_added_from_left_to_right(call: Call, panics: Callable[..., str], size: int) -> None:
    chance = random.Random(size)
    floats = [chance.uniform(-1e6, 1e6) for _ in range(size)]
    for items in ([*range(size)], floats, [*range(size), *floats], [*floats, *range(size)]):
        total: Any = 0
        for item in items:
            total += item
        found = call(Array(items), "sum")
        assert found == total and type(found) is type(total)
    zeros = [0] * size
    assert call(Array([*zeros, INT_MAX, -1, *zeros]), "sum") == INT_MAX - 1
    for beyond in ([*zeros, INT_MAX, 1, -1, *zeros], [INT_MIN, *zeros, -1, 1, 1.5], [*zeros, 1, INT_MAX, -5]):
        assert panics(call, Array(beyond), "sum").startswith("P002")
    assert panics(call, Array([*zeros, True, *zeros]), "sum").startswith("P007")


@pytest.mark.parametrize(
    ("name", "arguments"),
    [("first", ()), ("last", ()), ("get", (0,)), ("slice", (0, 1)), ("concat", (Array([]),)), ("enumerate", ())],
)
def test_elements_taken_out_are_marked(call: Call, name: str, arguments: Any) -> None:
    inner = Array([1])
    call(Array([inner]), name, *arguments)
    assert inner.shared


def test_zip_marks_both_sides(call: Call) -> None:
    left, right = Array([]), Map({})
    call(Array([left]), "zip", Array([right]))
    assert left.shared and right.shared


def test_absent_elements_are_the_one_none(call: Call) -> None:
    assert call(Array([]), "pop") is NONE and equal(call(Array([None]), "first").value, None)
