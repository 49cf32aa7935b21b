"""Budgets of tokens and cost: what a request may use is reserved before it is sent and settled when it is over (G-6.4, O-1.133).

One account per run: retries, schema attempts, tool rounds, race losers and parallel tasks all draw on it. Hands on `Account`,
whose `reserve` gives a `Reservation`. Must not know: providers, how a call is made.
"""

from __future__ import annotations

from ..vm.panics import Panic
from .memory.tokens import count_message, count_text
from .metrics import price
from .schema.json_text import compact_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from .errors import CallFailure
    from .records import Reply, Request

REPLY_TOKENS = 4096  # reserved for a reply whose length nobody bounds


class Reservation:
    """What one request may use at most. `settle` once, with what is known of the use in the end."""

    __slots__ = ("account", "owner", "tokens", "cost")

    def __init__(self, account: Account, owner: Any, tokens: int, cost: float) -> None:
        self.account = account
        self.owner = owner
        self.tokens = tokens
        self.cost = cost

    def replied(self, reply: Reply, cost: float | None) -> None:
        self.account.settle(self, reply.tokens_in + reply.tokens_out, cost or 0.0)

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

    async def reserve(self, request: Request, free: bool, owner: Any = None) -> Reservation:
        """Waits while requests of other tasks than the owner may give back what they reserved; a panic when none can."""
        wanted = self._wanted(request, free, owner)
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

    def _wanted(self, request: Request, free: bool, owner: Any) -> Reservation:
        prompt, reply = prompt_tokens(request), request.params.get("max_tokens", REPLY_TOKENS)
        cost = 0.0 if free else price(self.pricing, request.model, prompt, reply)
        if cost is None and self.limits[1] is not None:
            raise Panic("P403", f"model {request.model} has no price, and the run has a budget of cost")
        return Reservation(self, owner, prompt + reply, cost or 0.0)

    def _excess(self, wanted: Reservation) -> Panic | None:
        """The panic of a request that goes beyond a limit, counted with all that is reserved."""
        tokens, cost = self.limits
        used = self.used_tokens + sum(held.tokens for held in self.open)
        spent = self.used_cost + sum(held.cost for held in self.open)
        if tokens is not None and used + wanted.tokens > tokens:
            needs = f"a request reserves {wanted.tokens} tokens, {max(tokens - self.used_tokens, 0)} of {tokens} are left"
            return Panic("P401", f"token budget spent: {needs} (budget `tokens`)")
        if cost is not None and spent + wanted.cost > cost:
            needs = f"a request reserves {wanted.cost:.6g}, {max(cost - self.used_cost, 0.0):.6g} of {cost:.6g} is left"
            return Panic("P402", f"cost budget spent: {needs} (budget `cost`)")
        return None


def prompt_tokens(request: Request) -> int:
    """What a request sends, counted as a memory counts (M-11): its messages, tools and schema."""
    declared = [tool.as_json() for tool in request.tools]
    if request.schema is not None and request.schema.strategy == "native":
        declared.append(request.schema.json)
    return sum(map(count_message, request.messages)) + sum(count_text(compact_json(part)) for part in declared)
