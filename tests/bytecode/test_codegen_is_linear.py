"""Code is generated in time that grows with the program: questions about all of it are answered from tables."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest
from concerto.compiler import types
from concerto.compiler.codegen import aliases, moves, program, schemas
from concerto.compiler.codegen.module import Module
from concerto.compiler.pipeline import compile_source
from concerto.vm.bytecode import image as im

Counted = Callable[[Any, str], Callable[[], int]]
MANY = 200


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Counted:
    """Count the calls of a function from now on."""

    def count(owner: Any, name: str) -> Callable[[], int]:
        original, calls = getattr(owner, name), [0]

        def counting(*arguments: Any) -> Any:
            calls[0] += 1
            return original(*arguments)

        monkeypatch.setattr(owner, name, counting)
        return lambda: calls[0]

    return count


def compiled(text: str) -> im.Image:
    compilation = compile_source(text.encode(), "t.conc")
    assert compilation.image is not None, compilation.diagnostics.ordered()
    return compilation.image


def test_a_long_chain_of_calls_that_suspends() -> None:
    length = 20_000
    emitters = [SimpleNamespace(calls={n + 1} if n < length - 1 else set(), suspends=n == length - 1) for n in range(length)]
    module: Any = SimpleNamespace(pending=[SimpleNamespace(number=n, emitter=emitter) for n, emitter in enumerate(emitters)])
    functions: Any = [SimpleNamespace(flags=0) for _ in range(length)]
    started = time.process_time()
    program.mark_suspending(functions, module)
    assert time.process_time() - started < 5
    assert all(function.flags == im.F_SUSPENDS for function in functions)


def test_defaults_of_a_type_are_found_without_all_structs(counted: Counted) -> None:
    structs = "".join(f"struct S{n} {{ a: Int = 1 }}\n" for n in range(MANY))
    reads = "".join(f"fn f{n}(s: String) {{ println(json::parse_as<S{n}>(s)); }}\n" for n in range(MANY))
    calls = counted(types, "bare")
    compiled(f"use std::json;\n{structs}{reads}fn main() {{}}")
    assert calls() < 50 * MANY


def test_a_dynamic_call_looks_at_the_methods_of_its_name() -> None:
    class Unwalked(dict[Any, int]):
        def __iter__(self) -> Any:
            raise AssertionError("all functions are walked over")

    module = Module([], functions=Unwalked())
    module.partial_functions("m", 1, [])


def test_the_name_of_a_schema_is_compared_with_no_other() -> None:
    class Unwalked(list[Any]):
        def __iter__(self) -> Any:
            raise AssertionError("all entries are walked over")

    module, symbol, type_ = Module([], schema_entries=Unwalked()), cast(Any, object()), types.Nominal("schema", "S")
    names = [schemas._entry_name(module, symbol, type_) for _ in range(3)]
    assert names == ["S", "S#2", "S#3"]


@pytest.mark.parametrize(
    ("head", "line"),
    [
        ("struct P { a: Array<Int> } fn main() { let mut p = P { a: [] };", "let c{n} = p.a; p.a.push({n});"),
        ("fn main() { let mut p = [1];", "let c{n} = p; p.push({n});"),
        ("fn main() { let p = [[1]]; let mut sum = 0;", "for x in p {{ sum += x.len(); }}"),
        ("fn f(p: Array<Int>) -> Int { p.len() } fn main() { let mut p = [1];", "println(f(p)); p.push({n});"),
        ("fn f(p: Array<Int>) -> Array<Int> { let mut q = p; q.push(1); q } fn main() { let mut p = [1];", "p = f(p);"),
    ],
)
def test_who_holds_a_value_is_asked_of_those_that_may(counted: Counted, head: str, line: str) -> None:
    questions = [counted(*place) for place in (
        (aliases.Entry, "without"), (aliases, "_seen_elsewhere"), (aliases, "overlap"), (aliases, "clash"), (moves, "overlap"),
        (moves, "clash"), (moves.Body, "stack"),
    )]  # fmt: skip
    compiled(head + "".join(line.format(n=n) for n in range(MANY)) + "println(p); }")
    assert sum(asked() for asked in questions) < 100 * MANY


def test_a_caller_behind_its_callees_is_decided_once_for_all_of_them(counted: Counted) -> None:
    callees = "".join(f"fn f{n}(p: Array<Int>) -> Array<Int> {{ p }}\n" for n in range(MANY))
    decided = counted(moves.Body, "decide")
    compiled(callees + "fn main() { let p = [1];" + "".join(f"println(f{n}(p));" for n in range(MANY)) + "}")
    assert decided() < 1.5 * MANY


def test_variables_that_are_used_once_are_not_looked_for_to_the_end(counted: Counted) -> None:
    lines = "".join(f"let c{n} = o(); if c{n} != nil {{ p.push(c{n}); }}\n" for n in range(MANY))
    followed = counted(moves.Body, "_following")
    image = compiled(f"fn o() -> Array<Int>? {{ [1] }} fn main() {{ let mut p = [[1]]; {lines} println(p); }}")
    instructions = sum(len(function.code) for function in image.functions)
    assert followed() < 4 * instructions


LONG = "x" * 1_100_000
TOO_LONG = {
    "a name": f"fn {LONG[:2000]}() {{ }} fn main() {{ {LONG[:2000]}(); }}",
    "a doc comment": f"/// {LONG}\npub fn f() {{ }} fn main() {{ }}",
    "a field of a model": f'model M {{ provider: openai, base: "gpt-5", system_prompt: "{LONG}" }} fn main() {{ }}',
    "a string union": f'fn f(x: "{LONG}" | "b") {{ print(x); }} fn main() {{ f("b"); }}',
}


@pytest.mark.parametrize("what", TOO_LONG)
def test_what_no_image_can_hold_is_an_error_of_the_program(what: str) -> None:
    compilation = compile_source(TOO_LONG[what].encode(), "long.conc")
    assert [(d.code, d.span.start) for d in compilation.diagnostics.found if d.is_error] == [("E0114", 0)]
    assert compilation.image is None
