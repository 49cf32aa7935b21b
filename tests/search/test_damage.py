"""O-1.241: files that are torn, foreign, of another form or damaged anywhere give a SearchFailure and no other exception."""

from __future__ import annotations

import random
import sqlite3
from contextlib import suppress
from pathlib import Path

import pytest
from concerto.runtime.search.index import Document, SearchFailure, SearchIndex

from .oracle import unit


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("sound") / "s.db"
    index = SearchIndex("notes", str(path))
    drawn = random.Random(1)
    for batch in range(4):
        index.put([
            Document(f"d{n}", f"sun w{n % 7} " * 9, f'{{"n":{n}}}', f"m{n % 2}", unit(*(drawn.gauss(0, 1) for _ in range(16))))
            for n in range(batch * 20, batch * 20 + 30)
        ])  # fmt: skip
    index.remove(["d3", "d40"])
    index.close()
    assert not path.with_name("s.db-wal").exists()
    return path.read_bytes()


def use(path: Path) -> None:
    """Everything that an index can do."""
    index = SearchIndex("notes", str(path))
    try:
        vector = unit(*range(1, 17))
        uses = [
            lambda: index.search("sun w3 w4", 10), lambda: index.search("w2", 10, "m0", vector), lambda: len(index),
            lambda: index.documents(), lambda: index.get("d7"), lambda: index.lacking("m1", 10),
            lambda: index.put([Document("d8", "new sun", "1", "m1", vector), Document("e", "w1", "1", "m0", vector)]),
            lambda: index.remove(["d9", "d10"]), lambda: index.search("new w5", 10, "m1", vector), index.clear,
            lambda: index.put([Document("z", "sun", "1", "m0", vector)]), lambda: index.search("sun", 5, "m0", vector),
        ]  # fmt: skip
        for one in uses:
            with suppress(SearchFailure):
                one()
    finally:
        index.close()


def kind(path: Path, name: str = "notes") -> str:
    with pytest.raises(SearchFailure) as caught:
        SearchIndex(name, str(path))
    assert str(path) in caught.value.message
    return caught.value.kind


def test_foreign_and_torn_files(tmp_path: Path, sound: bytes) -> None:
    path = tmp_path / "s.db"
    cases = {b"": "Corrupt", b"hello": "Corrupt", sound[:100]: "Corrupt", b"\0" * 8192: "Corrupt", b"x" * 5000: "Corrupt"}
    for content, expected in cases.items():
        path.write_bytes(content)
        assert kind(path) == expected
        assert path.read_bytes() == content
    with sqlite3.connect(tmp_path / "foreign.db") as foreign:
        foreign.execute("CREATE TABLE other (a)")
    foreign.close()
    assert kind(tmp_path / "foreign.db") == "Store"
    (tmp_path / "folder").mkdir()
    assert kind(tmp_path / "folder") == "Store"
    (tmp_path / "file").write_text("x")
    with pytest.raises(SearchFailure):
        SearchIndex("notes", str(tmp_path / "file" / "s.db"))


def test_another_form_is_refused_by_name(tmp_path: Path, sound: bytes) -> None:
    path = tmp_path / "s.db"
    path.write_bytes(sound)
    with sqlite3.connect(path) as file:
        file.execute("UPDATE search_index SET form = 7")
    file.close()
    with pytest.raises(SearchFailure, match="the index notes in .*s.db has form 7, and this version knows form 1") as caught:
        SearchIndex("notes", str(path))
    assert caught.value.kind == "Version"
    SearchIndex("others", str(path)).close()  # one of our own form stands beside it


BROKEN = [
    "UPDATE search_index SET form = 0", "UPDATE search_index SET form = 'x'", "DROP TABLE search_1_words",
    "DROP TABLE search_1_bits", "DROP TABLE search_1_document", "DROP TABLE search_1_vector", "DROP TABLE search_1_space",
    "DROP TABLE search_1_removed", "ALTER TABLE search_1_document RENAME COLUMN text TO other",
    "UPDATE search_index SET newest = 'x'", "UPDATE search_index SET newest = 9223372036854775807",
    "UPDATE search_index SET removals = -1", "UPDATE search_index SET size = 1.5", "UPDATE search_index SET newest = 0",
    "UPDATE search_1_document SET text = 5", "UPDATE search_1_document SET text = 'a text'",
    "UPDATE search_1_document SET value = x'ff'", "UPDATE search_1_bits SET bits = 5", "UPDATE search_1_bits SET bits = 'bits'",
    "UPDATE search_1_vector SET vector = 'x'", "UPDATE search_1_vector SET vector = x'0011'", "DELETE FROM search_1_vector",
    "DELETE FROM search_1_document", "UPDATE search_1_space SET length = 'x'", "DELETE FROM search_1_words_data",
    "UPDATE search_1_words_data SET block = x'00'", "DELETE FROM search_1_words_docsize", "DELETE FROM search_1_words_config",
    "UPDATE search_1_words_config SET v = 99", "DROP TABLE search_1_words_idx", "UPDATE search_1_bits SET row = row + 1000",
    "UPDATE search_1_bits SET row = row || ') --'",
    "DELETE FROM search_index",
]  # fmt: skip


@pytest.mark.parametrize("statement", BROKEN)
def test_broken_tables(tmp_path: Path, sound: bytes, statement: str) -> None:
    path = tmp_path / "s.db"
    path.write_bytes(sound)
    file = sqlite3.connect(path, isolation_level=None)
    file.execute(statement)
    file.close()
    with pytest.raises(SearchFailure) as caught:
        index = SearchIndex("notes", str(path))
        try:
            index.search("sun w3", 50, "m0", unit(*range(1, 17)))
            index.documents()
            index.put([Document("d8", "new sun", "1", "m1", unit(*range(1, 17)))])
        finally:
            index.close()
    assert caught.value.kind == "Corrupt"
    with suppress(SearchFailure):
        use(path)


def test_a_damaged_log_of_writes(tmp_path: Path) -> None:
    """What a killed process left beside the file; SQLite takes of it what its sums confirm."""
    path, copy = tmp_path / "s.db", tmp_path / "copy.db"
    index = SearchIndex("notes", str(path))
    index.put([Document(f"d{n}", f"sun w{n % 7}", "1", "m0", unit(*range(n + 1, n + 17))) for n in range(30)])
    content, log = path.read_bytes(), path.with_name("s.db-wal").read_bytes()
    index.close()
    drawn = random.Random(3)
    for number in range(100):
        changed = bytearray(log)
        for _ in range(drawn.choice((1, 5, 100))):
            changed[drawn.randrange(len(changed))] = drawn.randrange(256)
        if number % 4 == 0:
            del changed[drawn.randrange(len(changed)) :]
        copy.write_bytes(content)
        copy.with_name("copy.db-wal").write_bytes(changed)
        with suppress(SearchFailure):
            use(copy)
        for left in tmp_path.glob("copy.db*"):
            left.unlink()


def test_files_damaged_anywhere(tmp_path: Path, sound: bytes) -> None:
    drawn = random.Random(2)
    pages = len(sound) // 4096
    failed = 0
    for number in range(1_000):
        content = bytearray(sound)
        for _ in range(drawn.choice((1, 1, 3, 30, 300))):
            at = drawn.randrange(pages) * 4096 + min(int(drawn.expovariate(1 / 200)), 4095)
            content[at] = drawn.choice((0, 255, content[at] ^ 1 << drawn.randrange(8), drawn.randrange(256)))
        if number % 10 == 0:
            del content[drawn.randrange(len(content)) :]
        path = tmp_path / f"{number}.db"
        path.write_bytes(content)
        try:
            use(path)
        except SearchFailure as failure:
            assert failure.kind in ("Store", "Corrupt", "Version")
            failed += 1
        for left in tmp_path.iterdir():
            left.unlink()
    assert 50 < failed < 950
