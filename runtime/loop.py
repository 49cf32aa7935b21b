"""Event loops: a small one for runs that wait for nothing outside, and coroutines side by side on it or on asyncio's loop.

Hands on `OfflineLoop` to the command line and the session: it lets offline runs start without asyncio (V-6.6, V-8.6, G-14.5). It
has the few methods of asyncio's loop that the runtime uses, under the same names; its clock stands still while anything can run
and then jumps to the next timer. Hands on to the session, effects, memories and the journal the functions below it (`gather`,
`within`, `pause`, `stop_all`, `wait_until_done`), which work on both loops; `asyncio_loop` to the session, calls and memories;
and `LoopLock` to agents, MCP servers and their journal. asyncio is imported only where it runs. Nothing here knows the machine.
"""

from __future__ import annotations

from collections import deque
from contextvars import copy_context
from functools import partial
from heapq import heappop, heappush

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Generator
    from typing import Any


class Cancelled(BaseException):
    """Thrown into a coroutine that is cancelled, at the place where it waits. asyncio's CancelledError is its counterpart."""


class Future:
    """A result to come, with those methods of asyncio's Future that the runtime uses. Other than there, `result` and `exception`
    give None before it is done, and `exception` gives None for a cancelled one. RuntimeError when a result or error is set where
    it is done already."""

    __slots__ = ("loop", "_state", "_result", "_callbacks")

    def __init__(self, loop: OfflineLoop) -> None:
        self.loop = loop
        self._state = "waiting"
        self._result: Any = None
        self._callbacks: list[Callable[[Any], object]] = []

    def done(self) -> bool:
        """Return whether it has a result or an error, or was cancelled."""
        return self._state != "waiting"

    def cancelled(self) -> bool:
        """Return whether it was cancelled."""
        return self._state == "cancelled"

    def result(self) -> Any:
        """Return the result, None when it is not done. Raise the error that was set, or Cancelled when it was cancelled."""
        if self._state == "cancelled":
            raise Cancelled
        if self._state == "failed":
            raise self._result
        return self._result

    def exception(self) -> BaseException | None:
        """Return the error that was set, None for none."""
        return self._result if self._state == "failed" else None

    def add_done_callback(self, callback: Callable[[Any], object]) -> None:
        """Have the loop call `callback` with this future once it is done, never from here."""
        if self.done():
            self.loop.call_soon(partial(callback, self))
        else:
            self._callbacks.append(callback)

    def set_result(self, value: Any) -> None:
        """End it with a result."""
        self._end("done", value)

    def set_exception(self, error: BaseException) -> None:
        """End it with an error, which `result` raises."""
        self._end("failed", error)

    def cancel(self) -> bool:
        """End it as cancelled; False when it is done already."""
        if self.done():
            return False
        self._end("cancelled", None)
        return True

    def _end(self, state: str, result: Any) -> None:
        if self.done():
            raise RuntimeError("the result is there already")
        self._state = state
        self._result = result
        for callback in self._callbacks:  # never called from here: the caller must not be re-entered
            self.loop.call_soon(partial(callback, self))
        self._callbacks = []

    def __await__(self) -> Generator[Future, None, Any]:
        if not self.done():
            yield self
        return self.result()


class CoroutineTask(Future):
    """A coroutine that runs on the loop, and the future of its result. It begins when the loop comes to it, in a copy of the
    context (`contextvars`) in which it was made, as with asyncio."""

    __slots__ = ("_coroutine", "_awaited", "_to_cancel", "_context")

    def __init__(self, loop: OfflineLoop, coroutine: Coroutine[Any, Any, Any]) -> None:
        super().__init__(loop)
        self._coroutine = coroutine
        self._awaited: Future | None = None
        self._to_cancel = False
        self._context = copy_context()
        loop.call_soon(self._step)

    def cancel(self) -> bool:
        """Throw Cancelled into the coroutine when it runs next; False when it is over already."""
        if self.done():
            return False
        self._to_cancel = True
        if self._awaited is not None:
            self._awaited.cancel()  # wakes it; one that has ended will wake it anyway
        return True

    def _step(self) -> None:
        self._awaited = None
        try:
            if self._to_cancel:
                self._to_cancel = False
                awaited = self._context.run(self._coroutine.throw, Cancelled())
            else:
                awaited = self._context.run(self._coroutine.send, None)
        except StopIteration as ended:
            self._end("done", ended.value)
        except Cancelled:
            self._end("cancelled", None)
        except BaseException as error:
            self._end("failed", error)
        else:
            self._awaited = awaited
            awaited.add_done_callback(lambda _: self._step())
            if self._to_cancel:  # it was cancelled while it ran: what it waits for now has to wake it
                awaited.cancel()


class Timer:
    """What `call_later` returns; when it is cancelled before its time, its callback is not called and the clock does not jump to
    it. A callback that is ready, since the clock has come to its time, is called all the same."""

    __slots__ = ("callback", "cancelled")

    def __init__(self, callback: Callable[[], object]) -> None:
        self.callback = callback
        self.cancelled = False

    def cancel(self) -> None:
        """Give the timer up, as the class says."""
        self.cancelled = True


LAST = 9e12  # seconds of a virtual clock: stores and journals have room for them in milliseconds
BEYOND = 3600.0  # seconds that a wait takes at most behind that, so that whoever waits for a time gets there


class OfflineLoop:
    """An event loop with a virtual clock, in seconds, that begins at `now`. No wait is longer than up to LAST, or than BEYOND
    where that is longer.

    It waits for other threads only while `hold_clock` says so; a run in which nothing can go on is a defect of the runtime."""

    def __init__(self, now: float = 0.0) -> None:
        self._now = now
        self._ready: deque[Callable[[], object]] = deque()
        self._timers: list[tuple[float, int, Timer]] = []
        self._timer_count = 0  # orders timers of the same time
        self._threads = 0  # other threads that are waited for
        self._inbox: Any = None  # callbacks from other threads

    def time(self) -> float:
        """Return the seconds of the virtual clock."""
        return self._now

    def call_soon(self, callback: Callable[[], object]) -> None:
        """Run a callback, without arguments, behind those that are ready. Only the thread of the loop may call this."""
        self._ready.append(callback)

    def call_soon_threadsafe(self, callback: Callable[[], object]) -> None:
        """Run a callback while `hold_clock` waits for a thread; another thread may call this. Before the first `hold_clock` it
        does nothing."""
        if self._inbox is not None:
            self._inbox.put(callback)

    def hold_clock(self, change: int) -> None:
        """Count a thread that is waited for in real time (1), or its end (-1). While there is one, the clock does not jump."""
        if self._inbox is None:
            from queue import SimpleQueue

            self._inbox = SimpleQueue()
        self._threads += change

    def call_later(self, delay: float, callback: Callable[[], object]) -> Timer:
        """Call `callback` after `delay` seconds of the virtual clock, none below 0; return a Timer, which can be cancelled."""
        self._timer_count += 1
        timer = Timer(callback)
        at = self._now + max(0.0, min(delay, max(LAST - self._now, BEYOND)))
        heappush(self._timers, (at, self._timer_count, timer))
        return timer

    def create_future(self) -> Future:
        """Return a new Future of this loop."""
        return Future(self)

    def create_task(self, coroutine: Coroutine[Any, Any, Any]) -> CoroutineTask:
        """Return the job that runs a coroutine, beside others, when the loop comes to it."""
        return CoroutineTask(self, coroutine)

    async def sleep(self, seconds: float) -> None:
        """Wait so many seconds by the virtual clock."""
        over = Future(self)
        timer = self.call_later(seconds, lambda: None if over.done() else over.set_result(None))
        try:
            await over
        finally:
            timer.cancel()  # the clock must not jump to a time that nobody waits for

    def run_until_complete(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        """Run a coroutine to its end and return its result, or raise its error. RuntimeError when everything waits and no timer
        is set."""
        job = CoroutineTask(self, coroutine)
        while not job.done():
            if self._ready:
                self._ready.popleft()()
            elif self._threads:
                self._ready.append(self._inbox.get())
            elif not self._jump():
                raise RuntimeError("the run waits for something that cannot come")
        return job.result()

    def _jump(self) -> bool:
        """Set the clock to the earliest timer and make its callbacks ready; False when there is none."""
        timers = self._timers
        while timers and timers[0][2].cancelled:
            heappop(timers)
        if not timers:
            return False
        self._now = timers[0][0]
        while timers and timers[0][0] <= self._now:
            timer = heappop(timers)[2]
            if not timer.cancelled:
                self._ready.append(timer.callback)
        return True


# Coroutines side by side, on asyncio's loop or the one of offline runs. Both loops have `create_task`, `create_future` and
# `call_later`; nothing else is used here.


def asyncio_loop() -> Any:
    """Return asyncio's running loop; RuntimeError when none runs."""
    from asyncio import get_running_loop

    return get_running_loop()


class LoopLock:
    """`async with` lets one in at a time, the others in their order, within one event loop of asyncio after another: a session
    may be called in several, and a lock of asyncio that somebody has waited for is of no use in another one. Nobody may be
    inside, or wait, when the next loop comes. In the loop of offline runs nobody may wait."""

    __slots__ = ("_loop", "_lock")

    def __init__(self) -> None:
        self._loop: Any = None
        self._lock: Any = None

    async def __aenter__(self) -> None:
        try:
            loop = asyncio_loop()
        except RuntimeError:  # the loop of offline runs
            loop = None
        if loop is not self._loop or self._lock is None:
            from asyncio import Lock

            self._loop, self._lock = loop, Lock()
        await self._lock.acquire()

    async def __aexit__(self, *failure: object) -> None:
        self._lock.release()


async def wait_until_done(loop: Any, job: Any) -> None:
    """Wait until a job of this loop is over, however it ends; its error is not raised. A cancellation of the caller leaves the
    job running."""
    if not job.done():
        over = loop.create_future()
        job.add_done_callback(lambda _: None if over.done() else over.set_result(None))
        await over
    if not job.cancelled():
        job.exception()  # asyncio warns of an error that nobody has looked at


async def pause(loop: Any, seconds: float) -> None:
    """Wait so many seconds by the clock of the loop."""
    over = loop.create_future()
    timer = loop.call_later(seconds, lambda: over.done() or over.set_result(None))
    try:
        await over
    finally:
        timer.cancel()


async def stop_all(loop: Any, jobs: list[Any]) -> None:
    """Cancel jobs and return when all are over (G-7.2). A caller that is cancelled meanwhile waits to the end too, and is then
    cancelled."""
    for job in jobs:
        job.cancel()
    cancelled = None
    for job in jobs:
        while not job.done():
            try:
                await wait_until_done(loop, job)
            except BaseException as error:  # the cancellation of the caller: errors of jobs are not raised here
                cancelled = error
    if cancelled is not None:
        raise cancelled


async def gather(loop: Any, coroutines: list[Coroutine[Any, Any, Any]]) -> list[Any]:
    """Run coroutines side by side and return their results in order. The first failure cancels the others and is raised; of
    several at one instant it is that of the first coroutine. A cancellation stops all. Returns or raises when all are over."""
    jobs = [loop.create_task(coroutine) for coroutine in coroutines]
    decision = loop.create_future()
    remaining = len(jobs)

    def job_is_over(job: Any) -> None:
        nonlocal remaining
        remaining -= 1
        if (_has_failed(job) or not remaining) and not decision.done():
            decision.set_result(None)

    for job in jobs:
        job.add_done_callback(job_is_over)
    try:
        if jobs:
            await decision
        failed = [job for job in jobs if job.done() and _has_failed(job)]
        return [job.result() for job in failed or jobs]  # the first of `failed` raises
    finally:
        await stop_all(loop, jobs)


def _has_failed(job: Any) -> bool:
    return job.cancelled() or job.exception() is not None


async def within(loop: Any, seconds: float, coroutine: Coroutine[Any, Any, Any]) -> Any:
    """Return the result of a coroutine, or raise its error. When the seconds are over it is cancelled, and TimeoutError is raised
    once it has ended, unless it ended with a result or an error all the same."""
    job = loop.create_task(coroutine)
    expired = False

    def expire() -> None:
        nonlocal expired
        if not job.done():
            expired = True
            job.cancel()

    timer = loop.call_later(seconds, expire)
    try:
        await wait_until_done(loop, job)
    finally:
        timer.cancel()
        await stop_all(loop, [job])
    if expired and job.cancelled():
        raise TimeoutError
    return job.result()
