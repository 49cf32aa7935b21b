"""How the refund of `programs/` is started, gone on with and approved: in Concerto, and with each peer as its documentation says.

Hands on `Variant`, `VARIANTS`, `Place`. A peer has an interpreter of its own in `build/peers/NAME`; one that is not there is named
and left out.
"""

from __future__ import annotations

import json
import os
import sqlite3
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = Path(__file__).parent / "programs"
PEERS = ROOT / "build" / "peers"
TEMPORAL_SERVER = PEERS / "temporal-server" / "server"
PLACEHOLDER = "http://127.0.0.1:8000"
KEY = "0:5/approve.1"


@dataclass
class Place:
    """Where runs are kept: a folder for files, and what the processes find in their environment."""

    folder: Path
    environment: dict[str, str]
    services: list[int] = field(default_factory=list)

    def program(self, name: str) -> str:
        """A program of Concerto that asks the server of this place: an address in a declaration is a constant."""
        text = (PROGRAMS / name).read_text(encoding="utf-8").replace(PLACEHOLDER, self.environment["CHARGE_URL"].rpartition("/")[0])
        (self.folder / name).write_text(text, encoding="utf-8")
        return name


Command = Callable[[Place, str], list[str]]


@dataclass(frozen=True)
class Variant:
    """`run` starts a run or goes on with it, whatever has happened before. `approve` says yes: the command is the next process of the
    run where the run `parks`, and else one beside the process that waits."""

    name: str
    title: str
    program: str
    parks: bool
    run: Command
    approve: Command
    missing: Callable[[], str]
    steps: Command | None = None


def python_of(peer: str) -> Path:
    return PEERS / peer / "bin" / "python"


def _peer(peer: str, program: str, *before: str) -> Command:
    return lambda place, order: [str(python_of(peer)), str(PROGRAMS / program), *before, order]


def _absent(*paths: Path) -> Callable[[], str]:
    return lambda: ", ".join(str(path.relative_to(ROOT)) for path in paths if not path.exists())


# ---------------------------------------------------------------- Concerto

CONCERTO = [sys.executable, "-m", "concerto"]


def _store(place: Place, order: str) -> str:
    return place.environment.get("CONCERTO_STORE") or f"{order}.db"


def _found(place: Path) -> str | None:
    try:
        with sqlite3.connect(f"file:{place}?mode=rw", uri=True) as store:
            row = store.execute("SELECT id FROM runs").fetchone()
    except sqlite3.OperationalError:
        return None
    return None if row is None else str(row[0])


def _concerto(place: Place, order: str, *more: str) -> list[str]:
    run = _found(place.folder / f"{order}.db")
    flags = ["--store", f"{order}.db", "--allow-net=127.0.0.1"]
    if run is None:
        return [*CONCERTO, "run", place.program("refund.conc"), *flags, "--", order]
    return [*CONCERTO, "resume", run, *flags, *more]


def waits(path: Path) -> list[dict[str, str]]:
    """What a run of Concerto waits for."""
    with sqlite3.connect(f"file:{path}?mode=rw", uri=True) as store:
        return list(json.loads(store.execute("SELECT waits FROM runs").fetchone()[0] or "[]"))


def _approve(place: Place, order: str) -> list[str]:
    answers = [f"{wait['key']}=true" for wait in waits(place.folder / f"{order}.db")]
    return _concerto(place, order, *(word for answer in answers for word in ("--answer", answer)))


VARIANTS = [
    Variant("concerto", "Concerto, SQLite", "refund.conc", True, _concerto, _approve, lambda: ""),
    Variant(
        "langgraph", "LangGraph, SQLite, `durability=\"sync\"`", "refund_langgraph.py", True,
        _peer("langgraph", "refund_langgraph.py"), lambda place, order: [*_peer("langgraph", "refund_langgraph.py")(place, order), "yes"],
        _absent(python_of("langgraph")),
    ),
    Variant(
        "dbos", "DBOS, PostgreSQL", "refund_dbos.py", False,
        _peer("dbos", "refund_dbos.py", "run"), lambda place, order: [*_peer("dbos", "refund_dbos.py", "approve")(place, order), "yes"],
        _absent(python_of("dbos")),
    ),
    Variant(
        "temporal", "Temporal, its server on SQLite", "refund_temporal.py", False,
        _peer("temporal", "refund_temporal.py", "run"),
        lambda place, order: [*_peer("temporal", "refund_temporal.py", "approve")(place, order), "yes"],
        _absent(python_of("temporal"), TEMPORAL_SERVER),
    ),
]  # fmt: skip
