"""Duplicates and conflicts point to the first place (L-4.1.7)."""

from __future__ import annotations

import pytest
from concerto.compiler.pipeline import compile_source

# Each has its first place on line 1 and what repeats it on line 2.
TWICE = {
    "function": "fn a() { }\nfn a() { }",
    "struct": "struct A { }\nstruct A { }",
    "constant": "const A: Int = 1;\nconst A: Int = 2;",
    "model": "model M { provider: offline }\nmodel M { provider: offline }",
    "memory": "memory m: Memory = Memory::new();\nmemory m: Memory = Memory::new();",
    "import": "use std::json::parse;\nuse std::json::parse;",
    "field": "struct A { x: Int,\nx: Int }",
    "variant": "enum A { X,\nX }",
    "parameter": "fn f(a: Int,\na: Int) { }",
    "type parameter": "fn f<T,\nT>(a: T) { }",
    "method": "struct A { } impl A { fn f(self) { }\nfn f(self) { } }",
    "impl of a trait": "trait T { } struct A { } impl T for A { }\nimpl T for A { }",
    "method of a trait": "trait T { fn f(self);\nfn f(self); }",
    "binding of a pattern": "fn main() { let (a,\na) = (1, 2); println(a); }",
    "method of a tool": 'tool T { description: "t", @describe("d") pub fn f(self) { }\n@describe("d") pub fn f(self) { } }',
    "named argument": "fn f(a: Int) { } fn main() { f(a: 1,\na: 2); }",
    "field of a value": "struct A { x: Int } fn main() { let a = A { x: 1,\nx: 2 }; println(a.x); }",
    "header": 'connect a { provider: "openai", headers: { "X": "1",\n"X": "2" } }',
    "argument of a decorator": '@retry(max: 1,\nmax: 2)\nmodel M { provider: offline }',
    "step of a memory": "memory m: Memory = Memory::new().window(1)\n.window(2);",
    "part of a key": "memory m: Memory = Memory::new().per(a,\na);",
    "text of a parameter": 'tool T { description: "t", @describe("d") @param("q", "1")\n@param("q", "2")'
                         " pub fn f(self, q: Int) { } }",
    "field of a declaration": "model M { provider: offline, temperature: 0.5,\ntemperature: 0.6 }",
}


@pytest.mark.parametrize("name", TWICE)
def test_the_first_place_is_a_related_one(name: str) -> None:
    found = compile_source(TWICE[name].encode(), "main.conc").diagnostics.ordered()
    errors = [one for one in found if one.is_error]
    assert errors, "it is no error"
    related = [place for one in errors for place in one.related]
    assert related, [one.message for one in errors]
