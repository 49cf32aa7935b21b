"""The tables of a search index, whatever keeps them (O-1.241).

Hands on `SearchTables` to `index.py`, `words.py`, `vectors.py` and to the two that keep tables, `search_file.py` (SQLite) and
`search_database.py` (PostgreSQL), to this one also `is_count`; `State` to `index.py` and `vectors.py`; `SearchFailure` to whoever
searches and to the journal (`journal/store_forms.py`), `refused` to `index.py` and `vectors.py`, `within` to `index.py`. The
tables of each index have the index's number in their names, so that several stand side by side, next to those of memories. What
they hold is not trusted: whoever reads it checks types, and what does not fit is "Corrupt".
"""

from __future__ import annotations

from dataclasses import dataclass
from threading import Lock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, ClassVar, TypeVar

    T = TypeVar("T")

FORM = 1
"""The form of the tables of an index; those of several may stand side by side."""
HIGHEST = 1 << 62
"""A stored number from it on is damage."""
AT_ONCE = 500
"""Values that one statement looks for."""

REGISTRY = (
    "CREATE TABLE IF NOT EXISTS search_index (number {key}, name {bytes} NOT NULL UNIQUE, form {number} NOT NULL,"
    " newest {number} NOT NULL, removals {number} NOT NULL, size {number} NOT NULL{more})"
)
# Vectors and their bits stand apart from the documents: a search reads few of the one, and a process all of the other at first.
TABLES = (
    "CREATE TABLE {document} (row {key}, id {bytes} NOT NULL UNIQUE, label {bytes} NOT NULL, value {bytes} NOT NULL,"
    " text {bytes} NOT NULL)",
    "CREATE INDEX {document}_label ON {document} (label, row)",
    "CREATE TABLE {vector} (row {key}, vector {bytes} NOT NULL)",
    "CREATE TABLE {bits} (space {number} NOT NULL, row {number} NOT NULL, bits {bytes} NOT NULL, PRIMARY KEY (space, row))"
    "{clustered}",
    "CREATE TABLE {space} (number {key}, label {bytes} NOT NULL UNIQUE, length {number} NOT NULL)",
    "CREATE TABLE {removed} (number {key}, row {number} NOT NULL)",
)
NAMES = ("document", "vector", "bits", "space", "removed", "words")


class SearchFailure(Exception):
    """A search index cannot do what it was asked for. `kind` is "Store" (the store cannot be opened, read or written), "Corrupt"
    (it is damaged), "Version" (it has a form that is not known here) or "Invalid" (a document or a query is refused, and
    nothing was changed); `message` says what and where, and the way out where there is one."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message


def refused(reason: str) -> SearchFailure:
    """Return the failure "Invalid" of a document or a query; the caller raises it."""
    return SearchFailure("Invalid", reason)


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


class SearchTables:
    """The tables of one index, made where they are missing. `where` says in failures which they are, `table` gives a table's full
    name by its short one. Statements are those of SQLite, with ? for values, as far as both know them; WORDS makes the table of
    words, KINDS says of which types columns are, IS_THERE asks for the table of all indexes, and WAY_OUT is advice about damage
    and about another form.

    What a database does in its own way, up to `_disconnect`, its subclass defines (`search_file.py`, `search_database.py`).

    All methods raise SearchFailure, and with the `thread` of a session MustWait and Cancelled as `StoreThread.wait` does. What is
    called within a transaction raises the driver's own errors too, of which `read` and `write` make SearchFailures."""

    WORDS: ClassVar[Sequence[str]]
    KINDS: ClassVar[Mapping[str, str]]
    IS_THERE: ClassVar[str]
    WAY_OUT: ClassVar[tuple[str, str]]

    where: str
    number = 0

    def __init__(self) -> None:
        self.table: dict[str, str] = {}
        # An operation that was given up may still be at work in its own thread.
        self._alone = Lock()
        self._is_closed = False

    # ------------------------------------------------------------ what keeps them

    def rows(self, statement: str, values: Sequence[Any] = ()) -> list[Any]:
        """Return the rows that a statement gives; `{document}` and so on in it stand for tables. To be called within a
        transaction."""
        raise NotImplementedError

    def change(self, statement: str, values: Sequence[Any] = ()) -> None:
        """Execute a statement that gives no rows, written as for `rows`."""
        raise NotImplementedError

    def change_all(self, statement: str, rows: Sequence[Sequence[Any]]) -> None:
        """Execute such a statement for each of the rows of values."""
        raise NotImplementedError

    def read(self, work: Callable[[], T]) -> T:
        """Return what `work` returns, whose reads all see one state of the index. What `work` raises passes through."""
        raise NotImplementedError

    def write(self, work: Callable[[], T]) -> T:
        """Return what `work` returns, whose changes are all there at its end, or none is when it raises. Other writers wait."""
        raise NotImplementedError

    def create(self, work: Callable[[], object]) -> None:
        """As `write`, for an index whose tables are not there yet."""
        raise NotImplementedError

    def add_words(self, rows: Sequence[tuple[int, Sequence[str]]]) -> None:
        """Add the tokens of new rows, in order, repeated ones too."""
        raise NotImplementedError

    def drop_words(self, rows: Sequence[int]) -> None:
        """Remove the tokens of rows."""
        raise NotImplementedError

    def clear_words(self) -> None:
        """Remove all tokens."""
        raise NotImplementedError

    def counts(self, tokens: Sequence[str], most: int) -> list[int]:
        """Return for each token how many rows have it, up to `most`."""
        raise NotImplementedError

    def ranked(self, counts: Mapping[str, int], size: int, depth: int) -> list[int]:
        """Return the `depth` best of the rows that have any of the tokens, by BM25 of the tokens in their order, best first and
        of equals the earlier one. `counts` has how many of all `size` rows have each token; one that more than half of them
        have may be counted short."""
        raise NotImplementedError

    def interrupt(self) -> None:
        """End what another thread waits for, if it does."""
        raise NotImplementedError

    def _disconnect(self) -> None:
        """Close the connection, if there is one; called with `_alone` taken."""
        raise NotImplementedError

    # ------------------------------------------------------------ what is the same of all

    def close(self) -> None:
        """Let the tables go, at once or when the operation ends that is at work in them."""
        self._is_closed = True
        if self._alone.acquire(blocking=False):
            try:
                self._disconnect()
            finally:
                self._alone.release()

    def _release(self) -> None:
        """End an operation that has taken `_alone`, and what `close` began meanwhile."""
        self._alone.release()
        if self._is_closed:
            self.close()

    def rows_of(self, statement: str, values: Sequence[Any]) -> list[Any]:
        """Return the rows that a statement with `IN (EACH)` gives for any number of values."""
        found: list[Any] = []
        for at in range(0, len(values), AT_ONCE):
            some = values[at : at + AT_ONCE]
            found += self.rows(statement.replace("EACH", ", ".join("?" * len(some))), some)
        return found

    def find(self, name: str) -> None:
        """Find the tables of the index of this name, or make them. Nothing is written where they are there already, so that a
        full disk can be read."""
        stored = name.encode("utf-8", "surrogatepass")
        if not self.read(lambda: bool(self.rows(self.IS_THERE)) and self._is_known(stored)):
            self.create(lambda: self._register(stored))

    def _register(self, name: bytes) -> None:
        if not self.rows(self.IS_THERE):
            self.change(REGISTRY.format(**self.KINDS))
        if not self._is_known(name):
            self._make(name)

    def _is_known(self, name: bytes) -> bool:
        rows = self.rows("SELECT number, form FROM search_index WHERE name = ?", (name,))
        if not rows:
            return False
        ((number, form),) = rows
        if type(number) is not int or type(form) is not int or form < 1:
            raise self.damaged("it does not say its form")
        if form != FORM:
            reason = f"has form {form}, and this version knows form {FORM}: use the version that wrote it, or {self.WAY_OUT[1]}"
            raise SearchFailure("Version", f"{self.where} {reason}")
        self._name_tables(number)
        return True

    def _make(self, name: bytes) -> None:
        ((number,),) = self.rows("SELECT coalesce(max(number), 0) + 1 FROM search_index")
        self._name_tables(number)
        for table in (*TABLES, *self.WORDS):
            self.change(table.format(**self.table, **self.KINDS))
        columns = "number, name, form, newest, removals, size"
        self.change(f"INSERT INTO search_index ({columns}) VALUES (?, ?, ?, 0, 0, 0)", (number, name, FORM))

    def _name_tables(self, number: int) -> None:
        self.number = number
        self.table = {name: f"search_{number}_{name}" for name in NAMES}

    def state(self) -> State:
        """Return the state of the index; to be called within a transaction."""
        found = self.rows("SELECT newest, removals, size FROM search_index WHERE number = ?", (self.number,))
        if len(found) != 1 or not all(is_count(part) for part in found[0]):
            raise self.damaged("it does not say what it holds")
        return State(*found[0])

    def set_state(self, state: State) -> None:
        """Store the state of the index; to be called within a transaction of `write`."""
        statement = "UPDATE search_index SET newest = ?, removals = ?, size = ? WHERE number = ?"
        self.change(statement, (state.newest, state.removals, state.size, self.number))

    def clear(self) -> None:
        """Remove all rows but the state."""
        for table in ("document", "vector", "bits", "space", "removed"):
            self.change(f"DELETE FROM {{{table}}}")
        self.clear_words()

    def damaged(self, reason: str) -> SearchFailure:
        """Return the failure "Corrupt" of this index, with the way out; the caller raises it."""
        return SearchFailure("Corrupt", f"{self.where}: {reason}; {self.WAY_OUT[0]}")

    def text(self, stored: object) -> str:
        """Return a stored text as it was before `SearchIndex.put` encoded it. Raises Corrupt for what is none."""
        if type(stored) is not bytes:
            raise self.damaged("a text is missing")
        try:
            return stored.decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            raise self.damaged("a text is not UTF-8") from None


def is_count(stored: object) -> bool:
    """Return whether a stored value is a number that an index counts with."""
    return type(stored) is int and 0 <= stored < HIGHEST
