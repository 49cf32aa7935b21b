"""Mutated snapshots of runs: refused with SnapshotError, and nothing has changed; or the run goes on to an outcome of the
language. Never a Python exception (G-2.24).

CONCERTO_FUZZ_STATES sets the number of mutations, CONCERTO_FUZZ_SEED another sequence.
"""

from __future__ import annotations

import os
import random

import pytest
from concerto.runtime.suspension import resume, snapshot
from concerto.vm.snapshot.errors import SnapshotError

from ..snapshot.programs import EVERYTHING, Between, Run, program_of
from .mutation import mutate

COUNT = int(os.environ.get("CONCERTO_FUZZ_STATES", "2400"))
PARTS = 3
SEED = int(os.environ.get("CONCERTO_FUZZ_SEED", "1"))
PROGRAM = program_of(EVERYTHING)
STEPS, BODY = 80, 3
EACH = 10  # mutants that one moment is tried with


@pytest.mark.parametrize("part", range(PARTS))
def test_mutations(part: int) -> None:
    rng = random.Random(SEED * 1000 + part)
    tried = taken = 0
    while tried < COUNT // PARTS:
        moment = rng.randrange(1, STEPS)

        def between(session: Between, moment: int = moment) -> None:
            nonlocal tried, taken
            if session.steps != moment:
                return
            data, machine = snapshot(session), session.machine
            for _ in range(EACH):
                tried += 1
                try:
                    resume(session, mutate(data, rng, BODY))
                except SnapshotError as error:
                    assert ";" in error.message and session.machine is machine
                else:
                    taken += 1
                    return
            assert snapshot(session) == data

        try:
            Run(PROGRAM, between).outcome()
        except BaseException as error:
            error.add_note(f"mutation {tried} of part {part}, seed {SEED}, step {moment}")
            raise
    assert 0 < taken < tried
