"""What outlives a process (G-12.2, G-12.3, G-12.5, M-8.5 to M-8.7, M-8.14; laws I7, I14 and I22 on files).

CONCERTO_KILLS sets how often the writer is killed (G-12.6 asks for 1,000 at night), CONCERTO_WRITERS how many processes append.
"""

from __future__ import annotations

import os
import random
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest
from concerto.runtime.memory.changes import Draft
from concerto.runtime.memory.entries import check_units
from concerto.runtime.memory.failures import MemoryFailure
from concerto.runtime.memory.memory import Memory
from concerto.runtime.memory.policy import Policy, SummaryPolicy
from concerto.runtime.memory.stores.sqlite import SqliteStore, is_on_network
from concerto.runtime.memory.summaries import due_fold, store_fold
from concerto.runtime.records import Msg

APPENDER = str(Path(__file__).with_name("appender.py"))
KILLS = int(os.environ.get("CONCERTO_KILLS", "6"))
WRITERS = int(os.environ.get("CONCERTO_WRITERS", "4"))


def start(path, writer, first, count, how="Append"):
    command = [sys.executable, APPENDER, str(path), writer, str(first), str(count), how]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def runs_in_order(memory):
    """The run ids of the log; every turn is whole and together."""
    found = []
    for turn, entries in memory.turns():
        assert [entry.role for entry in entries] == ["user", "assistant", "tool", "assistant"]
        assert [entry.seq for entry in entries] == list(range(entries[0].seq, entries[0].seq + 4))
        assert {entry.run for entry in entries} == {turn.run}
        assert entries[0].message.content == turn.run
        found.append(turn.run)
    check_units(memory.messages())
    head = memory.head()
    assert (head.length, head.next, head.turns, head.version) == (4 * len(found), 4 * len(found), len(found), len(found))
    assert len(found) == len(set(found))
    return found


def test_no_acknowledged_turn_is_lost_when_the_writer_is_killed(tmp_path):
    path = tmp_path / "memory.db"
    chance = random.Random(20)
    acknowledged = -1
    for _ in range(KILLS):
        # It begins with the last acknowledged turn: committing a run again stores nothing (M-5.10).
        writer = start(path, "w", max(acknowledged, 0), 1_000_000)
        assert writer.stdout.readline() == "ready\n"
        time.sleep(chance.uniform(0, 0.15))
        writer.kill()
        told = [int(line) for line in writer.stdout.read().splitlines(keepends=True) if line.endswith("\n")]
        writer.wait()
        writer.stdout.close()
        acknowledged = max([acknowledged, *told])
        store = SqliteStore(str(path))
        runs = runs_in_order(Memory(Policy(), name="chat", store=store))
        store.close()
        assert runs == [f"w:{number}" for number in range(len(runs))]
        assert len(runs) in (acknowledged + 1, acknowledged + 2)  # the one in flight may have been stored
    assert acknowledged > 0


def test_every_connection_is_safe_against_loss_of_power(tmp_path):
    """A commit is on the disk when it is acknowledged: the log of SQLite is synchronised at each (G-12.3, G-12.5)."""
    for _ in range(2):  # a new file, and one that is there
        store = SqliteStore(str(tmp_path / "memory.db"))
        Memory(Policy(), name="chat", store=store).append("user", "x")
        pragmas = {name: store._live().execute(f"PRAGMA {name}").fetchone()[0] for name in SAFE}
        store.close()
        assert pragmas == SAFE


SAFE = {"synchronous": 2, "journal_mode": "wal", "busy_timeout": 30_000, "trusted_schema": 0}


@pytest.mark.parametrize("how", ["Append", "Reject"])
def test_several_processes_lose_double_and_interleave_nothing(opened, tmp_path, how):
    path = tmp_path / "memory.db"
    count = 15
    writers = [start(path, f"w{number}", 0, count, how) for number in range(WRITERS)]
    for writer in writers:
        assert writer.wait(300) == 0
        writer.stdout.close()
    runs = runs_in_order(Memory(Policy(), name="chat", store=opened(SqliteStore(str(path)))))
    assert len(runs) == WRITERS * count
    for number in range(WRITERS):
        assert [run for run in runs if run.startswith(f"w{number}:")] == [f"w{number}:{n}" for n in range(count)]


def test_who_commits_between_look_and_write_is_seen(opened, tmp_path):
    """I14: the version is compared in the transaction that writes, not before it."""

    class Late(SqliteStore):
        first = None

        def _transaction(self):
            if self.first is not None:
                other, self.first = self.first, None
                other()
            return super()._transaction()

    path = str(tmp_path / "memory.db")
    mine, theirs = opened(Late(path)), opened(SqliteStore(path))
    late, quick = (Memory(Policy(on_conflict="Reject"), name="chat", store=store) for store in (mine, theirs))
    for version, wait in ((0, 1), (1, 2)):
        mine.first = lambda: quick.append("user", "quick")
        with pytest.raises(MemoryFailure) as raised:
            late.write([Draft(Msg("user", "late"))], expect=late.version())
        assert (raised.value.variant, raised.value.fields) == ("Conflict", {"expected": version, "actual": wait})
    assert [message.content for message in quick.messages()] == ["quick", "quick"]


def test_every_write_fails_whole_at_every_statement(opened, tmp_path):
    """I7: the planted fault moves one statement further until the write succeeds."""

    class Failing(SqliteStore):
        left: int | None = None

        def _live(self):
            if self.left is not None:
                self.left -= 1
                if self.left < 0:
                    self.left = None
                    raise sqlite3.OperationalError("disk I/O error")
            return super()._live()

    store = opened(Failing(str(tmp_path / "memory.db")))
    memory = Memory(Policy(retain=4, window=3, window_low=1), name="chat", store=store)
    memory.append_all([Msg("user", str(n)) for n in range(4)])
    works = [
        lambda: memory.append("user", "x"),
        lambda: memory.fork("b"),
        lambda: memory.erase([1, 2]),
        lambda: memory.rewind(0),
        memory.clear,
    ]
    for work in works:
        failures = 0
        while True:
            before = memory.dump(), memory.branches()
            store.left = failures
            try:
                work()
            except MemoryFailure as failure:
                assert failure.variant == "Store"
                store.left = None
                if "still holds" in failure.message:  # the transaction is done, its traces are not gone: erasing again ends it
                    work()
                    break
                assert (memory.dump(), memory.branches()) == before
                failures += 1
                continue
            store.left = None
            break
        assert failures >= 2


def test_opening_reads_only_what_the_window_shows(opened, tmp_path):
    path = str(tmp_path / "memory.db")
    Memory(Policy(), name="chat", store=opened(SqliteStore(path))).append_all([Msg("user", str(n)) for n in range(100_000)])
    store = opened(SqliteStore(path))
    memory = Memory(Policy(window=50, retain=100_000), name="chat", store=store)
    read = []
    plain = store._rows
    store._rows = lambda statement, values=(): read.append(len(found := plain(statement, values))) or found
    shown, _ = memory.view()
    assert [message.content for message in shown.window] == [str(n) for n in range(99_950, 100_000)]
    memory.append("user", "one more")
    assert len(memory) == 100_000
    assert sum(read) < 200


def test_erased_text_is_in_no_file(opened, tmp_path):
    path = tmp_path / "memory.db"
    marker = "MARKER-4711-ZEBRA"
    memory = Memory(Policy(window=1, summary=SummaryPolicy()), name="chat", store=opened(SqliteStore(str(path))))
    for n in range(50):
        memory.append("user", f"filler {n}")
    memory.append("user", f"my secret is {marker}")
    memory.append("user", "later")
    store_fold(memory, due_fold(memory), f"they said {marker}")
    memory.fork("copy")
    assert marker.encode() in b"".join(file.read_bytes() for file in tmp_path.iterdir())
    assert memory.erase([50]) == 1
    for file in tmp_path.iterdir():
        assert marker.encode() not in file.read_bytes(), file.name
    assert marker not in memory.dump() + memory.branch("copy").dump() + str(memory.summary())


# ---------------------------------------------------------------- files that are no good


def refused(path):
    with pytest.raises(MemoryFailure) as raised:
        memory = Memory(Policy(), store=SqliteStore(str(path)))
        memory.append("user", "x")
        memory.messages()
    return raised.value


def test_a_damaged_file_is_reported_and_left_alone(tmp_path):
    path = tmp_path / "memory.db"
    path.write_bytes(b"this is no database at all" * 100)
    before = path.read_bytes()
    assert refused(path).variant == "Corrupt"
    assert path.read_bytes() == before


def test_a_damaged_entry_is_reported(opened, tmp_path):
    path = tmp_path / "memory.db"
    store = opened(SqliteStore(str(path)))
    memory = Memory(Policy(), store=store)
    memory.append("user", "x")
    for parts in (b"j[", b"z123", b"", b'j[{"kind":"call","text":"{}"}]'):
        store._connection.execute("UPDATE entry SET parts = ?", (parts,))
        with pytest.raises(MemoryFailure) as raised:
            memory.messages()
        assert raised.value.variant == "Corrupt"


def test_a_newer_format_is_refused(tmp_path):
    path = tmp_path / "memory.db"
    store = SqliteStore(str(path))
    store._connection.execute("UPDATE meta SET format = 6")
    store.close()
    failure = refused(path)
    assert (failure.variant, failure.fields) == ("Version", {"found": 6, "supported": 5})


def test_another_programs_database_is_refused(tmp_path):
    path = tmp_path / "other.db"
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE log (x)")
    other.close()
    assert refused(path).variant == "Store"


def test_a_place_that_cannot_be_written(tmp_path):
    blocker = tmp_path / "file"
    blocker.write_text("x")
    assert refused(blocker / "memory.db").variant == "Store"
    assert refused(tmp_path).variant == "Store"


def test_a_full_disk_is_a_store_failure(opened, tmp_path):
    store = opened(SqliteStore(str(tmp_path / "memory.db")))
    memory = Memory(Policy(), store=store)
    memory.append("user", "kept")
    store._connection.execute("PRAGMA max_page_count = 20")
    with pytest.raises(MemoryFailure) as raised:
        memory.append("user", "x" * 200_000)
    assert raised.value.variant == "Store"
    assert [message.content for message in memory.messages()] == ["kept"]


def test_network_file_systems_are_recognised(tmp_path):
    table = tmp_path / "mounts"
    table.write_text(
        "/dev/sda / ext4 rw 0 0\nsrv:/x /mnt/my\\040share nfs4 rw 0 0\n/dev/sdb /mnt/my\\040share/local ext4 rw 0 0\n"
    )
    assert is_on_network("/mnt/my share/deep", str(table))
    assert not is_on_network("/mnt/my share/local/deep", str(table))
    assert not is_on_network("/home", str(table))
    assert not is_on_network("/home", str(tmp_path / "missing"))


@pytest.mark.parametrize("name", ["Grün", "ü\u3000\u00a0x\u2028", os.fsdecode(b"latin-\xfc"), "a\\b"])
def test_mount_points_of_any_bytes(tmp_path, name):
    table = tmp_path / "mounts"
    written = os.fsencode(name).replace(b"\\", b"\\134")
    table.write_bytes(b"/dev/sda / ext4 rw 0 0\nsrv:/x /mnt/%s nfs4 rw 0 0\n" % written)
    assert is_on_network(f"/mnt/{name}/deep", str(table))
    assert not is_on_network("/home", str(table))


def test_parts_are_deflated_only_where_that_helps(opened, tmp_path):
    store = opened(SqliteStore(str(tmp_path / "memory.db"), deflates=True))
    memory = Memory(Policy(), store=store)
    noise = "".join(chr(random.Random(1).randrange(0x4E00, 0x9FFF)) for _ in range(10))
    for text in ("short", "long " * 1000, noise):
        memory.append("user", text)
    marks = [row[0][:1] for row in store._connection.execute("SELECT parts FROM entry ORDER BY seq")]
    assert marks == [b"j", b"z", b"j"]
    assert [message.content for message in memory.messages()] == ["short", "long " * 1000, noise]


@pytest.mark.parametrize(("size", "mark"), [(1_023, b"j"), (1_024, b"z")])
def test_parts_are_deflated_from_one_kibibyte_on(opened, tmp_path, size, mark):
    """M-8.8: the bytes of the parts as they are stored."""
    store = opened(SqliteStore(str(tmp_path / "memory.db"), deflates=True))
    empty = len('[{"kind":"text","text":""}]')
    memory = Memory(Policy(), store=store)
    memory.append("user", "a" * (size - empty))
    ((parts,),) = store._connection.execute("SELECT parts FROM entry").fetchall()
    assert parts[:1] == mark
    assert memory.messages()[0].content == "a" * (size - empty)


def test_what_was_acknowledged_is_there_for_who_opens_the_file_next(tmp_path):
    """M-8.5: nothing of it waits for the store to be closed."""
    path = str(tmp_path / "memory.db")
    mine, theirs = SqliteStore(path), SqliteStore(path)
    memory = Memory(Policy(), name="chat", store=mine)
    other = Memory(Policy(), name="chat", store=theirs)
    for number in range(3):
        memory.append("user", str(number))
        assert len(other) == number + 1
    mine.close()
    theirs.close()
