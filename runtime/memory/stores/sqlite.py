"""The embedded durable store: one SQLite file (M-8.2, G-12.5).

WAL, `synchronous=FULL`, `BEGIN IMMEDIATE` for writes. A full disk, a read-only or damaged file is a typed error; the file is
never replaced by an empty one. sqlite3 is imported with this module only. Must not know: which file is right, permissions.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import contextmanager, suppress
from threading import RLock
from time import sleep, time

from ..errors import MemoryFailure, corrupt, store_failed
from .file_systems import is_on_network
from .indexes import Indexes
from .sql import TABLES, SqlStore

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

BUSY_MS = 30_000
APPLICATION_ID = 0x434F4E43  # "CONC"
SETTINGS = (
    f"PRAGMA busy_timeout = {BUSY_MS}",
    "PRAGMA synchronous = FULL",
    "PRAGMA secure_delete = ON",
    "PRAGMA trusted_schema = OFF",
)
DAMAGED = ("malformed", "not a database", "encrypted", "corrupt")


class SqliteStore(SqlStore):
    """`path` is an explicit file; it and its directory are made for the user alone. `deflates`:
    parts are compressed where that helps (M-8.8)."""

    def __init__(self, path: str, *, name: str = "durable", deflates: bool = False) -> None:
        self.path = os.path.abspath(path)
        self.name = name
        self.deflates = deflates
        self._connection: sqlite3.Connection | None = None
        self._indexes = Indexes(self._notes, self._facts)
        self._alone = RLock()  # leases are given back from another thread than that of the turns
        folder = os.path.dirname(self.path)
        try:
            os.makedirs(folder, 0o700, exist_ok=True)
        except OSError as error:
            raise store_failed(name, f"cannot make {folder}: {error.strerror}") from None
        if is_on_network(folder):
            raise store_failed(name, f"{self.path} is on a network file system, where SQLite loses data; use a local file")
        try:
            with self._guard():
                self._open()
        except MemoryFailure:
            self.close()
            raise

    def _open(self) -> None:
        with suppress(OSError):  # what is there keeps its mode; what cannot be made, SQLite says
            os.close(os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        connection = sqlite3.connect(self.path, timeout=BUSY_MS / 1000, isolation_level=None, check_same_thread=False)
        self._connection = connection
        for setting in SETTINGS:
            connection.execute(setting)
        (mark,) = connection.execute("PRAGMA application_id").fetchone()
        (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if tables and mark != APPLICATION_ID:
            raise store_failed(self.name, f"{self.path} holds something else than memories")
        self._switch_to_wal(connection)
        with self._transaction():
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            for table in TABLES:
                connection.execute(table.format(bytes="BLOB", number="INTEGER", rows=" WITHOUT ROWID"))
            self._check_format()

    def _switch_to_wal(self, connection: sqlite3.Connection) -> None:
        """The switch does not wait for others who open the same new file, so it is tried again."""
        for attempt in range(100):
            try:
                (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
                if mode == "wal":
                    return
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or attempt == 99:
                    raise
            sleep(0.02)
        raise store_failed(self.name, f"{self.path} does not allow a write-ahead log")

    def _rows(self, statement: str, values: Sequence[Any] = ()) -> list[Any]:
        return self._live().execute(statement, values).fetchall()

    def _change(self, statement: str, values: Sequence[Any]) -> int:
        return self._live().execute(statement, values).rowcount

    def _change_all(self, statement: str, rows: Sequence[Sequence[Any]]) -> None:
        if rows:
            self._live().executemany(statement, rows)

    def _entries_by(self, index: str) -> str:
        """Said, or it walks the log: the key of the table looks as good to its planner."""
        return f"entry INDEXED BY {index}"

    def _live(self) -> sqlite3.Connection:
        if self._connection is None:
            raise store_failed(self.name, "it is closed")
        return self._connection

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._guard():
            connection = self._live()
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise

    @contextmanager
    def _guard(self) -> Iterator[None]:
        try:
            with self._alone:
                yield
        except sqlite3.Error as error:
            reason = str(error)
            if any(word in reason for word in DAMAGED):
                raise corrupt(f"{self.path}: {reason}") from None
            raise store_failed(self.name, f"{self.path}: {reason}") from None

    def _scrub(self) -> None:
        """secure_delete has overwritten the pages; the log of the writes goes too (M-8.14). Erasing again tries again."""
        try:
            with self._guard():
                ((busy, _, _),) = self._live().execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
                reason = f"{self.path}: another process reads it" if busy else ""
        except MemoryFailure as failure:
            reason = failure.message
        if reason:
            raise store_failed(self.name, f"removed, but the write-ahead log still holds it ({reason}); erase again")

    def _time(self) -> int:
        return int(time() * 1000)

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
