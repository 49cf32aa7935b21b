"""Whose turn it is to change a slot that several sessions change at once (M-8.21): a short lease between them.

It only orders, so that they queue in place of undoing each other's work: what is stored is compared at every change, and who
waits longer than `PATIENCE` goes on without the lease. Nothing is asked of the store until changes follow each other or one came
too late. Hands on `SlotTurns`. Must not know: the machine, what a slot holds, how waiting is done.
"""

from __future__ import annotations

from contextlib import suppress
from random import Random
from time import monotonic

from .errors import MemoryFailure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from typing import Any

    from .keys import Key

    Use = Callable[[Callable[[], Any]], Awaitable[Any]]
    Rest = Callable[[float], Awaitable[None]]

LEASE = 0.25
"""Seconds after which it ends where nobody gives it back: who holds it was killed, or changes the slot no more."""
TURN = 0.1
"""Seconds in which a session that holds it makes its changes; the others wait so long."""
PATIENCE = 1.0
"""Seconds that a change waits for the lease."""
REST = 0.01
"""Seconds between two tries to take it, at most."""
ASIDE = 0.05
"""Seconds before one who had it takes it again: on a busy machine a try of the others may come late."""
APART = 0.1
"""Changes further apart than that do not follow each other."""
LOOK = 0.05
"""Seconds after which a session that changes a slot again and again looks whether somebody waits for it."""
CONTENDED = 1.0
"""Seconds for which a slot counts as changed by others, too, since that was seen."""
KEPT = 256
"""Slots of which a session knows when it changed them."""
NEEDS = ("acquire", "release", "holder")


class SlotTurn:
    """Of one slot, as one session knows it. Times are those of `monotonic`: `changed` of the newest change, `looked` of the
    newest look at the store, `contended` until when it counts as such; `since` when the lease is held, or None."""

    __slots__ = ("changed", "looked", "contended", "since")

    def __init__(self) -> None:
        self.changed = self.looked = self.contended = 0.0
        self.since: float | None = None

    def begins(self) -> bool:
        """A change begins, or ends; whether the store is to be asked."""
        now = monotonic()
        if self.since is None and now >= self.contended:
            if now > self.changed + APART:
                self.looked = now
            self.changed = now
        return self.is_awaited()

    def is_awaited(self) -> bool:
        now = monotonic()
        return self.since is not None or now < self.contended or now > self.looked + LOOK

    def lost(self) -> None:
        """Another changed it meanwhile."""
        self.contended = monotonic() + CONTENDED


class SlotTurns:
    """Of one session, which `owner` names to others."""

    def __init__(self, owner: str) -> None:
        self.owner = owner
        self._slots: dict[Any, SlotTurn] = {}
        self._chance = Random()

    def of(self, place: Any) -> SlotTurn:
        found = self._slots.get(place)
        if found is None:
            if len(self._slots) >= KEPT:
                del self._slots[next(iter(self._slots))]
            found = self._slots[place] = SlotTurn()
        return found

    async def take(self, slot: SlotTurn, store: Any, key: Key, use: Use, rest: Rest) -> None:
        """Before a change. `use` does an operation on the store, `rest` waits."""
        if not slot.is_awaited() or not all(hasattr(store, method) for method in NEEDS):
            return
        with suppress(MemoryFailure):  # the change itself says what fails
            if monotonic() >= slot.contended:
                await self.give_back(slot, store, key, use)
                slot.looked = monotonic()
                if await use(lambda: store.holder(key)) is None:
                    return
                slot.lost()
            if slot.since is not None:
                if monotonic() < slot.since + TURN:
                    return
                await self.give_back(slot, store, key, use)
                await rest(ASIDE)
            until = monotonic() + PATIENCE
            while not await use(lambda: store.acquire(key, self.owner, LEASE)):
                slot.lost()
                if monotonic() > until:
                    return
                await rest(self._chance.uniform(0, REST))
            slot.since = monotonic()

    async def stored(self, slot: SlotTurn, store: Any, key: Key, use: Use) -> None:
        """After a change that was stored: the first of those that follow each other keeps the lease for the next."""
        now = monotonic()
        follows = now < slot.changed + APART
        slot.changed = now
        if not follows:
            with suppress(MemoryFailure):
                await self.give_back(slot, store, key, use)

    async def give_back(self, slot: SlotTurn, store: Any, key: Key, use: Use) -> None:
        if slot.since is not None:
            slot.since = None
            await use(lambda: store.release(key, self.owner))
