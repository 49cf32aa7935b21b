"""`std::budget` (L-7.17): what is left of the budgets of the run."""

from __future__ import annotations

from ..registry import std_effect

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


@std_effect("budget", "left() -> BudgetLeft", effect="budget", clause="L-7.17.1")
def left() -> tuple[Any, ...]:
    """What is left of each kind, nil where nothing limits it; what is reserved for requests on their way is not left."""
    return ("left",)
