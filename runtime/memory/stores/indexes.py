"""Indexes of the facts of a store's keys, a few at a time, kept while nobody else changes the facts (M-14.4).

Must not know: where facts are stored.
"""

from __future__ import annotations

from ..fact_index import FactIndex

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..facts import Fact
    from ..keys import Key
    from .protocol import Batch

KEPT = 64


class Indexes:
    """By key."""

    __slots__ = ("_held",)

    def __init__(self) -> None:
        self._held: dict[Key, FactIndex] = {}

    def of(self, key: Key, stamp: object, read: Callable[[Key], list[Fact]]) -> FactIndex:
        """`stamp` is another one when another handle may have written; None where that is not known. The facts are then read
        again, and only what differs is indexed."""
        held = self._held.get(key)
        if held is not None and stamp is not None and held.stamp == stamp:
            return held
        facts = read(key)
        if held is None:
            if len(self._held) >= KEPT:
                del self._held[next(iter(self._held))]
            held = self._held[key] = FactIndex()
        held.reconcile(facts, stamp)
        return held

    def follow(self, key: Key, facts: Sequence[Fact], gone: Sequence[int]) -> None:
        """A change by this handle, which is stored."""
        held = self._held.get(key)
        if held is not None:
            held.change(facts, gone)

    def follow_commit(self, key: Key, batch: Batch) -> None:
        if batch.facts_anew:
            self.drop(key)
        self.follow(key, batch.facts, batch.gone)

    def drop(self, key: Key) -> None:
        self._held.pop(key, None)
