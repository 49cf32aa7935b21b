"""A log in a store as a snapshot to read from (M-8.7): entries are fetched in pieces, newest first, as far as a view asks.

Hands on sources for views. Must not know: policies, what a view shows.
"""

from __future__ import annotations

from itertools import islice

from ...vm.panics import Panic
from ...vm.values import INT_MAX, from_json
from ...vm.values.metering import FEW, paced, works_on
from .entries import (
    FORMAT,
    MAIN_BRANCH,
    WAY_OUT,
    MemoryFailure,
    Turn,
    ViewState,
    branch_of,
    check_units,
    corrupt,
    entry_json,
    entry_of,
    exists,
    newer_version,
    not_found,
    shown,
    units,
    with_branch,
)
from .facts import EPHEMERAL, fact_of, observation_of
from .stores.protocol import Batch, Head

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any, Protocol

    from .entries import Entry, Key
    from .facts import Fact, Observation
    from .memories import MetVersions
    from .stores.protocol import Store, Write

    class Source(Protocol):
        """A snapshot of a log."""

        length: int

        def pins(self) -> list[Entry]:
            """All pinned entries in log order."""

        def back(self) -> Iterator[Entry]:
            """Unpinned entries, newest first."""

        def newest(self, limit: int) -> list[Entry]:
            """The newest unpinned entries in log order."""


FIRST_PIECE = 64
LARGEST_PIECE = 4096


class StoredLog:
    """The entries of a key below `head.next`; an expired key is empty whatever the store still holds. Corrupt when the row of the
    log counts others than there are, or a unit is torn (G-12.10)."""

    __slots__ = ("store", "key", "head", "length", "_pins")

    def __init__(self, store: Store, key: Key, head: Head) -> None:
        self.store = store
        self.key = key
        self.head = head
        self.length = head.length
        self._pins: list[Entry] | None = None

    def pins(self) -> list[Entry]:
        if self._pins is None:
            self._pins = self.store.entries(self.key, before=self.head.next, pinned=True) if self.length else []
        return self._pins

    def back(self) -> Iterator[Entry]:
        before, size, count = self.head.next, FIRST_PIECE, 0
        oldest: Entry | None = None
        while self.length:
            piece = self.store.entries(self.key, before=before, limit=size, newest=True, pinned=False)
            self._check_units(piece if oldest is None else [*piece, oldest])
            yield from reversed(piece)
            count += len(piece)
            oldest = piece[0] if piece else oldest
            if len(piece) < size:
                if oldest is not None and oldest.message.role == "tool":
                    raise self._torn(oldest)
                return self.check(count + len(self.pins()))
            before, size = piece[0].seq, min(2 * size, LARGEST_PIECE)

    def newest(self, limit: int) -> list[Entry]:
        if not self.length or not limit:
            return []
        found = self.store.entries(self.key, before=self.head.next, limit=limit, newest=True, pinned=False)
        self._check_units(found)
        return found

    def forward(self, pinned: bool | None = None, after: int = -1) -> Iterator[Entry]:
        """Oldest first."""
        size, count, whole = FIRST_PIECE, 0, after < 0
        while self.length:
            piece = self.store.entries(self.key, after=after, before=self.head.next, limit=size, pinned=pinned)
            if whole and not count and piece and piece[0].message.role == "tool":
                raise self._torn(piece[0])
            if pinned is None or not pinned:
                self._check_units(piece)
            yield from piece
            count += len(piece)
            if len(piece) < size:
                if whole and pinned is not True:
                    self.check(count if pinned is None else count + len(self.pins()))
                return
            after, size = piece[-1].seq, min(2 * size, LARGEST_PIECE)


    def check(self, count: int) -> None:
        """Of all entries, or Corrupt."""
        if count != self.length:
            raise corrupt(f"the log {shown(self.key)} counts {self.length} entries, and {count} are there; {WAY_OUT}")

    def _check_units(self, entries: Sequence[Entry]) -> None:
        """A tool result stands behind its call, or another result of the unit; what comes before the first is not known here."""
        calls: tuple[str, ...] | None = None
        for entry in entries:
            message = entry.message
            if message.role != "tool":
                calls = tuple([call.id for call in message.calls]) if message.calls else ()
            elif calls is not None and message.call_id not in calls:
                raise self._torn(entry)

    def _torn(self, entry: Entry) -> MemoryFailure:
        return corrupt(f"in the log {shown(self.key)} entry {entry.seq} is a tool result without its call; {WAY_OUT}")


class Changed:
    """The log as it will be after a commit: `new` behind what is stored, without the entries of `gone`."""

    __slots__ = ("stored", "new", "gone", "length")

    def __init__(self, stored: StoredLog, new: Sequence[Entry], gone: Sequence[Entry]) -> None:
        self.stored = stored
        self.new = new
        self.gone = {entry.seq for entry in gone}
        self.length = stored.length + len(new) - len(gone)

    def pins(self) -> list[Entry]:
        old = [entry for entry in self.stored.pins() if entry.seq not in self.gone]
        return [*old, *(entry for entry in self.new if entry.pinned)]

    def back(self) -> Iterator[Entry]:
        yield from (entry for entry in reversed(self.new) if not entry.pinned)
        yield from (entry for entry in self.stored.back() if entry.seq not in self.gone)

    def newest(self, limit: int) -> list[Entry]:
        found = list(islice(self.back(), limit))
        found.reverse()
        return found


# ----------------------------------------------------------------
# Branches of a key and what reaches through them: fork, erase (M-6.16, M-6.17, M-6.20, M-8.14).
#
# A branch is an independent copy under the same key with another last part. Erasing works on all branches in one transaction.


def branches(store: Store, key: Key) -> list[str]:
    return sorted(branch_of(found) for found in store.keys(key[:-1]) if branch_of(found) != MAIN_BRANCH)


def branch(store: Store, key: Key, name: str) -> Key:
    """The key of a branch that exists; the empty name is the main branch."""
    wanted = with_branch(key, name)
    if name != MAIN_BRANCH and not store.head(wanted).version:
        raise not_found(name)
    return wanted


def fork(store: Store, key: Key, name: str, at: int, below: int | None = None) -> Key:
    """An independent copy, with the entries below a seq. Err Exists when the name is taken."""
    wanted = with_branch(key, name)
    if name == MAIN_BRANCH or store.head(wanted).version:
        raise exists(name)
    try:
        store.commit([(wanted, 0, _copy(store, key, at, below))])
    except MemoryFailure as failure:
        raise exists(name) if failure.variant == "Conflict" else failure from None
    return wanted


def _copy(store: Store, key: Key, at: int, below: int | None) -> Batch:
    head = store.head(key)
    works_on(head.length)
    entries = store.entries(key, before=head.next if below is None else below)
    next_seq = head.next if below is None else below
    turns = head.turns if below is None or not entries else entries[-1].turn + 1
    copied = Head(1, next_seq, turns, len(entries), sum(entry.tokens for entry in entries), at)
    states = [state for state in store.views(key).values() if state.upto < next_seq]
    rows = [row for row in store.turns(key) if row.turn < turns]
    seen = [one for one in stored_seen(store, key) if all(seq < next_seq for seq in one.seqs)]
    facts = [fact for fact in stored_facts(store, key) if all(seq < next_seq for seq in fact.seqs)]
    return Batch(copied, entries=entries, turns=rows, views=states, facts=facts, seen=seen)


def stored_facts(store: Store, key: Key) -> list[Fact]:
    """Those that outlive a turn; a store may keep none."""
    return [fact for fact in store.facts(key) if fact.tier != EPHEMERAL] if hasattr(store, "facts") else []


def facts_naming(store: Store, key: Key, names: Callable[[int], bool]) -> list[int]:
    """The numbers of facts, ephemeral ones too, whose provenance names such an entry."""
    return [fact.id for fact in store.facts(key) if any(map(names, fact.seqs))] if hasattr(store, "facts") else []


def stored_seen(store: Store, key: Key) -> list[Observation]:
    """Observations by topic and number; a store that keeps no facts keeps none."""
    return store.seen(key) if hasattr(store, "seen") else []


def erase_entries(store: Store, key: Key, wanted: Callable[[Entry], bool], at: int) -> dict[Key, list[int]]:
    """Whole units that hold a wanted entry, in all branches, with the summaries that cover them. Their seqs by branch."""
    while True:
        found = _units_with(store, key, wanted)
        if not found:
            store.commit([], scrub=True)  # what an interrupted erase left in the store's files
            return {}
        writes = [_erasing(store, key, found, at)]
        marks = {_identity(entry) for entry in found}
        writes += _erasing_copies(store, key, marks, at)
        try:
            store.commit(writes, scrub=True)
            return {write[0]: [entry.seq for entry in write[2].evict] for write in writes}
        except MemoryFailure as failure:
            if failure.variant != "Conflict":
                raise


def _erasing_copies(store: Store, key: Key, marks: set[tuple[object, ...]], at: int) -> list[Write]:
    others = [with_branch(key, name) for name in [MAIN_BRANCH, *branches(store, key)]]
    found = {other: _units_with(store, other, lambda entry: _identity(entry) in marks) for other in others if other != key}
    return [_erasing(store, other, copies, at) for other, copies in found.items() if copies]


def erase_all(store: Store, prefix: Key, met: MetVersions | None = None) -> int:
    """Every key under the prefix, its branches too; the number of entries that were there. `met`: versions that were seen."""
    return erase_keys(store, list(store.keys(prefix)), met)


def erase_keys(store: Store, keys: Sequence[Key], met: MetVersions | None = None) -> int:
    """These, in one transaction."""
    removed = sum(_length(store, key) for key in keys)
    store.remove(keys)
    for key in keys:
        if met is not None:
            met.forget(key)
    return removed


def _length(store: Store, key: Key) -> int:
    """Of a damaged log it is unknown; erasing it is the way out."""
    try:
        return store.head(key).length
    except MemoryFailure as failure:
        if failure.variant != "Corrupt":
            raise
        return 0


def _units_with(store: Store, key: Key, wanted: Callable[[Entry], bool]) -> list[Entry]:
    entries = store.entries(key)
    works_on(len(entries))
    return [entry for unit in units(entries) if any(map(wanted, unit)) for entry in unit]


def _identity(entry: Entry) -> tuple[object, ...]:
    """What a copy of an entry in another branch shares with it."""
    return entry.seq, entry.run, entry.at, repr(entry_json(entry)["parts"])


def _erasing(store: Store, key: Key, gone: list[Entry], at: int) -> Write:
    head = store.head(key)
    left = Head(
        head.version + 1, head.next, head.turns, head.length - len(gone), head.tokens - sum(entry.tokens for entry in gone), at
    )
    first = gone[0].seq
    states = [state.without_summary() for state in store.views(key).values() if state.upto >= first]
    seqs = {entry.seq for entry in gone}
    derived = facts_naming(store, key, seqs.__contains__)
    unseen = [one.place for one in stored_seen(store, key) if not seqs.isdisjoint(one.seqs)]
    return key, head.version, Batch(left, evict=gone, views=states, gone=derived, unseen=unseen)


# ----------------------------------------------------------------
# The text form of a key's content (M-8.10, M-8.11): canonical JSON, read back whole or not at all.
#
# Only data is rebuilt, never code. Facts and observations are handed in and out by who keeps them.

INTEGERS = ("seq", "turn", "tokens", "at")


class Content:
    """Everything a dump holds."""

    __slots__ = ("next", "turns", "rows", "states", "entries", "facts", "seen")

    def __init__(
        self,
        next: int,
        turns: int,
        rows: Sequence[Turn],
        states: Sequence[ViewState],
        entries: Sequence[Entry],
        facts: Sequence[Any] = (),
        seen: Sequence[Any] = (),
    ) -> None:
        self.next = next
        self.turns = turns
        self.rows = rows
        self.states = states
        self.entries = entries
        self.facts = facts
        self.seen = seen


def dumped(content: Content) -> str:
    from json import JSONEncoder

    encode = JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode

    def listed(items: Iterable[Any]) -> str:
        """Piece by piece: a log may be long."""
        return f"[{','.join([encode(item) for item in paced(items, FEW)])}]"

    held = {
        "v": encode(FORMAT),
        "next": encode(content.next),
        "turns": encode(content.turns),
        "runs": listed(row.as_json() for row in sorted(content.rows, key=lambda row: row.turn)),
        "views": encode({state.name: state.as_json() for state in content.states}),
        "log": listed(entry_json(entry) for entry in content.entries),
        "facts": listed(content.facts),
        "seen": listed(content.seen),
    }
    text = f"{{{','.join([f'{encode(name)}:{held[name]}' for name in sorted(held)])}}}"
    works_on(len(text))
    return text


def loaded(text: str) -> Content:
    """The content of a dump; Err Version for a newer format, Corrupt for anything that is none."""
    works_on(len(text))
    held = _parsed(text)
    version = held.get("v")
    if type(version) is not int or version < 1:
        raise corrupt("it names no format")
    if version > FORMAT:
        raise newer_version(version, FORMAT)
    try:
        content = Content(
            _count(held["next"]),
            _count(held["turns"]),
            [_turn(row) for row in held["runs"]],
            [_state(name, state) for name, state in held["views"].items()],
            [entry_of(entry) for entry in paced(held["log"], FEW)],
            [fact_of(fact).as_json() for fact in paced(held["facts"], FEW)],
            [observation_of(one).as_json() for one in paced(held["seen"], FEW)],
        )
        _check(content)
        _check_values(content)
    except (KeyError, TypeError, ValueError, AttributeError, Panic):
        raise corrupt("the dump does not decode") from None
    return content


def _parsed(text: str) -> dict[str, Any]:
    from json import loads

    try:
        held = loads(text)
    except (ValueError, RecursionError):
        raise corrupt("the dump is no JSON") from None
    if not isinstance(held, dict):
        raise corrupt("the dump is no object")
    return held


def _is_said(entry: Entry) -> bool:
    """Whether its parts are texts where a message has texts."""
    texts = [entry.message.content, entry.message.role, entry.origin, *(part.text for part in entry.opaque)]
    texts += [text for call in entry.message.calls for text in (call.id, call.name, call.text)]
    texts += [text for text in (entry.run, entry.by, entry.message.call_id) if text is not None]
    arguments = [call.arguments for call in entry.message.calls]
    return all(type(text) is str for text in texts) and all(type(given) in (dict, type(None)) for given in arguments)


def _check_values(content: Content) -> None:
    """What programs are given has a form in the language: no number beyond Float, no deeper nesting than values have."""
    from_json([call.arguments for entry in content.entries for call in entry.message.calls])
    from_json([row.meta for row in content.rows])
    from_json([fact["content"] for fact in content.facts])
    from_json([one["data"] for one in content.seen])


def _count(value: Any) -> int:
    if type(value) is not int or not 0 <= value <= INT_MAX:
        raise ValueError
    return value


def _turn(row: dict[str, Any]) -> Turn:
    for name in ("turn", "at", "tokens_in", "tokens_out"):
        _count(row[name])
    if type(row["meta"]) is not dict or any(type(row[name]) not in (str, type(None)) for name in ("run", "by")):
        raise ValueError
    return Turn(**row)


def _state(name: str, held: dict[str, Any]) -> ViewState:
    for field in ("cut", "folded", "folded_at"):
        _count(held[field])
    if type(held["text"]) is not str or type(held["upto"]) is not int or held["name"] != name:
        raise ValueError
    return ViewState(**held)


def _check(content: Content) -> None:
    """What every log keeps: numbers ascend below the counters, units are whole."""
    seq = turn = -1
    for entry in paced(content.entries, FEW):
        if not _is_said(entry) or any(_count(getattr(entry, name)) < 0 for name in INTEGERS):
            raise ValueError
        if not seq < entry.seq < content.next or not turn <= entry.turn < content.turns:
            raise corrupt(f"entry {entry.seq} is out of order")
        seq, turn = entry.seq, entry.turn
    try:
        check_units([entry.message for entry in content.entries])
    except MemoryFailure as failure:
        raise corrupt(failure.message) from None
