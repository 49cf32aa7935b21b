"""Measure what searches of an index in PostgreSQL cost (O-1.241), with documents and questions as `operations/searching.py` has
them for SQLite. Times are those of the clock, since the server is another process; tables are made in a schema of their own,
which is dropped at the end.

python -m benches.search.database URL [--size 10000]
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Callable
from dataclasses import replace
from time import perf_counter
from typing import Any

from concerto.runtime.memory.embedding import packed
from concerto.runtime.memory.stores.postgres_connection import Database
from concerto.runtime.search.index import SearchIndex

from ..operations.searching import BATCH, LABEL, NUMBERS, QUESTIONS, SHOWN, Drawn

SCHEMA = "concerto_bench_search"


def main() -> int:
    options = argparse.ArgumentParser(prog="python -m benches.search.database")
    options.add_argument("url", help="postgresql://USER@HOST:PORT/DATABASE")
    options.add_argument("--size", type=int, default=10_000, help="documents")
    chosen = options.parse_args()
    import psycopg

    database = Database(chosen.url, schema=SCHEMA)
    with psycopg.connect(chosen.url, autocommit=True) as administration:
        administration.execute(f"DROP SCHEMA IF EXISTS {SCHEMA} CASCADE")
        try:
            _measure(database, chosen.size, administration)
        finally:
            administration.execute(f"DROP SCHEMA IF EXISTS {SCHEMA} CASCADE")
    return 0


def _measure(database: Database, size: int, administration: Any) -> None:
    drawn = Drawn()
    index = SearchIndex("bench", database)
    putting = 0.0
    for at in range(0, size, BATCH):
        documents = [drawn.document(number) for number in range(at, at + BATCH)]
        putting += _seconds(lambda documents=documents: index.put(documents))
    _show("put a document, 500 at a time", putting / size)
    asked = [drawn.question() for _ in range(QUESTIONS)]
    _show("a connection and the first search by a vector", _seconds(lambda: _first(database)))
    for settled in (False, True):
        if settled:
            administration.execute(f"VACUUM ANALYZE {SCHEMA}.{index._tables.table['words']}")
        when = "behind VACUUM" if settled else "just written"
        _show(f"by words, {when}", _median(lambda text, vector: index.search(text, SHOWN), asked))
        _show(f"by vectors, {when}", _median(lambda text, vector: index.search("", SHOWN, LABEL, vector), asked))
        _show(f"by both, {when}", _median(lambda text, vector: index.search(text, SHOWN, LABEL, vector), asked))
    one = [replace(drawn.document(number), id=f"more {number}") for number in range(20)]
    _show("put one document", statistics.median(_seconds(lambda each=each: index.put([each])) for each in one))
    for name, table in index._tables.table.items():
        statement = f"SELECT pg_total_relation_size('{SCHEMA}.{table}')"
        print(f"{name}: {administration.execute(statement).fetchone()[0] / size:,.0f} B a document")
    _show("clear", _seconds(index.clear))
    index.close()


def _first(database: Database) -> None:
    index = SearchIndex("bench", database)
    index.search("", SHOWN, LABEL, packed([1.0] * NUMBERS))
    index.close()


def _seconds(work: Callable[[], object]) -> float:
    begun = perf_counter()
    work()
    return perf_counter() - begun


def _median(way: Callable[[str, bytes], object], asked: list[tuple[str, bytes]]) -> float:
    return statistics.median(_seconds(lambda text=text, vector=vector: way(text, vector)) for text, vector in asked)


def _show(name: str, seconds: float) -> None:
    print(f"{name}: {seconds * 1000:,.2f} ms", flush=True)


if __name__ == "__main__":
    sys.exit(main())
