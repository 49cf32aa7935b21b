"""`std::call` (L-7.18): what code that runs within a call of a model or agent may know of it."""

from __future__ import annotations

from ..registry import std_effect

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


@std_effect("call", "context() -> Any", effect="call", clause="L-7.18.1")
def context() -> tuple[Any, ...]:
    """What the innermost call around this code that has one was given by `with_context`; nil where there is none."""
    return ("context",)
