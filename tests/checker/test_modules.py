"""Modules: imports, visibility, circles, order (L-8, L-5.14.1)."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from concerto.compiler.pipeline import Compilation, check_source, compile_source

CASES = [
    ("E1001", "mod a { pub fn f() {} } fn main() { «f(); }"),
    ("E1001", "mod a { } fn main() { print(«a); }"),
    ("E1002", "mod a { pub struct P { } } fn f(_p: «P) {} fn main() {}"),
    ("E1003", "mod a { pub fn f() {} } use a::«f; fn f() {} fn main() {}"),
    ("E1003", "mod a { pub fn f() {} pub fn g() {} } use a::f; use a::g as «f; fn main() { f(); }"),
    ("E1004", "use a::«b; mod a { } fn main() { b(); }"),
    ("E1004", "use a::«f::*; mod a { pub fn f() {} } fn main() { print(b()); }"),
    ("E1004", "mod «a; fn main() { a::f(); }"),
    ("E1004", "fn main() { «super::f(); }"),
    ("E1004", "fn main() { std::«maths::abs(1); }"),
    ("E1005", "mod a { fn f() {} } fn main() { a::«f(); }"),
    ("E1005", "mod a { use super::g; } fn g() {} fn main() { a::«g(); }"),
    ("E1005", "mod a { mod b { pub fn f() {} } } fn main() { a::«b::f(); }"),
    ("", "mod a { fn f() {} pub mod b { pub fn g() { super::f() } } } fn main() { a::b::g(); }"),
    ("E1006", "mod a { pub struct P { x: Int } pub fn f() -> P { P { x: 1 } } } fn main() { print(a::f().«x); }"),
    ("E1006", "mod a { pub struct P { x: Int } } fn main() { print(a::«P { }); }"),
    ("", "mod a { pub struct P { x: Int } pub mod b { pub fn f() -> Int { super::P { x: 1 }.x } } } fn main() { a::b::f(); }"),
    ("", "mod a { use super::b::g; pub fn f() { g() } } mod b { use super::a::f; pub fn g() { f() } } fn main() {}"),
    ("", "mod a { pub use super::b::*; } mod b { pub use super::c::*; } mod c { pub use super::a::*; } fn main() {}"),
    ("E1008", "mod a { pub fn f() {} } mod b { pub fn f() {} } use a::*; use b::*; fn main() { «f(); }"),
    ("E1010", "mod a { pub enum E { V } } fn main() { print(a::E::«W); }"),
    ("E2001", "mod a { pub struct P { } } mod b { pub struct P { } } fn main() { let _p: a::P = «b::P { }; }"),
    ("W0002", "mod a { pub fn f() {} } use a::«f; fn main() {}"),
    ("W0002", "mod a { pub fn f() {} } fn main() { use a::«f; a::f(); }"),
    ("", "mod a { pub fn f() {} } pub use a::f; fn main() {}"),
    ("", "mod a { pub fn a() {} } fn main() { use a::a; a(); }"),
    ("", "use std::math::{abs, max}; fn main() { print(abs(1), max(1, 2)); }"),
    ("E2006", "fn main() { «std::math::max(1); }"),
    ("E2028", "fn main() { «std::math::max<Int>(1, 2); }"),
    ("E2028", "fn main() { let _s: Set<Int> = «Set<Int, Int>::new(); }"),
]


@pytest.mark.parametrize(("codes", "text"), CASES)
def test_modules_of_one_file(codes: str, text: str, expect: Callable[[str, str], None]) -> None:
    expect(codes, text)


def program(files: dict[str, str], main: str = "main.conc") -> Compilation:
    return check_source(files[main].encode(), main, lambda name: files[name].encode() if name in files else None)


def found(result: Compilation) -> list[tuple[str, str]]:
    return [(d.code, d.span.file) for d in result.diagnostics.ordered()]


def test_the_first_place_may_be_a_module() -> None:
    (twice,) = program({"main.conc": "mod a; use a::a; fn main() {}", "a.conc": "pub fn a() {}"}).diagnostics.ordered()
    (first,) = twice.related
    assert (twice.code, first.span.start) == ("E1003", 4)


def test_only_files_that_are_named_are_read() -> None:
    result = program({"main.conc": "fn main() { a::f(); }", "a.conc": "pub fn f() {}", "b.conc": "fn ("})
    assert found(result) == [] and list(result.sources) == ["main.conc", "a.conc"]


@pytest.mark.parametrize(
    "text",
    [
        "enum E { V } fn main() { print(E::V); }",
        "use std::math as E; fn main() { print(E::abs(1)); }",
        "mod E { pub fn f() {} } fn main() { E::f(); }",
    ],
)
def test_a_file_named_like_something_of_the_module_is_not_read(text: str) -> None:
    result = program({"main.conc": text, "E.conc": "broken ("})
    assert found(result) == []


@pytest.mark.parametrize(
    "text",
    [
        "use a; fn main() { a::f(); }",
        "use a::f; fn main() { f(); }",
        "use a::{f}; fn main() { f(); }",
        "use crate::{a::f}; fn main() { f(); }",
        "fn main() { crate::a::f(); }",
        "mod b { pub fn g() { super::a::f() } } fn main() { b::g(); }",
        "fn g(_x: a::P?) {} fn main() { g(nil); }",
        "fn main() { match 1 { a::ONE => {}, _ => {} } }",
    ],
)
def test_every_way_to_name_a_module_of_the_root(text: str) -> None:
    result = program({"main.conc": text, "a.conc": "pub fn f() {} pub struct P { } pub const ONE: Int = 1;"})
    assert found(result) == [] and "a.conc" in result.sources


def test_a_file_is_one_module() -> None:
    files = {
        "main.conc": "mod a; fn main() { a::b::f(P { }); b::f(a::b::P { }); } use b::P;",
        "a.conc": "pub mod b;",
        "b.conc": "pub struct P { } pub fn f(_p: P) {}",
    }
    assert found(program(files)) == []


def test_a_module_that_declares_itself() -> None:
    assert found(program({"x.conc": "mod x; fn main() {}"}, "x.conc")) == [("E1007", "x.conc")]


def test_lexical_errors_of_all_files_come_alone() -> None:
    files = {"main.conc": "mod a; mod b; fn main() { let = 1; }", "a.conc": '"\\q"', "b.conc": "fn f( {"}
    assert found(program(files)) == [("E0007", "a.conc")]


def test_names_are_checked_in_all_files() -> None:
    files = {"main.conc": "mod a; fn main() { x; }", "a.conc": "fn f() { y; }"}
    assert found(program(files)) == [("E1001", "a.conc"), ("E1001", "main.conc")]


def test_both_files_of_a_module_are_reported_once() -> None:
    files = {"main.conc": "mod a; fn main() { a::f(); b::g(); }", "a.conc": "pub fn f() {}", "a/mod.conc": "", "b.conc": ""}
    files["b.conc"] = "pub fn g() { a::f() }"
    assert found(program(files)) == [("E1011", "main.conc")]


def test_modules_come_after_those_they_import() -> None:
    files = {
        "main.conc": "use b::log as l; memory m: Memory = Memory::new(); m.append(\"user\", \"3\"); fn main() { l.len(); }",
        "b.conc": "use c::n; pub memory log: Memory = Memory::new(); log.append(\"user\", \"${n.len()}\");",
        "c.conc": "pub memory n: Memory = Memory::new(); n.append(\"user\", \"1\");",
    }
    result = program(files)
    assert result.checked is not None
    assert [statement.span.file for _, statement in result.checked.init] == ["c.conc", "b.conc", "main.conc"]


def test_images_name_files_in_order() -> None:
    files = {"main.conc": "use z::f; use a::g; fn main() { f(); g(); }", "z.conc": "pub fn f() {}", "a.conc": "pub fn g() {}"}
    def read(name: str) -> bytes | None:
        return files[name].encode() if name in files else None

    image = compile_source(files["main.conc"].encode(), "main.conc", read=read).image
    assert image is not None
    assert [row[0] for row in image.source_map] == ["a.conc", "main.conc", "z.conc"]
    assert image.source == [files[row[0]] for row in image.source_map]
    assert sorted(image.exports.functions) == ["a::g", "z::f"]


def test_the_help_names_the_missing_import() -> None:
    result = program({"main.conc": "mod a; fn main() { f(); }", "a.conc": "pub fn f() {}"})
    assert [d.help for d in result.diagnostics.ordered()] == ["add `use crate::a::f;`"]


def test_the_help_names_no_import_that_a_private_module_forbids() -> None:
    files = {"main.conc": "mod a { mod b { pub fn f() {} } pub mod c { pub fn g() {} } } fn main() { f(); g(); }"}
    assert [d.help for d in program(files).diagnostics.ordered() if d.code == "E1001"] == [
        "declare it first, or import it with `use`", "add `use crate::a::c::g;`",
    ]  # fmt: skip
