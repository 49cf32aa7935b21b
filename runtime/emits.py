"""Emits on their way out of a session: at once, or buffered until an interval or a count is reached (O-5.28, O-5.32).

Hands on `EmitBus`, and `NoListener` for hosts that answer awaited emits. Must not know: what a host does with an emit.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Sink = Callable[[str, Any, bool], None]

MOST_BUFFERED = 1000


class NoListener(Exception):
    """Nobody answers awaited emits on this channel."""


class EmitBus:
    """`interval` in seconds, None for immediate mode; `now` is the clock. The order of emits is kept in both modes."""

    __slots__ = ("sink", "interval", "now", "waiting", "since", "timer")

    def __init__(self, sink: Sink, interval: float | None, now: Callable[[], float]) -> None:
        self.sink = sink
        self.interval = interval
        self.now = now
        self.waiting: list[tuple[str, Any, bool]] = []
        self.since = 0.0
        self.timer: Any = None

    def send(self, channel: str, value: Any, by_runtime: bool) -> None:
        if self.interval is None:
            self.sink(channel, value, by_runtime)
            return
        if not self.waiting:
            self.since = self.now()
            self._wind(self.interval)
        self.waiting.append((channel, value, by_runtime))
        if len(self.waiting) >= MOST_BUFFERED or self.now() - self.since >= self.interval:
            self.flush()

    def flush(self) -> None:
        """Delivers everything buffered, in order."""
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None
        waiting, self.waiting = self.waiting, []
        for channel, value, by_runtime in waiting:
            self.sink(channel, value, by_runtime)

    def _wind(self, interval: float) -> None:
        """The interval ends while the program waits too; without an event loop nothing waits."""
        from asyncio import get_running_loop

        try:
            self.timer = get_running_loop().call_later(interval, self.flush)
        except RuntimeError:
            self.timer = None
