"""Values in Python, both ways (O-9.38)."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import concerto
import pytest
from concerto import Enum, Err, ErrorValue, Handle, Ok, Struct
from hypothesis import given
from hypothesis import strategies as st

PROGRAM = concerto.compile("""
struct Point { x: Int, y: Float }
struct Line { from: Point, to: Option<Point> }
enum E { A, B(Int), C(Int, String), D { n: Int } }
hashmap prices: HashMap<String, Int> = HashMap::new();
ledger facts: Ledger = Ledger::new();
pipeline Steps { stage only(n: Int) -> Int { n } }
agent Helper { connector: helper }
tool Clock { description: "tells the time", @describe("the hour") pub fn hour(self) -> Int { 1 } }
pub fn same(x: Any) -> Any { x }
pub fn kind(x: Any) -> String { typeof(x) }
pub fn int(x: Int) -> Int { x }
pub fn float(x: Float) -> Float { x }
pub fn text(x: String) -> String { x }
pub fn flag(x: Bool) -> Bool { x }
pub fn word(x: "a" | "b") -> String { x }
pub fn point(x: Point) -> Point { x }
pub fn line(x: Line) -> Line { x }
pub fn variant(x: E) -> E { x }
pub fn option(x: Option<Int>) -> Option<Int> { x }
pub fn nilable(x: Int?) -> Int? { x }
pub fn floats(x: Array<Float>) -> Array<Float> { x }
pub fn pair(x: (Int, String)) -> (Int, String) { x }
pub fn table(x: Map<Int, Bool>) -> Map<Int, Bool> { x }
pub fn results(x: Array<Result<Int, String>>) -> Array<Result<Int, String>> { x }
pub fn fault(x: Error) -> Error { x }
pub fn store(x: HashMap<String, Int>) -> HashMap<String, Int> { x.set("seen", 1); x }
pub fn prompt(x: Prompt) -> String { x.text }
pub fn some(n: Int) -> Array<Option<Int>> { [Some(n), None] }
pub fn closure() -> Any { |x: Int| x }
pub fn range() -> Range { 1..=3 }
pub fn entry() -> LedgerEntry { facts.insert("a", ["k"], "v"); facts.entries()[0] }
""")


@pytest.fixture(scope="module")
def session() -> Any:
    with PROGRAM.session() as made:
        yield made


texts = st.text(st.characters(exclude_categories=["Cs"], max_codepoint=0xDFFFF))
plain = st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | texts
values = st.recursive(
    plain,
    lambda inner: st.lists(inner, max_size=4)
    | st.tuples(inner, inner)
    | st.dictionaries(texts | st.integers(-9, 9), inner, max_size=4)
    | st.builds(Ok, inner)
    | st.builds(Err, inner),
    max_leaves=12,
)


@given(values)
def test_what_goes_in_behind_any_comes_out(value: Any) -> None:
    with PROGRAM.session() as session:
        found = session.call("same", [value])
    assert found == [value] and repr(found) == repr([value])


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (1, "Int"), (1.0, "Float"), ("x", "String"), (b"x", "Bytes"),
        (bytearray(b"x"), "Bytes"), (True, "Bool"), (None, "Nil"), ([], "Array"), ((1,), "Tuple"),
        ({}, "Map"), (Struct("Point", x=1, y=2), "Point"), (Enum("E", "A"), "E"), (Ok(1), "Result"),
        (ErrorValue("JsonError", None, "m"), "JsonError"), (Handle("HashMap", "prices"), "HashMap"),
        (Handle("Ledger", "facts"), "Ledger"), (Handle("PipelineRef", "Steps"), "PipelineRef"),
        (Handle("AgentRef", "Helper"), "AgentRef"), (Handle("ToolRef", "Clock"), "ToolRef"),
    ],
)  # fmt: skip
def test_kinds(session: Any, value: Any, kind: str) -> None:
    assert session.call("kind", value) == kind


@pytest.mark.parametrize(
    ("function", "value", "found"),
    [
        ("int", 3, 3),
        ("float", 3, 3.0),
        ("word", "b", "b"),
        ("point", {"x": 1, "y": 2}, Struct("Point", x=1, y=2.0)),
        ("point", Struct("Point", x=1, y=2.5), Struct("Point", x=1, y=2.5)),
        ("line", {"from": {"x": 1, "y": 2}}, Struct("Line", {"from": Struct("Point", x=1, y=2.0), "to": None})),
        ("variant", Enum("E", "A"), Enum("E", "A")),
        ("variant", Enum("E", "B", 1), Enum("E", "B", 1)),
        ("variant", Enum("E", "C", (1, "x")), Enum("E", "C", (1, "x"))),
        ("variant", Enum("E", "D", {"n": 2}), Enum("E", "D", {"n": 2})),
        ("variant", "A", Enum("E", "A")),
        ("variant", {"variant": "A"}, Enum("E", "A")),
        ("variant", {"variant": "A", "data": None}, Enum("E", "A")),
        ("variant", {"variant": "C", "data": [1, "x"]}, Enum("E", "C", (1, "x"))),
        ("variant", {"variant": "D", "data": {"n": 2}}, Enum("E", "D", {"n": 2})),
        ("option", 3, 3),
        ("option", None, None),
        ("nilable", None, None),
        ("floats", [1, 2.5], [1.0, 2.5]),
        ("pair", (1, "x"), (1, "x")),
        ("table", {1: True}, {1: True}),
        ("results", [Ok(1), Err("no")], [Ok(1), Err("no")]),
        ("fault", ErrorValue("HttpError", "Timeout", "m", {"url": "u"}), ErrorValue("HttpError", "Timeout", "m", {"url": "u"})),
        ("store", Handle("HashMap", "prices"), Handle("HashMap", "prices")),
        ("prompt", "hi", "hi"),
        ("some", 3, [3, None]),
    ],
)
def test_typed_parameters(session: Any, function: str, value: Any, found: Any) -> None:
    given = session.call(function, value)
    assert given == found
    if not isinstance(found, Enum | Struct):  # the classes of a program's own types have a form of their own
        assert repr(given) == repr(found)


def test_values_without_parameters(session: Any) -> None:
    assert session.call("closure").kind == "Function"
    assert session.call("range") == {"start": 1, "end": 3, "inclusive": True}
    assert session.call("entry") == Struct("LedgerEntry", identifier="a", keys=["k"], value="v")


@pytest.mark.parametrize(
    ("function", "value", "part"),
    [
        ("int", 1.0, "expected Int, got float"),
        ("int", True, "expected Int, got bool"),
        ("int", 2**63, "64 bits"),
        ("text", 1, "argument 'x' of text: expected String, got int"),
        ("flag", 1, "expected Bool"),
        ("word", "c", '"a" | "b"'),
        ("point", {"x": 1}, "lacks the field 'y'"),
        ("point", {"x": 1, "y": 2, "z": 3}, "no field 'z'"),
        ("point", Struct("Line"), "expected Point"),
        ("line", {"from": {"x": "1", "y": 2}}, "argument 'x' of line, at from.x: expected Int, got str"),
        ("variant", Enum("E", "Z"), "no variant 'Z'"),
        ("variant", Enum("E", "B", "x"), "E::B"),
        ("variant", Enum("E", "A", 1), "E::A"),
        ("variant", Enum("E", "D", {}), "dict of n"),
        ("floats", [1, "x"], "argument 'x' of floats, at [1]: expected Float, got str"),
        ("same", [{"a": [1, {2}]}], "argument 'x' of same, at [0]['a'][1]: set has no counterpart"),
        ("variant", Enum("E", "C", (1, 2)), "argument 'x' of variant: the data of E::C, at [1]: expected String"),
        ("pair", (1,), "expected (Int, String)"),
        ("table", {"a": True}, "a key: expected Int"),
        ("same", {1.5: 1}, "cannot be a key"),
        ("same", object(), "object has no counterpart"),
        ("same", {1, 2}, "set has no counterpart"),
        ("same", 1j, "complex has no counterpart"),
        ("text", b"x", "expected String, got bytes"),
        ("same", Struct("Nope"), "no type Nope"),
        ("same", Handle("HashMap", "nope"), "a Handle of kind HashMap"),
        ("fault", ValueError("x"), "expected Error"),
    ],
)
def test_what_has_no_mapping_is_a_type_error_that_names_the_place(session: Any, function: str, value: Any, part: str) -> None:
    with pytest.raises(TypeError) as caught:
        session.call(function, value)
    assert part in str(caught.value)


def test_lone_surrogates_are_replaced(session: Any) -> None:
    assert session.call("text", "a\ud800b") == "a\ufffdb"


def test_structs_are_mappings_that_do_not_change() -> None:
    point = Struct("Point", x=1, y=2.0)
    assert (point.x, point["y"], dict(point), len(point), point.type_name) == (1, 2.0, {"x": 1, "y": 2.0}, 2, "Point")
    assert repr(point) == "Point(x=1, y=2.0)" and point != Struct("Other", x=1, y=2.0)
    with pytest.raises(AttributeError):
        point.x = 3
    with pytest.raises(AttributeError, match="no field 'z'"):
        _ = point.z
    assert pickle.loads(pickle.dumps(point)) == copy.deepcopy(point) == point
