"""The thread of a session in which operations on stores wait (G-12.7, G-12.8).

Hands on `StoreThread`, which is the `Operations` of a session with a store (`memory/from_image.py` makes it). The stores
(`Remote`, `SqliteStore`) and the tables of search indexes (`search/search_file.py`, `search/search_database.py`) call it while
they wait; `opened.py` and `search/index.py` hand it to them. A journal performs new operations by it (`journal/stores.py`). What
an operation does is not known here. Either an operation runs in the thread or the loop of the session runs, never both, so that
operations share all data with the session without locks; while an operation waits the loop goes on. One operation of a session is
on its way at a time, in the order in which they began.
"""

from __future__ import annotations

import threading
from collections import deque
from contextlib import suppress
from contextvars import copy_context
from queue import SimpleQueue
from time import monotonic

from .operations import LONGEST_WAIT, MustWait

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


_performed = threading.local()
"""`operation`: the one that the calling thread performs."""
PARTING = 0.03
"""Seconds that a cancelled operation has to come out of its wait; after that its thread is left to end by itself."""


class Cancelled(BaseException):
    """Raised in the thread to end an operation that nobody waits for any more."""


class StoreThread:
    """The operations of one session.

    `loop` returns its event loop. `mark` is called before a try in place, and returns a function that gives back what the try has
    used up of the session's limits when it ends with MustWait. An operation may be made for an *effect*: the request of a task
    that waits for it, as `use` was given it. `settles(effect)` is called before such an operation changes a store: what is
    stored cannot be taken back, so from then on the session must hand no result of another effect to the program before the
    result of this one."""

    def __init__(
        self,
        loop: Callable[[], Any],
        mark: Callable[[], Callable[[], object]] = lambda: lambda: None,
        settles: Callable[[Any], object] = lambda effect: None,
    ) -> None:
        self._loop = loop
        self._mark = mark
        self._settles = settles
        self._is_busy = False
        self._waiting: deque[Any] = deque()
        self._inbox: SimpleQueue[_Operation | None] | None = None
        self._thread: threading.Thread | None = None
        self._trying = False

    def attempt(self, work: Callable[[], Any]) -> Any:
        """Try `work` where the session runs and return what it returns. Raises MustWait, with nothing changed, when a store has
        to be waited for, or when another operation is on its way; and what `work` raises. Called by an operation in the thread
        it just does the work."""
        if self._is_busy:
            if self._own() is not None:
                return work()
            raise MustWait
        take_back = self._mark()
        before, self._trying = self._trying, True
        try:
            return work()
        except MustWait:
            take_back()
            raise
        finally:
            self._trying = before

    async def use(self, work: Callable[[], Any], effect: Any = None) -> Any:
        """Return what `work` returns, tried first where the session runs, else done in the thread while the loop goes on.
        `effect` is the effect whose outcome it is, None where no task waits for one. Raises what `work` raises. When the caller
        is cancelled, nothing was changed, unless a change was under way that could not be taken back."""
        if not self._is_busy:
            with suppress(MustWait):
                return self.attempt(work)
        return await self.later(work, effect)

    async def later(self, work: Callable[[], Any], effect: Any) -> Any:
        """Do as `use`, without the try where the session runs."""
        await self._turn()
        try:
            return await self._perform(work, effect)
        finally:
            self._next()

    async def _turn(self) -> None:
        if not self._is_busy:
            self._is_busy = True
            return
        turn = self._loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except BaseException:
            if turn in self._waiting:
                self._waiting.remove(turn)
            elif not turn.cancelled():  # it came at the same moment
                self._next()
            raise

    def _next(self) -> None:
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                return turn.set_result(None)  # type: ignore[no-any-return]
        self._is_busy = False

    async def _perform(self, work: Callable[[], Any], effect: Any) -> Any:
        loop = self._loop()
        operation = _Operation(self, work, loop, effect)
        holds = getattr(loop, "hold_clock", lambda change: None)
        holds(1)
        try:
            self._begin(operation)
            if not operation.over:
                await operation.ended
        except BaseException:
            if operation.end():
                self._inbox = self._thread = None  # it ends when its call does
            raise
        finally:
            holds(-1)
        if operation.error is not None:
            raise operation.error
        return operation.value

    def _begin(self, operation: _Operation) -> None:
        if self._inbox is None:
            self._inbox = SimpleQueue()
            self._thread = threading.Thread(target=_serve, args=(self._inbox,), name="concerto-stores", daemon=True)
            self._thread.start()
        self._inbox.put(operation)
        operation.attend()

    def close(self) -> None:
        """End the thread, if there is one, and wait until it has ended; the next operation that waits begins another one. A
        thread that was left to end by itself is not waited for. No operation may be on its way."""
        if self._inbox is not None and self._thread is not None:
            self._inbox.put(None)
            self._thread.join()
        self._inbox = self._thread = None

    def _own(self) -> _Operation | None:
        """Return the operation that the calling thread performs, None outside the thread."""
        operation = getattr(_performed, "operation", None)  # also one that was given up, which the loop has forgotten
        return operation if operation is not None and operation.owner is self else None

    def wait(self, call: Callable[[], Any], interrupt: Callable[[], object] = lambda: None) -> Any:
        """Return what `call` returns, which waits for a store; in an operation the loop goes on meanwhile, elsewhere it waits in
        place. `interrupt` is called from another thread and makes `call` fail soon: when the operation is cancelled, and after
        LONGEST_WAIT seconds. Raises MustWait before `call` begins in a try (`attempt`); in an operation TimeoutError when `call`
        fails after LONGEST_WAIT seconds, and Cancelled when nobody waits for it any more; and what `call` raises."""
        operation = self._own()
        if operation is not None:
            return operation.wait(call, interrupt)
        if self._trying:
            raise MustWait
        return call()

    def pause(self, seconds: float) -> None:
        """Wait some seconds, LONGEST_WAIT at most, before a lock of a store is asked for again. Raises MustWait and Cancelled as
        `wait` does."""
        operation = self._own()
        resting = operation.rest if operation is not None else threading.Event()
        self.wait(lambda: resting.wait(seconds), resting.set)

    def aside(self) -> None:
        """Raise MustWait in a try (`attempt`) outside the thread: what follows cannot begin anew, so it is done there from the
        start. Elsewhere do nothing."""
        if self._trying and self._own() is None:
            raise MustWait

    def changing(self) -> None:
        """Note that a change of a store comes next: call `settles` with the effect of the operation, if it has one. Raises
        Cancelled in an operation that was cancelled; outside the thread do nothing."""
        operation = self._own()
        if operation is not None:
            operation.raise_if_cancelled()
            if operation.effect is not None:
                self._settles(operation.effect)

    def check(self) -> Callable[[], object]:
        """Return a function that raises Cancelled once nobody waits any more for the operation that calls this."""
        operation = self._own()
        return (lambda: None) if operation is None else operation.raise_if_cancelled

    def home(self, call: Callable[[], Any]) -> Any:
        """Return what `call` returns, run on the thread of the session's loop: for what an operation shares with the loop and its
        tasks. The operation waits for it. Raises what `call` raises, and Cancelled in an operation whose thread was given up."""
        operation = self._own()
        return call() if operation is None else operation.home(call)

    def clock(self) -> float:
        """Return seconds that only grow, by which sessions take turns."""
        return monotonic()

    def timed(self, loop: Any) -> Any:
        """Return the loop with the timers by which whoever waits for a lock gives up: its own ones."""
        return loop

    @property
    def beside(self) -> StoreThread:
        """The operations for what no outcome of the program hangs on: these too, since nothing is recorded here."""
        return self


class _Operation:
    """One operation in the thread. Semaphores hand control back and forth: `_loop_turn` is released when the loop may go on,
    `_thread_turn` when the thread may, `_wait_over` when a wait of the thread has come to its end.

    An operation that nobody waits for any more is ended by `end`: its wait is interrupted, and Cancelled ends its work. When the
    wait does not end within PARTING seconds the thread is lost: it ends by itself whenever its call returns, and the session
    begins another one."""

    def __init__(self, owner: StoreThread, work: Callable[[], Any], loop: Any, effect: Any) -> None:
        self.owner = owner
        self.work = work
        self.loop = loop
        self.effect = effect
        self.value: Any = None
        self.error: BaseException | None = None
        self.over = False
        self.ended = loop.create_future()
        self.rest = threading.Event()
        self._context = copy_context()
        self._cancelled = False
        self._lost = False
        self._loop_turn = threading.Semaphore(0)
        self._thread_turn = threading.Semaphore(0)
        self._wait_over = threading.Semaphore(0)
        self._border = threading.Lock()  # between coming back from a wait and being given up
        self._interrupt: Callable[[], object] = lambda: None
        self._timer: Any = None
        self._expired = False
        self._request: Callable[[], Any] | None = None
        self._answer: tuple[Any, BaseException | None] = (None, None)

    # ------------------------------------------------------------ in the thread

    def run(self) -> bool:
        """Perform the operation; return whether the thread may take another one."""
        _performed.operation = self
        try:
            self.value = self._context.run(self.work)
        except BaseException as error:
            self.error = error
        finally:
            _performed.operation = None
        self.over = True
        self._loop_turn.release()
        return not self._lost

    def raise_if_cancelled(self) -> None:
        if self._cancelled or self._lost:
            raise Cancelled

    def wait(self, call: Callable[[], Any], interrupt: Callable[[], object]) -> Any:
        self.raise_if_cancelled()
        self._interrupt = interrupt
        self._loop_turn.release()
        try:
            return call()
        except Exception:
            if self._expired:
                raise TimeoutError(f"no answer within {LONGEST_WAIT:g} s") from None
            raise
        finally:
            with self._border:
                if not self._lost:
                    self._wait_over.release()
            if not self._lost:
                with suppress(RuntimeError):  # the loop is closed: nobody waits
                    self.loop.call_soon_threadsafe(self._resume)
                self._thread_turn.acquire()
            self.raise_if_cancelled()

    def home(self, call: Callable[[], Any]) -> Any:
        if self._lost:
            raise Cancelled
        self._request = call
        self._loop_turn.release()
        self._thread_turn.acquire()
        value, error = self._answer
        if error is not None:
            raise error
        return value

    # ------------------------------------------------------------ in the loop

    def attend(self) -> None:
        """Let the thread run until it waits, or is done with the operation; do its `home` calls in between."""
        while True:
            self._loop_turn.acquire()
            call, self._request = self._request, None
            if call is None:
                break
            try:
                self._answer = call(), None
            except BaseException as error:
                self._answer = None, error
            self._thread_turn.release()
        if not self.over:
            self._timer = self._start_timer()

    def _start_timer(self) -> Any:
        """Return a running timer that interrupts the wait after LONGEST_WAIT seconds. A loop with a virtual clock, which stands
        while the thread waits, gets one of real time."""
        if not hasattr(self.loop, "hold_clock"):
            return self.loop.call_later(LONGEST_WAIT, self._expire)
        timer = threading.Timer(LONGEST_WAIT, self._expire)
        timer.daemon = True
        timer.start()
        return timer

    def _expire(self) -> None:
        self._expired = True
        with suppress(Exception):  # of a driver whose connection goes away
            self._interrupt()

    def _resume(self) -> None:
        if self.over or self._lost or not self._wait_over.acquire(blocking=False):
            return
        self._cancelled = self._cancelled or self.ended.cancelled()
        self._go_on()
        if self.over and not self.ended.done():
            self.ended.set_result(None)

    def _go_on(self) -> None:
        self._timer.cancel()
        self._thread_turn.release()
        self.attend()

    def end(self) -> bool:
        """End an operation that nobody waits for any more, by interrupting its wait. Return whether its thread is lost, since the
        wait did not end within PARTING seconds."""
        self._cancelled = True
        if self.over:
            return False
        self._timer.cancel()
        with suppress(Exception):  # of a driver whose connection goes away
            self._interrupt()
        is_back = self._wait_over.acquire(timeout=PARTING)
        with self._border:
            is_back = is_back or self._wait_over.acquire(blocking=False)
            self._lost = not is_back
        if is_back:
            self._go_on()
        return self._lost


def _serve(inbox: SimpleQueue[_Operation | None]) -> None:
    operation = inbox.get()
    while operation is not None and operation.run():
        del operation  # what it holds is the loop's
        operation = inbox.get()
