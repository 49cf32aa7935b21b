"""Where the tables of a run store are: in a SQLite file, or in a PostgreSQL database (G-13.1).

Hands on `database_of`, which returns a `Database`, with `is_url` and `shown` for the names of places, to `run_store.py`, which
has the statements, once for both. Here is what differs: how a place is connected and made, how a transaction begins, whose clock
leases are held by, and what a failure is called. Statements have `?` for values. How the product speaks with PostgreSQL and finds
the way out of an error of SQLite is shared with the stores of memories; psycopg, the extra `postgres`, is imported when a
database is named.
"""

from __future__ import annotations

import os
import re
import sqlite3
import threading
from contextlib import contextmanager, suppress
from functools import cache
from time import monotonic
from urllib.parse import quote

from ..memory.failures import MemoryFailure
from ..memory.stores.postgres_connection import CREATING, FORM, PostgresConnection, enter_schema, reason_of
from ..memory.stores.postgres_connection import Database as Address
from ..memory.stores.sqlite import DAMAGED, FILE_WAY_OUT, NO_ROOM, WAYS_OUT, is_on_network, put
from .rows import JournalRefused, StoreFailed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractContextManager
    from typing import Any, Protocol

    class Database(Protocol):
        """A place for the tables of runs. Every method raises JournalRefused, which names the place and the way out, where it
        cannot be read or written; no password is ever in a text of it."""

        name: str
        """What failures and advice call the place."""
        types: dict[str, str]
        """What a definition of a table says for the types `text`, `number`, `seconds` and `bytes`, and behind its columns
        (`end`)."""
        locking: str
        """What stands behind a SELECT of rows that are about to be changed."""

        def exists(self) -> bool:
            """Return whether the place is there: a file, empty or not, or a database with a table of runs at least."""

        def make(self, statements: Sequence[tuple[str, Sequence[Any]]]) -> None:
            """Make the tables, whole or not at all; where another process has just done so, nothing."""

        def open(self) -> None:
            """Connect to the place, which exists."""

        def tables(self) -> set[str]:
            """Return the names of the tables that are there."""

        def transaction(self, locked: str = "") -> AbstractContextManager[None]:
            """A transaction around a block, rolled back where that raises. With `locked`, a table, nobody else writes to that one
            meanwhile."""

        def rows(self, statement: str, values: Sequence[Any] = ()) -> list[Any]:
            """Return what a SELECT gives."""

        def change(self, statement: str, values: Sequence[Any] = ()) -> int:
            """Do a statement, and return how many rows it has changed."""

        def change_all(self, statement: str, rows: Sequence[Sequence[Any]]) -> None:
            """Do a statement for each of the rows of values."""

        def now(self) -> float:
            """Return the time by which all who use the place hold leases, in seconds since 1970."""

        def close(self) -> None:
            """Close the connection; it may be called again."""


PATIENCE = 30.0
"""Seconds that a lock of another process, or an answer of a server, is waited for (G-12.8)."""
SCHEMA = "concerto_runs"
"""That of the tables in a PostgreSQL database, beside memories and whatever else is there."""
UNREADABLE = "postgresql://…"
_URL = re.compile(r"(postgres(?:ql)?://)(?:([^:@/?#]*)(?::[^@/?#]*)?@)?([^@/?#]*)(/[^@/?#]*)?(?:[?#][^@]*)?")


def database_of(place: str, wall: Callable[[], float], full: bool) -> Database:
    """Return the place that a path or a `postgres://` URL names, not yet opened. `wall` gives seconds since 1970; with `full` a
    commit survives the loss of power. Raises JournalRefused for a name that cannot be one, NotInstalled, which is one, where the
    library for it is not there."""
    if "\0" in place:
        raise JournalRefused("the name of the run store holds a NUL character; name another place")
    return PostgresRuns(place, wall, full) if is_url(place) else SqliteRuns(place, wall, full)


def is_url(place: str) -> bool:
    """Return whether a place is a database, not a file."""
    return place.startswith(("postgres://", "postgresql://"))


def shown(place: str) -> str:
    """Return what texts call a place: of a URL without password and settings, UNREADABLE for one of another form."""
    if not is_url(place):
        return place
    match = _URL.fullmatch(place)
    if match is None:
        return UNREADABLE
    scheme, user, host, path = match.groups()
    return f"{scheme}{f'{user}@' if user else ''}{host}{path or ''}"


class SqliteRuns:
    """Runs in a SQLite file, under G-12.5. The methods are those of `Database`; before `open`, and after `make` or `close`, those
    that need the file raise JournalRefused. A commit survives the death of the process; with `full` also the loss of power."""

    types = {"text": "TEXT", "number": "INTEGER", "seconds": "REAL", "bytes": "BLOB", "end": " WITHOUT ROWID"}
    locking = ""  # a transaction has the file for itself

    def __init__(self, path: str, wall: Callable[[], float], full: bool) -> None:
        self.name = path
        self.now = wall
        self._path = os.path.abspath(path)
        self._full = full
        self._connection: sqlite3.Connection | None = None

    def exists(self) -> bool:
        return os.path.lexists(self._path)

    def make(self, statements: Sequence[tuple[str, Sequence[Any]]]) -> None:
        """Make the file beside its place, for the user alone, and put it there: an empty file at that place is a store that was
        lost."""
        self._require_local()
        new = f"{self._path}.new-{os.getpid()}-{os.urandom(4).hex()}"
        try:
            with self._guard():
                os.close(os.open(new, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
                self._connect(new)
                if self.rows("PRAGMA journal_mode = WAL") != [("wal",)]:
                    raise JournalRefused(f"{self.name} is in a place that does not allow a write-ahead log; name another one")
                with self.transaction():
                    for statement, values in statements:
                        self.change(statement, values)
                # Closing would leave it in the log, without a word, where the file cannot be written.
                self.rows("PRAGMA wal_checkpoint(TRUNCATE)")
                self.close()
                put(new, self._path)
                _sync_folder(self._path)
        finally:
            self.close()
            for left in (new, f"{new}-wal", f"{new}-shm"):
                with suppress(OSError):
                    os.unlink(left)

    def _require_local(self) -> None:
        if is_on_network(os.path.dirname(self._path)):
            why = "is on a network file system, where SQLite loses data"
            raise JournalRefused(f"{self.name} {why}; use a file of this machine, or PostgreSQL")

    def open(self) -> None:
        self._require_local()
        with self._guard():
            if os.path.isfile(self._path) and not os.path.getsize(self._path):
                raise JournalRefused(f"the run store {self.name} is empty: what it held is lost; {FILE_WAY_OUT}")
            try:
                self._connect(self._path)
                self._live().execute("SELECT count(*) FROM sqlite_master").fetchall()
            except sqlite3.OperationalError as error:
                if getattr(error, "sqlite_errorcode", 0) & 0xFF not in NO_ROOM:
                    raise
                # A full disk has no room for the shared part of the write-ahead log: this process takes the file alone.
                self.close()
                try:
                    self._connect(self._path, "locking_mode = EXCLUSIVE")
                    self._live().execute("SELECT count(*) FROM sqlite_master").fetchall()
                except sqlite3.Error:
                    raise error from None  # the first one says more

    def _connect(self, path: str, *first: str) -> None:
        # Without "mode" a file that is gone would be made anew, and be empty.
        url = f"file:{quote(path, safe='/', errors='surrogateescape')}?mode=rw"
        self._connection = sqlite3.connect(url, uri=True, timeout=PATIENCE, isolation_level=None, check_same_thread=False)
        for setting in (*first, f"synchronous = {'FULL' if self._full else 'NORMAL'}", "trusted_schema = OFF"):
            self._connection.execute(f"PRAGMA {setting}")

    def tables(self) -> set[str]:
        return {name for (name,) in self.rows("SELECT name FROM sqlite_master WHERE type = 'table'")}

    @contextmanager
    def transaction(self, locked: str = "") -> Iterator[None]:
        with self._guard():
            connection = self._live()
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    with suppress(sqlite3.Error):  # of a file that fails; closing it takes everything back
                        connection.execute("ROLLBACK")
                raise

    def rows(self, statement: str, values: Sequence[Any] = ()) -> list[Any]:
        with self._guard():
            return self._live().execute(statement, values).fetchall()

    def change(self, statement: str, values: Sequence[Any] = ()) -> int:
        with self._guard():
            return self._live().execute(statement, values).rowcount

    def change_all(self, statement: str, rows: Sequence[Sequence[Any]]) -> None:
        with self._guard():
            self._live().executemany(statement, rows)

    def _live(self) -> sqlite3.Connection:
        if self._connection is None:
            raise StoreFailed(f"the run store {self.name} is closed")
        return self._connection

    @contextmanager
    def _guard(self) -> Iterator[None]:
        try:
            yield
        except UnicodeDecodeError:  # in what SQLite says of a damaged schema, too
            raise StoreFailed(f"the run store {self.name} is damaged: a text is not UTF-8; {FILE_WAY_OUT}") from None
        except (sqlite3.Error, sqlite3.Warning) as error:
            reason = str(error).partition(" with text ")[0]  # that of a column, which is nobody's business
            if any(word in reason for word in DAMAGED):
                raise StoreFailed(f"the run store {self.name} is damaged: {reason}; {FILE_WAY_OUT}") from None
            way = next((way for said, way in WAYS_OUT.items() if said in reason), "what is committed is kept")
            raise StoreFailed(f"the run store {self.name} failed: {reason}; {way}") from None
        except OSError as error:
            raise StoreFailed(f"the run store {self.name} failed: {error.strerror or error}; name another place") from None

    def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(sqlite3.Error):  # what was committed is in the write-ahead log
                connection.close()


def _sync_folder(path: str) -> None:
    """Make a new name in a folder survive the loss of power, where the system can."""
    with suppress(OSError):
        folder = os.open(os.path.dirname(path), os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


class NotInstalled(JournalRefused):
    """The library for a database is not there."""

    fails = True


class PostgresRuns:
    """Runs in a PostgreSQL database, in the schema SCHEMA. The methods are those of `Database`. What the URL does not say comes
    from the environment, as libpq has it. The clock is that of the server, so that machines whose clocks differ hold leases by
    one. `full` asks for commits that wait for the disk even where the settings of the server do not. A lost connection is opened
    anew for the next statement that is not in the middle of a transaction. The constructor connects to nobody; it raises
    JournalRefused for a URL that cannot be read, NotInstalled without the library."""

    types = {"text": 'TEXT COLLATE "C"', "number": "BIGINT", "seconds": "DOUBLE PRECISION", "bytes": "BYTEA", "end": ""}
    locking = " FOR UPDATE"

    def __init__(self, url: str, wall: Callable[[], float], full: bool) -> None:
        self.name = shown(url)
        if self.name == UNREADABLE:  # what libpq says of it may show the password
            way = "in a password write % and two digits for / @ ? #"
            raise JournalRefused(f"the name of the run store is not of the form {FORM}; {way}")
        self._wall = wall
        self._full = full
        self._ahead = 0.0  # seconds that the server's clock is ahead of ours
        try:
            self._connection = PostgresConnection(Address(url, self.name, source="its name"), self._prepare)
        except MemoryFailure as failure:
            raise NotInstalled(f"run {failure.message}") from None
        self._watch = _Watch(self._connection.interrupt)
        self._begun: Any = None  # the connection that a transaction is on

    def _live(self) -> Any:
        """The connection; within a transaction never another one than where that began."""
        return self._begun or self._connection.live()

    def _prepare(self, connection: Any) -> None:
        connection.isolation_level = _read_committed()
        patience = int(PATIENCE * 1000)
        connection.execute(f"SET statement_timeout TO {patience}")
        # Of a process that was stopped in the middle.
        connection.execute(f"SET idle_in_transaction_session_timeout TO {patience}")
        if self._full:
            connection.execute("SET synchronous_commit TO on")
        connection.execute(f"SET search_path TO {SCHEMA}")
        before = self._wall()
        ((there,),) = connection.execute("SELECT extract(epoch FROM clock_timestamp())::double precision").fetchall()
        self._ahead = there - (before + self._wall()) / 2

    def now(self) -> float:
        return self._wall() + self._ahead

    def exists(self) -> bool:
        return bool(self.tables())

    def open(self) -> None:
        with self._guard():
            self._connection.live()

    def make(self, statements: Sequence[tuple[str, Sequence[Any]]]) -> None:
        with self.transaction():
            self.rows(CREATING)
            with self._guard():
                enter_schema(self._live(), SCHEMA)
            if not self.exists():  # what another process has made meanwhile is to be seen after the wait for its lock
                for statement, values in statements:
                    self.change(statement, values)

    def tables(self) -> set[str]:
        return {name for (name,) in self.rows("SELECT tablename FROM pg_tables WHERE schemaname = ?", (SCHEMA,))}

    @contextmanager
    def transaction(self, locked: str = "") -> Iterator[None]:
        with self._guard():
            connection = self._connection.live()
            with connection.transaction():
                self._begun = connection
                try:
                    if locked:
                        self.change(f"LOCK TABLE {locked} IN SHARE ROW EXCLUSIVE MODE")
                    yield
                finally:
                    self._begun = None

    def rows(self, statement: str, values: Sequence[Any] = ()) -> list[Any]:
        with self._guard():
            rows: list[Any] = self._live().execute(statement.replace("?", "%s"), values).fetchall()
            return rows

    def change(self, statement: str, values: Sequence[Any] = ()) -> int:
        with self._guard():
            return int(self._live().execute(statement.replace("?", "%s"), values).rowcount)

    def change_all(self, statement: str, rows: Sequence[Sequence[Any]]) -> None:
        with self._guard():
            self._live().cursor().executemany(statement.replace("?", "%s"), rows)

    @contextmanager
    def _guard(self) -> Iterator[None]:
        try:
            with self._watch:
                yield
        except MemoryFailure as failure:  # a URL that is none
            raise JournalRefused(f"run {failure.message}") from None
        except (self._connection.errors, OSError) as error:  # of the socket
            reason = f"no answer in {PATIENCE:g} s" if self._watch.ran_out else reason_of(error)
            raise StoreFailed(f"the run store {self.name} failed: {reason}; what is committed is kept") from None

    def close(self) -> None:
        self._watch.close()
        with suppress(self._connection.errors):
            self._connection.close()


@cache
def _read_committed() -> Any:
    """What sees, after the wait for a lock, what its holder has committed, whatever the server has as its default."""
    import psycopg

    return psycopg.IsolationLevel.READ_COMMITTED


class _Watch:
    """Ends what gets no answer: a context around work that waits, in which `give_up` is called from another thread once it has
    taken longer than PATIENCE. `ran_out` says whether that was so."""

    def __init__(self, give_up: Callable[[], object]) -> None:
        self.ran_out = False
        self._give_up = give_up
        self._until: float | None = None
        self._depth = 0
        self._closed = threading.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> None:
        if self._thread is None or self._closed.is_set():
            self._closed = threading.Event()
            self._thread = threading.Thread(target=self._look, args=(self._closed,), name="run store", daemon=True)
            self._thread.start()
        if not self._depth:
            self.ran_out = False
        self._depth += 1
        self._until = monotonic() + PATIENCE + 1  # the server's own limits come first: they say more

    def __exit__(self, *raised: object) -> None:
        self._depth -= 1
        self._until = None if not self._depth else monotonic() + PATIENCE + 1

    def _look(self, closed: threading.Event) -> None:
        while not closed.wait(min(1.0, PATIENCE / 4)):
            until = self._until
            if until is not None and monotonic() > until:
                self.ran_out = True
                self._give_up()

    def close(self) -> None:
        self._closed.set()
