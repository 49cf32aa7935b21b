"""`std::usage` (L-7.16): what calls of models have used. What is counted where is the host's (O-1.132)."""

from __future__ import annotations

from ...values.records import ModelUsage
from ..guards import mismatch
from ..registry import std_effect, std_prelude

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


@std_effect("usage", "last() -> ModelUsage", effect="usage", clause="L-7.16.1")
def last() -> tuple[Any, ...]:
    """What the last call of this task used, all of its requests together; all zero before the first."""
    return ("last",)


@std_effect("usage", "spent() -> ModelUsage", effect="usage", clause="L-7.16.2")
def spent() -> tuple[Any, ...]:
    """What this task, and those that it started, have used so far."""
    return ("spent",)


@std_effect("usage", "since(before: ModelUsage) -> ModelUsage", effect="usage", clause="L-7.16.3")
def since(before: Any) -> tuple[Any, ...]:
    """What `spent()` has grown by since it was `before`."""
    return ("since", before if type(before) is ModelUsage else mismatch("ModelUsage", before))


std_prelude(
    "usage", "of<T>(f: fn() -> T) -> (T, ModelUsage)", clause="L-7.16.4", doc="The result of f and what it used.",
    source="let before = std::usage::spent(); let result = f(); (result, std::usage::since(before))",
)  # fmt: skip
