"""Eight processes that change one slot at the same time (M-8.21, M-12.27): no change is lost, none is done twice, and what one
process did stays in its order."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, closing
from pathlib import Path

import concerto
import pytest

from ..memory import servers
from .campaign import Campaign, Figures
from .slot_writer import PROGRAM, store_of

PROCESSES = 8


def changed_at_once(kind: str, place: str, count: int, processes: int = PROCESSES) -> float:
    """Each does `count` `+=`, `count` `push`, and a few of both in a function that reads them; the seconds it took."""
    command = [sys.executable, "-m", "tests.fuzz.slot_writer", kind, place]
    with ExitStack() as stack:
        opened = []
        for number in range(processes):
            pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
            opened.append(stack.enter_context(subprocess.Popen([*command, f"w{number}", str(count)], text=True, **pipes)))
            stack.callback(opened[-1].kill)  # before the wait of its context; nothing to one that has ended
        for process in opened:
            assert process.stdout is not None and process.stdin is not None
            assert process.stdout.readline() == "ready\n", process.communicate()[1]
        begun = time.monotonic()
        for process in opened:
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()
        for process in opened:
            _, said = process.communicate()
            assert process.returncode == 0, said
    seconds = time.monotonic() - begun
    program, store = concerto.compile(PROGRAM), store_of(kind, place)
    with closing(store), program.session(offline=True, stores={"durable": store}) as session:
        n, pushed = session.call("held")
    every = [f"w{number}:{n}" for number in range(processes) for n in range(count)]
    mixed = count // 8
    every += [f"w{number}m:{n}" for number in range(processes) for n in range(1, mixed, 2)]
    assert n == processes * (count + (mixed + 1) // 2), f"{kind}: {n} after {processes} processes with {count} `+=`"
    assert sorted(pushed) == sorted(every), f"{kind}: {len(pushed)} elements of {len(every)}"
    for number in range(processes):
        for writer in (f"w{number}:", f"w{number}m:"):
            own = [int(one.removeprefix(writer)) for one in pushed if one.startswith(writer)]
            assert own == sorted(own), f"{kind}: the elements of {writer} are out of order"
    return seconds


def of_sqlite(seed: int, count: int) -> Figures:
    with tempfile.TemporaryDirectory() as folder:
        return _figures(count, changed_at_once("sqlite", f"{folder}/memory.db", count))


def of_postgres(seed: int, count: int) -> Figures:
    try:
        servers.postgres_programs()
        import psycopg  # noqa: F401
    except (pytest.skip.Exception, ImportError):
        return {"servers": "none here"}
    with servers.postgres_url() as url:
        return _figures(count, changed_at_once("postgres", f"{url} s{seed}", count))


def of_redis(seed: int, count: int) -> Figures:
    try:
        servers.redis_server()
        import redis  # noqa: F401
    except (pytest.skip.Exception, ImportError):
        return {"servers": "none here"}
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        url = stack.enter_context(servers.redis_url(folder))
        return _figures(count, changed_at_once("redis", f"{url} s{seed}", count))


def _figures(count: int, seconds: float) -> Figures:
    changes = (2 * count + count // 8) * PROCESSES
    return {"changes": changes, "per second, about": round(changes / seconds)}


CAMPAIGNS = [
    Campaign("slots of 8 processes, SQLite", "M-12.27", 16, 1_000, of_sqlite, part=1_000),
    Campaign("slots of 8 processes, PostgreSQL", "M-12.27", 8, 1_000, of_postgres, part=1_000),
    Campaign("slots of 8 processes, Redis", "M-12.27", 8, 1_000, of_redis, part=1_000),
]
