"""Programs from seeds, in the second evaluator and on every route: one meaning (C-12.4, C-12.5)."""

from __future__ import annotations

import sys

from conformance import generate

from .campaign import Campaign, Figures


def programs(seed: int, cases: int) -> Figures:
    comparison = generate.Comparison(f"{sys.executable} {generate.DRIVERS / 'concerto.py'}",
                                     f"{sys.executable} {generate.DRIVERS / 'oracle.py'}")  # fmt: skip
    try:
        for number in range(seed, seed + cases):
            report = comparison.judge(number)
            assert report is None, f"python conformance/generate.py --seed {number} --count 1\n{report}"
        assert comparison.unclaimed == 0, f"seed {seed}: {comparison.unclaimed} not claimed"
    finally:
        comparison.close()
    return {"programs": cases}


CAMPAIGNS = [Campaign("generated programs", "C-12.5", 5, 2000, programs, part=250)]
