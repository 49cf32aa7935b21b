"""Samples of process CPU time: interleaved, so that what else the machine does falls on all candidates alike.

Hands on `Samples`. Must not know: what is run.
"""

from __future__ import annotations

import gc
import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import process_time

Work = Callable[[], object]


@dataclass(frozen=True, slots=True)
class Plan:
    """How often to sample, how long a sample lasts at least, and whether sizes are reduced."""

    samples: int = 5
    least: float = 0.05
    quick: bool = False


FULL = Plan()
QUICK = Plan(samples=3, least=0.02, quick=True)


@dataclass(frozen=True, slots=True)
class Samples:
    """Seconds a run, one number a sample."""

    seconds: tuple[float, ...]

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)

    @property
    def spread(self) -> float:
        return (max(self.seconds) - min(self.seconds)) / self.median if self.median else 0.0


def interleave(works: Sequence[Work], plan: Plan, clock: Callable[[], float] = process_time) -> list[Samples]:
    """One sample of each work in turn, `plan.samples` times; a short work is repeated inside its sample."""
    repeats = [_repeats(work, plan.least, clock) for work in works]
    seconds: list[list[float]] = [[] for _ in works]
    for _ in range(plan.samples):
        for work, repeat, found in zip(works, repeats, seconds, strict=True):
            gc.collect()
            found.append(_time(work, repeat, clock) / repeat)
    return [Samples(tuple(found)) for found in seconds]


def ratio(of: Samples, to: Samples) -> float:
    return of.median / to.median


def _repeats(work: Work, least: float, clock: Callable[[], float]) -> int:
    """How many runs fill a sample; the runs made to find out warm the work up."""
    repeat = 1
    while True:
        taken = _time(work, repeat, clock)
        if taken >= least or repeat >= 1 << 20:
            return repeat
        repeat = max(repeat * 2, math.ceil(repeat * least / taken)) if taken > least / 100 else repeat * 8


def _time(work: Work, repeat: int, clock: Callable[[], float]) -> float:
    start = clock()
    for _ in range(repeat):
        work()
    return clock() - start
