"""What a bench found out: a figure, perhaps its ratio to a twin, and whether that reaches the target of V-8.

Plain records and the arithmetic on them. Must not know: how anything is measured or printed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

MET, MISSED, MEASURED, WRONG = "met", "missed", "measured", "WRONG OUTPUT"


@dataclass(frozen=True, slots=True)
class Target:
    """A bound of a clause, on the figure or on its ratio; `least` when more is better."""

    clause: str
    limit: float
    on_ratio: bool = False
    least: bool = False

    def admits(self, value: float) -> bool:
        return value >= self.limit if self.least else value <= self.limit


@dataclass(frozen=True, slots=True)
class Figure:
    """One row. `ratio` is to a twin, or to a round of `reference.py`; `spread` is (largest - smallest) / median of the samples;
    `note` says what stands behind the figure."""

    name: str
    value: float
    unit: str
    target: Target | None = None
    ratio: float | None = None
    spread: float = 0.0
    note: str = ""
    wrong: bool = False

    @property
    def judged(self) -> float | None:
        """The number the target bounds."""
        return self.ratio if self.target is not None and self.target.on_ratio else self.value

    @property
    def verdict(self) -> str:
        if self.wrong:
            return WRONG
        if self.target is None or self.judged is None:
            return MEASURED
        return MET if self.target.admits(self.judged) else MISSED

    @property
    def comparable(self) -> float:
        """What a baseline compares: the ratio where there is one, for it does not depend on the machine."""
        return self.value if self.ratio is None else self.ratio

    def as_json(self) -> dict[str, object]:
        return {
            "name": self.name,
            "value": self.value,
            "unit": self.unit,
            "ratio": self.ratio,
            "spread": self.spread,
            "clause": self.target.clause if self.target else None,
            "limit": self.target.limit if self.target else None,
            "on_ratio": self.target is not None and self.target.on_ratio,
            "verdict": self.verdict,
            "note": self.note,
        }


def geometric_mean(values: Iterable[float]) -> float:
    logarithms = [math.log(value) for value in values]
    if not logarithms:
        raise ValueError("the geometric mean of nothing")
    return math.exp(sum(logarithms) / len(logarithms))
