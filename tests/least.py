"""The least of several measurements of time. What else a machine does makes one of them longer, a fault of the product each."""

from __future__ import annotations

from collections.abc import Callable


def least(measure: Callable[[], float], bound: float, times: int = 3) -> float:
    """Return the least of at most `times` measurements; none is made behind one that is below the bound."""
    found = measure()
    for _ in range(times - 1):
        if found < bound:
            break
        found = min(found, measure())
    return found
