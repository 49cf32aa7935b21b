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


class EmitBus:
    """`interval` in seconds, None for immediate mode; `loop` gives the event loop whose clock counts: the interval ends while the
    program waits too. The order of emits is kept in both modes."""

    __slots__ = ("sink", "interval", "loop", "waiting", "since", "timer")

    def __init__(self, sink: Sink, interval: float | None, loop: Callable[[], Any]) -> None:
        self.sink = sink
        self.interval = interval
        self.loop = loop
        self.waiting: list[tuple[str, Any, bool]] = []
        self.since = 0.0
        self.timer: Any = None

    def send(self, channel: str, value: Any, by_runtime: bool) -> None:
        if self.interval is None:
            self.sink(channel, value, by_runtime)
            return
        loop = self.loop()
        if not self.waiting:
            self.since = loop.time()
            self.timer = loop.call_later(self.interval, self.flush)
        self.waiting.append((channel, value, by_runtime))
        if len(self.waiting) >= MOST_BUFFERED or loop.time() - self.since >= self.interval:
            self.flush()

    def flush(self) -> None:
        """Delivers everything buffered, in order."""
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None
        waiting, self.waiting = self.waiting, []
        for channel, value, by_runtime in waiting:
            self.sink(channel, value, by_runtime)
