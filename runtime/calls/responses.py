"""What a call gives: the response of a plain one, and the accepted value of one with a schema (O-1.106 to O-1.115).

Hands on `Response` and `Validated` to `call.py`, which makes them, and to `streams.py` and `typed_streams.py`; `Response` to
`runtime/records.py` and the performer of agents too, which make values of the language of it. Nothing is computed here.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ..records import Citation, Msg


class Response:
    """The fields of the language's struct `Response`, in its order (O-1.106 to O-1.115, O-1.221, O-1.217, O-1.225); `run_id` and
    `appended` are what its methods give: the id of the run and its messages (M-5.22). Tokens are those of all answered requests
    of the call; `tokens_cached` and `tokens_cache_write` are parts of `tokens_in`, `tokens_reasoning` is one of `tokens_out`;
    `attempts` counts its requests that were sent, broken ones too; `cost` is in dollars, None when nobody knows it. Tokens and
    cost are 0 of a call that has no answered request, and of an agent. `latency_ms` has no waiting for rate limits in it; it is 0
    where the sender is instant (`services.py: Sender`).

    `model` is the id that the provider names, else that of the request; `provider` is the name of what has answered (`Sender`):
    a connection or an agent, "mock" for a mock of a model. `finish` says why the reply ended ("stop", "length", "tool", or the
    word of a scripted reply; of a stream that was cut off "error" or "cancelled"); `cached`: `@cache` has answered, without a
    request; `data` is what an agent said beside its text, None without any; `reasoning` is what the provider shows of the model's
    reasoning, None for nothing; `citations` are the sources that it names."""

    __slots__ = (
        "text", "tokens_in", "tokens_out", "model", "provider", "latency_ms", "finish", "cost", "attempts", "cached", "data",
        "tokens_cached", "tokens_cache_write", "tokens_reasoning", "reasoning", "citations", "run_id", "appended",
    )  # fmt: skip

    def __init__(
        self,
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
        reasoning: str | None = None,
        citations: Sequence[Citation] = (),
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
        self.reasoning = reasoning
        self.citations = citations
        self.run_id = run_id
        self.appended = appended

    def as_json(self) -> dict[str, Any]:
        """Return the fields of the struct in its order, without `citations`; `data` is an empty Map where there is none."""
        return {**{name: getattr(self, name) for name in self.__slots__[:-3]}, "data": self.data or {}}


class Validated:
    """The accepted value of a schema call as the tree of `schema/validation.py`, with the response it came in. `repaired` says
    that the reply had more than the JSON, or another spelling of it (`schema/acceptance.py: Verdict`)."""

    __slots__ = ("tree", "response", "repaired")

    def __init__(self, tree: Any, response: Response, repaired: bool) -> None:
        self.tree = tree
        self.response = response
        self.repaired = repaired
