"""What a call gives back, and what it cost on the way (O-1.106 to O-1.115).

Hands on `Response`, `Validated` and the running `Tally`. Must not know: how a call is made.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from .records import Msg, Reply
    from .usage import Use


class Response:
    """The fields of the struct `Response`, in order, and what its methods give: the run and its messages (M-5.22)."""

    __slots__ = (
        "text",
        "tokens_in",
        "tokens_out",
        "model",
        "provider",
        "latency_ms",
        "finish",
        "cost",
        "attempts",
        "cached",
        "data",
        "tokens_cached",
        "tokens_cache_write",
        "tokens_reasoning",
        "run_id",
        "appended",
    )

    def __init__(
        self,
        *,
        text: str,
        model: str,
        provider: str,
        finish: str,
        latency_ms: int,
        tokens_in: int = 0,
        tokens_out: int = 0,
        cost: float | None = None,
        attempts: int = 0,
        cached: bool = False,
        data: dict[str, Any] | None = None,
        tokens_cached: int = 0,
        tokens_cache_write: int = 0,
        tokens_reasoning: int = 0,
        run_id: str = "",
        appended: Sequence[Msg] = (),
    ) -> None:
        self.text = text
        self.tokens_in = tokens_in
        self.tokens_out = tokens_out
        self.model = model
        self.provider = provider
        self.latency_ms = latency_ms
        self.finish = finish
        self.cost = cost
        self.attempts = attempts
        self.cached = cached
        self.data = data
        self.tokens_cached = tokens_cached
        self.tokens_cache_write = tokens_cache_write
        self.tokens_reasoning = tokens_reasoning
        self.run_id = run_id
        self.appended = appended

    def as_json(self) -> dict[str, Any]:
        return {**{name: getattr(self, name) for name in self.__slots__[:-2]}, "data": self.data or {}}


class Validated:
    """The accepted value of a schema call as the tree of `schema/validation.py`, with the response it came in."""

    __slots__ = ("tree", "response", "repaired")

    def __init__(self, tree: Any, response: Response, repaired: bool) -> None:
        self.tree = tree
        self.response = response
        self.repaired = repaired


class Tally:
    """Sums over all provider requests of a call; `cost` is None once a request had no price. `used`: with what broken ones
    used."""

    __slots__ = (
        "tokens_in", "tokens_out", "cached", "cache_write", "reasoning", "cost", "attempts", "schema_attempt", "used_tools",
        "requests", "used",
    )  # fmt: skip

    def __init__(self, used: Use) -> None:
        self.used = used
        self.tokens_in = 0
        self.tokens_out = 0
        self.cached = 0
        self.cache_write = 0
        self.reasoning = 0
        self.cost: float | None = 0.0
        self.attempts = 0
        self.schema_attempt = 1
        self.used_tools = False
        self.requests = 0

    def add(self, reply: Reply, cost: float | None) -> None:
        """Tokens as the provider has told them (G-9.7)."""
        self.tokens_in += reply.tokens_in
        self.tokens_out += reply.tokens_out
        self.cached += reply.cached
        self.cache_write += reply.cache_write
        self.reasoning += reply.reasoning
        self.cost = None if cost is None or self.cost is None else self.cost + cost
