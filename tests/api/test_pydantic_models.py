"""Models of Pydantic for the types of a program, and its classes in Pydantic's hands (P-2.4)."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import concerto
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic import Field as Row

SOURCE = """\
use std::json;
/// A person.
pub schema Person {
    /// What they are called.
    name: String,
    age?: Int,
    from: String = "x",
}
fn counted() -> Int { 6 * 7 }
pub struct Node {
    pub _v: Int, pub next: Node?, pub json: String = "j", pub blob: Bytes, pub m: Map<Int, Float>,
    pub t: Map<Bool, (Int, String)>, pub w: "a" | "b" = "b", pub tags: Array<String> = ["q"],
}
pub enum Shape { Circle(Float), Rect { w: Int, copy: Int }, Two(Int, String), Empty, Of(Person), More(Array<Shape>) }
pub struct Late { pub a: Int = counted(), pub b: Int }
pub fn person(x: Person) -> Person { x }
pub fn node(x: Node) -> Node { x }
pub fn shape(x: Shape) -> Shape { x }
pub fn late(x: Late) -> Late { x }
pub fn written(x: Any) -> String { json::stringify(x) }
"""
PROGRAM = concerto.compile(SOURCE)
TYPES = PROGRAM.types
Person = concerto.pydantic(TYPES.Person)
Node: Any = concerto.pydantic(TYPES.Node)
Shape: Any = concerto.pydantic(TYPES.Shape)
Late: Any = concerto.pydantic(TYPES.Late)


@pytest.fixture(scope="module")
def session() -> Any:
    with PROGRAM.session(offline=True) as session:
        yield session


def test_a_model_is_the_declaration() -> None:
    assert concerto.pydantic(TYPES.Person) is Person and Person.__doc__ == "A person." and issubclass(Person, BaseModel)
    schema = Person.model_json_schema()
    assert schema["required"] == ["name"] and schema["additionalProperties"] is False
    assert schema["properties"]["name"]["description"] == "What they are called."
    assert schema["properties"]["from"]["default"] == "x"
    assert Person(name="a").model_dump() == {"name": "a", "age": None, "from": "x"}
    assert Person(**{"name": "a", "from": "y"}) == Person(name="a", from_="y")
    assert Node(v=1, next=None, blob=b"", m={}, t={}).model_dump()["tags"] == ["q"]


@pytest.mark.parametrize(
    "fields",
    [{}, {"name": 1}, {"name": "a", "age": True}, {"name": "a", "age": "3"}, {"name": "a", "nam": "b"}, {"name": None}],
)
def test_what_does_not_fit_is_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Person(**fields)
    with pytest.raises(ValidationError):
        TypeAdapter(TYPES.Person).validate_python(fields)
    with PROGRAM.session(offline=True) as session, pytest.raises(TypeError):
        session.call("person", fields)


def test_models_are_arguments(session: Any) -> None:
    assert session.call("person", Person(name="a", age=3)) == TYPES.Person(name="a", age=3)
    inner = Node(v=2, next=None, blob=b"\xff\xfe", m={}, t={})
    node = Node(v=1, next=inner, blob=b"a", m={3: 1.5}, t={True: (1, "x")})
    result = session.call("node", node)
    assert result._v == 1 and result.next.blob == b"\xff\xfe" and result.m == {3: 1.5} and result.t == {True: (1, "x")}
    assert session.call("late", Late(b=1)) == TYPES.Late(a=42, b=1) and Late(b=1).model_dump() == {"b": 1}
    assert session.call("late", Late(a=5, b=1)).a == 5


def test_models_of_your_own_are_arguments(session: Any) -> None:
    class Own(BaseModel):
        name: str
        sender: str = Row("s", alias="from")

    class Larger(BaseModel):
        name: str
        size: int

    assert session.call("person", Own(name="q")) == TYPES.Person(name="q", from_="s")
    with pytest.raises(TypeError, match=r"argument 'x' of person: Person has no field 'size'"):
        session.call("person", Larger(name="q", size=1))
    with pytest.raises(TypeError, match=r"argument 'x' of person: expected Person, got ModelMetaclass"):
        session.call("person", Own)


FORMS = [
    '"Empty"', '{"variant":"Circle","data":1.5}', '{"variant":"Rect","data":{"w":1,"copy":2}}',
    '{"variant":"Two","data":[1,"x"]}', '{"variant":"Empty","data":null}', '{"variant":"Of","data":{"name":"z"}}',
    '{"variant":"More","data":["Empty"]}',
]  # fmt: skip


@pytest.mark.parametrize("text", FORMS)
def test_enums(session: Any, text: str) -> None:
    result = session.call("shape", Shape.model_validate_json(text))
    adapter: TypeAdapter[Any] = TypeAdapter(TYPES.Shape)
    assert result == adapter.validate_json(text) == adapter.validate_python(json.loads(text))
    assert result == session.call("shape", json.loads(text))
    assert json.loads(TypeAdapter(TYPES.Shape).dump_json(result)) == json.loads(session.call("written", result))
    Draft202012Validator(Shape.model_json_schema()).validate(json.loads(concerto.to_json(result)))


def test_wrong_enums() -> None:
    wrong = ('"Circle"', '"Other"', '{"variant":"Two","data":[1]}', '{"variant":"Circle"}', "3", '{"variant":"Empty","data":1}')
    for text in wrong:
        with pytest.raises(ValidationError):
            Shape.model_validate_json(text)
        with pytest.raises(ValidationError):
            TypeAdapter(TYPES.Shape).validate_json(text)


nodes = st.recursive(
    st.none(),
    lambda inner: st.builds(
        lambda number, following, blob, m, t, w: TYPES.Node(_v=number, next=following, blob=blob, m=m, t=t, w=w),
        st.integers(-(2**53), 2**53), inner, st.binary(max_size=5),
        st.dictionaries(st.integers(-9, 9), st.floats(allow_nan=False, allow_infinity=False)),
        st.dictionaries(st.booleans(), st.tuples(st.integers(0, 9), st.text("abc\"\\", max_size=4))), st.sampled_from(["a", "b"]),
    ),
    max_leaves=4,
).filter(lambda node: node is not None)  # fmt: skip


@given(nodes)
def test_values_go_through_models_and_come_back(node: Any) -> None:
    text = concerto.to_json(node)
    model = Node.model_validate_json(text)
    assert json.loads(model.model_dump_json()) == json.loads(text)
    adapter: TypeAdapter[Any] = TypeAdapter(TYPES.Node)
    assert adapter.validate_json(text) == adapter.validate_python(json.loads(text)) == node
    assert adapter.validate_python(node) is node and json.loads(adapter.dump_json(node)) == json.loads(text)
    with PROGRAM.session(offline=True) as session:
        assert session.call("node", model) == session.call("node", node) == node


def test_fields_of_models_of_your_own() -> None:
    class Order(BaseModel):
        by: TYPES.Person  # type: ignore[name-defined]
        shape: TYPES.Shape | None = None  # type: ignore[name-defined]

    order = Order.model_validate({"by": {"name": "a"}, "shape": "Empty"})
    assert order.by == TYPES.Person(name="a") and order.shape == TYPES.Shape.Empty()
    assert order.model_dump_json() == '{"by":{"name":"a","age":null,"from":"x"},"shape":{"variant":"Empty","data":null}}'
    assert Order.model_validate_json(order.model_dump_json()) == order
    assert "Person" in str(Order.model_json_schema()) or "called" in str(Order.model_json_schema())
    with pytest.raises(ValidationError, match="fields whose defaults the program computes have to be given"):
        TypeAdapter(TYPES.Late).validate_python({"b": 1})
    assert TypeAdapter(TYPES.Shape.Circle).validate_python({"variant": "Circle", "data": 1.0}) == TYPES.Shape.Circle(1.0)
    with pytest.raises(ValidationError, match=r"expected Shape\.Circle, got Shape\.Empty"):
        TypeAdapter(TYPES.Shape.Circle).validate_python("Empty")


@pytest.mark.parametrize("other", [int, 3, None, concerto.Struct, concerto.Enum, BaseModel])
def test_what_is_no_type_of_a_program(other: Any) -> None:
    with pytest.raises(TypeError, match="is no class of a program's types"):
        concerto.pydantic(other)


def test_without_pydantic() -> None:
    program = """if True:
        import sys
        sys.modules["pydantic"] = None
        import concerto
        types = concerto.compile("pub struct P { pub x: Int } pub fn f(p: P) -> P { p }").types
        with concerto.compile("pub struct P { pub x: Int } pub fn f(p: P) -> P { p }").session() as session:
            print(session.call("f", types.P(x=1)))
        try:
            concerto.pydantic(types.P)
        except ImportError as error:
            print(error)
    """
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stderr == ""
    assert done.stdout.startswith("P(x=1)\nmodels of Pydantic need Pydantic, which is not installed: ")


def test_an_enum_without_variants_has_a_model_that_takes_nothing() -> None:
    program = concerto.compile("pub enum Never { }\npub fn f(value: Never?) { }")
    model = concerto.pydantic(program.types.Never)
    for value in (None, "a", {"variant": "a", "data": None}):
        with pytest.raises(ValidationError):
            model.model_validate(value)
    assert model.model_json_schema()["not"] == {}
