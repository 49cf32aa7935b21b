"""Emits on their way out of a session: at once, or buffered until an interval or a count is reached (O-5.28, O-5.32).

Hands on `EmitBus`, and `NoListener` for hosts that answer awaited emits. Must not know: what a host does with an emit.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from .usage import Use

    Sink = Callable[[str, Any, bool], None]

MOST_BUFFERED = 1000


class NoListener(Exception):
    """Nobody answers awaited emits on this channel."""


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


# ----------------------------------------------------------------
# The counters of a session and the price of its requests (O-1.131, O-1.132).
#
# Hands on: `as_json()` to `--metrics` and the host.

MILLION = 1_000_000


class Metrics:
    __slots__ = (
        "total_tokens",
        "tokens_by_model",
        "tokens_by_connection",
        "estimated_cost",
        "unpriced_calls",
        "execution_time_ms",
        "model_calls",
        "retries",
        "schema_retries",
        "cache_hits",
        "tool_calls",
        "agent_calls",
        "emit_count",
        "errors",
        "tokens_in",
        "tokens_cached",
        "tokens_cache_write",
        "tokens_out",
        "tokens_reasoning",
        "tokens_estimated",
    )

    def __init__(self) -> None:
        self.total_tokens = 0
        self.tokens_by_model: dict[str, int] = {}
        self.tokens_by_connection: dict[str, int] = {}
        self.estimated_cost = 0.0
        self.unpriced_calls = 0
        self.execution_time_ms = 0
        self.model_calls = 0
        self.retries = 0
        self.schema_retries = 0
        self.cache_hits = 0
        self.tool_calls = 0
        self.agent_calls = 0
        self.emit_count = 0
        self.errors = 0
        self.tokens_in = 0
        self.tokens_cached = 0
        self.tokens_cache_write = 0
        self.tokens_out = 0
        self.tokens_reasoning = 0
        self.tokens_estimated = 0

    def add(self, model: str, connection: str, use: Use) -> None:
        """What a request has used, however it ended."""
        tokens = use.tokens_in + use.tokens_out
        if tokens:
            self.total_tokens += tokens
            self.tokens_in += use.tokens_in
            self.tokens_out += use.tokens_out
            if use.tokens_cached or use.tokens_cache_write or use.tokens_reasoning or use.tokens_estimated:
                self.tokens_cached += use.tokens_cached
                self.tokens_cache_write += use.tokens_cache_write
                self.tokens_reasoning += use.tokens_reasoning
                self.tokens_estimated += use.tokens_estimated
            self.tokens_by_model[model] = self.tokens_by_model.get(model, 0) + tokens
            self.tokens_by_connection[connection] = self.tokens_by_connection.get(connection, 0) + tokens
        self.estimated_cost += use.cost
        self.unpriced_calls += use.unpriced

    def as_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}


def price(
    pricing: Mapping[str, Mapping[str, float]], model: str, tokens_in: int, tokens_out: int, cached: int = 0, cache_write: int = 0
) -> float | None:
    """The cost of a request; None when the model has no price. None is built in. `cached` and `cache_write` are parts of
    `tokens_in`, with prices of their own where the row has them (O-1.221)."""
    row = pricing.get(model)
    if row is None:
        return None
    full = row["input_per_million"]
    cached = min(cached, tokens_in)
    cache_write = min(cache_write, tokens_in - cached)
    of_cache = cached * row.get("cached", full) + cache_write * row.get("cache_write", full)
    return ((tokens_in - cached - cache_write) * full + of_cache + tokens_out * row["output_per_million"]) / MILLION
