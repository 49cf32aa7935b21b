"""G-16.10: what a commit of a run of a store takes, by the clock: a model call of a common size and an emit, in a file, in a file
where each commit waits for the disk, and in PostgreSQL where CONCERTO_BENCH_POSTGRES has the URL of a database. And what a store
adds to the wall time of a run whose model answers after 300 or 20 ms.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

from concerto.runtime.journal.journal import Journal
from concerto.runtime.journal.recording import end_of, new_header
from concerto.runtime.journal.rows import EffectRow, EmitRow, EndRow, Header
from concerto.runtime.journal.run_store import Claim, RunStore
from concerto.runtime.providers.base import Provider
from concerto.runtime.records import Reply
from concerto.runtime.session.session import Session

from ..execution import Concerto, Failed, require
from ..figures import Figure, Target
from ..sampling import Plan, interleave

CALL = 20_000  # microseconds of a short model call
URL = "CONCERTO_BENCH_POSTGRES"
NAMES = {"commit": "SQLite, synchronous=NORMAL", "commit_full": "SQLite, synchronous=FULL", "commit_postgres": "PostgreSQL"}
SLOW = ((300, 4, Target("G-16.10", 1.0)), (20, 40, Target("G-16.10", 5.0)))  # milliseconds of a reply, calls, most per cent
PROGRAM = """\
memory chat: Memory = Memory::new(20);
model M {{ provider: openai, base: "m", memory: chat }}
fn main() {{ for i in 0..{calls} {{ emit("said", M.execute("question ${{i}}")?.text); }} }}
"""


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


class Slow(Provider):
    """Answers after some seconds."""

    name = "slow"

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    async def send(self, request: Any) -> Reply:
        await asyncio.sleep(self.seconds)
        return Reply("an answer of some words " * 10, model="m", tokens_in=150, tokens_out=60)


def overhead(plan: Plan) -> list[Figure]:
    figures = []
    with tempfile.TemporaryDirectory(prefix="concerto-bench-") as folder:
        for milliseconds, calls, target in SLOW:
            program = Concerto(PROGRAM.format(calls=calls))
            slow = Slow(milliseconds / 1000)
            program.provider = partial(_given, slow)
            without, kept = partial(_run, program, None), partial(_run, program, f"{folder}/runs.db")
            require(kept(), without())
            bare, stored = interleave([without, kept], plan, perf_counter)
            added = (min(stored.seconds) - min(bare.seconds)) / min(bare.seconds) * 100
            note = f"of wall time that a store adds to {calls} calls of {milliseconds} ms, each with a turn and an emit"
            name = f"store_at_{milliseconds}_ms"
            figures.append(Figure(name, added, "%", target, spread=bare.spread, note=note))
    return figures


def _given(slow: Slow, name: str) -> Slow:
    return slow


def _run(program: Concerto, store: str | None) -> list[tuple[str, Any]]:
    """The emits of a run, kept in the store at that path."""
    emits: list[tuple[str, Any]] = []
    host = program.host(emits)
    host.sleep = asyncio.sleep
    if store is not None:
        header = new_header(program.program, [], 1, time.time(), False, os.urandom)
        claim = RunStore(store, time.time).begin(header, b"image", {})
        host.journal = Journal(header, sink=claim, real_time=time.monotonic, real_wall=time.time)
    session = Session(program.program, host)
    outcome = asyncio.run(session.run())
    if outcome.exit_code:
        raise Failed(str(outcome.panic or outcome.error))
    if host.journal is not None:
        host.journal.close(end_of(outcome, session.redactor.clean))
    return emits
