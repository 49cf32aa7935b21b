"""Threads in which plain functions of Python run beside a session's loop (P-1.3).

Hands on `in_thread` to `python_functions.py` and `Thread` to `python_streams.py`, and `Raised` to the former, which unwraps it
for both. The threads are daemons, which the end of the process does not wait for: a function that never ends must not keep it. A
thread that has nothing to do waits for the next call, of whatever session.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..runtime.running import EffectContext


MOST_IDLE = 32  # threads that are kept; more end after their call


class Raised(Exception):
    """What a function of Python has raised in a thread; some exceptions, as StopIteration, mean another thing to a coroutine."""

    def __init__(self, error: BaseException) -> None:
        super().__init__()
        self.error = error


class _Worker:
    """One thread, and the calls that it is given, one at a time, each with whether it is the last one before the thread is free
    for whoever comes next."""

    def __init__(self) -> None:
        self.calls: SimpleQueue[tuple[Callable[[], Callable[[], None]], bool]] = SimpleQueue()
        threading.Thread(target=self._work, name="concerto python", daemon=True).start()

    def _work(self) -> None:
        while True:
            call, is_last = self.calls.get()
            tell = call()
            is_kept = not is_last or self._rest()
            tell()  # the next call finds the thread free
            if not is_kept:
                return

    def _rest(self) -> bool:
        """Wait among the free ones; return whether there are not enough of them already."""
        with _lock:
            if len(_idle) >= MOST_IDLE:
                return False
            _idle.append(self)
        return True


_lock = threading.Lock()
_idle: list[_Worker] = []


def _free_worker() -> _Worker:
    with _lock:
        if _idle:
            return _idle.pop()
    return _Worker()


async def in_thread(run: EffectContext, work: Callable[[], Any], name: str) -> Any:
    """Return what `work` returns in a thread; what it raises there comes as Raised, as from `Thread.run`."""
    return await Thread(run, name).run(work, is_last=True)


class Thread:
    """A thread for the calls of one function of Python, whose `name` emits of the runtime tell; `context` makes them. Its last
    call, or `release`, gives it back."""

    __slots__ = ("context", "name", "_worker")

    def __init__(self, run: EffectContext, name: str) -> None:
        self.context = run
        self.name = name
        self._worker = _free_worker()

    async def run(self, work: Callable[[], Any], is_last: bool = False) -> Any:
        """Return what `work` returns in the thread; what it raises there comes as Raised. When this is cancelled the thread goes
        on: what it gives is dropped, which an emit of the runtime tells (`python:dropped`)."""
        loop: Any = asyncio.get_running_loop()
        future = loop.create_future()
        hold_clock = getattr(loop, "hold_clock", None)  # of a virtual clock, which must not skip the time of a thread

        def settle(value: Any, error: BaseException | None) -> None:
            if hold_clock is not None:
                hold_clock(-1)
            if future.cancelled():
                self.context.runtime_emit("python:dropped", {"function": self.name})
            elif error is None:
                future.set_result(value)
            else:
                future.set_exception(Raised(error))

        def call() -> Callable[[], None]:
            value, error = None, None
            try:
                value = work()
            except BaseException as raised:
                error = raised

            def tell() -> None:
                with suppress(RuntimeError):  # the loop is closed: nobody is left to tell
                    loop.call_soon_threadsafe(settle, value, error)

            return tell

        if hold_clock is not None:
            hold_clock(1)
        self._worker.calls.put((call, is_last))
        return await future

    def leave(self, work: Callable[[], Any]) -> None:
        """Let the thread do a work when it comes to it; what that gives or raises is dropped."""

        def call() -> Callable[[], None]:
            with suppress(BaseException):
                work()
            return _nothing

        self._worker.calls.put((call, False))

    def release(self) -> None:
        """Give the thread back, to be used again when its last call has ended."""
        self._worker.calls.put((_nothing, True))


def _nothing() -> Any:
    """Do nothing: as a call, and as what tells of it."""
    return _nothing
