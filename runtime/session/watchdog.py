"""One thread per process that looks after the runs which compute: at their deadlines and at the memory of the process (G-6.1).

A program that computes never comes back to its event loop, so somebody else must look at the clock. Hands on `Watch`, one per
machine. The thread sleeps while nothing computes; it only raises flags, which the machine reads.
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
QUIET = 50  # looks without anything to see before the thread sleeps
FOREVER = -1.0
LONGEST = 1e6  # seconds that a lock can wait
CHUNKS = 15  # of fuel that a run uses before it is watched: short ones need no thread
COUNTED = 1 << 18  # items that built-ins work on between two looks at the memory
STEPS_TO_LIMIT = 16  # of the budget: the least that memory grows by between two weighings


def resident() -> int:
    """Bytes of memory that the process has now, or as near as the system tells."""
    try:
        with open("/proc/self/statm", "rb", buffering=0) as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE")
    except (OSError, AttributeError):  # no /proc, no `sysconf`
        return _without_proc()


def _without_proc() -> int:
    """The most it has had, which grows with it; on Windows an estimate from the number of small blocks."""
    try:
        from resource import RUSAGE_SELF, getrusage
    except ImportError:
        return sys.getallocatedblocks() * 80
    return getrusage(RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


class Watch:
    """Looks after one machine from `begin` to `end`. Its memory is weighed when that of the process has reached `mark`."""

    __slots__ = ("machine", "due", "expire", "mark", "budget", "chunks", "items")

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.due: float | None = None
        self.expire: Callable[[], None] = _nothing
        self.mark: int | None = None
        self.budget = 0
        self.chunks = 0
        self.items = 0
        machine.gauge = self

    def begin(self, seconds: float | None, expire: Callable[[], None]) -> None:
        """`expire` is called in another thread when the seconds are over."""
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
        self.machine.unwatched = False
        self.due = None
        _watchdog.remove(self)

    # ------------------------------------------------------------ what the machine calls

    def computing(self, translated: bool) -> None:
        self.chunks += 1
        if translated or self.chunks > CHUNKS:
            self.machine.unwatched = False
            _watchdog.add(self)

    def count(self, items: int) -> None:
        self.items += items
        if self.items > COUNTED:
            self.items = 0
            self.look()

    def weighed(self, weight: int) -> None:
        self.mark = resident() + max((self.budget - weight) * 9 // 10, self.budget // STEPS_TO_LIMIT)

    # ------------------------------------------------------------ what the thread calls

    def look(self) -> None:
        """At the memory of the process."""
        if resident() >= self._marked():
            self.machine.weigh_soon()

    def _marked(self) -> int:
        """Half of the budget may come unseen, which is what is there already."""
        if self.mark is None:
            self.mark = resident() + self.budget // 2
        return self.mark


def _nothing() -> None:
    pass


class Watchdog:
    """The thread. It is started by the first watch, and anew in a child process."""

    def __init__(self) -> None:
        self.watches: dict[Watch, None] = {}
        self.changing = allocate_lock()
        self.wake = allocate_lock()
        self.started = False
        self.asleep = True

    def add(self, watch: Watch) -> None:
        with self.changing:
            self.watches[watch] = None
            if not self.started:
                self.started = True
                self.wake.acquire(blocking=False)
                start_new_thread(self.run, ())
        if self.asleep:  # else it looks within a period
            self._stir()

    def remove(self, watch: Watch) -> None:
        with self.changing:
            self.watches.pop(watch, None)

    def _stir(self) -> None:
        if self.wake.locked():
            with suppress(RuntimeError):  # the thread has just woken
                self.wake.release()

    def run(self) -> None:
        quiet = 0
        while True:
            with self.changing:
                watches = list(self.watches)
            now = monotonic()
            busy = False
            for watch in watches:
                if watch.due is not None and now >= watch.due:
                    watch.due = None
                    watch.expire()
                if watch.machine.running is not None:
                    busy = True
                    watch.look()
            quiet = 0 if busy else quiet + 1
            if self.wake.acquire(timeout=self._rest(watches, quiet > QUIET)):
                quiet = 0
            self.asleep = False

    def _rest(self, watches: list[Watch], quiet: bool) -> float:
        """Seconds until the next look. A watch added before that is decided keeps the thread awake, a later one wakes it."""
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
    """A child has no thread of its parent."""
    global _watchdog
    _watchdog = Watchdog()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
