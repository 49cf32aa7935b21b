"""Run stores: runs that survive the death of their process, in a SQLite file (G-13.1, G-13.5, G-13.6).

A run is its header, the image it runs, and the rows of its journal. Whoever runs it holds a lease and an epoch: every commit is
one transaction that is bound to both, so that of several processes that go on with a run one does, and the others are fenced.
Hands on `RunStore`, `RunRow` and `Claim` to the command line and the Python API; `Claim` is the sink of the run's journal.
Nothing here knows a session.

A commit survives the death of the process (`synchronous=NORMAL`, write-ahead log); with `full` also the loss of power.
"""

from __future__ import annotations

import json
import os
import socket
import sqlite3
from contextlib import contextmanager

from .journal import Fenced
from .rows import EffectRow, EmitRow, EndRow, JournalRefused, header_of, plain_of, row_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    from .rows import Header, Row

FORMAT = 1
LEASE = 60.0  # seconds that a run is held without a commit or a renewal
LOCKED = 30.0  # seconds that a write waits for that of another process

RUNNING, WAITING, DONE, FAILED, CANCELLED = "running", "waiting", "done", "failed", "cancelled"
OVER = (DONE, FAILED, CANCELLED)

_TABLES = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE images (hash TEXT PRIMARY KEY, content BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE runs (
    id TEXT PRIMARY KEY, header TEXT NOT NULL, options TEXT NOT NULL, image TEXT NOT NULL, state TEXT NOT NULL, epoch INTEGER NOT NULL,
    owner TEXT NOT NULL, lease REAL NOT NULL, created REAL NOT NULL, changed REAL NOT NULL, rows INTEGER NOT NULL,
    emits INTEGER NOT NULL, told INTEGER NOT NULL, waits TEXT NOT NULL, outcome TEXT
) WITHOUT ROWID;
CREATE TABLE rows (run TEXT NOT NULL, n INTEGER NOT NULL, body TEXT NOT NULL, PRIMARY KEY (run, n)) WITHOUT ROWID;
CREATE TABLE answers (
    run TEXT NOT NULL, key TEXT NOT NULL, form TEXT NOT NULL, given REAL NOT NULL, PRIMARY KEY (run, key)
) WITHOUT ROWID;
"""


class RunRow:
    """What a store says of a run: its `header`, `state` (one of the words above), `created` and `changed` in seconds since 1970,
    how many `rows` its journal has and how many `emits`, the `options` of its host, what it `waits` for (plain rows with `key`,
    `kind` and what was asked), the end row of its `outcome`, None before, who is its `owner`, and until when (`lease`)."""

    __slots__ = (
        "id", "header", "options", "state", "epoch", "owner", "lease", "created", "changed", "rows", "emits", "told", "waits",
        "outcome",
    )  # fmt: skip

    def __init__(self, row: Sequence[Any]) -> None:
        (
            self.id, header, options, self.state, self.epoch, self.owner, self.lease, self.created, self.changed, self.rows, self.emits,
            self.told, waits, outcome,
        ) = row  # fmt: skip
        self.header: Header = header_of(json.loads(header))
        self.options: Any = json.loads(options)
        self.waits: list[dict[str, Any]] = json.loads(waits)
        self.outcome: EndRow | None = None
        if outcome is not None:
            end = row_of(json.loads(outcome))
            assert isinstance(end, EndRow)
            self.outcome = end


_COLUMNS = "id, header, options, state, epoch, owner, lease, created, changed, rows, emits, told, waits, outcome"


class RunStore:
    """The runs in the SQLite file at `path`, which is made unless `must_exist`. `wall` gives seconds since 1970. Every method
    raises JournalRefused, with the way out, where the file is none of a run store, cannot be read or written, or the disk is
    full."""

    def __init__(self, path: str, wall: Callable[[], float], *, full: bool = False, must_exist: bool = False) -> None:
        self.path = path
        self.wall = wall
        if must_exist and not os.path.exists(path):
            raise JournalRefused(f"there is no run store {path}")
        with self._failures():
            self._connection = sqlite3.connect(path, timeout=LOCKED, isolation_level=None, check_same_thread=False)
            try:
                self._prepare(full)
            except BaseException:
                self._connection.close()
                raise

    def _prepare(self, full: bool) -> None:
        run = self._connection.execute
        run("PRAGMA journal_mode=WAL")
        run(f"PRAGMA synchronous={'FULL' if full else 'NORMAL'}")
        with self._transaction():
            known = run("SELECT count(*) FROM sqlite_master").fetchone()[0]
            if not known:
                for statement in _TABLES.strip().split(";\n"):
                    run(statement)
                run("INSERT INTO meta VALUES ('format', ?)", (f"concerto-runs/{FORMAT}",))
                os.chmod(self.path, 0o600)
            is_ours = run("SELECT count(*) FROM sqlite_master WHERE name = 'meta'").fetchone()[0]
            format_row = run("SELECT value FROM meta WHERE name = 'format'").fetchone() if is_ours else None
        if format_row is None:
            raise JournalRefused(f"{self.path} is a database of something else; name another file")
        if format_row[0] != f"concerto-runs/{FORMAT}":
            raise JournalRefused(f"{self.path} has the format {format_row[0]}; this release reads concerto-runs/{FORMAT}")

    @contextmanager
    def _failures(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise JournalRefused(f"the run store {self.path} failed: {error}; what is committed is kept") from None
        except OSError as error:
            raise JournalRefused(f"the run store {self.path} failed: {error.strerror or error}; what is committed is kept") from None

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """One transaction, which sees no other writer in between; rolled back where the block raises."""
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")

    # ------------------------------------------------------------ runs

    def begin(self, header: Header, image: bytes, options: Any) -> Claim:
        """Add a new run, which this process holds, and return the claim to it. `options` is plain data of the host, which gets it
        back with the run."""
        now, claim = self.wall(), Claim(self, header.run, 1)
        with self._failures(), self._transaction():
            run = self._connection.execute
            run("INSERT OR IGNORE INTO images VALUES (?, ?)", (header.image, image))
            run(
                "INSERT INTO runs VALUES (?, ?, ?, ?, ?, 1, ?, ?, ?, ?, 0, 0, 0, '[]', NULL)",
                (header.run, json.dumps(header.as_json()), json.dumps(options), header.image, RUNNING, owner(), now + LEASE, now, now),
            )
        return claim

    def claim(self, run: str, *, take_over: bool = False) -> Claim:
        """Take a run that is not over, so that this process goes on with it. Raises JournalRefused for a run that is over, or
        held by another process that may still live, unless `take_over`: then that one is fenced at its next commit."""
        with self._failures(), self._transaction():
            row = self._row(run)
            if row.state in OVER:
                raise JournalRefused(f"the run {run} is over: {row.state}")
            now = self.wall()
            if row.state == RUNNING and row.lease > now and not take_over and not _is_dead(row.owner):
                seconds = row.lease - now
                raise Held(
                    f"the run {run} is held by {row.owner} for another {seconds:.0f} s; end that process, or take the run over"
                )
            self._connection.execute(
                "UPDATE runs SET epoch = epoch + 1, owner = ?, lease = ?, state = ?, changed = ? WHERE id = ?",
                (owner(), now + LEASE, RUNNING, now, row.id),
            )
            claim = Claim(self, row.id, row.epoch + 1)
            claim.rows, claim.told = row.rows, row.told
            return claim

    def run(self, run: str) -> RunRow:
        """Return a run by its id, or by an unambiguous beginning of it. Raises JournalRefused for an unknown one."""
        with self._failures():
            return self._row(run)

    def _row(self, run: str) -> RunRow:
        select = f"SELECT {_COLUMNS} FROM runs WHERE id >= ? AND id < ? LIMIT 3"
        rows = self._connection.execute(select, (run, f"{run}\U0010ffff")).fetchall()
        exact = [row for row in rows if row[0] == run] or rows
        if not run or not exact:
            raise JournalRefused(f"the run store {self.path} has no run {run}; `concerto runs --store {self.path}` lists them")
        if len(exact) > 1:
            raise JournalRefused(f"several runs begin with {run}: {', '.join(row[0] for row in exact)}")
        return RunRow(exact[0])

    def runs(self) -> list[RunRow]:
        """Return all runs, the newest first."""
        with self._failures():
            rows = self._connection.execute(f"SELECT {_COLUMNS} FROM runs ORDER BY created DESC, id").fetchall()
        return [RunRow(row) for row in rows]

    def image(self, hash: str) -> bytes:
        """Return the bytes of the image with that hash. Raises JournalRefused where the store has none."""
        with self._failures():
            row = self._connection.execute("SELECT content FROM images WHERE hash = ?", (hash,)).fetchone()
        if row is None:
            raise JournalRefused(f"the run store {self.path} has no image {hash}")
        return bytes(row[0])

    def rows(self, run: str) -> Iterator[Row]:
        """Yield the rows of a run in their order. Raises JournalRefused, with the number of the row, for what is none."""
        after = -1
        while True:
            with self._failures():
                select = "SELECT n, body FROM rows WHERE run = ? AND n > ? ORDER BY n LIMIT 500"
                part = self._connection.execute(select, (run, after)).fetchall()
            for after, body in part:
                try:
                    yield row_of(json.loads(body))
                except (JournalRefused, ValueError, RecursionError) as refused:
                    raise JournalRefused(f"{self.path}: row {after} of the run {run} {refused}") from None
            if not part:
                return

    # ------------------------------------------------------------ what the host says

    def answer(self, run: str, key: str, form: Any) -> None:
        """Keep an answer for the effect that a run waits for, or whose outcome is not known, until the run goes on. Raises
        JournalRefused for an effect that the run does not wait for, and for one that has its answer."""
        with self._failures(), self._transaction():
            row = self._row(run)
            if row.state in OVER:
                raise JournalRefused(f"the run {row.id} is over: {row.state}")
            waiting = [wait["key"] for wait in row.waits]
            if key not in waiting:
                raise JournalRefused(f"the run {row.id} does not wait for {key}; it waits for {', '.join(waiting) or 'nothing'}")
            done = self._connection.execute(
                "INSERT OR IGNORE INTO answers VALUES (?, ?, ?, ?)", (row.id, key, json.dumps(form), self.wall())
            )
            if not done.rowcount:
                raise JournalRefused(f"{key} of the run {row.id} has its answer already")

    def answers(self, run: str) -> dict[str, Any]:
        """Return the answers that a run has got and not used, by effect key."""
        with self._failures():
            rows = self._connection.execute("SELECT key, form FROM answers WHERE run = ?", (run,)).fetchall()
        return {key: json.loads(form) for key, form in rows}

    def cancel(self, run: str) -> None:
        """End a run that is not over, as cancelled; a process that runs it is fenced. Raises JournalRefused for one that is
        over."""
        with self._failures(), self._transaction():
            row = self._row(run)
            if row.state in OVER:
                raise JournalRefused(f"the run {row.id} is over: {row.state}")
            end = json.dumps(plain_of(EndRow("cancelled")))
            self._connection.execute(
                "UPDATE runs SET epoch = epoch + 1, state = ?, waits = '[]', outcome = ?, changed = ? WHERE id = ?",
                (CANCELLED, end, self.wall(), row.id),
            )

    def prune(self, before: float) -> int:
        """Remove the runs that were over before a time, in seconds since 1970, and images that no run has; return how many
        runs."""
        with self._failures(), self._transaction():
            run = self._connection.execute
            marks = ", ".join("?" * len(OVER))
            gone = [row[0] for row in run(f"SELECT id FROM runs WHERE state IN ({marks}) AND changed < ?", (*OVER, before))]
            for one in gone:
                for table in ("rows", "answers"):
                    run(f"DELETE FROM {table} WHERE run = ?", (one,))
                run("DELETE FROM runs WHERE id = ?", (one,))
            run("DELETE FROM images WHERE hash NOT IN (SELECT image FROM runs)")
        return len(gone)

    def close(self) -> None:
        self._connection.close()

    # ------------------------------------------------------------ commits

    def commit(self, claim: Claim, rows: Sequence[Row], told: int, waits: Sequence[Any]) -> None:
        """Append rows to a run under its claim, in one transaction; `told` emits were made before them and delivered. Raises
        Fenced where the claim holds no more."""
        now = self.wall()
        end = next((row for row in rows if isinstance(row, EndRow)), None)
        state = _state_of(end) if end is not None else WAITING if waits else RUNNING
        emits = sum(isinstance(row, EmitRow) for row in rows)
        with self._failures(), self._transaction():
            run = self._connection.execute
            changed = run(
                "UPDATE runs SET state = ?, lease = ?, changed = ?, rows = rows + ?, emits = emits + ?, told = ?, waits = ?, outcome = ? "
                "WHERE id = ? AND epoch = ?",
                (
                    state, now + LEASE, now, len(rows), emits, told - emits, json.dumps(list(waits)),
                    None if end is None else json.dumps(plain_of(end)), claim.run, claim.epoch,
                ),
            )  # fmt: skip
            if changed.rowcount != 1:
                raise Fenced(f"the run {claim.run} was taken over, or cancelled, by another process: nothing more of this one is kept")
            run_rows = [(claim.run, claim.rows + at, json.dumps(plain_of(row))) for at, row in enumerate(rows)]
            self._connection.executemany("INSERT INTO rows VALUES (?, ?, ?)", run_rows)
            used = [(claim.run, row.key) for row in rows if isinstance(row, EffectRow) and row.is_settled]
            if claim.has_answers and used:
                self._connection.executemany("DELETE FROM answers WHERE run = ? AND key = ?", used)
        claim.rows += len(rows)

    def renew(self, claim: Claim) -> None:
        """Hold a run on. Raises Fenced."""
        with self._failures(), self._transaction():
            now = self.wall()
            done = self._connection.execute(
                "UPDATE runs SET lease = ? WHERE id = ? AND epoch = ?", (now + LEASE, claim.run, claim.epoch)
            )
            if done.rowcount != 1:
                raise Fenced(f"the run {claim.run} was taken over, or cancelled, by another process")

    def release(self, claim: Claim) -> None:
        """Give a run back, so that another process may go on with it at once."""
        with self._failures(), self._transaction():
            self._connection.execute(
                "UPDATE runs SET lease = 0 WHERE id = ? AND epoch = ?", (claim.run, claim.epoch)
            )


class Held(JournalRefused):
    """A run that another process holds."""

    is_held = True


class Claim:
    """The right to go on with a run: the sink of its journal. `epoch` is what its commits are bound to, `rows` how many the store
    has; `told` is how many emits listeners have heard; `has_answers` whether answers were given from outside."""

    parks = True

    def __init__(self, store: RunStore, run: str, epoch: int) -> None:
        self.store = store
        self.run = run
        self.epoch = epoch
        self.rows = 0
        self.told = 0
        self.has_answers = False

    def commit(self, rows: Sequence[Row], told: int, waits: Sequence[Any]) -> None:
        """Keep rows. Raises Fenced, and JournalRefused where the store fails."""
        self.store.commit(self, rows, told, waits)

    def renew(self) -> None:
        self.store.renew(self)

    def close(self) -> None:
        self.store.release(self)


def owner() -> str:
    """Return what a store calls this process: host, process, and when it started."""
    return f"{socket.gethostname()}:{os.getpid()}:{_started(os.getpid())}"


def _started(pid: int) -> str:
    """Return when a process started, in ticks since the system did; "" where the system does not tell."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            fields = file.read().rpartition(")")[2].split()
        return "" if fields[0] in ("Z", "X") else fields[19]  # a process that has ended, and that nobody has asked about
    except (OSError, IndexError):
        return ""


def _is_dead(name: str) -> bool:
    """Return whether the process that an owner's name stands for is known to be dead: only of this machine that can be told."""
    host, _, rest = name.rpartition(":")[0].partition(":")
    started = name.rpartition(":")[2]
    if host != socket.gethostname() or not rest.isdecimal() or not started:
        return False
    return _started(int(rest)) != started  # another process may have its number by now


def _state_of(end: EndRow) -> str:
    return {"ok": DONE, "cancelled": CANCELLED}.get(end.outcome, FAILED)
