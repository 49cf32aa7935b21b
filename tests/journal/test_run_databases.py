"""What the two kinds of run stores have of their own: files that were lost, servers that end, clocks that differ, passwords
(G-12.5, G-12.8, G-12.9, G-13.1)."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import concerto
import psycopg
import pytest
from concerto.runtime.journal import run_databases
from concerto.runtime.journal.rows import JournalRefused, plain_of
from concerto.runtime.journal.run_store import LEASE, Claim, Held, RunStore, shown

from ..command import Ended, environment
from ..command import concerto as command
from ..memory import servers
from .places import OTHER, Clock, Place, effect, header

PROGRAM = """
channel approve: String -> Bool;
model M { provider: offline }
fn main() {
    for i in 0..3 { let r = M.execute("plan ${i}")?; emit("done", r.text); }
    emit("yes", approve("x")?);
}
"""


def begun(store: RunStore, run: str = "a1") -> Claim:
    claim = store.begin(header(run), b"image", {})
    claim.commit([effect("0:1")], 0, [])
    return claim


# ------------------------------------------------------------ files


def test_a_file_that_was_emptied_is_a_store_that_was_lost(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    path.touch()
    for must_exist in (True, False):
        with pytest.raises(JournalRefused, match="s.db is empty: what it held is lost; restore it from a copy"):
            RunStore(str(path), Clock(), must_exist=must_exist)
    assert path.read_bytes() == b""


def test_a_new_file_is_made_whole_and_for_the_user_alone(tmp_path: Path) -> None:
    path = tmp_path / "a ?#%é.db"
    store = RunStore(str(path), Clock())
    begun(store)
    assert path.stat().st_mode & 0o777 == 0o600
    store.close()
    assert [one.name for one in tmp_path.iterdir()] == [path.name]
    assert len(RunStore(str(path), Clock(), must_exist=True).runs()) == 1


def test_files_that_are_none_of_ours(tmp_path: Path) -> None:
    (tmp_path / "text.db").write_text("x" * 5_000)
    with sqlite3.connect(tmp_path / "other.db") as other:
        other.execute("CREATE TABLE t (x)")
    (tmp_path / "folder.db").mkdir()
    for name, said in (
        ("text.db", "is damaged: file is not a database"), ("other.db", "is a database of something else"),
        ("folder.db", "unable to open database file; the path must be a file"), ("no/where.db", "No such file or directory"),
        ("a\0b", "holds a NUL"),
    ):  # fmt: skip
        with pytest.raises(JournalRefused, match=said):
            RunStore(f"{tmp_path}/{name}" if "\0" not in name else name, Clock())


def test_a_store_of_ours_is_opened_and_read_without_writing(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    begun(RunStore(str(path), Clock()))
    with sqlite3.connect(path, isolation_level=None) as other:
        other.execute("BEGIN IMMEDIATE")  # whoever writes would wait for this one
        assert len(RunStore(str(path), Clock(), must_exist=True).runs()) == 1


def test_commits_wait_for_the_disk_where_that_is_asked_for(tmp_path: Path, database: Place) -> None:
    for full, level in ((False, 1), (True, 2)):
        store = RunStore(str(tmp_path / "s.db"), Clock(), full=full)
        assert store._database.rows("PRAGMA synchronous") == [(level,)]
        assert store._database.rows("PRAGMA trusted_schema") == [(0,)]
    with psycopg.connect(database.name, autocommit=True) as connection:
        connection.execute(f"ALTER DATABASE {database.name.rpartition('/')[2]} SET synchronous_commit TO off".encode())
    assert database.open(full=True)._database.rows("SHOW synchronous_commit") == [("on",)]
    assert database.open()._database.rows("SHOW synchronous_commit") == [("off",)]


# ------------------------------------------------------------ names and passwords


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("postgres://h/d", "postgres://h/d"),
        ("postgresql://u:sEcReT@h:5/d?password=sEcReT", "postgresql://u@h:5/d"),
        ("postgresql://u:%40sEcReT@h1:5,h2:6/d", "postgresql://u@h1:5,h2:6/d"),
        ("postgresql://:sEcReT@/d", "postgresql:///d"),
        ("postgresql:///d?host=/tmp", "postgresql:///d"),
        ("postgresql://u:sE/cReT@h/d", "postgresql://…"),
        ("postgresql://u:sE@cReT@h/d", "postgresql://…"),
        ("postgresql://u:sE?cReT@h/d", "postgresql://…"),
        ("postgresql://u:sE#cReT@h/d", "postgresql://…"),
        ("a/b.db", "a/b.db"),
    ],
)
def test_what_a_store_is_called_shows_no_password(url: str, name: str) -> None:
    assert shown(url) == name
    if "sEcReT" not in url and name != url:
        return
    if url.startswith("postgres"):
        with pytest.raises(JournalRefused) as refused:
            RunStore(url.replace("h1", "localhost").replace("@h", "@localhost:1"), Clock())
        assert "sE" not in str(refused.value) and "cReT" not in str(refused.value)


def with_password(database: Place, password: str) -> str:
    """The URL of a role that has one; the server of tests asks nobody for it."""
    role = f"role_{database.name.rpartition('/')[2]}"
    with psycopg.connect(database.name, autocommit=True) as connection:
        connection.execute(f"CREATE ROLE {role} SUPERUSER LOGIN PASSWORD '{password}'".encode())
    return database.name.replace("concerto@", f"{role}:{password}@")


def test_run_resume_and_runs_on_a_database(database: Place, tmp_path: Path) -> None:
    (tmp_path / "a.conc").write_text(PROGRAM)
    url = with_password(database, "sEcReT")
    said: list[Ended] = []

    def ended(code: int, *words: str) -> Ended:
        said.append(command(*words, "--store", url, cwd=tmp_path))
        assert said[-1].code == code, said[-1]
        return said[-1]

    waiting = ended(75, "run", "a.conc", "--offline")
    run = waiting.err.split()[1]
    assert waiting.out.count("[emit:done]") == 3 and "--answer '0:7/approve.1=JSON'" in waiting.err
    assert ended(0, "runs").out.startswith(f"{run}  waiting ")
    name = shown(url)
    kept = ended(0, "runs", "answer", run, "0:7/approve.1", "true").out
    assert kept == f"kept; go on with: concerto resume {run} --store {name}\n"
    assert ended(0, "resume", run[:6]).out == "[emit:yes] true\n"
    assert "ended well" in ended(0, "resume", run).err
    assert '"state": "done"' in ended(0, "runs", "show", run, "--json").out
    assert ended(74, "resume", "ffff").err.startswith(f"the run store {name} has no run ffff")
    assert ended(0, "runs", "prune", "--days", "0").out == "removed 1 runs\n"
    assert not [one for one in said if "sEcReT" in one.out + one.err]


def test_the_password_may_stand_in_the_environment(database: Place, tmp_path: Path) -> None:
    """As libpq has it; the server of tests asks nobody for one, so the name of the database comes this way here."""
    database.open()
    bare, _, name = database.name.rpartition("/")
    done = command("runs", "--store", bare, cwd=tmp_path, PGDATABASE=name, PGPASSWORD="sEcReT")
    assert done == Ended(0, "", "")


def test_psycopg_is_asked_for_only_where_it_is_needed(tmp_path: Path) -> None:
    (tmp_path / "a.conc").write_text(PROGRAM)
    (tmp_path / "hidden").mkdir()
    (tmp_path / "hidden" / "psycopg.py").write_text("raise ImportError")
    extra = {"PYTHONPATH": str(tmp_path / "hidden")}
    assert command("run", "a.conc", "--offline", "--store", "s.db", cwd=tmp_path, **extra).code == 75
    done = command("run", "a.conc", "--offline", "--store", "postgres://u:sEcReT@localhost/d", cwd=tmp_path, **extra)
    assert done.code == 1 and done.out == ""
    said = "run store postgres://u@localhost/d: psycopg is not installed: python -m pip install 'psycopg"
    assert done.err.startswith(said) and done.err.count("\n") == 1


def test_a_database_is_named_in_python_too(database: Place) -> None:
    with concerto.compile(PROGRAM).session(offline=True, store=database.name) as session:
        waiting = session.run()
    assert waiting.exit_code == 75 and waiting.run is not None
    run = waiting.run
    assert database.open().run(run).state == "waiting"
    done = concerto.resume(run, store=database.name, answers={waiting.waits[0].key: True}, offline=True)
    assert done.ok and database.open().run(run).state == "done"
    with pytest.raises(concerto.RecordingError, match="Connection refused"):
        concerto.resume(run, store="postgresql://u:sEcReT@localhost:1/d")


# ------------------------------------------------------------ several machines


def test_a_live_machine_holds_its_runs_until_the_lease_is_over_whatever_its_clock_says(database: Place) -> None:
    """Leases are held by the server's clock."""
    slow, fast = Clock(time.time() - 9_000), Clock(time.time() + 9_000)
    first, second = database.open(slow, named=OTHER), database.open(fast)
    claim = begun(first)
    with pytest.raises(Held, match="is held by elsewhere:7 for another (59|60) s"):
        second.claim("a1")
    slow.now += LEASE - 10
    claim.renew()
    fast.now += LEASE + 10
    with pytest.raises(Held):
        second.claim("a1")
    fast.now += LEASE
    other = second.claim("a1")
    other.commit([effect("0:2")], 0, [])
    assert abs(second.run("a1").changed - time.time()) < 3 * LEASE


# ------------------------------------------------------------ servers that end


def backends(database: Place) -> list[int]:
    """The processes of the server that serve a database, but the one that is asked."""
    with psycopg.connect(database.name) as connection:
        statement = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
        return [pid for (pid,) in connection.execute(statement).fetchall()]


def test_a_lost_connection_is_opened_anew(database: Place) -> None:
    claim = begun(database.open())
    with psycopg.connect(database.name, autocommit=True) as connection:
        others = "datname = current_database() AND pid <> pg_backend_pid()"
        connection.execute(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {others}".encode())
    time.sleep(0.1)
    claim.commit([effect("0:2")], 0, [])
    assert [plain_of(row)["effect"] for row in database.open().rows("a1")] == ["0:1", "0:2"]


MOMENTS = ("never", "in front of the first statement", "behind the first", "behind the rows", "in a statement")


@pytest.mark.parametrize("when", MOMENTS)
def test_a_connection_lost_in_a_commit_keeps_all_of_it_or_nothing(
    database: Place, when: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = database.open()
    claim = begun(store)
    (pid,) = backends(database)
    change, change_all = store._database.change, store._database.change_all

    def end() -> None:
        with psycopg.connect(database.name, autocommit=True) as connection:
            connection.execute("SELECT pg_terminate_backend(%s)", [pid])
        time.sleep(0.1)

    def first(statement: str, values: Any = ()) -> int:
        if when == "in front of the first statement":
            end()
        if when == "in a statement":
            threading.Timer(0.2, end).start()
            statement = statement.replace("WHERE id = ?", "WHERE pg_sleep(0.5)::text = '' AND id = ?")
        done = change(statement, values)
        if when == "behind the first":
            end()
        return done

    def rows(statement: str, rows: Any) -> None:
        change_all(statement, rows)
        if when == "behind the rows":
            end()

    monkeypatch.setattr(store._database, "change", first)
    monkeypatch.setattr(store._database, "change_all", rows)
    if when == "never":
        claim.commit([effect("0:2"), effect("0:3")], 0, [])
    else:
        with pytest.raises(JournalRefused, match=f"{database.name} failed: .*; what is committed is kept"):
            claim.commit([effect("0:2"), effect("0:3")], 0, [])
    monkeypatch.undo()
    kept = [plain_of(row)["effect"] for row in store.rows("a1")]
    assert kept == (["0:1", "0:2", "0:3"] if when == "never" else ["0:1"])
    claim.close()
    again = database.open().claim("a1")  # at once: the lease was given back
    again.commit([effect("0:9")], 0, [])


def test_a_server_that_does_not_answer_is_given_up(
    database: Place, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    claim = begun(database.open())
    monkeypatch.setattr(run_databases, "PATIENCE", 1.0)
    slow = database.open()
    with servers.stopped(postgres_url):
        began = time.monotonic()
        for use in (lambda: claim.commit([effect("0:2")], 0, []), slow.runs):
            with pytest.raises(JournalRefused, match=r"failed: no answer in 1 s; what is committed is kept"):
                use()
        assert time.monotonic() - began < 15
    assert [plain_of(row)["effect"] for row in slow.rows("a1")] == ["0:1"]


def test_a_run_whose_server_is_killed_ends_with_a_message_and_goes_on_later(tmp_path: Path) -> None:
    """SIGKILL of every process of the server while the run commits; then it recovers from its own log."""
    program = """
        model M { provider: offline }
        fn main() {
            for i in 0..400 { std::time::sleep(5); let r = M.execute("plan ${i}")?; emit("done", r.text); }
        }
    """
    (tmp_path / "a.conc").write_text(program)
    psutil = pytest.importorskip("psutil")
    with servers.postgres_server() as server:
        flags = ["--store", server.url]
        with open(tmp_path / "heard", "w") as output:
            run = subprocess.Popen(
                [sys.executable, "-m", "concerto", "run", "a.conc", "--offline", *flags], cwd=tmp_path, text=True,
                stdout=output, stderr=subprocess.PIPE, env=environment(),
            )  # fmt: skip
        while (tmp_path / "heard").stat().st_size < 100 and run.poll() is None:
            time.sleep(0.01)
        family = [psutil.Process(server.process.pid), *psutil.Process(server.process.pid).children(recursive=True)]
        for process in family:
            os.kill(process.pid, signal.SIGKILL)
        _, errors = run.communicate(timeout=60)
        assert run.returncode == 1 and "Traceback" not in errors, errors
        begins, *_, ends = errors.splitlines()
        assert ends.startswith(f"the run store {server.url} failed: ") and ends.endswith("what is committed is kept"), errors
        server.restart()
        name = begins.removeprefix("run: ")
        done = command("resume", name, *flags, cwd=tmp_path)
        assert done.code == 0, done
        emits = [f"offline: plan {i}" for i in range(400)]
        heard, again = (text.replace("[emit:done] ", "").splitlines() for text in ((tmp_path / "heard").read_text(), done.out))
        assert 0 < len(heard) < 400 <= len(heard) + len(again)
        assert heard == emits[: len(heard)] and again == emits[-len(again) :]
        store = RunStore(server.url, time.time)
        rows = [plain_of(row) for row in store.rows(name)]
        store.close()
        assert [row["value"] for row in rows if "emit" in row and not row["by_runtime"]] == emits
