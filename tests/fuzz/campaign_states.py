"""Mutated states of sessions: refused with ImageError, or a session that runs to outcomes of the language; never a Python
exception (O-9.45, G-2.24)."""

from __future__ import annotations

import functools
import random
from pathlib import Path

import concerto

from .campaign import Campaign, Figures
from .mutation import change_log, mutate

PROGRAM = concerto.compile(path=Path(__file__).with_name("state.conc"))
CALLS = ("touch", "logs", "act")
LIMITS = concerto.Budgets(steps=20_000, depth=100)
BODY, LOGS = 3, (3, 3, 2)  # where the tables stand, and the logs in them


def session() -> concerto.Session:
    return PROGRAM.session(offline=True, env={}, budgets=LIMITS)


@functools.cache
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


def states(seed: int, cases: int) -> Figures:
    rng = random.Random(seed)
    data = original()
    assert use(data), "the original is refused"
    taken = 0
    for number in range(cases):
        mutant = changed(data, rng)
        try:
            taken += use(mutant)
        except Exception as error:
            raise AssertionError(f"seed {seed}, case {number}: {error!r}") from error
    assert cases < 100 or 0 < taken < cases, taken
    return {"taken": taken}


CAMPAIGNS = [Campaign("states of sessions", "O-9.45, G-2.24", 120, 40_000, states)]
