"""What leaves translated code often stays with the interpreter, and what there is no room to translate (V-7.3)."""

from __future__ import annotations

from typing import Any

import concerto
import pytest
from concerto.runtime.session.session import run_offline
from concerto.vm.jit import functions
from concerto.vm.jit import tier as tiers

from .tiers import observed, session_of

SOURCE = """
memory m: Memory = Memory::new().window(4);
fn note(log: Any, n: Int) { log.append("user", "${n}"); }
pub fn loops(n: Int) { for i in 0..n { m.append("user", "${i}"); } }
pub fn calls(n: Int) { for i in 0..n { note(m, i); } }
fn now_and_then(i: Int) -> Int { if i % 100 == 0 { m.append("user", "${i}"); } i * 2 }
pub fn seldom(n: Int) -> Int { let mut sum = 0; for i in 0..n { sum = sum + now_and_then(i); } sum }
pub fn last() -> String { m.last(1)[0].content }
fn main() {}
"""


def left(function: str, rounds: int) -> tuple[int, str]:
    """How often a call left translated code, and what it did last."""
    counted = 0
    usual = tiers.Tier.count_deoptimisation

    def counting(self: tiers.Tier, unit: object) -> None:
        nonlocal counted
        counted += 1
        usual(self, unit)  # type: ignore[arg-type]

    tiers.Tier.count_deoptimisation = counting  # type: ignore[method-assign]
    try:
        with concerto.compile(SOURCE).session() as session:
            session.call(function, rounds)
            return counted, session.call("last")
    finally:
        tiers.Tier.count_deoptimisation = usual  # type: ignore[method-assign]


def test_what_leaves_each_time_is_given_up() -> None:
    for function in ("loops", "calls"):
        count, last = left(function, 3000)
        assert 0 < count <= 4 * tiers.PATIENCE and last == "2999", function


def test_what_leaves_seldom_is_not() -> None:
    count, last = left("seldom", 20_000)
    assert count > 150 and last == "19900"



CALLED_IN_A_LOOP = """
fn f(n: Int) -> Int { let mut s = 0; for i in 0..n { if i % 3 == 0 { s += i; } } s }
fn main() { let mut t = 0; for i in 0..100 { t += f(i); } emit("t", t); }
"""


@pytest.mark.parametrize("error", [RecursionError, MemoryError])
@pytest.mark.parametrize("at_once", [True, False])
def test_what_there_is_no_room_to_translate_is_interpreted(
    error: type[Exception], at_once: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A function may nest deeper than what is left of the host's stack, on which the interpreter needs nothing for it."""
    expected = observed(CALLED_IN_A_LOOP, "interp")[0]
    tried = []

    def without_room(*arguments: Any) -> Any:
        tried.append(arguments)
        raise error

    emits: list[Any] = []
    session = session_of(CALLED_IN_A_LOOP, "both", emits, at_once=at_once)
    with monkeypatch.context() as patched:
        patched.setattr(functions, "Function", without_room)
        assert run_offline(session).panic is None
    assert emits == expected and tried
    translation = session.program.translation
    assert translation.count() == 0 and translation.packed() == ({}, {})  # another process may have the room
