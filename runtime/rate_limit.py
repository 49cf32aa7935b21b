"""The rate limits of a connection (O-1.16): a call over one waits, first come first served, and never fails for it.

Minute limits count started requests and reported tokens of the last 60 s. Hands on the seconds waited. Must not know:
requests, providers; clock, sleep and futures are handed in.
"""

from __future__ import annotations

from collections import deque

from .jobs import asyncio_loop

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping
    from typing import Any

WINDOW_SECONDS = 60.0


class _Turn:
    """A place in the line; `called` is set while it sleeps until called."""

    __slots__ = ("called",)

    def __init__(self) -> None:
        self.called: Any = None


class RateLimiter:
    """`limits` is the object of O-1.11. Every `enter` that returned is followed by one `leave`."""

    __slots__ = ("_limits", "_clock", "_sleep", "_started", "_reported", "_running", "_line", "_future")

    def __init__(
        self,
        limits: Mapping[str, int],
        clock: Callable[[], float],
        sleep: Callable[[float], Awaitable[None]],
        future: Callable[[], Any] | None = None,
    ) -> None:
        self._limits = limits
        self._clock = clock
        self._sleep = sleep
        self._future = future or _asyncio_future
        self._started: deque[tuple[float, int]] = deque()  # (when, 1)
        self._reported: deque[tuple[float, int]] = deque()  # (when, tokens)
        self._running = 0
        self._line: deque[_Turn] = deque()

    async def enter(self) -> float:
        """Waits for room and takes it; the seconds waited, which are no part of timeout or latency."""
        since = self._clock()
        turn = _Turn()
        self._line.append(turn)
        try:
            while self._line[0] is not turn:
                await self._until_called(turn)
            await self._until_there_is_room(turn)
            self._running += 1
            self._started.append((self._clock(), 1))
        finally:  # a cancelled call leaves the line as well
            self._line.remove(turn)
            self._call_first()
        return self._clock() - since

    def leave(self, tokens: int) -> None:
        self._running -= 1
        self._reported.append((self._clock(), tokens))
        self._call_first()

    async def _until_there_is_room(self, turn: _Turn) -> None:
        while True:
            wait = self._minute_wait()
            if wait > 0:
                await self._sleep(wait)
            elif self._running >= self._limits.get("concurrent_requests", float("inf")):
                await self._until_called(turn)
            else:
                return

    async def _until_called(self, turn: _Turn) -> None:
        turn.called = self._future()
        try:
            await turn.called
        finally:
            turn.called = None

    def _call_first(self) -> None:
        called = self._line[0].called if self._line else None
        if called is not None and not called.done():
            called.set_result(None)

    def _minute_wait(self) -> float:
        requests = self._limits.get("requests_per_minute")
        tokens = self._limits.get("tokens_per_minute")
        return max(self._wait(self._started, requests), self._wait(self._reported, tokens))

    def _wait(self, counted: deque[tuple[float, int]], limit: int | None) -> float:
        """Seconds until fewer than `limit` are counted in the window."""
        now = self._clock()
        while counted and counted[0][0] <= now - WINDOW_SECONDS:
            counted.popleft()
        if limit is None:
            return 0.0
        excess = sum(amount for _, amount in counted) - limit
        for when, amount in counted:
            if excess < 0:
                break
            excess -= amount
            if excess < 0:
                return when + WINDOW_SECONDS - now
        return 0.0


def _asyncio_future() -> Any:
    return asyncio_loop().create_future()
