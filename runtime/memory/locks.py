"""Turn locks of `Serial` memories: first come first served in the process, a lease between processes (M-5.17, M-8.13).

The lease orders; the version check protects when it is lost. Must not know: calls.
"""

from __future__ import annotations

import time
from collections import deque

from ..jobs import asyncio_loop
from .errors import waited_too_long
from .lease_owner import has_died

TYPE_CHECKING = False
if TYPE_CHECKING:
    from asyncio import Future, Task
    from collections.abc import Callable
    from typing import Any

    from .memory import Memory

LEASE_SECONDS = 60.0
RENEWED_EVERY = 20.0
LEASE_POLL = 0.05


class TurnLocks:
    """The locks of one session. `owner` names it to other processes; `loop` gives the event loop they run in."""

    def __init__(self, owner: str = "", loop: Callable[[], Any] = asyncio_loop) -> None:
        self.owner = owner
        self.loop = loop
        self._waiting: dict[Memory, deque[Future[bool]]] = {}
        self._renewals: dict[Memory, Task[None]] = {}

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
            raise waited_too_long(memory.version())

    def release(self, memory: Memory) -> None:
        renewal = self._renewals.pop(memory, None)
        if renewal is not None:
            renewal.cancel()
            memory.store.release(memory.key, self.owner)  # type: ignore[attr-defined]
        waiting = self._waiting[memory]
        while waiting:
            mine = waiting.popleft()
            if not mine.done():
                return mine.set_result(True)
        del self._waiting[memory]

    async def _lease(self, memory: Memory, timeout: float | None) -> None:
        loop = self.loop()
        until = None if timeout is None else loop.time() + timeout
        while not self._acquire(memory):
            if self._orphaned(memory):
                continue
            if until is not None and loop.time() >= until:
                raise waited_too_long(memory.version())
            await self._rest()
        self._renewals[memory] = loop.create_task(self._renew(memory))

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
            self._acquire(memory)

    async def _sleep(self, seconds: float) -> None:
        loop = self.loop()
        over = loop.create_future()
        timer = loop.call_later(seconds, lambda: over.done() or over.set_result(None))
        try:
            await over
        finally:
            timer.cancel()

    def _acquire(self, memory: Memory) -> bool:
        return bool(memory.store.acquire(memory.key, self.owner, LEASE_SECONDS))  # type: ignore[attr-defined]
