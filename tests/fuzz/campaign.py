"""What a fuzzer of this folder offers: `make test` runs a few seconds of each with a fresh seed, `make soak` all of it at length.

A fuzzer is a module `campaign_SUBJECT.py` with a list `CAMPAIGNS`.
"""

from __future__ import annotations

import functools
import importlib
import os
import random
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from conformance import suite
from conformance.records import Program

Figures = Mapping[str, int | float | str]


class Campaign(NamedTuple):
    name: str
    """What is fuzzed, in the words of the table in docs/generated/soak.md."""
    clause: str
    small: int
    """Cases in `make test`: a few seconds."""
    soak: int
    """Cases in `make soak`."""
    run: Callable[[int, int], Figures]
    """Takes seed and number of cases; returns figures for the table. A failure is an AssertionError that names the case and how
    to repeat it."""
    part: int = 500
    """Cases of one seed: a soak draws a new seed for each part, so that it can show where it is."""


def all_campaigns() -> list[Campaign]:
    names = sorted(path.stem for path in Path(__file__).parent.glob("campaign_*.py"))
    return [campaign for name in names for campaign in importlib.import_module(f"{__package__}.{name}").CAMPAIGNS]


@functools.cache
def suite_programs() -> tuple[Program, ...]:
    """Those of the conformance suite."""
    programs, errors = suite.load()
    assert errors == []
    return tuple(programs)


def fresh_seed() -> int:
    """The seed of CONCERTO_FUZZ_SEED, to repeat a run, else one that no run had before."""
    asked = os.environ.get("CONCERTO_FUZZ_SEED")
    return int(asked) if asked else random.SystemRandom().randrange(2**31)
