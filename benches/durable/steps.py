"""What a durable step costs: a run that asks a model of 0 ms again and again, in all variants in turn.

Hands on `ROWS` and `measured`. Wall time is between the arrivals of two requests at the server, so that no start and no end is in
it; computing is that of the process, and of the service where there is one, over all steps behind the first.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

import psutil

from .server import Server
from .variants import CONCERTO, PROGRAMS, Place, python_of

FIRST = 20  # steps until everything is loaded and connected
STEPS = 200
LIMIT = 180.0  # seconds of one process


@dataclass(frozen=True)
class Row:
    """`command` makes so many steps under a key. `peer` names the interpreter that it needs, `service` what computes beside the
    process."""

    name: str
    title: str
    command: Callable[[Place, str, int], list[str]]
    peer: str | None = None
    service: str | None = None


@dataclass
class Sample:
    """Seconds: between requests, and of computing a step."""

    gaps: list[float] = field(default_factory=list)
    process: float = 0.0
    service: float = 0.0


def _concerto(*flags: str) -> Callable[[Place, str, int], list[str]]:
    def command(place: Place, key: str, count: int) -> list[str]:
        filled = [flag.format(key=key, **place.environment) for flag in flags]
        return [*CONCERTO, "run", place.program("steps.conc"), "--quiet", *filled, "--", key, str(count)]

    return command


def _peer(name: str, program: str, *more: str) -> Callable[[Place, str, int], list[str]]:
    return lambda place, key, count: [str(python_of(name)), str(PROGRAMS / program), key, str(count), *more]


ROWS = [
    Row("bare", "the `openai` SDK alone, not durable", _peer("langgraph", "steps_plain.py"), "langgraph"),
    Row("concerto-bare", "Concerto without a store, not durable", _concerto()),
    Row("concerto", "Concerto, SQLite", _concerto("--store", "{key}.db")),
    Row("concerto-sync", "Concerto, SQLite, `--sync-full`", _concerto("--store", "{key}.db", "--sync-full")),
    Row("concerto-postgres", "Concerto, PostgreSQL", _concerto("--store", "{CONCERTO_STORE}"), service="postgres"),
    Row("langgraph", "LangGraph, SQLite, `durability=\"sync\"`", _peer("langgraph", "steps_langgraph.py", "sync"), "langgraph"),
    Row("langgraph-async", "LangGraph, SQLite, as it comes", _peer("langgraph", "steps_langgraph.py", "async"), "langgraph"),
    Row("dbos", "DBOS, PostgreSQL", _peer("dbos", "steps_dbos.py"), "dbos", "postgres"),
    Row("temporal", "Temporal, its server on SQLite", _peer("temporal", "steps_temporal.py"), "temporal", "temporal"),
]  # fmt: skip


def computing(pid: int | None) -> float:
    """Seconds that a process and all that it started have computed."""
    if pid is None:
        return 0.0
    one = psutil.Process(pid)
    return sum(sum(each.cpu_times()[:4]) for each in [one, *one.children(recursive=True)])  # with those of children that ended


def sample(row: Row, place: Place, server: Server, key: str, service: int | None) -> Sample:
    """Make the steps once. Raises RuntimeError when a process fails or comes to no end."""
    process = subprocess.Popen(
        row.command(place, key, FIRST + STEPS + 1),
        cwd=place.folder, env=place.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    try:
        _until(server, key, FIRST, process)
        before = computing(process.pid), computing(service)
        _until(server, key, FIRST + STEPS, process)
        behind = computing(process.pid), computing(service)
        output = process.communicate(timeout=LIMIT)[0]
    finally:
        process.kill()
    if process.returncode:
        raise RuntimeError(f"{row.name}: exit code {process.returncode}\n{output}")
    came = [call.came for call in server.of(key)][FIRST - 1 : FIRST + STEPS]
    gaps = [later - earlier for earlier, later in zip(came, came[1:], strict=False)]
    return Sample(gaps, (behind[0] - before[0]) / STEPS, (behind[1] - before[1]) / STEPS)


def is_there(row: Row, services: dict[str, int]) -> bool:
    """Whether its interpreter and its service are."""
    return (row.peer is None or python_of(row.peer).exists()) and (row.service is None or row.service in services)


def _until(server: Server, key: str, count: int, process: subprocess.Popen[str]) -> None:
    until = time.monotonic() + LIMIT
    while len(server.of(key)) < count:
        if time.monotonic() > until or (process.poll() is not None and len(server.of(key)) < count):
            process.kill()
            raise RuntimeError(f"{key}: {len(server.of(key))} of {count} steps\n{process.communicate()[0]}")
        time.sleep(0.05)


def measured(
    rows: Sequence[Row], place: Place, services: dict[str, int], rounds: int, say: Callable[[str], None]
) -> dict[str, Any]:
    """Seconds by row: the least and the median wall time of a step, computing of process and service, the least of the rounds."""
    server = Server(0.0)
    place.environment.update(server.environment, OPENAI_BASE_URL=server.environment["MODEL_URL"])
    samples: dict[str, list[Sample]] = {row.name: [] for row in rows}
    try:
        for turn in range(rounds):
            for row in rows:
                key = f"{row.name}-{turn}"
                samples[row.name].append(sample(row, place, server, key, services.get(row.service or "")))
                say(f"{key}: {median(samples[row.name][-1].gaps) * 1e3:.2f} ms")
    finally:
        server.close()
    return {row.name: {"title": row.title, **_summary(samples[row.name])} for row in rows}


def _summary(samples: Sequence[Sample]) -> dict[str, Any]:
    gaps = [gap for each in samples for gap in each.gaps]
    return {
        "wall": {"least": min(gaps), "median": median(gaps), "best_round": min(median(each.gaps) for each in samples)},
        "process": {"least": min(each.process for each in samples), "median": median(each.process for each in samples)},
        "service": {"least": min(each.service for each in samples), "median": median(each.service for each in samples)},
    }
