"""Time limits that the work of the host itself does not use up (G-15.3).

Hands on `Countdown` and `Patience`.
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

    def renew(self, seconds: float) -> None:
        """All of it again, while it is stopped."""
        self._left = seconds
        self._step = seconds / STEPS

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
    """What is left of a time limit that counts only while something is waited for; `step` may limit what is waited for next
    besides. `over` names the limit that ran out."""

    def __init__(self, seconds: float) -> None:
        self.over = ""
        self._total = Countdown(seconds, lambda: self.end("total"))
        self._step: Countdown | None = None
        self._name = ""
        self._scope = asyncio.timeout(None)

    def step(self, name: str, seconds: float) -> None:
        """From now on `seconds` for all that is waited for until the next step."""
        self._name = name
        if self._step is None:
            self._step = Countdown(seconds, lambda: self.end(self._name))
        else:
            self._step.renew(seconds)

    async def waiting(self, work: Awaitable[Any]) -> Any:
        step = self._step
        async with asyncio.timeout(None) as self._scope:
            self._total.start()
            if step is not None:
                step.start()
            try:
                return await work
            finally:
                self._total.stop()
                if step is not None:
                    step.stop()

    def end(self, limit: str = "") -> None:
        """Whatever is waited for now ends in a TimeoutError."""
        self.over = self.over or limit
        self._scope.reschedule(asyncio.get_running_loop().time())
