"""The log of a key in a store, as a snapshot that views read (M-8.7), and what copies, erases or serialises a whole log.

Hands on `StoredLog` (entries in pieces, newest first, as far as a view asks) and `Changed` (the log as it will be after a
commit), which are both a `Source`; `fork`, `branch`, `branches` and `branch_keys`; `erase_entries` and `erase_keys`; what a key
has of facts (`stored_facts`, `stored_seen`, `facts_naming`); and `dumped` and `loaded`, with `Content`, for the text form of
M-8.10. `memory.py` and `reader.py` use most of it, `keyed_memory.py`, `changes.py`, `summaries.py` and `states.py` the rest;
`views.py` and `redaction.py` take any `Source`. It checks what a store returns: counts and units that do not fit are Corrupt
(G-12.10). MemoryFailure and MustWait of a store pass through.
"""

from __future__ import annotations

from functools import cache
from itertools import islice

from ...vm.panics import Panic
from ...vm.values import from_json
from ...vm.values.metering import FEW, paced, works_on
from .entries import FORMAT, Turn, ViewState, check_units, contents_of, entry_json, entry_of, filled, units
from .facts import EPHEMERAL, fact_of, observation_of
from .failures import WAY_OUT, MemoryFailure, corrupt, exists, newer_version, not_found
from .keys import MAIN_BRANCH, branch_of, shown, with_branch
from .stores.protocol import Batch, Head

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any, Protocol

    from .entries import Entry
    from .facts import Fact, Observation
    from .keys import Key
    from .memories import MetVersions
    from .stores.protocol import Store, Write

    class Source(Protocol):
        """A snapshot of a log, or what a view shows when it is read as one. `length` is the number of entries of the log, pinned
        ones too: of what a view shows there may be fewer."""

        length: int

        def pins(self) -> list[Entry]:
            """All pinned entries in log order."""

        def back(self) -> Iterator[Entry]:
            """Unpinned entries, newest first."""

        def newest(self, limit: int) -> list[Entry]:
            """The newest unpinned entries, at most `limit` of them, in log order."""


# Entries per read: small at first, since most views need few; doubled up to the largest, so that a whole log needs few
# reads.
FIRST_PIECE = 64
LARGEST_PIECE = 4096


class StoredLog:
    """The entries of a key below `head.next`, a `Source`; `length` is that of `head`. A log whose `head` is empty, as that of an
    expired key, is empty whatever the store still holds. MemoryFailure("Corrupt") is raised by what reads the log to its end
    where the row of the log counts other entries than there are, and by what reads unpinned entries where it sees a torn unit
    (G-12.10)."""

    __slots__ = ("store", "key", "head", "length", "_pins")

    def __init__(self, store: Store, key: Key, head: Head) -> None:
        self.store = store
        self.key = key
        self.head = head
        self.length = head.length
        self._pins: list[Entry] | None = None

    def pins(self) -> list[Entry]:
        """Return the pinned entries in log order. They are read once."""
        if self._pins is None:
            self._pins = self.store.entries(self.key, before=self.head.next, pinned=True) if self.length else []
        return self._pins

    def back(self) -> Iterator[Entry]:
        """Yield the unpinned entries, newest first, fetched in pieces that double in size."""
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
                    raise self.torn(oldest)
                return self.check(count + len(self.pins()))
            before, size = piece[0].seq, min(2 * size, LARGEST_PIECE)

    def newest(self, limit: int) -> list[Entry]:
        """Return the newest unpinned entries, at most `limit` of them, oldest first. Of the first ones, results of tools, the
        call may be missing."""
        if not self.length or not limit:
            return []
        entries = self.store.entries(self.key, before=self.head.next, limit=limit, newest=True, pinned=False)
        self._check_units(entries)
        return entries

    def forward(self, pinned: bool | None = None, after: int = -1) -> Iterator[Entry]:
        """Yield the entries with a number above `after`, oldest first; `pinned` True or False yields one kind, None both."""
        size, count, whole = FIRST_PIECE, 0, after < 0
        while self.length:
            piece = self.store.entries(self.key, after=after, before=self.head.next, limit=size, pinned=pinned)
            if whole and not count and piece and piece[0].message.role == "tool":
                raise self.torn(piece[0])
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
        """Raise MemoryFailure("Corrupt") unless the log counts so many entries."""
        if count != self.length:
            raise corrupt(f"the log {shown(self.key)} counts {self.length} entries, and {count} are there; {WAY_OUT}")

    def _check_units(self, entries: Sequence[Entry]) -> None:
        """Raise Corrupt for a tool result that stands behind no call of its unit. Of results at the beginning of a piece
        the call is in another piece."""
        if "tool" not in [entry.message.role for entry in entries]:  # as nearly always
            return
        calls: tuple[str, ...] | None = None
        for entry in entries:
            message = entry.message
            if message.role != "tool":
                calls = tuple([call.id for call in message.calls]) if message.calls else ()
            elif calls is not None and message.call_id not in calls:
                raise self.torn(entry)

    def torn(self, entry: Entry) -> MemoryFailure:
        """Return the failure for a tool result whose call does not stand before it (G-2.24)."""
        return corrupt(f"in the log {shown(self.key)} entry {entry.seq} is a tool result without its call; {WAY_OUT}")


class Changed:
    """The log as it will be after a commit: `new` behind what is stored, without the entries of `gone`. The methods are those of
    `Source`; what reads the stored log raises as `StoredLog`."""

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
        entries = list(islice(self.back(), limit))
        entries.reverse()
        return entries


# A branch is an independent copy under the same key with another last part (M-6.16). Erasing works on all branches of a key in
# one transaction (M-8.14).


def branch_keys(store: Store, key: Key) -> list[Key]:
    """Return the stored keys of a log on all its branches, the main one too. A longer key may begin with the same parts, since
    the last ones are left out where they have their defaults (M-7.9): it is another log."""
    return [other for other in store.keys(key[:-1]) if len(other) == len(key)]


def branches(store: Store, key: Key) -> list[str]:
    """Return the names of the branches of a key other than the main one, sorted."""
    return sorted(branch_of(other) for other in branch_keys(store, key) if branch_of(other) != MAIN_BRANCH)


def branch(store: Store, key: Key, name: str) -> Key:
    """Return the key of the branch `name` of a log; "" is the main branch. Raises MemoryFailure("NotFound") for one that does not
    exist (M-6.17)."""
    branch_key = with_branch(key, name)
    if name != MAIN_BRANCH and not store.head(branch_key).version:
        raise not_found(name)
    return branch_key


def fork(store: Store, key: Key, name: str, at: int, snapshot: Head | None = None) -> Key:
    """Copy the log, with summaries, facts and observations, to a new branch and return the key of the branch (M-6.16). With a
    `snapshot` only what there was then is copied, as far as it is still there: entries and turns below its numbers, the facts,
    observations and summaries that derive from no later entry, and cuts of windows that are not behind its end; `at` is in Unix
    ms. Raises MemoryFailure("Exists") when the name is taken, as that of the main branch is."""
    branch_key = with_branch(key, name)
    if name == MAIN_BRANCH or store.head(branch_key).version:
        raise exists(name)
    try:
        store.commit([(branch_key, 0, _copy(store, key, at, snapshot))])
    except MemoryFailure as failure:
        raise exists(name) if failure.variant == "Conflict" else failure from None
    return branch_key


def rewound(state: ViewState, end: int) -> ViewState:
    """Return the state of a view in a log that ends before entry `end` (M-9.8): a summary that covers a later entry goes, and the
    cut never lies behind the end of the log."""
    remaining = state if state.upto < end else state.without_summary()
    return remaining.with_cut(min(remaining.cut, end))


def _copy(store: Store, key: Key, at: int, snapshot: Head | None) -> Batch:
    head = store.head(key)
    works_on(head.length)
    next_seq, turns = (head.next, head.turns) if snapshot is None else (snapshot.next, snapshot.turns)
    entries = store.entries(key, before=next_seq)
    copied = Head(1, next_seq, turns, len(entries), sum(entry.tokens for entry in entries), at)
    states = [rewound(state, next_seq).not_folded_after(turns) for state in store.views(key).values()]
    rows = [row for row in store.turns(key) if row.turn < turns]
    observations = [one for one in stored_seen(store, key) if all(seq < next_seq for seq in one.seqs)]
    facts = [fact for fact in stored_facts(store, key) if all(seq < next_seq for seq in fact.seqs)]
    return Batch(copied, entries=entries, turns=rows, views=states, facts=facts, seen=observations)


def stored_facts(store: Store, key: Key) -> list[Fact]:
    """Return the facts of a key that outlive a turn: all but ephemeral ones; an empty list for a store that keeps no facts."""
    return [fact for fact in store.facts(key) if fact.tier != EPHEMERAL] if hasattr(store, "facts") else []


def facts_naming(store: Store, key: Key, names: Callable[[int], bool]) -> list[int]:
    """Return the numbers of the facts, ephemeral ones too, that derive from an entry for which `names` is true."""
    return [fact.id for fact in store.facts(key) if any(map(names, fact.seqs))] if hasattr(store, "facts") else []


def stored_seen(store: Store, key: Key) -> list[Observation]:
    """Return the observations of a key, by topic and number; an empty list for a store that keeps no facts."""
    return store.seen(key) if hasattr(store, "seen") else []


def erase_entries(store: Store, key: Key, wanted: Callable[[Entry], bool], at: int) -> dict[Key, list[int]]:
    """Erase the whole units of a log that hold a wanted entry, and their copies in its other branches, with the summaries that
    cover them and the facts and observations that derive from them; return the numbers of the removed entries by key, an empty
    map when there were none. `at` is in Unix ms. It is tried again when somebody commits meanwhile."""
    while True:
        head = store.head(key)
        erased = _units_with(store, key, wanted)
        if not erased:
            store.commit([], scrub=True)  # what an interrupted erase left in the store's files
            return {}
        writes = [_erasing(store, key, head, erased, at)]
        # Numbers of branches part at the fork, so a copy is recognised by number, run, time and content.
        marks = {_identity(entry) for entry in erased}
        writes += _erasing_copies(store, key, marks, at)
        try:
            store.commit(writes, scrub=True)
            return {write[0]: [entry.seq for entry in write[2].evict] for write in writes}
        except MemoryFailure as failure:
            if failure.variant != "Conflict":
                raise


def _erasing_copies(store: Store, key: Key, marks: set[tuple[object, ...]], at: int) -> list[Write]:
    others = [with_branch(key, name) for name in [MAIN_BRANCH, *branches(store, key)]]
    heads = {other: store.head(other) for other in others if other != key}
    by_branch = {other: _units_with(store, other, lambda entry: _identity(entry) in marks) for other in heads}
    return [_erasing(store, other, heads[other], copies, at) for other, copies in by_branch.items() if copies]


def erase_keys(store: Store, keys: Sequence[Key], met: MetVersions | None = None) -> int:
    """Erase these keys in one transaction; return the number of removed entries, in which a damaged log counts none. `met`
    forgets the versions that were seen of them."""
    removed = sum(_length(store, key) for key in keys)
    store.remove(keys)
    for key in keys:
        if met is not None:
            met.forget(key)
    return removed


def _length(store: Store, key: Key) -> int:
    """Return the length of a log; 0 for a damaged one, since erasing it is the way out."""
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
    """Return what an entry shares with its copies in other branches."""
    return entry.seq, entry.run, entry.at, repr(entry_json(entry)["parts"])


def _erasing(store: Store, key: Key, head: Head, erased: list[Entry], at: int) -> Write:
    """Return the write that erases entries. `head` was read before them, so that it does not pass if somebody has committed
    since."""
    head_after = Head(
        head.version + 1, head.next, head.turns, head.length - len(erased),
        head.tokens - sum(entry.tokens for entry in erased), at,
    )  # fmt: skip
    first = erased[0].seq
    states = [state.without_summary() for state in store.views(key).values() if state.upto >= first]
    seqs = {entry.seq for entry in erased}
    derived = facts_naming(store, key, seqs.__contains__)
    unseen = [one.place for one in stored_seen(store, key) if not seqs.isdisjoint(one.seqs)]
    return key, head.version, Batch(head_after, evict=erased, views=states, gone=derived, unseen=unseen)


# The text form of a key's content (M-8.10, M-8.11): canonical JSON, read back whole or not at all. Only data is rebuilt, never
# code.

class Content:
    """Everything that a dump holds. `next` and `turns` are the counters of the log, `rows` its turn records, `states` those of
    its views, `entries` its entries with their media; `facts`, and the observations `seen`, are in their JSON form."""

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
    """Return the dump of a content as canonical JSON (M-8.10)."""
    encode = _encoder()
    parts: dict[str, Any] = {
        "v": FORMAT,
        "next": content.next,
        "turns": content.turns,
        "runs": (row.as_json() for row in sorted(content.rows, key=lambda row: row.turn)),
        "views": {state.name: state.as_json() for state in content.states},
        "log": (entry_json(entry) for entry in content.entries),
        "facts": content.facts,
        "seen": content.seen,
    }
    contents = contents_of(content.entries)
    if contents:
        from ...vm.values.containers import base64_of

        parts["media"] = {content_hash: base64_of(data) for content_hash, data in contents.items()}
    if len(content.rows) + len(content.entries) + len(content.facts) + len(content.seen) < FEW:
        text = encode(parts | {name: list(parts[name]) for name in LISTS})
    else:  # item by item, so that a long log can be paced
        texts = {name: encode(part) for name, part in parts.items() if name not in LISTS}
        for name in LISTS:
            texts[name] = f"[{','.join([encode(item) for item in paced(parts[name], FEW)])}]"
        text = f"{{{','.join([f'{encode(name)}:{texts[name]}' for name in sorted(texts)])}}}"
    works_on(len(text))
    return text


LISTS = ("runs", "log", "facts", "seen")


@cache
def _encoder() -> Callable[[object], str]:
    """Return what makes the JSON of a dump. Sorted keys and no blanks: the same content has the same text (M-8.10)."""
    from json import JSONEncoder

    return JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode


def loaded(text: str) -> Content:
    """Return the content of a dump, all of it checked. Raises MemoryFailure("Version") for a newer format or a part that this
    version does not carry, "Corrupt" for a text that is no dump."""
    works_on(len(text))
    dump = _parsed(text)
    version = dump.get("v")
    if type(version) is not int or version < 1:
        raise corrupt("it names no format")
    if version > FORMAT:
        raise newer_version(version, FORMAT)
    try:
        # Every value is checked here, before anything of the key is replaced.
        facts = [fact_of(fact) for fact in paced(dump["facts"], FEW)]
        seen = [observation_of(one) for one in paced(dump["seen"], FEW)]
        _check_facts(facts, seen)
        content = Content(
            dump["next"],
            dump["turns"],
            [_turn(row) for row in dump["runs"]],
            [_state(name, state) for name, state in dump["views"].items()],
            [entry_of(entry) for entry in paced(dump["log"], FEW)],
            [fact.as_json() for fact in facts],
            [one.as_json() for one in seen],
        )
        _check(content)
        _check_values(content)
        filled(list(content.entries), _contents(dump.get("media", {})))
    except (KeyError, TypeError, ValueError, AttributeError, Panic):
        raise corrupt("the dump does not decode") from None
    return content


def _contents(texts: dict[str, str]) -> Callable[[list[str]], dict[str, bytes]]:
    """Return what reads the contents of media of a dump, whose base64 `texts` are by hash. Raises ValueError or its like for
    what is none."""
    from base64 import b64decode

    if any(type(text) is not str for text in texts.values()):
        raise ValueError
    return lambda hashes: {one: b64decode(texts[one], validate=True) for one in hashes if one in texts}


def _parsed(text: str) -> dict[str, Any]:
    from json import loads

    try:
        dump = loads(text)
    except (ValueError, RecursionError):
        raise corrupt("the dump is no JSON") from None
    if not isinstance(dump, dict):
        raise corrupt("the dump is no object")
    return dump


def _has_texts(entry: Entry) -> bool:
    """Whether everything in the entry that must be a text is one."""
    texts = [entry.message.content, entry.message.role, entry.origin, *(part.text for part in entry.opaque)]
    texts += [text for call in entry.message.calls for text in (call.id, call.name, call.text)]
    texts += [text for text in (entry.run, entry.by, entry.message.call_id) if text is not None]
    arguments = [call.arguments for call in entry.message.calls]
    return all(type(text) is str for text in texts) and all(type(value) in (dict, type(None)) for value in arguments)


def _check_values(content: Content) -> None:
    """Raise unless everything that a program can read has a form in the language: no number beyond Float, no deeper
    nesting than values have."""
    from_json([call.arguments for entry in content.entries for call in entry.message.calls])
    from_json([row.meta for row in content.rows])
    from_json([fact["content"] for fact in content.facts])
    from_json([one["data"] for one in content.seen])


def _turn(row: dict[str, Any]) -> Turn:
    if row.keys() != set(Turn.__slots__) or type(row["meta"]) is not dict:
        raise ValueError
    return Turn(**row)


def _state(name: str, stored: dict[str, Any]) -> ViewState:
    if stored.keys() != set(ViewState.__slots__) or stored["name"] != name:
        raise ValueError
    return ViewState(**stored)


def _check(content: Content) -> None:
    """Raise unless a store may hold all of it: what is read from one is checked in the same way, and would be damage then. The
    numbers ascend below the counters, none stands twice, and all units are whole, as in every log."""
    from .stores.rows import MOST, check_entry, check_turn, check_view

    seq = turn = -1
    for entry in paced(content.entries, FEW):
        if not _has_texts(entry):
            raise ValueError
        check_entry(entry)
        if not seq < entry.seq < content.next or not turn <= entry.turn < content.turns:
            raise corrupt(f"entry {entry.seq} is out of order")
        seq, turn = entry.seq, entry.turn
    for row in content.rows:
        check_turn(row)
    for state in content.states:
        check_view(state)
    counts = (content.next, content.turns, sum(entry.tokens for entry in content.entries))
    if any(type(count) is not int or not 0 <= count < MOST for count in counts):
        raise corrupt("a count of the dump is none")
    if any(row.turn >= content.turns for row in content.rows):
        raise corrupt("a turn is out of order")
    _refuse_twice("a turn", (row.turn for row in content.rows))
    _refuse_twice("a run", (row.run for row in content.rows if row.run is not None))
    names = [text for row in content.rows for text in (row.run, row.by)]
    names += [text for entry in content.entries for text in (entry.run, entry.by)]
    for name in (*names, *(state.name for state in content.states)):
        if name is not None:
            name.encode()  # raises UnicodeEncodeError, a ValueError: in the tables of stores they are texts
    try:
        check_units([entry.message for entry in content.entries])
    except MemoryFailure as failure:
        raise corrupt(failure.message) from None


def _check_facts(facts: Sequence[Fact], seen: Sequence[Observation]) -> None:
    """Raise unless a store may hold these facts and observations, as `_check`. Facts of two tiers may have one name, and one
    number where two sessions have written them."""
    from .stores.rows import check_fact, check_seen

    for fact in facts:
        check_fact(fact)
    for one in seen:
        check_seen(one)
    _refuse_twice("the number of a fact", ((fact.tier, fact.id) for fact in facts))
    _refuse_twice("the name of a fact", ((fact.tier, fact.name) for fact in facts))
    _refuse_twice("an observation", (one.place for one in seen))


def _refuse_twice(what: str, keys: Iterable[object]) -> None:
    known: set[object] = set()
    for key in keys:
        if key in known:
            raise corrupt(f"{what} stands twice: {' '.join(map(str, key)) if isinstance(key, tuple) else key}")
        known.add(key)
