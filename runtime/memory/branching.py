"""Branches of a key and what reaches through them: fork, erase (M-6.16, M-6.17, M-6.20, M-8.14).

A branch is an independent copy under the same key with another last part. Erasing works on all branches in one transaction.
Must not know: policies, views.
"""

from __future__ import annotations

from ...vm.values.metering import works_on
from .entries import entry_json, units
from .errors import MemoryFailure, exists, not_found
from .facts import EPHEMERAL
from .keys import MAIN_BRANCH, branch_of, with_branch
from .stores.protocol import Batch, Head

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .entries import Entry
    from .facts import Fact
    from .keys import Key
    from .met_versions import MetVersions
    from .observations import Observation
    from .stores.protocol import Store, Write


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
