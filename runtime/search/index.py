"""A search index: documents with their words and vectors, found by both (O-1.241).

Hands on `SearchIndex`, which keeps each `Document` and gives each `Hit`, to `session_indexes.py`, and with `SearchFailure`, which
all its failures are, to the state of a session; the journal takes the two records (`journal/store_forms.py`,
`journal/store_calls.py`). No embedder is asked here: vectors come with the documents and with the query. A search makes two
lists, by words (`words.py`) and by vectors (`vectors.py`), and fuses them by reciprocal ranks: a document is worth 1 / (60 +
rank) in each list. Scores of the two are on different scales, and their ranks are not. Lists are fused in blocks, the first ten
of each by themselves: in lists that are deep at once, a document somewhere in both comes before the first of one, and finds were
fewer (`benches/README.md`).
"""

from __future__ import annotations

from dataclasses import dataclass

from .search_tables import SearchFailure, State, refused, within
from .vectors import Vectors, bits_of, check_vector
from .words import ranked_by_words, tokens_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ..memory.stores.postgres_connection import Database
    from ..memory.stores.thread import StoreThread
    from .search_tables import SearchTables

__all__ = ["Document", "Hit", "SearchFailure", "SearchIndex"]

LONGEST_ID = 512
LONGEST_TEXT = 1 << 20
"""Bytes of a text in UTF-8."""
RANK = 60
"""What is added to a rank before its reciprocal is taken (Cormack, Clarke and Büttcher, SIGIR 2009)."""
BLOCK = 10
"""Ranks of the first block. The second one ends at twice that, and so on."""
REMEMBERED = 10_000
"""Rows in the log of those that are gone or have other vectors. A process that is further behind reads all bits anew."""


@dataclass(frozen=True, slots=True)
class Document:
    """A text that can be found. `value` is JSON that search does not look into. `vector` has length 1, as 32-bit floats, low byte
    first (`memory/embedding.py: packed`), and `label` names the embedder and model that made it; without a vector it is ""."""

    id: str
    text: str
    value: str
    label: str = ""
    vector: bytes | None = None


@dataclass(frozen=True, slots=True)
class Hit:
    """A document that was found. `score` is above 0 and at most 1, which is the first place in each of the lists that there
    are; it compares hits of one search only."""

    id: str
    value: str
    text: str
    score: float


class SearchIndex:
    """The documents of the index `name` in `place`: the path of a SQLite file or a PostgreSQL database, which other tables,
    indexes and processes may share; without one they are in the memory of this index object and end with it. File and tables
    are made where they are missing.

    Every change is whole or not there at all, and what a method returns is one state of the index. Documents stand in the order
    in which they were last put. Calls may come from several threads, one at a time. Each method, and the constructor, raises
    SearchFailure (see there for its kinds) and nothing else, but with a place and the `thread` of a session, in which file or
    server is then waited for, MustWait and Cancelled too, as `StoreThread.wait`. A method that writes waits up to 30 s for other
    writers of the file, or of the index in a database, and makes them wait: some hundred documents at a time are a good size.
    After `close` whatever asks its tables is a "Store" failure.
    """

    def __init__(self, name: str, place: str | Database | None = None, thread: StoreThread | None = None) -> None:
        self._tables = _tables_of(name, place, thread)
        self._vectors = Vectors(self._tables)

    def put(self, documents: Sequence[Document]) -> None:
        """Add documents, in their order; one with the id of an earlier one takes its place and comes last. Raises Invalid, with
        nothing added, for an id that has not 1 to 512 characters, a text of more than 1 MiB in UTF-8, a vector that is not of
        length 1 or of another number of floats than others with its label, and a vector without a label."""
        latest: dict[str, Document] = {}
        for document in documents:
            latest.pop(document.id, None)  # of two with one id, the place of the later one counts too
            latest[document.id] = document
        rows = [_Row(document) for document in latest.values()]
        if rows:
            self._tables.write(lambda: self._put(rows))

    def _put(self, rows: list[_Row]) -> None:
        state = self._removed([row.id for row in rows], self._tables.state())
        spaces = self._spaces(rows)
        numbered = list(enumerate(rows, state.newest + 1))
        documents = [(number, row.id, row.label, row.value, row.text) for number, row in numbered]
        self._tables.change_all("INSERT INTO {document} VALUES (?, ?, ?, ?, ?)", documents)
        self._tables.add_words([(number, row.tokens) for number, row in numbered])
        self._set_vectors(numbered, spaces)
        self._tables.set_state(State(state.newest + len(rows), state.removals, state.size + len(rows)))

    def _set_vectors(self, numbered: Sequence[tuple[int, _Row]], spaces: dict[bytes, int]) -> None:
        having = [(number, row) for number, row in numbered if row.vector is not None]
        self._tables.change_all("INSERT INTO {vector} VALUES (?, ?)", [(number, row.vector) for number, row in having])
        bits = [(spaces[row.label], number, row.bits) for number, row in having]
        self._tables.change_all("INSERT INTO {bits} VALUES (?, ?, ?)", bits)

    def embed(self, documents: Sequence[tuple[int, Document]]) -> None:
        """Give documents other vectors, each with its place as `lacking` gave it. One that does not stand there any more, since
        it was changed or removed meanwhile, is left out. Raises Invalid as `put` does."""
        rows = {place: _Row(document) for place, document in documents}
        self._tables.write(lambda: self._embed(rows))

    def _embed(self, rows: dict[int, _Row]) -> None:
        tables, state = self._tables, self._tables.state()
        standing = tables.rows_of("SELECT row, label, id FROM {document} WHERE row IN (EACH)", list(rows))
        there = [(row, label) for row, label, id in standing if row in rows and rows[row].id == id]
        self._drop_vectors(there)
        embedded = [(place, rows[place]) for place, _ in there]
        tables.change_all("UPDATE {document} SET label = ? WHERE row = ?", [(row.label, place) for place, row in embedded])
        self._set_vectors(embedded, self._spaces([row for _, row in embedded]))
        removals = self._log([place for place, _ in there], state.removals)
        tables.set_state(State(state.newest, removals, state.size))

    def _drop_vectors(self, rows: Sequence[tuple[int, bytes]]) -> None:
        """Remove the vectors of rows, each with its label."""
        self._tables.change_all("DELETE FROM {vector} WHERE row = ?", [(row,) for row, _ in rows])
        self._tables.change_all(UNLIST, [(label, row) for row, label in rows])

    def _spaces(self, rows: Sequence[_Row]) -> dict[bytes, int]:
        """Return the numbers of the labels of these rows, and compare the lengths of their vectors with those that are there."""
        spaces: dict[bytes, int] = {}
        lengths: dict[bytes, int] = {}
        for row in rows:
            if row.vector is not None:
                if row.label not in spaces:
                    spaces[row.label], lengths[row.label] = self._space(row.label, len(row.vector))
                if lengths[row.label] != len(row.vector):
                    label, what = self._tables.text(row.label), self._tables.text(row.id)
                    of_label = f"those of {label} have {lengths[row.label] // 4}"
                    raise refused(f"the vector of {what!r} has {len(row.vector) // 4} numbers, {of_label}")
        return spaces

    def _space(self, label: bytes, length: int) -> tuple[int, int]:
        """Return the number of a label and the length of its vectors, which is `length` if it has none yet."""
        tables = self._tables
        found = tables.rows("SELECT number, length FROM {space} WHERE label = ?", (label,))
        if not found:
            ((number,),) = tables.rows("SELECT coalesce(max(number), 0) + 1 FROM {space}")
            tables.change("INSERT INTO {space} VALUES (?, ?, ?)", (number, label, length))
        else:
            number, length_before = found[0]
            if tables.rows("SELECT 1 FROM {bits} WHERE space = ? LIMIT 1", (number,)):
                length = length_before
            else:
                tables.change("UPDATE {space} SET length = ? WHERE number = ?", (length, number))
        if type(number) is not int or type(length) is not int:
            raise tables.damaged("a label has no length")
        return number, length

    def remove(self, ids: Sequence[str]) -> int:
        """Remove the documents with these ids, and return how many there were."""
        return self._tables.write(lambda: self._remove(list(dict.fromkeys(_encoded(each) for each in ids))))

    def _remove(self, ids: Sequence[bytes]) -> int:
        before = self._tables.state()
        after = self._removed(ids, before)
        self._tables.set_state(after)
        return before.size - after.size

    def _removed(self, ids: Sequence[bytes], state: State) -> State:
        """Remove the rows of different ids and log them; return the state after that."""
        tables = self._tables
        gone = tables.rows_of("SELECT row, label FROM {document} WHERE id IN (EACH)", ids)
        rows = [row for row, _ in gone]
        tables.drop_words(rows)
        self._drop_vectors(gone)
        tables.change_all("DELETE FROM {document} WHERE row = ?", [(row,) for row in rows])
        return State(state.newest, self._log(rows, state.removals), max(0, state.size - len(rows)))

    def _log(self, rows: Sequence[int], removals: int) -> int:
        """Note rows that are gone or have other vectors behind so many before; return how many there are then."""
        after = removals + len(rows)
        if rows:
            self._tables.change_all("INSERT INTO {removed} VALUES (?, ?)", list(enumerate(rows, removals + 1)))
            self._tables.change("DELETE FROM {removed} WHERE number <= ?", (after - REMEMBERED,))
        return after

    def clear(self) -> None:
        """Remove all documents."""
        self._tables.write(self._clear)

    def _clear(self) -> None:
        state = self._tables.state()
        self._tables.clear()
        self._tables.set_state(State(state.newest, state.removals + 1, 0))  # no log has that one: all bits are read anew

    def get(self, id: str) -> Document | None:
        """Return the document with this id, None if there is none."""
        found = self._tables.read(lambda: self._documents("WHERE id = ?", (_encoded(id),)))
        return found[0][1] if found else None

    def __len__(self) -> int:
        """Return the number of documents."""
        return self._tables.read(self._tables.state).size

    def search(self, text: str, limit: int, label: str = "", vector: bytes | None = None, skip: int = 0) -> list[Hit]:
        """Return the `limit` best documents for a query behind the first `skip`, best first, of equals the earlier one;
        an empty list where `limit` is not above 0 or nothing is found.

        By words a document is found that has one of the query's tokens (M-10.8), by the `vector` of the query every one that has
        a vector of its `label`; without a vector only words count. The score of a hit is the sum of 61 / (60 + rank) over the
        lists that have it, divided by the number of lists that are not empty. Its better rank decides on its block (up to 10,
        20, 40 and so on): ranks behind the end of that count nothing, and each block behind the first halves the score, so that
        it comes behind all of the blocks before. Pages of one query fit together up to its hundredth hit; of vectors behind
        that more are compared exactly than before. Raises Invalid for a vector that is not of length 1 or not of as many
        floats as the others of its label."""
        if vector is not None:
            check_vector(vector, "the query")
        skip = max(skip, 0)
        if limit <= 0:
            return []

        def work() -> list[Hit]:
            state = self._tables.state()
            depth = _block_end(min(skip + limit, state.size))
            lists = [ranked_by_words(self._tables, text, state.size, depth)]
            if vector is not None:
                lists.append(self._vectors.ranked(label, vector, state, depth))
            return self._hits(fused(lists)[skip : skip + limit])

        return self._tables.read(work)

    def _hits(self, scored: Sequence[tuple[float, int]]) -> list[Hit]:
        statement = "SELECT row, id, value, text FROM {document} WHERE row IN (EACH)"
        found = {row: parts for row, *parts in self._tables.rows_of(statement, [row for _, row in scored])}
        missing = [row for _, row in scored if row not in found]
        if missing:
            raise self._tables.damaged(f"row {missing[0]} is missing")
        hits = []
        for score, row in scored:
            id, value, text = map(self._tables.text, found[row])
            hits.append(Hit(id, value, text, score))
        return hits

    def lacking(self, label: str, limit: int) -> list[tuple[int, Document]]:
        """Return the first `limit` documents that have no vector of this label, of all documents for "", in order, each with its
        place."""
        return self._tables.read(lambda: self._lacking(_encoded(label), within(limit)))

    def _lacking(self, label: bytes, limit: int) -> list[tuple[int, Document]]:
        rows: list[int] = []
        for (other,) in self._tables.rows(LABELS):
            if other != label or not label:
                rows += [row for (row,) in self._tables.rows(OLDEST, (other, limit))]
        first = sorted(rows)[:limit]
        found = dict(self._documents_of(first))
        if len(found) != len(first):
            raise self._tables.damaged("a document is missing")
        return [(row, found[row]) for row in first]

    def documents(self, after: int = 0, limit: int = 1000) -> list[tuple[int, Document]]:
        """Return the first `limit` documents behind the place `after` in order, each with its place, an Int above 0 that no other
        document ever has in this index."""
        which = "WHERE document.row > ? ORDER BY document.row LIMIT ?"
        return self._tables.read(lambda: self._documents(which, (within(after), within(limit))))

    def _documents(self, which: str, values: Sequence[Any]) -> list[tuple[int, Document]]:
        return [self._document(parts) for parts in self._tables.rows(f"{DOCUMENTS} {which}", values)]

    def _documents_of(self, rows: Sequence[int]) -> list[tuple[int, Document]]:
        found = self._tables.rows_of(f"{DOCUMENTS} WHERE document.row IN (EACH)", rows)
        return [self._document(parts) for parts in found]

    def _document(self, parts: Sequence[Any]) -> tuple[int, Document]:
        row, *texts, vector = parts
        if type(vector) is not bytes and (vector is not None or texts[3] != b""):
            raise self._tables.damaged(f"the vector of row {row} is missing")
        id, text, value, label = map(self._tables.text, texts)
        return row, Document(id, text, value, label, vector)

    def interrupt(self) -> None:
        """Make a method that is under way in another thread fail soon with a "Store" failure, with nothing changed."""
        self._tables.interrupt()

    def close(self) -> None:
        """Let file or database go. It may be called again."""
        self._tables.close()


DOCUMENTS = (
    "SELECT document.row, id, text, value, label, vector FROM {document} AS document"
    " LEFT JOIN {vector} AS vector ON vector.row = document.row"
)
# Each label once, by a jump in the index to the next one: there are few of them and many documents.
LABELS = (
    "WITH RECURSIVE each(label) AS (SELECT (SELECT label FROM {document} ORDER BY label LIMIT 1) UNION ALL"
    " SELECT (SELECT label FROM {document} WHERE label > each.label ORDER BY label LIMIT 1)"
    " FROM each WHERE each.label IS NOT NULL)"
    " SELECT label FROM each WHERE label IS NOT NULL"
)
OLDEST = "SELECT row FROM {document} WHERE label = ? ORDER BY row LIMIT ?"
UNLIST = "DELETE FROM {bits} WHERE space = (SELECT number FROM {space} WHERE label = ?) AND row = ?"


def _tables_of(name: str, place: str | Database | None, thread: StoreThread | None) -> SearchTables:
    if place is None or isinstance(place, str):
        from .search_file import SearchFile

        return SearchFile(name, place, thread)
    from .search_database import SearchDatabase

    return SearchDatabase(name, place, thread)


class _Row:
    """A document in its stored form, made before others have to wait. Raises Invalid."""

    __slots__ = ("id", "text", "value", "label", "vector", "bits", "tokens")

    def __init__(self, document: Document) -> None:
        self.id = _encoded(document.id)
        self.text = _encoded(document.text)
        self.value = _encoded(document.value)
        self.vector = document.vector
        self.label = b"" if self.vector is None else _encoded(document.label)
        if not 1 <= len(document.id) <= LONGEST_ID:
            raise refused(f"the id {document.id[:40]!r} has {len(document.id)} characters; it must have 1 to {LONGEST_ID}")
        what = repr(document.id)
        if len(self.text) > LONGEST_TEXT:
            raise refused(f"the text of {what} has {len(self.text):,} bytes; {LONGEST_TEXT:,} is the most: cut it into chunks")
        self.bits = b""
        if self.vector is not None:
            if not self.label:
                raise refused(f"the vector of {what} has no label")
            check_vector(self.vector, what)
            self.bits = bits_of(self.vector)
        self.tokens = tokens_of(document.text)


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _block_end(rank: int) -> int:
    """Return the last rank of the block in which this one is."""
    end = BLOCK
    while end < rank:
        end *= 2
    return end


def fused(lists: Sequence[Sequence[int]]) -> list[tuple[float, int]]:
    """Return the scores and rows of ranked lists of rows, best first, of equals the earlier one; empty lists do not count."""
    ranks: dict[int, list[int]] = {}
    for rows in lists:
        for rank, row in enumerate(rows, 1):
            ranks.setdefault(row, []).append(rank)
    count = sum(1 for rows in lists if rows)
    scored = ((_worth(of_row) / count, row) for row, of_row in ranks.items())
    return sorted(scored, key=lambda pair: (-pair[0], pair[1]))


def _worth(ranks: Sequence[int]) -> float:
    end = _block_end(min(ranks))
    return sum((RANK + 1) / (RANK + rank) for rank in ranks if rank <= end) * BLOCK / end
