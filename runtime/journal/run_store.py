"""Run stores: runs that survive the death of their process, in a SQLite file or a PostgreSQL database (G-13.1, G-13.5, G-13.6).

A run is its header, the image it runs, and the rows of its journal. Whoever runs it holds a lease and an epoch: every commit is
one transaction that is bound to both, so that of several processes that go on with a run one does, and the others are fenced.
These laws and all statements are here, once; what a SQLite file and a PostgreSQL database have of their own is in
`run_databases.py`. Hands on `RunStore`, `RunRow` and `Claim` to the command line, the Python API, `recording.py` and
`rehearsal.py`, to the first also `shown`, to the second also `Held` and the names of states; `Claim` is the sink of the run's
journal. Nothing here knows a session.

What is read is checked, whoever wrote it. Each row of a journal has a seal, the beginning of a SHA-256 over the seal before and
the row, so that a row that was changed, doubled or left out is refused by its number, and never taken for what happened.
"""

from __future__ import annotations

import hashlib
import json
import os
import socket
from contextlib import suppress

from ..memory.stores.sqlite import has_died, owner_name
from .journal import Fenced
from .rows import LATEST, MOST, EffectRow, EmitRow, EndRow, JournalRefused, header_of, plain_of, row_of
from .run_databases import database_of, is_url, shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    from .rows import Header, Row

__all__ = ["Claim", "Held", "RunRow", "RunStore", "is_url", "owner", "shown"]

FORMAT = "concerto-runs/1"
LEASE = 60.0  # seconds that a run is held without a commit or a renewal
SEAL = 16  # hexadecimal digits
PART = 500  # runs that one statement names

RUNNING, WAITING, DONE, FAILED, CANCELLED = "running", "waiting", "done", "failed", "cancelled"
OVER = (DONE, FAILED, CANCELLED)
STATES = (RUNNING, WAITING, *OVER)

TABLES = {
    "meta": "name {text} PRIMARY KEY, value TEXT NOT NULL",
    "images": "hash {text} PRIMARY KEY, content {bytes} NOT NULL",
    "runs": "id {text} PRIMARY KEY, header TEXT NOT NULL, options TEXT NOT NULL, image TEXT NOT NULL, state TEXT NOT NULL, "
    "epoch {number} NOT NULL, owner TEXT NOT NULL, lease {seconds} NOT NULL, created {seconds} NOT NULL, "
    "changed {seconds} NOT NULL, rows {number} NOT NULL, emits {number} NOT NULL, told {number} NOT NULL, waits TEXT NOT NULL, "
    "outcome TEXT",
    "rows": "run {text} NOT NULL, n {number} NOT NULL, body TEXT NOT NULL, seal TEXT NOT NULL, PRIMARY KEY (run, n)",
    "answers": "run {text} NOT NULL, key {text} NOT NULL, form TEXT NOT NULL, given {seconds} NOT NULL, PRIMARY KEY (run, key)",
}
_COLUMNS = "id, header, options, image, state, epoch, owner, lease, created, changed, rows, emits, told, waits, outcome"
_TEXTS = ("id", "header", "options", "image", "state", "owner", "waits")
_COUNTS = ("epoch", "rows", "emits", "told")
_TIMES = ("lease", "created", "changed")


class RunRow:
    """What a store says of a run: its `header`, `state` (one of STATES), `created` and `changed` in seconds since 1970, how many
    `rows` its journal has and how many `emits`, of which listeners have heard `told` for certain, its `id`, the hash of its
    `image`, the `epoch` that commits are bound to, the `options` of its host, what it `waits` for (plain rows with `key`, `kind`
    and what was asked), the end row of its `outcome`, None before, who is its `owner`, and until when (`lease`, in seconds since
    1970). `redact` are paths that are left out of rows. `begins` is the seal in front of its first row. `call` says of a served
    call its `function`, `arguments` (JSON data by name) and `caller`; None for a run of main. Raises JournalRefused, which says
    what is wrong but not where, for a row that is none."""

    __slots__ = (
        "id", "header", "options", "image", "state", "epoch", "owner", "lease", "created", "changed", "rows", "emits", "told",
        "waits", "outcome", "begins", "redact", "call",
    )  # fmt: skip
    id: str
    header: Header
    options: dict[str, Any]
    image: str
    state: str
    epoch: int
    owner: str
    lease: float
    created: float
    changed: float
    rows: int
    emits: int
    told: int
    waits: list[dict[str, Any]]
    outcome: EndRow | None

    def __init__(self, row: Sequence[Any]) -> None:
        columns = dict(zip(self.__slots__, row, strict=False))
        _check_columns(columns)
        for name, value in columns.items():
            setattr(self, name, value)
        self.begins = _begins(columns["header"], columns["options"])
        self.header = header_of(_plain(columns["header"], "header"))
        self.options = _plain(columns["options"], "options")
        self.waits = _plain(columns["waits"], "waits")
        if self.header.run != self.id or self.header.image != self.image:
            raise JournalRefused("has a header of another run")
        self.redact = self.options.get("redact", []) if isinstance(self.options, dict) else None
        if not isinstance(self.redact, list) or not all(isinstance(path, str) for path in self.redact):
            raise JournalRefused("has options that are none")
        self.call: dict[str, Any] | None = self.options.get("call")
        if self.call is not None and not _is_call(self.call):
            raise JournalRefused("has a call that is none")
        if not isinstance(self.waits, list) or not all(map(_is_wait, self.waits)):
            raise JournalRefused("waits for something that nobody can wait for")
        end = None if columns["outcome"] is None else row_of(_plain(columns["outcome"], "outcome"))
        if end is not None and not isinstance(end, EndRow) or (end is None) == (self.state in OVER):
            raise JournalRefused("has an outcome that is none of its state")
        self.outcome = end if isinstance(end, EndRow) else None


def _is_call(call: Any) -> bool:
    texts = isinstance(call, dict) and all(isinstance(call.get(name), str) for name in ("function", "caller"))
    return texts and isinstance(call.get("arguments"), dict)


def _check_columns(columns: dict[str, Any]) -> None:
    """Raise JournalRefused for a row of `runs` with a column of another type or out of its range."""
    texts = [*(columns[name] for name in _TEXTS), "" if columns["outcome"] is None else columns["outcome"]]
    if any(not isinstance(value, str) for value in texts):
        raise JournalRefused("has a text that is none")
    if any(not isinstance(columns[name], int) or not 0 <= columns[name] < MOST for name in _COUNTS):
        raise JournalRefused("has a count that is none")
    if any(not isinstance(columns[name], int | float) or not 0 <= columns[name] < LATEST for name in _TIMES):
        raise JournalRefused("has a time that is none")
    if columns["state"] not in STATES:
        raise JournalRefused("has a state that no run has")


def _is_wait(wait: Any) -> bool:
    texts = ("key", "kind", "channel")
    return isinstance(wait, dict) and "value" in wait and all(isinstance(wait.get(name), str) for name in texts)


def _plain(text: Any, what: str) -> Any:
    """Return JSON text as plain data. Raises JournalRefused."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise JournalRefused(f"has no readable {what}") from None


def _sealed(before: str, text: str) -> str:
    return hashlib.sha256(f"{before}{text}".encode("utf-8", "surrogatepass")).hexdigest()[:SEAL]


def _begins(header: str, options: str) -> str:
    """Return the seal in front of the first row of a run."""
    return _sealed(_sealed("", header), options)


class RunStore:
    """The runs at `place`, a path, or a URL of PostgreSQL (`postgres://…`), which is made unless `must_exist`. `wall` gives
    seconds since 1970; with `full` a commit survives the loss of power; `named` is what the store calls this process. Texts show
    `name`, which holds no password. Every method raises JournalRefused, with the way out, where the place is none of a run store,
    cannot be read or written, or is damaged, and where the disk is full. A method that takes the id of a run takes an unambiguous
    beginning of it too, and raises JournalRefused for a run that is not there; only `find`, `over`, `answers` and `forget_answer`
    take whole ids, and give or do nothing then."""

    def __init__(
        self, place: str, wall: Callable[[], float], *, full: bool = False, must_exist: bool = False, named: str | None = None
    ) -> None:
        self._database = database_of(place, wall, full)
        self._owner = owner() if named is None else named
        self.name = self._database.name
        try:
            self._open(must_exist)
        except BaseException:
            self._database.close()
            raise

    def _open(self, must_exist: bool) -> None:
        """Open the store. Nothing is written where it is there already, so that one on a full disk can be read."""
        database = self._database
        if not database.exists():
            if must_exist:
                raise JournalRefused(f"there is no run store {self.name}")
            table = f"CREATE TABLE {{}} ({{}}){database.types['end']}"
            made = [(table.format(name, columns.format(**database.types)), ()) for name, columns in TABLES.items()]
            database.make([*made, ("INSERT INTO meta VALUES ('format', ?)", (FORMAT,))])
        database.open()
        there = database.tables()
        known = database.rows("SELECT value FROM meta WHERE name = 'format'") if "meta" in there else []
        if not known or not isinstance(known[0][0], str) or not known[0][0].startswith("concerto-runs/"):
            raise JournalRefused(f"{self.name} is a database of something else; name another place")
        if known[0][0] != FORMAT:
            raise JournalRefused(f"{self.name} has the format {known[0][0][:40]}; this release reads {FORMAT}")
        gone = sorted(TABLES.keys() - there)
        if gone:
            raise JournalRefused(f"the run store {self.name} is damaged: the table {gone[0]} is gone; restore it from a copy")

    # ------------------------------------------------------------ runs

    def begin(self, header: Header, image: bytes, options: Any) -> Claim:
        """Add a new run, which this process holds, and return the claim to it. `options` is plain data of the host, which gets it
        back with the run."""
        database = self._database
        kept, said = json.dumps(header.as_json()), json.dumps(options)
        with database.transaction():
            now = database.now()
            database.change("INSERT INTO images VALUES (?, ?) ON CONFLICT DO NOTHING", (header.image, image))
            database.change(
                f"INSERT INTO runs ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, 1, ?, ?, ?, ?, 0, 0, 0, '[]', NULL)",
                (header.run, kept, said, header.image, RUNNING, self._owner, now + LEASE, now, now),
            )
        return Claim(self, header.run, 1, _begins(kept, said))

    def claim(self, run: str, *, take_over: bool = False) -> Claim:
        """Take a run that is not over, so that this process goes on with it. Raises JournalRefused for a run that is over or
        whose rows are not as many as it knows of, and Held for one that another process holds that may still live, unless
        `take_over`: then that one is fenced at its next commit."""
        database = self._database
        with database.transaction():
            row = self._changing(run)
            now = database.now()
            if row.lease > now and not take_over and not _is_dead(row.owner):
                raise Held(
                    f"the run {row.id} is held by {_told(row.owner)} for another {row.lease - now:.0f} s; "
                    "end that process, or take the run over"
                )
            claim = Claim(self, row.id, row.epoch + 1, self._seal_of(row), rows=row.rows, told=row.told)
            database.change(
                "UPDATE runs SET epoch = ?, owner = ?, lease = ?, state = ?, changed = ? WHERE id = ?",
                (claim.epoch, self._owner, now + LEASE, RUNNING, now, row.id),
            )
        return claim

    def _seal_of(self, row: RunRow) -> str:
        """Return the seal of the last row of a run. Raises JournalRefused where the run has more rows than it knows, or fewer."""
        if self._database.rows("SELECT n FROM rows WHERE run = ? AND n >= ? LIMIT 1", (row.id, row.rows)):
            raise self._damaged(row.id, f"has more rows than the {row.rows} that it knows of")
        if not row.rows:
            return row.begins
        last = self._database.rows("SELECT seal FROM rows WHERE run = ? AND n = ?", (row.id, row.rows - 1))
        if not last or not isinstance(last[0][0], str):
            raise self._damaged(row.id, f"lacks its row {row.rows - 1}")
        return str(last[0][0])

    def _damaged(self, run: str, how: str) -> JournalRefused:
        return JournalRefused(f"{self.name}: the run {run} {how}; restore the store from a copy")

    def run(self, run: str) -> RunRow:
        """Return a run by its id, or by an unambiguous beginning of it. Raises JournalRefused for an unknown one, and for a
        beginning of several."""
        rows = []
        if run and run.isascii() and run.isalnum():
            select = f"SELECT {_COLUMNS} FROM runs WHERE id >= ? AND id < ? ORDER BY id LIMIT 3"
            rows = self._database.rows(select, (run, f"{run}~"))
        exact = [row for row in rows if row[0] == run] or rows
        if not exact:
            named = run if run.isprintable() and run.isascii() else ascii(run)
            raise JournalRefused(f"the run store {self.name} has no run {named}; `concerto runs --store {self.name}` lists them")
        if len(exact) > 1:
            raise JournalRefused(f"several runs begin with {run}: {', '.join(str(row[0]) for row in exact)}")
        return self._row(exact[0])

    def find(self, run: str) -> RunRow | None:
        """Return a run by its whole id, None where it is not there."""
        rows = self._database.rows(f"SELECT {_COLUMNS} FROM runs WHERE id = ?", (run,))
        return self._row(rows[0]) if rows else None

    def _row(self, row: Sequence[Any]) -> RunRow:
        try:
            return RunRow(row)
        except JournalRefused as refused:
            raise self._damaged(ascii(row[0])[:40], str(refused)) from None

    def _changing(self, run: str) -> RunRow:
        """Return a run that is not over, which nobody else changes until the transaction ends. Raises JournalRefused for one that
        is over."""
        name = self.run(run).id
        found = self._database.rows(f"SELECT {_COLUMNS} FROM runs WHERE id = ?{self._database.locking}", (name,))
        if not found:
            raise JournalRefused(f"the run store {self.name} has no run {name} any more")
        row = self._row(found[0])
        if row.state in OVER:
            raise JournalRefused(f"the run {row.id} is over: {row.state}")
        return row

    def runs(self, damaged: list[JournalRefused] | None = None) -> list[RunRow]:
        """Return all runs, the newest first. Those that are damaged are left out, and why is added to `damaged`; without that
        list the first one is raised."""
        readable = []
        for row in self._database.rows(f"SELECT {_COLUMNS} FROM runs ORDER BY created DESC, id"):
            try:
                readable.append(self._row(row))
            except JournalRefused as refused:
                if damaged is None:
                    raise
                damaged.append(refused)
        return readable

    def waits(self, image: str) -> list[RunRow]:
        """Return the runs of an image that wait for an answer, the oldest first; those that are damaged are left out."""
        return self._selected("image = ? AND state = ?", (image, WAITING))

    def of_others(self, image: str) -> list[RunRow]:
        """Return the runs of other images that are not over, the oldest first; those that are damaged are left out."""
        return self._selected("image <> ? AND state IN (?, ?)", (image, RUNNING, WAITING))

    def over(self, runs: Sequence[str]) -> list[RunRow]:
        """Return those of some runs, by their whole ids, that are over."""
        found = []
        for first in range(0, len(runs), PART):
            part = runs[first : first + PART]
            marks = ", ".join("?" * len(part))
            found += self._selected(f"state IN (?, ?, ?) AND id IN ({marks})", (*OVER, *part))
        return found

    def to_go_on_with(self, image: str) -> list[RunRow]:
        """Return the runs of an image that can go on now: nobody holds them, they are not over, and what waited for an answer
        has one. The oldest are first; those that are damaged are left out."""
        now = self._database.now()
        free = "(lease <= ? OR owner <> ?)"  # what this process holds is not read at all
        answered = "EXISTS (SELECT 1 FROM answers WHERE run = id)"
        where = f"image = ? AND {free} AND (state = ? OR (state = ? AND {answered}))"
        rows = self._selected(where, (image, now, self._owner, RUNNING, WAITING))
        return [row for row in rows if row.lease <= now or _is_dead(row.owner)]

    def _selected(self, where: str, values: tuple[Any, ...]) -> list[RunRow]:
        found = []
        for row in self._database.rows(f"SELECT {_COLUMNS} FROM runs WHERE {where} ORDER BY created, id", values):
            with suppress(JournalRefused):
                found.append(self._row(row))
        return found

    def image(self, hash: str) -> bytes:
        """Return the bytes of the image with that hash, which are not looked at. Raises JournalRefused where the store has
        none."""
        found = self._database.rows("SELECT content FROM images WHERE hash = ?", (hash,))
        if not found or not isinstance(found[0][0], bytes):
            raise JournalRefused(f"the run store {self.name} has no image {hash[:80]}")
        return found[0][0]

    def rows(self, run: str) -> Iterator[Row]:
        """Yield the rows of a run in their order, as many as it has now. Raises JournalRefused, with the number of the row, for
        one that is not as it was written, or is not there."""
        row = self.run(run)
        seal, expected = row.begins, 0
        while expected < row.rows:
            select = "SELECT n, body, seal FROM rows WHERE run = ? AND n >= ? ORDER BY n LIMIT 500"
            part = self._database.rows(select, (row.id, expected))
            if not part:
                raise self._damaged(row.id, f"lacks its row {expected}")
            for n, body, said in part[: row.rows - expected]:
                if n != expected:
                    raise self._damaged(row.id, f"lacks its row {expected}")
                if not isinstance(body, str) or said != (seal := _sealed(seal, body)):
                    raise self._damaged(row.id, f"has a row {n} that is not as it was written")
                expected += 1
                try:
                    yield row_of(_plain(body, "row"))
                except JournalRefused as refused:
                    raise JournalRefused(f"{self.name}: row {n} of the run {row.id} {refused}") from None

    # ------------------------------------------------------------ what the host says

    def answer(self, run: str, key: str, form: Any) -> None:
        """Keep an answer for an effect that a run waits for, until the run goes on. Raises JournalRefused for an effect that
        the run does not wait for, and for one that has its answer."""
        database = self._database
        with database.transaction():
            row = self._changing(run)
            waiting = [wait["key"] for wait in row.waits]
            if key not in waiting:
                raise JournalRefused(f"the run {row.id} does not wait for {key}; it waits for {', '.join(waiting) or 'nothing'}")
            kept = (row.id, key, json.dumps(form), database.now())
            if not database.change("INSERT INTO answers VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING", kept):
                raise JournalRefused(f"{key} of the run {row.id} has its answer already")

    def answers(self, run: str) -> dict[str, Any]:
        """Return the answers that a run, named by its whole id, has got and not used, by effect key; none for a run that is not
        there."""
        answers = {}
        for key, form in self._database.rows("SELECT key, form FROM answers WHERE run = ?", (run,)):
            if not isinstance(key, str) or not isinstance(form, str):
                raise self._damaged(run, "has an answer that is none")
            try:
                answers[key] = _plain(form, "answer")
            except JournalRefused as refused:
                raise self._damaged(run, str(refused)) from None
        return answers

    def forget_answer(self, run: str, key: str) -> None:
        """Forget the answer for an effect of a run, named by its whole id."""
        with self._database.transaction():
            self._database.change("DELETE FROM answers WHERE run = ? AND key = ?", (run, key))

    def move(self, claim: Claim, run: RunRow, header: Header, image: bytes) -> None:
        """Let a run go on under another image from now on; `run` is what a rehearsal has looked at, `header` the one with that
        image. The seals of the journal, which begin with the header, are made anew. Raises JournalRefused where the run has gone
        on since, Fenced where the claim holds no more. The claim gets the new seal."""
        database = self._database
        if claim.rows != run.rows:
            raise JournalRefused(f"the run {run.id} has gone on meanwhile; look at it anew")
        rows = list(self.rows(run.id))
        kept, said = json.dumps(header.as_json()), json.dumps(run.options)
        seal = _begins(kept, said)
        sealed = []
        for n, row in enumerate(rows):
            seal = _sealed(seal, body := json.dumps(plain_of(row)))
            sealed.append((body, seal, run.id, n))
        with database.transaction():
            database.change("INSERT INTO images VALUES (?, ?) ON CONFLICT DO NOTHING", (header.image, image))
            changed = database.change(
                "UPDATE runs SET header = ?, options = ?, image = ?, changed = ? WHERE id = ? AND epoch = ?",
                (kept, said, header.image, database.now(), run.id, claim.epoch),
            )
            self._require(changed, claim)
            database.change_all("UPDATE rows SET body = ?, seal = ? WHERE run = ? AND n = ?", sealed)
        claim.seal = seal

    def cancel(self, run: str) -> None:
        """End a run that is not over, as cancelled; a process that runs it is fenced. Raises JournalRefused for one that is
        over."""
        with self._database.transaction():
            row = self._changing(run)
            end = json.dumps(plain_of(EndRow("cancelled")))
            self._database.change(
                "UPDATE runs SET epoch = epoch + 1, state = ?, waits = '[]', outcome = ?, changed = ? WHERE id = ?",
                (CANCELLED, end, self._database.now(), row.id),
            )

    def prune(self, before: float) -> int:
        """Remove the runs that were over before a time, in seconds since 1970, and images that no run has; return how many
        runs."""
        database = self._database
        marks = ", ".join("?" * len(OVER))
        with database.transaction(locked="images"):  # a run that begins now may need an image that no run has had before
            gone = database.rows(f"SELECT id FROM runs WHERE state IN ({marks}) AND changed < ?", (*OVER, before))
            for table, column in (("rows", "run"), ("answers", "run"), ("runs", "id")):
                database.change_all(f"DELETE FROM {table} WHERE {column} = ?", gone)
            database.change("DELETE FROM images WHERE hash NOT IN (SELECT image FROM runs)")
        return len(gone)

    def close(self) -> None:
        """Close the connection; it may be called again."""
        self._database.close()

    # ------------------------------------------------------------ commits

    def commit(self, claim: Claim, rows: Sequence[Row], told: int, waits: Sequence[Any]) -> None:
        """Append rows to a run under its claim, in one transaction; `told` is how many emits the run has made, those among `rows`
        too, of which all before have been delivered. `waits` are what it waits for. The lease begins anew, and answers that the
        rows have used are removed. Raises Fenced where the claim holds no more."""
        database = self._database
        end = next((row for row in rows if isinstance(row, EndRow)), None)
        state = _state_of(end) if end is not None else WAITING if waits else RUNNING
        emits = sum(isinstance(row, EmitRow) for row in rows)
        seal, kept = claim.seal, []
        for at, row in enumerate(rows):
            body = json.dumps(plain_of(row))
            seal = _sealed(seal, body)
            kept.append((claim.run, claim.rows + at, body, seal))
        used = [(claim.run, row.key) for row in rows if isinstance(row, EffectRow) and row.is_settled]
        with database.transaction():
            now = database.now()
            changed = database.change(
                "UPDATE runs SET state = ?, lease = ?, changed = ?, rows = ?, emits = emits + ?, told = ?, waits = ?, "
                "outcome = ? WHERE id = ? AND epoch = ?",
                (
                    state, now + LEASE, now, claim.rows + len(rows), emits, told - emits, json.dumps(list(waits)),
                    None if end is None else json.dumps(plain_of(end)), claim.run, claim.epoch,
                ),
            )  # fmt: skip
            self._require(changed, claim)
            if kept:
                database.change_all("INSERT INTO rows VALUES (?, ?, ?, ?)", kept)
            if claim.has_answers and used:
                database.change_all("DELETE FROM answers WHERE run = ? AND key = ?", used)
        claim.rows, claim.seal = claim.rows + len(rows), seal

    def _require(self, changed: int, claim: Claim) -> None:
        if changed != 1:
            said = f"the run {claim.run} was taken over, or cancelled, by another process"
            raise Fenced(f"{said}: nothing more of this one is kept")

    def renew(self, claim: Claim) -> None:
        """Hold a run on. Raises Fenced."""
        self._require(self._lease(claim, self._database.now() + LEASE), claim)

    def release(self, claim: Claim) -> None:
        """Give a run back, so that another process may go on with it at once."""
        self._lease(claim, 0.0)

    def _lease(self, claim: Claim, until: float) -> int:
        with self._database.transaction():
            update = "UPDATE runs SET lease = ? WHERE id = ? AND epoch = ?"
            return self._database.change(update, (until, claim.run, claim.epoch))


class Held(JournalRefused):
    """A run that another process holds."""

    fails = True


class Claim:
    """The right to go on with a run: the sink of its journal. `epoch` is what its commits are bound to, `rows` how many the store
    has, `seal` that of the last of them; `told` is how many emits listeners have heard; `has_answers` whether answers were given
    from outside; `owns_store` whether nobody else uses the store, so that it is closed with the claim."""

    parks = True

    def __init__(self, store: RunStore, run: str, epoch: int, seal: str, *, rows: int = 0, told: int = 0) -> None:
        self.store = store
        self.run = run
        self.epoch = epoch
        self.seal = seal
        self.rows = rows
        self.told = told
        self.has_answers = False
        self.owns_store = True

    def commit(self, rows: Sequence[Row], told: int, waits: Sequence[Any]) -> None:
        """Keep rows. Raises Fenced, and JournalRefused where the store fails."""
        self.store.commit(self, rows, told, waits)

    def renew(self) -> None:
        """Hold the run on. Raises as `commit`."""
        self.store.renew(self)

    def forget_answer(self, key: str) -> None:
        """Forget an answer that does not fit, so that another one may be given."""
        with suppress(JournalRefused):
            self.store.forget_answer(self.run, key)

    def close(self) -> None:
        """Give the run back and close its store, if that is its own. That it cannot be given back is no failure of what is
        committed: its lease ends by itself, and nobody waits for that of a process that is known to be dead."""
        with suppress(JournalRefused):
            self.store.release(self)
        if self.owns_store:
            self.store.close()


def owner() -> str:
    """Return what a store calls this process: its machine and number for those who read it, and what tells whether it has
    died."""
    return f"{socket.gethostname()}:{os.getpid()} {owner_name()}"


def _told(name: str) -> str:
    return name.partition(" ")[0]


def _is_dead(name: str) -> bool:
    """Return whether the process that an owner's name stands for is known to be dead: only of this machine that can be told."""
    return has_died(name.partition(" ")[2])


def _state_of(end: EndRow) -> str:
    return {"ok": DONE, "cancelled": CANCELLED}.get(end.outcome, FAILED)
