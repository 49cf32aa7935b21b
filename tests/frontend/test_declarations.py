"""language.md sections 2.1 and 2.6 for items, orchestration.md O-0.7, memory.md section 2."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from concerto.compiler.diagnostics import Diagnostics
from concerto.compiler.source import Source
from concerto.compiler.syntax import ast
from concerto.compiler.syntax.parse import parse

Parsed = Callable[[str], ast.Program]
Codes = Callable[[str], list[str]]


def only(program: ast.Program) -> ast.TopLevel:
    (item,) = program.items
    return item


def test_function(program: Parsed) -> None:
    item = only(program("pub async fn f<T: A + B, U>(a: T, mut: Int = 1, @x b: fn(T)) -> R<T> needs p.a, q.b reads r.c { }"))
    assert isinstance(item, ast.Function)
    assert item.public and item.is_async and item.name.text == "f" and item.body is not None
    assert [(p.name.text, len(p.bounds)) for p in item.type_parameters] == [("T", 2), ("U", 0)]
    assert [p.name.text for p in item.parameters] == ["a", "mut", "b"]
    assert item.parameters[1].default is not None and item.parameters[2].decorators[0].name.text == "x"
    clauses = [(c.kind, [(s.owner.text, s.slot.text) for s in c.slots]) for c in item.clauses]
    assert clauses == [("needs", [("p", "a"), ("q", "b")]), ("reads", [("r", "c")])]


def test_needs_is_a_name_elsewhere(program: Parsed) -> None:
    program("fn needs(reads: Int) { let needs = reads; needs(reads); }")


def test_struct_fields_need_no_commas(program: Parsed) -> None:
    item = only(program("struct P<T> { pub a: Array<Int> b: Int = 1 type: T, @d match: A | B c: fn(A) -> B }"))
    assert isinstance(item, ast.Struct)
    assert [(f.name.text, f.public) for f in item.fields] == [
        ("a", True), ("b", False), ("type", False), ("match", False), ("c", False),
    ]  # fmt: skip


def test_enum(program: Parsed) -> None:
    item = only(program("enum E<T> { A B(Int, T,), C { x: Int y: T } D() }"))
    assert isinstance(item, ast.Enum)
    shapes = [(v.name.text, v.items and len(v.items), v.fields and len(v.fields)) for v in item.variants]
    assert shapes == [("A", None, None), ("B", 2, None), ("C", None, 2), ("D", [], None)]


def test_trait_and_impls(program: Parsed) -> None:
    trait, first, second = program(
        "trait T<A> { fn a(self); fn b(mut self) -> A { } } impl<X> T<X> for P<X> { fn a(self) { } } impl P { pub fn n() { } }"
    ).items
    assert isinstance(trait, ast.Trait) and [m.body is None for m in trait.methods] == [True, False]
    assert isinstance(first, ast.Impl) and first.trait is not None and len(first.type_parameters) == 1
    assert isinstance(second, ast.Impl) and second.trait is None and second.methods[0].public


def test_const_alias_use_mod(program: Parsed) -> None:
    items = program(
        "const A: Int = 1; type B<T> = Map<String, T> | C; use a; use self::b as c; use super::d::*;"
        " use crate::{e, f::{g as h, self}, i::*,}; mod j; pub mod k { mod l { } pub fn m() { } }"
    ).items
    trees = [item.tree for item in items if isinstance(item, ast.Use)]
    assert trees[1].alias is not None and trees[2].glob and trees[3].group is not None
    assert [len(tree.path) for tree in trees] == [1, 2, 2, 1] and len(trees[3].group) == 3
    file, inline = [item for item in items if isinstance(item, ast.Module)]
    assert file.items is None and inline.items is not None and len(inline.items) == 2


def test_configs(program: Parsed) -> None:
    items = program(
        "connect c { provider: 'x', if: 1 } model M { model: agent base: 'b' tools: [A] } agent A { connector: x, }"
    ).items
    configs = [item for item in items if isinstance(item, ast.Config)]
    assert [(c.kind, [e.key.text for e in c.entries]) for c in configs] == [
        ("connect", ["provider", "if"]), ("model", ["model", "base", "tools"]), ("agent", ["connector"]),
    ]  # fmt: skip


def test_schemas(program: Parsed) -> None:
    first, second = program("schema A; @partial schema B<T> { @describe('x') a: T, b?: Int type?: 'x' | 'y' = 'x' }").items
    assert isinstance(first, ast.Schema) and first.fields is None
    assert isinstance(second, ast.Schema) and second.fields is not None
    assert [f.optional for f in second.fields] == [False, True, True]


def test_tool(program: Parsed) -> None:
    members = "n: Int = 0 m: Array<Int> @describe('y') pub fn a(mut self, x: Int) { } fn b() { }"
    item = only(program(f"tool T impl B {{ description: 'x' {members} }}"))
    assert isinstance(item, ast.Tool) and item.trait is not None
    assert [e.key.text for e in item.entries] == ["description"]
    assert [f.name.text for f in item.fields] == ["n", "m"] and [m.name.text for m in item.methods] == ["a", "b"]


def test_mcp(program: Parsed) -> None:
    item = only(program("mcp W { transport: 'stdio', args: [] @describe('x') fn a(t: String) -> R<A, B>; fn b(); timeout: 3 }"))
    assert isinstance(item, ast.Mcp)
    assert [e.key.text for e in item.entries] == ["transport", "args", "timeout"]
    assert [f.name.text for f in item.functions] == ["a", "b"] and len(item.functions[0].decorators) == 1


def test_pipelines(program: Parsed) -> None:
    first, second, third = program(
        "pipeline A(x: Int) -> String { @retry(max: 2) stage a(x: Int) -> Int { x } stage b = f(|v| v); }"
        " pipeline B { } pipeline C -> D { }"
    ).items
    assert isinstance(first, ast.Pipeline) and first.parameter is not None and first.result is not None
    assert [(s.name.text, s.body is None, s.value is None) for s in first.stages] == [("a", False, True), ("b", True, False)]
    assert isinstance(second, ast.Pipeline) and second.parameter is None and second.result is None
    assert isinstance(third, ast.Pipeline) and third.result is not None


def test_stores_and_initialisation(program: Parsed) -> None:
    items = program(
        "hashmap h: HashMap<String, Int> = HashMap::new(); ledger l: Ledger = Ledger::new();"
        " pub memory m: Memory<C> = Memory::new(5).window(4); m.append('a', b: 1); h.if();"
    ).items
    stores = [item for item in items if isinstance(item, ast.Store)]
    assert [s.kind for s in stores] == ["hashmap", "ledger", "memory"] and stores[2].public
    calls = [item.call for item in items if isinstance(item, ast.InitStatement)]
    assert [(c.name.text, len(c.arguments)) for c in calls] == [("append", 2), ("if", 0)]


def test_context(program: Parsed) -> None:
    tiers = "persistent { a: Array<Int>, mut b: Int = 1 c: X } session { mut session: T } ephemeral { }"
    item = only(program(f"context P {{ {tiers} }}"))
    assert isinstance(item, ast.Context)
    found = [(t.kind, [(s.name.text, s.mutable) for s in t.slots]) for t in item.tiers]
    assert found == [
        ("persistent", [("a", False), ("b", True), ("c", False)]), ("session", [("session", True)]), ("ephemeral", []),
    ]  # fmt: skip


def test_soft_words_name_everything(program: Parsed) -> None:
    program("fn model(type: Int, agent: Int) { let stage = type + agent; memory(stage); spawn(1); listen; parallel; }")
    program("struct S { model: Int, memory: Int } fn f(context: S) -> Int { context.model + S { model: 1, memory: 2 }.memory }")
    program("model agent { } agent limit { } schema schema { } fn f() { spawn.x; connect::y; }")


def test_documentation(program: Parsed) -> None:
    items = program(
        "/// one\n/// two\n@test fn a() { }\n@test\n/// late\npub fn b() { }\nstruct S {\n/// f\npub x: Int,\n}\n"
        "enum E {\n/// v\nA }\nimpl S {\n/// m\npub fn m(self) { } }\npipeline P {\n/// s\nstage s(x: A) -> B { } }\n"
        "tool T {\n/// t\nn: Int /// of nothing\n/// u\npub fn u() { } }\n//// no\nfn c() { }\n"
    ).items
    a, b, s, e, i, p, t, c = items
    assert isinstance(s, ast.Struct) and isinstance(e, ast.Enum) and isinstance(i, ast.Impl)
    assert isinstance(p, ast.Pipeline) and isinstance(t, ast.Tool)
    assert [x.doc for x in (a, b, c)] == ["one\ntwo", "late", None]  # type: ignore[union-attr]
    assert [s.fields[0].doc, e.variants[0].doc, i.methods[0].doc] == ["f", "v", "m"]
    assert [p.stages[0].doc, t.fields[0].doc, t.methods[0].doc] == ["s", "t", "u"]


# ---------------------------------------------------------------- well-formedness (2.6)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("fn f() { 1 = 2; }", ["E0104 1:10"]),
        ("fn f() { a() = 2; }", ["E0104 1:10"]),
        ("fn f() { a[1..] = 2; a[..].b = 3; }", ["E0104 1:10", "E0104 1:22"]),
        ("fn f() { a::b = 2; }", ["E0104 1:10"]),
        ("fn f() { a.b[c].0 = 2; self = 1; (a) = 3; }", []),
        ("fn f() { if a = 1 { } }", []),
        ("trait T { pub fn a(self); }", ["E0105 1:11"]),
        ("impl T for P { pub fn a(self) { } }", ["E0105 1:16"]),
        ("schema S { pub a: Int }", ["E0105 1:12"]),
        ("enum E { A { pub a: Int } }", ["E0105 1:14"]),
        ("fn f();", ["E0106 1:4"]),
        ("impl P { fn f(); }", ["E0106 1:13"]),
        ("tool T { fn f(); }", ["E0106 1:13"]),
        ("mcp M { fn f() { } }", ["E0106 1:12"]),
        ("fn f() { g(a: 1, 2, b: 3, 4); }", ["E0108 1:18", "E0108 1:27"]),
        ("@d(a: 1, 2) fn f() { }", ["E0108 1:10"]),
        ("m.a(b: 1, 2);", ["E0108 1:11"]),
        ("fn f(self) { }", ["E1009 1:6"]),
        ("impl P { fn f(a: Int, mut self) { } fn g(self, self) { } }", ["E1009 1:23", "E1009 1:48"]),
        ("impl P { fn f(self) { fn g(self) { } } }", ["E1009 1:28"]),
        ("fn f() { let g = fn (self) { }; }", ["E1009 1:22"]),
        ("pipeline P { stage s(self) { } }", ["E1009 1:22"]),
        ("struct S { a?: Int }", ["E0101 1:12"]),
        ("fn f() { P { ..a, b: 1 }; }", ["E3008 1:16"]),
        ("fn f() { let P { .., b } = a; }", ["E3008 1:18"]),
        ("fn f() { let [.., a, ..] = b; }", ["E3008 1:22"]),
        ("fn f() { let (.., a) = b; }", ["E3008 1:15"]),
        ("fn f() { let .. = b; }", ["E3008 1:14"]),
        ("fn f() { match a { A(..) => 1, x @ .. => 2 } }", ["E3008 1:22", "E3008 1:36"]),
        ("fn f() { listen a.b() { x => |m| { m } } }", ["E0109 1:25"]),
        ("fn f() { listen a.b() { 'x' if c => |m| { m } } }", ["E0109 1:25"]),
        ("fn f() { listen a.b() { 'x' => |m| m } }", ["E0109 1:25"]),
        ("fn f() { listen a.b() { 'x' => { m } } }", ["E0109 1:25"]),
        ("fn f() { 9223372036854775808; -9223372036854775808; 1 - 9223372036854775808; }", ["E0010 1:10", "E0010 1:57"]),
        ("fn f() { match a { -9223372036854775808 => 1 } }", []),
        ("fn f() { match a { 9223372036854775808 => 1 } }", ["E0010 1:20"]),
        ("fn f() { 'a: { } }", ["E3011 1:10"]),
        ("fn f() { null; }", ["E0101 1:10"]),
        ("let a = 1;", ["E0101 1:1"]),
        ("a.b;", ["E0101 1:4"]),
        ("a(1);", ["E0101 1:2"]),
        ("pub a.b();", ["E0105 1:1"]),
        ("enum E { A, pub B }", ["E0105 1:13"]),
        ("fn f() { pub let a = 1; let = 2; }", ["E0105 1:10", "E0101 1:29"]),
        ("mcp M { pub fn a(); }", ["E0105 1:9"]),
        ("pipeline P { pub stage s(a: A) -> B { } }", ["E0105 1:14"]),
        ("context C { session { pub a: A } }", ["E0105 1:23"]),
    ],
)
def test_well_formedness(codes: Codes, text: str, expected: list[str]) -> None:
    assert codes(text) == expected


def test_what_a_label_without_a_loop_underlines() -> None:
    diagnostics = Diagnostics()
    parse(Source("main.conc", "fn f() { 'outer: let x = 1; }"), diagnostics)
    (label,) = diagnostics.found
    assert label.message == "label `'outer` stands before `let`, which is no loop"
    assert (label.span.start, label.span.end) == (9, 15)


@pytest.mark.parametrize("written", ["Vec<dyn Shape>", "Vec<impl Shape>", "Vec<readonly Shape>"])
def test_markers_before_a_type_mean_nothing(written: str) -> None:
    diagnostics = Diagnostics()
    parse(Source("main.conc", f"fn f(x: {written}) {{ }}"), diagnostics)
    assert [one.help for one in diagnostics.found] == ["write `Array<Shape>`"]


def test_a_parameter_of_a_type_in_small_letters() -> None:
    diagnostics = Diagnostics()
    parse(Source("main.conc", "fn f<aB>(x: aB) { }"), diagnostics)
    assert diagnostics.found[0].help == "the name of a type begins with a capital letter: `Int`, `String`, `Bool`"
