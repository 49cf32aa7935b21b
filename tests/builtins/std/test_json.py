"""`std::json`: reading and writing (L-7.1, G-9.2)."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import pytest
from concerto.vm.builtins import json as reading
from concerto.vm.builtins.json import find_fault
from concerto.vm.values import INT_MAX, Array, Err, Map, Ok, debug, equal, limits, to_json
from hypothesis import given
from hypothesis import strategies as st

Library = Callable[..., Any]
DATA = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)
# Text near JSON: most of it is none.
SIGNS = st.lists(
    st.sampled_from(["[", "]", "{", "}", ",", ":", '"', '"a"', "1", "-", "0", ".5", "e3", "true", "null", " ", "\n",
    "\\", "\\u00"]),
    max_size=12,
).map("".join)


def read(library: Library, text: str) -> Any:
    found = library("json::parse", text)
    assert type(found) is Ok, found
    return found.value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("null", "nil"), (" true ", "true"), ("-0", "0"), ("-0.0", "-0.0"), ("1.0", "1.0"), ("1e2", "100.0"),
        ('"a\\u00e9"', '"aé"'),
        (str(INT_MAX), str(INT_MAX)), (str(INT_MAX + 1), "9223372036854776000.0"), ("[]", "[]"), ("{}", "{}"),
        ('{"b": 1, "a": 2, "b": 3}', '{"b": 3, "a": 2}'), ('"\\ud83d\\ude00"', '"😀"'), ('["\\ud800"]', '["\ufffd"]'),
        ('{"\\udc00": 1}', '{"\ufffd": 1}'), ("[1,\r\n\t2]", "[1, 2]"),
    ],
)  # fmt: skip
def test_values(library: Library, text: str, value: str) -> None:
    assert debug(read(library, text)) == value
    assert library("json::is_valid", text) is True


@pytest.mark.parametrize(
    ("text", "message", "line", "column"),
    [
        ("", "the text ends where a value is expected", 1, 1), ("[1,\n 2 3]", "expected `,` or `]`", 2, 4),
        ("[1,]", "expected a value", 1, 4), ('{"a" 1}', "expected `:`", 1, 6),
        ("{a: 1}", "expected a key in double quotes", 1, 2),
        ('{"a": 1,}', "expected a key in double quotes", 1, 9), ('"abc', "unterminated string", 1, 1),
        ('"a\nb"', "control character in a string", 1, 3), ('"\\x"', "unknown escape", 1, 2),
        ('"\\u12g4"', "expected four hexadecimal digits after `\\u`", 1, 2), ("01", "text after the value", 1, 2),
        ("1.", "expected a digit", 1, 3), ("-", "expected a digit", 1, 2), ("1e+", "expected a digit", 1, 4),
        ("NaN", "expected a value", 1, 1), ("[Infinity]", "expected a value", 1, 2),
        ("-Infinity", "expected a digit", 1, 2),
        ("[1e999]", "number beyond the range of Float", 1, 2), ("1" * 5000, "number beyond the range of Float", 1, 1),
        ("1" * 400, "number beyond the range of Float", 1, 1), ("nul", "expected a value", 1, 1),
        ("[1] x", "text after the value", 1, 5), ("\ufeff1", "expected a value", 1, 1),
        ("[\n\n", "the text ends where a value is expected", 3, 1),
        ("[" * 257, "nested deeper than 256", 1, 257), ("[" * 100_000, "nested deeper than 256", 1, 257),
    ],
)  # fmt: skip
def test_faults_say_where(library: Library, text: str, message: str, line: int, column: int) -> None:
    found = library("json::parse", text)
    assert type(found) is Err and found.value.family == "JsonError"
    assert found.value.message == f"{message} at line {line}, column {column}"
    assert (found.value.get("line"), found.value.get("column")) == (line, column)
    assert library("json::is_valid", text) is False


def test_depth_and_size(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    assert type(library("json::parse", "[" * 256 + "]" * 256)) is Ok
    assert type(library("json::parse", "[" * 257 + "]" * 257)) is Err
    monkeypatch.setattr(limits, "items", 3)
    assert type(library("json::parse", "[1,2,3]")) is Ok
    assert library("json::parse", "[1,2,3,4]").value.message == "more than 3 items at line 1, column 7"


@given(DATA)
def test_what_another_writer_writes_is_read(data: Any) -> None:
    from concerto.vm.builtins.json import read as read_text

    def same(value: Any, plain: Any) -> bool:
        if isinstance(plain, list):
            return type(value) is Array and all(map(same, value.items, plain)) and len(value.items) == len(plain)
        if isinstance(plain, dict):
            same_keys = type(value) is Map and list(value.items) == list(plain)
            return same_keys and all(map(same, value.items.values(), plain.values()))
        if isinstance(plain, int) and not isinstance(plain, bool) and not -(2**63) <= plain < 2**63:
            return type(value) is float and value == float(plain)
        return type(value) is type(plain) and value == plain

    for indent in (None, 2):
        assert same(read_text(json.dumps(data, indent=indent)), data)


@given(DATA, st.integers(0, 4))
def test_what_is_written_is_read_back(data: Any, indent: int) -> None:
    from concerto.vm.builtins.json import read as read_text
    from concerto.vm.builtins.json import stringify_pretty

    value = read_text(json.dumps(data))
    assert equal(read_text(to_json(value)), value)
    pretty = stringify_pretty(value, indent)
    assert equal(read_text(pretty), value)
    assert to_json(read_text(pretty)) == to_json(value)


@given(SIGNS)
def test_the_fault_finder_agrees_with_the_reader(text: str) -> None:
    """The one that reads fast and the one that explains accept the same texts."""

    def refuse(_: str) -> Any:
        raise ValueError

    def finite(digits: str) -> float:
        return float(digits) if math.isfinite(float(digits)) else refuse(digits)

    try:
        json.loads(text, parse_constant=refuse, parse_float=finite)
        accepted = True
    except ValueError:
        accepted = False
    assert (find_fault(text) is None) == accepted


def test_pretty(library: Library, panics: Callable[..., str], monkeypatch: pytest.MonkeyPatch) -> None:
    value = read(library, '{"a":[1,[],{},{"b":"x\\"\\\\"}],"c":null,"d":":,[]{}"}')
    expected = '{\n  "a": [\n    1,\n    [],\n    {},\n'
    expected += '    {\n      "b": "x\\"\\\\"\n    }\n  ],\n  "c": null,\n  "d": ":,[]{}"\n}'
    assert library("json::stringify_pretty", value) == expected
    assert library("json::stringify_pretty", Array([1]), -5) == "[\n1\n]"
    assert library("json::stringify_pretty", "a") == '"a"'
    assert panics(library, "json::stringify_pretty", Array([Array([1])]), 2**60).startswith("P103")
    monkeypatch.setattr(limits, "string", 40)
    assert panics(library, "json::stringify_pretty", Array([1, 2, 3]), 15).startswith("P103")


def test_arguments_of_other_kinds_are_mismatches(library: Library, panics: Callable[..., str]) -> None:
    for path in ("json::parse", "json::is_valid"):
        assert panics(library, path, 1) == "P007 expected String, found Int"
    assert panics(library, "json::stringify_pretty", 1, "2") == "P007 expected Int, found String"


def test_a_number_of_a_million_digits_is_read_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[int] = []
    monkeypatch.setattr(reading, "look", lambda: looks.append(1))
    text = "7" * (3 * reading.BLOCK + 5)
    found = find_fault(f"[{text}]")
    assert found is not None and (found.reason, found.at) == ("number beyond the range of Float", 1)
    assert 4 <= len(looks) < 100
    for number in ("0", "-12.50e+3", "7" * 300, "1" * reading.BLOCK + "x"):
        fault = find_fault(number)
        assert (fault is None) == (number[-1] != "x"), number
