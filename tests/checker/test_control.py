"""Control flow, errors on their way, patterns (L-3.12, L-4.5, L-5.7, L-5.8)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

E = "enum E { A, B, C } "
P = "struct P { a: Bool, b: E } "

CASES = [
    ("E3001", E + "fn main() { match «E::A { E::A => 1, E::B => 2 }; }"),
    ("E3001", "match «true { true => 1 };"),
    ("E3001", "let n: Bool? = true; match «n { nil => 1, true => 2 };"),
    ("E3001", "match «[1].first() { Some(1) => 1, None => 2 };"),
    ("E3001", "match «1 { 1 => 1 };"),
    ("E3001", "match «1 { x if x > 1 => 1 };"),
    ("E3001", E + "fn main() { match «(true, E::A) { (true, E::A) => 1, (false, _) => 2 }; }"),
    ("E3001", E + P + "fn f(p: P) { match «p { P { a: true, .. } => 1, P { b: E::A, .. } => 2 }; } fn main() { print(f); }"),
    ("E3001", 'type K = "x" | "y"; fn f(k: K) { match «k { "x" => 1 }; } fn main() { f("x"); }'),
    ("E3001", "let a: Any = 1; match «a { 1 => 2 };"),
    ("E3001", 'match «AgentError::new("a") { AgentError { .. } => 1 };'),
    ("E3001", "match «[1] { [] => 1, [x] => x };"),
    ("", E + "fn main() { match E::A { E::A => 1, E::B | E::C => 2 }; match nil { nil => 1 }; }"),
    ("", 'match "1".parse_int() { Ok(_) => 1, Err(_) => 2 };'),
    ("", "match (Some(true), 1) { (Some(true), _) => 1, (Some(false), _) => 2, (None, _) => 3 };"),
    ("", "let n: Int? = 1; let x: Int = match n { nil => 0, v => v + 1 }; print(x);"),
    ("E3002", "let «Some(x) = [1].first(); print(x);"),
    ("E3002", "let «1 = 1;"),
    ("E3002", "for «Some(z) in [Some(1)] { print(z); }"),
    ("E3002", "let f = |«(_a, 1)| 1; f((1, 2));"),
    ("", "let (a, (b, _)) = (1, (2, 3)); let [c, ..d] = [1]; print(a, b, c, d);"),
    ("", "struct Q { x: Int } fn main() { let Q { x } = Q { x: 1 }; print(x); }"),
    ("E3003", 'match 1 { «"a" => 1, _ => 2 };'),
    ("E3003", "let «(a, b, c) = (1, 2); print(a, b, c);"),
    ("E3003", 'match "a" { «Some(x) => x, _ => 3 };'),
    ("E3003", E + "fn main() { match 1 { «E::A => 1, _ => 2 }; }"),
    ("E3003", 'type K = "x" | "y"; fn f(k: K) { match k { «"z" => 1, _ => 2 }; } fn main() { f("x"); }'),
    ("E3003", "try { print(1); } catch «Int? { }"),
    ("E3004", "match 1 { «_x | _y => 1 };"),
    ("E3004", 'match (1, "a") { (x, _) | (_, «x) => print(x) };'),
    ("E3005", "let (u, «u) = (1, 2); print(u);"),
    ("E3006", "struct Q { x: Int, y: Int } fn main() { let «Q { x } = Q { x: 1, y: 2 }; print(x); }"),
    ("E2010", "struct Q { x: Int } fn main() { let Q { «z, .. } = Q { x: 1 }; print(z); }"),
    ("E3007", "match 1 { «5..1 => 1, _ => 2 };"),
    ("E3007", "match 1 { «1..2.5 => 1, _ => 2 };"),
    ("E3009", "«break;"),
    ("E3009", "«continue;"),
    ("E3009", "loop { let f = || { «break; }; f(); break; }"),
    ("E3010", "'a: loop { break «'b; }"),
    ("E3012", "struct S { x: Int = { «return 1; } } fn main() { print(S { }); }"),
    ("E3013", 'fn f() { «throw "x"; } fn main() { f(); }'),
    ("E3013", 'let f = || { «throw "x"; }; f();'),
    ("E3014", 'fn f() -> Int { «"1".parse_int()? } fn main() { f(); }'),
    ("E3014", 'fn f() -> Option<Int> { Some(«"1".parse_int()?) } fn main() { f(); }'),
    ("E3014", 'let f = |s: String| «s.parse_int()? + 1; f("1");'),
    ("", 'let f = |s: String| Ok(s.parse_int()? + 1); print(f("1"));'),
    ("", "let f = |xs: Array<Int>| Some(xs.first()? + 1); print(f([1]));"),
    ("E3015", 'fn f() -> Int { try { «"1".parse_int()? } catch String { 0 } } fn main() { f(); }'),
    ("E3015", 'fn f() -> Result<Int, Int> { try { «throw "x"; } catch Int { } Ok(1) } fn main() { f()?; }'),
    ("", 'fn f() -> Result<Int, Error> { let x = try { "1".parse_int()? } catch String { 0 }; Ok(x) } fn main() { f()?; }'),
    ("", 'let x = try { throw 3 } catch Int(n) { n } catch String(s) { s.len() }; print(x);'),
    ("", '"1".parse_int()?; [1].first()?; throw "any error leaves main";'),
    ("W0004", E + "fn main() { match E::A { E::A => 1, «E::A => 2, _ => 3 }; }"),
    ("W0004", "match 1 { x => x, «_ => 2 };"),
    ("W0004", "match 5 { 1..10 => 1, «5 => 2, _ => 3 };"),
    ("W0004", 'match "a" { "a" => 1, "b" => 2, «"a" => 3, _ => 4 };'),
    ("W0004", 'match "a" { "a" if true => 1, "a" => 2, «"a" => 3, _ => 4 };'),
    ("W0004", "match true { true => 1, false => 2, «_ => 3 };"),
    ("W0004", 'try { "1".parse_int()?; } catch Error { } catch «ParseError { }'),
    ("", "match 1 { 1 if true => 1, 1 => 2, _ => 3 };"),
    ("", 'match SchemaError::new("x") { SchemaError { message: "a", .. } => 1, SchemaError { message: "b", .. } => 2, _ => 3 };'),
    ("W0005", "fn f() -> Int { return 1; «print(2); print(3); 3 } fn main() { f(); }"),
    ("W0005", "loop { } «print(1);"),
    ("W0010 W0004", E + "fn main() { match E::A { «A => print(A), «E::B => print(2) }; }"),
]


@pytest.mark.parametrize(("codes", "text"), CASES)
def test_control(codes: str, text: str, expect: Callable[[str, str], None]) -> None:
    expect(codes, text)


MISSING = [
    (E + "fn main() { match E::A { E::B => 1 }; }", ["E::A", "E::C"]),
    ("match (true, Some(1)) { (true, _) => 1, (_, None) => 2 };", ["(false, Some(_))"]),
    (E + P + "fn main() { match (P { a: true, b: E::A }) { P { a: true, .. } => 1 }; }", ["P { a: false, b: _ }"]),
    ("match Ok(true) { Ok(true) => 1, Err(_) => 2 };", ["Ok(false)"]),
]


@pytest.mark.parametrize(("text", "cases"), MISSING)
def test_the_missing_cases_are_named(text: str, cases: list[str], snippet: Any) -> None:
    (message,) = [d.message for d in snippet(text).diagnostics if d.code == "E3001"]
    assert all(f"`{case}`" in message for case in cases)
