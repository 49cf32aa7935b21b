"""How many calls run, wait, and begin (S-1.7).

Hands on `Admission` to the application and its calls: places for calls that run, a queue with a deadline before them, and a
bucket of calls a second for each caller. Refused calls are Problems: 503 where the server is full or goes down, 429 where the
caller asks too often.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from math import ceil

from .problems import Problem, busy
from .settings import Serving

MOST_BUCKETS = 10_000  # callers whose rate is remembered


class Admission:
    """The places of one process; `clock` gives seconds that only grow. `enter` takes one, waiting if it must, and `leave` gives
    it back. `running` counts those that are taken, `waiting` has the calls before them; once somebody has set `draining`, no
    further call gets in, and those that wait still get their places."""

    def __init__(self, settings: Serving, clock: Callable[[], float] = time.monotonic) -> None:
        self.settings = settings
        self.clock = clock
        self.running = 0
        self.waiting: deque[asyncio.Future[None]] = deque()
        self.buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()  # calls left, and when that was
        self.draining = False

    def require_rate(self, caller: str) -> None:
        """Take one call from the bucket of a caller. Raise Problem (429) where none is left."""
        rate = self.settings.rate
        if rate is None:
            return
        now, burst = self.clock(), max(1.0, 2 * rate)
        left, then = self.buckets.pop(caller, (burst, now))
        left = min(burst, left + (now - then) * rate)
        self.buckets[caller] = (left - 1 if left >= 1 else left, now)
        if len(self.buckets) > MOST_BUCKETS:
            self.buckets.popitem(last=False)
        if left < 1:
            seconds = max(1, ceil((1 - left) / rate))
            raise Problem(429, "rate", f"at most {rate:g} calls a second", headers={"Retry-After": str(seconds)})

    async def enter(self) -> None:
        """Take a place. Raise Problem (503) where the server drains, the queue is full, or the deadline passes before one is
        free."""
        if self.draining:
            raise busy("the server is going down", 1)
        if self.running < self.settings.concurrent:
            self.running += 1
            return
        if len(self.waiting) >= self.settings.queue:
            raise busy("too many calls are waiting", self.settings.queue_seconds)
        place = asyncio.get_running_loop().create_future()
        self.waiting.append(place)
        try:
            async with asyncio.timeout(self.settings.queue_seconds):
                await place
        except TimeoutError:
            self._forget(place)
            raise busy("no place became free in time", self.settings.queue_seconds) from None
        except BaseException:
            self._forget(place)
            raise

    def _forget(self, place: asyncio.Future[None]) -> None:
        """Take a call that gives up out of the queue; a place that it got in the same moment goes on to the next."""
        if place in self.waiting:
            self.waiting.remove(place)
        elif place.done() and not place.cancelled():
            self.leave()

    def leave(self) -> None:
        """Give a place back: to the call that has waited longest, if one waits."""
        while self.waiting:
            place = self.waiting.popleft()
            if not place.done():
                place.set_result(None)
                return
        self.running -= 1
