"""A search index in PostgreSQL: transactions, failures, and the words by a table of postings (O-1.241).

Hands on `SearchDatabase` to `index.py`. The tables stand beside those of a memory store (`memory/stores/postgres.py`); either may
come first. Documents are written in READ COMMITTED behind a lock of the index's row, so that writers come one after the other,
and read in REPEATABLE READ, which sees one state and waits for nobody. Which tables there are, and what the methods promise and
raise, is said in `search_tables.py`; how the rankings by words and by vectors are made one in `index.py`.
"""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager, suppress
from math import log

from ..memory.failures import MemoryFailure
from ..memory.stores.operations import LONGEST_WAIT
from ..memory.stores.postgres_connection import CREATING, PostgresConnection, enter_schema, reason_of
from .search_tables import SearchFailure, SearchTables, is_count

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any, TypeVar

    from ..memory.stores.postgres_connection import Database
    from ..memory.stores.thread import StoreThread

    T = TypeVar("T")

READING = "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY"
WRITING = "BEGIN ISOLATION LEVEL READ COMMITTED, READ WRITE"
LOCKING = "SELECT 1 FROM search_index WHERE number = ? FOR UPDATE"
LONGEST_LOCK = LONGEST_WAIT - 1
"""Seconds for a lock of the server, which then says so; after LONGEST_WAIT the session takes the connection away."""
LONGEST_REST = 2 * LONGEST_WAIT
"""Seconds after which the server ends a transaction that says nothing: a machine that vanished must not hold a lock for hours."""
# Classes of SQLSTATE for what the server, its settings or another session did; with any other the tables are not what was made.
OUTSIDE = ("08", "25", "28", "3D", "3F", "40", "42501", "53", "54", "55", "57", "58", "F0")
GRANT = "grant the account of the url the rights to read and write the tables, and to create them where they are missing"
WAYS_OUT = {
    "55P03": f"another session has held it for {LONGEST_LOCK:g} s: end that one, or try again",
    "3F000": GRANT,
    "42501": GRANT,
}
IDLE = 0
"""The transaction status of libpq outside of a transaction."""
POSTINGS_AT_ONCE = 50_000
K1, B, LEAST_IDF = 1.2, 0.75, 1e-6
"""As FTS5 has them, which has no others: https://www.sqlite.org/fts5.html#the_bm25_function."""


class SearchDatabase(SearchTables):
    """The tables of the index `name` in a PostgreSQL database, over a connection of its own. With the `thread` of a session the
    server is waited for while the loop of the session goes on; without one it holds up whoever calls. A server that does not
    answer in time, or that ends the connection, is a "Store" failure, and the next use connects anew.

    The constructor raises as all methods do."""

    # The length of a document stands in each posting: a search reads many postings and no documents. The primary key has all of
    # a posting, so that the server need not look for it in the table; the other index is for removing documents.
    WORDS = (
        "CREATE TABLE {words} (token {bytes}, row {number}, count INTEGER NOT NULL, length INTEGER NOT NULL,"
        " PRIMARY KEY (token, row) INCLUDE (count, length))",
        "CREATE INDEX {words}_row ON {words} (row)",
    )
    KINDS = {
        "key": "BIGINT PRIMARY KEY", "number": "BIGINT", "bytes": "BYTEA", "clustered": "",
        "more": ", tokens BIGINT NOT NULL DEFAULT 0",
    }  # fmt: skip
    IS_THERE = "SELECT 1 FROM pg_tables WHERE schemaname = current_schema() AND tablename = 'search_index'"
    WAY_OUT = ("restore the database from a copy, or drop its tables search_… to begin anew", "another database")

    def __init__(self, name: str, database: Database, thread: StoreThread | None = None) -> None:
        super().__init__()
        self._thread = thread
        self._schema = database.schema
        self._owner: object = None
        self._of_transaction: Any = None
        self.where = f"the index {name} in the store {database.name}"
        try:
            self._line = PostgresConnection(database, self._prepare)
        except MemoryFailure as failure:
            raise SearchFailure("Store", failure.message) from None
        try:
            self.find(name)
        except BaseException:
            self.close()
            raise

    def _prepare(self, connection: Any) -> None:
        connection.execute("SET client_min_messages TO warning")
        connection.execute(f"SET lock_timeout = {LONGEST_LOCK * 1000:.0f}")
        connection.execute(f"SET idle_in_transaction_session_timeout = {LONGEST_REST * 1000:.0f}")
        if self._schema is not None:
            with connection.transaction():
                connection.execute("SET TRANSACTION ISOLATION LEVEL READ COMMITTED")
                connection.execute(CREATING)
                enter_schema(connection, self._schema)

    # ------------------------------------------------------------ statements

    def rows(self, statement: str, values: Sequence[Any] = ()) -> list[Any]:
        found: list[Any] = self._executed(statement, values).fetchall()
        return found

    def change(self, statement: str, values: Sequence[Any] = ()) -> None:
        self._executed(statement, values)

    def _executed(self, statement: str, values: Sequence[Any]) -> Any:
        return self._connection().execute(self._written(statement), values, binary=True)

    def change_all(self, statement: str, rows: Sequence[Sequence[Any]]) -> None:
        if rows:
            self._connection().cursor().executemany(self._written(statement), rows)

    def _written(self, statement: str) -> str:
        return statement.format_map(self.table).replace("?", "%s")

    def _connection(self) -> Any:
        """Return the connection of the transaction, or of the one that comes; one that was lost in it is not another one."""
        if self._is_closed:
            raise SearchFailure("Store", f"{self.where} is closed")
        return self._of_transaction or self._line.live()

    # ------------------------------------------------------------ transactions

    def read(self, work: Callable[[], T]) -> T:
        return self._transaction(READING, None, work)

    def write(self, work: Callable[[], T]) -> T:
        return self._transaction(WRITING, lambda: self.change(LOCKING, (self.number,)), work)

    def create(self, work: Callable[[], object]) -> None:
        self._transaction(WRITING, lambda: self.change(CREATING), work)

    def _transaction(self, begin: str, lock: Callable[[], object] | None, work: Callable[[], T]) -> T:
        """Return what `work` returns in a transaction of its own, behind its lock, if it takes one. To wait for that is no change
        yet, so that the session goes on with results of other effects meanwhile."""
        thread, own = self._thread, object()
        check = (lambda: None) if thread is None else thread.check()

        def whole() -> T:
            self._begin(begin, own, check)
            return self._ended(work, check)

        with self._guard():
            try:
                if lock is None:
                    return self._waited(whole)
                self._waited(lambda: self._begin(begin, own, check, lock))
                if thread is not None:
                    thread.changing()
                return self._waited(lambda: self._ended(work, check))
            finally:
                self._leave(own)

    def _waited(self, call: Callable[[], T]) -> T:
        if self._thread is None:
            return call()
        try:
            return self._thread.wait(call, self.interrupt)  # type: ignore[no-any-return]
        except TimeoutError as error:
            raise SearchFailure("Store", f"{self.where}: {error}") from None

    def _begin(self, begin: str, own: object, check: Callable[[], object], lock: Callable[[], object] = lambda: None) -> None:
        """Begin a transaction of `own`, alone on the connection. Raises what `check` raises."""
        if not self._alone.acquire(timeout=LONGEST_WAIT / 2):  # before the interrupt comes, which would find nothing to end
            raise SearchFailure("Store", f"{self.where}: an operation that was given up is still at work; try again later")
        self._owner = own
        check()
        self._of_transaction = self._connection()
        with self._taken_back():
            self._of_transaction.execute(begin)
            lock()

    def _ended(self, work: Callable[[], T], check: Callable[[], object]) -> T:
        """Return what `work` returns in the transaction that has begun. Raises what `check` raises, with nothing changed."""
        with self._taken_back():
            result = work()
            check()  # of an operation that was given up nothing comes into the database
            self._of_transaction.execute("COMMIT")
            return result

    @contextmanager
    def _taken_back(self) -> Iterator[None]:
        try:
            yield
        except BaseException:
            with suppress(self._line.errors):
                self._of_transaction.rollback()
            raise

    def _leave(self, own: object) -> None:
        """End the use of the connection, if this is whose it is. One that is still in a transaction is given up, which takes its
        changes back, without waiting for the server."""
        if self._owner is not own:
            return
        self._owner, connection, self._of_transaction = None, self._of_transaction, None
        try:
            if connection is not None and connection.info.transaction_status != IDLE:
                connection.close()
        finally:
            self._release()

    @contextmanager
    def _guard(self) -> Iterator[None]:
        try:
            yield
        except MemoryFailure as failure:
            raise SearchFailure("Store", failure.message) from None
        except self._line.errors as error:
            state = getattr(error, "sqlstate", None) or ""
            if state and not state.startswith(OUTSIDE):
                raise self.damaged(reason_of(error)) from None
            way = f"; {WAYS_OUT[state]}" if state in WAYS_OUT else ""
            raise SearchFailure("Store", f"{self.where}: {reason_of(error)}{way}") from None

    def interrupt(self) -> None:
        self._line.interrupt()

    def _disconnect(self) -> None:
        self._line.close()

    # ------------------------------------------------------------ words

    def add_words(self, rows: Sequence[tuple[int, Sequence[str]]]) -> None:
        postings = [(_stored(token), row, count, len(tokens)) for row, tokens in rows for token, count in Counter(tokens).items()]
        postings.sort()  # neighbours in the index are written together
        columns = "?::bytea[], ?::bigint[], ?::integer[], ?::integer[]"
        for at in range(0, len(postings), POSTINGS_AT_ONCE):
            some = [list(column) for column in zip(*postings[at : at + POSTINGS_AT_ONCE], strict=True)]
            self.change(f"INSERT INTO {{words}} (token, row, count, length) SELECT * FROM unnest({columns})", some)
        self._change_total("tokens + ?", sum(len(tokens) for _, tokens in rows))

    def drop_words(self, rows: Sequence[int]) -> None:
        if rows:
            gone = "WITH gone AS (DELETE FROM {words} WHERE row = ANY(?::bigint[]) RETURNING count)"
            ((tokens,),) = self.rows(f"{gone} SELECT coalesce(sum(count), 0)::bigint FROM gone", (list(rows),))
            self._change_total("tokens - ?", tokens)

    def clear_words(self) -> None:
        self.change("DELETE FROM {words}")
        self._change_total("?", 0)

    def _change_total(self, total: str, number: int) -> None:
        self.change(f"UPDATE search_index SET tokens = {total} WHERE number = ?", (number, self.number))

    def counts(self, tokens: Sequence[str], most: int) -> list[int]:
        counting = "SELECT count(*) FROM (SELECT 1 FROM {words} WHERE token = asked.token LIMIT ?) AS found"
        asked = "unnest(?::bytea[]) WITH ORDINALITY AS asked (token, place)"
        found = self.rows(f"SELECT ({counting}) FROM {asked} ORDER BY place", (most, list(map(_stored, tokens))))
        return [count for (count,) in found]

    def ranked(self, counts: Mapping[str, int], size: int, depth: int) -> list[int]:
        """As `SearchTables.ranked`. Sums are taken in the order of FTS5 and rounded like its own, so that equals are equal here
        too."""
        ((total,),) = self.rows("SELECT tokens FROM search_index WHERE number = ?", (self.number,)) or [(None,)]
        if not is_count(total) or total == 0:
            raise self.damaged("it does not say how many words it holds")
        weights = [_weight(count, size) for count in counts.values()]
        values = (list(map(_stored, counts)), weights, total / size, depth)
        return [row for (row,) in self.rows(RANKED, values)]


# OFFSET 0 keeps the two apart: each token is looked up in the index, whatever the server knows of the table by then.
RANKED = (
    "SELECT row FROM (SELECT posting.row, sum(asked.weight * ((count * {k2}::float8) / (count + {k1}::float8 *"
    " ({rest}::float8 + {b}::float8 * length / asked_for.average))) ORDER BY place) AS score"
    " FROM unnest(?::bytea[], ?::float8[]) WITH ORDINALITY AS asked (token, weight, place),"
    " (SELECT ?::float8 AS average) AS asked_for,"
    " LATERAL (SELECT row, count, length FROM {words} WHERE token = asked.token OFFSET 0) AS posting"
    " GROUP BY posting.row) AS scored ORDER BY score DESC, row LIMIT ?"
).replace("{k2}", repr(K1 + 1)).replace("{k1}", repr(K1)).replace("{rest}", repr(1 - B)).replace("{b}", repr(B))  # fmt: skip


def _weight(count: int, size: int) -> float:
    weight = log((size - count + 0.5) / (count + 0.5)) if 2 * count <= size else 0.0
    return weight if weight > 0 else LEAST_IDF


def _stored(token: str) -> bytes:
    return token.encode("utf-8", "surrogatepass")
