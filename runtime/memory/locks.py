"""Who may write a memory next: the turn locks of `Serial` memories (M-5.17, M-8.13), and the queue of sessions that change one
slot of a context (M-8.21).

Hands on `TurnLocks` (first come, first served in the process, a lease between processes) to conversations and the performer of
memories, and `SlotTurns` with its `SlotTurn` to `memories.py`, from which the performer of memories has them. A lease is a lock
in the store that ends by itself after some seconds. It only orders writers; when it is lost the version check of the store still
protects the log. Of a log nothing is read here but its version, and nothing written.
"""

from __future__ import annotations

import time
from collections import deque
from contextlib import suppress
from random import Random
from time import monotonic

from ..loop import asyncio_loop, pause, stop_all, wait_until_done, within
from .failures import MemoryFailure, waited_too_long
from .stores.operations import IN_PLACE, MustWait
from .stores.sqlite import has_died

TYPE_CHECKING = False
if TYPE_CHECKING:
    from asyncio import Future, Task
    from collections.abc import Awaitable, Callable, Coroutine
    from typing import Any

    from .keys import Key
    from .memory import Memory
    from .stores.operations import Operations


# In seconds: how long a lease lasts, the time between two renewals, and between two requests for one that is held elsewhere.
LEASE_SECONDS = 60.0
RENEWED_EVERY = 20.0
LEASE_POLL = 0.05
RETURNED_WITHIN = 0.1
"""Seconds that the end of a session waits for stores to take leases back."""


class TurnLocks:
    """The turn locks of one session. `owner` names it to other processes; `loop` returns the event loop; `operations` are
    those of the session on its stores."""

    def __init__(
        self, owner: str = "", loop: Callable[[], Any] = asyncio_loop, operations: Operations = IN_PLACE
    ) -> None:
        self.owner = owner
        self.loop = loop
        self.operations = operations
        self._waiting: dict[Memory, deque[Future[bool]]] = {}
        self._renewals: dict[Memory, Task[None]] = {}
        self._asked: set[Memory] = set()  # the store has their lease for this session, or may have it for all that is known
        self._returns: dict[Memory, Task[None]] = {}

    async def take(self, memory: Memory, timeout: float | None = None) -> None:
        """Wait for the lock of a memory: at most `timeout` seconds (None: without end) for turns of this process and for the
        lease where a store has one, together; at the end of the time the lease is still asked for once. Raises
        MemoryFailure("Conflict") when it does not come in time (M-5.19), or the failure of the store; it is not held then."""
        until = None if timeout is None else self._timed().time() + timeout
        if memory not in self._waiting:
            self._waiting[memory] = deque()
        else:
            await self._wait(memory, timeout)
        if memory.shared and hasattr(memory.store, "acquire"):
            try:
                await self._lease(memory, until)
            except BaseException:
                self.release(memory)
                raise

    def _timed(self) -> Any:
        return self.operations.timed(self.loop())

    async def _wait(self, memory: Memory, timeout: float | None) -> None:
        loop = self.loop()
        mine: Future[bool] = loop.create_future()
        self._waiting[memory].append(mine)

        def expire() -> None:
            if not mine.done():
                mine.set_result(False)

        timer = None if timeout is None else self._timed().call_later(timeout, expire)
        try:
            granted = await mine
        except BaseException:
            if mine in self._waiting.get(memory, ()):
                self._waiting[memory].remove(mine)
            elif not mine.cancelled():  # it came at the same moment
                self.release(memory)
            raise
        finally:
            if timer is not None:
                timer.cancel()
        if not granted:
            raise waited_too_long(self._version(memory))

    def release(self, memory: Memory) -> None:
        """Give the lock, which must be held, to the caller that has waited longest, and the lease back to the store. Does not
        wait, and raises no failure of the store."""
        renewal = self._renewals.pop(memory, None)
        if renewal is not None:
            renewal.cancel()
        if memory in self._asked:
            self._asked.remove(memory)
            self._give_back(memory)
        waiting = self._waiting[memory]
        while waiting:
            mine = waiting.popleft()
            if not mine.done():
                return mine.set_result(True)
        del self._waiting[memory]

    def _give_back(self, memory: Memory) -> None:
        """Give the lease back; a store that has to be waited for gets it meanwhile. Where that fails the lease ends by
        itself."""
        store: Any = memory.store

        def give() -> None:
            with suppress(MemoryFailure):
                store.release(memory.key, self.owner)

        operations = self.operations.beside
        try:
            operations.attempt(give)
        except MustWait:
            job = self._returns[memory] = self.loop().create_task(operations.use(give))
            job.add_done_callback(lambda _: self._returns.pop(memory, None) if self._returns.get(memory) is job else None)

    async def returned(self) -> None:
        """Wait until the leases on their way back have arrived, at most RETURNED_WITHIN seconds each; then give up."""
        for job in list(self._returns.values()):
            with suppress(TimeoutError):
                await within(self.loop(), RETURNED_WITHIN, wait_until_done(self.loop(), job))
            await stop_all(self.loop(), [job])

    async def _lease(self, memory: Memory, until: float | None) -> None:
        loop = self.loop()
        returning = self._returns.get(memory)
        if returning is not None:
            await self._in_time(memory, until, wait_until_done(loop, returning))
        while not await self._acquired(memory, until):
            if await self.operations.use(lambda: self._orphaned(memory)):
                continue
            if until is not None and self._timed().time() >= until:
                raise waited_too_long(self._version(memory))
            await self._rest()
        self._renewals[memory] = loop.create_task(self._renew(memory))

    async def _acquired(self, memory: Memory, until: float | None) -> bool:
        """Try once to take the lease. Time in which the store does not answer counts as waiting, too (M-5.19); what it does after
        nobody waits any more is undone by `release`, whose operation comes behind this one."""
        self._asked.add(memory)
        try:
            taken = bool(self.operations.attempt(lambda: self._acquire(memory)))
        except MustWait:
            taken = bool(await self._in_time(memory, until, self.operations.use(lambda: self._acquire(memory))))
        if not taken:
            self._asked.remove(memory)
        return taken

    async def _in_time(self, memory: Memory, until: float | None, waiting: Coroutine[Any, Any, Any]) -> Any:
        if until is None:
            return await waiting
        loop = self._timed()
        try:
            return await within(loop, max(until - loop.time(), LEASE_POLL), waiting)
        except TimeoutError:
            raise waited_too_long(self._version(memory)) from None

    def _version(self, memory: Memory) -> int:
        """Return the version of the log, or the last one that was seen where the store would have to be waited for."""
        with suppress(MustWait):
            return int(self.operations.attempt(memory.version))
        return 0 if memory.met is None else memory.met.version(memory.key)

    def _orphaned(self, memory: Memory) -> bool:
        """Take the lease from a process that is over; return whether that was done."""
        store: Any = memory.store
        holder = store.holder(memory.key) if hasattr(store, "holder") else None
        if holder is None or not getattr(store, "died", has_died)(holder):
            return False
        store.release(memory.key, holder)
        return True

    async def _rest(self) -> None:
        """Wait before the lease is asked for again: in real time, since other processes have no other clock (G-14.5). A
        virtual clock that jumps would ask in a busy loop."""
        begun = time.monotonic()
        await self._sleep(LEASE_POLL)
        time.sleep(max(0.0, begun + LEASE_POLL - time.monotonic()))

    async def _renew(self, memory: Memory) -> None:
        while True:
            await self._sleep(RENEWED_EVERY)
            with suppress(MemoryFailure):  # it is tried again before the lease ends
                await self.operations.beside.use(lambda: self._acquire(memory))

    async def _sleep(self, seconds: float) -> None:
        await pause(self.loop(), seconds)

    def _acquire(self, memory: Memory) -> bool:
        return bool(memory.store.acquire(memory.key, self.owner, LEASE_SECONDS))  # type: ignore[attr-defined]


# Whose turn it is to change a slot that several sessions change at once (M-8.21): a short lease between them, so that they queue
# instead of trying in vain. The content is compared at every change, so a session that waits longer than PATIENCE goes on
# without the lease. The store is asked for nothing until changes follow each other or one came too late.

if TYPE_CHECKING:
    Use = Callable[[Callable[[], Any]], Awaitable[Any]]
    Rest = Callable[[float], Awaitable[None]]

LEASE = 0.25
"""Seconds after which the lease ends if nobody gives it back: its holder was killed, or changes the slot no more."""
TURN = 0.1
"""Seconds for which a session keeps the lease and makes its changes, while the others wait."""
PATIENCE = 1.0
"""Seconds that a change waits for the lease."""
REST = 0.01
"""Seconds between two tries to take it, at most."""
ASIDE = 0.05
"""Seconds before a session that had it takes it again: on a busy machine the others may try late."""
APART = 0.1
"""Seconds: changes that are further apart do not follow each other."""
LOOK = 0.05
"""Seconds after which a session that changes a slot again and again looks whether somebody waits for it."""
CONTENDED = 1.0
"""Seconds for which a slot counts as changed by others after that was seen."""
KEPT = 256
"""Slots of which a session knows something; at one more the oldest is forgotten."""
NEEDS = ("acquire", "release", "holder")


class SlotTurn:
    """What one session knows of one slot. Times are seconds of `clock`: `changed` of the newest change, `looked` of
    the newest look at the store, `contended` until when others count as changing it; `since` when the lease was taken,
    None without it."""

    __slots__ = ("clock", "changed", "looked", "contended", "since")

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self.clock = clock
        self.changed = self.looked = self.contended = 0.0
        self.since: float | None = None

    def begins(self) -> bool:
        """Note that a change begins or ends; return whether the store has to be asked about the lease (`is_awaited`)."""
        now = self.clock()
        if self.since is None and now >= self.contended:
            if now > self.changed + APART:
                self.looked = now
            self.changed = now
        return self.is_awaited()

    def is_awaited(self) -> bool:
        """Return whether the session holds the lease, others may wait for it, or it is time to look (LOOK)."""
        now = self.clock()
        return self.since is not None or now < self.contended or now > self.looked + LOOK

    def lost(self) -> None:
        """Note that another session changed the slot meanwhile, or holds its lease."""
        self.contended = self.clock() + CONTENDED


class SlotTurns:
    """The slots of contexts that one session changes; `owner` names it to others, `clock` gives seconds that only grow."""

    def __init__(self, owner: str, clock: Callable[[], float] = monotonic) -> None:
        self.owner = owner
        self.clock = clock
        self._slots: dict[Any, SlotTurn] = {}
        self._chance = Random()

    def of(self, place: Any) -> SlotTurn:
        """Return what is known of a slot; `place` is what tells slots apart. Nothing is known of a new one, nor of one that
        KEPT others came after."""
        turn = self._slots.get(place)
        if turn is None:
            if len(self._slots) >= KEPT:
                del self._slots[next(iter(self._slots))]
            turn = self._slots[place] = SlotTurn(self.clock)
        return turn

    async def take(self, slot: SlotTurn, store: Any, key: Key, use: Use, rest: Rest) -> None:
        """Take the lease before a change, if others change the slot too; after PATIENCE seconds return without it. Where the
        session has held it for less than TURN it keeps it; a store without leases is not asked. `use` performs an operation on
        the store, `rest` waits so many seconds. Raises no MemoryFailure: a store that fails is reported by the change itself."""
        if not slot.is_awaited() or not all(hasattr(store, method) for method in NEEDS):
            return
        with suppress(MemoryFailure):  # the change that follows reports it
            # Nobody was seen to change it of late: look whether somebody holds the lease before taking it.
            if self.clock() >= slot.contended:
                await self.give_back(slot, store, key, use)
                slot.looked = self.clock()
                if await use(lambda: store.holder(key)) is None:
                    return
                slot.lost()
            if slot.since is not None:
                if self.clock() < slot.since + TURN:
                    return
                await self.give_back(slot, store, key, use)
                await rest(ASIDE)
            until = self.clock() + PATIENCE
            while not await use(lambda: store.acquire(key, self.owner, LEASE)):
                slot.lost()
                if self.clock() > until:
                    return
                await rest(self._chance.uniform(0, REST))
            slot.since = self.clock()

    async def stored(self, slot: SlotTurn, store: Any, key: Key, use: Use) -> None:
        """Note a change that was stored. One that follows another within APART seconds keeps the lease for the next; any other
        gives it back."""
        now = self.clock()
        follows = now < slot.changed + APART
        slot.changed = now
        if not follows:
            with suppress(MemoryFailure):
                await self.give_back(slot, store, key, use)

    async def give_back(self, slot: SlotTurn, store: Any, key: Key, use: Use) -> None:
        """Give the lease back if it is held. Raises the failure of the store."""
        if slot.since is not None:
            slot.since = None
            await use(lambda: store.release(key, self.owner))
