"""The limits of time of one provider request (O-1.212).

Hands on `TimeLimits` and `call_seconds`. Must not know: clocks, providers.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import TypeAlias

    Timeout: TypeAlias = float | Mapping[str, float]

DEFAULT_SECONDS = 60
# What `timeout` may hold, and the seconds of what it leaves out.
DEFAULTS: dict[str, float] = {"connect": 5.0, "first": 60.0, "idle": 30.0, "total": 600.0}


def call_seconds(timeout: Timeout) -> float:
    """Those of a whole call, `TimeLimits.call`, from the value of a field `timeout`."""
    if type(timeout) is float:
        return timeout
    return float(timeout) if isinstance(timeout, (int, float)) else TimeLimits(timeout).call


class TimeLimits:
    """Seconds, from the value of a field `timeout`. `call` bounds a reply that comes as a whole; of a stream `first` bounds the
    wait for its beginning, `idle` the wait between two of its pieces, `total` all the waiting. `are_named`: whether the program
    set them by name."""

    __slots__ = ("connect", "first", "idle", "total", "call", "are_named")

    def __init__(self, timeout: Timeout) -> None:
        self.are_named = not isinstance(timeout, (int, float))
        if isinstance(timeout, (int, float)):
            self.connect = DEFAULTS["connect"]
            self.first = self.idle = self.call = float(timeout)
            self.total = max(DEFAULTS["total"], timeout)
            return
        given = {**DEFAULTS, **{name: seconds for name, seconds in timeout.items() if seconds is not None}}
        self.connect, self.first, self.idle, self.total = (float(given[name]) for name in DEFAULTS)
        self.call = self.total
