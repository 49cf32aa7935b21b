"""Mutated states of sessions: refused with ImageError, or a session that runs to outcomes of the language; never a Python
exception (O-9.45, G-2.24).

CONCERTO_FUZZ_STATES sets the number of mutations, CONCERTO_FUZZ_SEED another sequence.
"""

from __future__ import annotations

import os
import random
from pathlib import Path

import concerto
import pytest

from .mutation import change_log, mutate

COUNT = int(os.environ.get("CONCERTO_FUZZ_STATES", "2400"))
PARTS = 3
SEED = int(os.environ.get("CONCERTO_FUZZ_SEED", "1"))
PROGRAM = concerto.compile(path=Path(__file__).with_name("state.conc"))
CALLS = ("touch", "logs", "act")
LIMITS = concerto.Budgets(steps=20_000, depth=100)
BODY, LOGS = 3, (3, 3, 2)  # where the tables stand, and the logs in them


def session() -> concerto.Session:
    return PROGRAM.session(offline=True, env={}, budgets=LIMITS)


def original() -> bytes:
    with session() as filled:
        filled.call("fill")
        return filled.dump()


def changed(data: bytes, rng: random.Random) -> bytes:
    return change_log(data, rng, LOGS) if rng.random() < 0.25 else mutate(data, rng, BODY)


def use(data: bytes) -> bool:
    """Whether the state was taken; if so, everything in it is used."""
    with session() as restored:
        before = restored.dump()
        try:
            restored.restore(data)
        except concerto.ImageError as error:
            assert error.code.startswith("V00") and ";" in error.message  # what is wrong; the way out
            assert restored.dump() == before
            return False
        for name in CALLS:
            try:
                restored.call(name)
            except (concerto.ProgramError, concerto.Panic):
                continue
        return True


def test_the_original_runs() -> None:
    assert use(original())


@pytest.mark.parametrize("part", range(PARTS))
def test_mutations(part: int) -> None:
    rng = random.Random(SEED * 1000 + part)
    data = original()
    taken = 0
    for number in range(COUNT // PARTS):
        mutant = changed(data, rng)
        try:
            taken += use(mutant)
        except BaseException as error:
            error.add_note(f"mutation {number} of part {part}, seed {SEED}")
            raise
    assert 0 < taken < COUNT // PARTS
