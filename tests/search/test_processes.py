"""O-1.241: an index in a file that other processes write, and a process that is killed while it writes."""

from __future__ import annotations

import random
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest
from concerto.runtime.search import search_file
from concerto.runtime.search.index import Document, SearchFailure, SearchIndex

from .oracle import unit

WRITER = Path(__file__).with_name("writer.py")


def writing(path: str, name: str, count: int, size: int = 1) -> subprocess.Popen[str]:
    command = [sys.executable, str(WRITER), path, name, str(count), str(size)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def test_what_another_process_writes_is_found(tmp_path: Path) -> None:
    path = str(tmp_path / "s.db")
    index = SearchIndex("notes", path)
    assert index.search("sun", 99, "m", unit(1, 0, 2)) == []
    with writing(path, "a", 6) as other:
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


def test_two_writers_lose_nothing(tmp_path: Path) -> None:
    path = str(tmp_path / "s.db")
    writers = [writing(path, name, 30) for name in ("a", "b", "c")]
    for writer in writers:
        writer.communicate()
        assert writer.returncode == 0
    index = SearchIndex("notes", path)
    left = sorted(f"{name}{n}" for name in "abc" for n in range(30) if n % 3 != 1)
    assert sorted(each.id for _, each in index.documents()) == left
    assert len({place for place, _ in index.documents()}) == len(index) == len(left)
    assert sorted(hit.id for hit in index.search("sun", 99)) == left
    assert sorted(hit.id for hit in index.search("", 99, "m", unit(1, 1, 1))) == left
    index.close()


def test_a_process_killed_while_it_writes_leaves_a_sound_file(tmp_path: Path) -> None:
    """All of a batch is there or nothing of it, by words, by vectors and in order."""
    drawn = random.Random(5)
    path = str(tmp_path / "s.db")
    size = 40
    for number in range(12):
        name = f"k{number}x"
        with writing(path, name, 10_000, size) as other:
            assert other.stdout is not None
            said = [other.stdout.readline() for _ in range(drawn.randint(1, 3))]
            time.sleep(drawn.uniform(0, 0.02))
            other.kill()
            said += other.stdout.readlines()
        index = SearchIndex("notes", path)
        ids = [each.id for _, each in index.documents(limit=10**6) if each.id.startswith(name)]
        assert len(ids) >= size * len([line for line in said if line.endswith("\n")])
        assert ids == [f"{name}{n}" for n in range(len(ids))] and len(ids) % size == 0
        found = index.search(name, 10**6)
        assert {hit.id for hit in found} >= set(ids[:1]) and len(found) == len(ids)
        assert len(index.search("", 10**6, "m", unit(1, 2, 3))) == len(index) == len(index.documents(limit=10**6))
        assert index._file.rows("PRAGMA integrity_check") == [("ok",)]
        index._file.change("INSERT INTO {words} ({words}) VALUES ('integrity-check')")
        index.close()
