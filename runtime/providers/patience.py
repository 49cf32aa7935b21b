"""Time limits that the work of the host itself does not use up (G-15.3).

Hands on `Countdown` and `Patience`. Must not know: requests, SDKs.
"""

from __future__ import annotations

import asyncio

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from typing import Any

STEPS = 20  # turns of the loop a limit outlives; a connection with TLS needs about ten


class Countdown:
    """Calls `over` once `seconds` have passed between `start` and `stop`. They are taken off in steps, one in each turn of
    the loop at most: while the loop computes, nothing can arrive, and how long that took says nothing about the provider."""

    def __init__(self, seconds: float, over: Callable[[], None]) -> None:
        self._left = seconds
        self._step = seconds / STEPS
        self._over = over
        self._since = 0.0
        self._handle: asyncio.TimerHandle | None = None

    def start(self) -> None:
        if self._left <= 0:
            self._over()
            return
        loop = asyncio.get_running_loop()
        self._since = loop.time()
        self._handle = loop.call_later(min(self._step, self._left), self._passed)

    def stop(self) -> None:
        """Pauses; a stopped one can be started again."""
        if self._handle is None:
            return
        self._handle.cancel()
        self._handle = None
        self._left -= min(asyncio.get_running_loop().time() - self._since, self._step)

    def _passed(self) -> None:
        self._handle = None
        self._left -= self._step
        self.start()


class Patience:
    """What is left of a time limit that counts only while something is waited for."""

    def __init__(self, seconds: float) -> None:
        self._countdown = Countdown(seconds, self.end)
        self._scope = asyncio.timeout(None)

    async def waiting(self, work: Awaitable[Any]) -> Any:
        async with asyncio.timeout(None) as self._scope:
            self._countdown.start()
            try:
                return await work
            finally:
                self._countdown.stop()

    def end(self) -> None:
        """Whatever is waited for now ends in a TimeoutError."""
        self._scope.reschedule(asyncio.get_running_loop().time())
