"""`json::parse_as<T>`: values of types from JSON (L-7.1.2)."""

from __future__ import annotations

from typing import Any

import pytest
from concerto.vm.builtins.json import fill, parse_as
from concerto.vm.values import EnumType, Err, Map, Ok, StructType, Variant, debug, make_struct_class, to_json

INT, FLOAT, STRING, BOOL, ANY, NIL = ("int",), ("float",), ("string",), ("bool",), ("any",), ("nil",)
Point = make_struct_class(StructType("Point", ("x", "y"), types=(FLOAT, FLOAT)))
Node = make_struct_class(
    StructType("Node", ("name", "next", "tags"), types=(STRING, ("option", ("struct", "Node")), ("array", STRING)))
)
Shape = EnumType(
    "Shape",
    [
        "Empty", Variant("One", 1, types=(INT,)), Variant("Two", 2, types=(INT, STRING)),
        Variant("Box", fields=("w",), types=(INT,)),
    ],  # fmt: skip
)


class Types:
    """The declared types of these tests."""

    def struct_class(self, key: str) -> Any:
        return {"Point": Point, "Node": Node}[key]

    def enum_type(self, key: str) -> EnumType:
        return {"Shape": Shape}[key]


def build(text: str, descriptor: Any) -> Any:
    """`Node.tags` has a default, which nobody calls here."""
    found, holes = parse_as(text, Map({"Node.2": "default"}), descriptor, Types())
    return found, holes.items


@pytest.mark.parametrize(
    ("text", "descriptor", "value"),
    [
        ("1", INT, "1"), ("1", FLOAT, "1.0"), ("1.5", FLOAT, "1.5"), ('"a"', STRING, '"a"'), ("true", BOOL, "true"),
        ("null", NIL, "nil"),
        ('{"a": [1]}', ANY, '{"a": [1]}'), ("[1, 2]", ("array", FLOAT), "[1.0, 2.0]"),
        ("[1, 1]", ("set", INT), "Set {1}"),
        ("[1, 2]", ("queue", INT), "Queue [1, 2]"), ("[1]", ("stack", INT), "Stack [1]"),
        ('[1, "a"]', ("tuple", (INT, STRING)), '(1, "a")'),
        ("[]", ("tuple", ()), "()"), ('{"a": 1}', ("map", STRING, FLOAT), '{"a": 1.0}'),
        ('{"1": 2}', ("map", INT, INT), "{1: 2}"),
        ('{"true": 2}', ("map", BOOL, INT), "{true: 2}"), ('{"x": 1}', ("map", ("union", ("x",)), INT), '{"x": 1}'),
        ("null", ("option", INT), "None"), ("1", ("option", INT), "Some(1)"), ("null", ("nilable", INT), "nil"),
        ("1", ("nilable", FLOAT), "1.0"),
        ('"a"', ("union", ("a", "b")), '"a"'), ('{"ok": 1}', ("result", INT, STRING), "Ok(1)"),
        ('{"err": "x"}', ("result", INT, STRING), 'Err("x")'),
        ('{"start": 1, "end": null, "inclusive": false}', ("range",), "1.."),
        ('{"y": 2, "x": 1, "z": 3}', ("struct", "Point"), "Point {x: 1.0, y: 2.0}"),
        ('{"variant": "Empty", "data": null}', ("enum", "Shape"), "Shape::Empty"),
        ('{"variant": "Empty"}', ("enum", "Shape"), "Shape::Empty"),
        ('{"variant": "One", "data": 1}', ("enum", "Shape"), "Shape::One(1)"),
        ('{"variant": "Two", "data": [1, "a"]}', ("enum", "Shape"), 'Shape::Two(1, "a")'),
        ('{"variant": "Box", "data": {"w": 1}}', ("enum", "Shape"), "Shape::Box {w: 1}"),
        ('{"id": "1", "name": "n", "arguments": {"a": null}}', ("struct",
        "ToolCall"), 'ToolCall {id: "1", name: "n", arguments: {"a": nil}}'),
        ('{"name": "a", "tags": ["t"], "next": {"name": "b", "tags": []}}', ("struct", "Node"),
         'Node {name: "a", next: Some(Node {name: "b", next: None, tags: []}), tags: ["t"]}'),
    ],
)  # fmt: skip
def test_values(text: str, descriptor: Any, value: str) -> None:
    found, holes = build(text, descriptor)
    assert type(found) is Ok and debug(found.value) == value and holes == []
    if descriptor[0] not in ("set", "struct", "float", "array", "map", "nilable"):
        again, _ = build(to_json(found.value), descriptor)
        assert debug(again) == debug(found), "what is written is read back"


@pytest.mark.parametrize(
    ("text", "descriptor", "message"),
    [
        ("1.0", INT, "expected Int, found Float at $"), ('"a"', INT, 'expected Int, found "a" at $'),
        ("null", STRING, "expected String, found null at $"),
        ("1", BOOL, "expected Bool, found Int at $"), ('[1, "a"]', ("array", INT), 'expected Int, found "a" at $[1]'),
        ("[1]", ("tuple", (INT, INT)), "expected (Int, Int), found Array at $"),
        ('{"a": {"b": 1}}', ("map", STRING, ("array", INT)), "expected Array<Int>, found Map at $.a"),
        ('{"x": 1}', ("map", INT, INT), 'expected Int, found "x" at $'),
        ('{"x": 1}', ("struct", "Point"), "missing field `y` of Point at $"),
        ('{"x": 1, "y": "2"}', ("struct", "Point"), 'expected Float, found "2" at $.y'),
        ("[]", ("struct", "Point"), "expected Point, found Array at $"),
        ('{"variant": "Nope"}', ("enum", "Shape"), 'expected Shape with "variant" one of "Empty", "One", "Two", "Box" at $'),
        ('{"variant": "Two", "data": [1]}', ("enum", "Shape"), "expected (Int, String), found Array at $.data"),
        ('{"variant": "Empty", "data": 1}', ("enum", "Shape"), "expected Nil, found Int at $"),
        ('"c"', ("union", ("a", "b")), 'expected "a" | "b", found "c" at $'),
        ("{}", ("result", INT, INT), 'expected Result<Int, Int> as {"ok": …} or {"err": …} at $'),
        ("1", ("fn", (), INT), "expected fn() -> Int, found Int at $"),
        ('{"name": "a", "next": {"name": 1}}', ("struct", "Node"), "expected String, found Int at $.next.name"),
    ],
)  # fmt: skip
def test_misfits(text: str, descriptor: Any, message: str) -> None:
    found, holes = build(text, descriptor)
    assert type(found) is Err and (found.value.family, found.value.message) == ("JsonError", message) and holes == []


def test_missing_fields_with_defaults_are_holes_in_order() -> None:
    found, holes = build('{"name": "a", "next": {"name": "b"}}', ("struct", "Node"))
    inner = found.value.f1.value
    assert holes == [(inner, 2, "default"), (found.value, 2, "default")]
    fill(holes[0], "filled")
    assert inner.get("tags") == "filled"


def test_text_that_is_no_json() -> None:
    found, _ = build("[1", ("array", INT))
    assert found.value.message == "expected `,` or `]` at line 1, column 3" and found.value.get("line") == 1


def test_depth() -> None:
    text = '{"name": "a", "next": ' * 255 + "null" + "}" * 255
    found, holes = build(text, ("struct", "Node"))
    assert type(found) is Ok and len(holes) == 255
    assert type(build("[" * 300, ANY)[0]) is Err
