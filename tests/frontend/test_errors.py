"""language.md sections 4.1, 4.2 and L-2.6.8: what is said about wrong text, and how parsing goes on."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from concerto.compiler.diagnostics import CODES, Diagnostic, Diagnostics
from concerto.compiler.source import Source
from concerto.compiler.syntax import ast
from concerto.compiler.syntax.parse import parse

Errors = Callable[[str], list[Diagnostic]]
Codes = Callable[[str], list[str]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("fn f() { let a = ; }", "unexpected `;`: expected an expression"),
        ("fn f() { let a = 1 let }", "unexpected `let`: expected `;`"),
        ("fn f() { f(a b) }", "unexpected name `b`: expected `,`, `)` or `:`"),
        ("fn f() { [a b] }", "unexpected name `b`: expected `,` or `]`"),
        ("fn f() { a b }", "unexpected name `b`: expected `;` or `}`"),
        ("fn f() { let = 1; }", "unexpected `=`: expected a pattern"),
        ("fn f() { let a: = 1; }", "unexpected `=`: expected a type"),
        ("fn f() { if a b }", "unexpected name `b`: expected `{`"),
        ("fn f() { a. }", "unexpected `}`: expected `await`, a name or a tuple index"),
        ("fn 1() { }", "unexpected `1`: expected a name"),
        ("1", "unexpected `1`: a statement stands in a function"),
        ("fn f", "unexpected end of the file: expected `(` or `<`"),
        ("fn f() { ) }", "`)` has no `(` to close"),
        ("struct S { a }", "unexpected `}`: expected `:`"),
        ('fn f() { a "s" }', "unexpected string: expected `;` or `}`"),
        ('fn f() { "${a b}" }', "unexpected name `b`: expected the end of `${ }`"),
        ("model M { a }", "unexpected name `a`: expected `}` or a field name"),
        ("fn f(a Int) { }", "unexpected name `Int`: expected `,`, `)` or `:`"),
        ("match", "unexpected `match`: a statement stands in a function"),
        ("fn f() { match a { 1 => 2 3 => 4 } }", "unexpected `3`: expected `,` or `}`"),
    ],
)
def test_expected_and_found(errors: Errors, text: str, message: str) -> None:
    assert [d.message for d in errors(text)] == [message]


@pytest.mark.parametrize(
    ("text", "help"),
    [
        ("if let Some(x) = a { }", "`if let`"),
        ("while let Some(x) = a { }", "no `while let`"),
        ("let Some(x) = f(1, { a: 2 }) else { return; };", "no `let … else`"),
        ("let b = a ? 1 : 2;", "`?:`"),
        ("let b = a ? (c) : 2;", "`?:`"),
        ("a++;", "`++`"),
        ("++a;", "`++`"),
        ("a--;", "`--`"),
        ("a << 2;", "bit operators"),
        ("a >> 2;", "bit operators"),
        ("a | b;", "bit operators"),
        ("switch a { }", "`match`"),
        ("var a = 1;", "`let`"),
        ("let a = new Foo();", "`Foo::new(…)`"),
        ("let a = null;", "`nil`"),
        ("f::<Int>();", "`f<Int>(…)`"),
        ("if a === b { }", "`==`"),
        ("if a !== b { }", "`!=`"),
        ("let a = 1\nlet b = 2;", "line 2"),
        ("f()\ng();", "line 2"),
        ("a = b = ;", None),
        ("if a and b { }", "`&&`"),
        ("a or b;", "`||`"),
        ("if not a { }", "`!`"),
        ('f"a ${x}";', "every string"),
        ("xs.map((a, b) => a);", "`|a, b| a`"),
        ("xs.map(x => x);", "`|x| x`"),
        ("let f = lambda x: x;", "`|x| x`"),
        ("if (c) return 1;", "braces"),
        ("if c: return 1;", "braces"),
        ("for i in 0..9 step 2 { }", "step_by"),
        ("for (let i = 0; i < 3; i += 1) { }", "`for i in 0..3 { … }`"),
        ("let p = P { a = 1 };", "joined by `:`"),
        ("class A { a: Int }", "`struct A { … }`"),
        ("let a: List<string> = [];", "`Array<String>`"),
        ("const a = 1;", "`const a: Int = 1;`"),
    ],
)
def test_help(errors: Errors, text: str, help: str | None) -> None:
    found = errors("fn f() {\n" + text + "\n}")
    assert [d.code for d in found] == ["E0101"]
    assert found[0].help is None if help is None else help in (found[0].help or "")


@pytest.mark.parametrize(
    ("text", "message", "help"),
    [
        ('println("hi");', "a statement stands in a function", "put it in `fn main() { … }`"),
        ("x = 1;", "a statement stands in a function", "put it in `fn main() { … }`"),
        ("x.y = 1;", "a statement stands in a function", "put it in `fn main() { … }`"),
        ("for i in 0..3 { println(i); }", "a statement stands in a function", "put it in `fn main() { … }`"),
        ("if a { f(); } else { g(); }", "a statement stands in a function", "put it in `fn main() { … }`"),
        ("let x = 1;", "a statement stands in a function", "put it in `fn main() { … }`, or write `const x: Int = 1;`"),
        ("let mut x = f();", "a statement stands in a function", "put it in `fn main() { … }`, or write `const x: T = …;`"),
        (
            "class A { x: Int }", "there is no `class`",
            "write its data as `struct A { … }`, its methods as `impl A { fn m(self) { … } }`",
        ),
        ("interface A { }", "there is no `interface`", "use `trait`: `trait A { … }`"),
        ("import requests;", "there is no `import`", "write `use std::http;`, and call `http::…`"),
        ("def f() { }", "there is no `def`", "use `fn`: `fn f …`"),
        ("func f() { }", "there is no `func`", "use `fn`: `fn f …`"),
        ("function f() { }", "there is no `function`", "use `fn`: `fn f …`"),
        ("strcut A { x: Int }", "no item begins with `strcut`", None),
        ("fn main():\n    f()\n", "expected", "a block stands in braces: `{ … }`"),
    ],
)
def test_what_does_not_stand_at_module_level(errors: Errors, text: str, message: str, help: str | None) -> None:
    (found,) = errors(text)
    assert found.code == "E0101" and message in found.message and found.help == help


def test_a_semicolon_behind_an_item_is_no_statement(errors: Errors) -> None:
    (found,) = errors("struct A { x: Int };")
    assert found.message == "unexpected `;`: expected an item or the end of the file" and found.help is None


def test_an_unterminated_string_with_a_hole_is_reported_once(codes: Codes) -> None:
    assert codes('"${a"') == ["E0003 1:1"]
    assert codes('"${"${a') == ["E0003 1:1"]


def test_a_backtick_is_answered_with_the_quotes_there_are(errors: Errors) -> None:
    assert errors("fn f() { `a ${b}`; }")[0].help == 'write `"a ${b}"`: every string may hold `${ }`'
    assert "a string stands in" in (errors("fn f() { `a; }")[0].help or "")


@pytest.mark.parametrize("char", ["&", "^", "~"])
def test_bit_operators_are_unexpected_characters(errors: Errors, char: str) -> None:
    (found,) = errors(f"fn f() {{ a {char} b; }}")
    assert found.code == "E0002" and found.help is not None


# ---------------------------------------------------------------- brackets


@pytest.mark.parametrize(
    ("text", "expected", "related"),
    [
        ("fn f() { g(1; }", ["E0102 1:15"], [10]),
        ("fn f() { g[1); }", ["E0102 1:13", "E0102 1:16"], []),
        ("fn f() { ", ["E0102 1:8"], []),
        ("fn f() { if a { }", ["E0102 1:8"], []),
        ("fn f() { } }", ["E0102 1:12"], []),
        ('fn f() { "${ ( }"; }', ["E0102 1:16"], [13]),
    ],
)
def test_unbalanced_brackets(errors: Errors, codes: Codes, text: str, expected: list[str], related: list[int]) -> None:
    if text.startswith("fn f() { g[1)"):
        assert [c[:5] for c in codes(text)] == ["E0102", "E0102"]
        return
    assert codes(text) == expected
    assert [r.span.start for d in errors(text) for r in d.related] == related


def test_both_brackets_are_named(errors: Errors) -> None:
    (found,) = errors("fn f() {\n g(1;\n}")
    assert found.message == "`}` does not close `(` of 2:3" and found.help == "`)` is missing before `}`"


def test_errors_before_the_unbalanced_bracket_still_count(codes: Codes) -> None:
    assert codes("fn f() { let = 1; }\nfn g() { h(1; let = 2; }") == ["E0101 1:14", "E0102 2:24"]


# ---------------------------------------------------------------- recovery


def test_several_errors_in_one_file(codes: Codes) -> None:
    text = """fn a() {
    let x = ;
    let y = 1
    let z = 2;
    f(1, , 2);
    if b { c d } else { e f }
    match g { 1 => = , 2 => 3, 4 => ] }
}
"""
    assert codes(text.replace("]", "")) == [
        "E0101 2:13", "E0101 4:5", "E0101 5:10", "E0101 6:14", "E0101 6:27", "E0101 7:20", "E0101 7:38",
    ]  # fmt: skip


def test_recovery_between_items_and_members(codes: Codes) -> None:
    text = """struct 1 { a: Int }
fn b() { }
struct C { x Int, y: Int, z = 3 }
enum D { A, 1, B, = }
model E { a 1, b: , c: 2 }
impl F { fn 2() { } fn g() { let = 1; } }
pipeline G { stage 3 stage h(x: A) -> B { ] } }
let i = 1;
context J { persistent { a, mut b: C } other { } }
"""
    assert [c.split()[1] for c in codes(text.replace("]", "let"))] == [
        "1:8", "3:14", "3:29", "4:13", "4:19", "5:13", "5:19", "6:13", "6:34", "7:14", "7:47", "8:1", "9:27", "9:40",
    ]  # fmt: skip


def test_what_is_right_stays_in_the_tree() -> None:
    diagnostics = Diagnostics()
    program = parse(Source("t", "fn a() { b; let = 1; c; }\nstruct 1 { }\nfn d() { }"), diagnostics)
    first, wrong, last = program.items
    assert isinstance(first, ast.Function) and isinstance(last, ast.Function) and isinstance(wrong, ast.ErrorItem)
    assert first.body is not None
    kinds = [type(s.expr).__name__ for s in first.body.statements if isinstance(s, ast.ExprStmt)]
    assert kinds == ["PathExpr", "ErrorExpr", "PathExpr"]
    assert first.body.span == ("t", 7, 25)


def test_a_lexical_error_ends_compilation_before_parsing() -> None:
    diagnostics = Diagnostics()
    program = parse(Source("t", "fn f( { 12ab // x\n"), diagnostics)
    assert [d.code for d in diagnostics.found] == ["E0009"]
    assert program.items == [] and [c.text for c in program.comments] == ["// x"]


def test_identical_diagnostics_are_given_once() -> None:
    diagnostics = Diagnostics()
    for _ in range(2):
        parse(Source("t", "fn f() { let = 1; }"), diagnostics)
    assert len(diagnostics.found) == 1


def test_hopeless_input_stops(codes: Codes) -> None:
    found = codes("fn fn\n" * 5000)
    assert 100 <= len(found) <= 250


def test_every_code_reported_is_in_the_table(codes: Codes) -> None:
    found = codes("let a; fn g() { 1 = 2; x |> 1; 'a: {}; f(a: 1, 2); let .. = 3; }")
    assert len(found) == 5 and all(c.split()[0] in CODES for c in found)
