"""The store of memories without `store`: logs that live as long as the session (M-8.1).

Hands on `VolatileStore` to the memories and to `opened.py`, `VolatileLog` (one log, with the fast path of direct appends) to the
memories, `index_of` to `memory/reader.py` and the journal (`journal/store_calls.py`), and `News` (what changed in a log since a
snapshot, M-14.6) with `split` to `memory/states.py`. Nothing here waits; the one failure is MemoryFailure("Conflict"), raised
before anything has changed. What ends a run (`metering.look`) passes through where notes become entries.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections import deque
from itertools import islice
from operator import attrgetter

from ....vm.values.metering import STRIDE, look
from ...records import Msg
from ..entries import Entry, count_message
from ..facts import EPHEMERAL
from ..failures import conflict
from ..keys import encode
from ..retention import end_of_front
from .protocol import Head

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Sequence
    from typing import Any

    from ..changes import Draft
    from ..entries import Turn, ViewState
    from ..fact_index import FactIndex
    from ..facts import Fact, Observation
    from ..keys import Key
    from .protocol import Batch, Write


if TYPE_CHECKING:
    Touched = dict[Any, bool]


class News:
    """What has changed in a volatile log since it was last written to a snapshot (M-14.6).

    Entries are numbered: those from `floor` on are new, of those before `gone` have left and `pins` are pinned or not now. Turn
    records (`turns`), view states (`views`), `facts` and observations (`seen`) are noted by name or number, with whether they
    were there when the log was last written. So what came and left again is forgotten, and news are never larger than the log
    before plus the log now.
    """

    __slots__ = ("floor", "gone", "pins", "turns", "views", "facts", "seen")

    def __init__(self, floor: int) -> None:
        self.floor = floor
        self.gone: set[int] = set()
        self.pins: dict[int, bool] = {}
        self.turns: Touched = {}
        self.views: Touched = {}
        self.facts: Touched = {}
        self.seen: Touched = {}

    def entries_left(self, entries: Iterable[Entry]) -> None:
        """Note that entries have left."""
        for entry in entries:
            if entry.seq < self.floor:
                self.gone.add(entry.seq)
                self.pins.pop(entry.seq, None)

    def pinned(self, seq: int, on: bool) -> None:
        """Note that an entry is pinned, or not."""
        if seq < self.floor:
            self.pins[seq] = on

    def goes_on_from(self, seq: int) -> None:
        """Note that entry numbers from there on are used again (M-6.18)."""
        if seq < self.floor:
            self.floor = seq
            self.gone = {number for number in self.gone if number < seq}
            self.pins = {number: on for number, on in self.pins.items() if number < seq}


def note_added(touched: Touched, keys: Iterable[Any], present: Container[Any]) -> None:
    """Note in `touched` that keys are added. `present` holds what was there before."""
    for key in keys:
        if key not in touched:
            touched[key] = key in present


def note_removed(touched: Touched, keys: Iterable[Any], present: Container[Any]) -> None:
    """Note in `touched` that keys are removed. `present` holds what was there before."""
    for key in keys:
        # What came after the last snapshot and leaves before the next needs no mention in it.
        if touched.setdefault(key, key in present) is False:
            del touched[key]


def split(touched: Touched, present: Container[Any]) -> tuple[list[Any], list[Any]]:
    """Return the changed keys that are in `present` now, and those that were written and have left."""
    return [key for key in touched if key in present], [key for key, written in touched.items() if written and key not in present]


SEQ = attrgetter("seq")
TURN = attrgetter("turn")


class VolatileLog:
    """The log of one key. `stored` is its head. Unpinned entries are in the list `plain`, whose front is removed lazily (those
    before the index `start` have left), pinned ones in `pinned`, so that an append and an eviction cost the same at any length
    (M-14.1). `rows` are the turn records by number, `runs` the turn numbers by run, `states` those of views; `facts` and `seen`
    are the facts and observations, and `passing` the numbers of ephemeral facts.

    `noted` is the fast path of direct appends, counted in `fresh`, to a memory without listener, views, and steps that act
    when a message is stored: role, content and time in seconds are only noted (`Memory.append` does it), and the first
    other use makes the entries. With `bound` (`Retention.fifo`) the notes themselves are cut at the front, as retention
    would do it. `news`: what the next snapshot has to write; its writer finds the log in `changed` by its `key`.
    """

    __slots__ = (
        "bound", "stored", "start", "plain", "pinned", "rows", "runs", "states", "facts", "seen", "passing", "noted", "fresh",
        "key", "news", "changed", "_messages", "_length", "_calls", "_index",
    )  # fmt: skip

    def __init__(self, key: Key, bound: int | None = None) -> None:
        self.key = key
        self.bound = bound
        self.news: News | None = None
        self.changed: dict[Key, VolatileLog] | None = None
        self._empty()

    def written(self, changed: dict[Key, VolatileLog]) -> None:
        """Note that all of the log is written; `changed` collects logs that change from now on."""
        self.settle()
        self.news = News(self.stored.next)
        self.changed = changed

    def change(self) -> None:
        """Note that the log is about to differ from what was written. `add`, `apply`, `keep` and `reset` do it; who puts a
        message into `noted` calls it first."""
        if self.changed is not None:
            self.changed[self.key] = self

    def reset(self) -> None:
        """Empty the log, as `remove` of its key does."""
        self.settle()
        self.change()
        if self.news is not None:
            self._all_left(self.news)
            note_removed(self.news.facts, list(self.facts), self.facts)
            note_removed(self.news.seen, list(self.seen), self.seen)
        self._empty()

    def _all_left(self, news: News) -> None:
        """Note that all has left but facts and observations."""
        news.goes_on_from(0)
        note_removed(news.turns, list(self.rows), self.rows)
        note_removed(news.views, list(self.states), self.states)

    def _empty(self) -> None:
        self.stored = Head()
        self.start = 0  # entries of `plain` before it have left
        self.plain: list[Entry] = []
        self.pinned: list[Entry] = []
        self.rows: dict[int, Turn] = {}
        self.runs: dict[str, int] = {}
        self.states: dict[str, ViewState] = {}
        self.noted: deque[tuple[str, str, float]] = deque(maxlen=self.bound)
        self.fresh = 0  # notes since the last settling, those cut off included
        self._messages: list[Msg] | None = None
        self._length = 0  # of these messages together, as long as there is a list of them
        self._calls = False
        self.facts: dict[int, Fact] = {}
        self.seen: dict[tuple[str, int], Observation] = {}
        self._index: FactIndex | None = None
        self.passing: set[int] = set()  # numbers of ephemeral facts

    def settle(self) -> None:
        """Make entries of the notes, each a turn of its own."""
        if not self.fresh:
            return
        head = self.stored
        seq, turn = head.next + self.fresh - len(self.noted), head.turns + self.fresh - len(self.noted)
        entries: list[Entry] = []
        tokens = 0
        notes = enumerate(self.noted)
        while len(entries) < len(self.noted):
            look()
            for number, (role, content, at) in islice(notes, STRIDE):
                message = Msg(role, content)
                counted = count_message(message)
                tokens += counted
                at_ms = int(at * 1000)
                entries.append(Entry(seq + number, turn + number, message, None, None, "program", False, counted, at_ms))
        self.stored = Head(
            head.version + self.fresh, head.next + self.fresh, head.turns + self.fresh, head.length + len(entries),
            head.tokens + tokens, entries[-1].at,
        )  # fmt: skip
        self.noted.clear()
        self.fresh = 0
        self._messages = None
        self.plain += entries
        self._cut_front()

    def _cut_front(self) -> None:
        head = self.stored
        if self.bound is None or head.length <= self.bound:
            return
        over = self.plain[self.start : end_of_front(self.plain, self.start, head.length - self.bound)]
        if not over:
            return
        messages = None if self.pinned else self._messages
        self._drop(over)
        if messages is not None:
            del messages[: len(over)]
            self._messages = messages
        tokens = head.tokens
        for entry in over:
            tokens -= entry.tokens
            self._length -= entry.message.length
        self.stored = Head(head.version, head.next, head.turns, head.length - len(over), tokens, head.touched)

    def add(self, drafts: Sequence[Draft], turn: Turn | None, at: int) -> bool:
        """Append the unpinned messages of one commit, as one turn, to a log that can note messages (see the class); return False,
        with nothing stored, when the run is stored already. `turn` gets its number; `at` is in Unix ms."""
        if turn is not None and turn.run in self.runs:
            return False
        self.settle()
        self.change()
        head = self.stored
        messages = [draft.message for draft in drafts]
        tokens = 0
        run = None if turn is None else turn.run
        for seq, draft in enumerate(drafts, head.next):
            counted = draft.tokens or count_message(draft.message)
            tokens += counted
            self.plain.append(Entry(seq, head.turns, draft.message, run, draft.by, draft.origin, False, counted, at))
        count = len(messages)
        if turn is not None:
            turn.turn = head.turns
            self._record(turn)
        self.stored = Head(head.version + 1, head.next + count, head.turns + 1, head.length + count, head.tokens + tokens, at)
        if self._messages is not None:
            self._messages += messages
            for message in messages:
                self._length += message.length
                if message.calls:
                    self._calls = True
        self._cut_front()
        return True

    def limit(self, bound: int) -> None:
        """Bound the log to so many messages from now on; what is too much leaves with the next message."""
        self.settle()
        self.bound = bound
        self.noted = deque(maxlen=bound)

    def is_blank(self) -> bool:
        """Return whether it is as a log that was never used."""
        return not (self.facts or self.seen or self.head().version)

    def head(self) -> Head:
        """Return the head of the log, with what is only noted made entries before."""
        self.settle()
        return self.stored

    def messages(self) -> list[Msg]:
        """Return all messages in order. The list belongs to the log, which keeps it and may change it: do not change it, and copy
        what has to stay."""
        self.settle()
        if self._messages is None:
            self._messages = [entry.message for entry in self.range(-1, None, None, False, None)]
            self._length = sum([message.length for message in self._messages])
            self._calls = any(message.calls for message in self._messages)
        return self._messages

    def shown(self, tools_offered: bool) -> tuple[list[Msg], int] | None:
        """Return the list of `messages` with the sum of its `Msg.length`; None where tools are not offered and a message has
        tool calls, or one had since the messages were last made."""
        messages = self._messages
        if messages is None or self.fresh:
            messages = self.messages()
        return None if self._calls and not tools_offered else (messages, self._length)

    def range(self, after: int, before: int | None, limit: int | None, newest: bool, pinned: bool | None) -> list[Entry]:
        """Return entries as `Store.entries` does, of all runs."""
        self.settle()
        plain = [] if pinned is True else _slice(self.plain, self.start, after, before, limit, newest)
        if pinned is False or not self.pinned:
            return plain
        both = sorted([*plain, *_slice(self.pinned, 0, after, before, limit, newest)], key=SEQ)
        if limit is None:
            return both
        return both[max(0, len(both) - limit) :] if newest else both[:limit]

    def apply(self, batch: Batch) -> None:
        """Apply a change and take its head as it is. It cannot fail: version, runs and facts were checked before."""
        self.settle()
        self.change()
        news = self.news
        if batch.everything:
            if news is not None:
                self._all_left(news)
            self.plain, self.pinned, self.start = [], [], 0
            self.rows, self.runs, self.states = {}, {}, {}
        else:
            self._drop(batch.evict)
        if news is not None:
            news.goes_on_from(batch.head.next)
            note_added(news.views, [state.name for state in batch.views], self.states)
        for seq, on in batch.pins.items():
            self._set_pinned(seq, on)
        for entry in batch.entries:
            if entry.pinned:
                insort(self.pinned, entry, key=SEQ)
            else:
                self.plain.append(entry)
        for turn in batch.turns:
            self._record(turn)
        for state in batch.views:
            self.states[state.name] = state
        self.stored = batch.head
        self._messages = None
        if batch.has_facts:
            if batch.facts_anew:
                self.keep((), list(self.facts), (), list(self.seen))
            self.keep(batch.facts, batch.gone, batch.seen, batch.unseen)

    def change_into(self, batch: Batch, turns: Sequence[int], views: Sequence[str]) -> None:
        """Remove these turn records and view states, which have to be there, then `apply` the change."""
        for number in turns:
            self.drop_row(number)
        for name in views:
            del self.states[name]
        self.apply(batch)

    def become(self, other: VolatileLog) -> None:
        """Take the content of another log, which stays as it is, instead of the own one. It is not noted as a change."""
        self._empty()
        other.settle()
        self.stored, self.plain, self.pinned = other.stored, other.plain[other.start :], other.pinned.copy()
        self.rows, self.runs, self.states = other.rows.copy(), other.runs.copy(), other.states.copy()
        self.facts, self.seen, self.passing = other.facts.copy(), other.seen.copy(), other.passing.copy()

    def keep(
        self,
        facts: Sequence[Fact],
        gone: Sequence[int],
        seen: Sequence[Observation] = (),
        unseen: Sequence[tuple[str, int]] = (),
    ) -> None:
        """Remove and add facts and observations, as `FactStore.keep`, but without a check (`refuse`), and without a time: the
        head stays as it is."""
        self.change()
        if self.news is not None:
            note_removed(self.news.facts, gone, self.facts)
            note_removed(self.news.seen, unseen, self.seen)
        for number in gone:
            self.facts.pop(number, None)
            self.passing.discard(number)
        for place in unseen:
            self.seen.pop(place, None)
        if self.news is not None:
            note_added(self.news.facts, [fact.id for fact in facts], self.facts)
            note_added(self.news.seen, [one.place for one in seen], self.seen)
        self.facts.update((fact.id, fact) for fact in facts)
        self.passing.update(fact.id for fact in facts if fact.tier == EPHEMERAL)
        if self._index is not None:
            self._index.change([fact for fact in facts if fact.tier != EPHEMERAL], gone)
        self.seen.update((one.place, one) for one in seen)

    def index(self) -> FactIndex:
        """Return the index of facts that outlive a turn, made when it is first asked for."""
        if self._index is None:
            self._index = index_of([fact for fact in self.facts.values() if fact.tier != EPHEMERAL])
        return self._index

    def refuse(self, facts: Sequence[Fact], gone: Sequence[int], seen: Sequence[Observation], unseen: Sequence[Any]) -> None:
        """Raise MemoryFailure("Conflict") for a number or a place that somebody else has taken."""
        leaving, unseen_places = frozenset(gone), frozenset(unseen)
        for fact in facts:
            stored = self.facts.get(fact.id)
            if stored is not None and fact.id not in leaving and stored.name != fact.name:
                raise conflict(fact.id, stored.id)
        for one in seen:
            if one.place in self.seen and one.place not in unseen_places:
                raise conflict(one.n, one.n + 1)

    def _record(self, turn: Turn) -> None:
        if self.news is not None:
            note_added(self.news.turns, (turn.turn,), self.rows)
        self.rows[turn.turn] = turn
        if turn.run is not None:
            self.runs[turn.run] = turn.turn

    def _drop(self, evicted: Sequence[Entry]) -> None:
        """Remove entries: from the front at constant cost, from elsewhere by building the lists anew."""
        if self.news is not None:
            self.news.entries_left(evicted)
        at = self.start
        for entry in evicted:
            if at == len(self.plain) or self.plain[at].seq != entry.seq:
                break
            at += 1
        front = at - self.start == len(evicted)
        if front:
            self.start = at
            # Moved only when half of the list is unused: constant cost per eviction on average.
            if at > 32 and at * 2 > len(self.plain):
                del self.plain[:at]
                self.start = 0
        else:
            seqs = {entry.seq for entry in evicted}
            self.plain = [entry for entry in self.plain[self.start :] if entry.seq not in seqs]
            self.pinned = [entry for entry in self.pinned if entry.seq not in seqs]
            self.start = 0
        if self.rows:
            self._drop_turns({entry.turn for entry in evicted}, front)
        self._messages = None

    def _drop_turns(self, numbers: set[int], front: bool) -> None:
        """Remove the records of turns of which no entry is left. When entries left at the front, what is left of their
        turns is at the front too."""
        for number in numbers:
            at = self.start if front else bisect_left(self.plain, number, self.start, key=TURN)
            has_entries = at < len(self.plain) and self.plain[at].turn == number
            if has_entries or self.pinned and any(entry.turn == number for entry in self.pinned):
                continue
            if number in self.rows:
                self.drop_row(number)

    def drop_row(self, number: int) -> None:
        """Remove the record of a turn, which has to be there."""
        if self.news is not None:
            note_removed(self.news.turns, (number,), self.rows)
        run = self.rows.pop(number).run
        if run is not None:
            self.runs.pop(run, None)

    def _set_pinned(self, seq: int, on: bool) -> None:
        source, target = (self.plain, self.pinned) if on else (self.pinned, self.plain)
        at = bisect_left(source, seq, self.start if on else 0, key=SEQ)
        if at < len(source) and source[at].seq == seq:
            if self.news is not None:
                self.news.pinned(seq, on)
            entry = source.pop(at).with_pinned(on)
            target.insert(bisect_left(target, seq, 0 if on else self.start, key=SEQ), entry)


def _slice(entries: list[Entry], start: int, after: int, before: int | None, limit: int | None, newest: bool) -> list[Entry]:
    low = start if after < 0 else bisect_right(entries, after, start, key=SEQ)
    high = len(entries) if before is None else bisect_left(entries, before, start, key=SEQ)
    if limit is not None:
        if newest:
            low = max(low, high - limit)
        else:
            high = min(high, low + limit)
    return entries[low:high]


def index_of(facts: Sequence[Fact] = ()) -> FactIndex:
    """Return a new index of these facts. Its code is imported late: logs without facts start without it."""
    from ..fact_index import FactIndex

    return FactIndex(facts)


class VolatileStore:
    """Logs by key. Methods are those of `protocol.Store`, `FactStore` and `Indexed`; none waits, and only `commit` and `keep`
    raise a MemoryFailure: "Conflict". Entries, facts and records are handed out as they are stored: do not change them.

    In short: `head`, `entries`, `turns` and `views` return what is stored of a log, `facts`, `seen` and `index` what is beside
    it; `commit` applies changes, each at the version that it expects, and is False for a run that is stored already; `keep`
    changes facts alone; `remove` and `expire` empty logs, and `keys` names those that were written."""

    name = "volatile"
    blocking = False

    def __init__(self) -> None:
        self.logs: dict[Key, VolatileLog] = {}
        self.spoken: dict[Key, tuple[list[int], FactIndex]] = {}
        """Indexes of the messages of logs, in this store or another one, that a recall of the session has searched, with the
        counts of the head that they are of."""
        self.changed: dict[Key, VolatileLog] | None = None
        """Logs that changed since the last snapshot, None before the first one (M-14.6)."""

    def log(self, key: Key, bound: int | None = None) -> VolatileLog:
        """Return the log of a key, made when it is first asked for. `bound`, unless it is None, becomes its bound: the log is a
        queue of so many messages."""
        log = self.logs.get(key)
        if log is None:
            log = self.logs[key] = VolatileLog(key, bound)
            if self.changed is not None:
                log.written(self.changed)
        elif bound is not None and log.bound != bound:
            log.limit(bound)
        return log

    def head(self, key: Key) -> Head:
        """Return the row of a key, `Head()` for one that was never written."""
        log = self.logs.get(key)
        return Head() if log is None else log.head()

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
        log = self.logs.get(key)
        if log is None:
            return []
        if run is None:
            return log.range(after, before, limit, newest, pinned)
        of_run = [entry for entry in log.range(after, before, None, False, pinned) if entry.run == run]
        if limit is None:
            return of_run
        return of_run[max(0, len(of_run) - limit) :] if newest else of_run[:limit]

    def turns(self, key: Key, since: int = 0) -> list[Turn]:
        """Return the turn records numbered `since` and up, in order."""
        log = self.logs.get(key)
        return [] if log is None else [row for number, row in sorted(log.rows.items()) if number >= since]

    def views(self, key: Key) -> dict[str, ViewState]:
        """Return the stored states of views by the names of the views."""
        log = self.logs.get(key)
        return {} if log is None else dict(log.states)

    def facts(self, key: Key) -> list[Fact]:
        """Return the facts of a key by their numbers, ephemeral ones too."""
        log = self.logs.get(key)
        return [] if log is None or not log.facts else [fact for _, fact in sorted(log.facts.items())]

    def index(self, key: Key) -> FactIndex:
        """Return the index that recall searches (M-14.4)."""
        log = self.logs.get(key)
        return index_of() if log is None or not log.facts else log.index()

    def ephemeral(self, key: Key) -> list[Fact]:
        """Return the ephemeral facts of a key by their numbers."""
        log = self.logs.get(key)
        return [] if log is None else [log.facts[number] for number in sorted(log.passing)]

    def seen(self, key: Key) -> list[Observation]:
        """Return the observations of a key by topic and number."""
        log = self.logs.get(key)
        return [] if log is None or not log.seen else [one for _, one in sorted(log.seen.items())]

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
        all or nothing; the key counts as written at `at`, in Unix ms. Raise MemoryFailure("Conflict") for a number of a fact of
        another name, or the place of an observation, that is taken."""
        log = self.log(key)
        log.refuse(facts, gone, seen, unseen)
        log.keep(facts, gone, seen, unseen)
        head = log.head()
        log.stored = Head(head.version, head.next, head.turns, head.length, head.tokens, at)

    def commit(self, writes: Sequence[Write], *, scrub: bool = False) -> bool:
        """Apply all writes (key, expected version, change) or none, and return True; False where a turn's run is stored already.
        `scrub` needs nothing."""
        for key, expect, batch in writes:
            log = self.logs.get(key)
            if log is not None and not log.runs.keys().isdisjoint({t.run for t in batch.turns}) and not batch.everything:
                return False
            actual = self.head(key).version
            if actual != expect:
                raise conflict(expect, actual)
            if log is not None and batch.has_facts and not batch.facts_anew:
                log.refuse(batch.facts, batch.gone, batch.seen, batch.unseen)
        for key, _, batch in writes:
            self.log(key).apply(batch)
        return True

    def remove(self, keys: Sequence[Key]) -> None:
        """Empty the logs of these keys. A log is emptied rather than replaced, since a memory may hold it."""
        for key in keys:
            self.spoken.pop(key, None)
            if key in self.logs:
                self.logs[key].reset()

    def give_up(self, keys: Sequence[Key]) -> None:
        """Drop logs that nobody can reach any more. Unlike after `remove`, the next snapshot does not mention them."""
        for key in keys:
            self.logs.pop(key, None)
            self.spoken.pop(key, None)
            if self.changed is not None:
                self.changed.pop(key, None)

    def keys(self, prefix: Key) -> Iterator[Key]:
        """Return the written keys that begin with these parts, ordered by their bytes."""
        under = [(key, log) for key, log in self.logs.items() if key[: len(prefix)] == prefix]
        written = [key for key, log in under if not log.is_blank()]
        return iter(sorted(written, key=encode))

    def expire(self, prefix: Key, before: int, limit: int) -> None:
        """Remove up to `limit` keys under the prefix that were last written before that time, in Unix ms."""
        old = [key for key in self.keys(prefix) if self.logs[key].head().touched < before]
        self.remove(old[:limit])

    def written(self) -> None:
        """Note that all logs, or those that changed since the last time, are written as they are now."""
        if self.changed is None:
            self.changed = dict(self.logs)
        for log in self.changed.values():
            log.written(self.changed)
        self.changed.clear()

    def close(self) -> None:
        """Do nothing: nothing is held open."""
