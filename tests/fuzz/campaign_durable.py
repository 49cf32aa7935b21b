"""Runs of a store whose process is killed at any moment and gone on with (G-13.1, G-16.4, G-16.13): nothing is lost, nothing that
was committed is asked again, and what must not happen twice does not."""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.journal.durable_programs import PROGRAMS, ModelServer

from .campaign import Campaign

COMMAND = [sys.executable, "-m", "concerto"]
LIMIT = 300.0  # seconds for a process


class Trial:
    """One run of one program in a folder of its own; `kills` counts those that hit it."""

    def __init__(self, name: str, folder: str, server: ModelServer) -> None:
        self.name = name
        self.folder = Path(folder)
        self.server = server
        self.kills = 0
        self.program = self.folder / f"{name}.conc"
        self.program.write_text(PROGRAMS[name].format(port=server.port), encoding="utf-8")

    def command(self, run: str | None) -> list[str]:
        flags = ["--store", "s.db", "--allow-fs"]
        if run is None:
            return [*COMMAND, "run", self.program.name, *flags]
        waits = self.row("waits")
        answers = [f"{wait['key']}=true" for wait in json.loads(waits or "[]")]
        return [*COMMAND, "resume", run, *flags, *(word for one in answers for word in ("--answer", one))]

    def row(self, column: str) -> Any:
        """A column of the run, None before there is one."""
        try:
            with sqlite3.connect(f"file:{self.folder}/s.db?mode=rw", uri=True) as store:
                row = store.execute(f"SELECT {column} FROM runs").fetchone()
        except sqlite3.OperationalError:
            return None
        return None if row is None else row[0]

    def committed(self) -> list[str]:
        """The prompts whose replies are in the store."""
        return [request_prompt(body["request"]) for body in self.bodies() if body.get("kind") == "model"]

    def bodies(self) -> list[dict[str, Any]]:
        try:
            with sqlite3.connect(f"file:{self.folder}/s.db?mode=rw", uri=True) as store:
                rows = store.execute("SELECT body FROM rows ORDER BY n").fetchall()
        except sqlite3.OperationalError:
            return []
        return [json.loads(row[0]) for row in rows]

    def emits(self) -> list[Any]:
        """Those of the program: those of the runtime tell how long things took."""
        return [[body["emit"], body["value"]] for body in self.bodies() if "emit" in body and not body["by_runtime"]]

    def step(self, kill_after: float | None) -> int:
        """Start or go on with the run, kill it after so many seconds; return the exit code."""
        run = self.row("id")
        before, asked = self.committed(), len(self.server.seen)
        process = subprocess.Popen(
            self.command(run), cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        )  # fmt: skip
        try:
            _, errors = process.communicate(timeout=LIMIT if kill_after is None else kill_after)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.communicate()
            self.kills += 1
            errors = ""
        if "Traceback" in errors or "internal error" in errors:
            raise AssertionError(f"{self.name}: {errors}")
        time.sleep(0.02)  # what the server still has of a killed process is not of the next one
        again = [prompt for prompt in self.server.seen[asked:] if prompt in before]
        assert not again, f"{self.name}: asked again though it was committed: {again}"
        return process.returncode


def request_prompt(request: dict[str, Any]) -> str:
    """What the server has noted for a request of a row."""
    messages = request["messages"]
    prompt = next(message["content"] for message in reversed(messages) if message["role"] == "user")
    return f"{prompt} / {messages[-1]['content']}" if messages[-1]["role"] == "tool" else str(prompt)


def expected(name: str) -> tuple[list[Any], list[str]]:
    """The emits of a run that nobody kills, and the lines of its file."""
    server = ModelServer()
    with tempfile.TemporaryDirectory() as folder:
        trial = Trial(name, folder, server)
        code = 75
        while code == 75:
            code = trial.step(None)
        assert code == 0, f"{name}: exit code {code}"
        shelf = trial.folder / "shelf.txt"
        lines = shelf.read_text().splitlines() if shelf.exists() else []
        emits = trial.emits()
    server.close()
    return emits, lines


def killed(seed: int, count: int) -> dict[str, int | float | str]:
    chance = random.Random(seed)
    wanted = {name: expected(name) for name in PROGRAMS}
    kills = unknown = 0
    for case in range(count):
        name = chance.choice(list(PROGRAMS))
        server = ModelServer(chance.choice((0.002, 0.005, 0.02)))
        with tempfile.TemporaryDirectory() as folder:
            trial = Trial(name, folder, server)
            code = -9
            for _ in range(40):
                kill_after = chance.uniform(0.1, 1.2) if trial.kills < 4 and chance.random() < 0.8 else None
                code = trial.step(kill_after)
                if code not in (-9, 75):
                    break
            emits, lines = wanted[name]
            where = f"{name}, case {case} of seed {seed}, {trial.kills} kills"
            assert code == 0, f"{where}: exit code {code}"
            came = trial.emits()
            items = [item for item in lines if any(f"unknown: {item}" in str(value) for _, value in came)]
            if items:  # how many things are on the shelf is not known then
                assert name == "agent" and len(came) == len(emits), f"{where}: {came}"
            else:
                assert came == emits, f"{where}:\n{came}\n{emits}"
            shelf = trial.folder / "shelf.txt"
            there = shelf.read_text().splitlines() if shelf.exists() else []
            assert len(there) == len(set(there)) and set(lines) - set(there) <= set(items), f"{where}: {there}, unknown {items}"
            unknown += len(items)
            kills += trial.kills
        server.close()
    return {"kills": kills, "unknown": unknown}


CAMPAIGNS = [Campaign("kills of durable runs", "G-16.4, G-16.13", 3, 400, killed, part=50)]
