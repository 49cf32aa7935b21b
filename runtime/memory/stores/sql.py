"""Logs in SQL tables: the statements SQLite and PostgreSQL share (M-8, G-12.5).

One commit is one transaction whose first statement compares the version. Keys are bytes in parameters, never part of a statement.
A store of a kind says how to connect, begin and translate its driver's errors. Must not know: policies, which database.
"""

from __future__ import annotations

from ....vm.values.metering import FEW, paced
from ..errors import MemoryFailure, conflict, corrupt, newer_version
from ..facts import PERSISTENT, said_by, touched
from ..keys import decode, encode, shown
from .indexes import NAMED, NOTES, Indexes, first_change
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
)  # fmt: skip

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from contextlib import AbstractContextManager
    from typing import Any

    from ..entries import Entry, Turn, ViewState
    from ..fact_index import FactIndex
    from ..facts import Fact
    from ..keys import Key
    from ..observations import Observation
    from .indexes import Note
    from .protocol import Batch, Write

FORMAT = 4
"""1 had no notes of changed facts, 2 no state of providers in entries."""

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
    "CREATE TABLE IF NOT EXISTS lease (key {bytes} NOT NULL PRIMARY KEY, owner TEXT NOT NULL, until {number} NOT NULL)",
)
OF_A_KEY = ("log", "entry", "turn", "view", "fact", "seen", "changed")
NAMES = frozenset(("meta", "lease", *OF_A_KEY))

LONGEST_LEASE = 86_400_000
"""Milliseconds: one that ends later was never given."""
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
PUT_FACT = (
    "INSERT INTO fact (key, id, name, data) VALUES (?, ?, ?, ?) ON CONFLICT (key, id) DO UPDATE SET data = excluded.data"
    " WHERE fact.name = excluded.name"
)
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
    """Blocking; used from one thread at a time."""

    name: str
    blocking = True
    deflates: bool
    _indexes: Indexes

    # ------------------------------------------------------------ what a kind of database says

    def _rows(self, statement: str, values: Sequence[Any] = ()) -> list[Any]:
        raise NotImplementedError

    def _change(self, statement: str, values: Sequence[Any]) -> int:
        """The number of changed rows."""
        raise NotImplementedError

    def _change_all(self, statement: str, rows: Sequence[Sequence[Any]]) -> None:
        raise NotImplementedError

    def _transaction(self) -> AbstractContextManager[None]:
        """Commits at the end, rolls back when its body raises; turns errors of the driver into MemoryFailures."""
        raise NotImplementedError

    def _guard(self) -> AbstractContextManager[None]:
        """The same translation of errors for readers."""
        raise NotImplementedError

    def _scrub(self) -> None:
        """After a commit: removed data leaves the files too."""

    def _scrubs(self) -> None:
        """Before a commit that is followed by `_scrub`, which may have to wait."""

    def _entries_by(self, index: str) -> str:
        """The entries to select from, where an index of theirs fits better than the key of the table."""
        return "entry"

    def _place(self) -> str:
        """What a message calls the store: its file, or its kind."""
        return f"store {self.name}"

    def _decoding(self, table: str, key: Key) -> AbstractContextManager[None]:
        """While rows become records: what does not decode is damage, and the message says where it is."""
        return damage_at(lambda: f"{self._place()}, table {table}, key {shown(key)}")

    def _time(self) -> int:
        """Real milliseconds for leases, whatever the clock of the memory says (M-8.13)."""
        raise NotImplementedError

    # ------------------------------------------------------------ reading

    def head(self, key: Key) -> Head:
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
            return [entry_of_row(row) for row in paced(rows, FEW)]

    def turns(self, key: Key, since: int = 0) -> list[Turn]:
        statement = f"SELECT {TURN_COLUMNS} FROM turn WHERE key = ? AND n >= ? ORDER BY n"
        with self._guard():
            rows = self._rows(statement, (encode(key), since))
        with self._decoding("turn", key):
            return [turn_of_row(row) for row in rows]

    def views(self, key: Key) -> dict[str, ViewState]:
        with self._guard():
            rows = self._rows(f"SELECT {VIEW_COLUMNS} FROM view WHERE key = ?", (encode(key),))
        with self._decoding("view", key):
            return {row[0]: view_of_row(row) for row in rows}

    def facts(self, key: Key) -> list[Fact]:
        return self._facts(key, None)

    def _facts(self, key: Key, numbers: Sequence[int] | None) -> list[Fact]:
        """All, or those of some numbers."""
        statement, rows = "SELECT data FROM fact WHERE key = ?", []
        with self._guard():
            if numbers is None:
                rows = self._rows(f"{statement} ORDER BY id", (encode(key),))
            for at in range(0, len(numbers or ()), AT_ONCE):
                some = (numbers or ())[at : at + AT_ONCE]
                places = ", ".join("?" * len(some))
                rows += self._rows(f"{statement} AND id IN ({places}) ORDER BY id", (encode(key), *some))
        with self._decoding("fact", key):
            return [fact_of_row(row[0]) for row in rows]

    def _notes(self, key: Key, since: int) -> list[Note]:
        with self._guard():
            rows = self._rows("SELECT n, facts FROM changed WHERE key = ? AND n >= ? ORDER BY n", (encode(key), since))
        with self._decoding("changed", key):
            return [note_of(number, facts) for number, facts in rows]

    def index(self, key: Key) -> FactIndex:
        """What recall looks through (M-14.4)."""
        return self._indexes.of(key)

    def seen(self, key: Key) -> list[Observation]:
        with self._guard():
            rows = self._rows("SELECT data FROM seen WHERE key = ? ORDER BY topic, n", (encode(key),))
        with self._decoding("seen", key):
            return [seen_of_row(row[0]) for row in rows]

    def keys(self, prefix: Key) -> Iterator[Key]:
        low = encode(prefix)
        with self._guard():
            rows = self._rows("SELECT key FROM log WHERE key >= ? AND key < ? ORDER BY key", (low, low + b"\xff"))
        with self._decoding("log", prefix):
            return iter([decode(row[0]) for row in rows])

    # ------------------------------------------------------------ changing

    def commit(self, writes: Sequence[Write], *, scrub: bool = False) -> bool:
        if scrub:
            self._scrubs()
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
        """The change of its facts. The first thing is the row of the key, which others wait for."""
        self._refuse_stored_runs(key, batch)
        values = (*batch.head.values(), key)
        done = self._change(INSERT_HEAD, values) if expect == 0 else self._change(UPDATE_HEAD, (*values, expect))
        if not done:
            rows = self._rows("SELECT version FROM log WHERE key = ?", (key,))
            raise conflict(expect, rows[0][0] if rows else 0)
        if batch.everything:
            for table in ("entry", "turn", "view"):
                self._change(f"DELETE FROM {table} WHERE key = ?", (key,))
        if batch.evict:
            self._evict(key, batch.evict)
        for seq, on in batch.pins.items():
            self._change("UPDATE entry SET pinned = ? WHERE key = ? AND seq = ?", (int(on), key, seq))
        self._change_all(INSERT_ENTRY, [(*entry_row(entry, self.deflates), key) for entry in batch.entries])
        self._change_all(INSERT_TURN, [(*turn_row(turn), key) for turn in batch.turns])
        self._change_all(UPSERT_VIEW, [(*view_row(state), key) for state in batch.views])
        if batch.facts_anew:
            for table in ("fact", "seen"):
                self._change(f"DELETE FROM {table} WHERE key = ?", (key,))
        if not batch.has_facts:
            return None
        self._observe(key, batch.seen, batch.unseen)
        return self._keep(key, batch.facts, batch.gone, anew=batch.facts_anew)

    def keep(
        self,
        key: Key,
        at: int,
        facts: Sequence[Fact],
        gone: Sequence[int],
        seen: Sequence[Observation] = (),
        unseen: Sequence[tuple[str, int]] = (),
    ) -> None:
        at_key = encode(key)
        with self._transaction():
            self._change(TOUCH, (at, at_key))
            change = self._keep(at_key, facts, gone)
            self._observe(at_key, seen, unseen)
        self._indexes.follow(key, change, facts, gone)

    def swap(self, key: Key, at: int, fact: Fact, said: str, gone: Sequence[int], name: str) -> bool:
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
        """Within a transaction; one that is known to be unchanged since it was read is not read again."""
        newest = self._rows(NEWEST_CHANGE, (encode(key),))
        index = self._indexes.known(key)
        known = None if index is None else index.named(PERSISTENT, name)
        if index is not None and known is not None and [(index.stamp,)] == [tuple(row) for row in newest]:
            return known
        looked_at = encode(key), name.encode("utf-8", "surrogatepass")
        rows = self._rows("SELECT data FROM fact WHERE key = ? AND name = ?", looked_at)
        with self._decoding("fact", key):
            return fact_of_row(rows[0][0]) if rows else None

    def touch(self, key: Key, at: int, facts: Sequence[Fact]) -> None:
        at_key, changed = encode(key), []
        with self._transaction():
            self._change(TOUCH, (at, at_key))
            for fact in facts:
                rows = self._rows("SELECT data FROM fact WHERE key = ? AND id = ?", (at_key, fact.id))
                with self._decoding("fact", key):
                    made = touched(fact_of_row(rows[0][0]) if rows else None, fact)
                changed += [] if made is None else [made]
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
        """The number of the change, in the order of the transactions: each holds the row of the key."""
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
        if last - first + 1 == len(gone):
            self._change("DELETE FROM entry WHERE key = ? AND seq >= ? AND seq <= ?", (key, first, last))
        else:
            self._change_all("DELETE FROM entry WHERE key = ? AND seq = ?", [(key, entry.seq) for entry in gone])
        numbers = {entry.turn for entry in gone if entry.run is not None}
        self._change_all(DROP_TURN, [(key, number, key, number) for number in sorted(numbers)])

    def remove(self, keys: Sequence[Key]) -> None:
        self._scrubs()
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
        low = encode(prefix)
        statement = "SELECT key FROM log WHERE key >= ? AND key < ? AND touched < ? ORDER BY key LIMIT ?"
        with self._guard():
            old = self._rows(statement, (low, low + b"\xff", before, limit))
        if not old:
            return
        with self._transaction():
            for row in old:
                key = bytes(row[0])
                if self._change("DELETE FROM log WHERE key = ? AND touched < ?", (key, before)):
                    self._remove(key)
                    self._indexes.drop(decode(key))

    # ------------------------------------------------------------ leases

    def acquire(self, key: Key, owner: str, seconds: float) -> bool:
        now = self._time()
        with self._transaction():
            values = (encode(key), owner, now + int(seconds * 1000), now, now + LONGEST_LEASE)
            return bool(self._change(TAKE_LEASE, values))

    def release(self, key: Key, owner: str) -> None:
        with self._transaction():
            self._change("DELETE FROM lease WHERE key = ? AND owner = ?", (encode(key), owner))

    def holder(self, key: Key) -> str | None:
        with self._guard():
            rows = self._rows("SELECT owner FROM lease WHERE key = ?", (encode(key),))
        return rows[0][0] if rows and type(rows[0][0]) is str else None

    def _check_format(self, is_new: bool = False) -> None:
        """Inside the transaction that creates missing tables; `is_new`: there were none."""
        rows = self._rows("SELECT format FROM meta")
        if not rows and (is_new or not self._rows("SELECT 1 FROM log LIMIT 1")):
            self._change("INSERT INTO meta (format) VALUES (?) ON CONFLICT (format) DO NOTHING", (FORMAT,))
        elif self._format(rows) < FORMAT:
            self._change("UPDATE meta SET format = ?", (FORMAT,))

    def _check_tables(self, names: set[str]) -> None:
        """Of a store that is there; the first format had no notes."""
        missing = sorted(NAMES - names - {"changed"})
        if missing:
            raise corrupt(f"{self._place()}: the table {missing[0]} is gone; restore the store from a copy")

    def _format(self, rows: Sequence[Any]) -> int:
        """Err Version for a newer one, Corrupt for none."""
        found = rows[0][0] if len(rows) == 1 else None
        if type(found) is not int or found < 1:
            raise corrupt(f"{self._place()}, table meta: it does not say its format")
        if found > FORMAT:
            raise newer_version(found, FORMAT)
        return found


class _Another(MemoryFailure):
    """Ends the transaction of a change whose fact another has written."""

    def __init__(self) -> None:
        super().__init__("Conflict", "the fact was written meanwhile")


class _AlreadyStored(MemoryFailure):
    """Ends the transaction of a run that is committed already (M-5.10)."""

    def __init__(self) -> None:
        super().__init__("Conflict", "this run is stored already")
