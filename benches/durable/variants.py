"""How the refund of `programs/` is started, gone on with and approved: in Concerto, and with each peer as its documentation says.

Hands on `Variant`, `VARIANTS`, `Place` and where peers are. A peer has an interpreter of its own in `build/peers/NAME`; what is
not there is named, and its rows are left out.
"""

from __future__ import annotations

import json
import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = Path(__file__).parent / "programs"
PEERS = ROOT / "build" / "peers"
TEMPORAL_SERVER = PEERS / "temporal-server" / "server"
PLACEHOLDER = "http://127.0.0.1:8000"


@dataclass
class Place:
    """Where runs are kept: a folder for files, and what the processes find in their environment."""

    folder: Path
    environment: dict[str, str]

    def program(self, name: str) -> str:
        """A program of Concerto that asks the server of this place: an address in a declaration is a constant."""
        text = (PROGRAMS / name).read_text(encoding="utf-8")
        address = self.environment["CHARGE_URL"].removesuffix("/charges")
        (self.folder / name).write_text(text.replace(PLACEHOLDER, address), encoding="utf-8")
        return name


Command = Callable[[Place, str], list[str]]


@dataclass(frozen=True)
class Variant:
    """`run` starts a run or goes on with it, whatever has happened before. `approve` says yes: the command is the next process of
    the run where the run `parks`, and else one beside the process that waits."""

    name: str
    title: str
    program: str
    parks: bool
    run: Command
    approve: Command
    needs: tuple[Path, ...] = ()

    def missing(self) -> str:
        """What it needs and is not there, "" for nothing."""
        return ", ".join(str(path.relative_to(ROOT)) for path in self.needs if not path.exists())


# ---------------------------------------------------------------- Concerto

CONCERTO = [sys.executable, "-m", "concerto"]


def _row(store: Path, column: str) -> str | None:
    """A column of the only run of a store, as `concerto runs --json` would show it; None while there is no run."""
    try:
        with closing(sqlite3.connect(f"file:{store}?mode=rw", uri=True)) as connection:
            row = connection.execute(f"SELECT {column} FROM runs").fetchone()
    except sqlite3.OperationalError:
        return None
    return None if row is None else row[0]


def _run(place: Place, order: str, *more: str) -> list[str]:
    run = _row(place.folder / f"{order}.db", "id")
    flags = ["--store", f"{order}.db", "--allow-net=127.0.0.1", *more]
    if run is None:
        return [*CONCERTO, "run", place.program("refund.conc"), *flags, "--", order]
    return [*CONCERTO, "resume", run, *flags]


def _approve(place: Place, order: str) -> list[str]:
    waits = json.loads(_row(place.folder / f"{order}.db", "waits") or "[]")
    return _run(place, order, *(word for wait in waits for word in ("--answer", f"{wait['key']}=true")))


# ---------------------------------------------------------------- peers


def python_of(peer: str) -> Path:
    return PEERS / peer / "bin" / "python"


def _peer(name: str, title: str, parks: bool, run: str, approve: str, *needs: Path) -> Variant:
    """A variant with a program of its own; in `run` and `approve` `ORDER` stands for the order."""
    program = f"refund_{name}.py"

    def command(words: str) -> Command:
        start = [str(python_of(name)), str(PROGRAMS / program)]
        return lambda place, order: [*start, *words.replace("ORDER", order).split()]

    return Variant(name, title, program, parks, command(run), command(approve), (python_of(name), *needs))


VARIANTS = [
    Variant("concerto", "Concerto", "refund.conc", True, _run, _approve),
    _peer("langgraph", "LangGraph", True, "ORDER", "ORDER yes"),
    _peer("dbos", "DBOS", False, "run ORDER", "approve ORDER yes"),
    _peer("temporal", "Temporal", False, "run ORDER", "approve ORDER yes", TEMPORAL_SERVER),
]
