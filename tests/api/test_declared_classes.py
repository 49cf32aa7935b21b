"""The classes of a program's types (P-2.4): made, compared, shown, matched, copied, pickled, written as JSON."""

from __future__ import annotations

import copy
import json
import pickle
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import concerto
import pytest
from concerto.api.declared_classes import classes_of
from hypothesis import given
from hypothesis import strategies as st

SOURCE = """\
use std::json;
/// A person.
pub schema Person {
    /// What they are called.
    name: String,
    age?: Int,
    kind: "friend" | "foe" = "friend",
    tags: Array<String> = [],
}
fn counted() -> Int { 6 * 7 }
pub struct Odd {
    pub class: Int = 1, pub items: Array<Int> = [1, 2], pub type_name: String = "t", pub _fields: Bool = true,
    pub __x: Float = -0.5, pub keys: Map<String, Int> = {}, pub computed: Int = counted(), pub none: Int? = nil,
    pub some: Option<Int> = Some(3),
}
pub enum Shape { Circle(Float), Rect { w: Int, data: String }, Two(Int, String), Empty, None, Of(Person) }
pub enum Void { Only }
pub fn person(x: Person) -> Person { x }
pub fn odd(x: Odd) -> Odd { x }
pub fn shape(x: Shape) -> Shape { x }
pub fn void(x: Void) -> Void { x }
pub fn any(x: Any) -> Any { x }
pub fn written(x: Any) -> String { json::stringify(x) }
pub fn results(x: Map<Int, Result<Int, String>>) -> Map<Int, Result<Int, String>> { x }
"""
PROGRAM = concerto.compile(SOURCE)
TYPES = PROGRAM.types
Person, Odd, Shape, Void = TYPES.Person, TYPES.Odd, TYPES.Shape, TYPES.Void


@pytest.fixture(scope="module")
def session() -> Any:
    with PROGRAM.session(offline=True) as session:
        yield session


def test_the_classes_of_a_program() -> None:
    assert list(TYPES) == dir(TYPES) == ["Odd", "Person", "Shape", "Void"] and repr(TYPES) == "<types Odd, Person, Shape, Void>"
    assert PROGRAM.types.Person is Person and concerto.compile(SOURCE).types.Person is not Person
    with pytest.raises(AttributeError, match="no type 'Nothing'; its types are Odd, Person, Shape, Void"):
        _ = TYPES.Nothing
    loaded = concerto.load(PROGRAM.to_bytes()).types
    assert list(loaded) == list(TYPES) and loaded.Person(name="a") == Person(name="a")
    assert Person.__doc__ == "A person." and Person.name.__doc__ == "What they are called."
    assert loaded.Person.__doc__ == "Person of the program main."  # an image has no documentation


def test_making_and_showing() -> None:
    person = Person(name="Ada")
    assert repr(person) == "Person(name='Ada', age=None, kind='friend', tags=[])"
    assert eval(repr(person), {"Person": Person}) == person
    assert (person.name, person["kind"], dict(person)["age"]) == ("Ada", "friend", None)
    assert person == concerto.Struct("Person", name="Ada", age=None, kind="friend", tags=[])
    assert person != Person(name="Bob") and person != "Ada" and isinstance(person, concerto.Struct)
    assert Person(name="a").tags is not Person(name="a").tags
    with pytest.raises(AttributeError, match="do not change"):
        person.name = "Bob"
    with pytest.raises(TypeError, match="unhashable"):
        hash(person)
    with pytest.raises(AttributeError, match="Person has no field 'nope'"):
        _ = person.nope


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Person(), "Person() lacks the field 'name'"),
        (lambda: Person(name="a", nam="b"), "Person() has no field 'nam'; its fields are name, age, kind, tags"),
        (lambda: Person("a"), "positional"),
        (lambda: Shape(), "Shape has no values of its own; make one of Shape.Circle, Shape.Rect, Shape.Two"),
        (lambda: Shape.Circle(), "Shape.Circle takes 1 values by position, given 0"),
        (lambda: Shape.Circle(r=1), "Shape.Circle takes 1 values by position, given 1"),
        (lambda: Shape.Rect(1), "Shape.Rect takes the values w, data_, each once, given 1"),
        (lambda: Shape.Rect(1, w=2, data_=""), "each once, given 3"),
        (lambda: Shape.Rect(1, "", 3), "each once, given 3"),
        (lambda: Shape.Empty(1), "Shape.Empty takes 0 values by position, given 1"),
        (lambda: Shape.Two(1, "a").__replace__(x=1), "the values of Shape.Two have no names"),
    ],
)
def test_what_does_not_fit_is_no_value(make: Any, message: str) -> None:
    with pytest.raises(TypeError) as raised:
        make()
    assert message in str(raised.value)


def test_names_that_python_cannot_say(session: Any) -> None:
    odd = Odd(class_=5, items=[9])
    assert (odd.class_, odd.items, odd.type_name_, odd._fields_, odd.keys_) == (5, [9], "t", True, {})
    assert (odd.x__x, odd["__x"]) == (-0.5, -0.5)
    assert (odd.none, odd.some, odd["class"], getattr(odd, "class"), odd.type_name) == (None, 3, 5, 5, "Odd")
    assert Odd(**{"class": 5, "items": [9]}) == odd == Odd(**dict(odd)) and list(dict(odd))[:2] == ["class", "items"]
    with pytest.raises(AttributeError, match=r"Odd\.computed was left out: the program computes its default"):
        _ = odd.computed
    given_back = session.call("odd", odd)
    assert given_back.computed == 42 and given_back.items == [9] and type(given_back) is Odd
    assert session.call("odd", Odd(computed=1)).computed == 1
    rect = Shape.Rect(1, data_="d")
    assert (rect.w, rect.data_, rect.type, rect.variant, rect.data) == (1, "d", "Shape", "Rect", {"w": 1, "data": "d"})
    assert Shape.None_().variant == "None"


def test_values_of_the_program_are_of_its_classes(session: Any) -> None:
    for value in (Shape.Circle(1.5), Shape.Rect(w=1, data_="x"), Shape.Two(1, "x"), Shape.Empty(), Shape.Of(Person(name="a"))):
        result = session.call("shape", value)
        assert result == value and type(result) is type(value) and repr(result) == repr(value)
        assert session.call("any", value) == value
    assert repr(Shape.Rect(w=1, data_="x")) == "Shape.Rect(w=1, data_='x')" and repr(Shape.Two(1, "x")) == "Shape.Two(1, 'x')"
    assert repr(Void.Only()) == "Void.Only()" and session.call("void", "Only") == Void.Only()
    assert session.call("shape", {"variant": "Circle", "data": 2.0}) == Shape.Circle(2.0) == concerto.Enum("Shape", "Circle", 2.0)
    assert hash(Shape.Circle(2.0)) == hash(Shape.Circle(2.0)) and Shape.Circle(2.0) != Shape.Circle(3.0)
    heard: list[Any] = []
    program = concerto.compile('pub struct P { pub x: Int } pub fn f() { emit("p", P { x: 1 }); }')
    with program.session() as other:
        other.on("p", heard.append)
        other.call("f")
    assert heard == [program.types.P(x=1)] and type(heard[0]) is program.types.P


def test_patterns() -> None:
    def told(value: Any) -> str:
        match value:
            case Person(name, None, "foe"):
                return f"foe {name}"
            case Person(name=name):
                return name
            case Shape.Circle(radius):
                return f"circle {radius}"
            case Shape.Rect(w, data_="x"):
                return f"rect {w}"
            case Shape.Two(a, b):
                return f"{a}{b}"
            case Shape.Empty():
                return "empty"
            case _:
                return "other"

    values = [Person(name="a", kind="foe"), Person(name="b"), Shape.Circle(1.0), Shape.Rect(w=3, data_="x"), Shape.Two(1, "q")]
    assert [told(value) for value in values] == ["foe a", "b", "circle 1.0", "rect 3", "1q"]
    assert told(Shape.Empty()) == "empty" and told(Shape.None_()) == "other"


def test_replacing() -> None:
    replace = getattr(copy, "replace", lambda value, **changes: value.__replace__(**changes))  # of Python 3.13
    person = Person(name="Ada")
    assert replace(person, age=3) == Person(name="Ada", age=3) and person.age is None
    assert replace(Shape.Rect(w=1, data_="x"), w=2) == Shape.Rect(w=2, data_="x")
    assert replace(Odd(class_=1), class_=2).class_ == 2
    with pytest.raises(TypeError, match="no field 'x'"):
        replace(person, x=1)


def test_copies_and_pickles() -> None:
    values = [Person(name="a", tags=["x"]), Odd(), Shape.Rect(w=1, data_="x"), Shape.Two(1, "a"), Shape.Of(Person(name="z"))]
    for value in values:
        for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
            other = pickle.loads(pickle.dumps(value, protocol))
            assert other == value and type(other) is type(value) and repr(other) == repr(value)
        assert copy.copy(value) is value
        deep = copy.deepcopy(value)
        assert deep == value and type(deep) is type(value)
    person = Person(name="a", tags=["x"])
    assert copy.deepcopy(person).tags is not person.tags
    assert pickle.loads(pickle.dumps(concerto.Struct("A", x=1))) == concerto.Struct("A", x=1)
    assert copy.copy(TYPES).Person is Person


def test_a_pickle_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A value of a module finds its class by the module; one of another program is a Struct where that program is not."""
    import concerto.importer  # noqa: F401  # finds the module
    from concerto.api import python_modules

    source = "pub struct P { pub x: Int, pub e: E } pub enum E { A(Int) } pub fn f(p: P) -> Int { p.x }"
    (tmp_path / "pickled_shop.conc").write_text(source)
    monkeypatch.syspath_prepend(str(tmp_path))
    import pickled_shop

    value = pickled_shop.P(x=1, e=pickled_shop.E.A(2))
    (tmp_path / "own").write_bytes(pickle.dumps(value))
    (tmp_path / "other").write_bytes(pickle.dumps([Person(name="a"), Shape.Two(1, "x")]))
    program = f"""if True:
        import pickle, sys
        sys.path.insert(0, {str(tmp_path)!r})
        import concerto.importer
        own = pickle.load(open({str(tmp_path / "own")!r}, "rb"))
        other = pickle.load(open({str(tmp_path / "other")!r}, "rb"))
        print(own, type(own).__module__, type(own) is sys.modules["pickled_shop"].P, other)
    """
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stderr == ""
    person = "Person(name='a', age=None, kind='friend', tags=[])"
    two = "Enum(type='Shape', variant='Two', data=(1, 'x'))"
    assert done.stdout == f"P(x=1, e=E.A(2)) pickled_shop True [{person}, {two}]\n"
    (tmp_path / "pickled_shop.conc").write_text("pub fn f() -> Int { 1 }")
    import importlib

    importlib.reload(pickled_shop)
    with pytest.raises(AttributeError, match="pickled_shop no longer has a type E"):
        pickle.loads((tmp_path / "own").read_bytes())
    python_modules._MODULES.pop("pickled_shop").end()
    del sys.modules["pickled_shop"]


def test_dataclasses_as_arguments(session: Any) -> None:
    @dataclass
    class Friend:
        name: str
        age: int

    @dataclass
    class Keyword:
        class_: int
        items: tuple[int, ...]

    assert session.call("person", Friend("Ada", 3)) == Person(name="Ada", age=3)
    assert session.call("odd", Keyword(7, (1,))).class_ == 7
    assert session.call("shape", concerto.Enum("Shape", "Of", Friend("Ada", 3))) == Shape.Of(Person(name="Ada", age=3))

    @dataclass
    class Wrong:
        name: int

    @dataclass
    class Larger:
        name: str
        size: int

    for value, message in (
        (Wrong(1), r"argument 'x' of person, at name: expected String, got int"),
        (Larger("a", 1), r"argument 'x' of person: Person has no field 'size'"),
        (Friend, r"argument 'x' of person: expected Person, got type"),
        (concerto.Ok(1), r"argument 'x' of person: expected Person, got Ok"),
        (concerto.Enum("Shape", "Empty"), r"argument 'x' of person: expected Person, got Enum"),
        (Shape.Empty(), r"argument 'x' of person: expected Person, got Empty"),
    ):
        with pytest.raises(TypeError, match=message):
            session.call("person", value)


def test_classes_hold_no_program_back() -> None:
    import gc
    import weakref

    program = concerto.compile(SOURCE)
    program.types.Person(name="a")
    watched = weakref.ref(classes_of(program._linked))
    del program
    gc.collect()
    assert watched() is None


# ---------------------------------------------------------------- JSON, against the language's own

clean = st.text(st.characters(exclude_categories=("Cs", "Cf", "Co", "Cn")), max_size=8)
scalars = st.one_of(st.none(), st.booleans(), st.integers(-(2**63), 2**63 - 1), st.floats(width=64), clean, st.binary(max_size=6))
people = st.builds(lambda name, age: Person(name=name, age=age), clean, st.none() | st.integers(0, 99))
shapes = st.one_of(
    st.builds(Shape.Circle, st.floats(allow_nan=False)), st.builds(Shape.Two, st.integers(0, 9), clean), st.just(Shape.Empty()),
    st.builds(lambda w, data: Shape.Rect(w=w, data_=data), st.integers(0, 9), clean), st.builds(Shape.Of, people),
)  # fmt: skip
values = st.recursive(
    scalars | people | shapes,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(clean, inner, max_size=3), st.tuples(inner, inner),
        st.builds(concerto.Ok, inner),
    ),
    max_leaves=8,
)


@given(values)
def test_json_is_that_of_the_language(value: Any) -> None:
    with PROGRAM.session(offline=True) as session:
        assert json.loads(concerto.to_json(value)) == json.loads(session.call("written", value))


def test_json_texts(session: Any) -> None:
    person = Person(name="Ä", age=1)
    assert concerto.to_json(person) == '{"name":"Ä","age":1,"kind":"friend","tags":[]}' == session.call("written", person)
    assert concerto.to_json(Shape.Empty()) == '{"variant":"Empty","data":null}'
    assert concerto.to_json({1: concerto.Ok(2), 3: concerto.Err("x")}) == '{"1":{"ok":2},"3":{"err":"x"}}'
    assert concerto.to_json([1], indent=2) == "[\n  1\n]"
    assert concerto.to_json([1e16, -0.0, 1e-7]) == "[10000000000000000.0,-0.0,0.0000001]"
    nested = {"a": [1, {"b": []}], "ä": {}, "c": {"d": None}}
    assert concerto.to_json(nested, indent=2) == json.dumps(nested, indent=2, ensure_ascii=False)
    assert concerto.to_json({True: float("nan"), b"\xff": b"\xfe"}) == '{"true":null,"/w==":"/g=="}'
    error = concerto.ErrorValue("HttpError", "Timeout", "m", {"url": "u"})
    text = '{"kind":"HttpError","variant":"Timeout","message":"m","url":"u"}'
    assert concerto.to_json(error) == text == session.call("written", error)
    media = concerto.Media(b"hello", "a.txt")
    assert concerto.to_json(media) == session.call("written", media)
    assert concerto.to_json(concerto.Handle("HashMap", "h")) == '"<hashmap h>"'
    circle: list[Any] = []
    circle.append(circle)
    with pytest.raises(ValueError, match="nested too deep, or holds itself"):
        concerto.to_json(circle)
    with pytest.raises(TypeError, match="object is no value of a program"):
        concerto.to_json(object())


def test_emits_of_tests_and_errors_of_loaded_programs_too() -> None:
    source = """
        pub struct P { pub x: Int }
        pub enum Wrong { Much(Int) }
        impl Error for Wrong {}
        pub fn f() -> Result<Int, Wrong> { throw Wrong::Much(3); }
        @test("emits") fn emits() { emit("p", P { x: 1 }); }
    """
    program = concerto.load(concerto.compile(source).to_bytes())
    (result,) = program.test().tests
    assert [type(emit.payload) for emit in result.emits] == [program.types.P]
    with program.session() as session, pytest.raises(concerto.ProgramError) as raised:
        session.call("f")
    assert raised.value.value == program.types.Wrong.Much(3) and type(raised.value.value) is program.types.Wrong.Much
