"""Mutated parts of volatile logs in snapshots: refused with SnapshotError, and nothing has changed; or memories go on with what
they are told, whatever it is, and fail only as memories do (G-2.24, M-14.6).

CONCERTO_FUZZ_STATES sets the number of mutations, CONCERTO_FUZZ_SEED another sequence.
"""

from __future__ import annotations

import os
import random
from typing import Any

import pytest
from concerto.runtime.memory.errors import MemoryFailure
from concerto.runtime.suspension import Snapshots, Told, resume, snapshot
from concerto.vm.snapshot.errors import SnapshotError

from ..snapshot.memories import DEEDS, MEMORIES, idle, memory
from .mutation import HASH, HEAD, change_log, change_structure, msgpack, sealed

COUNT = int(os.environ.get("CONCERTO_FUZZ_STATES", "2400"))
PARTS = 3
SEED = int(os.environ.get("CONCERTO_FUZZ_SEED", "1"))
EACH = 20  # mutants of one snapshot
OWN = (3, 3, 5)
LOGS = (*OWN, 3)


def changed(data: bytes, rng: random.Random) -> bytes:
    if rng.random() < 0.5:
        return change_log(data, rng, LOGS)
    value = msgpack.unpackb(data[HEAD:-HASH], strict_map_key=False)
    own: Any = value
    for step in OWN:
        own = own[step]
    for _ in range(rng.choice((1, 1, 2))):
        change_structure(own, rng, 3)
    return sealed(data[:HEAD] + msgpack.packb(value))


def deeds(session: Any, rng: random.Random, count: int) -> None:
    for _ in range(count):
        DEEDS[rng.choice(sorted(DEEDS))](memory(session, rng.choice(MEMORIES)), rng.randrange(6))


def use(session: Any, rng: random.Random) -> None:
    """All that memories do with what they hold."""
    for name in MEMORIES:
        for kind in ("append", "turn with tools", *rng.sample(sorted(DEEDS), 6)):
            try:
                held = memory(session, name)
                DEEDS[kind](held, rng.randrange(6))
                held.turns(), held.view(), held.stats(), held.dump()
            except MemoryFailure:
                continue
    snapshot(session)


@pytest.mark.parametrize("part", range(PARTS))
def test_mutations(part: int) -> None:
    rng = random.Random(SEED * 1000 + part)
    tried = taken = 0
    while tried < COUNT // PARTS:
        session, told = idle(), Told()
        snapshots = Snapshots(session)
        for _ in range(rng.randrange(3)):
            deeds(session, rng, 12)
            told.add(session, snapshots.write())
        deeds(session, rng, 12)
        data = snapshots.write()
        for _ in range(EACH):
            tried += 1
            before = snapshot(session)
            bad = changed(data, rng)
            try:
                resume(session, bad, told)
            except SnapshotError as error:
                assert ";" in error.message and snapshot(session) == before
            except BaseException as error:
                error.add_note(f"mutation {tried} of part {part}, seed {SEED}")
                raise
            else:
                taken += 1
                try:
                    use(session, rng)
                except BaseException as error:
                    error.add_note(f"mutation {tried} of part {part}, seed {SEED}, taken")
                    raise
                break
    assert 0 < taken < tried
