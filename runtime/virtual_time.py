"""An asyncio event loop whose clock stands still while anything can run (V-6.6, G-14.5).

When every task waits, `idle(until)` is asked what happens next: it delivers answers or moves the clock. Hands on `VirtualLoop`.
Must not know: who waits, or for what.
"""

from __future__ import annotations

import asyncio
import selectors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


CLOCK_RESOLUTION = 1e-6


class _IdleSelector(selectors.SelectSelector):
    """Waits for no file descriptor: where a real selector would block, the loop is idle."""

    def __init__(self) -> None:
        super().__init__()
        self.idle: Callable[[float | None], None] = lambda timeout: None
        self.outside = 0

    def select(self, timeout: float | None = None) -> list[Any]:
        if self.outside and (timeout is None or timeout > 0):
            return super().select(None)  # until a thread wakes the loop
        if timeout is None or timeout > 0:
            self.idle(timeout)
        return []


class VirtualLoop(asyncio.SelectorEventLoop):
    """`now_ms` is the virtual time; `idle(until_ms or None)` must set it forward or complete a future."""

    def __init__(self, now_ms: int, idle: Callable[[int | None], None]) -> None:
        self.now_ms = now_ms
        selector = _IdleSelector()
        super().__init__(selector)
        # A timer is due when it is less than this ahead. The clock's own resolution is lost in a Float of today's
        # seconds, and a timer due exactly now would never run.
        self._clock_resolution = CLOCK_RESOLUTION
        self._on_idle = idle
        self._idle_selector = selector
        selector.idle = self._rest

    def hold_clock(self, change: int) -> None:
        """1: another thread is waited for, which takes real time; -1: it is no more. The clock stands meanwhile."""
        self._idle_selector.outside += change

    def time(self) -> float:
        return self.now_ms / 1000

    def _rest(self, timeout: float | None) -> None:
        # rounded up: a timer must be due when the clock has reached `until`
        self._on_idle(None if timeout is None else self.now_ms + max(1, -(-int(timeout * 1_000_000) // 1000)))
