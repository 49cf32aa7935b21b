"""Connections to PostgreSQL: opened when they are needed, and interrupted from another thread.

Hands on `Database`, `PostgresConnection`, CREATING, `enter_schema` and `reason_of` to `postgres.py`, whose logs are in a
database, to `search/search_database.py`, whose indexes stand beside them, and, with FORM, to run stores
(`journal/run_databases.py`); `Database` also to what opens an index (`search/index.py`, `search/session_indexes.py`). psycopg,
the extra `postgres`, is imported when a connection is made. A lost connection is opened anew for the next use; what was under way
failed as a whole.
"""

from __future__ import annotations

import selectors
from contextlib import suppress
from dataclasses import dataclass, field
from os import dup
from selectors import EVENT_READ, EVENT_WRITE, SelectSelector
from socket import SHUT_RDWR, socket
from time import monotonic

from ..failures import store_failed
from .operations import LONGEST_CONNECT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


# Creating tables is not safe against another session that creates them at the same moment.
CREATING = "SELECT pg_advisory_xact_lock(1129270851)"
CONNECT_LOOKS = 0.01
"""Seconds between two looks whether a connection that is being opened is still wanted."""
FORM = "postgresql://USER@HOST:PORT/DATABASE"
SELECTOR = getattr(selectors, "PollSelector", SelectSelector)  # select takes no descriptor from 1024 on


@dataclass(frozen=True, slots=True)
class Database:
    """A database that a `url` names. In failures it is the store `name`, and `source` says where the url stands; `schema`, when
    given, is the schema that its tables are in."""

    url: str = field(repr=False)
    name: str = "postgres"
    schema: str | None = None
    source: str = "its url"


class PostgresConnection:
    """A connection to a database, for one thread at a time. `prepare` is called with each new one. `errors` is the class of
    psycopg's errors.

    The constructor raises MemoryFailure("Store") when psycopg is missing."""

    def __init__(self, database: Database, prepare: Callable[[Any], object]) -> None:
        try:
            import psycopg
        except ImportError:
            from ...errors import install_advice

            raise store_failed(database.name, f"psycopg is not installed: {install_advice('postgres')}") from None
        self._psycopg = psycopg
        self._database = database
        self._prepare = prepare
        self._held: Any = None
        self._interrupted = False
        self.errors: type[Exception] = psycopg.Error

    def live(self) -> Any:
        """Return psycopg's connection, opened if there is none or the one before was lost. Raises `errors` where no connection
        comes about, for whatever reason, or after `interrupt`, MemoryFailure("Store") for a url that is none, and what `prepare`
        raises."""
        if self._held is None or self._is_lost():
            self._held = self._psycopg.Connection(self._begun())
            try:
                self._held.autocommit = True
                self._prepare(self._held)
            except BaseException:
                self._held.close()
                raise
        return self._held

    def _is_lost(self) -> bool:
        """Whether the server has ended the connection, as one does that begins anew. This asks the system, not the server."""
        line = self._held.pgconn
        if not self._held.closed and line.transaction_status == self._psycopg.pq.TransactionStatus.IDLE:
            with suppress(self.errors):
                line.consume_input()
                line.is_busy()  # reads what the server said last
                line.consume_input()
        return bool(self._held.closed)

    def _begun(self) -> Any:
        """Return a connection of libpq. psycopg would wait for the server in a way that nobody can interrupt."""
        pq = self._psycopg.pq
        until = monotonic() + self._longest_connect()
        self._interrupted = False
        line = pq.PGconn.connect_start(self._database.url.encode())
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
        name, source = self._database.name, self._database.source
        try:
            settings = self._psycopg.conninfo.conninfo_to_dict(self._database.url)
        except (self._psycopg.ProgrammingError, UnicodeEncodeError):  # its text shows the url, which may hold the password
            raise store_failed(name, f"{source} is not of the form {FORM}") from None
        written = settings.get("connect_timeout") or "0"
        try:
            seconds = int(written)
        except ValueError:
            reason = f"{source} has the connect_timeout {written!r}, which is no whole number of seconds"
            raise store_failed(name, reason) from None
        return seconds if 0 < seconds < 2**31 else LONGEST_CONNECT

    def interrupt(self) -> None:
        """Make what waits for the server fail, a connection that is being opened too; called from any thread."""
        self._interrupted = True
        connection = self._held
        if connection is not None and not connection.closed:
            # A copy of the descriptor: closing the original would free its number under the waiting thread.
            with socket(fileno=dup(connection.fileno())) as line:
                line.shutdown(SHUT_RDWR)

    def close(self) -> None:
        """Close the connection, if there is one."""
        if self._held is not None:
            self._held.close()
            self._held = None


def enter_schema(connection: Any, schema: str | None) -> None:
    """Look for tables in this schema from now on, made where it is missing, or do nothing for None; within a transaction behind
    CREATING. Raises psycopg's errors."""
    from psycopg import sql

    if schema is not None:
        name = sql.Identifier(schema)
        # IF NOT EXISTS asks for the right to create schemas even where there is nothing to create.
        if not connection.execute("SELECT 1 FROM pg_namespace WHERE nspname = %s", [schema]).fetchall():
            connection.execute(sql.SQL("CREATE SCHEMA {}").format(name))
        connection.execute(sql.SQL("SET search_path TO {}").format(name))


def reason_of(error: Exception) -> str:
    """Return the first line of what the driver says of an error; further ones may show values."""
    said = str(error).strip()
    return said.splitlines()[0] if said else type(error).__name__
