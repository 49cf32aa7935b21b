"""The thread of a session in which operations on stores wait (G-12.7, G-12.8).

Hands on `StoreThread`, which `Remote` and `SqliteStore` call while they wait. Either an operation runs in the thread or
the loop of the session runs, never both, so that operations share all data with the session without locks; while an
operation waits the loop goes on. One operation of a session is on its way at a time, in the order in which they began.
"""

from __future__ import annotations

import threading
from collections import deque
from contextlib import suppress
from contextvars import copy_context
from queue import SimpleQueue

from .operations import LONGEST_WAIT, MustWait

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


PARTING = 0.03
"""Seconds that a cancelled operation has to come out of its wait; after that its thread is left to end by itself."""


class Cancelled(BaseException):
    """Raised in the thread to end an operation that nobody waits for any more."""


class StoreThread:
    """The operations of one session. `loop` returns its event loop; `mark` returns a function that undoes what a try has
    used up; `settles(effect)` is called before a change is made for an effect: from then on that effect's outcome has to
    be the next one."""

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
        self._operation: _Operation | None = None
        self._inbox: SimpleQueue[_Operation | None] | None = None
        self._thread: threading.Thread | None = None
        self._trying = False

    def attempt(self, work: Callable[[], Any]) -> Any:
        """Return what `work` returns. Raises MustWait, having changed nothing, when a store has to be waited for, or
        another operation is on its way."""
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
        """Return what `work` returns, tried first where the session runs. When cancelled it has changed nothing, unless a
        change was under way that could not be taken back."""
        if not self._is_busy:
            with suppress(MustWait):
                return self.attempt(work)
        await self._turn()
        try:
            return await self._perform(work, effect)
        finally:
            self._next()

    async def _turn(self) -> None:
        if not self._is_busy:
            self._is_busy = True
            return
        mine = self._loop().create_future()
        self._waiting.append(mine)
        try:
            await mine
        except BaseException:
            if mine in self._waiting:
                self._waiting.remove(mine)
            elif not mine.cancelled():  # it came at the same moment
                self._next()
            raise

    def _next(self) -> None:
        while self._waiting:
            mine = self._waiting.popleft()
            if not mine.done():
                return mine.set_result(None)  # type: ignore[no-any-return]
        self._is_busy = False

    async def _perform(self, work: Callable[[], Any], effect: Any) -> Any:
        loop = self._loop()
        operation = self._operation = _Operation(work, loop, effect)
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
            self._operation = None
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
        """End the thread; the next operation that waits begins another one."""
        if self._inbox is not None and self._thread is not None:
            self._inbox.put(None)
            self._thread.join()
        self._inbox = self._thread = None

    def _own(self) -> _Operation | None:
        """Return the operation that the calling thread performs, None outside the thread."""
        operation = self._operation
        return operation if operation is not None and operation.thread == threading.get_ident() else None

    def wait(self, call: Callable[[], Any], interrupt: Callable[[], object] = lambda: None) -> Any:
        """Return what `call` returns, which waits: the loop goes on meanwhile. `interrupt` makes it fail soon, from
        another thread: when the operation is cancelled, or after LONGEST_WAIT seconds, where TimeoutError is raised.
        Outside of an operation it waits in place."""
        operation = self._own()
        if operation is not None:
            return operation.wait(call, interrupt)
        if self._trying:
            raise MustWait
        return call()

    def pause(self, seconds: float) -> None:
        """Wait some seconds before a lock of a store is asked for again."""
        operation = self._own()
        resting = operation.rest if operation is not None else threading.Event()
        self.wait(lambda: resting.wait(seconds), resting.set)

    def aside(self) -> None:
        """Raise MustWait unless in the thread: what follows cannot begin anew, so it is done there from the start."""
        if self._trying and self._own() is None:
            raise MustWait

    def changing(self) -> None:
        """Note that a change of a store comes next. Raises Cancelled in an operation that was cancelled."""
        operation = self._own()
        if operation is not None:
            operation.look()
            if operation.effect is not None:
                self._settles(operation.effect)

    def home(self, call: Callable[[], Any]) -> Any:
        """Return what `call` returns on the session's own thread."""
        operation = self._own()
        return call() if operation is None else operation.home(call)


class _Operation:
    """One operation in the thread. Two semaphores hand control back and forth: `turned` is released when the loop may go
    on, `mine` when the thread may; `back` when a wait is over."""

    def __init__(self, work: Callable[[], Any], loop: Any, effect: Any) -> None:
        self.work = work
        self.loop = loop
        self.effect = effect
        self.thread = 0
        self.value: Any = None
        self.error: BaseException | None = None
        self.over = False
        self.ended = loop.create_future()
        self.rest = threading.Event()
        self._context = copy_context()
        self._cancelled = False
        self._lost = False
        self._turned = threading.Semaphore(0)
        self._mine = threading.Semaphore(0)
        self._back = threading.Semaphore(0)
        self._border = threading.Lock()  # between coming back from a wait and being given up
        self._interrupt: Callable[[], object] = lambda: None
        self._timer: Any = None
        self._expired = False
        self._request: Callable[[], Any] | None = None
        self._answer: tuple[Any, BaseException | None] = (None, None)

    # ------------------------------------------------------------ in the thread

    def run(self) -> bool:
        """Whether the thread may have another one."""
        self.thread = threading.get_ident()
        try:
            self.value = self._context.run(self.work)
        except BaseException as error:
            self.error = error
        self.over = True
        self._turned.release()
        return not self._lost

    def look(self) -> None:
        if self._cancelled or self._lost:
            raise Cancelled

    def wait(self, call: Callable[[], Any], interrupt: Callable[[], object]) -> Any:
        self.look()
        self._interrupt = interrupt
        self._turned.release()
        try:
            return call()
        except Exception:
            if self._expired:
                raise TimeoutError(f"no answer within {LONGEST_WAIT:g} s") from None
            raise
        finally:
            with self._border:
                if not self._lost:
                    self._back.release()
            if not self._lost:
                with suppress(RuntimeError):  # the loop is closed: nobody waits
                    self.loop.call_soon_threadsafe(self._resume)
                self._mine.acquire()
            self.look()

    def home(self, call: Callable[[], Any]) -> Any:
        if self._lost:
            raise Cancelled
        self._request = call
        self._turned.release()
        self._mine.acquire()
        value, error = self._answer
        if error is not None:
            raise error
        return value

    # ------------------------------------------------------------ in the loop

    def attend(self) -> None:
        """Until the thread waits, or is done with the operation."""
        while True:
            self._turned.acquire()
            call, self._request = self._request, None
            if call is None:
                break
            try:
                self._answer = call(), None
            except BaseException as error:
                self._answer = None, error
            self._mine.release()
        if not self.over:
            self._timer = self._expiring()

    def _expiring(self) -> Any:
        """A virtual clock stands while the thread waits."""
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
        if self.over or self._lost or not self._back.acquire(blocking=False):
            return
        self._cancelled = self._cancelled or self.ended.cancelled()
        self._go_on()
        if self.over and not self.ended.done():
            self.ended.set_result(None)

    def _go_on(self) -> None:
        self._timer.cancel()
        self._mine.release()
        self.attend()

    def end(self) -> bool:
        """Nobody waits for it any more: what it waits for is interrupted, and it ends there. Whether its thread is lost: what it
        waits for cannot be interrupted."""
        self._cancelled = True
        if self.over:
            return False
        self._timer.cancel()
        with suppress(Exception):  # of a driver whose connection goes away
            self._interrupt()
        came = self._back.acquire(timeout=PARTING)
        with self._border:
            came = came or self._back.acquire(blocking=False)
            self._lost = not came
        if came:
            self._go_on()
        return self._lost


def _serve(inbox: SimpleQueue[_Operation | None]) -> None:
    operation = inbox.get()
    while operation is not None and operation.run():
        del operation  # what it holds is the loop's
        operation = inbox.get()
