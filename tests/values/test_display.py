"""Display and debug forms of every kind (L-5.1)."""

from __future__ import annotations

import math
import random
import struct
from decimal import Decimal
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
    Message,
    ModelBuilder,
    ModelRef,
    Ok,
    Prompt,
    RangeValue,
    Response,
    SchemaRef,
    Some,
    StructType,
    Variant,
    brief,
    debug,
    display,
    limits,
    make_struct_class,
    quote,
    typeof,
)
from concerto.vm.values.limits import float_literal, float_text

Point = make_struct_class(StructType("P", ("x", "y")))
Empty = make_struct_class(StructType("Nothing", ()))
Shape = EnumType("E", ["A", Variant("B", 2), Variant("C", fields=("x",)), Variant("D", 1)])
RESPONSE = Response.of(("hi", 1, 2, "m", "offline", 3, "stop", None, 1, False, Map({}), 0, 0, 0, None, Array([])))

CASES = [
    (7, "Int", "7", "7"),
    (4.0, "Float", "4", "4.0"),
    (0.1, "Float", "0.1", "0.1"),
    (-0.0, "Float", "-0", "-0.0"),
    (math.nan, "Float", "NaN", "NaN"),
    (math.inf, "Float", "inf", "inf"),
    (-math.inf, "Float", "-inf", "-inf"),
    (1e300, "Float", "1" + "0" * 300, "1" + "0" * 300 + ".0"),
    (1.5e-7, "Float", "0.00000015", "0.00000015"),
    ('a"b\n', "String", 'a"b\n', '"a\\"b\\n"'),
    (True, "Bool", "true", "true"),
    (None, "Nil", "nil", "nil"),
    (Array([1, "a"]), "Array", "[1, a]", '[1, "a"]'),
    (Array([]), "Array", "[]", "[]"),
    ((1, "a"), "Tuple", "(1, a)", '(1, "a")'),
    ((1,), "Tuple", "(1,)", "(1,)"),
    ((), "Tuple", "()", "()"),
    (Map.of(["k", "v", 1, 2.0, True, None]), "Map", '{"k": v, 1: 2, true: nil}', '{"k": "v", 1: 2.0, true: nil}'),
    (Map({}), "Map", "{}", "{}"),
    (Point(1, "s"), "P", "P {x: 1, y: s}", 'P {x: 1, y: "s"}'),
    (Empty(), "Nothing", "Nothing {}", "Nothing {}"),
    (EnumValue(Shape, 0), "E", "E::A", "E::A"),
    (EnumValue(Shape, 1, (1, "q")), "E", "E::B(1, q)", 'E::B(1, "q")'),
    (EnumValue(Shape, 2, (1,)), "E", "E::C {x: 1}", "E::C {x: 1}"),
    (Some("v"), "Option", "Some(v)", 'Some("v")'),
    (NONE, "Option", "None", "None"),
    (Ok(Array([1])), "Result", "Ok([1])", "Ok([1])"),
    (Err("e"), "Result", "Err(e)", 'Err("e")'),
    (RangeValue(1, 5), "Range", "1..5", "1..5"),
    (RangeValue(1, 5, True), "Range", "1..=5", "1..=5"),
    (RangeValue(1, None), "Range", "1..", "1.."),
    (RangeValue(None, 3), "Range", "..3", "..3"),
    (ErrorValue("ToolError", "Timeout", "late"), "ToolError", "late", 'ToolError::Timeout {message: "late"}'),
    (ErrorValue("RuntimeError", None, "x"), "RuntimeError", "x", 'RuntimeError {message: "x"}'),
    (Closure(SimpleNamespace(name="f")), "Function", "<fn f>", "<fn f>"),
    (Closure(SimpleNamespace(name="")), "Function", "<fn>", "<fn>"),
    (RESPONSE, "Response", "hi", "hi"),
    (
        Message.of(("user", "q", Array([]), None, Array([]))), "Message", "Message {role: user, content: q}",
        'Message {role: "user", content: "q"}',
    ),
    (
        Message.of(("tool", "q", Array([]), "c1", Array([]))), "Message", "Message {role: tool, content: q, tool_call_id: c1}",
        'Message {role: "tool", content: "q", tool_call_id: "c1"}',
    ),
    (
        Prompt.of(("t", None, None, 5, Array([]))), "Prompt", "Prompt {text: t, model: nil, temperature: nil, max_tokens: 5}",
        'Prompt {text: "t", model: nil, temperature: nil, max_tokens: 5}',
    ),
    (ModelRef("M"), "ModelRef", "<model M>", "<model M>"),
    (MemoryRef("m"), "MemoryRef", "<memory m>", "<memory m>"),
    (SchemaRef("S"), "SchemaRef", "<schema S>", "<schema S>"),
    (ModelBuilder(ModelRef("M")), "ModelBuilder", "<builder M>", "<builder M>"),
]  # fmt: skip


@pytest.mark.parametrize(("value", "name", "shown", "debugged"), CASES, ids=[case[2][:20] for case in CASES])
def test_forms(value: Any, name: str, shown: str, debugged: str) -> None:
    assert (typeof(value), display(value), debug(value)) == (name, shown, debugged)


def floats(count: int) -> list[float]:
    source = random.Random(7)
    bits = [struct.unpack("<d", source.randbytes(8))[0] for _ in range(count)]
    return [x for x in (*bits, *(source.uniform(-1e6, 1e6) for _ in range(count))) if math.isfinite(x)]


def test_floats_read_back_equal_with_reprs_digits_and_no_exponent() -> None:
    checked = floats(4000)
    assert len(checked) > 7000
    for x in checked:
        text = float_text(x)
        assert float(text) == x and "e" not in text
        assert Decimal(text) == Decimal(repr(x))
        assert float_literal(x) == format(Decimal(repr(x)), "f") + ("" if "." in text else ".0" * ("e" in repr(x)))


def test_integral_floats_have_no_fraction() -> None:
    assert [float_text(x) for x in (1e15, 1e16, 1e22, 123456789012345680.0)] == [
        "1" + "0" * 15, "1" + "0" * 16, "1" + "0" * 22, "123456789012345680",
    ]  # fmt: skip


def test_quote_escapes_what_a_literal_must() -> None:
    assert quote('\\"\n\r\t\0\x01é') == '"\\\\\\"\\n\\r\\t\\0\\u{1}é"'


def nested(depth: int) -> Any:
    value: Any = Array([])
    for _ in range(depth - 1):
        value = Array([value])
    return value


def test_nesting_limit() -> None:
    assert display(nested(256)) == "[" * 256 + "]" * 256
    with pytest.raises(Panic, match="nesting") as caught:
        display(nested(257))
    assert caught.value.code == "P103"


def test_size_limit_stops_a_value_that_repeats_itself() -> None:
    value: Any = Array(["x" * 1000])
    for _ in range(60):
        value = Array([value, value])
    with pytest.raises(Panic) as caught:
        display(value)
    assert caught.value.code == "P103" and str(limits.string) in caught.value.message


def test_brief_is_bounded_and_never_panics() -> None:
    assert brief(nested(300)).startswith("[[[")
    assert len(brief(Array(list(range(100000))))) == 201
    assert brief("x" * 500, 10) == '"' + "x" * 9 + "…"


def test_brief_shows_the_beginning_of_bytes_of_any_length() -> None:
    data = b"x" * (limits.string // 2 + 1)  # their digits are more than a String may hold
    assert brief(data, 10) == "Bytes(7878…"
    assert brief(Array([data]), 10) == "[Bytes(787…"
    assert brief(Map({data: 1}), 10) == "{Bytes(787…"
    with pytest.raises(Panic, match="string size"):
        display(Map({data: 1}))
