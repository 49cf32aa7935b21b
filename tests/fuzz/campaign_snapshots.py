"""Mutated snapshots of runs: refused with SnapshotError, and nothing has changed; or the run goes on to an outcome of the
language. Never a Python exception (G-2.24)."""

from __future__ import annotations

import random

from concerto.runtime.session.state import resume, snapshot
from concerto.vm.snapshot.envelope import SnapshotError

from ..snapshot.programs import EVERYTHING, Between, Run, program_of
from .campaign import Campaign, Figures
from .mutation import mutate

PROGRAM = program_of(EVERYTHING)
STEPS, BODY = 80, 3
EACH = 10  # mutants that one moment is tried with


def snapshots(seed: int, cases: int) -> Figures:
    rng = random.Random(seed)
    tried = taken = 0
    while tried < cases:
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
        except Exception as error:
            raise AssertionError(f"seed {seed}, case {tried}, step {moment}: {error!r}") from error
    assert cases < 100 or 0 < taken < tried, taken
    return {"taken": taken}


CAMPAIGNS = [Campaign("snapshots of runs", "G-2.24", 120, 40_000, snapshots)]
