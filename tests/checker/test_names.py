"""Names, scopes, paths (L-4.3, L-5.4)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from concerto.compiler.hints.names import distance, nearest
from concerto.compiler.symbols import Local
from concerto.compiler.syntax import ast

CASES = [
    ("E1001", "print(«foo);"),
    ("E1001", "print(«_);"),
    ("E1001", "struct P { x: Int } fn main() { print(«P); }"),
    ("E1001", "{ let a = 1; print(a); } print(«a);"),
    ("E1001", "let a = «a; print(a);"),
    ("E1001", "fn main() { let a = 1; fn f() -> Int { «a } print(a, f()); }"),
    ("", "let a = 1; let a = a + 1; print(a);"),
    ("", "fn main() { print(f()); fn f() -> Int { g() } } fn g() -> Int { 1 }"),
    ("E1002", "let x: «Foo = 1; print(x);"),
    ("E1002", "fn f(x: Array<«Strng>) { print(x); } fn main() { f([]); }"),
    ("E1002", "print(«Q { x: 1 });"),
    ("E1002", "try { print(1); } catch «Foo(e) { print(e); }"),
    ("E1003", "fn f() {} fn «f() {} fn main() {}"),
    ("E1003", "struct A {} fn «A() {} fn main() {}"),
    ("E1003", "enum E { A, «A } fn main() {}"),
    ("E1003", "fn f(_a: Int, «_a: Int) {} fn main() {}"),
    ("E1003", "const A: Int = 1; const «A: Int = 2; print(A);"),
    ("E1004", "print(«a::b);"),
    ("E1009", "print(«self);"),
    ("E1009", "let x: «Self = 1; print(x);"),
    ("E1010", "enum E { A } fn main() { print(E::«B); }"),
    ("E1010", "print(Prompt::«neu(1));"),
    ("E1010", 'throw AgentError::«Slow("x");'),
    ("E1013", "fn «main(_a: Int) {}"),
    ("E1013", "fn «main() -> Int { 1 }"),
    ("", "fn main() -> Result<Nil, Error> { Ok() }"),
    ("E1014 E1014 E1014", "struct «p {} enum «q { A } type «t = Int; fn main() {}"),
    ("W0001", "let «x = 1;"),
    ("W0001", "let mut «x = 1; x = 2;"),
    ("W0001", "fn f(«x: Int) {} fn main() { f(1); }"),
    ("W0001", "for «i in 1..2 { }"),
    ("W0001", "match Some(1) { Some(«x) => 1, None => 2 };"),
    ("W0001", "try { throw 1; } catch Int(«e) { }"),
    ("", "let _x = 1; let f = |_a| 1; f(2);"),
]


@pytest.mark.parametrize(("codes", "text"), CASES)
def test_names(codes: str, text: str, expect: Callable[[str, str], None]) -> None:
    expect(codes, text)


HELPS = [
    ("let total = 1; print(totl, total);", "total"),
    ("let x: Strin = 1; print(x);", "String"),
    ("enum Color { Red, Green } fn main() { print(Color::Gren); }", "Green"),
    ("struct P { width: Int } fn main() { print(P { width: 1 }.widht); }", "width"),
    ("print([1].pusch(1));", "push"),
    ("struct P { width: Int } fn main() { print(P { widt: 1, width: 2 }); }", "width"),
    ('print("a-b".replace(frm: "a", to: "b"));', "from"),
    ("model M { provider: offline, temprature: 1 } fn main() {}", "temperature"),
    ("@retri model M { provider: offline } fn main() {}", "retry"),
    ("@retry(maxx: 1) model M { provider: offline } fn main() {}", "max"),
    ("fn double(_n: Int) {} fn main() { doubel(1); }", "double"),
    ("'outer: loop { break 'outr; }", "outer"),
    ('schema S { k: "bug" | "task" } fn main() { print(S { k: "bgu" }); }', '"bug"'),
]


@pytest.mark.parametrize(("text", "near"), HELPS)
def test_unknown_names_suggest_the_nearest(text: str, near: str, snippet: Any) -> None:
    helps = [d.help for d in snippet(text).diagnostics]
    assert f"did you mean `{near}`?" in helps


@pytest.mark.parametrize(
    "text",
    ["let a = 1; print(a, b);", "struct Foo { x: Int } fn main() { print(Foo { x: 1 }); fooo(); }", "Strin(1);"],
)
def test_no_candidate_that_makes_no_sense(text: str, snippet: Any) -> None:
    """Neither for one letter nor a type for a value."""
    assert [(d.code, d.help) for d in snippet(text).diagnostics] == [
        ("E1001", "declare it first, or import it with `use`")
    ]


def test_unused_names_are_held_back_while_there_are_errors(expect: Callable[[str, str], None]) -> None:
    expect("E1001", "let x = 1; let mut y = 2; print(y, «foo);")


def test_a_name_like_a_variant_draws_one_warning(expect: Callable[[str, str], None]) -> None:
    expect("W0010 W0004", "enum E { A, B } fn main() { match E::A { «A => print(A), «_ => print(2) }; }")


def test_duplicates_point_to_the_first(snippet: Any) -> None:
    checked = snippet("fn f() {}\nfn f() {}\nfn main() {}")
    (first,) = checked.diagnostics[0].related
    assert checked.source.position(first.span.start) == (1, 4)


@pytest.mark.parametrize(
    ("a", "b", "edits"), [("abc", "abc", 0), ("abc", "acb", 1), ("abc", "ab", 1), ("kitten", "sitting", 3), ("ca", "abc", 3)]
)
def test_distance(a: str, b: str, edits: int) -> None:
    assert distance(a, b, 9) == edits


def test_nearest_is_smallest_then_alphabetical() -> None:
    assert nearest("abcdef", ["abcdxy", "abcdeg", "abcdea"]) == "abcdea"
    assert nearest("ab", ["xy"]) is None
    assert nearest("ab", ["b"]) == "b"
    assert nearest("a", ["b"]) is None


def test_closures_capture_locals_of_functions_around_them(snippet: Any) -> None:
    checked = snippet("let a = 1; let b = 2; let f = |x: Int| { let y = x; || y + a }; print(f(b));")
    assert not checked.diagnostics
    names = {local.name: local.captured for local in _locals(checked)}
    assert names == {"a": True, "b": False, "f": False, "x": False, "y": True}


def test_an_assignment_captures_too(snippet: Any) -> None:
    checked = snippet("let mut n = 0; let f = || { n = 1; }; f(); print(n);")
    assert {local.name: local.captured for local in _locals(checked)} == {"n": True, "f": False}


def _locals(checked: Any) -> list[Local]:
    found: list[Local] = []
    for node in [*checked.nodes(ast.Function), *checked.nodes(ast.Closure)]:
        found.extend(node.scope.locals)
    return found
