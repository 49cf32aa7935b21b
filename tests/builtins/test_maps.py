"""Methods of Map, tuple and Range (L-6.5)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from concerto.vm.values import Array, Map, RangeValue, debug, share

Call = Callable[..., Any]


def sample() -> Map:
    return Map.of(["a", 1, 2, "x", True, None])


@pytest.mark.parametrize(
    ("name", "arguments", "result"),
    [
        ("len", (), "3"), ("is_empty", (), "false"), ("has", (True,), "true"), ("has", (1,), "false"),
        ("get", ("a",), "Some(1)"),
        ("get", (True,), "Some(nil)"), ("get", ("z",), "None"), ("keys", (), '["a", 2, true]'),
        ("values", (), '[1, "x", nil]'),
        ("entries", (), '[("a", 1), (2, "x"), (true, nil)]'),
        ("merge", (Map.of(["b", 5, "a", 9]),), '{"a": 9, 2: "x", true: nil, "b": 5}'),
    ],
)  # fmt: skip
def test_reading(call: Call, name: str, arguments: Any, result: str) -> None:
    receiver = sample()
    assert debug(call(receiver, name, *arguments)) == result
    assert debug(receiver) == debug(sample())


CHANGES = [
    ("set", ("a", 5), "nil", '{"a": 5, 2: "x", true: nil}'),
    ("set", (False, 5), "nil", '{"a": 1, 2: "x", true: nil, false: 5}'),
    ("delete", (2,), "true", '{"a": 1, true: nil}'), ("delete", (1,), "false", '{"a": 1, 2: "x", true: nil}'),
    ("clear", (), "nil", "{}"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "arguments", "result", "after"), CHANGES)
def test_changing_in_place_and_never_through_a_copy(call: Call, name: str, arguments: Any, result: str, after: str) -> None:
    receiver, copied = sample(), share(sample())
    assert debug(call(receiver, name, *arguments)) == debug(call(copied, name, *arguments)) == result
    assert debug(receiver) == after and debug(copied) == debug(sample())


@pytest.mark.parametrize("name", ["has", "get", "delete", "set"])
@pytest.mark.parametrize("key", [1.0, None, ("a",)])
def test_other_keys_are_mismatches(call: Call, panics: Callable[..., str], name: str, key: Any) -> None:
    arguments = (key, 1) if name == "set" else (key,)
    assert panics(call, sample(), name, *arguments).startswith("P007 expected a key")


@pytest.mark.parametrize("name", ["values", "entries", "merge", "get"])
def test_values_taken_out_are_marked(call: Call, name: str) -> None:
    inner = Array([1])
    arguments = {"merge": (Map({}),), "get": ("k",)}.get(name, ())
    call(Map({"k": inner}), name, *arguments)
    assert inner.shared


def test_merge_needs_a_map(call: Call, panics: Callable[..., str]) -> None:
    assert panics(call, sample(), "merge", Array([])) == "P007 expected Map, found Array"


@pytest.mark.parametrize(
    ("receiver", "name", "arguments", "result"),
    [
        ((1, "a"), "len", (), "2"), ((), "len", (), "0"), (RangeValue(2, 5), "len", (), "3"),
        (RangeValue(5, 2), "len", (), "0"),
        (RangeValue(5, 5), "is_empty", (), "true"), (RangeValue(5, 5, True), "is_empty", (), "false"),
        (RangeValue(1, 3), "contains", (3,), "false"), (RangeValue(1, 3, True), "contains", (3,), "true"),
        (RangeValue(1, 4), "to_array", (), "[1, 2, 3]"), (RangeValue(None, 3), "to_array", (), "[0, 1, 2]"),
        (RangeValue(1, 4), "rev", (), "[3, 2, 1]"), (RangeValue(4, 1), "rev", (), "[]"),
        (RangeValue(0, 10), "step_by", (3,), "[0, 3, 6, 9]"),
        (RangeValue(0, 9, True), "step_by", (9,), "[0, 9]"), (RangeValue(3, 1), "step_by", (1,), "[]"),
    ],
)  # fmt: skip
def test_tuple_and_range(call: Call, receiver: Any, name: str, arguments: Any, result: str) -> None:
    assert debug(call(receiver, name, *arguments)) == result


def test_range_arguments(call: Call, panics: Callable[..., str]) -> None:
    for step in (0, -1):
        found = panics(call, RangeValue(0, 5), "step_by", step)
        assert found.startswith("P013") and "step_by" in found and str(step) in found
    assert panics(call, RangeValue(0, 5), "step_by", 1.0).startswith("P007")
    assert panics(call, RangeValue(0, 5), "contains", "1").startswith("P007")
    assert panics(call, RangeValue(None, None), "len").startswith("P002")
