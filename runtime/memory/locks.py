"""Turn locks of `Serial` memories: first come first served in the process, a lease between processes (M-5.17, M-8.13).

The lease orders; the version check protects when it is lost. Must not know: calls.
"""

from __future__ import annotations

import time
from collections import deque
from contextlib import suppress

from ..jobs import asyncio_loop, ended, pause, stop_all, within
from .errors import MemoryFailure, waited_too_long
from .lease_owner import has_died
from .stores.operations import IN_PLACE, MustWait

TYPE_CHECKING = False
if TYPE_CHECKING:
    from asyncio import Future, Task
    from collections.abc import Callable
    from typing import Any

    from .memory import Memory
    from .stores.operations import Operations

LEASE_SECONDS = 60.0
RENEWED_EVERY = 20.0
LEASE_POLL = 0.05
RETURNED_WITHIN = 0.1
"""Seconds that a run which is over waits for a store to take a lease back."""


class TurnLocks:
    """The locks of one session. `owner` names it to other processes; `loop` gives the event loop they run in; `operations` are
    those of the session on its stores."""

    def __init__(
        self, owner: str = "", loop: Callable[[], Any] = asyncio_loop, operations: Operations = IN_PLACE
    ) -> None:
        self.owner = owner
        self.loop = loop
        self.operations = operations
        self._waiting: dict[Memory, deque[Future[bool]]] = {}
        self._renewals: dict[Memory, Task[None]] = {}
        self._returns: dict[Memory, Task[None]] = {}

    async def take(self, memory: Memory, timeout: float | None = None) -> None:
        """Err Conflict when the lock does not come in time (M-5.19)."""
        if memory not in self._waiting:
            self._waiting[memory] = deque()
        else:
            await self._wait(memory, timeout)
        if memory.shared and hasattr(memory.store, "acquire"):
            try:
                await self._lease(memory, timeout)
            except BaseException:
                self.release(memory)
                raise

    async def _wait(self, memory: Memory, timeout: float | None) -> None:
        loop = self.loop()
        mine: Future[bool] = loop.create_future()
        self._waiting[memory].append(mine)

        def expire() -> None:
            if not mine.done():
                mine.set_result(False)

        timer = None if timeout is None else loop.call_later(timeout, expire)
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
        renewal = self._renewals.pop(memory, None)
        if renewal is not None:
            renewal.cancel()
            self._give_back(memory)
        waiting = self._waiting[memory]
        while waiting:
            mine = waiting.popleft()
            if not mine.done():
                return mine.set_result(True)
        del self._waiting[memory]

    def _give_back(self, memory: Memory) -> None:
        """The lease; a store that has to be waited for gets it back meanwhile. Where that fails the lease ends by itself."""
        store: Any = memory.store

        def give() -> None:
            with suppress(MemoryFailure):
                store.release(memory.key, self.owner)

        try:
            self.operations.attempt(give)
        except MustWait:
            job = self._returns[memory] = self.loop().create_task(self.operations.use(give))
            job.add_done_callback(lambda _: self._returns.pop(memory, None) if self._returns.get(memory) is job else None)

    async def returned(self) -> None:
        """All leases that are on their way back are there, or have had a moment for it."""
        for job in list(self._returns.values()):
            with suppress(TimeoutError):
                await within(self.loop(), RETURNED_WITHIN, ended(self.loop(), job))
            await stop_all(self.loop(), [job])

    async def _lease(self, memory: Memory, timeout: float | None) -> None:
        loop = self.loop()
        until = None if timeout is None else loop.time() + timeout
        returning = self._returns.get(memory)
        if returning is not None:
            await ended(loop, returning)
        while not await self._acquired(memory, until):
            if await self.operations.use(lambda: self._orphaned(memory)):
                continue
            if until is not None and loop.time() >= until:
                raise waited_too_long(self._version(memory))
            await self._rest()
        self._renewals[memory] = loop.create_task(self._renew(memory))

    async def _acquired(self, memory: Memory, until: float | None) -> bool:
        """Waiting for a store that does not answer counts too (M-5.19)."""
        with suppress(MustWait):
            return bool(self.operations.attempt(lambda: self._acquire(memory)))
        asking = self.operations.use(lambda: self._acquire(memory))
        if until is None:
            return bool(await asking)
        loop = self.loop()
        try:
            return bool(await within(loop, max(until - loop.time(), LEASE_POLL), asking))
        except TimeoutError:
            raise waited_too_long(self._version(memory)) from None

    def _version(self, memory: Memory) -> int:
        """The last one that is known, where the store would have to be waited for."""
        with suppress(MustWait):
            return int(self.operations.attempt(memory.version))
        return 0 if memory.met is None else memory.met.version(memory.key)

    def _orphaned(self, memory: Memory) -> bool:
        """Takes the lease from a process that is over."""
        store: Any = memory.store
        holder = store.holder(memory.key) if hasattr(store, "holder") else None
        if holder is None or not has_died(holder):
            return False
        store.release(memory.key, holder)
        return True

    async def _rest(self) -> None:
        """Until the lease is asked for again: in real time, since other processes have no other (G-14.5). A clock that jumps
        has let everybody else go first by then."""
        begun = time.monotonic()
        await self._sleep(LEASE_POLL)
        time.sleep(max(0.0, begun + LEASE_POLL - time.monotonic()))

    async def _renew(self, memory: Memory) -> None:
        while True:
            await self._sleep(RENEWED_EVERY)
            with suppress(MemoryFailure):  # it is tried again before the lease ends
                await self.operations.use(lambda: self._acquire(memory))

    async def _sleep(self, seconds: float) -> None:
        await pause(self.loop(), seconds)

    def _acquire(self, memory: Memory) -> bool:
        return bool(memory.store.acquire(memory.key, self.owner, LEASE_SECONDS))  # type: ignore[attr-defined]

