"""A search index: documents with their words and vectors, found by both (O-1.241).

Hands on `SearchIndex`, which keeps each `Document` and gives each `Hit`, to `session_indexes.py`, and with `SearchFailure`, which
all its failures are, to the state of a session. No embedder is asked here: vectors come with the documents and with the query. A
search makes two lists, by words (`words.py`) and by vectors (`vectors.py`), and fuses them by reciprocal ranks: a document is
worth 1 / (60 + rank) in each list. Scores of the two are on different scales, and their ranks are not. Lists are fused in blocks,
the first ten of each by themselves: in lists that are deep at once, a document somewhere in both comes before the first of one,
and finds were fewer (`benches/README.md`).
"""

from __future__ import annotations

from dataclasses import dataclass

from .search_file import SearchFailure, SearchFile, State, damaged, refused, text_of, within
from .vectors import Vectors, bits_of, check_vector
from .words import ranked_by_words, tokens_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ..memory.stores.thread import StoreThread

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
    """The documents of the index `name` in the SQLite file `path`, which other tables, indexes and processes may share; without a
    path they are in the memory of this index object and end with it. File and tables are made where they are missing.

    Every change is whole or not there at all, and what a method returns is one state of the index. Documents stand in the order
    in which they were last put. Calls may come from several threads, one at a time. Each method, and the constructor, raises
    SearchFailure (see there for its kinds) and nothing else, but with a path and the `thread` of a session, in which a file is
    then waited for, MustWait and Cancelled too, as `StoreThread.wait`. A method that writes waits up to 30 s for other writers of
    the file and makes them wait: some hundred documents at a time are a good size. After `close` every use is a "Store" failure.
    """

    def __init__(self, name: str, path: str | None = None, thread: StoreThread | None = None) -> None:
        self._file = SearchFile(name, path, thread)
        self._vectors = Vectors(self._file)

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
            self._file.write(lambda: self._put(rows))

    def _put(self, rows: list[_Row]) -> None:
        state = self._removed([row.id for row in rows], self._file.state())
        spaces = self._spaces(rows)
        for number, row in enumerate(rows, state.newest + 1):
            self._insert(number, row, spaces)
        self._file.set_state(State(state.newest + len(rows), state.removals, state.size + len(rows)))

    def _insert(self, number: int, row: _Row, spaces: dict[bytes, int]) -> None:
        file = self._file
        file.change("INSERT INTO {document} VALUES (?, ?, ?, ?, ?)", (number, row.id, row.label, row.value, row.text))
        file.change("INSERT INTO {words} (rowid, tokens) VALUES (?, ?)", (number, row.tokens))
        self._set_vector(number, row, spaces)

    def _set_vector(self, number: int, row: _Row, spaces: dict[bytes, int]) -> None:
        if row.vector is not None:
            self._file.change("INSERT INTO {vector} VALUES (?, ?)", (number, row.vector))
            self._file.change("INSERT INTO {bits} VALUES (?, ?, ?)", (spaces[row.label], number, row.bits))

    def embed(self, documents: Sequence[tuple[int, Document]]) -> None:
        """Give documents other vectors, each with its place as `lacking` gave it. One that does not stand there any more, since
        it was changed or removed meanwhile, is left out. Raises Invalid as `put` does."""
        rows = [(place, _Row(document)) for place, document in documents]
        self._file.write(lambda: self._embed(rows))

    def _embed(self, rows: list[tuple[int, _Row]]) -> None:
        file, state = self._file, self._file.state()
        removals = state.removals
        standing = "SELECT 1 FROM {document} WHERE row = ? AND id = ?"
        there = [(place, row) for place, row in rows if file.rows(standing, (place, row.id))]
        for place, row in there:
            removals += 1
            self._drop_vector(place)
            file.change("UPDATE {document} SET label = ? WHERE row = ?", (row.label, place))
            file.change("INSERT INTO {removed} VALUES (?, ?)", (removals, place))
        spaces = self._spaces([row for _, row in there])
        for place, row in there:
            self._set_vector(place, row, spaces)
        self._forget(removals)
        file.set_state(State(state.newest, removals, state.size))

    def _drop_vector(self, row: int) -> None:
        file = self._file
        for (label,) in file.rows("SELECT label FROM {document} WHERE row = ?", (row,)):
            file.change("DELETE FROM {vector} WHERE row = ?", (row,))
            file.change(UNLIST, (label, row))

    def _spaces(self, rows: Sequence[_Row]) -> dict[bytes, int]:
        """Return the numbers of the labels of these rows, and compare the lengths of their vectors with those that are there."""
        spaces: dict[bytes, int] = {}
        lengths: dict[bytes, int] = {}
        for row in rows:
            if row.vector is not None:
                if row.label not in spaces:
                    spaces[row.label], lengths[row.label] = self._space(row.label, len(row.vector))
                if lengths[row.label] != len(row.vector):
                    label, what = text_of("", row.label), text_of("", row.id)
                    of_label = f"those of {label} have {lengths[row.label] // 4}"
                    raise refused(f"the vector of {what!r} has {len(row.vector) // 4} numbers, {of_label}")
        return spaces

    def _space(self, label: bytes, length: int) -> tuple[int, int]:
        """Return the number of a label and the length of its vectors, which is `length` if it has none yet."""
        file = self._file
        found = file.rows("SELECT number, length FROM {space} WHERE label = ?", (label,))
        if not found:
            file.change("INSERT INTO {space} (label, length) VALUES (?, ?)", (label, length))
            ((number,),) = file.rows("SELECT number FROM {space} WHERE label = ?", (label,))
        else:
            number, length_before = found[0]
            if file.rows("SELECT 1 FROM {bits} WHERE space = ? LIMIT 1", (number,)):
                length = length_before
            else:
                file.change("UPDATE {space} SET length = ? WHERE number = ?", (length, number))
        if type(number) is not int or type(length) is not int:
            raise damaged(file.where, "a label has no length")
        return number, length

    def remove(self, ids: Sequence[str]) -> int:
        """Remove the documents with these ids, and return how many there were."""
        return self._file.write(lambda: self._remove(list(dict.fromkeys(_encoded(each) for each in ids))))

    def _remove(self, ids: Sequence[bytes]) -> int:
        before = self._file.state()
        after = self._removed(ids, before)
        self._file.set_state(after)
        return before.size - after.size

    def _removed(self, ids: Sequence[bytes], state: State) -> State:
        """Remove the rows of different ids and log them; return the state after that."""
        file = self._file
        removals = state.removals
        for each in ids:
            for (row,) in file.rows("SELECT row FROM {document} WHERE id = ?", (each,)):
                removals += 1
                file.change("DELETE FROM {words} WHERE rowid = ?", (row,))
                self._drop_vector(row)
                file.change("DELETE FROM {document} WHERE row = ?", (row,))
                file.change("INSERT INTO {removed} VALUES (?, ?)", (removals, row))
        self._forget(removals)
        return State(state.newest, removals, max(0, state.size - (removals - state.removals)))

    def _forget(self, removals: int) -> None:
        """Shorten the log of rows that are gone or have other vectors."""
        self._file.change("DELETE FROM {removed} WHERE number <= ?", (removals - REMEMBERED,))

    def clear(self) -> None:
        """Remove all documents."""
        self._file.write(self._clear)

    def _clear(self) -> None:
        file, state = self._file, self._file.state()
        for table in ("document", "vector", "bits", "space", "words", "removed"):
            file.change(f"DELETE FROM {{{table}}}")
        file.set_state(State(state.newest, state.removals + 1, 0))  # one that no log has: all bits are read anew

    def get(self, id: str) -> Document | None:
        """Return the document with this id, None if there is none."""
        found = self._file.read(lambda: self._documents("WHERE id = ?", (_encoded(id),)))
        return found[0][1] if found else None

    def __len__(self) -> int:
        """Return the number of documents."""
        return self._file.read(self._file.state).size

    def search(self, text: str, limit: int, label: str = "", vector: bytes | None = None, skip: int = 0) -> list[Hit]:
        """Return the `limit` best documents for a query behind the first `skip`, best first, of equals the earlier one.

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
            state = self._file.state()
            depth = _block_end(min(skip + limit, state.size))
            lists = [ranked_by_words(self._file, text, state.size, depth)]
            if vector is not None:
                lists.append(self._vectors.ranked(label, vector, state, depth))
            return [self._hit(row, score) for score, row in fused(lists)[skip : skip + limit]]

        return self._file.read(work)

    def _hit(self, row: int, score: float) -> Hit:
        found = self._file.rows("SELECT id, value, text FROM {document} WHERE row = ?", (row,))
        if not found:
            raise damaged(self._file.where, f"row {row} is missing")
        id, value, text = (text_of(self._file.where, part) for part in found[0])
        return Hit(id, value, text, score)

    def lacking(self, label: str, limit: int) -> list[tuple[int, Document]]:
        """Return the first `limit` documents that have no vector of this label, of all documents for "", in order, each with its
        place."""
        return self._file.read(lambda: self._lacking(_encoded(label), within(limit)))

    def _lacking(self, label: bytes, limit: int) -> list[tuple[int, Document]]:
        rows: list[Any] = []
        for (other,) in self._file.rows(LABELS):
            if other != label or not label:
                rows += self._file.rows(OLDEST, (other, limit))
        found = [self._documents("WHERE document.row = ?", row) for row in sorted(rows)[:limit]]
        if not all(found):
            raise damaged(self._file.where, "a document is missing")
        return [each[0] for each in found]

    def documents(self, after: int = 0, limit: int = 1000) -> list[tuple[int, Document]]:
        """Return the first `limit` documents behind the place `after` in order, each with its place, an Int above 0 that no other
        document ever has in this index."""
        which = "WHERE document.row > ? ORDER BY document.row LIMIT ?"
        return self._file.read(lambda: self._documents(which, (within(after), within(limit))))

    def _documents(self, which: str, values: Sequence[Any]) -> list[tuple[int, Document]]:
        columns = "document.row, id, text, value, label, vector"
        joined = "{document} AS document LEFT JOIN {vector} AS vector ON vector.row = document.row"
        found = []
        for row, *texts, vector in self._file.rows(f"SELECT {columns} FROM {joined} {which}", values):
            if type(vector) is not bytes and (vector is not None or texts[3] != b""):
                raise damaged(self._file.where, f"the vector of row {row} is missing")
            id, text, value, label = (text_of(self._file.where, each) for each in texts)
            found.append((row, Document(id, text, value, label, vector)))
        return found

    def interrupt(self) -> None:
        """Make a method that is under way in another thread fail soon with a "Store" failure, with nothing changed."""
        self._file.interrupt()

    def close(self) -> None:
        """Let the file go. It may be called again."""
        self._file.close()


# Each label once, by a jump in the index to the next one: there are few of them and many documents.
LABELS = (
    "WITH RECURSIVE each(label) AS (SELECT min(label) FROM {document} UNION ALL"
    " SELECT (SELECT min(label) FROM {document} WHERE label > each.label) FROM each WHERE each.label IS NOT NULL)"
    " SELECT label FROM each WHERE label IS NOT NULL"
)


OLDEST = "SELECT row FROM {document} WHERE label = ? ORDER BY row LIMIT ?"
UNLIST = "DELETE FROM {bits} WHERE space = (SELECT number FROM {space} WHERE label = ?) AND row = ?"


class _Row:
    """A document in its stored form, made before the file is locked. Raises Invalid."""

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
        self.tokens = " ".join(tokens_of(document.text))


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
