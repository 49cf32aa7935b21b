"""G-16.10: what a commit of a run of a store takes, by the clock: a model call of a common size and an emit, in a file, in a file
where each commit waits for the disk, and in PostgreSQL where CONCERTO_BENCH_POSTGRES has the URL of a database.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from time import perf_counter

from concerto.runtime.journal.rows import EffectRow, EmitRow, EndRow, Header
from concerto.runtime.journal.run_store import Claim, RunStore

from ..execution import require
from ..figures import Figure
from ..sampling import Plan, interleave

CALL = 20_000  # microseconds of a short model call
URL = "CONCERTO_BENCH_POSTGRES"
NAMES = {"commit": "SQLite, synchronous=NORMAL", "commit_full": "SQLite, synchronous=FULL", "commit_postgres": "PostgreSQL"}


class Committing:
    """A run of a store that gets longer by one call at each use."""

    def __init__(self, place: str, full: bool) -> None:
        self.store = RunStore(place, time.time, full=full)
        header = Header(program="p", image="00", run=os.urandom(8).hex(), args=[], seed=1, wall=1.0, offline=False)
        self.claim: Claim = self.store.begin(header, b"image", {})

    def __call__(self) -> None:
        number = self.claim.rows
        messages = [{"role": "system", "content": "Be brief. " * 30}, {"role": "user", "content": f"question {number} " * 20}]
        request = {"model": "small", "messages": messages, "params": {}, "stream": False}
        result = {"text": "an answer of some words " * 10, "model": "small", "tokens_in": 150, "tokens_out": 60}
        key = f"0:{number}/1"
        call = EffectRow(key, "model", "repeatable", "d" * 32, request, "e" * 32, result=result, tokens=[150, 60], cost=0.001)
        self.claim.commit([call, EmitRow("said", result["text"], False, 1.0)], number // 2 + 1, [])

    def close(self) -> None:
        rows = self.claim.rows
        self.claim.commit([EndRow("ok")], rows // 2, [])
        require(sum(1 for _ in self.store.rows(self.claim.run)), rows + 1)
        self.claim.close()


def commits(plan: Plan) -> list[Figure]:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="concerto-bench-")))
        places: dict[str, Callable[[], object]] = {}
        urls = [("commit_postgres", os.environ[URL], False)] if os.environ.get(URL) else []
        for name, place, full in (("commit", f"{folder}/a.db", False), ("commit_full", f"{folder}/b.db", True), *urls):
            work = Committing(place, full)
            stack.callback(work.close)
            places[name] = work
        found = interleave(list(places.values()), plan, perf_counter)
    figures = []
    for name, samples in zip(places, found, strict=True):
        taken = samples.median * 1e6
        best = min(samples.seconds) * 1e6
        note = f"{NAMES[name]}: {1e6 / taken:,.0f} a second, {taken / CALL:.1%} of a call of 20 ms; at best {best:,.0f} µs"
        figures.append(Figure(name, taken, "µs", spread=samples.spread, note=note))
    return figures
