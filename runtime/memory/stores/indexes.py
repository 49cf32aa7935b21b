"""Indexes of the facts of a store's keys, a few at a time, which follow what others write (M-14.4).

A store notes with each change of the facts of a key its number, one more than that before, and which facts it changed; the
newest notes only. A reader asks for those since the change it knows, that one included: when it is no longer there, or does not
lead to the newest, the facts are read anew. Must not know: where facts and notes are stored.
"""

from __future__ import annotations

from os import urandom

from ..fact_index import FactIndex

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..facts import Fact
    from ..keys import Key
    from .protocol import Batch

    Note = tuple[int, str | None]
    """The number of a change, and the numbers of its facts between blanks; None when all may be others."""

KEPT = 64
NOTES = 256
"""Changes that are noted: who missed more reads anew."""
NAMED = 1_000
"""Facts a note names: of a change of more it says that all may be others."""
NEVER, NONE = -1, 0
"""Nothing was read yet; there was no note."""


def first_change() -> int:
    """Of a key: at random, so that no key that was removed and written again is taken for what it was."""
    return int.from_bytes(urandom(6), "big") + 1


def changed_facts(notes: Sequence[Note], since: int) -> set[int] | None:
    """By changes after that one, which is the first of the notes; None when the notes do not say."""
    if since == NONE and not notes:
        return set()
    if since <= NONE or [number for number, _ in notes] != list(range(since, since + len(notes))) or not notes:
        return None
    after = [facts for _, facts in notes[1:]]
    return None if None in after else {int(one) for facts in after if facts for one in facts.split()}


class Indexes:
    """By key. `notes`: of a key, from a number on, in order; `read`: the facts of a key with these numbers, or all."""

    __slots__ = ("_held", "_notes", "_read")

    def __init__(
        self, notes: Callable[[Key, int], Sequence[Note]], read: Callable[[Key, Sequence[int] | None], list[Fact]]
    ) -> None:
        self._held: dict[Key, FactIndex] = {}
        self._notes = notes
        self._read = read

    def of(self, key: Key) -> FactIndex:
        """Of one state of the facts: read on until nobody changed them meanwhile."""
        held = self._held.get(key)
        if held is None:
            if len(self._held) >= KEPT:
                del self._held[next(iter(self._held))]
            held = self._held[key] = FactIndex(stamp=NEVER)
        while True:
            notes = self._notes(key, max(held.stamp, NONE))
            newest = notes[-1][0] if notes else NONE
            numbers = changed_facts(notes, held.stamp)
            if numbers is None:
                held.reconcile(self._read(key, None), newest)
            elif newest != held.stamp:
                facts = self._read(key, sorted(numbers))
                held.change(facts, numbers.difference(fact.id for fact in facts))
                held.stamp = newest
            else:
                return held

    def known(self, key: Key) -> FactIndex | None:
        """As of its change, where one was noted; nothing is read."""
        held = self._held.get(key)
        return held if held is not None and held.stamp > NONE else None

    def follow(self, key: Key, change: int | None, facts: Sequence[Fact], gone: Sequence[int]) -> None:
        """A change by this handle, which is stored. When somebody else's came before it, both are read."""
        held = self._held.get(key)
        if held is not None and change is not None and held.stamp == change - 1:
            held.change(facts, gone)
            held.stamp = change

    def follow_commit(self, key: Key, change: int | None, batch: Batch) -> None:
        if batch.facts_anew:
            self.drop(key)
        self.follow(key, change, batch.facts, batch.gone)

    def drop(self, key: Key) -> None:
        self._held.pop(key, None)
