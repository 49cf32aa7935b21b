"""One call of a session, with listeners, answers and an end of its own (O-9.47).

Hands on `Call` to users; and to the session `Call`, `Running`, which ends the call that runs, `require_callable` and
EVERY_CHANNEL, the channel `"*"` on which a listener hears all. How a session runs a call is known to a `Call` only as the
function it gets; emits are delivered by the session, not here.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Generator
from contextlib import suppress
from types import TracebackType
from typing import Any, Protocol, Self, TypeVar

from .json_calls import JsonSide
from .results import Emit
from .waiting import Waiters

EVERY_CHANNEL = "*"
F = TypeVar("F", bound=Callable[..., Any])


class Hosting(Protocol):
    """The session, as its calls need it: `_listens` is told that there is a new listener, `_cancel_call` ends the call if it is
    the one that runs and returns whether it was, `_waiting` runs a coroutine to its end without an event loop of the caller; it
    raises RuntimeError where one runs, with `form`, what to write instead, and where the session is closed."""

    def _listens(self) -> None: ...
    def _cancel_call(self, call: Call) -> bool: ...
    def _waiting(self, work: Coroutine[Any, Any, Any], form: str) -> Any: ...


class Call:
    """A call that `Session.start` began. `await call`, or in code without an event loop `call.result()`, gives the value that the
    function returned, of a Result that of its Ok; it raises ProgramError for an Err and after `cancel`, Panic for a panic,
    RecordingError as `Session.call`, and RuntimeError where the session is closed, is called by a handler of its own, or runs a
    call in another event loop. `async for emit in call` gives the emits that the program makes in this call, each an `Emit`, as
    they come, from the first one until it ends, to each of those who iterate; a failure of the call is not raised there, only by
    `await` and `result`. As `async with session.start(…) as call` the call is cancelled when the block is left before the call
    has ended; that raises nothing."""

    def __init__(
        self, session: Hosting, work: Callable[[Call], Coroutine[Any, Any, Any]], json: JsonSide | None = None
    ) -> None:
        """`work` gets this call, and returns the coroutine that waits for its turn, runs the function and returns its value; it
        looks whether the call was cancelled (`_cancelled`), also while it waits, and ends with ProgramError (Cancelled) then,
        never with CancelledError. It is begun at once within a running event loop, else by `await`, iteration, `async with` or
        `result`. `json`: how it speaks JSON, None for a call that speaks Python."""
        self._session = session
        self._json = json
        self._work = work
        self._listeners: dict[str, list[Callable[[Any], object]]] = {}
        self._handlers: dict[str, Callable[[Any], Any]] = {}
        self._emits: list[Emit] = []
        self._iterations = Waiters()
        self._task: asyncio.Task[Any] | None = None
        self._cancelled = False
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return
        self._begin()

    def on(self, channel: str, fn: F | None = None) -> Any:
        """Hear the emits of this call on a channel, those of the runtime too: `fn` gets the payload of each. On `"*"` it hears
        all channels, and gets an `Emit` each time. Return `fn`; without `fn` return a decorator. An Exception of `fn` is logged
        and ignored. Raise TypeError for what is no function."""
        if fn is None:
            return lambda function: self.on(channel, function)
        require_callable("on", channel, fn)
        self._listeners.setdefault(channel, []).append(fn)
        self._session._listens()
        return fn

    def on_emit(self, channel: str, fn: F | None = None) -> Any:
        """Answer the awaited emits of this call on a channel, in place of the handler that the session has for it: with what `fn`
        returns for the payload, or what that returns when awaited. One handler per channel, the last counts. Return `fn`; without
        `fn` return a decorator. Raise TypeError for what is no function."""
        if fn is None:
            return lambda function: self.on_emit(channel, function)
        require_callable("on_emit", channel, fn)
        self._handlers[channel] = fn
        return fn

    async def __aiter__(self) -> AsyncIterator[Emit]:
        task, seen = self._begin(), 0
        while True:
            # Emits that arrived before somebody iterated are delivered first.
            while seen < len(self._emits):
                yield self._emits[seen]
                seen += 1
            if task.done():
                return
            await self._iterations.woken()

    def _arrived(self, _: object = None) -> None:
        """Wake the iterations: an emit has come, or the call has ended."""
        self._iterations.wake()

    @property
    def done(self) -> bool:
        """Whether the call has ended."""
        return self._task is not None and self._task.done()

    def cancel(self) -> None:
        """End this call and no other, from any thread, whether it runs, waits for the calls before it, or is not begun. Who waits
        for it then gets a ProgramError with `TaskError::Cancelled`. A call that has ended stays as it is."""
        if self.done:
            return
        self._cancelled = True
        # A call whose turn has not come holds nothing of the session: its task is cancelled.
        if not self._session._cancel_call(self) and self._task is not None:
            with suppress(RuntimeError):  # the loop is closed: nothing of the call runs any more
                self._task.get_loop().call_soon_threadsafe(self._task.cancel)

    def result(self) -> Any:
        """Return the value, in code without an event loop: a call that has not ended runs meanwhile. Raise what `await` raises,
        RuntimeError where an event loop runs, and KeyboardInterrupt after Ctrl-C."""

        async def ended() -> Any:
            return await self

        return self._session._waiting(ended(), "write `await call`")

    def __await__(self) -> Generator[Any, None, Any]:
        return self._begin().__await__()

    async def __aenter__(self) -> Self:
        self._begin()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        task = self._begin()
        if not task.done():
            self.cancel()
            # The body is left only when the call has really ended.
            await asyncio.wait([task])
            task.exception()

    def _begin(self) -> asyncio.Task[Any]:
        if self._task is None:
            # Begun once, by whoever needs it first: `start` in a loop, `await`, iteration, `async with` or `result`.
            self._task = asyncio.get_running_loop().create_task(self._work(self))
            self._task.add_done_callback(self._arrived)
            self._task.add_done_callback(self._retrieve_failure)
        return self._task

    def _retrieve_failure(self, task: asyncio.Task[Any]) -> None:
        """Take the exception of a cancelled call, which asyncio would otherwise log as never retrieved: whoever cancelled
        knows how it ended."""
        if self._cancelled and not task.cancelled():
            task.exception()


class Running:
    """Which call runs. What ends it may come from any thread, and must not reach the call after it: hence the lock.
    `was_stopped`: whether `stop` has ended the call that runs, or the last one that ran."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._now: tuple[Call | None, asyncio.Future[Any]] | None = None
        self.was_stopped = False

    def begin(self, call: Call | None, work: asyncio.Future[Any], ready: Callable[[], object]) -> None:
        """Note that `work` runs for `call`, None for a call without a handle. `ready` is called under the lock, so that a stop of
        the call before cannot come after it."""
        with self._lock:
            ready()
            self.was_stopped = False
            # One assignment, so that a stop meets either the old call or this one.
            self._now = call, work

    def end(self) -> None:
        """Note that no call runs."""
        with self._lock:
            self._now = None

    def stop(self, flag: Callable[[], object], call: Call | None = None) -> bool:
        """End the call that runs if it is `call`; None means whichever runs. `flag` is called first and has to stop a program
        that computes. Return whether such a call ran; if not, nothing is done."""
        with self._lock:
            if self._now is None or (call is not None and self._now[0] is not call):
                return False
            flag()
            self.was_stopped = True
            self._now[1].get_loop().call_soon_threadsafe(self._now[1].cancel)
            return True


def require_callable(method: str, channel: str, fn: object) -> None:
    """Raise TypeError, which names `method` and `channel`, for an `fn` that cannot be called. It is refused where it is
    registered: an emit, which comes later, only logs what a listener does wrong."""
    if not callable(fn):
        raise TypeError(f"{method}({channel!r}): expected a function, got {type(fn).__name__}")
