"""The effects being performed: one job each, results delivered one at a time in the order of the tasks that wait (O-6.16).

Hands on `Work`. Must not know: kinds of effects, who performs them.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush

from .jobs import stop_all

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Coroutine
    from typing import Any

    from ..vm.effects import Effect


class Work:
    """`loop` is asyncio's or an OfflineLoop."""

    def __init__(self, loop: Any) -> None:
        self.loop = loop
        self._jobs: dict[Effect, Any] = {}
        self._held: dict[Effect, Any] = {}
        self._finished: list[tuple[int, int, Effect]] = []  # a heap: number of the task, order of the end
        self._count = 0
        self._urgent: Effect | None = None
        self._sleeper: Any = None
        self._stirred = False

    def begin(self, effect: Effect, performing: Coroutine[Any, Any, Any]) -> None:
        job = self._jobs[effect] = self.loop.create_task(performing)
        job.add_done_callback(lambda _: self._ended(effect, job))

    def hold(self, effect: Effect, work: Coroutine[Any, Any, Any]) -> None:
        """Work that an effect began and that goes on after its answer, until it is over or the effect is closed."""
        job = self._held[effect] = self.loop.create_task(work)
        job.add_done_callback(lambda _: self._held.pop(effect, None))

    def _ended(self, effect: Effect, job: Any) -> None:
        if not job.cancelled():
            job.exception()  # whoever takes the job looks at it; when the run is over nobody does, and that is no fault
        if effect in self._jobs:
            self._count += 1
            heappush(self._finished, (effect.task.number, self._count, effect))
            self._wake()

    def stir(self) -> None:
        """Something beside an effect happened: `next` returns."""
        self._stirred = True
        self._wake()

    def _wake(self) -> None:
        if self._sleeper is not None and not self._sleeper.done():
            self._sleeper.set_result(None)

    def settles(self, effect: Effect) -> None:
        """It changes a store from now on, which nobody can take back: no other outcome comes before its own, so that what it
        decides, such as a race, is decided by what is stored."""
        if effect in self._jobs:
            self._urgent = effect

    def _is_next(self) -> bool:
        if self._urgent is None or self._urgent not in self._jobs:
            return bool(self._finished)
        return any(effect is self._urgent for _, _, effect in self._finished)

    def _take(self) -> Effect:
        urgent, self._urgent = self._urgent, None
        if urgent in self._jobs:
            found = next(one for one in self._finished if one[2] is urgent)
            self._finished.remove(found)
            heapify(self._finished)
            return found[2]
        return heappop(self._finished)[2]

    async def next(self) -> tuple[Effect, Any] | None:
        """Waits for the end of an effect, and gives it with its job; None when something else happened."""
        while not self._stirred and not self._is_next():
            self._sleeper = self.loop.create_future()
            await self._sleeper
        if self._stirred:
            self._stirred = False
            return None
        effect = self._take()
        job = self._jobs.pop(effect, None)
        return None if job is None else (effect, job)

    def __bool__(self) -> bool:
        """Whether anything is being performed."""
        return bool(self._jobs)

    async def close(self, effects: list[Effect]) -> None:
        """Nobody waits for these any more: returns when their jobs are over."""
        jobs = [self._jobs.pop(effect) for effect in effects if effect in self._jobs]
        held = [self._held.pop(effect) for effect in effects if effect in self._held]
        await stop_all(self.loop, [*jobs, *held])

    async def release(self, effect: Effect) -> None:
        """Ends the work held for an effect, which itself is still being performed."""
        held = self._held.pop(effect, None)
        await stop_all(self.loop, [] if held is None else [held])

    async def close_all(self) -> None:
        await self.close([*self._jobs, *self._held])
