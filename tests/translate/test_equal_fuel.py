"""Fuel is charged at the same points with the same amounts in both tiers: with any budget a run ends at the same instruction,
with the same emits, the same fuel used and the same panic (G-6.2, G-16.2)."""

from __future__ import annotations

import random
from typing import Any

import pytest

from ..fuzz.campaign import fresh_seed
from .random_programs import program
from .tiers import loaded, observed

BUDGETS = 1_000
PROGRAMS = 10
LONGEST = 3_000  # steps of a program; what is longer is stopped there
BLOCK_THAT_PANICS = "fn main() { let mut xs = [1]; let mut n = 0; while n < 9 { n += 1; xs.push(n); } emit(\"at\", xs[n + 7]); }"


class Pair:
    """A program, loaded once for each tier."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.interpreted, self.translated = loaded(source), loaded(source)

    def ends(self, **limits: int) -> tuple[Any, ...]:
        expected = observed(self.interpreted, "interp", **limits)
        assert observed(self.translated, "both", **limits) == expected, f"{limits} of\n{self.source}"
        return expected


@pytest.mark.parametrize("part", range(PROGRAMS))
def test_a_budget_ends_both_tiers_at_the_same_instruction(part: int) -> None:
    seed = fresh_seed()
    print(f"seed {seed}")
    chance = random.Random(seed)
    pair = Pair(program(chance.randrange(10_000)))
    whole = pair.ends(steps=LONGEST)[2]
    stopped = sum("P101" in str(pair.ends(steps=chance.randint(1, whole))[1]) for _ in range(BUDGETS // PROGRAMS))
    assert stopped * 2 > BUDGETS // PROGRAMS


def test_every_budget_of_a_small_program() -> None:
    """A block that ends in a panic stays charged whole."""
    pair = Pair(BLOCK_THAT_PANICS)
    whole = pair.ends()
    assert whole[1] is not None and "P004" in whole[1][0]
    ends = [pair.ends(steps=steps) for steps in range(1, whole[2] + 2)]
    assert [("P101" in end[1][0]) for end in ends] == [True] * (whole[2] - 1) + [False, False]
