"""Methods of Option and Result with Python bodies (L-6.6)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from concerto.vm.values import NONE, Array, Err, ErrorValue, Ok, Some, StructType, debug, make_struct_class

Call = Callable[..., Any]


@pytest.mark.parametrize(
    ("receiver", "name", "arguments", "result"),
    [
        (Some(1), "is_some", (), "true"), (NONE, "is_some", (), "false"), (Some(None), "is_none", (), "false"),
        (NONE, "is_none", (), "true"), (Ok(1), "is_ok", (), "true"), (Err(1), "is_ok", (), "false"),
        (Err(1), "is_err", (), "true"),
        (Some(1), "unwrap", (), "1"), (Ok(1), "unwrap", (), "1"), (Some(1), "expect", ("m",), "1"),
        (Ok(1), "expect", ("m",), "1"),
        (Some(1), "unwrap_or", (2,), "1"), (NONE, "unwrap_or", (2,), "2"), (Err(1), "unwrap_or", (2,), "2"),
        (Ok(1), "unwrap_or", (2,), "1"), (Some(1), "ok_or", ("e",), "Ok(1)"), (NONE, "ok_or", ("e",), 'Err("e")'),
        (Some(1), "or", (Some(2),), "Some(1)"), (NONE, "or", (Some(2),), "Some(2)"), (NONE, "or", (NONE,), "None"),
        (Ok(1), "ok", (), "Some(1)"), (Err(1), "ok", (), "None"), (Ok(1), "err", (), "None"),
        (Err(1), "err", (), "Some(1)"),
        (Err("e"), "unwrap_err", (), '"e"'), (Ok(1), "context", ("m",), "Ok(1)"),
        (Err("e"), "context", ("m",), 'Err("m: e")'),
        (Err(Array([1.0])), "context", ("m",), 'Err(RuntimeError {message: "m: [1]"})'),
    ],
)  # fmt: skip
def test_methods(call: Call, receiver: Any, name: str, arguments: Any, result: str) -> None:
    assert debug(call(receiver, name, *arguments)) == result


def test_panics_name_what_was_there(call: Call, panics: Callable[..., str]) -> None:
    assert panics(call, NONE, "unwrap") == "P006 unwrap of None"
    assert panics(call, Err("why"), "unwrap") == 'P006 unwrap of Err: "why"'
    assert panics(call, NONE, "expect", "no user") == "P006 no user: None"
    assert panics(call, Err("why"), "expect", "no user") == 'P006 no user: "why"'
    assert panics(call, Ok(5), "unwrap_err") == "P006 unwrap_err of Ok: 5"
    assert len(panics(call, Err("x" * 10**6), "unwrap")) < 300


def test_wrong_arguments(call: Call, panics: Callable[..., str]) -> None:
    assert panics(call, NONE, "expect", 5).startswith("P007") and panics(call, Err(1), "expect", 5).startswith("P007")
    assert panics(call, NONE, "or", 5) == "P007 expected Option, found Int"
    assert panics(call, Ok(1), "context", None).startswith("P007")


def test_context_keeps_family_variant_and_fields(call: Call) -> None:
    error = ErrorValue("ToolError", "Timeout", "late", {"tool": "T"})
    found = call(Err(error), "context", "step 2").value
    assert (found.family, found.variant, found.message, found.fields) == ("ToolError", "Timeout", "step 2: late", {"tool": "T"})
    assert error.message == "late"
    fault = make_struct_class(StructType("Fault", ("message",), is_error=True))("x")
    assert debug(call(Err(fault), "context", "m").value) == 'RuntimeError {message: "m: Fault {message: x}"}'


@pytest.mark.parametrize(
    ("wrap", "name", "arguments"),
    [
        (Some, "unwrap", ()), (Ok, "unwrap", ()), (Some, "expect", ("m",)), (Ok, "expect", ("m",)),
        (Some, "unwrap_or", (1,)),
        (Ok, "unwrap_or", (1,)), (Some, "ok_or", (1,)), (Some, "or", (NONE,)), (Ok, "ok", ()), (Err, "err", ()),
        (Err, "unwrap_err", ()),
        (Ok, "context", ("m",)),
    ],
)  # fmt: skip
def test_payloads_taken_out_are_marked(call: Call, wrap: Any, name: str, arguments: Any) -> None:
    inner = Array([1])
    call(wrap(inner), name, *arguments)
    assert inner.shared
