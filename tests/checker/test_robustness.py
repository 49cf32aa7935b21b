"""The checker never raises: deep trees, long chains, long circles, damaged programs (G-5.2, L-2.6.7)."""

from __future__ import annotations

import random
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from concerto.compiler.checker.program import check
from concerto.compiler.diagnostics import Diagnostics
from concerto.compiler.pipeline import compile_source
from concerto.compiler.source import Source
from concerto.compiler.syntax.ast import Nesting
from concerto.compiler.syntax.parse import parse
from concerto.vm.values.objects import RECORDS

DEPTH = 240
DEEP = {
    "parentheses": "let x = " + "(" * DEPTH + "1" + ")" * DEPTH + "; print(x);",
    "blocks": "let x = " + "{ let y = 1; y + " * (DEPTH // 2) + "1" + "}" * (DEPTH // 2) + "; print(x);",
    "arrays": "let x = " + "[" * DEPTH + "1" + "]" * DEPTH + "; print(x);",
    "constructors": "let x = " + "Some(" * DEPTH + "1" + ")" * DEPTH + "; print(x);",
    "branches": "if true { " * DEPTH + "print(1);" + "}" * DEPTH,
    "closures": "let f = " + "|_x| " * DEPTH + "1; print(f);",
    "matches": "let x = " + "match 1 { _ => { " * (DEPTH // 2) + "1" + "}}" * (DEPTH // 2) + "; print(x);",
    "tries": "try { " * DEPTH + "print(1);" + "} catch { }" * DEPTH,
    "types": "let x: " + "Array<" * DEPTH + "Int" + ">" * DEPTH + " = []; print(x);",
}
LONG = 5000
CHAINS = {
    "sum": "let x = 1" + " + 1" * LONG + "; print(x);",
    "logic": "let x = true" + " && true" * LONG + "; print(x);",
    "absence": "let n: Int? = 1; print(n" + " ?? nil" * LONG + ");",
    "pipes": "fn f(x: Int) -> Int { x } fn main() { print(1" + " |> f" * LONG + "); }",
    "constant": 'const A: String = "a"' + ' + "b"' * LONG + "; fn main() { print(A); }",
    "assignment": "let x: Int; x = 1; let y = x" + " + x" * LONG + "; print(y);",
    "aliases": "fn main() { let x: A0 = 1; print(x); } "
    + "".join(f"type A{i} = A{i + 1}; " for i in range(1500))
    + "type A1500 = Int;",
    "constants": "fn main() { print(A0); } "
    + "".join(f"const A{i}: Int = A{i + 1} + 1; " for i in range(1500))
    + "const A1500: Int = 1;",
    "structs": "".join(f"struct A{i} {{ x: A{i + 1} }} " for i in range(1500)) + "struct A1500 { x: Int } fn main() { }",
}


@pytest.mark.parametrize("name", DEEP)
def test_deep_nesting(name: str, snippet: Any) -> None:
    assert not [d for d in snippet(DEEP[name]).diagnostics if d.is_error]


@pytest.mark.parametrize("name", CHAINS)
def test_long_chains(name: str, snippet: Any) -> None:
    assert snippet(CHAINS[name]).diagnostics == []


HEAVY = {
    "deep": "let a0 = 1; " + "".join(f"let a{i + 1} = Some(a{i}); " for i in range(1500)) + "print(a1500);",
    "wide": "let a0 = (1, 1); " + "".join(f"let a{i + 1} = (a{i}, a{i}); " for i in range(40)) + "print(a40);",
    "declared": "".join(f"type A{i + 1} = Array<A{i}>; " for i in range(1500))
    + "type A0 = Int; fn main() { let _x: A1500 = []; }",
}


@pytest.mark.parametrize("name", HEAVY)
def test_types_that_grow_from_line_to_line(name: str, snippet: Any) -> None:
    """Types share their parts: few lines make one that a walk would not come out of (E0114)."""
    assert "E0114" in [d.code for d in snippet(HEAVY[name]).diagnostics]


def test_the_recursion_limit_is_left_alone() -> None:
    limit = sys.getrecursionlimit()
    nesting = Nesting()

    def descend(levels: int) -> int:
        assert sys.getrecursionlimit() == limit
        return levels if levels == 0 else nesting.call(descend, levels - 1)

    assert descend(3 * limit) == 0
    assert nesting.depth == 0


def test_an_exception_crosses_the_threads_of_a_walk() -> None:
    nesting = Nesting()

    def descend(levels: int) -> None:
        if levels == 0:
            raise KeyError("deep")
        nesting.call(descend, levels - 1)

    with pytest.raises(KeyError):
        descend(200)


TOKEN = re.compile(r'"[^"]*"|[A-Za-z_@][A-Za-z0-9_]*|\d+\.?\d*|\S')


def _snippets() -> list[str]:
    """The snippets of this folder's tables, as seeds."""
    seeds = []
    for path in sorted(Path(__file__).parent.glob("test_*.py")):
        for line in path.read_text(encoding="utf-8").splitlines():
            found = re.match(r"""    \("[EW0-9 ]*", (?:E \+ |P \+ |MODEL \+ )*(["'])(.*)\1( \+ MAIN)?\),$""", line)
            if found:
                seeds.append(found.group(2).replace("«", "").replace('\\"', '"'))
    return seeds


def test_damaged_programs_never_raise() -> None:
    seeds = _snippets()
    assert len(seeds) > 200
    words = [token for seed in seeds for token in TOKEN.findall(seed) if token[0].isalnum()]
    rng = random.Random(11)
    sound = 0
    for _ in range(1500):
        text = rng.choice(seeds)
        text = text if "fn main" in text else f"fn main() {{ {text} }}"
        for _ in range(rng.randint(1, 3)):
            places = list(TOKEN.finditer(text))
            at = rng.choice([p for p in places if p.group()[0].isalnum()] or places)
            text = text[: at.start()] + rng.choice(words) + text[at.end() :]
        source, diagnostics = Source("damaged.conc", text), Diagnostics()
        tree = parse(source, diagnostics)
        if not diagnostics.has_errors:
            sound += 1
            check(tree, source, diagnostics)
            assert all(0 <= d.span.start <= d.span.end <= len(text) for d in diagnostics.ordered())
    assert sound > 300


def test_record_fields_are_those_of_the_machine() -> None:
    from concerto.compiler.checker.declarations import RECORD_FIELDS

    for name, fields in RECORD_FIELDS.items():
        assert tuple(fields) == RECORDS[name].decl.fields


def test_every_code_of_resolver_and_checker_has_a_case() -> None:
    here = Path(__file__).parent
    compiler = here.parent.parent / "compiler"
    used = set()
    for folder in ("resolver", "checker"):
        for path in (compiler / folder).glob("*.py"):
            used.update(re.findall(r'"([EW]\d{4})"', path.read_text(encoding="utf-8")))
    tested = set()
    programs = (compiler.parent / "conformance" / "tests").rglob("*.conc")
    for path in [*here.glob("test_*.py"), *programs]:
        tested.update(re.findall(r"[EW]\d{4}", path.read_text(encoding="utf-8", errors="replace")))
    assert used - tested == set()


def test_nested_loops_are_walked_once_a_level(expect: Callable[[str, str], None]) -> None:
    """Definite assignment looks at a loop twice, but not twice at each level."""
    inner = "break;"
    for _ in range(100):
        inner = f"loop {{ {inner} }} break;"
    expect("", f"let x: Int; loop {{ x = 1; {inner} }} print(x);")


NESTED = {"constructors": "Some({})", "tuples": "({},)", "arrays": "[{}]", "expressions": "Some({})"}


@pytest.mark.parametrize("name", NESTED)
def test_what_may_nest_does_not_hang_on_the_stack_of_the_caller(name: str) -> None:
    before, behind = NESTED[name].split("{}")
    inside = before * DEPTH + "y" + behind * DEPTH
    arm = "y => { print(" + inside + "); }" if name == "expressions" else inside + " => { print(y); } _ => { }"
    text = "fn main() { let v: Any = 1; match v { " + arm + " } }"

    def below(levels: int) -> Any:
        return below(levels - 1) if levels else compile_source(text.encode(), "deep.conc")

    compilation = below(600)
    assert not compilation.diagnostics.has_errors and compilation.image is not None


def test_items_of_a_stream_of_what_is_no_schema(expect: Callable[[str, str], None]) -> None:
    expect("E4044 E4044", 'fn f(s: TypedStream<Int>, t: TypedStream<Any>) { s.items(«"a"); t.items(«"a"); } fn main() { }')
    text = 'enum E { A } fn f<T>(s: TypedStream<E>, t: TypedStream<T>) { s.items(«"a"); t.items(«"a"); } fn main() { }'
    expect("E4044 E4044", text)
    expect("E1002", 'fn f(s: TypedStream<«Gone>) { s.items("a"); } fn main() { }')


def test_a_trait_that_the_type_before_it_does_not_implement(expect: Callable[[str, str], None]) -> None:
    traits = "trait X { fn go(self) -> Int { 1 } } impl X for P { } struct P { } struct Q { } enum E { A } "
    expect("E1010", traits + "fn main() { print(Q::«X::go(P { })); print(P::X::go(P { })); }")
    expect("E1010 E1010 E1010", traits + "fn main() { print(Int::«X::go(1)); print(E::«X::go); print(HttpError::«X::go(1)); }")


def test_the_trait_of_a_tool_takes_types_as_deep_as_others(snippet: Any) -> None:
    deep = "Array<" * DEPTH + "Int" + ">" * DEPTH
    method = f'pub fn go(self, @param("a") a: {deep} = {"[" * DEPTH + "]" * DEPTH}) -> {deep} {{ a }}'
    trait = f"trait X {{ fn go(self, a: {deep}) -> {deep}; }} "
    text = f'{trait}tool T impl X {{ description: "d", @describe("b") {method} }} fn main() {{ }}'
    assert "E0114" not in [d.code for d in snippet(text).diagnostics if "JSON form" not in d.message]
