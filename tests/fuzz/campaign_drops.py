"""The machine dropped between every two instructions of programs of the suite, and each time a fresh one that goes on from the
last snapshot (G-13.7, G-16.6): emits, requests, outcome, memories and fuel are those of a run that nobody disturbed.

`dropping_driver.py` does that, with the world of the suite. A snapshot stands where a task can be suspended, so what is behind it
is run again from there. Left out are programs that run for long (the slices are run again for each of their instructions), and
those with something beside the machine that an instruction changes for good: stores, which journals protect (G-13.5), what rules
of `learn` have computed, and what a function of a tool appends to the turn that is on its way.
"""

from __future__ import annotations

import random
import re
import sys
from collections import Counter
from pathlib import Path

from conformance.compare import drift
from conformance.protocol import Driver, DriverError
from conformance.records import Program
from conformance.runner import observe

from .campaign import Campaign, Figures, suite_programs

ROOT = Path(__file__).resolve().parents[2]
PLAIN = [sys.executable, str(ROOT / "conformance" / "drivers" / "concerto.py")]
DROPPING = [sys.executable, str(ROOT / "tests" / "fuzz" / "dropping_driver.py")]
LONGEST = 1_000  # fuel of the undisturbed run
SILENCE = 110.0  # seconds: a slice is run as often as it has instructions, and says nothing meanwhile
BESIDE = re.compile(r"\bstore\b|\blearn\b")
OPEN_TURNS = {"memory/appended-within-a-run.conc", "memory/tool-writes-join-the-frame.conc"}


def is_beside(program: Program) -> bool:
    """Whether instructions of it change something for good that stands beside the machine."""
    return program.ident in OPEN_TURNS or any(BESIDE.search(text) for text in program.files.values())


def dropped(seed: int, cases: int) -> Figures:
    programs = [one for one in suite_programs() if one.operation in ("run", "test") and one.level in (1, 2, 3, 4)]
    rng = random.Random(seed)
    rng.shuffle(programs)
    plain, dropping = Driver(PLAIN, SILENCE), Driver(DROPPING, SILENCE)
    total: Counter[str] = Counter()
    try:
        for program in programs:
            if total["programs"] == cases:
                break
            if is_beside(program):
                total["left out for what is beside the machine"] += 1
                continue
            first = observe(plain, program, "interp")
            if not 0 < (first.result.get("fuel") or 0) <= LONGEST:
                total["left out for their length, or not run"] += 1
                continue
            again = observe(dropping, program, "resume")
            difference = drift(first, again)
            assert not difference and not again.problems, f"{program.ident}, seed {seed}: {difference} {again.problems}"
            drops, instructions = again.result["drops"], again.result["instructions"]
            assert drops == instructions > 0, f"{program.ident}: {drops} of {instructions}"
            total += Counter({"programs": 1, "machines dropped": drops})
    except DriverError as error:
        raise AssertionError(f"seed {seed}, {program.ident}: {error}") from error
    finally:
        for driver in (plain, dropping):
            driver.close()
    return total


CAMPAIGNS = [Campaign("machines dropped between instructions", "G-16.6", 40, 1_500, dropped, part=1_500)]
