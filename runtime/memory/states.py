"""Volatile logs as plain data: those of a state of a session (O-9.45), and those of snapshots of a run, each of which
holds of a log only what changed since the snapshot before (M-14.6).

Hands on `lowered` (logs to rows) and `Logs` with `Changes` (rows back to logs, all of them checked before any is changed) to
`session/state.py`, which with `vm/snapshot` turns the rows into bytes; `memories.py` puts the logs of a `Logs` in the place of
those of the session. A log in a store stays there; what the session alone keeps of it, facts of the tiers `session` and
`ephemeral`, is in the volatile log of its key.
"""

from __future__ import annotations

from .facts import fact_of, observation_of
from .failures import InvalidValue, corrupt
from .keys import encode
from .log import Content, dumped, loaded
from .stores.protocol import Batch, Head
from .stores.volatile import News, VolatileLog, VolatileStore, split

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, Protocol

    from .entries import Entry
    from .keys import Key

    Label = str | None
    """The name of a store, None for memories without."""

    class Memories(Protocol):
        """What is asked here of the memories of a session; `memories.Memories` has it. `stored_parts` returns the parts of a key
        as the memory stored under that path is declared now, `volatile_stores` the stores whose logs end with the session, and
        `volatile` the one of them that a log belongs to, None for a log that the session does not use."""

        @property
        def namespace(self) -> str: ...
        def stored_parts(self, path: str, values: Sequence[str | int]) -> tuple[str | int, ...]: ...
        def volatile_stores(self) -> list[tuple[Label, VolatileStore]]: ...
        def volatile(self, label: Label, key: Key) -> VolatileStore | None: ...

    class Secrets(Protocol):
        """The secrets of the session. A text is written as parts, in turn a piece of text and the name of a secret (G-10.3);
        `value` gives the text that a name stands for when it is read."""

        def parts_of(self, text: str, form: Callable[[str], str] = ...) -> list[str]: ...
        def value(self, name: str) -> str: ...


def lowered(memories: Memories, secrets: Secrets, whole: bool) -> list[Any]:
    """Return a row for each volatile log that the session still uses, in the order of label and key: with `whole` for each
    that was written, with all it holds; else for each that has changed since it was last written, with what has changed,
    where the store knows that. Nothing is changed; after `VolatileStore.written` these rows count as written."""
    labelled = []
    for label, store in memories.volatile_stores():
        logs = store.logs if whole or store.changed is None else store.changed
        labelled += [(label, log) for key, log in logs.items() if memories.volatile(label, key) is store]
    if len(labelled) > 1:
        labelled.sort(key=lambda one: (one[0] or "", encode(one[1].key)))
    return [_row(label, log, whole, secrets) for label, log in labelled if not (whole and log.is_blank())]


def _row(label: Label, log: VolatileLog, whole: bool, secrets: Secrets) -> list[Any]:
    """Return the row of one log: its label and key; version and time of the last change; what leaves of the log before; a
    dump (M-8.10) of what is new; the vectors of facts, and the paths of tasks of ephemeral ones."""
    head = log.head()
    news = _all(log) if whole or log.news is None else log.news
    turns, gone_turns = split(news.turns, log.rows)
    views, gone_views = split(news.views, log.states)
    numbers, gone_facts = split(news.facts, log.facts)
    places, gone_places = split(news.seen, log.seen)
    facts = [log.facts[number] for number in sorted(numbers)]
    text = dumped(
        Content(
            head.next, head.turns, [log.rows[number] for number in turns], [log.states[name] for name in sorted(views)],
            log.range(news.floor - 1, None, None, False, None), [fact.as_json() for fact in facts],
            [log.seen[place].as_json() for place in sorted(places)],
        )
    )  # fmt: skip
    vectors = [[fact.id, *fact.vector] for fact in facts if fact.vector is not None]
    owned = [[fact.id, fact.task] for fact in facts if fact.task is not None]
    leaving = [
        news.floor, sorted(news.gone), sorted(map(list, news.pins.items())), sorted(gone_turns), sorted(gone_views),
        sorted(gone_facts), sorted(map(list, gone_places)),
    ]  # fmt: skip
    key = [secrets.parts_of(part) if type(part) is str else part for part in log.key]
    return [label, key, head.version, head.touched, leaving, secrets.parts_of(text, _in_json), vectors, owned]


def _all(log: VolatileLog) -> News:
    news = News(0)
    news.turns, news.views = dict.fromkeys(log.rows, False), dict.fromkeys(log.states, False)
    news.facts, news.seen = dict.fromkeys(log.facts, False), dict.fromkeys(log.seen, False)
    return news


def _in_json(text: str) -> str:
    """Return a part of a text as it stands in a dump."""
    from json import dumps

    return dumps(text, ensure_ascii=False)[1:-1]


class Logs:
    """The volatile logs of a session as bytes describe them, apart from the logs that the session uses. `stores` has them by the
    labels of their stores, none before a `Changes.take`."""

    def __init__(self) -> None:
        self.stores: dict[Label, VolatileStore] = {}

    def log(self, label: Label, key: Key) -> VolatileLog:
        """Return the log of this label and key; where there is none a new empty one, which is not kept here."""
        store = self.stores.get(label)
        return (store and store.logs.get(key)) or VolatileLog(key)

    def checked(self, memories: Memories, secrets: Secrets, rows: Any) -> Changes:
        """Return the changes that these rows describe. Raises MemoryFailure ("Corrupt", "Version" for the rows of a newer
        program, "Store" for the key of a memory that is declared with other parts) or what Python raises for a malformed row,
        unless all of it can be applied."""
        return Changes(self, memories, secrets, rows)


class Changes:
    """Changes of `logs`, whole and checked; nothing is changed before `take`. The constructor raises as `Logs.checked`."""

    def __init__(self, logs: Logs, memories: Memories, secrets: Secrets, rows: Any) -> None:
        self.logs = logs
        self._all: dict[tuple[Label, Key], _Change] = {}
        for row in rows:
            change = _Change(logs, memories, secrets, *row)
            if (change.label, change.log.key) in self._all:
                raise corrupt("a log stands twice")
            self._all[change.label, change.log.key] = change

    def version(self, label: Label, key: Key) -> int:
        """Return the version that a log will have after `take`; 0 for one that is unknown."""
        change = self._all.get((label, key))
        return self.logs.log(label, key).stored.version if change is None else change.batch.head.version

    def take(self) -> None:
        """Apply all changes to `logs`; called once."""
        for change in self._all.values():
            change.log.change_into(change.batch, change.turns, change.views)
            self.logs.stores.setdefault(change.label, VolatileStore()).logs[change.log.key] = change.log


class _Change:
    """What becomes of one log: `batch`, and the turn records and view states that leave before."""

    __slots__ = ("label", "log", "batch", "turns", "views")

    def __init__(
        self, logs: Logs, memories: Memories, secrets: Secrets, label: Any, key: Any, version: Any, touched: Any, leaving: Any,
        parts: Any, vectors: Any, owned: Any,
    ) -> None:  # fmt: skip
        at = _checked_key(memories, [_joined(secrets, part) if type(part) is list else part for part in key])
        if type(version) is not int or type(touched) is not int or version < 0 or memories.volatile(label, at) is None:
            raise corrupt("a log is malformed")
        self.label = label
        self.log = logs.log(label, at)
        floor, gone, pins, self.turns, self.views, gone_facts, gone_places = leaving
        content = loaded(_joined(secrets, parts, _in_json))
        evict = _leaving(self.log, floor, gone)
        _check_order(self.log, floor, frozenset(gone), content)
        places = [(topic, number) for topic, number in gone_places]
        for ones, present in (
            (self.turns, self.log.rows), (self.views, self.log.states), (gone_facts, self.log.facts), (places, self.log.seen)
        ):  # fmt: skip
            if len(set(ones)) != len(ones) or any(one not in present for one in ones):
                raise corrupt("what was never there leaves")
        head = self.log.stored
        entries = content.entries
        length, tokens = head.length - len(evict) + len(entries), head.tokens + _tokens(entries) - _tokens(evict)
        after = Head(version, content.next, content.turns, length, tokens, touched)
        self.batch = Batch(after, entries=entries, evict=evict, turns=content.rows, views=content.states)
        self.batch.pins = _pins(self.log, pins, evict)
        self.batch.facts, self.batch.gone = _facts(content, vectors, owned), gone_facts
        self.batch.seen, self.batch.unseen = list(map(observation_of, content.seen)), places
        if len({one.place for one in self.batch.seen}) != len(content.seen):
            raise corrupt("one number stands for two observations")


def _joined(secrets: Secrets, parts: Any, form: Callable[[str], str] = str) -> str:
    if type(parts) is not list or len(parts) % 2 == 0 or any(type(part) is not str for part in parts):
        raise corrupt("a text is malformed")
    return "".join(form(secrets.value(part)) if at % 2 else part for at, part in enumerate(parts))


def _leaving(log: VolatileLog, floor: Any, gone: Any) -> list[Entry]:
    """Return the entries that leave: whole units, so that no result stays without its call (M-1.6)."""
    if type(floor) is not int or not 0 <= floor <= log.stored.next or any(type(seq) is not int for seq in gone):
        raise corrupt("what stays of a log is malformed")
    numbers = set(gone)
    entries = [entry for seq in gone for entry in log.range(seq - 1, seq + 1, None, False, None)]
    if len(entries) != len(gone) or len(numbers) != len(gone) or any(seq >= floor for seq in gone):
        raise corrupt("an entry leaves that was never there")
    # Everything from the floor on leaves, too: its numbers were used again.
    last = log.range(floor - 1, None, None, False, None)
    for entry in entries:
        before = log.range(-1, entry.seq, 1, True, None)
        after = log.range(entry.seq, None, 1, False, None)
        if (entry.role == "tool" and before and before[0].seq not in numbers) or (
            after and after[0].role == "tool" and after[0].seq not in numbers
        ):
            raise corrupt("a part of a unit leaves")
    if last and last[0].role == "tool":
        raise corrupt("a part of a unit leaves")
    return [*entries, *last]


def _check_order(log: VolatileLog, floor: int, gone: frozenset[int], content: Content) -> None:
    """Raise Corrupt unless numbers ascend over what stays and what is new, and no turn is torn apart."""
    newest = log.range(-1, floor, 1, True, None)
    while newest and newest[0].seq in gone:
        newest = log.range(-1, newest[0].seq, 1, True, None)
    first = content.entries[0] if content.entries else None
    early = content.next < floor or (first is not None and first.seq < floor)
    if early or any(row.turn >= content.turns for row in content.rows):
        raise corrupt("a log goes on before its end")
    if newest and (newest[0].turn >= content.turns or (first is not None and first.turn < newest[0].turn)):
        raise corrupt("a log goes on before its last turn")


def _pins(log: VolatileLog, pins: Any, evict: Sequence[Entry]) -> dict[int, bool]:
    by_seq: dict[int, bool] = dict(pins)
    leaving = {entry.seq for entry in evict}
    for seq, on in by_seq.items():
        if type(seq) is not int or type(on) is not bool or seq in leaving or not log.range(seq - 1, seq + 1, None, False, None):
            raise corrupt("an entry is pinned that is not there")
    return by_seq


def _facts(content: Content, vectors: Any, owned: Any) -> list[Any]:
    facts = {held["id"]: fact_of(held) for held in content.facts}
    if len(facts) != len(content.facts):
        raise corrupt("one number stands for two facts")
    for number, label, vector in vectors:
        if type(label) is not str or type(vector) is not bytes or len(vector) % 4:
            raise corrupt("a vector is malformed")
        facts[number].vector = (label, vector)
    for number, path in owned:
        if type(path) is not str:
            raise corrupt("a fact of no task")
        facts[number].task = path
    return list(facts.values())


def _tokens(entries: Sequence[Entry]) -> int:
    return sum(entry.tokens for entry in entries)


def _checked_key(memories: Memories, key: Any) -> Key:
    namespace, name, *values, branch = key
    try:
        parts = memories.stored_parts(name, values)
    except InvalidValue as error:
        raise corrupt(str(error)) from None
    if namespace != memories.namespace or type(branch) is not str:
        raise corrupt("a log of another program")
    return (namespace, name, *parts, branch)
