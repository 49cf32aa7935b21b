"""A process that appends turns to a memory in a file is killed at a random moment, again and again: no acknowledged turn is lost,
none is doubled or halved (G-12.6, M-8.7)."""

from __future__ import annotations

import random
import tempfile
import time
from pathlib import Path

from concerto.runtime.memory.memory import Memory
from concerto.runtime.memory.policy import Policy
from concerto.runtime.memory.stores.sqlite import SqliteStore

from ..memory.test_durability import runs_in_order, start
from .campaign import Campaign, Figures

LATEST = 0.15  # seconds after the writer is ready


def kills(seed: int, cases: int) -> Figures:
    chance = random.Random(seed)
    acknowledged = -1
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "memory.db"
        for number in range(cases):
            # It begins with the last acknowledged turn: committing a run again stores nothing (M-5.10).
            writer = start(path, "w", max(acknowledged, 0), 1_000_000)
            assert writer.stdout.readline() == "ready\n"
            time.sleep(chance.uniform(0, LATEST))
            writer.kill()
            told = [int(line) for line in writer.stdout.read().splitlines(keepends=True) if line.endswith("\n")]
            writer.wait()
            writer.stdout.close()
            acknowledged = max([acknowledged, *told])
            store = SqliteStore(str(path))
            runs = runs_in_order(Memory(Policy(), name="chat", store=store))
            store.close()
            assert runs == [f"w:{n}" for n in range(len(runs))], f"seed {seed}, kill {number}"
            # the one in flight may have been stored
            assert len(runs) in (acknowledged + 1, acknowledged + 2), f"seed {seed}, kill {number}: {len(runs)}, {acknowledged}"
    assert acknowledged > 0
    return {"acknowledged turns": acknowledged + 1}


CAMPAIGNS = [Campaign("kills of a writer", "G-12.6, M-8.7", 4, 1000, kills, part=100)]
