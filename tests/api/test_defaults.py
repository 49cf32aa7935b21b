"""What a host leaves out: parameters and fields with defaults of the program (L-5.9.1, L-5.10.1, O-9.38)."""

from __future__ import annotations

import concerto
import pytest

PROGRAM = concerto.compile("""
hashmap h: HashMap<String, Int> = HashMap::new();
fn next() -> Int { h.set("n", (h.get("n") ?? 0) + 1); h.get("n") ?? 0 }
struct Point { x: Int, y: Int = next(), tags: Array<String> = [] }
struct Line { from: Point, to: Option<Point> }
schema Reply { text: String, score: Int = 7 }
pub fn sum(a: Int, b: Int = a + 1, p: Point = Point { x: b }) -> Array<Int> { [a, b, p.x, p.y] }
pub fn ys(points: Array<Point>) -> Array<Int> { points.map(|p| p.y) }
pub fn lines(line: Line) -> Int { line.from.y }
pub fn reply(r: Reply) -> Int { r.score }
pub fn fails(n: Int = [1][5]) -> Int { n }
pub async fn ask() -> Result<Any, EmitError> { await emit("ask", nil) }
""")


def test_parameters_take_their_defaults_from_left_to_right() -> None:
    with PROGRAM.session() as session:
        assert session.call("sum", 1) == [1, 2, 2, 1]
        assert session.call("sum", 1, 5) == [1, 5, 5, 2]
        assert session.call("sum", 1, 5, {"x": 9, "y": 0}) == [1, 5, 9, 0]


def test_fields_that_are_left_out_have_their_defaults_one_each() -> None:
    with PROGRAM.session() as session:
        assert session.call("ys", [{"x": 1}, {"x": 1, "y": 50}, concerto.Struct("Point", x=1)]) == [1, 50, 2]
        assert session.call("lines", {"from": {"x": 1}}) == 3
        assert session.call("reply", {"text": ""}) == 7
        assert session.call("sum", 1, 1, {"x": 4}) == [1, 1, 4, 4]


def test_answers_have_defaults_too() -> None:
    with PROGRAM.session() as session:
        session.on_emit("ask", lambda _: concerto.Struct("Point", x=1))
        assert session.call("ask") == concerto.Struct("Point", x=1, y=1, tags=[])


def test_arguments_by_name() -> None:
    with PROGRAM.session() as session:
        assert session.call("sum", p={"x": 5, "y": 0}, a=1) == [1, 2, 5, 0]
        assert session.call("sum", 1, p={"x": 5, "y": 0}, b=7) == [1, 7, 5, 0]


def test_what_does_not_fit_is_refused_before_any_default_runs() -> None:
    with PROGRAM.session() as session:
        with pytest.raises(TypeError, match=r"sum\(a, b=…, p=…\): lacks 'a'"):
            session.call("sum")
        with pytest.raises(TypeError, match="4 arguments given"):
            session.call("sum", 1, 2, {"x": 1}, 4)
        with pytest.raises(TypeError, match="twice 'a'; no 'z'"):
            session.call("sum", 1, a=2, z=3)
        with pytest.raises(TypeError, match="Point lacks the field 'x'"):
            session.call("ys", [{"x": 1}, {}])
        assert session.call("ys", [{"x": 1}]) == [1]


def test_a_default_that_panics_is_a_panic_of_the_call() -> None:
    with PROGRAM.session() as session, pytest.raises(concerto.Panic) as caught:
        session.call("fails")
    assert caught.value.code == "P004"


def test_an_image_keeps_defaults_and_visibility() -> None:
    source = "struct P { pub a: Int, b: Int = 3 }\nfn own() { }\npub fn f(p: P) -> Int { own(); p.a + p.b }\n"
    program = concerto.load(concerto.compile(source).to_bytes())
    assert program.functions == ("f",)
    with program.session() as session:
        assert session.call("f", {"a": 1}) == 4
