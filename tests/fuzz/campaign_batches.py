"""A batch is killed at random moments, again and again, until it is through: no row that was finished when it died is asked
again, counted by the model server, and every row stands in the output once (S-2.2)."""

from __future__ import annotations

import random
import subprocess
import tempfile
import time
from pathlib import Path

from ..batches.serving import Served, lines, served, write_rows
from ..batches.test_command import COMMAND, batch, done_keys
from ..command import environment
from .campaign import Campaign, Figures

ROWS_OF_A_KILL = 16
LATEST = 0.1  # seconds after some replies


def kills(seed: int, cases: int) -> Figures:
    chance = random.Random(seed)
    rows = ROWS_OF_A_KILL * cases
    finished: set[str] = set()
    with tempfile.TemporaryDirectory() as name, served(Path(name), 0.02) as server:
        folder = Path(name)
        server.program(folder)
        write_rows(folder / "rows.jsonl", rows)
        for number in range(cases):
            earlier = server.counts()
            _kill(folder, server, chance)
            counts = server.counts()
            assert all(counts[text] == earlier[text] for text in finished), f"seed {seed}, kill {number}: asked twice"
            store = folder / "out.jsonl.rows"
            now = done_keys(store) if store.exists() else set()
            assert finished <= now, f"seed {seed}, kill {number}: {finished - now} are lost"
            finished = now
        earlier = server.counts()
        ended = batch(folder)
        assert ended.code == 0, f"seed {seed}: {ended}"
        counts = server.counts()
        assert all(counts[text] == earlier[text] for text in finished), f"seed {seed}, at the end: asked twice"
        found = [(line["row"], line["result"]) for line in lines(folder / "out.jsonl")]
        assert found == [(number, f"re: row {number}") for number in range(1, rows + 1)], f"seed {seed}: {len(found)} of {rows}"
        assert not (folder / "out.errors.jsonl").exists(), f"seed {seed}"
    lost = sum(count - 1 for count in counts.values())
    return {
        "rows": rows,
        "finished at the last kill": len(finished),
        "finished rows asked twice": 0,
        "replies lost by kills": lost,
    }


def _kill(folder: Path, server: Served, chance: random.Random) -> None:
    """Begin a run, and kill it: mostly while rows are asked, else at any moment from its start on."""
    before = sum(server.counts().values())
    process = subprocess.Popen([*COMMAND, "--limit", "4"], cwd=folder, env=environment(), stdout=subprocess.DEVNULL)
    if chance.random() < 0.8:
        replies = chance.randint(1, 2 * ROWS_OF_A_KILL)
        while sum(server.counts().values()) < before + replies and process.poll() is None:
            time.sleep(0.005)
        time.sleep(chance.uniform(0, LATEST))
    else:
        time.sleep(chance.uniform(0, 1))
    process.kill()
    process.wait()
    time.sleep(0.1)  # what was on its way is counted by now


CAMPAIGNS = [Campaign("kills of a batch", "S-2.2", 2, 200, kills, part=50)]
