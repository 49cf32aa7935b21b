"""Budgets of tokens and cost: what a request may use is reserved before it is sent and settled when it is over (G-6.4, O-1.133).

One account per run: retries, schema attempts, tool rounds, race losers and parallel tasks all draw on it. Hands on `Account`,
whose `reserve` gives a `Reservation`. Must not know: providers, how a call is made.
"""

from __future__ import annotations

from ..vm.panics import Panic
from .memory.tokens import count_message, count_text
from .metrics import price
from .records import Msg
from .schema.json_text import compact_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from .errors import CallFailure
    from .records import EmbedRequest, Reply, Request

REPLY_TOKENS = 4096  # reserved for a reply whose length nobody bounds


class Reservation:
    """What one request may use at most. `settle` once, with what is known of the use in the end."""

    __slots__ = ("account", "request", "owner", "tokens", "cost")

    def __init__(self, account: Account, request: Any, owner: Any, tokens: int, cost: float) -> None:
        self.account = account
        self.request = request
        self.owner = owner
        self.tokens = tokens
        self.cost = cost

    def replied(self, reply: Reply, cost: float | None) -> None:
        self.account.settle(self, sum(used_tokens(self.request, reply)), cost or 0.0)

    def used(self, tokens: int, cost: float | None) -> None:
        self.account.settle(self, tokens, cost or 0.0)

    def failed(self, failure: CallFailure | None) -> None:
        """A provider that answered with a status has done no work; what was broken, timed out or given up, None, may have
        cost all that was reserved."""
        refused = failure is not None and "status" in failure.fields
        self.account.settle(self, 0 if refused else self.tokens, 0.0 if refused else self.cost)

    def returned(self) -> None:
        """Nothing was sent."""
        self.account.settle(self, 0, 0.0)


class Account:
    """`tokens` and `cost` are the limits of a run, None for none; `future` makes one of the loop that runs it."""

    __slots__ = ("limits", "pricing", "future", "used_tokens", "used_cost", "open", "waiting")

    def __init__(
        self,
        tokens: int | None,
        cost: float | None,
        pricing: Mapping[str, Mapping[str, float]],
        future: Callable[[], Any],
    ) -> None:
        self.limits = tokens, cost
        self.pricing = pricing
        self.future = future
        self.used_tokens = 0
        self.used_cost = 0.0
        self.open: list[Reservation] = []
        self.waiting: list[Any] = []

    async def reserve(
        self, request: Request, free: bool, owner: Any = None, listed: Callable[[int, int, int, int], float | None] | None = None
    ) -> Reservation:
        """Waits while requests of other tasks than the owner may give back what they reserved; a panic when none can. `listed`
        gives the price of a model without one of its own, for its tokens in, out, cached and written to a cache."""
        return await self._reserved(self._wanted(request, free, owner, listed), owner)

    async def reserve_vectors(self, request: EmbedRequest, tokens: int, free: bool) -> Reservation:
        """The same for texts of that many tokens, which an embedder is asked for (M-10.16)."""
        cost = 0.0 if free else price(self.pricing, request.model, tokens, 0)
        if cost is None and self.limits[1] is not None:
            raise no_price(request.model)
        return await self._reserved(Reservation(self, request, None, tokens, cost or 0.0), None)

    async def _reserved(self, wanted: Reservation, owner: Any) -> Reservation:
        while (excess := self._excess(wanted)) is not None:
            if all(held.owner == owner for held in self.open):
                raise excess
            turn = self.future()
            self.waiting.append(turn)
            try:
                await turn
            finally:
                self.waiting.remove(turn)
        self.open.append(wanted)
        return wanted

    def settle(self, reservation: Reservation, tokens: int, cost: float) -> None:
        self.open.remove(reservation)
        self.used_tokens += tokens
        self.used_cost += cost
        for turn in self.waiting:
            if not turn.done():
                turn.set_result(None)

    def _wanted(self, request: Request, free: bool, owner: Any, listed: Any) -> Reservation:
        """At most all of the prompt is written to a cache, which may cost more."""
        prompt, reply = prompt_tokens(request), request.params.get("max_tokens", REPLY_TOKENS)
        cost: float | None = 0.0
        if not free and request.model in self.pricing:
            costs = [price(self.pricing, request.model, prompt, reply, 0, written) for written in (0, prompt)]
            cost = max(one or 0.0 for one in costs)
        elif not free:
            costs = [] if listed is None or self.limits[1] is None else [listed(prompt, reply, 0, w) for w in (0, prompt)]
            cost = max((one for one in costs if one is not None), default=None)
        if cost is None and self.limits[1] is not None:
            raise no_price(request.model)
        return Reservation(self, request, owner, prompt + reply, cost or 0.0)

    def _excess(self, wanted: Reservation) -> Panic | None:
        """The panic of a request that goes beyond a limit, counted with all that is reserved."""
        tokens, cost = self.limits
        used = self.used_tokens + sum(held.tokens for held in self.open)
        spent = self.used_cost + sum(held.cost for held in self.open)
        if tokens is not None and used + wanted.tokens > tokens:
            needs = f"a request reserves {wanted.tokens} tokens, {max(tokens - self.used_tokens, 0)} of {tokens} are left"
            return Panic("P401", f"token budget spent: {needs} (budget `tokens`){_way(wanted)}")
        if cost is not None and spent + wanted.cost > cost:
            needs = f"a request reserves {wanted.cost:.6g}, {max(cost - self.used_cost, 0.0):.6g} of {cost:.6g} is left"
            return Panic("P402", f"cost budget spent: {needs} (budget `cost`){_way(wanted)}")
        return None


def _way(wanted: Reservation) -> str:
    """What a program can do that reserves more than it needs."""
    reply = wanted.request.params.get("max_tokens")
    if reply is None:
        return f"; a reply without `max_tokens` reserves {REPLY_TOKENS}: set it on the model, or raise the budget"
    return f"; of that its `max_tokens` are {reply}: set them lower, or raise the budget"


def used_tokens(request: Request, reply: Reply) -> tuple[int, int]:
    """Tokens of input and output: as reported; what a provider does not report is counted here (G-9.7)."""
    reports_input, reports_output = reply.reports
    tokens_in = reply.tokens_in if reports_input else prompt_tokens(request)
    tokens_out = reply.tokens_out if reports_output else count_message(Msg("assistant", reply.text, reply.calls))
    return tokens_in, tokens_out


def no_price(model: str) -> Panic:
    way = f'give it one in `[pricing."{model}"]` of Concerto.toml, or by the host option `pricing`'
    return Panic("P403", f"model {model} has no price, and the run has a budget of cost: {way}")


def prompt_tokens(request: Request) -> int:
    """What a request sends, counted as a memory counts (M-11): its messages, tools and schema."""
    declared = [tool.as_json() for tool in request.tools]
    if request.schema is not None and request.schema.strategy == "native":
        declared.append(request.schema.json)
    return sum(map(count_message, request.messages)) + sum(count_text(compact_json(part)) for part in declared)
