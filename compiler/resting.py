"""The garbage collector rests while a program is compiled (V-8.7).

A compilation makes a growing tree and no cyclic garbage, yet the collector of CPython walks over the whole heap again and
again as the tree grows, which took up to half of the time, and more of it the longer the program. What is not cyclic is freed
as ever.
Must not know: what is compiled.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

FULL = 500_000  # objects that compilations leave before one of the next looks for garbage among them: 25,000 lines


class _Collector:
    """Compilations may overlap in threads: the first sends the collector to rest and the last wakes it."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.resting = 0
        self.left = 0  # objects that compilations left since the last full collection
        self.full = 0  # how many of those there were

    def rest(self) -> bool:
        """False if the caller has stopped the collector itself, who may also start it himself."""
        with self.lock:
            if not self.resting:
                if not gc.isenabled():
                    return False
                self.forget_collected()
                if self.left > FULL:
                    gc.collect()
                gc.disable()
            self.resting += 1
            return True

    def wake(self) -> None:
        with self.lock:
            self.resting -= 1
            if not self.resting:
                self.promote()
                gc.enable()

    def promote(self) -> None:
        """Make the new objects old without the walk over them that else comes first and finds them all in use.

        Freezing and thawing moves them; what a caller has frozen would thaw too, so then the walk is made.
        """
        if not gc.get_freeze_count():
            self.forget_collected()
            self.left += gc.get_count()[0]
            gc.freeze()
            gc.unfreeze()

    def forget_collected(self) -> None:
        full = gc.get_stats()[-1]["collections"]
        if full != self.full:
            self.full, self.left = full, 0


_collector = _Collector()


@contextmanager
def collector_resting() -> Iterator[None]:
    counted = _collector.rest()
    try:
        yield
    finally:
        if counted:
            _collector.wake()
