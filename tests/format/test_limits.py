"""Length and depth: what the compiler takes, the formatter takes, in linear time and without the host's stack."""

from __future__ import annotations

import time

import pytest

from .laws import broken_law, canonical
from .programs import corpus

TERMS = 10_000
DEEP = 240  # the language allows 256 (L-2.6.7)

LONG = {
    "sum": "let x = " + " + ".join(["a"] * TERMS) + ";",
    "mixed operators": "let x = " + " - ".join(["a * b"] * TERMS) + ";",
    "condition": "if " + " && ".join(["a"] * TERMS) + " { }",
    "pipe": "let x = a" + " |> f(1)?" * TERMS + ";",
    "default": "let x = " + " ?? ".join(["a"] * TERMS) + ";",
    "casts": "let x = a" + " as Int" * TERMS + ";",
    "alternatives": "match x { " + " | ".join(map(str, range(TERMS))) + " => 1 }",
    "numbers": "let x = [" + "12345, " * TERMS + "];",
    "arguments": "f(" + "abc, " * TERMS + ");",
    "statements": "a; " * TERMS,
}
NESTED = {
    "parentheses": "let x = " + "(" * DEEP + "a" + ")" * DEEP + ";",
    "arrays": "let x = " + "[" * DEEP + "a" + "]" * DEEP + ";",
    "calls": "let x = " + "f(" * DEEP + "a" + ")" * DEEP + ";",
    "methods": "let x = a" + ".b(c)" * DEEP + ";",
    "closures": "let x = " + "|a| " * DEEP + "a;",
    "closures with blocks": "let x = " + "f(|a| { " * (DEEP // 2) + "a" + " })" * (DEEP // 2) + ";",
    "signs": "let x = " + "- " * DEEP + "a;",
    "powers": "let x = " + " ** ".join(["a"] * DEEP) + ";",
    "assignments": "a = " * DEEP + "b;",
    "blocks": "{" * DEEP + "}" * DEEP,
    "branches": "if a { " * DEEP + "}" * DEEP,
    "else if": "if a { 1 }" + " else if b { 2 }" * DEEP,
    "matches": "match a { b => " * DEEP + "c" + " }" * DEEP,
    "types": "let x: " + "Array<" * DEEP + "Int" + ">" * DEEP + " = 1;",
}


@pytest.mark.parametrize("name", LONG)
def test_long_chains(name: str) -> None:
    text = f"fn f() {{ {LONG[name]} }}"
    started = time.process_time()
    once = canonical(text)
    assert time.process_time() - started < 5, "the time grows faster than the text"
    assert canonical(once) == once


@pytest.mark.parametrize("name", NESTED)
def test_deep_nesting(name: str) -> None:
    assert broken_law(f"fn f() {{ {NESTED[name]} }}") is None


def test_three_thousand_lines_take_less_than_a_second() -> None:
    programs = [text for name, text in corpus().items() if name.startswith(("benches/", "examples/"))]
    lines = ("\n".join(programs * 20)).split("\n")
    text = ""
    while text.count("\n") < 3000:
        text += programs[text.count("\n") % len(programs)] + "\n"
    assert len(lines) > 3000
    best = min(seconds(text) for _ in range(3))
    assert best < 1, f"{best:.2f} s for {text.count(chr(10))} lines"


def seconds(text: str) -> float:
    started = time.process_time()
    canonical(text)
    return time.process_time() - started
