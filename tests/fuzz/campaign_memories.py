"""Programs over memories that combine steps, shapes of memories, kinds of calls and stores: each request, reading and dump is
the one that lists say (M-12.24); and lists of overlapping views (M-12.21).

A soak runs every pair of steps in every shape by every kind of call on every store there is.
"""

from __future__ import annotations

import random
import tempfile
from collections import Counter
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from ..memory import servers
from ..memory.combinations import Case, check, drawn, whole
from ..memory.conftest import KINDS, Opener
from ..memory.listed_views import lists
from .campaign import Campaign, Figures

ALL = len(whole()) * len(KINDS)


def combinations(seed: int, cases: int) -> Figures:
    rng = random.Random(seed)
    with ExitStack() as stack:
        urls = {"volatile": None, "sqlite": None}
        for kind, started in (("redis", servers.redis_url), ("postgres", servers.postgres_url)):
            if cases >= ALL and (url := _url(stack, kind, started)) is not None:
                urls[kind] = url
        if cases < ALL:
            chosen = [(drawn(rng), rng.choice([*urls])) for _ in range(cases)]
        else:
            chosen = [(Case(*each, rng.randrange(2**31)), kind) for each in whole() for kind in urls]
            chosen += [(drawn(rng), rng.choice([*urls])) for _ in range(cases - len(chosen))]
        done: Counter[str] = Counter()
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="concerto-memories-")))
        for number, (case, kind) in enumerate(chosen):
            place = folder / str(number)
            place.mkdir()
            with closing(Opener(kind, place, urls[kind])) as opener:
                requests, turns = check(case, kind, opener, place)
            done["requests"] += requests
            done["turns"] += turns
            done[kind] += 1
    return dict(done)


def _url(stack: ExitStack, kind: str, started) -> str | None:
    """None where this machine has no such server."""
    try:
        folder = [Path(stack.enter_context(tempfile.TemporaryDirectory()))] if kind == "redis" else []
        return stack.enter_context(started(*folder))
    except pytest.skip.Exception:
        return None


CAMPAIGNS = [
    Campaign("combined memories", "M-12.24", 8, ALL, combinations, part=ALL),
    Campaign("lists of views", "M-12.21", 200, 10_000, lists, part=10_000),
]
