"""The file of a search index: its tables beside those of a store, transactions, and failures (O-1.241).

Hands on `SearchFile` and its `State` to `index.py`, `words.py` and `vectors.py`, `SearchFailure` to whoever searches, and
`damaged`, `refused`, `within` and `text_of` to the three. A file on the disk is opened and made as that of a memory store
(`memory/stores/sqlite.py`), so that either may come first; the tables of each index have the index's number in their names.
What a file holds is not trusted: whoever reads it checks types, and what does not fit is "Corrupt".
"""

from __future__ import annotations

import sqlite3
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from threading import Lock
from weakref import finalize

from ..memory.entries import MemoryFailure
from ..memory.stores.sqlite import BUSY_MS, FILE_WAY_OUT, SETTINGS, WAYS_OUT, SqliteStore, begun, tried

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any, TypeVar

    from ..memory.stores.thread import StoreThread

    T = TypeVar("T")

FORM = 1
"""The form of the tables of an index; a file may hold indexes of several."""
MODULE = "fts5"
HIGHEST = 1 << 62
"""A number in a file that is larger is damage."""

REGISTRY = (
    "CREATE TABLE IF NOT EXISTS search_index (number INTEGER PRIMARY KEY, name BLOB NOT NULL UNIQUE, form INTEGER NOT NULL,"
    " newest INTEGER NOT NULL, removals INTEGER NOT NULL, size INTEGER NOT NULL)"
)
# Vectors and their bits stand apart from the documents: a search reads few of the one, and a process all of the other at first.
TABLES = (
    "CREATE TABLE {document} (row INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE, label BLOB NOT NULL, value BLOB NOT NULL,"
    " text BLOB NOT NULL)",
    "CREATE INDEX {document}_label ON {document} (label, row)",
    "CREATE TABLE {vector} (row INTEGER PRIMARY KEY, vector BLOB NOT NULL)",
    "CREATE TABLE {bits} (space INTEGER NOT NULL, row INTEGER NOT NULL, bits BLOB NOT NULL, PRIMARY KEY (space, row))"
    " WITHOUT ROWID",
    "CREATE TABLE {space} (number INTEGER PRIMARY KEY, label BLOB NOT NULL UNIQUE, length INTEGER NOT NULL)",
    "CREATE TABLE {removed} (number INTEGER PRIMARY KEY, row INTEGER NOT NULL)",
    # Tokens hold no ASCII but letters, digits and these two, and this tokenizer takes every other character for a letter.
    "CREATE VIRTUAL TABLE {words} USING " + MODULE + "(tokens, tokenize = \"ascii tokenchars '_-'\")",
)
NAMES = ("document", "vector", "bits", "space", "removed", "words")
# What the system or another process did; with any other code the file is not what was written.
OUTSIDE = (
    sqlite3.SQLITE_PERM, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_INTERRUPT, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FULL, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PROTOCOL,
    sqlite3.SQLITE_NOLFS, sqlite3.SQLITE_AUTH, sqlite3.SQLITE_TOOBIG,
)  # fmt: skip


class SearchFailure(Exception):
    """A search index cannot do what it was asked for. `kind` is "Store" (the file cannot be opened, read or written), "Corrupt"
    (it is damaged), "Version" (it has a form that is not known here) or "Invalid" (a document or a query is refused, and
    nothing was changed); `message` says what and where, and the way out where there is one."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message


def refused(reason: str) -> SearchFailure:
    """Return the failure "Invalid" of a document or a query; the caller raises it."""
    return SearchFailure("Invalid", reason)


def damaged(where: str, reason: str) -> SearchFailure:
    """Return the failure "Corrupt" of the index that messages call `where`, with the way out; the caller raises it."""
    return SearchFailure("Corrupt", f"{where}: {reason}; {FILE_WAY_OUT}")


def within(number: int) -> int:
    """Return the nearest number from 0 to HIGHEST, which a statement can have."""
    return min(max(number, 0), HIGHEST)


@dataclass(frozen=True, slots=True)
class State:
    """What an index says of itself in a transaction: the `newest` row ever given, the number of `removals`, which grows with each
    row that is gone or gets another vector and when all are removed, and its `size` in documents."""

    newest: int
    removals: int
    size: int


class SearchFile:
    """The tables of the index `name` in the SQLite file `path`, made where they are missing; without a path they are in memory.
    `table` gives a table's full name by its short one. With the `thread` of a session the lock of the file is waited for and
    statements are executed while the loop of the session goes on; without one they hold up whoever calls. `where` is what
    messages call the index.

    Raises SearchFailure, as all methods do; with a thread also MustWait and Cancelled as `StoreThread.wait` does. What is called
    within a transaction raises SQLite's own errors too, of which `read` and `write` make SearchFailures."""

    def __init__(self, name: str, path: str | None, thread: StoreThread | None = None) -> None:
        self._path = path
        self._thread = thread if path is not None else None
        # An operation that was given up may still be at work in its own thread.
        self._alone = Lock()
        self._is_closed = False
        self.where = f"the index {name}" if path is None else f"the index {name} in {path}"
        self.table: dict[str, str] = {}
        self._number = 0
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
                self._find(name.encode("utf-8", "surrogatepass"))
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

    def _find(self, name: bytes) -> None:
        """Nothing is written where the index is there already, so that a full disk can be read."""
        if not self.read(lambda: self._is_registered(name)):
            self.write(lambda: self._register(name))

    def _is_registered(self, name: bytes) -> bool:
        return bool(self.rows("SELECT 1 FROM sqlite_master WHERE name = 'search_index'")) and self._known(name)

    def _register(self, name: bytes) -> None:
        self.change(REGISTRY)
        if not self._known(name):
            self._make(name)

    def _known(self, name: bytes) -> bool:
        rows = self.rows("SELECT number, form FROM search_index WHERE name = ?", (name,))
        if not rows:
            return False
        ((number, form),) = rows
        if type(number) is not int or type(form) is not int or form < 1:
            raise damaged(self.where, "it does not say its form")
        if form != FORM:
            reason = f"has form {form}, and this version knows form {FORM}: use the version that wrote it, or another file"
            raise SearchFailure("Version", f"{self.where} {reason}")
        self._name_tables(number)
        return True

    def _make(self, name: bytes) -> None:
        ((number,),) = self.rows("SELECT coalesce(max(number), 0) + 1 FROM search_index")
        self._name_tables(number)
        for table in TABLES:
            self.change(table.format(**self.table))
        self.change("INSERT INTO search_index VALUES (?, ?, ?, 0, 0, 0)", (number, name, FORM))

    def _name_tables(self, number: int) -> None:
        self._number = number
        self.table = {name: f"search_{number}_{name}" for name in NAMES}

    def state(self) -> State:
        """Return the state of the index; to be called within a transaction."""
        found = self.rows("SELECT newest, removals, size FROM search_index WHERE number = ?", (self._number,))
        if len(found) != 1 or not all(type(part) is int and 0 <= part < HIGHEST for part in found[0]):
            raise damaged(self.where, "it does not say what it holds")
        return State(*found[0])

    def set_state(self, state: State) -> None:
        """Store the state of the index; to be called within a transaction of `write`."""
        statement = "UPDATE search_index SET newest = ?, removals = ?, size = ? WHERE number = ?"
        self.change(statement, (state.newest, state.removals, state.size, self._number))

    def rows(self, statement: str, values: Sequence[Any] = ()) -> list[Any]:
        """Return the rows that a statement gives; `{document}` and so on in it stand for tables. To be called within a
        transaction."""
        return self._live().execute(statement.format_map(self.table), values).fetchall()

    def change(self, statement: str, values: Sequence[Any] = ()) -> None:
        """Execute a statement that gives no rows, written as for `rows`."""
        self._live().execute(statement.format_map(self.table), values)

    def read(self, work: Callable[[], T]) -> T:
        """Return what `work` returns, whose reads all see one state of the file. What `work` raises passes through."""
        return self._transaction("BEGIN", work)

    def write(self, work: Callable[[], T]) -> T:
        """Return what `work` returns, whose changes all come into the file at its end, or none does when it raises. Other writers
        of the file wait."""
        return self._transaction("BEGIN IMMEDIATE", work)

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
            self._alone.release()
            if self._is_closed:
                self.close()

    @contextmanager
    def _guard(self) -> Iterator[None]:
        try:
            yield
        except UnicodeDecodeError:
            raise damaged(self.where, "a text is not UTF-8") from None
        except sqlite3.Error as error:
            reason = str(error)
            if "no such module" in reason:
                message = (
                    f"{self.where}: the SQLite of this Python has no FTS5, which search needs; use a Python whose SQLite has it"
                )
                raise SearchFailure("Store", message) from None
            if getattr(error, "sqlite_errorcode", 0) & 0xFF not in OUTSIDE:
                raise damaged(self.where, reason) from None
            way = next((f"; {way}" for said, way in WAYS_OUT.items() if said in reason), "")
            raise SearchFailure("Store", f"{self.where}: {reason}{way}") from None

    def _live(self) -> sqlite3.Connection:
        if self._connection is None or self._is_closed:
            raise SearchFailure("Store", f"{self.where} is closed")
        return self._connection

    def interrupt(self) -> None:
        """End the statement that is under way in another thread, if there is one."""
        if self._connection is not None:
            self._connection.interrupt()

    def close(self) -> None:
        """Close the file, at once or when the operation ends that is at work in it."""
        self._is_closed = True
        if self._alone.acquire(blocking=False):
            try:
                if self._connection is not None:
                    self._connection.close()
                    self._connection = None
            finally:
                self._alone.release()


class _Busy(sqlite3.OperationalError):
    """An operation that was given up is still at work in the file."""

    sqlite_errorcode = sqlite3.SQLITE_BUSY


def text_of(where: str, stored: object) -> str:
    """Return a text as it was before `put` encoded it. Raises Corrupt for what is none."""
    if type(stored) is not bytes:
        raise damaged(where, "a text is missing")
    try:
        return stored.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        raise damaged(where, "a text is not UTF-8") from None
