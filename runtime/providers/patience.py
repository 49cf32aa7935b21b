"""Time limits that the work of this process itself does not use up (G-15.3).

While the event loop computes, no reply can arrive, so that time must not count against the provider. Hands on `Countdown`, one
limit that can be paused, to `gate.py`, and `Patience`, the limits of one request, to that, to `sdk.py` and to the platforms
(`bedrock.py`, `vertex.py`, `cloud_accounts.py`). How long they are is said in `records.TimeLimits`, and what failure one makes
in `base.timed_out`. Nothing is retried here.
"""

from __future__ import annotations

import asyncio

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from typing import Any


STEPS = 20  # turns of the loop that a limit lasts at least; a connection with TLS needs about ten


class Countdown:
    """Calls `over` once `seconds` have passed between calls of `start` and `stop`.

    They are taken off in steps, at most one in each turn of the loop: however long a turn takes, it costs one step at most."""

    def __init__(self, seconds: float, over: Callable[[], None]) -> None:
        self._left = seconds
        self._step = seconds / STEPS
        self._over = over
        self._since = 0.0
        self._handle: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """Let the time count; call `over` at once when none is left. It must be called while the time stands still, in a running
        event loop."""
        if self._left <= 0:
            self._over()
            return
        loop = asyncio.get_running_loop()
        self._since = loop.time()
        self._handle = loop.call_later(min(self._step, self._left), self._passed)

    def renew(self, seconds: float) -> None:
        """Begin anew with `seconds`. It must be called while the time stands still."""
        self._left = seconds
        self._step = seconds / STEPS

    def stop(self) -> None:
        """Let the time stand still; do nothing when it does already."""
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
    """The time limits of one request; `seconds` is that named "total". They count only inside `waiting`. `over` is the name of
    the limit that ran out first, "" before."""

    def __init__(self, seconds: float) -> None:
        self.over = ""
        self._total = Countdown(seconds, lambda: self.end("total"))
        self._step: Countdown | None = None
        self._name = ""
        self._scope = asyncio.timeout(None)

    def step(self, name: str, seconds: float) -> None:
        """Limit what is waited for until the next step to `seconds`; `name` is that of the limit."""
        self._name = name
        if self._step is None:
            self._step = Countdown(seconds, lambda: self.end(self._name))
        else:
            self._step.renew(seconds)

    async def waiting(self, work: Awaitable[Any]) -> Any:
        """Return the result of `work`; the limits count while it is waited for. Raises TimeoutError when one runs out, else what
        `work` raises."""
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
        """Make what `waiting` waits for end in a TimeoutError; the first limit that is named stays in `over`. Raises RuntimeError
        while nothing is waited for."""
        self.over = self.over or limit
        self._scope.reschedule(asyncio.get_running_loop().time())
