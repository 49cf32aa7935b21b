"""Indexes, slices, members, and the writes that go through places (L-5.5.5, L-5.6, L-3.7)."""

from __future__ import annotations

from typing import Any

import pytest
from concerto.vm.panics import Panic
from concerto.vm.values import (
    INT_MAX,
    Array,
    ErrorValue,
    Map,
    RangeValue,
    StructType,
    debug,
    get_member,
    index,
    key_of,
    length,
    make_struct_class,
    slice_of,
    store_index,
    store_member,
    unkey,
)
from hypothesis import given
from hypothesis import strategies as st

Point = make_struct_class(StructType("P", ("x", "y")))
XS = Array([10, 20, 30])


def panic_of(action: Any, *arguments: Any) -> Panic:
    with pytest.raises(Panic) as caught:
        action(*arguments)
    return caught.value


@pytest.mark.parametrize(
    ("value", "position", "found"),
    [
        (XS, 2, 30), ("aé𝄞", 2, "𝄞"), ((1, "x"), 1, "x"), (RangeValue(5, 9), 3, 8), (RangeValue(None, 3), 0, 0),
        (Map.of(["k", 1, 1, 2, True, 3]), 1, 2), (Map.of(["k", 1, 1, 2, True, 3]), True, 3),
        (RangeValue(1, None), 4, 5),
    ],
)  # fmt: skip
def test_index(value: Any, position: Any, found: Any) -> None:
    assert index(value, position) == found


@pytest.mark.parametrize(("value", "size"), [(XS, 3), ("ab", 2), ((1,), 1), (RangeValue(2, 5), 3)])
def test_index_out_of_range_names_index_and_length(value: Any, size: int) -> None:
    for position in (-1, size, INT_MAX):
        found = panic_of(index, value, position)
        assert found.code == "P004" and "index out of range" in found.message
        assert str(position) in found.message and str(size) in found.message


def test_missing_key_names_the_key() -> None:
    found = panic_of(index, Map({}), "k")
    assert found.code == "P005" and 'key not found: "k"' in found.message


@pytest.mark.parametrize(("value", "position"), [(XS, "0"), (XS, True), (XS, 1.0), ("s", None), (5, 0), (Map({}), 1.5)])
def test_wrong_kinds_of_index(value: Any, position: Any) -> None:
    assert panic_of(index, value, position).code == "P007"


BOUND = st.none() | st.integers(-5, 12)


@given(st.lists(st.integers(), max_size=8), BOUND, BOUND, st.booleans())
def test_slices_clamp(items: list[int], start: Any, end: Any, inclusive: bool) -> None:
    low = max(start or 0, 0)
    high = len(items) if end is None else max(end + inclusive, 0)
    bounds = RangeValue(start, end, inclusive)
    assert slice_of(Array(items), bounds).items == items[low:high]
    text = "".join(chr(97 + i) for i in range(len(items)))
    assert index(text, bounds) == text[low:high]


def test_a_slice_marks_the_elements_it_copies() -> None:
    inner = Array([1])
    slice_of(Array([inner]), RangeValue(0, 1))
    assert inner.shared


def test_keys_of_three_kinds_stay_distinct() -> None:
    table = Map.of([1, "int", "1", "string", True, "bool", False, "no", 0, "zero"])
    assert [index(table, key) for key in (1, "1", True, False, 0)] == ["int", "string", "bool", "no", "zero"]
    assert table.key_list() == [1, "1", True, False, 0] and type(table.key_list()[2]) is bool
    assert list(table.entries())[2] == (True, "bool")
    assert unkey(key_of(False)) is False
    for key in (1.5, None, Array([]), (1,)):
        assert panic_of(key_of, key).code == "P007"


def test_later_equal_keys_win_and_keep_the_first_position() -> None:
    assert debug(Map.of(["a", 1, "b", 2, "a", 3])) == '{"a": 3, "b": 2}'


def test_members() -> None:
    error = ErrorValue("ToolError", "Timeout", "late", {"tool": "T"})
    assert get_member(Map({"a": 1}), "a") == 1 and get_member(Map({}), "a") is None
    assert get_member(Point(1, 2), "y") == 2 and get_member(Point(1, 2), "z") is None
    names = ("kind", "variant", "message", "tool", "method")
    assert [get_member(error, name) for name in names] == ["ToolError", "Timeout", "late", "T", None]
    found = panic_of(get_member, 5, "x")
    assert found.code == "P014" and "Int" in found.message and "x" in found.message


def test_store_index() -> None:
    xs = Array([1, 2])
    assert store_index(xs, 1, 5) is xs and xs.items == [1, 5]
    table = Map({"a": 1})
    store_index(table, "a", 2)
    store_index(table, True, 3)
    assert debug(table) == '{"a": 2, true: 3}'
    assert store_index((1, 2, 3), 1, "x") == (1, "x", 3)
    assert panic_of(store_index, xs, 2, 0).code == panic_of(store_index, (1,), -1, 0).code == "P004"
    assert panic_of(store_index, "text", 0, "x").code == panic_of(store_index, xs, "0", 0).code == "P007"


def test_store_member() -> None:
    point = Point(1, 2)
    assert store_member(point, "y", 5) is point and point.get("y") == 5
    assert debug(store_member(Map({}), "a", 1)) == '{"a": 1}'
    for value, name in ((point, "z"), (5, "x"), (ErrorValue("ToolError", None, "m"), "message")):
        assert panic_of(store_member, value, name, 0).code == "P014"


def test_fields_by_position() -> None:
    assert Point.of([1, 2]).values() == (1, 2) and Point(1, 2).f1 == 2
    with pytest.raises(TypeError):
        Point.of([1])
    with pytest.raises(AttributeError):
        Point(1, 2).f2 = 3


def test_length() -> None:
    assert [length(v) for v in (XS, "aé", (), Map({1: 1}), RangeValue(3, 1), RangeValue(0, 4, True))] == [3, 2, 0, 1, 0, 5]
    assert panic_of(length, 5).code == "P007"
    assert panic_of(length, RangeValue(None, None)).code == "P002"
