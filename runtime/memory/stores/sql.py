"""Logs in SQL tables: the tables and statements that SQLite and PostgreSQL share (M-8, G-12.5).

Hands on to `sqlite.py` and `postgres.py`: `SqlStore`, which a kind of database completes (how to connect, begin a transaction,
translate errors), and the tables that they make (`TABLES`, `NAMES`, `FORMAT`). To `redis.py` the limits of its notes (NAMED,
NOTES, `first_change`) with their type `Note`, and to all three `Indexes`, which keeps the fact indexes of a store in step with
other writers. One commit is one transaction whose first change is made at the expected version only. Keys are bytes in
parameters, never part of a statement. What a row holds is for `rows.py`.
"""

from __future__ import annotations

from os import urandom

from ....vm.values.metering import FEW, paced
from ..entries import Entry, Turn, ViewState, contents_of, filled, hashes_of
from ..fact_index import FactIndex
from ..facts import PERSISTENT, Fact, Observation, said_by, touched
from ..failures import MemoryFailure, conflict, corrupt, newer_version
from ..keys import decode, encode, shown
from .protocol import Head
from .rows import (
    damage_at,
    entry_of_row,
    entry_row,
    fact_of_row,
    fact_row,
    head_of,
    note_of,
    seen_of_row,
    seen_row,
    turn_of_row,
    turn_row,
    view_of_row,
    view_row,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractContextManager
    from typing import Any

    from ..keys import Key
    from .protocol import Batch, Write


# A store notes with each change of the facts of a key a number, one more than that before, and which facts it changed; it keeps
# the newest notes. A reader asks for the notes since the change that it knows, that one included: when that note is gone, or
# the numbers have a gap, all facts of the key are read anew.

if TYPE_CHECKING:
    Note = tuple[int, str | None]
    """The number of a change, and the numbers of its facts between blanks; None when all may be others."""

KEPT_INDEXES = 64
"""Keys whose fact index a store keeps in memory; at one more the index that was made first is dropped."""
NOTES = 256
"""Changes of a key that are noted; a reader that missed more reads all facts anew."""
NAMED = 1_000
"""Facts that a note names at most; the note of a larger change says that all may be others."""
NOT_READ, NO_NOTE = -1, 0
"""Stamps of an index that are no numbers of changes: nothing was read yet; all facts were read, and the key had no note."""


def first_change() -> int:
    """Return the number of the first change of a key. It is random, so that a key that was removed and written again is
    not taken for the old one."""
    return int.from_bytes(urandom(6), "big") + 1


def changed_facts(notes: Sequence[Note], since: int) -> set[int] | None:
    """Return the numbers of facts that changed after the change `since`, which is the first of the notes; None when the
    notes do not tell."""
    if since == NO_NOTE and not notes:
        return set()
    if since <= NO_NOTE or [number for number, _ in notes] != list(range(since, since + len(notes))) or not notes:
        return None
    after = [facts for _, facts in notes[1:]]
    return None if None in after else {int(one) for facts in after if facts for one in facts.split()}


class Indexes:
    """The fact indexes of a store, by key. `notes` returns the notes of a key from a number on, in order; `read` the
    facts of a key with these numbers, or all."""

    __slots__ = ("_held", "_notes", "_read")

    def __init__(
        self, notes: Callable[[Key, int], Sequence[Note]], read: Callable[[Key, Sequence[int] | None], list[Fact]]
    ) -> None:
        self._held: dict[Key, FactIndex] = {}
        self._notes = notes
        self._read = read

    def of(self, key: Key) -> FactIndex:
        """Return the index of the stored facts of a key. Only what has changed since the last call is read; when another writer
        changes facts while they are read, it reads again, so that the index never mixes two states. Raises what `notes` and
        `read` raise."""
        index = self._held.get(key)
        if index is None:
            if len(self._held) >= KEPT_INDEXES:
                del self._held[next(iter(self._held))]
            index = self._held[key] = FactIndex(stamp=NOT_READ)
        while True:
            notes = self._notes(key, max(index.stamp, NO_NOTE))
            newest = notes[-1][0] if notes else NO_NOTE
            numbers = changed_facts(notes, index.stamp)
            if numbers is None:
                index.reconcile(self._read(key, None), newest)
            elif newest != index.stamp:
                facts = self._read(key, sorted(numbers))
                index.change(facts, numbers.difference(fact.id for fact in facts))
                index.stamp = newest
            else:
                return index

    def known(self, key: Key) -> FactIndex | None:
        """Return the index of a key as it was read last, None when it was never read or had no note; nothing is read now."""
        index = self._held.get(key)
        return index if index is not None and index.stamp > NO_NOTE else None

    def follow(self, key: Key, change: int | None, facts: Sequence[Fact], gone: Sequence[int]) -> None:
        """Bring the index up to date with a change that this process has stored: `change` is its number, None when no fact
        changed, `gone` the numbers of removed facts. When another writer's change came before it, the index stays as it is, and
        `of` reads both."""
        index = self._held.get(key)
        if index is not None and change is not None and index.stamp == change - 1:
            index.change(facts, gone)
            index.stamp = change

    def follow_commit(self, key: Key, change: int | None, batch: Batch) -> None:
        """Bring the index up to date with the facts of a commit, as `follow` does."""
        if batch.facts_anew:
            self.drop(key)
        self.follow(key, change, batch.facts, batch.gone)

    def drop(self, key: Key) -> None:
        """Forget the index of a key."""
        self._held.pop(key, None)


# Tables and statements.

FORMAT = 5
"""The format of the tables. 1 had no notes of changed facts; 2 added them (table `changed`). 3 gave entries places for the state
of providers and for media, 4 gave facts `elements`, 5 has the contents of media (tables `blob` and `media`;
M-8.17). A store of an earlier format is read as it is and then counts as one of this format; a newer one is refused."""

# A database fills in `{bytes}` and `{number}`, its types of columns, and `{rows}`, what it says behind a table.
TABLES = (
    "CREATE TABLE IF NOT EXISTS meta (format {number} NOT NULL PRIMARY KEY)",
    "CREATE TABLE IF NOT EXISTS log (key {bytes} NOT NULL PRIMARY KEY, version {number} NOT NULL, next {number} NOT NULL,"
    " turns {number} NOT NULL, length {number} NOT NULL, tokens {number} NOT NULL, touched {number} NOT NULL){rows}",
    "CREATE TABLE IF NOT EXISTS entry (key {bytes} NOT NULL, seq {number} NOT NULL, turn {number} NOT NULL, run TEXT,"
    " author TEXT, role TEXT NOT NULL, parts {bytes} NOT NULL, origin TEXT NOT NULL, pinned INTEGER NOT NULL,"
    " tokens {number} NOT NULL, at_ms {number} NOT NULL, PRIMARY KEY (key, seq)){rows}",
    "CREATE INDEX IF NOT EXISTS entry_pinned ON entry (key, seq) WHERE pinned = 1",
    "CREATE INDEX IF NOT EXISTS entry_turn ON entry (key, turn)",
    "CREATE TABLE IF NOT EXISTS turn (key {bytes} NOT NULL, n {number} NOT NULL, run TEXT, author TEXT, at_ms {number} NOT NULL,"
    " tokens_in {number} NOT NULL, tokens_out {number} NOT NULL, meta TEXT NOT NULL, PRIMARY KEY (key, n),"
    " UNIQUE (key, run)){rows}",
    "CREATE TABLE IF NOT EXISTS view (key {bytes} NOT NULL, name TEXT NOT NULL, cut {number} NOT NULL, summary {bytes} NOT NULL,"
    " upto {number} NOT NULL, folded {number} NOT NULL, folded_at {number} NOT NULL, PRIMARY KEY (key, name)){rows}",
    "CREATE TABLE IF NOT EXISTS fact (key {bytes} NOT NULL, id {number} NOT NULL, name {bytes} NOT NULL, data {bytes} NOT NULL,"
    " PRIMARY KEY (key, id), UNIQUE (key, name)){rows}",
    "CREATE TABLE IF NOT EXISTS seen (key {bytes} NOT NULL, topic {bytes} NOT NULL, n {number} NOT NULL, data {bytes} NOT NULL,"
    " PRIMARY KEY (key, topic, n)){rows}",
    "CREATE TABLE IF NOT EXISTS changed (key {bytes} NOT NULL, n {number} NOT NULL, facts TEXT, PRIMARY KEY (key, n)){rows}",
    "CREATE TABLE IF NOT EXISTS blob (key {bytes} NOT NULL, hash TEXT NOT NULL, data {bytes} NOT NULL, PRIMARY KEY (key, hash))",
    "CREATE TABLE IF NOT EXISTS media (key {bytes} NOT NULL, seq {number} NOT NULL, hash TEXT NOT NULL,"
    " PRIMARY KEY (key, seq, hash)){rows}",
    "CREATE TABLE IF NOT EXISTS lease (key {bytes} NOT NULL PRIMARY KEY, owner TEXT NOT NULL, until {number} NOT NULL)",
)
OF_A_KEY = ("log", "entry", "turn", "view", "fact", "seen", "changed", "blob", "media")
NAMES = frozenset(("meta", "lease", *OF_A_KEY))
LATER = frozenset(("changed", "blob", "media"))
"""Tables that earlier formats had not."""

LONGEST_LEASE = 86_400_000
"""Milliseconds: a stored lease that ends later is damaged, and may be taken."""
AT_ONCE = 500
"""Facts that one statement reads by their numbers."""

ENTRY_COLUMNS = "seq, turn, run, author, role, parts, origin, pinned, tokens, at_ms"
TURN_COLUMNS = "n, run, author, at_ms, tokens_in, tokens_out, meta"
VIEW_COLUMNS = "name, cut, summary, upto, folded, folded_at"
HEAD_COLUMNS = "version, next, turns, length, tokens, touched"

UPDATE_HEAD = "UPDATE log SET version = ?, next = ?, turns = ?, length = ?, tokens = ?, touched = ? WHERE key = ? AND version = ?"
INSERT_HEAD = (  # facts alone have made a row of version 0
    f"INSERT INTO log ({HEAD_COLUMNS}, key) VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (key) DO UPDATE SET version ="
    " excluded.version, next = excluded.next, turns = excluded.turns, length = excluded.length, tokens = excluded.tokens,"
    " touched = excluded.touched WHERE log.version = 0"
)
TOUCH = (
    f"INSERT INTO log ({HEAD_COLUMNS}, key) VALUES (0, 0, 0, 0, 0, ?, ?)"
    " ON CONFLICT (key) DO UPDATE SET touched = excluded.touched"
)
SELECT_FACT = "SELECT data, id, name FROM fact"
PUT_FACT = (
    "INSERT INTO fact (key, id, name, data) VALUES (?, ?, ?, ?) ON CONFLICT (key, id) DO UPDATE SET data = excluded.data"
    " WHERE fact.name = excluded.name"
)
PUT_BLOB = "INSERT INTO blob (key, hash, data) VALUES (?, ?, ?)"
PUT_MEDIA = "INSERT INTO media (key, seq, hash) VALUES (?, ?, ?)"
DROP_BLOBS = "DELETE FROM blob WHERE key = ? AND hash NOT IN (SELECT hash FROM media WHERE key = ?)"
DROP_FACT = "DELETE FROM fact WHERE key = ? AND id = ?"
ORPHANS = (  # one statement: of one state
    "SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM log WHERE key = ?) AND"
    " (EXISTS (SELECT 1 FROM entry WHERE key = ?) OR EXISTS (SELECT 1 FROM fact WHERE key = ?))"
)
NEWEST_CHANGE = "SELECT n FROM changed WHERE key = ? ORDER BY n DESC LIMIT 1"
PUT_SEEN = "INSERT INTO seen (key, topic, n, data) VALUES (?, ?, ?, ?) ON CONFLICT (key, topic, n) DO NOTHING"
INSERT_ENTRY = f"INSERT INTO entry ({ENTRY_COLUMNS}, key) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
INSERT_TURN = f"INSERT INTO turn ({TURN_COLUMNS}, key) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
UPSERT_VIEW = (
    f"INSERT INTO view ({VIEW_COLUMNS}, key) VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (key, name) DO UPDATE SET"
    " cut = excluded.cut, summary = excluded.summary, upto = excluded.upto, folded = excluded.folded,"
    " folded_at = excluded.folded_at"
)
DROP_TURN = "DELETE FROM turn WHERE key = ? AND n = ? AND NOT EXISTS (SELECT 1 FROM entry WHERE key = ? AND turn = ?)"
TAKE_LEASE = (
    "INSERT INTO lease (key, owner, until) VALUES (?, ?, ?) ON CONFLICT (key) DO UPDATE SET owner = excluded.owner,"
    " until = excluded.until WHERE lease.owner = excluded.owner OR lease.until < ? OR lease.until > ?"
)


class SqlStore:
    """A store in SQL tables, all but the database itself. Blocking; used from one thread at a time. Methods are those of
    `protocol.Store`, `FactStore`, `Swaps`, `Indexed` and `Leases`. They raise MemoryFailure: "Store" when the database
    fails, "Corrupt" for damaged rows, "Version" for media of a later version, "Conflict" for another version, or for a number, a
    name or the place of an observation that is taken, and then nothing is stored. `name` is what failures call the store;
    `deflates`: parts are compressed where that helps.

    In short: `head`, `entries`, `turns` and `views` return what is stored of a log, `facts`, `seen` and `index` what is beside
    it; `commit` applies changes, each at the version that it expects, and is False for a run that is stored already; `keep`,
    `swap` and `touch` change facts alone; `remove`, which scrubs, and `expire` take whole keys away, and `keys` names those that
    are there; `acquire`, `release` and `holder` are about leases. None of them decides what is stored: that comes as a `Batch`.
    """

    name: str
    blocking = True
    deflates: bool
    _indexes: Indexes

    # What a kind of database completes.

    def _rows(self, statement: str, values: Sequence[Any] = ()) -> list[Any]:
        raise NotImplementedError

    def _change(self, statement: str, values: Sequence[Any]) -> int:
        """Execute a statement and return the number of changed rows."""
        raise NotImplementedError

    def _change_all(self, statement: str, rows: Sequence[Sequence[Any]]) -> None:
        raise NotImplementedError

    def _transaction(self) -> AbstractContextManager[None]:
        """Return a context that commits at its end and rolls back when its body raises; errors of the driver become
        MemoryFailures."""
        raise NotImplementedError

    def _guard(self) -> AbstractContextManager[None]:
        """Return a context for readers with the same translation of errors."""
        raise NotImplementedError

    def _prepare_scrub(self) -> None:
        """Called before a commit that `_scrub` follows. A store whose `_scrub` may have to wait raises MustWait here, while
        nothing was changed yet."""

    def _scrub(self) -> None:
        """Remove deleted data from the files too. Called after a commit."""

    def _entries_by(self, index: str) -> str:
        """Return the table expression that selects entries, where an index fits better than the key of the table."""
        return "entry"

    def _place(self) -> str:
        """Return what a message calls the store: its file, or its kind and name."""
        return f"store {self.name}"

    def _decoding(self, table: str, key: Key) -> AbstractContextManager[None]:
        """Return a context in which a row that does not decode is Corrupt, with its place."""
        return damage_at(lambda: f"{self._place()}, table {table}, key {shown(key)}")

    def _time(self) -> int:
        """Return real milliseconds for leases, whatever the clock of the memory says (M-8.13)."""
        raise NotImplementedError

    def head(self, key: Key) -> Head:
        """Return the row of a key, `Head()` for one that was never written. Raise MemoryFailure("Corrupt") where the row is gone
        and entries or facts are not."""
        with self._guard():
            rows = self._rows(f"SELECT {HEAD_COLUMNS} FROM log WHERE key = ?", (encode(key),))
            orphans = [] if rows else self._rows(ORPHANS, (encode(key),) * 3)
        with self._decoding("log", key):
            if orphans:
                raise corrupt("the row of the log is gone, its entries are not")
            return head_of(rows[0]) if rows else Head()

    def entries(
        self,
        key: Key,
        *,
        after: int = -1,
        before: int | None = None,
        limit: int | None = None,
        newest: bool = False,
        pinned: bool | None = None,
        run: str | None = None,
    ) -> list[Entry]:
        """Return entries with after < seq < before in log order, at most `limit` of them: the oldest, or with `newest` the
        newest. `pinned`: only those that are pinned, or only those that are not; `run`: only those of this run."""
        where, values, table = "key = ? AND seq > ?", [encode(key), after], "entry"
        if before is not None:
            where += " AND seq < ?"
            values.append(before)
        if pinned is not None:
            where += f" AND pinned = {int(pinned)}"  # a literal, so that the partial index serves it
            table = self._entries_by("entry_pinned") if pinned else table
        if run is not None:
            where += " AND turn = (SELECT n FROM turn WHERE key = ? AND run = ?)"
            values += [encode(key), run]
            table = self._entries_by("entry_turn")
        order = " ORDER BY seq DESC" if newest else " ORDER BY seq"
        if limit is not None:
            order += " LIMIT ?"
            values.append(limit)
        with self._guard():
            rows = self._rows(f"SELECT {ENTRY_COLUMNS} FROM {table} WHERE {where}{order}", values)
        if newest:
            rows.reverse()
        with self._decoding("entry", key):
            entries = [entry_of_row(row) for row in paced(rows, FEW)]
            return filled(entries, lambda hashes: self._contents(key, hashes))

    def _contents(self, key: Key, hashes: Sequence[str]) -> dict[str, bytes]:
        """Return the contents of media with these hashes, as many of them as there are."""
        contents: dict[str, bytes] = {}
        with self._guard():
            for content_hash in hashes:
                rows = self._rows("SELECT data FROM blob WHERE key = ? AND hash = ?", (encode(key), content_hash))
                contents.update((content_hash, row[0]) for row in rows)
        return contents

    def turns(self, key: Key, since: int = 0) -> list[Turn]:
        """Return the turn records numbered `since` and up, in order."""
        statement = f"SELECT {TURN_COLUMNS} FROM turn WHERE key = ? AND n >= ? ORDER BY n"
        with self._guard():
            rows = self._rows(statement, (encode(key), since))
        with self._decoding("turn", key):
            return [turn_of_row(row) for row in rows]

    def views(self, key: Key) -> dict[str, ViewState]:
        """Return the stored states of views by the names of the views."""
        with self._guard():
            rows = self._rows(f"SELECT {VIEW_COLUMNS} FROM view WHERE key = ?", (encode(key),))
        with self._decoding("view", key):
            return {row[0]: view_of_row(row) for row in rows}

    def facts(self, key: Key) -> list[Fact]:
        """Return the facts of a key by their numbers."""
        return self._facts(key, None)

    def _facts(self, key: Key, numbers: Sequence[int] | None) -> list[Fact]:
        """Return all facts of a key, or those with some numbers."""
        statement, rows = f"{SELECT_FACT} WHERE key = ?", []
        with self._guard():
            if numbers is None:
                rows = self._rows(f"{statement} ORDER BY id", (encode(key),))
            for at in range(0, len(numbers or ()), AT_ONCE):
                some = (numbers or ())[at : at + AT_ONCE]
                places = ", ".join("?" * len(some))
                rows += self._rows(f"{statement} AND id IN ({places}) ORDER BY id", (encode(key), *some))
        with self._decoding("fact", key):
            return [fact_of_row(*row) for row in rows]

    def _notes(self, key: Key, since: int) -> list[Note]:
        with self._guard():
            rows = self._rows("SELECT n, facts FROM changed WHERE key = ? AND n >= ? ORDER BY n", (encode(key), since))
        with self._decoding("changed", key):
            return [note_of(number, facts) for number, facts in rows]

    def index(self, key: Key) -> FactIndex:
        """Return the index that recall searches (M-14.4)."""
        return self._indexes.of(key)

    def seen(self, key: Key) -> list[Observation]:
        """Return the observations of a key by topic and number."""
        with self._guard():
            rows = self._rows("SELECT data, topic, n FROM seen WHERE key = ? ORDER BY topic, n", (encode(key),))
        with self._decoding("seen", key):
            return [seen_of_row(*row) for row in rows]

    def keys(self, prefix: Key) -> Iterator[Key]:
        """Return the written keys that begin with these parts, ordered by their bytes."""
        with self._guard():
            rows = self._rows("SELECT key FROM log WHERE key >= ? AND key < ? ORDER BY key", _range_of(prefix))
        with self._decoding("log", prefix):
            return iter([decode(row[0]) for row in rows])

    def commit(self, writes: Sequence[Write], *, scrub: bool = False) -> bool:
        """Apply all writes (key, expected version, change) or none, and return True; False where a turn's run is stored already.
        With `scrub` what is removed leaves the files too; a failure to do so comes when all is stored."""
        if scrub:
            self._prepare_scrub()
        try:
            with self._transaction():
                changes = [self._write(encode(key), expect, batch) for key, expect, batch in writes]
        except _AlreadyStored:
            return False
        for (key, _, batch), change in zip(writes, changes, strict=True):
            self._indexes.follow_commit(key, change, batch)
        if scrub:
            self._scrub()
        return True

    def _write(self, key: bytes, expect: int, batch: Batch) -> int | None:
        """Write one change and return the number of the change of its facts, None without one. The row of the key is changed
        first: other writers wait for it. Raises `_AlreadyStored` and MemoryFailure("Conflict")."""
        self._refuse_stored_runs(key, batch)
        values = (*batch.head.values(), key)
        done = self._change(INSERT_HEAD, values) if expect == 0 else self._change(UPDATE_HEAD, (*values, expect))
        if not done:
            rows = self._rows("SELECT version FROM log WHERE key = ?", (key,))
            raise conflict(expect, rows[0][0] if rows else 0)
        if batch.everything:
            for table in ("entry", "turn", "view", "media", "blob"):
                self._change(f"DELETE FROM {table} WHERE key = ?", (key,))
        if batch.evict:
            self._evict(key, batch.evict)
        for seq, on in batch.pins.items():
            self._change("UPDATE entry SET pinned = ? WHERE key = ? AND seq = ?", (int(on), key, seq))
        self._change_all(INSERT_ENTRY, [(*entry_row(entry, self.deflates), key) for entry in batch.entries])
        self._keep_media(key, batch.entries)
        self._change_all(INSERT_TURN, [(*turn_row(turn), key) for turn in batch.turns])
        self._change_all(UPSERT_VIEW, [(*view_row(state), key) for state in batch.views])
        if batch.facts_anew:
            for table in ("fact", "seen"):
                self._change(f"DELETE FROM {table} WHERE key = ?", (key,))
        if not batch.has_facts:
            return None
        self._observe(key, batch.seen, batch.unseen)
        return self._keep(key, batch.facts, batch.gone, anew=batch.facts_anew)

    def _keep_media(self, key: bytes, entries: Sequence[Entry]) -> None:
        """Write the contents that these entries use, each once for the key (M-8.19)."""
        for content_hash, data in contents_of(entries).items():
            if not self._rows("SELECT 1 FROM blob WHERE key = ? AND hash = ?", (key, content_hash)):
                self._change(PUT_BLOB, (key, content_hash, data))
        used = [(key, entry.seq, one) for entry in entries if entry.message.media for one in hashes_of(entry)]
        self._change_all(PUT_MEDIA, used)

    def keep(
        self,
        key: Key,
        at: int,
        facts: Sequence[Fact],
        gone: Sequence[int],
        seen: Sequence[Observation] = (),
        unseen: Sequence[tuple[str, int]] = (),
    ) -> None:
        """Remove the facts with the numbers `gone` and the observations `unseen` (topic and number), then add `facts` and `seen`,
        all or nothing; the key counts as written at `at`, in Unix ms."""
        at_key = encode(key)
        with self._transaction():
            self._change(TOUCH, (at, at_key))
            change = self._keep(at_key, facts, gone)
            self._observe(at_key, seen, unseen)
        self._indexes.follow(key, change, facts, gone)

    def swap(self, key: Key, at: int, fact: Fact, said: str, gone: Sequence[int], name: str) -> bool:
        """Put `fact` in place of the one named `name`, if that still has the content `said` (`facts.said_by`), and remove the
        facts `gone`; return whether it was done. The key counts as written at `at`, in Unix ms."""
        at_key = encode(key)
        try:
            with self._transaction():
                self._change(TOUCH, (at, at_key))  # others wait for this row
                stored = self._stored(key, name)
                expired = stored is not None and name == fact.name and stored.id in gone
                if said_by(None if expired else stored) != said:
                    raise _Another
                change = self._keep(at_key, [fact], gone)
        except _Another:
            return False
        self._indexes.follow(key, change, [fact], gone)
        return True

    def _stored(self, key: Key, name: str) -> Fact | None:
        """Return the fact of a name within a transaction; one that is known to be unchanged is not read again."""
        newest = self._rows(NEWEST_CHANGE, (encode(key),))
        index = self._indexes.known(key)
        known = None if index is None else index.named(PERSISTENT, name)
        if index is not None and known is not None and [(index.stamp,)] == [tuple(row) for row in newest]:
            return known
        looked_at = encode(key), name.encode("utf-8", "surrogatepass")
        rows = self._rows(f"{SELECT_FACT} WHERE key = ? AND name = ?", looked_at)
        with self._decoding("fact", key):
            return fact_of_row(*rows[0]) if rows else None

    def touch(self, key: Key, at: int, facts: Sequence[Fact]) -> None:
        """Store times and vector of each fact that is stored the same but for these, as `Swaps.touch`; the key counts as written
        at `at`, in Unix ms."""
        at_key, changed = encode(key), []
        with self._transaction():
            self._change(TOUCH, (at, at_key))
            for fact in facts:
                rows = self._rows(f"{SELECT_FACT} WHERE key = ? AND id = ?", (at_key, fact.id))
                with self._decoding("fact", key):
                    updated = touched(fact_of_row(*rows[0]) if rows else None, fact)
                changed += [] if updated is None else [updated]
            change = self._keep(at_key, changed, ())
        self._indexes.follow(key, change, changed, ())

    def _observe(self, key: bytes, seen: Sequence[Observation], unseen: Sequence[tuple[str, int]]) -> None:
        places = [(key, topic.encode("utf-8", "surrogatepass"), n) for topic, n in unseen]
        self._change_all("DELETE FROM seen WHERE key = ? AND topic = ? AND n = ?", places)
        for one in seen:
            if not self._change(PUT_SEEN, (key, *seen_row(one))):
                raise conflict(one.n, one.n + 1)

    def _keep(self, key: bytes, facts: Sequence[Fact], gone: Sequence[int], anew: bool = False) -> int | None:
        self._change_all(DROP_FACT, [(key, number) for number in gone])
        for fact in facts:
            name, data = fact_row(fact)
            taken = self._rows("SELECT id FROM fact WHERE key = ? AND name = ?", (key, name))
            if (taken and taken[0][0] != fact.id) or not self._change(PUT_FACT, (key, fact.id, name, data)):
                raise conflict(fact.id, taken[0][0] if taken else fact.id)
        if not (facts or gone or anew):
            return None
        changed = [*gone, *(fact.id for fact in facts)]
        return self._note(key, None if anew or len(changed) > NAMED else " ".join(map(str, changed)))

    def _note(self, key: bytes, facts: str | None) -> int:
        """Note a change of facts and return its number. Numbers follow the order of the transactions, since each holds
        the row of the key."""
        rows = self._rows(NEWEST_CHANGE, (key,))
        number = note_of(rows[0][0], None)[0] + 1 if rows else first_change()
        self._change("INSERT INTO changed (key, n, facts) VALUES (?, ?, ?)", (key, number, facts))
        self._change("DELETE FROM changed WHERE key = ? AND n <= ?", (key, number - NOTES))
        return number

    def _refuse_stored_runs(self, key: bytes, batch: Batch) -> None:
        if batch.everything:
            return
        for turn in batch.turns:
            if turn.run is not None and self._rows("SELECT n FROM turn WHERE key = ? AND run = ?", (key, turn.run)):
                raise _AlreadyStored

    def _evict(self, key: bytes, gone: Sequence[Entry]) -> None:
        first, last = gone[0].seq, gone[-1].seq
        # The usual eviction is a run of numbers: one statement.
        if last - first + 1 == len(gone):
            self._change("DELETE FROM entry WHERE key = ? AND seq >= ? AND seq <= ?", (key, first, last))
        else:
            self._change_all("DELETE FROM entry WHERE key = ? AND seq = ?", [(key, entry.seq) for entry in gone])
        with_media = [(key, entry.seq) for entry in gone if entry.message.media]
        if with_media:
            self._change_all("DELETE FROM media WHERE key = ? AND seq = ?", with_media)
            self._change(DROP_BLOBS, (key, key))
        numbers = {entry.turn for entry in gone if entry.run is not None}
        self._change_all(DROP_TURN, [(key, number, key, number) for number in sorted(numbers)])

    def remove(self, keys: Sequence[Key]) -> None:
        """Remove everything of these keys in one transaction, then from the files too."""
        self._prepare_scrub()
        with self._transaction():
            for key in keys:
                self._remove(encode(key))
        for key in keys:
            self._indexes.drop(key)
        self._scrub()

    def _remove(self, key: bytes) -> None:
        for table in OF_A_KEY:
            self._change(f"DELETE FROM {table} WHERE key = ?", (key,))

    def expire(self, prefix: Key, before: int, limit: int) -> None:
        """Remove up to `limit` keys under the prefix that were last written before that time, in Unix ms."""
        statement = "SELECT key FROM log WHERE key >= ? AND key < ? AND touched < ? ORDER BY key LIMIT ?"
        with self._guard():
            rows = self._rows(statement, (*_range_of(prefix), before, limit))
        with self._decoding("log", prefix):
            old = [(bytes(row[0]), decode(row[0])) for row in rows]
        if not old:
            return
        with self._transaction():
            for at_key, key in old:
                if self._change("DELETE FROM log WHERE key = ? AND touched < ?", (at_key, before)):
                    self._remove(at_key)
                    self._indexes.drop(key)

    def acquire(self, key: Key, owner: str, seconds: float) -> bool:
        """Take or renew the lease of a key for so many seconds, less than a day (LONGEST_LEASE), and return True; False while
        another owner holds it."""
        now = self._time()
        with self._transaction():
            # Taken when free, one's own, past its end, or damaged (it ends later than any lease).
            values = (encode(key), owner, now + int(seconds * 1000), now, now + LONGEST_LEASE)
            return bool(self._change(TAKE_LEASE, values))

    def release(self, key: Key, owner: str) -> None:
        """Give the lease back; do nothing when `owner` does not hold it."""
        with self._transaction():
            self._change("DELETE FROM lease WHERE key = ? AND owner = ?", (encode(key), owner))

    def holder(self, key: Key) -> str | None:
        """Return who holds the lease, or held it last without giving it back; None for nobody."""
        with self._guard():
            rows = self._rows("SELECT owner FROM lease WHERE key = ?", (encode(key),))
        return rows[0][0] if rows and type(rows[0][0]) is str else None

    def _check_format(self, is_new: bool = False) -> None:
        """Write this FORMAT into a new store and into one of an earlier format; called within the transaction that has created
        the missing tables. `is_new`: there was no table before. Raises MemoryFailure("Version") for a newer format, "Corrupt"
        when a store that holds a log does not say its format."""
        rows = self._rows("SELECT format FROM meta")
        if not rows and (is_new or not self._rows("SELECT 1 FROM log LIMIT 1")):
            self._change("INSERT INTO meta (format) VALUES (?) ON CONFLICT (format) DO NOTHING", (FORMAT,))
        elif self._format(rows) < FORMAT:
            self._change("UPDATE meta SET format = ?", (FORMAT,))

    def _check_tables(self, names: set[str]) -> None:
        """Raise Corrupt when a table of an existing store is missing, but for those that earlier formats had not."""
        missing = sorted(NAMES - names - LATER)
        if missing:
            raise corrupt(f"{self._place()}: the table {missing[0]} is gone; restore the store from a copy")

    def _format(self, rows: Sequence[Any]) -> int:
        """Return the format of a store. Raises MemoryFailure("Version") for a newer one, "Corrupt" for none."""
        number = rows[0][0] if len(rows) == 1 else None
        if type(number) is not int or number < 1:
            raise corrupt(f"{self._place()}, table meta: it does not say its format")
        if number > FORMAT:
            raise newer_version(number, FORMAT)
        return number


def _range_of(prefix: Key) -> tuple[bytes, bytes]:
    """Return two bounds, the lower one included, of the stored keys that begin with a key. Each further part of a key begins with
    a type byte, which is no 0xff, so that one more byte 0xff is above them all."""
    low = encode(prefix)
    return low, low + b"\xff"


class _Another(MemoryFailure):
    """Raised to roll back a change of a slot that another writer has changed meanwhile."""

    def __init__(self) -> None:
        super().__init__("Conflict", "the fact was written meanwhile")


class _AlreadyStored(MemoryFailure):
    """Raised to roll back the commit of a run that is stored already (M-5.10)."""

    def __init__(self) -> None:
        super().__init__("Conflict", "this run is stored already")
