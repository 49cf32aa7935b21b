"""A constant of another kind than the image says: a value or a panic with its place in both tiers, whatever the function has
(G-3.8), and no work or memory that the limits do not know (G-3.9)."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from typing import Any

import pytest
from concerto.compiler.pipeline import compile_source
from concerto.runtime.session.session import Session, run_offline
from concerto.vm.bytecode.image import K_FLOAT, K_INT, K_STRING
from concerto.vm.interp.link import load_image

from .tiers import host_of

CALLS = """
fn main() {{
    for i in 0..30 {{ f({good}); }}
    emit("out", f({forged}));
}}
"""
LARGE = 7000000
HUGE = 1 << 33


@pytest.fixture(autouse=True)
def little_memory() -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (4 << 30, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, before)


def outcome(function: str, good: str, forged: str, constant: tuple[int, Any], way: str) -> tuple[list[Any], Any]:
    """Emits and panic when the constant LARGE, or 7.5, is another one."""
    compiled = compile_source((function + CALLS.format(good=good, forged=forged)).encode(), "main.conc")
    assert compiled.image is not None, [found.message for found in compiled.diagnostics.found]
    constants = compiled.image.constants
    places = [number for number, (_, value) in enumerate(constants) if value in (LARGE, 7.5)]
    assert places
    for number in places:
        constants[number] = constant
    emits: list[Any] = []
    session = Session(load_image(compiled.image), host_of("interp" if way == "cold" else "both", emits))
    if way in ("at once", "metered"):
        session.machine.tiers(True, at_once=True, counted=way == "metered")
    return emits, run_offline(session).panic


WAYS = ("cold", "warm", "at once", "metered")
TEXT = (K_STRING, "ab")
PANICS = {
    "comparison": ("fn f(a: Int, b: Int) -> Bool { a > b }", "i, 5", f"{LARGE}, 5", TEXT),
    "product": ("fn f(a: Int, b: Int) -> Int { a * b }", "i, 5", f"{LARGE}, {HUGE}", TEXT),
    "product the other way": ("fn f(a: Int, b: Int) -> Int { a * b }", "i, 5", f"{HUGE}, {LARGE}", TEXT),
    "product with a number": (f"fn f(a: Int) -> Int {{ a * {HUGE} }}", "i", f"{LARGE}", TEXT),
    "product of elements": ("fn f(a: Array<Int>) -> Int { a[0] * a[1] }", "[i, 2]", f"[{LARGE}, {HUGE}]", TEXT),
    "product of a captured": ("fn f(a: Int) -> Int { let g = |n: Int| a * n; g(" + str(HUGE) + ") }", "0", f"{LARGE}", TEXT),
    "rest": ("fn f(a: Int) -> Bool { a % 2 == 0 }", "i", f"{LARGE}", (K_STRING, "%8999999999d")),
    "rest of a field": ("struct P { x: Int } fn f(p: P) -> Bool { p.x % 3 != 0 }", "P { x: i }", f"P {{ x: {LARGE} }}",
                        (K_STRING, "%8999999999d")),
    "sum of texts": ("fn f(a: Float, b: Float) -> Float { let mut s = a; for i in 0..40 { s = s + s; } s }", "1.5, 1.5",
                     "7.5, 1.5", TEXT),
    "product of floats": ("fn f(a: Float, b: Int) -> Float { a * b.to_float() }", "1.5, 2", f"7.5, {HUGE}", TEXT),
    "key": ("fn f(k: Int) -> Int { let mut m: Map<Int, Int> = {}; m[k] = 1; m.len() }", "i", f"{LARGE}", (K_FLOAT, 1.5)),
    "key of a look": ("fn f(k: Int) -> Bool { let m = {1: 2}; m.has(k) }", "i", f"{LARGE}", (K_FLOAT, 1.5)),
    "nothing but a return": ("fn f(a: Int) -> Int { -a }", "i", f"{LARGE}", TEXT),
}  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", PANICS)
def test_a_value_of_another_kind_is_a_panic_with_its_place(name: str, way: str) -> None:
    emits, panic = outcome(*PANICS[name], way)
    assert panic is not None and panic.code == "P007", (emits, panic)
    assert panic.position is not None and panic.position[:2] == ("main.conc", 1)
    assert [label for label, *_ in panic.trace][-1] == "main"


@pytest.mark.parametrize("way", WAYS)
def test_no_int_beyond_64_bits(way: str) -> None:
    """Instructions of Floats give Floats of whatever numbers they are given."""
    function = "fn f(a: Float, b: Float) -> Float { let mut s = a; for i in 0..9 { s = s * s + s - b; } s }"
    emits, panic = outcome(function, "1.5, 0.5", "7.5, 0.5", (K_INT, (1 << 63) - 1), way)
    assert panic is None and [value for _, value in emits] == ['"inf"'] or emits == [("out", "null")], emits


@pytest.mark.parametrize("way", WAYS)
def test_a_hole_of_another_kind_has_its_display_text(way: str) -> None:
    # Python says 2.0
    function = 'fn f(a: Int) -> String { "n${a} ${a + 1 - 1}" }'
    emits, panic = outcome(function, "i", f"{LARGE}", (K_FLOAT, 2.0), way)
    assert panic is None and emits == [("out", '"n2 2"')]
