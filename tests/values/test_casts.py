"""Shallow checks, deep casts and run-time tests (L-3.3.3, L-3.5, L-5.12.3)."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import pytest
from concerto.vm.panics import Panic
from concerto.vm.values import (
    INT_MAX,
    INT_MIN,
    NONE,
    Array,
    Closure,
    EnumType,
    EnumValue,
    Err,
    ErrorValue,
    Map,
    ModelRef,
    Ok,
    Prompt,
    RangeValue,
    Some,
    StructType,
    cast,
    check,
    debug,
    make_struct_class,
    matches,
    truth,
    type_text,
)

INT, FLOAT, STRING, BOOL, NIL, ANY = ("int",), ("float",), ("string",), ("bool",), ("nil",), ("any",)
Point = make_struct_class(StructType("Point", ("x", "tags"), key="main::Point", types=(FLOAT, ("array", STRING))))
Fault = make_struct_class(StructType("Fault", ("message",), is_error=True))
Color = EnumType("Color", ["Red", "Blue"])
SAMPLES: dict[Any, Any] = {
    INT: 1, FLOAT: 1.5, STRING: "s", BOOL: True, NIL: None, ("range",): RangeValue(0, 1), ("array", INT): Array([1]),
    ("map", STRING, INT): Map({"a": 1}), ("tuple", (INT, INT)): (1, 2), ("option", INT): Some(1),
    ("result", INT, STRING): Ok(1), ("fn", (), NIL): Closure(SimpleNamespace(name="")), ("struct", "main::Point"):
    Point(1.0, Array([])), ("enum", "Color"): EnumValue(Color, 0), ("error", "ToolError"):
    ErrorValue("ToolError", None, "m"), ("handle", "ModelRef"): ModelRef("M"),
    ("prompt",): Prompt("t", None, None, None, Array([])),
}  # fmt: skip


@pytest.mark.parametrize("descriptor", SAMPLES, ids=[type_text(d) for d in SAMPLES])
def test_a_type_matches_its_own_kind_only(descriptor: Any) -> None:
    for other, value in SAMPLES.items():
        assert matches(value, descriptor) == (other == descriptor)
    assert matches(SAMPLES[descriptor], ANY) and not matches(SAMPLES[descriptor], ("never",))


def panic_of(action: Any, *arguments: Any) -> Panic:
    with pytest.raises(Panic) as caught:
        action(*arguments)
    return caught.value


def test_check_is_shallow_and_makes_ints_floats() -> None:
    wrong_inside = Array(["x"])
    assert check(wrong_inside, ("array", INT)) is wrong_inside
    assert type(check(1, FLOAT)) is float and type(check(1, ("nilable", FLOAT))) is float
    assert check(None, ("nilable", INT)) is None and check("b", ("union", ("a", "b"))) == "b"
    found = panic_of(check, "s", INT)
    assert found.code == "P007" and "expected Int, found String" in found.message
    for value, descriptor in ((True, INT), (True, FLOAT), ("c", ("union", ("a", "b"))), ((1,), ("tuple", (INT, INT)))):
        assert panic_of(check, value, descriptor).code == "P007"


@pytest.mark.parametrize(
    ("value", "result"),
    [
        (3, 3), (2.9, 2), (-2.9, -2), (1e300, INT_MAX), (-math.inf, INT_MIN), (math.nan, 0), (" +12 ", 12), ("-0", 0),
        (str(INT_MIN), INT_MIN), (True, 1), (False, 0), ("0" * 50 + "7", 7), (float(2**63), INT_MAX),
    ],
)  # fmt: skip
def test_cast_to_int(value: Any, result: int) -> None:
    assert cast(value, INT) == result and type(cast(value, INT)) is int


@pytest.mark.parametrize("value", ["", "x", "1.5", "1_0", str(INT_MAX + 1), "٣", "--1", None, Array([]), "9" * 100])
def test_cast_to_int_refuses(value: Any) -> None:
    found = panic_of(cast, value, INT)
    assert found.code == "P008" and "cannot cast" in found.message and "Int" in found.message


@pytest.mark.parametrize(
    ("value", "result"),
    [(1, 1.0), (1.5, 1.5), ("2", 2.0), ("-2.5e3", -2500.0), (" inf", math.inf), ("-inf", -math.inf), ("1E2", 100.0)],
)
def test_cast_to_float(value: Any, result: float) -> None:
    assert cast(value, FLOAT) == result and type(cast(value, FLOAT)) is float


@pytest.mark.parametrize("value", ["", "e5", "1e", "1.5.5", "0x1p3", "1_0", "infinity", "nan(1)", True, None])
def test_cast_to_float_refuses(value: Any) -> None:
    assert panic_of(cast, value, FLOAT).code == "P008"


def test_cast_to_string_is_display() -> None:
    assert cast(Array([1.0]), STRING) == "[1]" and cast(None, STRING) == "nil"


FALSE = [False, None, 0, 0.0, -0.0, "", Array([]), Map({}), (), NONE, Err(1)]
TRUE = [True, 1, -1, 0.5, math.nan, "0", Array([0]), Map({"a": 0}), (0,), Some(False), Ok(False), RangeValue(0, 0)]


@pytest.mark.parametrize("value", FALSE)
def test_false_values(value: Any) -> None:
    assert truth(value) is False and cast(value, BOOL) is False


@pytest.mark.parametrize("value", TRUE)
def test_true_values(value: Any) -> None:
    assert truth(value) is True and cast(value, BOOL) is True


DEEP = [
    (Array([1, 2.5]), ("array", FLOAT), "[1.0, 2.5]"),
    (Map({"a": Array([1])}), ("map", STRING, ("array", FLOAT)), '{"a": [1.0]}'),
    ((1, None), ("tuple", (FLOAT, ("nilable", INT))), "(1.0, nil)"),
    (Some(1), ("option", FLOAT), "Some(1.0)"),
    (NONE, ("option", FLOAT), "None"),
    (Ok(1), ("result", FLOAT, STRING), "Ok(1.0)"),
    (Err(2), ("result", STRING, FLOAT), "Err(2.0)"),
    (Point(1, Array(["a"])), ("struct", "main::Point"), 'Point {x: 1.0, tags: ["a"]}'),
    (Map.of([True, 1]), ("map", ANY, INT), "{true: 1}"),
]


@pytest.mark.parametrize(("value", "descriptor", "shown"), DEEP)
def test_deep_cast_converts_inside_a_copy(value: Any, descriptor: Any, shown: str) -> None:
    before = debug(value)
    assert debug(cast(value, descriptor)) == shown
    assert debug(value) == before


def test_deep_cast_keeps_what_needs_no_change() -> None:
    value = Array([Map({"a": Array(["x"])})])
    assert cast(value, ("array", ("map", STRING, ("array", STRING)))) is value


@pytest.mark.parametrize(
    ("value", "descriptor"),
    [
        (Array([1, "x"]), ("array", INT)), (Map({1: 1}), ("map", STRING, INT)), ((1,), ("tuple", (INT, INT))),
        (Some("x"), ("option", INT)), (Err(1), ("result", INT, STRING)), (Point(1.0, Array([1])),
        ("struct", "main::Point")),
        (Map({}), ("struct", "main::Point")), ("c", ("union", ("a", "b"))), (1, ("nilable", STRING)),
        (Array([Array([Array([None])])]), ("array", ("array", ("array", INT)))),
    ],
)  # fmt: skip
def test_deep_cast_refuses(value: Any, descriptor: Any) -> None:
    found = panic_of(cast, value, descriptor)
    assert found.code == "P008" and type_text(descriptor) in found.message


def test_error_types_cover_their_descendants() -> None:
    schema, tool = ErrorValue("SchemaError", "ParseError", "m"), ErrorValue("ToolError", "Timeout", "m")
    assert matches(schema, ("error", "AgentError")) and matches(schema, ("error", "Error"))
    assert not matches(tool, ("error", "AgentError"))
    assert matches(tool, ("error", "ToolError", "Timeout")) and not matches(tool, ("error", "ToolError", "NotFound"))
    assert matches(Fault("x"), ("error", "Error")) and not matches(Fault("x"), ("error", "ToolError"))
    assert not matches(Point(1.0, Array([])), ("error", "Error")) and not matches("text", ("error", "Error"))


@pytest.mark.parametrize(
    ("descriptor", "text"),
    [
        (("map", STRING, ("array", ("nilable", INT))), "Map<String, Array<Int?>>"), (("tuple", (INT,)), "(Int,)"),
        (("fn", (INT, STRING), BOOL), "fn(Int, String) -> Bool"), (("fn", (), NIL), "fn()"),
        (("union", ("a", "b")), '"a" | "b"'), (("error", "ToolError", "Timeout"), "ToolError::Timeout"),
        (("result", INT, ("error", "Error")), "Result<Int, Error>"), (("tuple", ()), "()"),
        (("nilable", ("fn", (INT,), INT)), "(fn(Int) -> Int)?"), (("nilable", ("union", ("a", "b"))), '("a" | "b")?'),
        (("fn", (), ("union", ("a", "b"))), 'fn() -> ("a" | "b")'),
    ],
)  # fmt: skip
def test_types_are_written_as_in_source(descriptor: Any, text: str) -> None:
    assert type_text(descriptor) == text


def test_deep_values_hit_the_nesting_limit_not_pythons() -> None:
    node = StructType("Node", ("next",), types=(("nilable", ("struct", "Node")),))
    cls = make_struct_class(node)
    value: Any = None
    for _ in range(400):
        value = cls(value)
    assert panic_of(cast, value, ("struct", "Node")).code == "P103"
