"""Two or three that go on with one run at the same time, threads or processes, some of them killed (G-13.6, G-16.7): one
continues, the others are fenced or held; the journal has what was acknowledged, in the order of the epochs, no row twice, and no
gap."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from concerto.runtime.journal import run_store
from concerto.runtime.journal.journal import Fenced
from concerto.runtime.journal.rows import EmitRow
from concerto.runtime.journal.run_store import Claim, RunStore

from ..memory import servers
from .campaign import Campaign, Figures
from .resumer import LEASE, go_on, header

ROOT = Path(__file__).resolve().parents[2]
BY_PROCESSES = 0.15  # of the trials: they take a second
KILLED = 0.5  # of the processes


def of_threads(place: str, run: str, seed: int, count: int) -> list[list[Any]]:
    """What each of so many threads tells. Behind them, each claim that still looks as if it held is tried: one holds at most."""
    told: list[list[Any]] = [[] for _ in range(count)]
    stores = [RunStore(place, time.time, must_exist=True, named=f"m{at}:1 boot{at}/1/1/aa") for at in range(count)]
    claims: list[list[Claim]] = [[] for _ in range(count)]
    ready = threading.Barrier(count)
    broken: list[BaseException] = []

    def one(at: int) -> None:
        ready.wait()
        try:
            claims[at] = go_on(stores[at], run, f"r{at}", seed, lambda *said: told[at].append(said))
        except BaseException as error:
            broken.append(error)

    threads = [threading.Thread(target=one, args=(at,)) for at in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if broken:
        raise broken[0]
    newest = stores[0].run(run).epoch
    for at, mine in enumerate(claims):
        for claim in mine:
            try:
                claim.commit([EmitRow("c", [f"last{at}.{claim.epoch}", 0, 1], False, 0.0)], 9, [])
                told[at].append(("kept", claim.epoch, f"last{at}.{claim.epoch}", 1))
                assert claim.epoch == newest, f"epoch {claim.epoch} of {newest} has committed"
            except Fenced:
                assert claim.epoch < newest, f"epoch {claim.epoch} is the newest, and fenced"
    for store in stores:
        store.close()
    return told


def of_processes(place: str, run: str, seed: int, count: int) -> list[list[Any]]:
    """The same of processes, some of which are killed."""
    chance = random.Random(f"{seed}-kills")
    processes = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.fuzz.resumer", place, run, f"r{at}", str(seed)], cwd=ROOT, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )
        for at in range(count)
    ]  # fmt: skip
    for process in processes:
        assert process.stdout is not None and process.stdout.readline() == '["ready"]\n'
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    for process in processes:
        if chance.random() < KILLED:
            time.sleep(chance.uniform(0, 0.05))
            process.kill()
    told = []
    for process in processes:
        out, _ = process.communicate(timeout=60)
        assert process.returncode in (0, -9), out
        told.append([json.loads(line) for line in out.splitlines(keepends=True) if line.endswith("\n")])
    return told


def judged(store: RunStore, run: str, told: list[list[Any]], where: str) -> Counter[str]:
    """Compare the journal with what was told; return how often each thing was."""
    values = [row.value for row in store.rows(run) if isinstance(row, EmitRow)]
    assert len(values) == store.run(run).rows == store.run(run).emits, where
    parts: list[tuple[str, int]] = []
    while values:
        token, _, count = values[0]
        assert values[:count] == [[token, at, count] for at in range(count)], f"{where}: a part of {token}"
        parts.append((token, count))
        del values[:count]
    tokens = [token for token, _ in parts]
    assert len(set(tokens)) == len(tokens), f"{where}: twice: {tokens}"
    epochs = {said[2]: said[1] for one in told for said in one if said[0] in ("trying", "kept")}
    kept = {said[2] for one in told for said in one if said[0] == "kept"}
    assert kept <= set(tokens), f"{where}: acknowledged and not there: {kept - set(tokens)}"
    for one in told:
        open_end = {one[-1][2]} if one and one[-1][0] == "trying" else set()  # it was killed in it
        extra = {said[2] for said in one if said[0] == "trying"} & set(tokens) - kept
        assert extra <= open_end, f"{where}: refused and there: {extra - open_end}"
    order = [epochs[token] for token in tokens]
    assert order == sorted(order), f"{where}: epochs {order}"
    claimed = [said[1] for one in told for said in one if said[0] == "claimed"]
    assert len(set(claimed)) == len(claimed), f"{where}: an epoch twice: {claimed}"
    return Counter(said[0] for one in told for said in one)


def trials(place: str, seed: int, cases: int) -> Figures:
    total: Counter[str] = Counter()
    store = RunStore(place, time.time)
    for case in range(cases):
        chance = random.Random(f"{seed}-{case}")
        run, count, as_processes = f"t{seed}x{case}", chance.choice((2, 3)), chance.random() < BY_PROCESSES
        store.release(store.begin(header(run), b"", {}))
        told = (of_processes if as_processes else of_threads)(place, run, hash((seed, case)), count)
        total += judged(store, run, told, f"case {case} of seed {seed}")
        last = store.claim(run, take_over=True)
        last.commit([], 0, [])
    store.close()
    return {name: total[name] for name in ("claimed", "kept", "fenced", "held")}


@contextmanager
def short_leases() -> Any:
    before, run_store.LEASE = run_store.LEASE, LEASE
    try:
        yield
    finally:
        run_store.LEASE = before


def of_a_file(seed: int, cases: int) -> Figures:
    with short_leases(), tempfile.TemporaryDirectory() as folder:
        return trials(f"{folder}/runs.db", seed, cases)


def of_a_database(seed: int, cases: int) -> Figures:
    try:
        servers.postgres_programs()
    except pytest.skip.Exception:
        return {"servers": "none here"}
    with short_leases(), servers.postgres_url() as url:
        return trials(url, seed, cases)


CAMPAIGNS = [
    Campaign("resumers of a run in a file", "G-16.7", 12, 500, of_a_file, part=100),
    Campaign("resumers of a run in PostgreSQL", "G-16.7", 12, 500, of_a_database, part=250),
]
