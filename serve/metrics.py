"""What a server counts, and the page of it for collectors, in OpenMetrics (S-1.7).

Hands on `Counters` to the application and its calls, to the former CONTENT_TYPE, to the latter `Spent`. With several processes of
one server they are added up by the library of Prometheus, in the folder that PROMETHEUS_MULTIPROC_DIR names (`server.py` sets
it). No name or content of a request is a label but the function's, which the program declares, and what ended it.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.openmetrics.exposition import CONTENT_TYPE_LATEST, generate_latest

from ..api.results import Metrics
from ..api.session import Session

CONTENT_TYPE = CONTENT_TYPE_LATEST
SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300)


class Spent(NamedTuple):
    """Tokens in and out, and their cost in dollars."""

    tokens_in: int
    tokens_out: int
    cost: float


class Counters:
    """The counters of one application. `waiting` and `running` give how many calls do, `sessions` how many are kept. `refused`
    counts requests that became no call, by the text of their HTTP status."""

    def __init__(self, waiting: Callable[[], int], running: Callable[[], int], sessions: Callable[[], int]) -> None:
        self.registry = CollectorRegistry()
        own: dict[str, Any] = {"registry": self.registry}
        ended = "Calls that have ended, by function and HTTP status"
        self.calls = Counter("concerto_calls", ended, ["function", "status"], **own)
        self.seconds = Histogram("concerto_call_seconds", "Time of calls, waiting included", ["function"], buckets=SECONDS, **own)
        self.tokens = Counter("concerto_tokens", "Tokens of models", ["direction"], **own)
        self.cost = Counter("concerto_cost", "Cost of models, in dollars", **own)
        self.requests = Counter("concerto_model_calls", "Requests to models", **own)
        self.retries = Counter("concerto_retries", "Requests to models that were repeated", ["why"], **own)
        self.refused = Counter("concerto_refused", "Requests that became no call, by HTTP status", ["status"], **own)
        gauge: dict[str, Any] = {**own, "multiprocess_mode": "livesum"}
        self.gauges = (
            (Gauge("concerto_queue", "Calls that wait for a place", **gauge), waiting),
            (Gauge("concerto_running", "Calls that run", **gauge), running),
            (Gauge("concerto_sessions", "Named sessions that are kept", **gauge), sessions),
        )
        self._seen: WeakKeyDictionary[Session, Metrics] = WeakKeyDictionary()

    def ended(self, function: str, status: int, seconds: float) -> None:
        """Count the end of a call of a function, by its HTTP status and how many seconds it took."""
        self.calls.labels(function, str(status)).inc()
        self.seconds.labels(function).observe(seconds)

    def known(self, session: Session, tokens_in: int, tokens_out: int, cost: float, model_calls: int) -> None:
        """Take note of what a session is going to count though it has been counted before."""
        self._seen[session] = replace(
            session.metrics(), tokens_in=tokens_in, tokens_out=tokens_out, estimated_cost=cost, model_calls=model_calls
        )

    def spent(self, session: Session) -> Spent:
        """Count what a session has used since this was asked last, and return it."""
        now, before = session.metrics(), self._seen.get(session)
        self._seen[session] = now

        def more(name: str) -> Any:
            return getattr(now, name) - (0 if before is None else getattr(before, name))

        cost = max(0.0, more("estimated_cost"))
        self.tokens.labels("in").inc(more("tokens_in"))
        self.tokens.labels("out").inc(more("tokens_out"))
        self.cost.inc(cost)
        self.requests.inc(more("model_calls"))
        self.retries.labels("connection").inc(more("retries"))
        self.retries.labels("schema").inc(more("schema_retries"))
        return Spent(more("tokens_in"), more("tokens_out"), cost)

    def page(self) -> bytes:
        """Return the counters as OpenMetrics text."""
        for gauge, value in self.gauges:
            gauge.set(value())
        registry = self.registry
        if "PROMETHEUS_MULTIPROC_DIR" in os.environ:
            registry = CollectorRegistry()
            MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        text: bytes = generate_latest(registry)  # type: ignore[no-untyped-call]
        return text
