"""Global functions and the members of records (L-6.1, L-6.9, O-8.6 to O-8.10)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from concerto.vm.builtins import ASSOCIATED, FUNCTIONS
from concerto.vm.values import NONE, Array, Err, Map, Prompt, RangeValue, debug, display, to_json

Call = Callable[..., Any]


def test_len_and_typeof(call_function: Call, panics: Callable[..., str]) -> None:
    assert [call_function("len", v) for v in ("aé", Array([1]), Map({}), (1, 2), RangeValue(0, 3))] == [2, 1, 0, 2, 3]
    assert panics(call_function, "len", 5) == "P007 expected a value with a length, found Int"
    assert [call_function("typeof", v) for v in (1, None, NONE, (1,))] == ["Int", "Nil", "Option", "Tuple"]


def test_panic(call_function: Call, panics: Callable[..., str]) -> None:
    assert panics(call_function, "panic", "stop") == "P001 stop"
    assert panics(call_function, "panic", 5).startswith("P007")


@pytest.mark.parametrize(
    ("name", "arguments", "text"),
    [
        ("assert", (False,), "assertion failed: expected true"), ("assert", (False, "why"), "assertion failed: why"),
        ("assert", (NONE,), "assertion failed: expected true"), ("assert_eq", (1, 2), "assertion failed: 1 != 2"),
        ("assert_eq", ("a", "b"), 'assertion failed: "a" != "b"'),
        ("assert_eq", (1, True), "assertion failed: 1 != true"),
        ("assert_eq", (1, 2, "why"), "assertion failed: why: 1 != 2"),
        ("assert_ne", (1, 1.0), "assertion failed: 1 == 1.0, expected them to differ"),
        ("assert_ne", ("a", "a", "why"), 'assertion failed: why: "a" == "a", expected them to differ'),
    ],
)  # fmt: skip
def test_failing_assertions(call_function: Call, panics: Callable[..., str], name: str, arguments: Any, text: str) -> None:
    assert panics(call_function, name, *arguments) == f"P011 {text}"


def test_passing_assertions(call_function: Call) -> None:
    assert call_function("assert", True) is None and call_function("assert", "x") is None
    assert call_function("assert_eq", Array([1]), Array([1.0])) is None
    assert call_function("assert_ne", 1, "1") is None


def test_constructors(call_function: Call) -> None:
    made = [call_function("Some", 1), call_function("Ok", 1), call_function("Ok"), call_function("Err", "e")]
    assert [debug(v) for v in made] == ["Some(1)", "Ok(1)", "Ok(nil)", 'Err("e")']
    assert type(made[3]) is Err


def test_special_forms_have_rows() -> None:
    special = {"print", "println", "emit", "flush_emits", "race", "None"}
    assert {name for name, row in FUNCTIONS.items() if row.kind == "special"} == special


def test_prompt(call: Call, panics: Callable[..., str]) -> None:
    start = ASSOCIATED["Prompt", "new"].body("hi")
    changed = call(call(call(start, "with_model", "m"), "with_temperature", 1), "with_max_tokens", 5)
    assert display(changed) == "Prompt {text: hi, model: m, temperature: 1, max_tokens: 5}"
    assert start.values()[:4] == ("hi", None, None, None) and type(changed.get("temperature")) is float
    assert isinstance(changed, Prompt)
    for name, wrong in (("with_model", 1), ("with_temperature", "1"), ("with_max_tokens", 1.0)):
        assert panics(call, start, name, wrong).startswith("P007")
    assert panics(ASSOCIATED["Prompt", "new"].body, 5).startswith("P007")


def test_messages() -> None:
    made = [ASSOCIATED["Message", role].body("text") for role in ("system", "user", "assistant")]
    assert [to_json(m) for m in made] == [
        f'{{"role":"{role}","content":"text"}}' for role in ("system", "user", "assistant")
    ]
    tool = ASSOCIATED["Message", "tool"].body("c1", "done")
    assert to_json(tool) == '{"role":"tool","content":"done","tool_call_id":"c1"}'
