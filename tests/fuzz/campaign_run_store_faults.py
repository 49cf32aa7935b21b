"""Writes, syncs and truncations of run stores that fail (G-16.5): killed in front of one, behind it or in the middle of it, an
I/O error once or from then on, a full disk, a file or folder that cannot be written; and the log cut at any byte that was not
synced, as a loss of power may leave it. The run goes on from what was committed, or ends with one message, and goes on later.

A library that the process is preloaded with makes them fail (`failing_writes.c`); without a C compiler nothing is tried.
"""

from __future__ import annotations

import functools
import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

from ..journal.durable_programs import PROGRAMS, ModelServer
from .campaign import Campaign, Figures
from .campaign_durable import expected, request_prompt
from .run_writer import RUN

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
KINDS = ("kill", "after", "torn", "once", "io", "full", "power")  # each at any operation
WHOLE = ("file", "folder")
COMMITS = 12  # of the writer
KILLED = -9


@functools.cache
def library() -> str | None:
    """The path of the compiled library, None without a compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None or not sys.platform.startswith("linux"):
        return None
    path = Path(tempfile.mkdtemp(prefix="concerto-faults-")) / "failing_writes.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", path, HERE / "failing_writes.c", "-ldl"], check=True)
    return str(path)


class Fault(NamedTuple):
    """What fails: one of KINDS at an operation, or one of WHOLE; `part` says how much of a torn write is done, and of what was
    not synced how much a loss of power leaves."""

    kind: str
    at: int
    part: int

    def environment(self, files: Path, log: Path) -> dict[str, str]:
        said = f"{'kill' if self.kind == 'power' else self.kind}:{self.at}:{self.part}"
        return {
            "LD_PRELOAD": str(library()), "CONCERTO_FAULT": said, "CONCERTO_FAULT_FILES": str(files),
            "CONCERTO_FAULT_LOG": str(log), "PYTHONDONTWRITEBYTECODE": "1",
        }  # fmt: skip

    @property
    def ends_process(self) -> bool:
        return self.kind in ("kill", "after", "torn", "power")


def operations(log: Path) -> list[tuple[str, bool, int]]:
    """Name, whether of the write-ahead log, size behind it: of each operation that was done."""
    rows = [line.split() for line in log.read_text().splitlines()] if log.exists() else []
    return [(name, is_log == "1", int(size)) for name, is_log, size in rows]


def lose_power(path: Path, log: Path, part: int) -> None:
    """Cut the write-ahead log at a byte behind what was synced."""
    wal = Path(f"{path}-wal")
    if not wal.exists():
        return
    synced = 0
    for name, is_log, size in operations(log):
        if is_log:
            synced = size if name == "sync" else min(synced, size)
    size = wal.stat().st_size
    with open(wal, "r+b") as file:
        file.truncate(synced + (part % (size - synced + 1) if size > synced else 0))
    Path(f"{path}-shm").unlink(missing_ok=True)  # memory of the processes


# ------------------------------------------------------------ a writer, each of its operations


def written(path: Path, full: bool, extra: dict[str, str]) -> tuple[int, list[int], str]:
    """Let the writer begin or go on; return its exit code, what it was told is kept, and its message."""
    command = [sys.executable, "-m", "tests.fuzz.run_writer", str(path), "full" if full else "normal", str(COMMITS)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env={**os.environ, **extra}, timeout=120)
    lines = [line for line in done.stdout.splitlines(keepends=True) if line.startswith("kept") and line.endswith("\n")]
    return done.returncode, [int(line.split()[1]) for line in lines], done.stderr


def stored(path: Path) -> list[int]:
    """The numbers that a copy of the file holds, read without the product."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "copy.db"
        for end in ("", "-wal"):
            if Path(f"{path}{end}").exists():
                shutil.copy(f"{path}{end}", f"{copy}{end}")
        with sqlite3.connect(copy) as store:
            try:
                bodies = store.execute("SELECT body FROM rows WHERE run = ? ORDER BY n", (RUN,)).fetchall()
            except sqlite3.OperationalError:  # no table yet
                return []
        store.close()
    return [json.loads(body)["value"][0] for (body,) in bodies if "emit" in json.loads(body)]


@functools.cache
def length(full: bool) -> int:
    """How many operations the writer has that nothing disturbs."""
    with tempfile.TemporaryDirectory() as folder:
        path, log = Path(folder) / "s.db", Path(folder) / "log"
        code, kept, said = written(path, full, Fault("none", -1, 0).environment(path, log))
        assert code == 0 and kept == list(range(COMMITS)), said
        return len(operations(log))


def one_fault(fault: Fault, full: bool, where: str) -> str:
    """Begin a run with a fault, go on without; return what became of the first."""
    with tempfile.TemporaryDirectory() as folder:
        path, log = Path(folder) / "s.db", Path(folder) / "log"
        code, kept, said = written(path, full, fault.environment(path, log))
        assert kept == list(range(len(kept))), where
        if fault.ends_process:
            assert code in (KILLED, 0), f"{where}: {code} {said}"
        else:
            assert code in (0, 3) and (code == 0) == (not said), f"{where}: {code} {said}"
            assert code == 0 or (said.startswith("the run store ") and said.count("\n") == 1), f"{where}: {said}"
        if fault.kind == "power":
            lose_power(path, log, fault.part)
        there = stored(path) if path.exists() and path.stat().st_size else []
        assert there == list(range(len(there))), f"{where}: {there}"
        if fault.kind != "power" or full:
            # One more where the process was told nothing of what was kept.
            assert len(kept) <= len(there) <= len(kept) + 1, f"{where}: told of {len(kept)}, there are {len(there)}"
        again, more, said = written(path, full, {})
        if code == 0 and again == 3:
            assert "is over: done" in said, f"{where}: {said}"
            return "not reached"
        if again == 3 and "is over: done" in said and len(there) == COMMITS:
            return "at the end"
        assert again == 0 and more == list(range(len(there), COMMITS)), f"{where}: then {again} {more} {said}"
        assert stored(path) == list(range(COMMITS)), where
        return "killed" if code == KILLED else "refused" if code == 3 else "went on"


def writers(seed: int, cases: int) -> Figures:
    if library() is None:
        return {"C compilers": "none here"}
    found: Counter[str] = Counter()
    for case in range(cases):
        chance = random.Random(f"{seed}-{case}")
        full = chance.random() < 0.5
        kind = chance.choice((*KINDS, chance.choice(WHOLE)) if chance.random() < 0.05 else KINDS)
        fault = Fault(kind, (seed + case) % length(full), chance.randrange(1 << 20))
        found[one_fault(fault, full, f"case {case} of seed {seed}: {fault}, {'full' if full else 'normal'}")] += 1
    return found


# ------------------------------------------------------------ whole programs


class Trial:
    """A run of a program in a folder of its own, whose store fails at some of its steps."""

    def __init__(self, name: str, folder: str, server: ModelServer, full: bool) -> None:
        self.name = name
        self.folder = Path(folder)
        self.store = self.folder / "s.db"
        self.log = self.folder / "log"
        self.server = server
        self.flags = ["--store", "s.db", "--allow-fs", *(["--sync-full"] if full else [])]
        (self.folder / f"{name}.conc").write_text(PROGRAMS[name].format(port=server.port), encoding="utf-8")

    def command(self, *words: str, **extra: str) -> tuple[int, str, str]:
        done = subprocess.run(
            [sys.executable, "-m", "concerto", *words, *self.flags], cwd=self.folder, capture_output=True, text=True,
            env={**os.environ, **extra}, timeout=120,
        )  # fmt: skip
        assert "Traceback" not in done.stderr and "internal error" not in done.stderr, f"{self.name}: {done.stderr}"
        return done.returncode, done.stdout, done.stderr

    def known(self) -> dict[str, Any] | None:
        """The run, as the product lists it; None before there is one."""
        if not self.store.exists():
            return None
        done = subprocess.run(
            [sys.executable, "-m", "concerto", "runs", "--json", "--store", "s.db"], cwd=self.folder, text=True,
            capture_output=True, timeout=60,
        )  # fmt: skip
        assert done.returncode == 0, f"{self.name}: {done.stderr}"
        listed = json.loads(done.stdout)
        return listed[0] if listed else None

    def bodies(self) -> list[dict[str, Any]]:
        if not self.store.exists():
            return []
        store = sqlite3.connect(self.store)
        rows = store.execute("SELECT body FROM rows ORDER BY n").fetchall()
        store.close()
        return [json.loads(row[0]) for row in rows]

    def committed(self) -> list[str]:
        return [request_prompt(body["request"]) for body in self.bodies() if body.get("kind") == "model"]

    def emits(self) -> list[Any]:
        return [[body["emit"], body["value"]] for body in self.bodies() if "emit" in body and not body["by_runtime"]]

    def step(self, fault: Fault | None) -> int:
        """Start or go on; return the exit code."""
        run = self.known()
        before, asked = self.committed(), len(self.server.seen)
        answers = [] if run is None else [word for wait in run["waits"] for word in ("--answer", f"{wait['key']}=true")]
        words = ["run", f"{self.name}.conc"] if run is None else ["resume", run["id"], *answers]
        extra = {} if fault is None else fault.environment(self.store, self.log)
        code, _, said = self.command(*words, **extra)
        if fault is not None and fault.kind == "power":
            lose_power(self.store, self.log, fault.part)
        time.sleep(0.02)  # what the server still has of a killed process is not of the next one
        again = [prompt for prompt in self.server.seen[asked:] if prompt in before]
        assert not again, f"{self.name}, {fault}: asked again though it was committed: {again}"
        if fault is not None and not fault.ends_process and code not in (0, 75):
            lines = [line for line in said.splitlines() if line.startswith("the run store ")]
            assert code in (1, 74) and len(lines) == 1, f"{self.name}, {fault}: {code} {said}"
        return code


def programs(seed: int, cases: int) -> Figures:
    if library() is None:
        return {"C compilers": "none here"}
    found: Counter[str] = Counter()
    for case in range(cases):
        chance = random.Random(f"{seed}-{case}")
        name, full = chance.choice(list(PROGRAMS)), chance.random() < 0.5
        server = ModelServer(0.001)
        with tempfile.TemporaryDirectory() as folder:
            trial = Trial(name, folder, server, full)
            faults = [drawn(chance, full) for _ in range(chance.choice((1, 1, 2, 3)))]
            where = f"{name}, case {case} of seed {seed}, {faults}"
            code = KILLED
            for _ in range(20):
                code = trial.step(faults.pop(0) if faults else None)
                found[{KILLED: "killed", 0: "ended", 75: "waited"}.get(code, "refused")] += 1
                if code == 0:
                    break
            assert code == 0, f"{where}: exit code {code}"
            compare(trial, where)
        server.close()
    return found


def drawn(chance: random.Random, full: bool) -> Fault:
    kind = chance.choice((*KINDS, *WHOLE))
    if kind == "power" and not full:  # a commit may be lost then, and what it had is done again
        kind = "kill"
    return Fault(kind, chance.randrange(160), chance.randrange(1 << 20))


def compare(trial: Trial, where: str) -> None:
    """Compare what came of a run with what comes of one that nothing disturbs."""
    emits, lines = wanted(trial.name)
    came = trial.emits()
    items = [item for item in lines if any(f"unknown: {item}" in str(value) for _, value in came)]
    if items:  # how many things are on the shelf is not known then
        assert trial.name == "agent" and len(came) == len(emits), f"{where}: {came}"
    else:
        assert came == emits, f"{where}:\n{came}\n{emits}"
    shelf = trial.folder / "shelf.txt"
    there = shelf.read_text().splitlines() if shelf.exists() else []
    assert len(there) == len(set(there)) and set(lines) - set(there) <= set(items), f"{where}: {there}, unknown {items}"


@functools.cache
def wanted(name: str) -> tuple[list[Any], list[str]]:
    return expected(name)


CAMPAIGNS = [
    Campaign("failing writes of a run store", "G-16.5", 12, 2_000, writers, part=200),
    Campaign("failing writes of durable runs", "G-16.5", 1, 500, programs, part=50),
]
