"""Hostile and just large sources: `check` takes time and memory by the size of the text, or refuses with a diagnostic (G-5.7).

A case is some families of `hostile_sources`, at a size at which the compiler has something to do, and at twice that size. What
comes out at twice the size must have taken at most RATIO times as long for each byte more, or have been refused: with an error
that has a code of the table, a place in the text and a help. The same for the formatter and for what an editor is told.
"""

from __future__ import annotations

import gc
import random
import time
import tracemalloc
from collections.abc import Callable

from concerto.compiler.diagnostics import CODES, Diagnostics, render_json, render_text
from concerto.compiler.format import format_source
from concerto.compiler.incremental import CheckCache
from concerto.compiler.pipeline import compile_source
from concerto.compiler.source import Source
from concerto.lsp.analysis import analyse

from .campaign import Campaign, Figures
from .hostile_sources import FAMILIES, Part, program

RATIO = 2.5  # for twice the size
MEASURABLE = 0.05  # seconds of CPU time: below, a measurement says nothing
RATIO_SHOWN = "max ratio for twice the bytes, beside 0.05 s and without E0114"  # of which RATIO is the bound
LASTING = 1.0  # seconds at which growth counts for good
SLACK = 0.05  # of CPU time, for the caches of a busy machine
LONGEST = 200_000  # bytes of a source at the smaller size
MEMORY = 8_000  # bytes that may be held for each byte of the source, beside FREE
FREE = 64 << 20

Work = Callable[[bytes], Diagnostics]


def checked(data: bytes) -> Diagnostics:
    result = compile_source(data, "hostile.conc")
    render_text(result.diagnostics, result.sources)
    render_json(result.diagnostics, result.sources)
    return result.diagnostics


def formatted(data: bytes) -> Diagnostics:
    diagnostics = Diagnostics()
    format_source(Source("hostile.conc", data.decode()), diagnostics)
    return diagnostics


def told_to_an_editor(data: bytes) -> Diagnostics:
    diagnostics = Diagnostics()
    for found in analyse("/nowhere/hostile.conc", data.decode(), {}, CheckCache()).own:
        diagnostics.add(found)
    return diagnostics


WORK: dict[str, Work] = {"check": checked, "fmt": formatted, "lsp": told_to_an_editor}


class Case:
    """Families and a seed: the same text for the same size."""

    def __init__(self, rng: random.Random) -> None:
        self.names = rng.sample(list(FAMILIES), rng.choice((1, 1, 2, 3)))
        self.seed = rng.randrange(2**31)
        self.work = rng.choice(("check", "check", "check", "fmt", "lsp"))

    def source(self, size: int) -> bytes:
        rng = random.Random(self.seed)
        parts: list[Part] = [FAMILIES[name](size, "abc"[place], rng) for place, name in enumerate(self.names)]
        return program(parts).encode()

    def __str__(self) -> str:
        return f"{self.work} of {' and '.join(self.names)} with seed {self.seed}"


def seconds(work: Work, data: bytes, runs: int) -> tuple[float, Diagnostics]:
    """CPU time, the least of some runs."""
    best, diagnostics = float("inf"), Diagnostics()
    for _ in range(runs):
        gc.collect()
        start = time.process_time()
        diagnostics = work(data)
        best = min(best, time.process_time() - start)
    return best, diagnostics


def require_reports(case: Case, size: int, diagnostics: Diagnostics, data: bytes) -> bool:
    """Whether it was refused; each report has a code, a place in the text and words that a reader can use."""
    length = len(data.decode())
    for found in diagnostics.found:
        where = f"{case}, size {size}: {found.code} {found.message[:80]}"
        assert found.code in CODES, where
        assert 0 <= found.span.start <= found.span.end <= length, where
        assert len(found.message) + len(found.help or "") < 8_000 + 2 * length, where
        assert found.code != "E0114" or found.help, where
    return diagnostics.has_errors


def measure(case: Case, most: float, size: int = 16) -> tuple[float, bool]:
    """How many times as long a text of twice the bytes takes, beside SLACK seconds, which is at most RATIO; 0 where G-5.7
    promises none, for E0114 or a text that takes no time. And whether the larger one was refused."""
    work = WORK[case.work]
    while True:
        data = case.source(size)
        took, diagnostics = seconds(work, data, 1)
        require_reports(case, size, diagnostics, data)
        if took >= MEASURABLE or len(data) > LONGEST or size > LONGEST:
            break
        size *= 2
    larger = case.source(2 * size)
    grown, grown_diagnostics = seconds(work, larger, 1)
    refused = require_reports(case, 2 * size, grown_diagnostics, larger)
    assert grown < most, f"{case}: {len(larger)} bytes take {grown:.1f} s (size {2 * size})"
    if took < MEASURABLE:
        return 0.0, refused
    if "E0114" in {found.code for found in grown_diagnostics.found}:
        return 0.0, refused
    doubled = max(1.0, len(larger) / len(data) / 2)  # twice the size may be more than twice the bytes
    for _ in range(3):  # a busy machine is slow by turns: measured again before it counts
        ratio = (grown - SLACK) / took / doubled
        if ratio <= RATIO:
            return max(0.0, ratio), refused
        took, grown = min(seconds(work, data, 2)[0], took), min(seconds(work, larger, 2)[0], grown)
    if took < LASTING:  # what G-5.8 to G-5.11 allow every program is spent at some size
        return measure(case, most, 2 * size)
    raise AssertionError(f"{case}: {took:.2f} s at size {size}, {grown:.2f} s at twice that")


def held(case: Case, size: int) -> None:
    """The peak of what is allocated is bounded by the length of the text."""
    data = case.source(size)
    tracemalloc.start()
    WORK[case.work](data)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak <= FREE + MEMORY * len(data), f"{case}: {len(data)} bytes of source hold {peak >> 20} MiB (size {size})"


def run(seed: int, cases: int) -> Figures:
    figures: dict[str, int | float] = {"refused": 0, RATIO_SHOWN: 0.0}
    for number in range(cases):
        case = Case(random.Random(seed * 1_000_003 + number))
        try:
            ratio, refused = measure(case, most=20.0)
            if number % 20 == 0:
                held(case, 64)
        except (RecursionError, MemoryError) as error:
            raise AssertionError(f"{case}: {type(error).__name__}") from None
        figures["refused"] += refused
        figures[RATIO_SHOWN] = round(max(figures[RATIO_SHOWN], ratio), 2)
    return figures


CAMPAIGNS = [Campaign("hostile sources", "G-5.7", 2, 2_000, run, part=100)]
