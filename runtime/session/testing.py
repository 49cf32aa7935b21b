"""Runs the tests of a program, each in a fresh session (O-8.3), and the clocks that tests run by (V-6.6, G-14.5).

Hands on `chosen`, `run_tests` and `TestOutcome` to the verb `test` and the Python API; `SkippingClock`, by which waits take no
time unless something outside is waited for, to the command line (`cli/run.py`) and to the Python API; and `judged` and
`VirtualLoop`, whose clock somebody else moves, to the drivers of conformance and to tests. A program comes here linked; nothing
is compiled here, and how outcomes are shown is the matter of the verb.
"""

from __future__ import annotations

import asyncio
import selectors
import time

from ..effects.tests import EMITS
from .session import Session

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from ...vm.bytecode.image import Test
    from ...vm.interp.link import Program
    from ..host import Host
    from .session import Outcome

    Place = tuple[str, int, int]  # file, line and column, the last two from 1 on, 0 where no place is known


class TestOutcome:
    """How a test ended. `description` is that of the test, `failure` the text of what went wrong, None when the test passes.

    `place` is the file, line and column (from 1 on, 0 where no place is known) where it panicked or its error was made, else
    where its body begins, also of a test that passes; None where that is not known, and for a test that is to fail and fails as
    it should, or not at all. `way` are the places that an error has passed, as (function, file, line, column), a number
    standing for so many that are left out (L-5.11.3); it is empty for a panic, and for a test that is to fail unless it failed
    with another text. `emits` are the emits of the program as (channel, value); `expected` says that the test is to fail."""

    __slots__ = ("description", "failure", "place", "expected", "emits", "way")

    def __init__(
        self, test: Test, failure: str | None, place: Place | None, emits: list[tuple[str, Any]], way: tuple[Any, ...] = ()
    ) -> None:
        self.description = test.description
        self.failure = failure
        self.place = place
        self.expected = test.expect_fail
        self.emits = emits
        self.way = way

    @property
    def passed(self) -> bool:
        """Whether the test passes: one that is to fail passes when it fails as it should."""
        return self.failure is None


def chosen(program: Program, part: str) -> Iterator[Test]:
    """Return an iterator over the tests whose description contains the text `part`, in source order; with "" over all."""
    return (test for test in program.image.tests if part in test.description)


def run_tests(
    program: Program,
    tests: Iterator[Test],
    host: Callable[[Callable[[str, Any, bool], None]], Host],
    run: Callable[[Session, int], Outcome],
) -> Iterator[TestOutcome]:
    """Run tests, each in a session of its own, and yield their outcomes one after another.

    `host` makes the host of one session from the sink of its emits, which takes channel, value, and whether the runtime itself
    emits it; its memories are made volatile. `run` runs the function of a number in a session, closes it and returns its outcome;
    what it raises passes through. Raises ConfigFailure as `Session` does. A test begins when its outcome is asked for."""
    for test in tests:
        emits: list[tuple[str, Any]] = []

        def record(channel: str, value: Any, by_runtime: bool, emits: list[tuple[str, Any]] = emits) -> None:
            if not by_runtime:
                emits.append((channel, value))

        session_host = host(record)
        session_host.volatile = True  # every test has fresh stores (M-8.15)
        session_host.is_audited = False  # `record` keeps what the program emits
        session = Session(program, session_host)
        session.state[EMITS] = emits
        outcome = run(session, test.function)
        yield judged(test, outcome, emits, session.redactor.clean, program.start_of(test.function))


def judged(
    test: Test, outcome: Outcome, emits: list[tuple[str, Any]], clean: Callable[[str], str], start: Place | None = None
) -> TestOutcome:
    """Return what the outcome of its function means for a test (O-8.2, O-8.5). `clean` takes secrets out of the text of a
    failure; `start` is the file, line and column where the body of the test begins, None where nobody knows."""
    text, trace = _failure(outcome), outcome.trace
    place = trace[0][1:] if trace else start
    way = trace if outcome.panic is None else ()
    text = None if text is None else clean(text)
    if not test.expect_fail:
        return TestOutcome(test, text, place, emits, way)
    if text is None:
        return TestOutcome(test, "expected to fail", None, emits)
    if test.expected is not None and test.expected not in text:
        return TestOutcome(test, f"expected a failure with {test.expected!r}, found: {text}", place, emits, way)
    return TestOutcome(test, None, None, emits)


def _failure(outcome: Outcome) -> str | None:
    """Return the message of what ended a test, None for one that ended well."""
    if outcome.panic is not None:
        return outcome.panic.message
    return outcome.message if outcome.exit_code else None


OWN_DESCRIPTORS = 1  # the pipe by which threads wake the loop


class SkippingClock:
    """A clock by which waits take no time (V-6.6). `now` is monotonic, `wall` counts from 1970 on, both in seconds and with all
    that was skipped.

    The asyncio loop of `new_loop` moves it: while no connection, process or thread is open to wait for, it skips to the next
    timer at once; otherwise it waits as usual, so that a test may ask a real provider."""

    def __init__(self) -> None:
        self._skipped = 0.0

    def now(self) -> float:
        return time.monotonic() + self._skipped

    def wall(self) -> float:
        return time.time() + self._skipped

    def new_loop(self) -> asyncio.AbstractEventLoop:
        """Return a new loop that moves this clock."""
        return _Loop(self)

    def skip(self, seconds: float) -> None:
        """Set the clock forward by so many seconds."""
        self._skipped += seconds


class _Selector(selectors.DefaultSelector):
    """Skips the time in which nothing outside is waited for. `waits_outside` says whether threads or processes are at work; open
    connections the selector knows itself."""

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
        """Return whether a thread, or a process that has not ended, is waited for; a process may have closed its pipes before its
        end."""
        self._processes = [process for process in self._processes if process.get_returncode() is None]
        return self._threads > 0 or bool(self._processes)

    def hold_clock(self, change: int) -> None:
        """Count a thread that is waited for in real time (1), or its end (-1)."""
        self._threads += change

    async def subprocess_exec(self, *args: Any, **options: Any) -> Any:
        transport_and_protocol = await super().subprocess_exec(*args, **options)
        self._processes.append(transport_and_protocol[0])
        return transport_and_protocol

    def run_in_executor(self, executor: Any, func: Any, *args: Any) -> Any:  # type: ignore[override]
        self._threads += 1
        future = super().run_in_executor(executor, func, *args)
        future.add_done_callback(self._thread_ended)
        return future

    async def shutdown_default_executor(self, *timeout: Any) -> None:
        """asyncio waits here for a thread of its own, from Python 3.12 on at most 300 s: that time must not be skipped."""
        self._threads += 1
        try:
            await super().shutdown_default_executor(*timeout)
        finally:
            self._threads -= 1

    def _thread_ended(self, future: Any) -> None:
        self._threads -= 1


CLOCK_RESOLUTION = 1e-6  # seconds


class _IdleSelector(selectors.SelectSelector):
    """Where a real selector would wait, it calls `idle`, and does not block. `outside` counts threads that are waited for in real
    time: while it is not 0, it blocks until one of them wakes the loop."""

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
    """An asyncio loop whose clock stands still while anything can run (V-6.6, G-14.5). `now_ms` is its time in milliseconds.

    When every task waits, `idle(until_ms)` is called with the time of the next timer, None without one: it must set `now_ms`
    forward or complete a future."""

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
        """Count a thread that is waited for in real time (1), or its end (-1). While there is one, the clock stands still."""
        self._idle_selector.outside += change

    def time(self) -> float:
        return self.now_ms / 1000

    def _rest(self, timeout: float | None) -> None:
        # rounded up: a timer must be due when the clock has reached `until`
        self._on_idle(None if timeout is None else self.now_ms + max(1, -(-int(timeout * 1_000_000) // 1000)))
