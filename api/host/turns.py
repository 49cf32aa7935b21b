"""One call of a session at a time, and Ctrl-C in the calls that wait (O-9.41).

Hands on `Turns` and `Interruptible`. Must not know: programs.
"""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable
from contextvars import ContextVar
from types import FrameType, TracebackType
from typing import Self

_inside: ContextVar[tuple[object, ...]] = ContextVar("concerto_sessions", default=())


class Turns:
    """`async with turns`: waits for the calls before it in the same event loop. RuntimeError where waiting could not end: in a
    handler of the call that runs, or beside a call in another event loop."""

    def __init__(self) -> None:
        self._lock = asyncio.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._count = 0  # those inside and waiting
        self.closed = False

    async def __aenter__(self) -> None:
        if self in _inside.get():
            raise RuntimeError("a session cannot be called by its own handlers")
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            if self._count:
                raise RuntimeError("the session runs a call in another event loop")
            self._loop, self._lock = loop, asyncio.Lock()
        self._count += 1
        try:
            await self._lock.acquire()
        except BaseException:
            self._count -= 1
            raise
        if self.closed:
            self._leave()
            raise RuntimeError("the session is closed")
        self._token = _inside.set((*_inside.get(), self))

    async def __aexit__(self, *failure: object) -> None:
        _inside.reset(self._token)
        self._leave()

    def _leave(self) -> None:
        self._count -= 1
        self._lock.release()


class Interruptible:
    """Within it, Ctrl-C calls `stop` once, and leaves as KeyboardInterrupt; a second Ctrl-C interrupts at once. A program that
    computes looks at nothing but the flag that `stop` sets, so asyncio's own handler would not end it."""

    def __init__(self, stop: Callable[[], None]) -> None:
        self.stop = stop
        self.interrupted = False
        usual = threading.current_thread() is threading.main_thread()
        self.active = usual and signal.getsignal(signal.SIGINT) is signal.default_int_handler

    def __enter__(self) -> Self:
        if self.active:
            signal.signal(signal.SIGINT, self._interrupt)
        return self

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        self.interrupted = True
        self.stop()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self.active:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        if self.interrupted:
            raise KeyboardInterrupt from None
