"""Methods of String (L-6.3)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
from concerto.vm.builtins import METHODS
from concerto.vm.builtins.strings import parse_float, parse_int
from concerto.vm.values import INT_MAX, INT_MIN, NONE, Err, Ok, debug
from hypothesis import given
from hypothesis import strategies as st

Call = Callable[..., Any]

CASES = [
    ("aé𝄞", "len", (), "3"), ("", "is_empty", (), "true"), ("a", "is_empty", (), "false"),
    ("hello", "contains", ("ell",), "true"), ("hello", "contains", ("",), "true"),
    ("hello", "contains", ("x",), "false"),
    ("hello", "starts_with", ("he",), "true"), ("hello", "ends_with", ("he",), "false"),
    ("hello", "ends_with", ("lo",), "true"),
    ("\u2003 a b\u00a0\n", "trim", (), '"a b"'), ("\x1ca\x1c", "trim", (), '"\\u{1c}a\\u{1c}"'),
    (" a ", "trim_start", (), '"a "'),
    (" a ", "trim_end", (), '" a"'), ("straße", "to_upper", (), '"STRASSE"'), ("ÀB", "to_lower", (), '"àb"'),
    ("a", "to_uppercase", (), '"A"'), ("A", "to_lowercase", (), '"a"'), ("ab", "repeat", (3,), '"ababab"'),
    ("ab", "repeat", (0,), '""'), ("ab", "repeat", (-5,), '""'), ("a,b,,c", "split", (",",), '["a", "b", "", "c"]'),
    ("", "split", (",",), '[""]'), ("añ", "split", ("",), '["a", "ñ"]'), ("", "split", ("",), "[]"),
    ("aaa", "replace", ("a", "bb"), '"bbbbbb"'), ("abab", "replace", ("ab", ""), '""'),
    ("hello", "substring", (1, 3), '"el"'),
    ("hello", "substring", (-2, 99), '"hello"'), ("hello", "substring", (3, 1), '""'), ("aé", "get", (1,), 'Some("é")'),
    ("aé", "get", (2,), "None"), ("aé", "get", (-1,), "None"), ("aéb", "index_of", ("b",), "Some(2)"),
    ("aéb", "index_of", ("z",), "None"), ("aéb", "index_of", ("",), "Some(0)"), ("aé", "chars", (), '["a", "é"]'),
    ("a\r\nb\n\nc", "lines", (), '["a", "b", "", "c"]'), ("a\n", "lines", (), '["a"]'), ("", "lines", (), "[]"),
    ("a\rb\u2028c", "lines", (), '["a\\rb\u2028c"]'), ("aé𝄞", "reverse", (), '"𝄞éa"'), ("x", "to_string", (), '"x"'),
]  # fmt: skip


@pytest.mark.parametrize(("receiver", "name", "arguments", "result"), CASES)
def test_methods(call: Call, receiver: str, name: str, arguments: Any, result: str) -> None:
    assert debug(call(receiver, name, *arguments)) == result


@given(st.integers(INT_MIN - 5, INT_MAX + 5), st.sampled_from(["", " ", "\n\u2003"]))
def test_parse_int_reads_what_ints_display(number: int, blank: str) -> None:
    found = parse_int(blank + str(number) + blank)
    if INT_MIN <= number <= INT_MAX:
        assert type(found) is Ok and found.value == number
    else:
        assert type(found) is Err


@given(st.floats())
def test_parse_float_reads_what_floats_display(number: float) -> None:
    found = parse_float(repr(number))
    assert type(found) is Ok and (found.value == number or (math.isnan(number) and math.isnan(found.value)))


def test_parse_failures_are_errors_that_carry_their_input() -> None:
    failed = parse_int("12a")
    assert type(failed) is Err
    assert (failed.value.family, failed.value.get("input")) == ("ParseError", "12a")
    assert failed.value.message == 'not an Int: "12a"'
    for text in ("", "+", "1.0", "0x10", "1 2", "\x1c1"):
        assert type(parse_int(text)) is Err
    assert type(parse_float("1.")) is type(parse_float(".5")) is type(parse_float("e")) is Err
    assert len(parse_int("z" * 1000).value.message) < 60


def test_arguments_of_other_kinds_are_mismatches(call: Call, panics: Callable[..., str]) -> None:
    for (receiver, name), row in METHODS.items():
        if receiver == "String" and row.parameters:
            for wrong in (1.5, None, True, ("a",)):
                assert panics(call, "text", name, *[wrong] * len(row.parameters)).startswith("P007 expected"), name
    assert call("abc", "get", 9) is NONE
