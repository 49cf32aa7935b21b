"""Logs in PostgreSQL: the same tables and conditional UPDATE as in SQLite, in one transaction (M-8.12).

Hands on `PostgresStore` to `opened.py`. The statements are in `sql.py`, the connection is in `postgres_connection.py`; here are
tables, transactions and types of columns.
"""

from __future__ import annotations

from contextlib import contextmanager
from threading import RLock
from time import time

from ..failures import store_failed
from .postgres_connection import CREATING, Database, PostgresConnection, enter_schema, reason_of
from .sql import NAMES, TABLES, Indexes, SqlStore

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any


KIND = {"bytes": "BYTEA", "number": "BIGINT", "rows": ""}


class PostgresStore(SqlStore):
    """Logs in a PostgreSQL database. `url` names the database, `name` is what failures call the store, and `source` says in
    failures where the url stands; `schema`, when given, the schema that its tables are in, else the connection's current one;
    `deflates`: parts are compressed where that helps (M-8.8). Tables and schema are made when they are missing. Methods are those
    of `SqlStore`, which are the whole interface of a store (`head`, `entries`, `commit`, `keep` and so on, as `protocol.py` says
    them), and `interrupt`; times for leases are those of this machine. `database` says where indexes of documents beside the logs
    are kept.

    The constructor connects and waits for it. It raises MemoryFailure: "Store" when psycopg is missing, the `url` is none or the
    database cannot be reached, "Corrupt" when a table or the format of an existing store is gone, "Version" for a newer format.
    Methods raise MemoryFailure: "Store" when the database fails, "Corrupt" for damaged rows, "Conflict" for another version or a
    number or name that is taken, "Version" for media of a later version. After a lost connection they raise what the constructor
    does where it cannot be opened anew. They wait for the server where they are called; `Remote` calls them in a thread."""

    def __init__(
        self, url: str, *, name: str = "postgres", schema: str | None = None, deflates: bool = False, source: str = "its url"
    ) -> None:
        self.name = name
        self.deflates = deflates
        self.database = Database(url, name, schema, source)
        self._alone = RLock()
        self._connection = PostgresConnection(self.database, self._prepare)
        self._indexes = Indexes(self._notes, self._facts)
        with self._guard():
            self._connect()

    def _connect(self) -> Any:
        return self._connection.live()

    def interrupt(self) -> None:
        """Make what waits for the server fail, a connection that is being opened too; called from any thread."""
        self._connection.interrupt()

    def _prepare(self, connection: Any) -> None:
        with connection.transaction():
            # What the session before us created is to be seen after the wait for its lock.
            connection.execute("SET TRANSACTION ISOLATION LEVEL READ COMMITTED")
            connection.execute("SET LOCAL client_min_messages TO warning")
            connection.execute(CREATING)
            enter_schema(connection, self.database.schema)
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
            except self._connection.errors as error:
                raise store_failed(self.name, reason_of(error)) from None

    def _time(self) -> int:
        return int(time() * 1000)

    def close(self) -> None:
        """Close the connection; a later use opens another one."""
        self._connection.close()
