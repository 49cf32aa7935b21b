"""What a batch has finished, in a SQLite file (S-2.2): rows by key, and for this run the order of the input.

Hands on `RowStore` to `batch.py`, `run.py` and `provider_jobs.py`, `StoreRefused` to the first; `Answer`, what a row came to, to
what calls rows, and `Finished`, a row of the output, to what gets them; DONE, the state of a row with a result, to `run.py`. A
row that is put there is finished, whatever becomes of the process: it is one commit. The file belongs to one process at a time.
No row is asked here. What belongs to one run only, the order of its rows, stands in tables of a temporary file that goes with the
process.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

FORMAT = 1
DONE, FAILED = 1, 2


class StoreRefused(Exception):
    """The store cannot be used; the text names it and the way out."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a row came to: `result`, the JSON text of the value, or `failure`, the JSON text of the reason. `tokens` are those of
    all its `requests` to models, `cost` is in dollars, without the requests of `unpriced`; `attempts`
    counts calls of the function."""

    result: str | None
    failure: str | None
    tokens: int = 0
    cost: float = 0.0
    unpriced: int = 0
    attempts: int = 0
    requests: int = 0


@dataclass(frozen=True, slots=True)
class Finished:
    """A row of the output: number in the input, from 1, key, answer without the number of its `requests`, and of one that failed
    the JSON text of its cells, else ""."""

    number: int
    key: str
    answer: Answer
    cells: str


TABLES = """
CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS rows (
  key TEXT PRIMARY KEY, digest BLOB NOT NULL, state INTEGER NOT NULL, answer TEXT NOT NULL, tokens INTEGER NOT NULL,
  cost REAL NOT NULL, unpriced INTEGER NOT NULL, attempts INTEGER NOT NULL, cells TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS spent (one INTEGER PRIMARY KEY, tokens INTEGER NOT NULL, cost REAL NOT NULL, calls INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS jobs (
  name TEXT PRIMARY KEY, id TEXT NOT NULL, connection TEXT NOT NULL, state TEXT NOT NULL, sent REAL NOT NULL,
  rows INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS waiting (key TEXT PRIMARY KEY, digest BLOB NOT NULL, job TEXT NOT NULL, request BLOB NOT NULL)
  WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS waiting_jobs ON waiting (job);
CREATE TABLE IF NOT EXISTS replies (
  key TEXT PRIMARY KEY, digest BLOB NOT NULL, request BLOB NOT NULL, status INTEGER NOT NULL, body BLOB NOT NULL
) WITHOUT ROWID;
INSERT OR IGNORE INTO spent VALUES (1, 0, 0, 0);
"""
OF_THIS_RUN = """
CREATE TEMP TABLE input (number INTEGER PRIMARY KEY, key TEXT NOT NULL, digest BLOB, fault TEXT, cells TEXT);
CREATE UNIQUE INDEX temp.input_keys ON input (key) WHERE fault IS NULL;
CREATE TEMP TABLE seen (hash BLOB PRIMARY KEY, count INTEGER NOT NULL) WITHOUT ROWID;
"""


class RowStore:
    """The store in the file `path`, which is made where there is none. Raises StoreRefused for a file that is none, that another
    process uses, or that cannot be read or written; so do its methods."""

    def __init__(self, path: str) -> None:
        self.path = path
        try:
            is_new = not os.path.lexists(path)
            if is_new:
                os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
            self._db = sqlite3.connect(path, timeout=1.0, isolation_level=None, check_same_thread=False)
        except (OSError, sqlite3.Error) as error:
            raise StoreRefused(f"cannot open the store {path}: {getattr(error, 'strerror', None) or error}") from None
        try:
            self._open()
        except sqlite3.OperationalError as error:
            self.close()
            if "locked" in str(error):
                raise StoreRefused(f"{path}: another batch is working with this store; wait for it, or stop it") from None
            raise StoreRefused(f"{path}: {error}") from None
        except sqlite3.DatabaseError as error:
            self.close()
            raise StoreRefused(f"{path} is no store of a batch ({error}); name another file with --store") from None
        except StoreRefused:
            self.close()
            raise

    def _open(self) -> None:
        db = self._db
        db.execute("PRAGMA locking_mode = EXCLUSIVE")
        mark = db.execute("PRAGMA application_id").fetchone()[0]
        tables = {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if tables and mark != MARK:
            raise StoreRefused(f"{self.path} is a database of something else; name another file with --store")
        version = db.execute("PRAGMA user_version").fetchone()[0]
        if tables and version != FORMAT:
            raise StoreRefused(f"{self.path} was written by another version of Concerto; name another file with --store")
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = NORMAL")
        db.execute("BEGIN IMMEDIATE")
        for statement in TABLES.split(";"):
            db.execute(statement)
        db.execute(f"PRAGMA application_id = {MARK}")
        db.execute(f"PRAGMA user_version = {FORMAT}")
        db.execute("COMMIT")
        self.begin()

    def begin(self) -> None:
        """Begin with the order of an input, in place of that of an input before."""
        for table in ("input", "seen"):
            self._do(f"DROP TABLE IF EXISTS temp.{table}")
        for statement in OF_THIS_RUN.split(";"):
            self._do(statement)

    def require_same(self, code: str, must_be: bool) -> None:
        """Note which program and function the rows are asked of, by its `code`. Raises StoreRefused where those before were asked
        of another one and `must_be` says that they must not have been: what failed there is not known to fail here."""
        found = self._do("SELECT value FROM facts WHERE name = 'code'").fetchone()
        if must_be and found is not None and found[0] != code:
            raise StoreRefused(
                f"{self.path}: the program has changed since its rows were asked, so none of them has failed under this one; "
                "without --only-failed all rows are asked"
            )
        self._do("INSERT INTO facts VALUES ('code', ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value", (code,))

    def close(self) -> None:
        """Close the file; it may be called again."""
        with suppress(sqlite3.Error):
            self._db.close()

    def _do(self, statement: str, values: tuple[Any, ...] = ()) -> sqlite3.Cursor:
        try:
            return self._db.execute(statement, values)
        except sqlite3.IntegrityError:
            raise
        except sqlite3.Error as error:
            raise StoreRefused(f"the store {self.path}: {error}") from None

    def in_one(self) -> _Transaction:
        """Return a transaction: what is done in its block is kept whole or not at all."""
        return _Transaction(self)

    # ------------------------------------------------------------ the input of this run

    def occurrence(self, digest: bytes) -> int:
        """Count a row by what it holds; return how many equal ones there have been in this run, this one too."""
        upsert = "INSERT INTO temp.seen VALUES (?, 1) ON CONFLICT (hash) DO UPDATE SET count = count + 1 RETURNING count"
        return int(self._do(upsert, (digest,)).fetchone()[0])

    def place(self, number: int, key: str, digest: bytes) -> int | None:
        """Note that the row of that number has the key; return None, or instead the number of an earlier row that has it."""
        try:
            self._do("INSERT INTO temp.input (number, key, digest) VALUES (?, ?, ?)", (number, key, digest))
        except sqlite3.IntegrityError:
            found = self._do("SELECT number FROM temp.input WHERE key = ? AND fault IS NULL", (key,)).fetchone()
            return int(found[0])
        return None

    def refuse(self, number: int, key: str, failure: str, cells: str) -> None:
        """Note a row that cannot be asked: its failure belongs to this run, since nothing was asked for it."""
        self._do("INSERT OR REPLACE INTO temp.input VALUES (?, ?, NULL, ?, ?)", (number, key, failure, cells))

    # ------------------------------------------------------------ answers

    def state(self, key: str, digest: bytes) -> int | None:
        """Return DONE or FAILED for a row that is finished as it is now, None for one that is not."""
        found = self._do("SELECT state FROM rows WHERE key = ? AND digest = ?", (key, digest)).fetchone()
        return None if found is None else int(found[0])

    def finish(self, key: str, digest: bytes, answer: Answer, cells: str) -> None:
        """Keep what a row came to, in one commit, in place of what it came to before."""
        state = DONE if answer.failure is None else FAILED
        text = answer.result if answer.failure is None else answer.failure
        kept = cells if state == FAILED else ""
        row = (key, digest, state, text, answer.tokens, answer.cost, answer.unpriced, answer.attempts, kept)
        self._do("INSERT OR REPLACE INTO rows VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", row)

    def spend(self, tokens: int, cost: float, calls: int) -> None:
        """Add to what all runs of this store have used of models."""
        self._do("UPDATE spent SET tokens = tokens + ?, cost = cost + ?, calls = calls + ?", (tokens, cost, calls))

    def spent(self) -> tuple[int, float, int]:
        """Return the tokens, the cost and the requests of all runs of this store."""
        tokens, cost, calls = self._do("SELECT tokens, cost, calls FROM spent").fetchone()
        return int(tokens), float(cost), int(calls)

    def finished(self, first: int, last: int) -> Iterator[Finished]:
        """Yield what the rows of these numbers came to, both included, in their order; the caller knows that they are finished or
        refused. A row without an answer is left out."""
        select = (
            "SELECT i.number, i.key, i.fault, i.cells, r.state, r.answer, r.tokens, r.cost, r.unpriced, r.attempts, r.cells"
            " FROM temp.input i LEFT JOIN rows r ON r.key = i.key AND r.digest = i.digest WHERE i.number BETWEEN ? AND ?"
            " ORDER BY i.number"
        )
        try:
            rows = self._do(select, (first, last)).fetchall()
        except sqlite3.Error as error:
            raise StoreRefused(f"the store {self.path}: {error}") from None
        for number, key, fault, faulty, state, text, tokens, cost, unpriced, attempts, cells in rows:
            if fault is not None:
                yield Finished(number, key, Answer(None, fault), faulty)
            elif state == DONE:
                yield Finished(number, key, Answer(text, None, tokens, cost, unpriced, attempts), "")
            elif state == FAILED:
                yield Finished(number, key, Answer(None, text, tokens, cost, unpriced, attempts), cells)

    # ------------------------------------------------------------ batches of providers

    def jobs(self) -> list[Job]:
        """Return the batches of providers that are on their way, or were about to be sent when the process died."""
        select = "SELECT id, name, connection, state, sent, rows FROM jobs WHERE state IN ('new', 'sent') ORDER BY sent, id"
        return [Job(*row) for row in self._do(select)]

    def intend(self, name: str, connection: str, now: float, rows: list[tuple[str, bytes, bytes]]) -> None:
        """Note, in one commit, that the rows (key, digest, digest of the request) are about to be sent as a batch, which has that
        name until the provider gives it one."""
        with self.in_one():
            self._do("INSERT INTO jobs VALUES (?, ?, ?, 'new', ?, ?)", (name, name, connection, now, len(rows)))
            for key, digest, request in rows:
                self._do("INSERT OR REPLACE INTO waiting VALUES (?, ?, ?, ?)", (key, digest, name, request))

    def sent(self, name: str, job: str) -> None:
        """Note the id that the provider has given to a batch."""
        self._do("UPDATE jobs SET id = ?, state = 'sent' WHERE name = ?", (job, name))

    def waits(self, key: str, digest: bytes) -> bool:
        """Return whether a row as it is now is on its way in a batch of a provider."""
        return self._do("SELECT 1 FROM waiting WHERE key = ? AND digest = ?", (key, digest)).fetchone() is not None

    def waiting_in(self, name: str) -> Iterator[tuple[str, bytes, bytes]]:
        """Yield the rows (key, digest, digest of the request) that are on their way in a batch."""
        yield from self._do("SELECT key, digest, request FROM waiting WHERE job = ? ORDER BY key", (name,)).fetchall()

    def arrived(self, key: str, digest: bytes, request: bytes, status: int, body: bytes) -> None:
        """Keep the answer to the request of a row, by HTTP status and body."""
        self._do("INSERT OR REPLACE INTO replies VALUES (?, ?, ?, ?, ?)", (key, digest, request, status, body))

    def reply(self, key: str, digest: bytes) -> tuple[bytes, int, bytes] | None:
        """Return what has arrived for a row as it is now: digest of the request, status and body; None for nothing."""
        found = self._do("SELECT request, status, body FROM replies WHERE key = ? AND digest = ?", (key, digest)).fetchone()
        return None if found is None else (bytes(found[0]), int(found[1]), bytes(found[2]))

    def used(self, key: str) -> None:
        """Forget the answer of a row, which is finished."""
        self._do("DELETE FROM replies WHERE key = ?", (key,))

    def over(self, job: Job) -> None:
        """Note that a batch is collected, or was never sent: what of it has not arrived is asked again."""
        self._do("DELETE FROM waiting WHERE job = ?", (job.name,))
        self._do("UPDATE jobs SET state = 'over' WHERE name = ?", (job.name,))


@dataclass(frozen=True, slots=True)
class Job:
    """A batch of a provider: its `id` there, the `name` that its rows have it by, the connection, whether it is "new" (nobody
    knows whether it was sent) or "sent", when, in seconds since 1970, and how many rows it has."""

    id: str
    name: str
    connection: str
    state: str
    sent: float
    rows: int


class _Transaction:
    def __init__(self, store: RowStore) -> None:
        self._store = store

    def __enter__(self) -> None:
        self._store._do("BEGIN IMMEDIATE")

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self._store._do("COMMIT" if kind is None else "ROLLBACK")


MARK = 0x434F4E42  # "CONB": the file says whose it is
