"""A clock for tests: waits take no time unless something outside is under way (V-6.6).

Its asyncio loop goes to the next timer at once while no connection, process or thread is open to wait for; otherwise it waits as
usual, so that a test may ask a real provider. Hands on `SkippingClock`. Must not know: sessions, who waits.
"""

from __future__ import annotations

import asyncio
import selectors
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

OWN_DESCRIPTORS = 1  # the pipe by which threads wake the loop


class SkippingClock:
    """`now` and `wall` in seconds; `new_loop` makes the loop that moves them."""

    def __init__(self) -> None:
        self._skipped = 0.0

    def now(self) -> float:
        return time.monotonic() + self._skipped

    def wall(self) -> float:
        return time.time() + self._skipped

    def new_loop(self) -> asyncio.AbstractEventLoop:
        return _Loop(self)

    def skip(self, seconds: float) -> None:
        self._skipped += seconds


class _Selector(selectors.DefaultSelector):
    """`waits_outside` tells whether there is work of threads or processes; descriptors it knows itself."""

    def __init__(self, clock: SkippingClock) -> None:
        super().__init__()
        self._clock = clock
        self.waits_outside: Callable[[], bool] = lambda: False

    def select(self, timeout: float | None = None) -> list[Any]:
        if timeout is None or timeout <= 0 or self.waits_outside() or len(self.get_map()) > OWN_DESCRIPTORS:
            return super().select(timeout)
        ready = super().select(0)
        if not ready:
            self._clock.skip(timeout)
        return ready


class _Loop(asyncio.SelectorEventLoop):
    def __init__(self, clock: SkippingClock) -> None:
        self._clock = clock
        self._threads = 0
        self._processes: list[asyncio.SubprocessTransport] = []
        selector = _Selector(clock)
        super().__init__(selector)
        selector.waits_outside = self._waits_outside

    def time(self) -> float:
        return self._clock.now()

    def _waits_outside(self) -> bool:
        """Also for a process that has closed its pipes and not ended yet."""
        self._processes = [process for process in self._processes if process.get_returncode() is None]
        return self._threads > 0 or bool(self._processes)

    def hold_clock(self, change: int) -> None:
        """1: another thread is waited for, which takes real time; -1: it is no more."""
        self._threads += change

    async def subprocess_exec(self, *args: Any, **options: Any) -> Any:
        made = await super().subprocess_exec(*args, **options)
        self._processes.append(made[0])
        return made

    def run_in_executor(self, executor: Any, func: Any, *args: Any) -> Any:  # type: ignore[override]
        self._threads += 1
        future = super().run_in_executor(executor, func, *args)
        future.add_done_callback(self._thread_ended)
        return future

    async def shutdown_default_executor(self, *timeout: Any) -> None:
        """It waits for a thread of its own; from Python 3.12 on no longer than 300 s, which must not be skipped."""
        self._threads += 1
        try:
            await super().shutdown_default_executor(*timeout)
        finally:
            self._threads -= 1

    def _thread_ended(self, future: Any) -> None:
        self._threads -= 1
