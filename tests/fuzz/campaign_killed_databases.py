"""Runs in a PostgreSQL database whose server is killed while they commit, and often their own process too; the server recovers
from its own log, and the run is gone on with (G-13.1, G-16.4, G-16.5): nothing that was told is lost, nothing that was committed
is asked again, and what must not happen twice does not.

Killed is the process of the server that serves the run, the first process of the server, or all of them, at a moment behind the
reply to a request: the commit of that reply is on its way then. Without PostgreSQL nothing is tried.
"""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import tempfile
import threading
import time
from collections import Counter
from typing import Any

import pytest

from tests.journal.durable_programs import PROGRAMS, ModelServer

from ..memory import servers
from .campaign import Campaign, Figures
from .campaign_durable import COMMAND, LIMIT, Trial, expected

TARGETS = ("backend", "first", "all")
LATEST = 0.015  # seconds behind a reply: its commit takes about two milliseconds
HEARD = re.compile(r"\[emit:(\w+)\] (.*)\n")


class Announcing(ModelServer):
    """A model server that announces one of its replies; it takes the delay of its caller beside the reply."""

    def __init__(self, delay: float) -> None:
        super().__init__(delay)
        self.left = 0
        self.moment = threading.Event()

    def arm(self, replies: int) -> None:
        """Set `moment` with the reply of this number from now on."""
        self.moment.clear()
        self.left = replies

    def answer(self, body: dict[str, Any]) -> dict[str, Any]:
        reply = super().answer(body)
        self.left -= 1
        if self.left == 0:
            self.moment.set()
        return reply


class DatabaseTrial(Trial):
    """A run whose store is a database. `told` counts what became of the processes of the run."""

    def __init__(self, name: str, folder: str, server: ModelServer, database: servers.PostgresServer) -> None:
        super().__init__(name, folder, server)
        self.database = database
        self.told: Counter[str] = Counter()

    def command(self, run: str | None) -> list[str]:
        flags = ["--store", self.database.url, "--allow-fs"]
        if run is None:
            return [*COMMAND, "run", self.program.name, *flags]
        answers = [f"{wait['key']}=true" for wait in json.loads(self.row("waits") or "[]")]
        return [*COMMAND, "resume", run, *flags, *(word for one in answers for word in ("--answer", one))]

    def rows(self, statement: str) -> list[Any]:
        """What a SELECT gives, nothing before there is a table."""
        import psycopg

        with servers.connected(self.database.url) as connection:
            try:
                found: list[Any] = connection.execute(statement).fetchall()
            except psycopg.errors.UndefinedTable:
                return []
        return found

    def row(self, column: str) -> Any:
        found = self.rows(f"SELECT {column} FROM concerto_runs.runs")
        return found[0][0] if found else None

    def bodies(self) -> list[dict[str, Any]]:
        return [json.loads(body) for (body,) in self.rows("SELECT body FROM concerto_runs.rows ORDER BY n")]

    def disturbed(self, target: str, replies: int, wait: float, with_process: bool) -> int:
        """Start or go on with the run; kill a target so long behind that reply, then let the server begin again. Return the exit
        code."""
        assert isinstance(self.server, Announcing)
        run = self.row("id")
        before, asked = self.committed(), len(self.server.seen)
        heard = self.folder / "heard"
        self.server.arm(replies)
        with open(heard, "w") as output:
            process = subprocess.Popen(
                self.command(run), cwd=self.folder, stdout=output, stderr=subprocess.PIPE, text=True,
                env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONUNBUFFERED": "1"},
            )  # fmt: skip
        while process.poll() is None and not self.server.moment.wait(0.01):
            pass
        if process.poll() is None:
            time.sleep(wait)
            kill(self.database, target)
            if with_process:
                process.kill()
            self.kills += 1
            self.told[f"kills of {NAMES[target]}"] += 1
            self.told["with the process"] += with_process
        _, errors = process.communicate(timeout=LIMIT)
        restarted(self.database)
        assert "Traceback" not in errors and "internal error" not in errors, f"{self.name}: {errors}"
        if process.returncode == 1:
            assert "what is committed is kept" in errors, f"{self.name}: {errors}"
            self.told["ended with a message"] += 1
        time.sleep(0.02)  # what the model server still has of a killed process is not of the next one
        again = [prompt for prompt in self.server.seen[asked:] if prompt in before]
        assert not again, f"{self.name}: asked again though it was committed: {again}"
        self.require_kept(HEARD.findall(heard.read_text()))
        return process.returncode

    def require_kept(self, heard: list[tuple[str, str]]) -> None:
        """Fail unless what a listener has heard stands in the store, in this order and without a gap."""
        kept = [(channel, value if isinstance(value, str) else json.dumps(value)) for channel, value in self.emits()]
        places = range(len(kept) - len(heard) + 1)
        assert any(kept[at : at + len(heard)] == heard for at in places), f"{self.name}: heard {heard}, kept {kept}"


NAMES = {"backend": "the serving process", "first": "the first process", "all": "all processes"}


def kill(database: servers.PostgresServer, target: str) -> None:
    """SIGKILL for processes of the server."""
    import psutil

    first = psutil.Process(database.process.pid)
    others = first.children(recursive=True)
    if target == "backend":
        others = [one for one in others if "127.0.0.1" in " ".join(told(one))]
    for process in [*([first] if target != "backend" else []), *(others if target != "first" else [])]:
        try:
            os.kill(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            continue  # it has just ended
    if target != "backend":
        database.process.wait(30)


def told(process: Any) -> list[str]:
    """What a process of the server tells of itself: whom it serves."""
    import psutil

    try:
        return list(process.cmdline())
    except psutil.Error:
        return []


def restarted(database: servers.PostgresServer) -> None:
    """Return when the server takes connections again; one whose first process was killed is started anew, once those that it has
    left behind have ended."""
    if database.process.poll() is None:
        database.accepting()
        return
    until = time.monotonic() + 30
    while True:
        try:
            database.restart()
            return
        except RuntimeError:  # processes that have not ended yet hold its memory
            if time.monotonic() > until:
                raise
            time.sleep(0.1)


def trial(chance: random.Random, database: servers.PostgresServer, where: str, wanted: dict[str, Any]) -> DatabaseTrial:
    """One run to its end, with kills on the way; return it with its counts."""
    name = chance.choice(list(PROGRAMS))
    with servers.connected(database.url) as connection:
        connection.execute("DROP SCHEMA IF EXISTS concerto_runs CASCADE")
    server = Announcing(chance.choice((0.0, 0.002, 0.01)))
    try:
        with tempfile.TemporaryDirectory() as folder:
            run = DatabaseTrial(name, folder, server, database)
            code = -9
            for _ in range(40):
                if run.kills < 5 and chance.random() < 0.85:
                    moment = chance.choice(TARGETS), chance.randint(1, 4), chance.uniform(0, LATEST), chance.random() < 0.4
                else:
                    moment = "all", 1_000_000, 0.0, False  # no such reply comes
                code = run.disturbed(*moment)
                if code not in (-9, 1, 75):
                    break
            judge(run, code, f"{name}, {where}, {run.kills} kills", *wanted[name])
            return run
    finally:
        server.close()


def judge(run: DatabaseTrial, code: int, where: str, emits: list[Any], lines: list[str]) -> None:
    """Fail unless the run has ended as one that nobody disturbed; of what must not happen twice it may say that nobody knows."""
    assert code == 0, f"{where}: exit code {code}"
    came = run.emits()
    unknown = [item for item in lines if any(f"unknown: {item}" in str(value) for _, value in came)]
    if unknown:  # how many things are on the shelf is not known then
        assert run.name == "agent" and len(came) == len(emits), f"{where}: {came}"
    else:
        assert came == emits, f"{where}:\n{came}\n{emits}"
    shelf = run.folder / "shelf.txt"
    there = shelf.read_text().splitlines() if shelf.exists() else []
    assert len(there) == len(set(there)) and set(lines) - set(there) <= set(unknown), f"{where}: {there}, unknown {unknown}"
    run.told["unknown"] += len(unknown)
    run.told["replies that no commit has"] += len(run.server.seen) - len(run.committed())


def killed(seed: int, count: int) -> Figures:
    """Runs until there have been so many kills."""
    pytest.importorskip("psutil")
    try:
        servers.postgres_programs()
    except pytest.skip.Exception:
        return {"servers": "none here"}
    chance = random.Random(seed)
    wanted = {name: expected(name) for name in PROGRAMS}
    total: Counter[str] = Counter()
    kills = 0
    with servers.postgres_server() as database:
        while kills < count:
            run = trial(chance, database, f"run {total['runs']} of seed {seed}", wanted)
            kills += run.kills
            total += Counter({"runs": 1, **run.told})
    return total


CAMPAIGNS = [Campaign("kills of a database that keeps runs", "G-16.4, G-16.5", 3, 300, killed, part=50)]
