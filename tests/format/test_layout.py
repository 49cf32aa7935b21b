"""The rules of docs/spec/format.md, each with a program that shows it; and that page's own programs."""

from __future__ import annotations

import re

import pytest

from .laws import broken_law, canonical
from .programs import ROOT, corpus

PAGE = (ROOT / "docs" / "spec" / "format.md").read_text("utf-8")

LONG = "a_rather_long_argument_name"

# Rule, source, what becomes of it. A source without an item is the body of a function.
CASES = [
    ("1.1", "if a {\n\tb();\n}", "if a {\n    b();\n}"),
    ("1.2", f'f("{"x" * 100}");', f'f(\n    "{"x" * 100}",\n);'),
    ("1.2", f'let x = [1, [2, f("{"x" * 82}")]];', f'let x = [\n    1,\n    [\n        2,\n        f("{"x" * 82}"),\n    ],\n];'),
    ("1.2", f"let s = r#\"{'x' * 120}\"#;", f"let s = r#\"{'x' * 120}\"#;"),
    ("1.3", "\n\n// c\nconst A: Int = 1;\n\n\n", "// c\nconst A: Int = 1;\n"),
    ("1.4", "f('a' , \"${ x+1 }\", 0xF_f, 1_0.5e1);  // c  ", "f('a', \"${ x+1 }\", 0xF_f, 1_0.5e1); // c"),
    ("2.1", "let n@1..=3=a+b*-c as Int|>f;", "let n @ 1..=3 = a + b * -c as Int |> f;"),
    ("2.1", "type A = fn( Int )->Int;\n", "type A = fn(Int) -> Int;\n"),
    ("2.2", "a . b ( ) ? . 0 [ 1 .. 2 ] . await ;", "a.b()?.0[1..2].await;"),
    ("2.2", "- -x; ! a; 1 .0; a? ? + b; f()??;", "- -x;\n!a;\n1 .0;\na? ? + b;\nf()??;"),
    ("2.2", "t. 0x1; t .  1_0 .0; t . 1 . 0; t. 0b1.f();", "t. 0x1;\nt. 1_0 .0;\nt.1.0;\nt. 0b1.f();"),
    ("2.2", "let x: Array<Int>= y; x.y<T>= (1);", "let x: Array<Int> = y;\nx.y<T> = (1);"),
    ("2.3", "f(a ,b , c :1);let x :Int=1;", "f(a, b, c: 1);\nlet x: Int = 1;"),
    ("2.4", "f( a ); let m = {a: 1}; let e = { }; let p = P{x};", "f(a);\nlet m = { a: 1 };\nlet e = {};\nlet p = P { x };"),
    ("2.4", "use a::{ b , c };\n", "use a::{b, c};\n"),
    ("2.5", "let x = ((a)) + (b * c);;", "let x = ((a)) + (b * c);\n;"),
    ("2.5", "let x: ((Int))? = 1; match y { (1 | 2) => 3 }", "let x: ((Int))? = 1;\nmatch y { (1 | 2) => 3 }"),
    ("3.1", "let p = P {\n x, y };", "let p = P {\n    x,\n    y,\n};"),
    ("3.1", "enum E {\n A, B }\n", "enum E {\n    A,\n    B,\n}\n"),
    ("3.2", "let p = P { x,\n y\n};", "let p = P { x, y };"),
    ("3.2", "enum E { A,\n B\n}\n", "enum E { A, B }\n"),
    ("3.2", "let p = P { x, // c\n y };", "let p = P {\n    x, // c\n    y,\n};"),
    ("3.3", "let f = |x| { g(x) };", "let f = |x| { g(x) };"),
    ("3.3", "let f = |x| { g(x); x };", "let f = |x| {\n    g(x);\n    x\n};"),
    ("3.3", "loop { if a { break } }", "loop {\n    if a { break }\n}"),
    ("3.4", "if a { 1 } else {\n2 }", "if a {\n    1\n} else {\n    2\n}"),
    ("3.4", "let x = try { f()? } catch E(e) { g(e); 1 };", "let x = try {\n    f()?\n} catch E(e) {\n    g(e);\n    1\n};"),
    ("3.5", "match x { 1 => a, _ => b }", "match x { 1 => a, _ => b }"),
    ("3.5", "match x { 1 => { a }, _ => b }", "match x {\n    1 => { a }\n    _ => b,\n}"),
    ("3.5", "trait T { fn a(self); fn b(self); }\n", "trait T {\n    fn a(self);\n    fn b(self);\n}\n"),
    ("3.6", "struct P { x: Int y: Int = 1 }\n", "struct P { x: Int, y: Int = 1 }\n"),
    ("3.6", "model M {\n a: 1 b: 2 }\n", "model M {\n    a: 1,\n    b: 2,\n}\n"),
    ("3.6", "match x { 1 => { }, ..5 => { } }", "match x {\n    1 => {},\n    ..5 => {}\n}"),
    ("4.1", f"f({LONG}, {LONG}, {LONG}, {LONG});", "f(\n" + f"    {LONG},\n" * 4 + ");"),
    ("4.1", f"let x = ({LONG * 4},);", f"let x = (\n    {LONG * 4},\n);"),
    ("4.1", "let x = [" + "1234567, " * 12 + "];", "let x = [\n    " + "1234567, " * 9 + "1234567,\n    1234567, 1234567,\n];"),
    ("4.2", "xs.each(1, |x| { f(x); g(x); });", "xs.each(1, |x| {\n    f(x);\n    g(x);\n});"),
    ("4.2", f"throw Err(E::new({LONG}, {LONG}, {LONG}, 1, 2));",
     f"throw Err(E::new(\n    {LONG},\n    {LONG},\n    {LONG},\n    1,\n    2,\n));"),
    ("4.3", f"{LONG}.a({LONG}).b({LONG}).c()?;", f"{LONG}.a({LONG}).b({LONG}).c()?;"),
    ("4.3", f"{LONG}.a({LONG})?.b({LONG}).c(12)?;", f"{LONG}\n    .a({LONG})?\n    .b({LONG})\n    .c(12)?;"),
    ("4.3", f"{LONG}.a({LONG}).b(|x| {{ c(); d() }});", f"{LONG}.a({LONG}).b(|x| {{\n    c();\n    d()\n}});"),
    ("4.4", f"let x = {LONG} + {LONG} * 2 - {LONG} - 12;", f"let x = {LONG}\n    + {LONG} * 2\n    - {LONG}\n    - 12;"),
    ("4.4", f"{LONG} |> f({LONG}) |> g({LONG});", f"{LONG} |> f({LONG}) |> g({LONG});"),
    ("4.4", f"{LONG} |> ff({LONG})? |> gg({LONG});", f"{LONG}\n    |> ff({LONG})?\n    |> gg({LONG});"),
    ("4.4", f"match x {{ {LONG} | {LONG} | {LONG} | 1 => 2 }}",
     f"match x {{\n    {LONG}\n    | {LONG}\n    | {LONG}\n    | 1 => 2,\n}}"),
    ("4.5", f"while {LONG} && {LONG} && {LONG} {{ f() }}", f"while {LONG}\n    && {LONG}\n    && {LONG}\n{{\n    f()\n}}"),
    ("4.5", f"async fn f() needs a.{LONG}, b.{LONG} reads c.{LONG} {{ 1 }}\n",
     f"async fn f()\n    needs a.{LONG}, b.{LONG}\n    reads c.{LONG}\n{{\n    1\n}}\n"),
    ("5.1", "f(a /* b */\n ) ; // c", "f(\n    a, /* b */\n); // c"),
    ("5.1", "let x = 1 // c\n;", "let x = 1; // c"),
    ("5.1", "struct S { a: Int\n// b\n, /// c\nd: Int }\n", "struct S {\n    a: Int,\n    // b\n    // c\n    d: Int,\n}\n"),
    ("5.2", "f();\n        // c\ng();", "f();\n// c\ng();"),
    ("5.2", "loop {\nf();\n// c\n}", "loop {\n    f();\n    // c\n}"),
    ("5.3", "f(/*a*/b/*c*/,d);", "f(/*a*/ b /*c*/, d);"),
    ("5.4", "f(a, // one\nb);", "f(\n    a, // one\n    b,\n);"),
    ("5.4", "let x = // c\n1;", "let x = // c\n    1;"),
    ("5.5", "if a {\n/* b\n c */\nd }", "if a {\n    /* b\n c */\n    d\n}"),
    ("6.1", "{\n\n\na();\n\n\nb();\nc();\n\n}", "{\n    a();\n\n    b();\n    c();\n}"),
    ("6.1", "fn f(\n/// lost\n\n\n/// of a\na: Int,\n\n/// of b\nb: Int) { }\n",
     "fn f(\n    /// lost\n\n    /// of a\n    a: Int,\n    /// of b\n    b: Int,\n) {}\n"),
    ("6.2", "fn a() { }\nfn b() { }\n", "fn a() {}\n\nfn b() {}\n"),
    ("6.2", "use a;\nuse b;\n\n\nuse c;\nfn a() { }\nuse d;\n", "use a;\nuse b;\n\nuse c;\n\nfn a() {}\n\nuse d;\n"),
    ("6.2", "fn a() { }\n// b\nfn b() { }\n", "fn a() {}\n\n// b\nfn b() {}\n"),
    ("6.2", "fn a() { }\n// a\n\nfn b() { }\n", "fn a() {}\n// a\n\nfn b() {}\n"),
    ("6.3", f"f({LONG},\n\n{LONG}, {LONG}, {LONG});", "f(\n" + f"    {LONG},\n" * 4 + ");"),
    ("7.1", "@a @b( 1 ) fn f(@c x: Int) { }\n", "@a\n@b(1)\nfn f(@c x: Int) {}\n"),
    ("6.2", "schema A;\nschema B;\ntype C = Int;\n", "schema A;\nschema B;\ntype C = Int;\n"),
    ("7.1", "schema S { @a b: Int }\n", "schema S {\n    @a\n    b: Int,\n}\n"),
    ("7.2", "impl A { pub\nasync\nfn f( mut\nself ) { } }\n", "impl A {\n    pub async fn f(mut self) {}\n}\n"),
    ("7.3", "memory m { window: 3, pin: [A], retain: 9, pin: [B] }\n", "memory m { pin: [A], pin: [B], retain: 9, window: 3 }\n"),
    ("7.3", "memory m: Memory<C> {}\n", "memory m: Memory<C> {}\n"),
    (
        "7.3",
        "memory m { // m\n  // of w\n  window: 3 // w\n  /* s */ store: \"d\",\n\n  retain: 9, // r\n  // end\n}\n",
        "memory m { // m\n    retain: 9, // r\n    // of w\n    window: 3, // w\n    /* s */ store: \"d\",\n    // end\n}\n",
    ),
]  # fmt: skip


def body_of(text: str) -> str:
    """A text as the body of a function, and what formatting makes of it, without the function."""
    result = canonical("fn f() {\n" + text + "\n}\n")
    assert result.startswith("fn f() {\n") and result.endswith("\n}\n")
    lines = result.removeprefix("fn f() {\n").removesuffix("\n}\n")
    return re.sub("^    ", "", lines, flags=re.MULTILINE)


@pytest.mark.parametrize(("rule", "source", "expected"), CASES)
def test_rule(rule: str, source: str, expected: str) -> None:
    assert (canonical if expected.endswith("\n") else body_of)(source) == expected


def test_every_rule_has_a_case() -> None:
    section, rules = "", set()
    for line in PAGE.splitlines():
        heading, item = re.match(r"## (\d+)", line), re.match(r"(\d+)\. ", line)
        section = heading[1] if heading else section
        if item:
            rules.add(f"{section}.{item[1]}")
    assert rules == {rule for rule, _, _ in CASES}


def test_the_page_is_written_in_its_own_layout() -> None:
    blocks = [text for name, text in corpus().items() if name.startswith("docs/spec/format.md#")]
    assert len(blocks) == PAGE.count("```concerto")
    assert [canonical(block) for block in blocks] == blocks


@pytest.mark.parametrize(
    "text",
    [
        "enum E { A /// of B\n , B }",
        "struct S { a: Int /// of nothing\n }",
        "fn f() { 1; } /// doc of g\n\n/// last line\nfn g() { }",
        "/// one\n\n/// two\nfn f() { }",
        "/// one\n// between\n/// two\nfn f() { }",
        "fn f() { let x /// not a doc\n = 1; }\nfn g() { }",
        "fn f() { x }; ",
        "fn f() { 'a: // c\nloop { break\n'a } }",
        "fn f() { t. /* c */ 0 .1; x(1 .0 .1) }",
        "fn f() { let a: Array<Int>= | | 1; a? ? ; a? ? + b; a??? + b }",
        "memory m { of: (a)? ? per: b? ? ? store: c? ? }\nfn f() { }",
        "fn f() { x |> (f) |> ((g(1))) |> (h.m(2))?.await |> (|v| v)  |> emit(\"a\") }",
        "fn f(a: fn((Int)) -> ((Int)?)) -> ((Int)) { |(a, b): (Int, Int),| a }",
        "fn f() { await g()?; await (h())?; -(-1); -1 ** 2; }",
        "fn f() { match x { 1 => { } , ..=5 => if a { } , [..] => 1, (a,) => { 2 } -1 => 3 } }",
    ],
)
def test_corners(text: str) -> None:
    if text.endswith("; "):
        text = text.rstrip("; ")
    assert broken_law(text) is None
