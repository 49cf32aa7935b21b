"""How the calls of a session wait: the event loop of a session that is called without one (G-6.11), one call at a time, and
Ctrl-C in the calls that wait (O-9.41).

Hands on `SessionLoop`, `Turns` with OF_ITS_HANDLER, the words for a handler that calls its own session, and `Interruptible` to
`session`, and `Waiters`, those who wait for news of a call, to `calls` and to the events of `serve/`. Nothing here knows what a
call does, and no call is begun or ended here but by the function that `Interruptible` gets.
"""

from __future__ import annotations

import asyncio
import selectors
import signal
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from contextvars import ContextVar
from types import FrameType, TracebackType
from typing import Any, Self


class LateSelector(selectors.BaseSelector):
    """A selector that takes no descriptor of the system before one is to be watched (G-6.11): until then `select` waits on a
    lock, at most `timeout` seconds, and returns no event. All methods but `open` and `wake` are those of
    `selectors.BaseSelector`, with what they raise. `opened` is called without arguments when the system's selector has been made,
    which is `real` from then on."""

    def __init__(self) -> None:
        self.real: selectors.BaseSelector | None = None
        self.opened: Callable[[], None] = lambda: None
        self._woken = threading.Semaphore(0)

    def open(self) -> selectors.BaseSelector:
        """Return the system's selector, made by the first call."""
        if self.real is None:
            self.real = selectors.DefaultSelector()
            self.opened()
        return self.real

    def wake(self) -> None:
        """Make `select` return while it waits on the lock, or the next one at once, from any thread; once `real` is set, this
        does nothing."""
        self._woken.release()

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        return self.open().register(fileobj, events, data)

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:
        return self.open().unregister(fileobj)

    def modify(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        return self.open().modify(fileobj, events, data)

    def select(self, timeout: float | None = None) -> list[Any]:
        if self.real is not None:
            return self.real.select(timeout)
        if timeout is None or timeout > 0:
            self._woken.acquire(timeout=timeout)
        # Several wake-ups before this one are answered together.
        while self._woken.acquire(blocking=False):
            pass
        return []

    def get_key(self, fileobj: Any) -> selectors.SelectorKey:
        if self.real is None:
            raise KeyError(fileobj)
        return self.real.get_key(fileobj)

    def get_map(self) -> Mapping[Any, selectors.SelectorKey]:
        return {} if self.real is None else self.real.get_map()

    def close(self) -> None:
        if self.real is not None:
            self.real.close()


class SessionLoop(asyncio.SelectorEventLoop):
    """The event loop of a session that is called without one: asyncio's loop, whose pipe for waking it is made with the
    first descriptor that it watches. A program that waits for no connection, process or signal needs none."""

    def __init__(self) -> None:
        self._late = LateSelector()
        super().__init__(self._late)
        self._late.opened = super()._make_self_pipe  # type: ignore[misc]

    def __del__(self) -> None:
        with suppress(ValueError, OSError):  # of a session that nobody closed the pipe may be collected first
            super().__del__()

    def _make_self_pipe(self) -> None:
        pass

    def _write_to_self(self) -> None:
        self._late.wake()
        if self._late.real is not None and hasattr(self, "_csock"):  # another thread may ask while the pipe is being opened
            super()._write_to_self()  # type: ignore[misc]

    def _close_self_pipe(self) -> None:
        if self._late.real is not None:
            super()._close_self_pipe()  # type: ignore[misc]

    def add_signal_handler(self, sig: int, callback: Any, *args: Any) -> None:  # type: ignore[override]
        """Add a handler as asyncio does. Signals come through the pipe, so it is made here if it is not open yet."""
        self._late.open()
        super().add_signal_handler(sig, callback, *args)


class Waiters:
    """Coroutines of one event loop that wait until `wake` is called, each time anew. What they wait for is theirs to look at: a
    wake-up says only that it may have come."""

    def __init__(self) -> None:
        self._futures: set[asyncio.Future[None]] = set()  # one of each that waits

    async def woken(self) -> None:
        """Return at the next `wake`."""
        future = asyncio.get_running_loop().create_future()
        self._futures.add(future)
        try:
            await future
        finally:
            self._futures.discard(future)

    def wake(self) -> None:
        """Let all who wait now go on; within the event loop alone, not from other threads."""
        for future in self._futures:
            if not future.done():
                future.set_result(None)


# One call of a session at a time, and Ctrl-C in the calls that wait (O-9.41).

OF_ITS_HANDLER = "a session cannot be called by its own handlers"


class _Turn:
    """The time in which one call runs."""

    __slots__ = ("is_over",)

    def __init__(self) -> None:
        self.is_over = False


_inside: ContextVar[tuple[_Turn, ...]] = ContextVar("concerto_turns", default=())  # of the calls that have led here


class Turns:
    """`async with turns` lets one call of a session run at a time: it waits for the calls before it in the same event loop. It
    raises RuntimeError where waiting could not end: in a handler of the call that runs, and in tasks that one has begun; beside a
    call in another event loop; and once somebody has set `closed`."""

    def __init__(self) -> None:
        self._lock = asyncio.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._count = 0  # those inside and waiting
        self._turn: _Turn | None = None  # of the call that runs
        self.closed = False

    def is_inside(self) -> bool:
        """Return whether this is a handler of the call that runs, or something that one has begun, in a thread too."""
        return self._turn is not None and self._turn in _inside.get()

    async def __aenter__(self) -> None:
        if self.is_inside():
            raise RuntimeError(OF_ITS_HANDLER)
        loop = asyncio.get_running_loop()
        # A lock of asyncio belongs to one event loop, so another loop gets a new one.
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
        self._turn = _Turn()
        # without those that are over: a task that goes on from call to call must not gather them
        self._token = _inside.set((*(turn for turn in _inside.get() if not turn.is_over), self._turn))

    async def __aexit__(self, *failure: object) -> None:
        _inside.reset(self._token)
        if self._turn is not None:
            self._turn.is_over, self._turn = True, None
        self._leave()

    def _leave(self) -> None:
        self._count -= 1
        self._lock.release()


class Interruptible:
    """In its body, Ctrl-C calls `stop` once, and leaves as KeyboardInterrupt; a second Ctrl-C interrupts at once. A program that
    computes looks at nothing but the flag that `stop` sets, so asyncio's own handler would not end it. It changes nothing outside
    of the main thread, and where the host has a handler of its own for SIGINT, or ignores it: `active` is false there.
    `interrupted` says whether Ctrl-C has come."""

    def __init__(self, stop: Callable[[], None]) -> None:
        self.stop = stop
        self.interrupted = False
        # Only the main thread may set handlers; a handler of the host's own is left alone.
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
