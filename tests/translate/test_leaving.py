"""What leaves translated code often stays with the interpreter (V-7.3)."""

from __future__ import annotations

import concerto
from concerto.vm.jit import tier as tiers

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
