"""O-1.241: an index in a place that other processes write, and a process that is killed while it writes."""

from __future__ import annotations

import random
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from threading import Barrier

import pytest
from concerto.runtime.memory.stores.postgres_connection import Database
from concerto.runtime.search import search_file
from concerto.runtime.search.index import Document, SearchFailure, SearchIndex

from .oracle import unit
from .soundness import check

WRITER = Path(__file__).with_name("writer.py")


def writing(place: str | Database, name: str, count: int, size: int = 1) -> subprocess.Popen[str]:
    where = [place] if isinstance(place, str) else [place.url, place.schema or ""]
    command = [sys.executable, str(WRITER), name, str(count), str(size), *where]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def test_what_another_process_writes_is_found(place: str | Database) -> None:
    index = SearchIndex("notes", place)
    assert index.search("sun", 99, "m", unit(1, 0, 2)) == []
    with writing(place, "a", 6) as other:
        assert other.stdout is not None
        for _ in other.stdout:
            index.search("sun", 99, "m", unit(1, 0, 2))
    assert other.returncode == 0
    assert [hit.id for hit in index.search("", 99, "m", unit(1, 0, 2))] == ["a0", "a2", "a3", "a5"]
    assert [hit.id for hit in index.search("w5", 1, "m", unit(1, 5, 2))] == ["a5"]
    index.close()


def test_a_file_that_somebody_else_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Is read meanwhile, and not written for ever."""
    monkeypatch.setattr(search_file, "BUSY_MS", 20)
    path = str(tmp_path / "s.db")
    index = SearchIndex("notes", path)
    index.put([Document("a", "sun", "1")])
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    for change in (lambda: index.put([Document("b", "sun", "1")]), lambda: index.remove(["a"]), index.clear):
        with pytest.raises(
            SearchFailure, match="the index notes in .*: database is locked; another process has held it"
        ) as caught:
            change()
        assert caught.value.kind == "Store"
    assert [hit.id for hit in index.search("sun", 5)] == ["a"]
    holder.execute("ROLLBACK")
    holder.close()
    index.clear()
    assert len(index) == 0
    index.close()


def test_two_writers_lose_nothing(place: str | Database) -> None:
    writers = [writing(place, name, 30) for name in ("a", "b", "c")]
    for writer in writers:
        writer.communicate()
        assert writer.returncode == 0
    index = SearchIndex("notes", place)
    left = sorted(f"{name}{n}" for name in "abc" for n in range(30) if n % 3 != 1)
    assert sorted(each.id for _, each in index.documents()) == left
    assert len({place for place, _ in index.documents()}) == len(index) == len(left)
    assert sorted(hit.id for hit in index.search("sun", 99)) == left
    assert sorted(hit.id for hit in index.search("", 99, "m", unit(1, 1, 1))) == left
    index.close()


def test_a_process_killed_while_it_writes_leaves_a_sound_index(place: str | Database) -> None:
    """All of a batch is there or nothing of it, by words, by vectors and in order."""
    drawn = random.Random(5)
    size = 40
    for number in range(12 if isinstance(place, str) else 4):
        name = f"k{number}x"
        with writing(place, name, 10_000, size) as other:
            assert other.stdout is not None
            said = [other.stdout.readline() for _ in range(drawn.randint(1, 3))]
            time.sleep(drawn.uniform(0, 0.02))
            other.kill()
            said += other.stdout.readlines()
        index = SearchIndex("notes", place)
        index.remove([])  # behind what the server still does for the process that is gone
        ids = [each.id for _, each in index.documents(limit=10**6) if each.id.startswith(name)]
        assert len(ids) >= size * len([line for line in said if line.endswith("\n")])
        assert ids == [f"{name}{n}" for n in range(len(ids))] and len(ids) % size == 0
        found = index.search(name, 10**6)
        assert {hit.id for hit in found} >= set(ids[:1]) and len(found) == len(ids)
        assert len(index.search("", 10**6, "m", unit(1, 2, 3))) == len(index) == len(index.documents(limit=10**6))
        check(index)
        index.close()


def test_sessions_that_start_together_make_one_index(new_database: Callable[[], Database]) -> None:
    """Whatever isolation the server has as its default."""
    together = Barrier(6)

    def opened(database: Database, name: str) -> None:
        together.wait()
        with closing(SearchIndex("notes", database)) as index:
            index.put([Document(name, "sun", "1", "m", unit(1, 2, 3))])

    for isolation in ("read%5C%20committed", "serializable"):
        database = new_database()
        database = replace(database, url=f"{database.url}?options=-cdefault_transaction_isolation%3D{isolation}")
        with ThreadPoolExecutor(6) as pool:
            list(pool.map(opened, [database] * 6, "abcdef"))
        with closing(SearchIndex("notes", database)) as index:
            assert sorted(hit.id for hit in index.search("sun", 9, "m", unit(1, 1, 1))) == list("abcdef")
            check(index)
