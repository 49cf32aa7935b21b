"""`std::time` (L-7.6). The clock is an effect: tests and replay run on a virtual one (V-6.6)."""

from __future__ import annotations

from ..guards import integer
from ..registry import std_effect, std_prelude

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


@std_effect("time", "now() -> String", effect="clock", clause="L-7.6.1")
def now() -> tuple[Any, ...]:
    """The time as UTC text, `2030-01-02T03:04:05.678Z`."""
    return ("now",)


@std_effect("time", "now_ms() -> Int", effect="clock", clause="L-7.6.1")
def now_ms() -> tuple[Any, ...]:
    """Milliseconds since 1970."""
    return ("now_ms",)


@std_effect("time", "sleep(ms: Int) -> Nil", effect="sleep", clause="L-7.6.2")
def sleep(ms: Any) -> tuple[Any, ...]:
    """Waits while other tasks run; a negative time is 0."""
    return (max(0, integer(ms)),)


std_prelude(
    "time", "measure<T>(f: fn() -> T) -> (T, Int)", clause="L-7.6.3", doc="The result of f and the milliseconds it took.",
    source="let start = std::time::now_ms(); let result = f(); (result, std::time::now_ms() - start)",
)  # fmt: skip
