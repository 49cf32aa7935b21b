"""language.md sections 2.4 and 2.5: statements, blocks, patterns; Appendix A, rules 2 and 6."""

from __future__ import annotations

from collections.abc import Callable

import pytest

Stmts = Callable[[str], list[str]]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a; b", ["a", "=> b"]),
        ("a; b;", ["a", "b"]),
        ("", []),
        (";", [";"]),
        ("if a { b } c", ["(if a { => b})!", "=> c"]),
        ("if a { b }", ["=> (if a { => b})"]),
        ("if a { b };", ["(if a { => b})"]),
        ("if a { b } else { c } d;", ["(if a { => b} { => c})!", "d"]),
        ("if a { b }\nelse if c { d }\n-e", ["(if a { => b} (if c { => d}))!", "=> (- e)"]),
        ("match a { } (b)", ["(match a)!", "=> (b)"]),
        ("loop { }\n[a]", ["(loop {})!", "=> [a]"]),
        ("while a { }\n!b", ["(while a {})!", "=> (! b)"]),
        ("for a in b { }\n|x| x", ["(for a b {})!", "=> (|x| x)"]),
        ("for a in b { }\n|| x", ["(for a b {})!", "=> (|| x)"]),
        ("try { } catch { } { a }", ["(try {} (catch {}))!", "=> { => a}"]),
        ("{ a } { b }", ["{ => a}!", "=> { => b}"]),
        ("'l: loop { } a", ["(l:loop {})!", "=> a"]),
        ("parallel for a in b { } c", ["(parallel a b - {})!", "=> c"]),
        ("listen A.f() { } c", ["(listen (.f A))!", "=> c"]),
        ("if a { b } + c", ["=> (+ (if a { => b}) c)"]),
        ("match a { }.b;", ["(field (match a) b)"]),
        ("match a { }?.b; c", ["(field (? (match a)) b)", "=> c"]),
        ("match a { } as Int;", ["(as (match a) Int)"]),
        ("if a { b } == c;", ["(== (if a { => b}) c)"]),
        ("if a { b } ?? c;", ["(?? (if a { => b}) c)"]),
        ("if a { P { } } else { } + P { x: 1 }\n;", ["(+ (if a { => (struct P)} {}) (struct P x:1))"]),
        ("{ a: 1 };", ["(map 'a':1)"]),
        ("let x = if a { b } else { c };", ["(let x (if a { => b} { => c}))"]),
        ("return; a", ["(return)", "=> a"]),
        ("if a { return }", ["=> (if a { => (return)})"]),
        ("'l: for a in b { break 'l; break 'l 1; break; break 2; continue 'l; continue }", None),
    ],
)
def test_where_statements_end(stmts: Stmts, text: str, expected: list[str] | None) -> None:
    loop = "=> (l:for a b {(break l:); (break l:1); (break); (break 2); (continue l) => (continue)})"
    assert stmts(text) == (expected if expected is not None else [loop])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("let a;", "(let a)"), ("let a: Int;", "(let a:Int)"), ("let mut a = 1;", "(let mut a 1)"),
        (
            "let (a, _): (A, B) = c;", "(let (a _,):(A B) c)"), ("let P { a, mut b, c: d, .. } = e;",
            "(let P{a:a b:mut b c:d ..} e)",
        ),
        (
            "let [a, ..r, b] = c;", "(let [a ..r b] c)"), ("let [..] = c;", "(let [..] c)"), ("let type: T = x;",
            "(let type:T x)",
        ),
        ("let f: fn(Int) -> Int = g;", "(let f:fn(Int) -> Int g)"), ("let t: () = ();", "(let t:() (tuple))"),
        ("let t: (A,) = x;", "(let t:(A) x)"), ("let t: (A) = x;", "(let t:A x)"), ("let t: fn() = x;", "(let t:fn() x)"),
        ('let t: "a" | "b" = x;', "(let t:'a'|'b' x)"), ("let t: A? = x;", "(let t:A? x)"),
    ],
)  # fmt: skip
def test_let(stmts: Stmts, text: str, expected: str) -> None:
    assert stmts(text) == [expected]


@pytest.mark.parametrize(
    ("arms", "expected"),
    [
        ("1 => a, _ => b", "[1 => a] [_ => b]"),
        ("1 | 2 | -3 => a,", "[1|2|-3 => a]"),
        ("1 => {} 2 => { b }", "[1 => {}] [2 => { => b}]"),
        ("1 => {}, 2 => b", "[1 => {}] [2 => b]"),
        ("1 => if a { b } 2 => c", "[1 => (if a { => b})] [2 => c]"),
        ("1 => {} -2 => b", "[1 => {}] [-2 => b]"),
        ("1 => {} [a] => b", "[1 => {}] [[a] => b]"),
        ("1 => {} (a, b) => b", "[1 => {}] [(a b,) => b]"),
        ("1 => { a }.b, 2 => c", "[1 => (field { => a} b)] [2 => c]"),
        ("a if b => c, d if e == F => g", "[a if b => c] [d if (== e F) => g]"),
        ("a if b == B { c } => d", "[a if (== b (struct B c:)) => d]"),
        (
            "1..2 => a, 1..=2 => b, 1.. => c, ..2 => d, ..=2 => e",
            "[1..2 => a] [1..=2 => b] [1.. => c] [..2 => d] [..=2 => e]",
        ),
        ("1.. if a => b", "[1.. if a => b]"),
        ("-1.5..0 => a", "[-1.5..0 => a]"),
        ("1.. | 5 => a", "[1..|5 => a]"),
        ("n @ 1..5 => a", "[n@1..5 => a]"),
        ("n @ A | m @ B => a", "[n@A|m@B => a]"),
        ("A::B => a, A::B(c) => d, A::B { e } => f", "[A::B => a] [A::B(c) => d] [A::B{e:e} => f]"),
        ("Some(x) => x, None => y", "[Some(x) => x] [None => y]"),
        ("'a' | 'b' => c, true => d, nil => e", "['a'|'b' => c] [True => d] [None => e]"),
        ("(a) => b, (a,) => c, () => d", "[a => b] [(a,) => c] [(,) => d]"),
        ("mut a => b", "[mut a => b]"),
        ("[] => a, [b] => c, [b, ..] => d, [.., b] => e", "[[] => a] [[b] => c] [[b ..] => d] [[.. b] => e]"),
        ("(1 | 2, 3) => a", "[(1|2 3,) => a]"),
        ("a => return, b => return c", "[a => (return)] [b => (return c)]"),
        ("a => |x| x, b => || y", "[a => (|x| x)] [b => (|| y)]"),
        ("a => match b { _ => c } d => e", "[a => (match b [_ => c])] [d => e]"),
        ("P { a: 1 | 2, .. } => b", "[P{a:1|2 ..} => b]"),
        ("a => { b: 1 }, c => {}", "[a => (map 'b':1)] [c => {}]"),
    ],
)
def test_match(stmts: Stmts, arms: str, expected: str) -> None:
    assert stmts(f"match v {{ {arms} }}") == [f"=> (match v {expected})"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("for x in xs { }", "(for x xs {})"),
        ("for (a, b) in m.entries() { }", "(for (a b,) (.entries m) {})"),
        ("for P { a } in ps { }", "(for P{a:a} ps {})"),
        ("for i in 0..10 { }", "(for i 0..10 {})"),
        ("for i in 0.. { }", "(for i 0.. {})"),
        ("for x in xs[1..] { }", "(for x (index xs 1..) {})"),
        ("while a < b { c }", "(while (< a b) { => c})"),
        ("parallel for x in xs limit 3 { x }", "(parallel x xs 3 { => x})"),
        ("parallel for x in limit limit limit { x }", "(parallel x limit limit { => x})"),
        ("parallel for x in model.f(spawn g(y)) { x }", "(parallel x (.f model (spawn (call g y))) - { => x})"),
        (
            "try { a } catch E(e) { b } catch F { c } catch { d }",
            "(try { => a} (catch E e { => b}) (catch F { => c}) (catch { => d}))",
        ),
        ("try { a } catch Foo<Bar>(e) { b }", "(try { => a} (catch Foo<Bar> e { => b}))"),
        ("async { a }", "(async { => a})"),
        (
            "listen A.f(x) { 'a' => |m| { m }, 'b' => |_| { 1 } }",
            "(listen (.f A x) ['a' => (|m| { => m})] ['b' => (|_| { => 1})])",
        ),
    ],
)
def test_block_like(stmts: Stmts, text: str, expected: str) -> None:
    assert stmts(text) == [f"=> {expected}"]


@pytest.mark.parametrize(
    "item",
    ["const A: Int = 1;", "fn g() { }", "struct S { }", "enum E { A }", "schema S { }", "type T = Int;", "use a::b;",
     "model M { }", "agent A { }", "async fn g() { }", "@test fn g() { }"],
)  # fmt: skip
def test_items_legal_in_a_block(stmts: Stmts, item: str) -> None:
    assert len(stmts(f"{item} a")) == 2


@pytest.mark.parametrize(
    "item",
    ["trait T { }", "impl T { }", "mod m { }", "mod m;", "tool T { }", "mcp M { }", "pipeline P { }", "connect c { }",
     "hashmap h: H = H::new();", "ledger l: L = L::new();", "memory m: M = M::new();", "context C { }"],
)  # fmt: skip
def test_items_illegal_in_a_block(codes: Callable[[str], list[str]], item: str) -> None:
    assert codes(f"fn f() {{\n{item}\na }}") == ["E0107 2:1"]


def test_an_initialisation_statement_is_a_call_in_a_block(stmts: Stmts) -> None:
    assert stmts("log.append(1);") == ["(.append log 1)"]
