"""Logs in PostgreSQL: the same tables and conditional UPDATE as in SQLite, in one transaction (M-8.12).

Hands on `PostgresStore` to `opened.py`. The statements are in `sql.py`; here are connection, errors and types of columns.
psycopg, the extra `postgres`, is imported when such a store is opened. A lost connection is opened anew for the next use;
what was under way failed as a whole.
"""

from __future__ import annotations

import selectors
from contextlib import contextmanager
from os import dup
from selectors import EVENT_READ, EVENT_WRITE, SelectSelector
from socket import SHUT_RDWR, socket
from threading import RLock
from time import monotonic, time

from ..entries import store_failed
from .operations import LONGEST_CONNECT
from .sql import NAMES, TABLES, Indexes, SqlStore

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any


# Creating tables is not safe against another session that creates them at the same moment.
CREATING = "SELECT pg_advisory_xact_lock(1129270851)"
CONNECT_LOOKS = 0.01
"""Seconds between two looks whether a connection that is being opened is still wanted."""
FORM = "postgresql://USER@HOST:PORT/DATABASE"
SELECTOR = getattr(selectors, "PollSelector", SelectSelector)  # select takes no descriptor from 1024 on
KIND = {"bytes": "BYTEA", "number": "BIGINT", "rows": ""}


class PostgresStore(SqlStore):
    """Logs in a PostgreSQL database. `url` names the database, `name` is what failures call the store, and `source` says in
    failures where the url stands; `schema`, when given, the schema that its tables are in, else the connection's current one;
    `deflates`: parts are compressed where that helps (M-8.8). Tables and schema are made when they are missing. Methods are those
    of `SqlStore`, which are the whole interface of a store (`head`, `entries`, `commit`, `keep` and so on, as `protocol.py` says
    them), and `interrupt`; times for leases are those of this machine.

    The constructor connects and waits for it. It raises MemoryFailure: "Store" when psycopg is missing, the `url` is none or the
    database cannot be reached, "Corrupt" when a table or the format of an existing store is gone, "Version" for a newer format.
    Methods raise MemoryFailure: "Store" when the database fails, "Corrupt" for damaged rows, "Conflict" for another version or a
    number or name that is taken, "Version" for media of a later version. After a lost connection they raise what the constructor
    does where it cannot be opened anew. They wait for the server where they are called; `Remote` calls
    them in a thread."""

    def __init__(
        self, url: str, *, name: str = "postgres", schema: str | None = None, deflates: bool = False, source: str = "its url"
    ) -> None:
        try:
            import psycopg
        except ImportError:
            from ...errors import install_advice

            raise store_failed(name, f"psycopg is not installed: {install_advice('postgres')}") from None
        self.name = name
        self.deflates = deflates
        self._psycopg = psycopg
        self._url = url
        self._source = source
        self._schema = schema
        self._alone = RLock()
        self._connection: Any = None
        self._interrupted = False
        self._indexes = Indexes(self._notes, self._facts)
        with self._guard():
            self._connect()

    def _connect(self) -> Any:
        if self._connection is None or self._connection.closed:
            self._connection = self._psycopg.Connection(self._begun())
            try:
                self._connection.autocommit = True
                self._prepare(self._connection)
            except BaseException:
                self._connection.close()
                raise
        return self._connection

    def _begun(self) -> Any:
        """Return a connection of libpq. psycopg would wait for the server in a way that nobody can interrupt."""
        pq = self._psycopg.pq
        until = monotonic() + self._longest_connect()
        self._interrupted = False
        line = pq.PGconn.connect_start(self._url.encode())
        reason = ""
        while line.status != pq.ConnStatus.BAD:
            state = line.connect_poll()
            if state == pq.PollingStatus.OK:
                line.nonblocking = 1
                return line
            if state == pq.PollingStatus.FAILED:
                break
            with SELECTOR() as ready:
                ready.register(line.socket, EVENT_READ if state == pq.PollingStatus.READING else EVENT_WRITE)
                ready.select(CONNECT_LOOKS)
            if self._interrupted or monotonic() > until:
                reason = "the server does not answer"
                break
        reason = reason or line.error_message.decode("utf-8", "replace")
        line.finish()
        raise self._psycopg.OperationalError(reason)

    def _longest_connect(self) -> int:
        """Return the seconds that a connection may take. As in libpq, `connect_timeout` is a whole number, and 0 or less says
        none."""
        try:
            settings = self._psycopg.conninfo.conninfo_to_dict(self._url)
        except (self._psycopg.ProgrammingError, UnicodeEncodeError):  # its text shows the url, which may hold the password
            raise store_failed(self.name, f"{self._source} is not of the form {FORM}") from None
        written = settings.get("connect_timeout") or "0"
        try:
            seconds = int(written)
        except ValueError:
            reason = f"{self._source} has the connect_timeout {written!r}, which is no whole number of seconds"
            raise store_failed(self.name, reason) from None
        return seconds if 0 < seconds < 2**31 else LONGEST_CONNECT

    def interrupt(self) -> None:
        """Make what waits for the server fail, a connection that is being opened too; called from any thread."""
        self._interrupted = True
        connection = self._connection
        if connection is not None and not connection.closed:
            # A copy of the descriptor: closing the original would free its number under the waiting thread.
            with socket(fileno=dup(connection.fileno())) as line:
                line.shutdown(SHUT_RDWR)

    def _prepare(self, connection: Any) -> None:
        from psycopg import sql

        with connection.transaction():
            # What the session before us created is to be seen after the wait for its lock.
            connection.execute("SET TRANSACTION ISOLATION LEVEL READ COMMITTED")
            connection.execute("SET LOCAL client_min_messages TO warning")
            connection.execute(CREATING)
            if self._schema is not None:
                name = sql.Identifier(self._schema)
                # IF NOT EXISTS asks for the right to create schemas even where there is nothing to create.
                if not connection.execute("SELECT 1 FROM pg_namespace WHERE nspname = %s", [self._schema]).fetchall():
                    connection.execute(sql.SQL("CREATE SCHEMA {}").format(name))
                connection.execute(sql.SQL("SET search_path TO {}").format(name))
            rows = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = current_schema()").fetchall()
            names = {name for (name,) in rows} & NAMES
            if names:
                self._check_tables(names)
            if names != NAMES:  # CREATE INDEX asks for the owner of the table even where there is nothing to create
                for table in TABLES:
                    connection.execute(table.format(**KIND))
            self._check_format()

    def _rows(self, statement: str, values: Sequence[Any] = ()) -> list[Any]:
        rows: list[Any] = self._connect().execute(statement.replace("?", "%s"), values).fetchall()
        return rows

    def _change(self, statement: str, values: Sequence[Any]) -> int:
        return int(self._connect().execute(statement.replace("?", "%s"), values).rowcount)

    def _change_all(self, statement: str, rows: Sequence[Sequence[Any]]) -> None:
        if rows:
            self._connect().cursor().executemany(statement.replace("?", "%s"), rows)

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._guard(), self._connect().transaction():
            yield

    @contextmanager
    def _guard(self) -> Iterator[None]:
        with self._alone:
            try:
                yield
            except self._psycopg.Error as error:
                reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
                raise store_failed(self.name, reason) from None

    def _time(self) -> int:
        return int(time() * 1000)

    def close(self) -> None:
        """Close the connection; a later use opens another one."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
