"""A search index in a SQLite file, or in memory: transactions, failures, and the words by FTS5 (O-1.241).

Hands on `SearchFile` to `index.py`. A file on the disk is opened and made as that of a memory store (`memory/stores/sqlite.py`),
so that either may come first. Which tables there are, and what the methods promise and raise, is said in `search_tables.py`; how
the rankings by words and by vectors are made one in `index.py`.
"""

from __future__ import annotations

import sqlite3
from contextlib import contextmanager
from functools import partial
from weakref import finalize

from ..memory.failures import MemoryFailure
from ..memory.stores.sqlite import BUSY_MS, FILE_WAY_OUT, SETTINGS, WAYS_OUT, SqliteStore, begun, tried
from .search_tables import SearchFailure, SearchTables

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any, TypeVar

    from ..memory.stores.thread import StoreThread

    T = TypeVar("T")

# What the system or another process did; with any other code the file is not what was written.
OUTSIDE = (
    sqlite3.SQLITE_PERM, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_INTERRUPT, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FULL, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PROTOCOL,
    sqlite3.SQLITE_NOLFS, sqlite3.SQLITE_AUTH, sqlite3.SQLITE_TOOBIG,
)  # fmt: skip


class SearchFile(SearchTables):
    """The tables of the index `name` in the SQLite file `path`; without a path they are in memory. With the `thread` of a session
    the lock of the file is waited for and statements are executed while the loop of the session goes on; without one they hold
    up whoever calls. The constructor raises as all methods do."""

    # Tokens hold no ASCII but letters, digits and these two, and this tokenizer takes every other character for a letter.
    WORDS = ("CREATE VIRTUAL TABLE {words} USING fts5(tokens, tokenize = \"ascii tokenchars '_-'\")",)
    KINDS = {"key": "INTEGER PRIMARY KEY", "number": "INTEGER", "bytes": "BLOB", "clustered": " WITHOUT ROWID", "more": ""}
    IS_THERE = "SELECT 1 FROM sqlite_master WHERE name = 'search_index'"
    WAY_OUT = (FILE_WAY_OUT, "another file")

    def __init__(self, name: str, path: str | None, thread: StoreThread | None = None) -> None:
        super().__init__()
        self._path = path
        self._thread = thread if path is not None else None
        self.where = f"the index {name}" if path is None else f"the index {name} in {path}"
        self._connection: sqlite3.Connection | None = None
        if path is not None:
            if thread is not None:
                thread.aside()  # to open a file takes long enough
            try:
                SqliteStore(path, name=name, thread=thread).close()  # makes the file, or finds out that it cannot be used
            except MemoryFailure as failure:
                raise SearchFailure(failure.variant or "Store", failure.message) from None
        try:
            with self._guard():
                self._connect()
                self.find(name)
        except BaseException:
            self.close()
            raise

    def _connect(self) -> None:
        connection = sqlite3.connect(self._path or ":memory:", isolation_level=None, check_same_thread=False)
        try:
            connection.execute(f"PRAGMA busy_timeout = {BUSY_MS if self._thread is None else 0}")
            for setting in ("PRAGMA cell_size_check = ON", *SETTINGS):
                if self._thread is None:
                    connection.execute(setting)
                else:  # some read the file, which another process may just be opening or closing
                    tried(partial(connection.execute, setting), self._thread.pause)
        except BaseException:
            connection.close()
            raise
        self._connection = connection
        if self._path is None:  # nobody closes what is in memory
            finalize(self, connection.close)

    def rows(self, statement: str, values: Sequence[Any] = ()) -> list[Any]:
        return self._live().execute(statement.format_map(self.table), values).fetchall()

    def change(self, statement: str, values: Sequence[Any] = ()) -> None:
        self._live().execute(statement.format_map(self.table), values)

    def change_all(self, statement: str, rows: Sequence[Sequence[Any]]) -> None:
        self._live().executemany(statement.format_map(self.table), rows)

    def read(self, work: Callable[[], T]) -> T:
        return self._transaction("BEGIN", work)

    def write(self, work: Callable[[], T]) -> T:
        return self._transaction("BEGIN IMMEDIATE", work)

    def create(self, work: Callable[[], object]) -> None:
        self.write(work)

    def add_words(self, rows: Sequence[tuple[int, Sequence[str]]]) -> None:
        joined = [(row, " ".join(tokens)) for row, tokens in rows]
        self.change_all("INSERT INTO {words} (rowid, tokens) VALUES (?, ?)", joined)

    def drop_words(self, rows: Sequence[int]) -> None:
        self.change_all("DELETE FROM {words} WHERE rowid = ?", [(row,) for row in rows])

    def clear_words(self) -> None:
        self.change("DELETE FROM {words}")

    def counts(self, tokens: Sequence[str], most: int) -> list[int]:
        # Faster than a table of fts5vocab, which also reads all places of the token.
        statement = "SELECT count(*) FROM (SELECT 1 FROM {words} WHERE {words} MATCH ? LIMIT ?)"
        return [int(self.rows(statement, (f'"{token}"', most))[0][0]) for token in tokens]

    def ranked(self, counts: Mapping[str, int], size: int, depth: int) -> list[int]:
        """As `SearchTables.ranked`. Each token is quoted, so that no text is a query's syntax."""
        query = " OR ".join(f'"{token}"' for token in counts)
        statement = "SELECT rowid FROM {words} WHERE {words} MATCH ? ORDER BY bm25({words}), rowid LIMIT ?"
        return [row for (row,) in self.rows(statement, (query, depth))]

    def _transaction(self, begin: str, work: Callable[[], T]) -> T:
        thread = self._thread
        with self._guard():
            if thread is None:
                self._begin(begin)
            else:
                thread.aside()
                tried(lambda: self._begin(begin), thread.pause)
            try:
                if thread is None:
                    return self._ended(work)
                if begin != "BEGIN":
                    thread.changing()
                check = thread.check()
                return thread.wait(lambda: self._ended(work, check), self.interrupt)  # type: ignore[no-any-return]
            except TimeoutError as error:
                raise SearchFailure("Store", f"{self.where}: {error}") from None
            finally:
                self._leave()

    def _begin(self, begin: str) -> None:
        """Begin a transaction in place. Raises SQLite's error of a locked file, also while an operation that was given up has not
        ended."""
        if not self._alone.acquire(blocking=False):
            raise _Busy("database is locked")
        try:
            if self._connection is None and not self._is_closed:
                self._connect()
            self._live().execute(begin)
            self.rows("SELECT count(*) FROM sqlite_master")  # a lock that keeps out readers shows with the first of them
        except BaseException:
            self._leave()
            raise

    def _ended(self, work: Callable[[], T], check: Callable[[], object] = lambda: None) -> T:
        """Return what `work` returns in the transaction that has begun. Raises what `check` raises, with nothing changed."""
        with begun(self._live()):
            result = work()
            check()  # of an operation that was given up nothing comes into the file
            return result

    def _leave(self) -> None:
        """End the use of the connection. One that is still in a transaction is given up, which takes its changes back: after an
        interrupt no statement works any more in it, not even ROLLBACK, since FTS5 has statements of its own open."""
        connection = self._connection
        try:
            if connection is not None and connection.in_transaction:
                self._connection = None
                connection.close()
        finally:
            self._release()

    @contextmanager
    def _guard(self) -> Iterator[None]:
        try:
            yield
        except UnicodeDecodeError:
            raise self.damaged("a text is not UTF-8") from None
        except sqlite3.Error as error:
            reason = str(error)
            if "no such module" in reason:
                message = (
                    f"{self.where}: the SQLite of this Python has no FTS5, which search needs; use a Python whose SQLite has it"
                )
                raise SearchFailure("Store", message) from None
            if getattr(error, "sqlite_errorcode", 0) & 0xFF not in OUTSIDE:
                raise self.damaged(reason) from None
            way = next((f"; {way}" for said, way in WAYS_OUT.items() if said in reason), "")
            raise SearchFailure("Store", f"{self.where}: {reason}{way}") from None

    def _live(self) -> sqlite3.Connection:
        if self._connection is None or self._is_closed:
            raise SearchFailure("Store", f"{self.where} is closed")
        return self._connection

    def interrupt(self) -> None:
        if self._connection is not None:
            self._connection.interrupt()

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


class _Busy(sqlite3.OperationalError):
    """An operation that was given up is still at work in the file."""

    sqlite_errorcode = sqlite3.SQLITE_BUSY
