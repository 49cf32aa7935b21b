"""Mutated parts of volatile logs in snapshots: refused with SnapshotError, and nothing has changed; or memories go on with what
they are told, whatever it is, and fail only as memories do (G-2.24, M-14.6)."""

from __future__ import annotations

import random
from typing import Any

from concerto.runtime.memory.failures import MemoryFailure
from concerto.runtime.session.state import SnapshotLogs, Snapshots, resume, snapshot
from concerto.vm.snapshot.envelope import SnapshotError

from ..snapshot.memories import DEEDS, MEMORIES, idle, memory
from .campaign import Campaign, Figures
from .mutation import HASH, HEAD, change_log, change_structure, msgpack, sealed

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


def logs(seed: int, cases: int) -> Figures:
    rng = random.Random(seed)
    tried = taken = 0
    while tried < cases:
        session, told = idle(), SnapshotLogs()
        snapshots = Snapshots(session)
        for _ in range(rng.randrange(3)):
            deeds(session, rng, 12)
            told.add(session, snapshots.write())
        deeds(session, rng, 12)
        data = snapshots.write()
        for _ in range(EACH):
            tried += 1
            before = snapshot(session)
            try:
                resume(session, changed(data, rng), told)
            except SnapshotError as error:
                assert ";" in error.message and snapshot(session) == before, f"seed {seed}, case {tried}"
                continue
            except Exception as error:
                raise AssertionError(f"seed {seed}, case {tried}: {error!r}") from error
            taken += 1
            try:
                use(session, rng)
            except Exception as error:
                raise AssertionError(f"seed {seed}, case {tried}, taken: {error!r}") from error
            break
    assert cases < 100 or 0 < taken < tried, taken
    return {"taken": taken}


CAMPAIGNS = [Campaign("logs in snapshots", "G-2.24, M-14.6", 120, 40_000, logs)]
