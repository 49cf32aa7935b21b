"""Emits on their way out of a session: at once, or buffered until an interval or a count is reached (O-5.28, O-5.32).

Hands on `EmitBus` to the session and its protocol (`running.py`); the session sends every emit through it, those of the runtime
too. What a host does with an emit is the `sink` that it gives; the answer to an awaited emit comes another way
(`effects/world.py`). Secrets must be taken out before (`Session.emit`).
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


    Sink = Callable[[str, Any, bool], None]

MOST_BUFFERED = 1000  # emits


class EmitBus:
    """Hands emits to `sink(channel, value, by_runtime)`, in their order.

    With an `interval` of None each goes at once. With one, in seconds, they are buffered until it is over, counted from the first
    that waits (`since`), by the clock of the loop that `loop` gives (so that it ends while the program waits, too), or until
    MOST_BUFFERED are `waiting`. What the sink raises passes through `send` and `flush`, to the loop where its timer calls
    `flush`; the emits that were to be delivered behind that one are lost then."""

    __slots__ = ("sink", "interval", "loop", "waiting", "since", "timer")

    def __init__(self, sink: Sink, interval: float | None, loop: Callable[[], Any]) -> None:
        self.sink = sink
        self.interval = interval
        self.loop = loop
        self.waiting: list[tuple[str, Any, bool]] = []
        self.since = 0.0
        self.timer: Any = None

    def send(self, channel: str, value: Any, by_runtime: bool) -> None:
        """Deliver or buffer one emit; `by_runtime` says that no statement of the program made it."""
        if self.interval is None:
            self.sink(channel, value, by_runtime)
            return
        loop = self.loop()
        if not self.waiting:
            self.since = loop.time()
            self.timer = loop.call_later(self.interval, self.flush)
        self.waiting.append((channel, value, by_runtime))
        # a program that computes never comes back to the loop, so the timer alone would not do
        if len(self.waiting) >= MOST_BUFFERED or loop.time() - self.since >= self.interval:
            self.flush()

    def flush(self) -> None:
        """Deliver everything that is buffered."""
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None
        waiting, self.waiting = self.waiting, []
        for channel, value, by_runtime in waiting:
            self.sink(channel, value, by_runtime)
