"""One thread per process that looks after the runs which compute: at their deadlines and at the memory of the process (G-6.1).

A program that computes never comes back to its event loop, so somebody else must look at the clock. The thread ends nothing
itself: it calls `expire` of the session and raises flags, which the machine reads where it next looks and turns into panics. It
sleeps while nothing computes. Hands on `Watch` to the session, one for each machine, which knows it as its `gauge`. How values
are weighed is `vm/interp/weight.py`.
"""

from __future__ import annotations

import os
import sys
from _thread import allocate_lock, start_new_thread
from contextlib import suppress
from time import monotonic

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from ...vm.interp.machine import Machine


PERIOD = 0.02  # seconds between two looks at what computes
QUIET = 50  # looks at which nothing computed, before the thread sleeps
FOREVER = -1.0  # the timeout of a lock that has none
LONGEST = 1e6  # seconds that a lock can wait
# Chunks of fuel, the count of instructions that a run pays with, before it is watched: a short run needs no thread.
CHUNKS = 15
COUNTED = 1 << 18  # items that built-ins work on between two looks at the memory
# Seconds between two such looks. A look reads a file, which releases the interpreter for a moment. A thread that waits for the
# interpreter asks for it after 5 ms without a release (`sys.getswitchinterval`), so looks without a pause would starve it.
PAUSE = 0.012
STEPS_TO_LIMIT = 16  # of the budget: the least that memory grows by between two weighings


def resident() -> int:
    """Return the bytes of memory that the process has now, or the nearest that the system tells."""
    try:
        with open("/proc/self/statm", "rb", buffering=0) as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")
    except (OSError, AttributeError):  # no /proc, no `sysconf`
        return _without_proc()


def _without_proc() -> int:
    """Return the most that the process has had, which grows with it; on Windows an estimate from the number of small blocks."""
    try:
        from resource import RUSAGE_SELF, getrusage
    except ImportError:
        return sys.getallocatedblocks() * 80
    return getrusage(RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


class Watch:
    """Looks after one machine from `begin` to `end`.

    `due` is its deadline on the monotonic clock, in seconds, None without one and once it is over; `expire` is called then.
    Measuring what a machine holds, a weighing, is slow, so it is done only when the memory of the whole process has reached
    `mark`, which is None until it is first needed; `budget` is the machine's limit. Both are bytes. `chunks` counts the chunks of
    fuel since `begin`, as long as the machine tells of them; `items` those that built-ins have worked on since `count` last
    looked at the memory. While `machine.unwatched` is set, the machine calls `computing`."""

    __slots__ = ("machine", "due", "expire", "mark", "budget", "chunks", "items", "worked", "next_look")

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.due: float | None = None
        self.expire: Callable[[], None] = _nothing
        self.mark: int | None = None
        self.budget = 0
        self.chunks = 0
        self.items = 0
        self.worked = 0  # items of built-ins since they last made the machine weigh
        self.next_look = 0.0  # on the monotonic clock
        machine.gauge = self

    def begin(self, seconds: float | None, expire: Callable[[], None]) -> None:
        """Begin to look. `expire` is called once, in another thread, when `seconds` are over before `end`; with None there is no
        deadline, and the machine is watched only once it computes."""
        self.chunks = 0
        self.expire = expire
        if self.budget != self.machine.memory_bytes:
            self.budget, self.mark = self.machine.memory_bytes, None
        self.due = None if seconds is None else monotonic() + seconds
        if seconds is not None:
            _watchdog.add(self)
        else:
            self.machine.unwatched = True

    def end(self) -> None:
        """Stop looking. `expire` is not called any more when this returns."""
        self.machine.unwatched = False
        self.due = None
        _watchdog.remove(self)

    # ------------------------------------------------------------ what the machine calls

    def computing(self, translated: bool) -> None:
        """Take note that the machine has used a chunk of fuel. Translated code is watched at once: it comes back less often."""
        self.chunks += 1
        if translated or self.chunks > CHUNKS:
            self.machine.unwatched = False
            self._current_mark()  # from what the process has now: the thread may look late
            _watchdog.add(self)

    def count(self, items: int) -> None:
        """Take note that a built-in has worked on so many items; look at the memory after more than COUNTED of them, but not
        before PAUSE seconds are over since the last such look. After more items than half the budget has bytes, make the machine
        weigh soon whatever the memory is."""
        self.items += items
        if self.items > COUNTED and (now := monotonic()) >= self.next_look:
            self.worked += self.items
            self.items, self.next_look = 0, now + PAUSE
            # Memory that the process has freed and kept does not show when it is used again: that much work may have filled it.
            if self.worked > self.budget // 2:
                self.worked = 0
                self.machine.weigh_soon()
            self.look()

    def weighed(self, weight: int) -> None:
        """Take note that the machine holds `weight` bytes: set the mark of the next weighing, the nearer the less of the budget
        is left."""
        self.mark = resident() + max((self.budget - weight) * 9 // 10, self.budget // STEPS_TO_LIMIT)

    # ------------------------------------------------------------ what the thread calls

    def look(self) -> None:
        """Make the machine weigh what it holds soon, if the memory of the process has reached the mark."""
        if resident() >= self._current_mark():
            self.machine.weigh_soon()

    def _current_mark(self) -> int:
        """Return the mark. The first one is half of the budget above what the process has: so much may come without a
        weighing."""
        if self.mark is None:
            self.mark = resident() + self.budget // 2
        return self.mark


def _nothing() -> None:
    pass


class Watchdog:
    """The thread and what it looks at. It is started by the first watch, and again in a child process. `changing` guards
    `watches`; `wake` is the lock on which the thread sleeps, and releasing it wakes the thread. `started`: there is a thread;
    `asleep`: it looks at nothing until it is woken or a deadline comes."""

    def __init__(self) -> None:
        self.watches: dict[Watch, None] = {}
        self.changing = allocate_lock()
        self.wake = allocate_lock()
        self.started = False
        self.asleep = True

    def add(self, watch: Watch) -> None:
        """Begin to look after a machine, and wake the thread if it sleeps."""
        with self.changing:
            self.watches[watch] = None
            if not self.started:
                self.started = True
                self.wake.acquire(blocking=False)
                start_new_thread(self.run, ())
        if self.asleep:  # else it looks within a period
            self._wake_up()

    def remove(self, watch: Watch) -> None:
        """Stop looking after a machine; wait for an `expire` that is under way. Nothing happens for one that is not looked
        after."""
        with self.changing:
            self.watches.pop(watch, None)

    def _wake_up(self) -> None:
        if self.wake.locked():
            with suppress(RuntimeError):  # the thread has just woken
                self.wake.release()

    def run(self) -> None:
        """Look after the watches for ever; this is what the thread runs."""
        quiet = 0
        while True:
            with self.changing:
                watches = list(self.watches)
            now = monotonic()
            busy = False
            for watch in watches:
                if watch.due is not None and now >= watch.due:
                    self._expire(watch, now)
                if watch.machine.running is not None:
                    busy = True
                    watch.look()
            quiet = 0 if busy else quiet + 1
            if self.wake.acquire(timeout=self._rest(watches, quiet > QUIET)):
                quiet = 0
            self.asleep = False

    def _expire(self, watch: Watch, now: float) -> None:
        """End what a watch looks after, if it is still due. `remove` waits for that, so nothing expires behind it."""
        with self.changing:
            if watch.due is not None and now >= watch.due:
                watch.due = None  # once is enough: it raises a flag that stays until the call has ended
                watch.expire()

    def _rest(self, watches: list[Watch], quiet: bool) -> float:
        """Return the seconds until the next look, and note whether the thread will sleep. A watch that is added before this is
        decided keeps the thread awake; a later one wakes it."""
        with self.changing:
            self.asleep = quiet and watches == list(self.watches)
            due = min([watch.due for watch in self.watches if watch.due is not None], default=None)
            if self.asleep:
                for watch in watches:
                    watch.machine.unwatched = True
        if due is None:
            return FOREVER if self.asleep else PERIOD
        until = max(due - monotonic(), 0)
        return min(until, LONGEST) if self.asleep else min(until, PERIOD)


_watchdog = Watchdog()


def _forked() -> None:
    """Begin anew in a child process, which has none of its parent's threads."""
    global _watchdog
    _watchdog = Watchdog()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
