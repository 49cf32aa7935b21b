"""Sizes are refused before the work (G-6.1, G-6.3)."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest
from concerto.vm.builtins import lookup
from concerto.vm.builtins.url import build, join_function
from concerto.vm.panics import Panic
from concerto.vm.values import Array, Map, RangeValue, add, concat, join, limits, store_index
from concerto.vm.values.limits import repeat

from tests.least import least


@pytest.fixture
def small() -> Iterator[None]:
    """Small limits for the length of a test."""
    before = limits.string, limits.items
    limits.string, limits.items = 12, 4
    yield
    limits.string, limits.items = before


def refused(action: Any, *arguments: Any) -> None:
    def seconds() -> float:
        started = time.perf_counter()
        with pytest.raises(Panic) as caught:
            action(*arguments)
        assert caught.value.code == "P103"
        return time.perf_counter() - started

    assert least(seconds, 0.5) < 0.5


def call(kind: str, name: str, *arguments: Any) -> Any:
    row = lookup(kind, name)
    assert row is not None
    return row.body(*arguments)


@pytest.mark.usefixtures("small")
def test_strings_at_the_limit_and_above() -> None:
    assert concat("a" * 6, "b" * 6) == "aaaaaabbbbbb"
    assert repeat("ab", 6) == "ab" * 6 and repeat("é", 6) == "é" * 6
    assert join(",", ["a" * 5, "b" * 6]) == "aaaaa,bbbbbb"
    refused(add, "a" * 6, "b" * 7)
    refused(concat, "é" * 3, "é" * 4)
    refused(repeat, "ab", 7)
    refused(repeat, "é", 7)
    refused(join, ",", ["a" * 6, "b" * 6])
    refused(call, "String", "replace", "aaaa", "a", "bbbb")
    refused(call, "String", "to_upper", "ŉ" * 5)
    refused(call, "Array", "join", Array(["a" * 6, "b" * 6]), "-")
    refused(call, "Array", "join", Array([Array(["a" * 9])] * 1000), "")
    assert call("String", "replace", "aaaa", "a", "bbb") == "b" * 12
    assert join_function("a://h/b/c", "dd") == "a://h/b/dd" and build("a", "é" * 4, "", Map({}), None, "") == "a://éééé"
    refused(join_function, "a://h/b/c", "ddddd")
    refused(build, "a", "é" * 5, "", Map({}), None, "")


@pytest.mark.usefixtures("small")
def test_as_many_lines_as_an_array_has_items() -> None:
    """The nothing behind a last line end is no line."""
    assert call("String", "lines", "a\r\nb\n\nd\r\n").items == ["a", "b", "", "d"]
    assert call("String", "lines", "a\n\nb\nc\r").items == ["a", "", "b", "c\r"]
    refused(call, "String", "lines", "a\nb\n\nd\n\n")
    refused(call, "String", "lines", "a\nb\nc\nd\ne")


@pytest.mark.usefixtures("small")
def test_collections_at_the_limit_and_above() -> None:
    full = Array([1, 2, 3, 4])
    call("Array", "push", Array([1, 2, 3]), 4)
    refused(call, "Array", "push", full, 5)
    refused(call, "Array", "insert", full, 0, 5)
    refused(call, "Array", "concat", full, Array([1]))
    table = Map({1: 1, 2: 2, 3: 3, 4: 4})
    store_index(table, 1, 5)
    refused(store_index, table, 5, 5)
    refused(call, "Map", "set", table, 5, 5)
    refused(call, "Map", "merge", table, Map({5: 5}))
    assert call("Range", "to_array", RangeValue(0, 4)).items == [0, 1, 2, 3]
    refused(call, "Range", "to_array", RangeValue(0, 5))
    refused(call, "Range", "step_by", RangeValue(0, 9), 2)
    for name, arguments in (("chars", ()), ("split", ("",)), ("split", ("-",)), ("lines", ())):
        refused(call, "String", name, "-\n-\n-\n-\n-", *arguments)
    assert len(full.items) == 4 and len(table.items) == 4


def test_a_huge_request_is_refused_at_once() -> None:
    refused(repeat, "ab", 2**62)
    refused(call, "Range", "rev", RangeValue(None, None))
    assert repeat("ab", -(2**63)) == ""
