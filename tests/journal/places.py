"""Where run stores of tests are: SQLite files, and databases of a real PostgreSQL server, one for each store."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from concerto.runtime.journal.rows import DeliveryRow, EffectRow, EmitRow, EndRow, Header, PieceRow
from concerto.runtime.journal.run_store import RunStore

if TYPE_CHECKING:
    from concerto.runtime.journal.rows import Row

psycopg = pytest.importorskip("psycopg", reason="psycopg is not installed: it is of the extra postgres")
NUMBERS = count(1)
IMAGE = "ab" * 32
OTHER = "elsewhere:7 boot-pid:[1]/7/99/aa"
"""The name of a process of another machine."""


class Clock:
    """Seconds since 1970, which a test moves."""

    def __init__(self, now: float = 1_000_000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


class Place:
    """A place for one run store. `url` is that of a server, None for a file in `folder`. `close` closes all that was opened."""

    def __init__(self, folder: Path, url: str | None) -> None:
        self._opened: list[RunStore] = []
        self.is_file = url is None
        if url is None:
            self.name = str(folder / f"runs{next(NUMBERS)}.db")
            return
        database = f"runs{next(NUMBERS)}"
        with psycopg.connect(url, autocommit=True) as server:
            server.execute(f'CREATE DATABASE "{database}"'.encode())
        self.name = f"{url.rpartition('/')[0]}/{database}"

    def open(self, clock: Clock | None = None, **options: Any) -> RunStore:
        store = RunStore(self.name, clock or Clock(), **options)
        self._opened.append(store)
        return store

    def close(self) -> None:
        for store in self._opened:
            store.close()

    @contextmanager
    def changing(self) -> Iterator[Any]:
        """What executes a statement beside the product, with `?` for values, and gives its rows."""
        if self.is_file:
            with closing(sqlite3.connect(self.name, isolation_level=None)) as file:
                yield lambda statement, values=(): file.execute(statement, values).fetchall()
            return
        with psycopg.connect(self.name, autocommit=True, options="-csearch_path=concerto_runs") as connection:

            def execute(statement: str, values: Sequence[Any] = ()) -> list[Any]:
                done = connection.execute(statement.replace("?", "%s").encode(), values)
                return done.fetchall() if done.description else []

            yield execute

    def all(self) -> dict[str, list[Any]]:
        """Every row of every table."""
        with self.changing() as execute:
            tables = ("images", "runs", "rows", "answers")
            return {table: sorted(execute(f"SELECT * FROM {table}"), key=repr) for table in tables}


def header(run: str, image: str = IMAGE) -> Header:
    return Header(program="p", image=image, run=run, args=["x"], seed=7, wall=1_000_000.0, offline=True)


def effect(key: str, result: Any = "ok", status: str = "done") -> EffectRow:
    return EffectRow(key, "model", "repeatable", "d" * 16, {"prompt": "é\0"}, f"idem-{key}", result=result, status=status)


def every_row() -> list[Row]:
    """A row of each class, and of each kind of text."""
    return [
        effect("0:1"), PieceRow("0:2", "a\0b \ud800 \U0001f600", 1.5), effect("0:2", {"n": [1, 2.5, None, True]}),
        DeliveryRow("0:1"),
        EmitRow("out", {"é": 1}, False, 2.0), EmitRow(None, "printed\n", False, 3.0),
    ]  # fmt: skip


def ended() -> EndRow:
    return EndRow("ok", value=[1])
