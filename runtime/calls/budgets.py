"""Budgets of tokens, cost and requests: what a request may use is reserved before it is sent and settled when it is over (G-6.4,
O-1.133).

Accounts belong to a call, a session, or several sessions of a host; a request draws on all of those that stand above it, and so
do retries, schema attempts, tool rounds, race losers and parallel tasks. Hands on `Account`, `Purse`, whose `reserve` gives a
`Reservation`, and `BudgetSpent`.
"""

from __future__ import annotations

from _thread import allocate_lock, get_ident  # the module threading is more than a start should load
from contextlib import suppress

from ...vm.panics import Panic
from ..errors import NotSent
from .usage import REPLY_TOKENS, Use, price, prompt_tokens

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from ..records import EmbedRequest, Request


KINDS = ("tokens", "cost", "model_calls")
# Of each kind, and of a cost nobody knows, the variant of BudgetError, and the panic where no Result carries it: vectors are
# asked for where there is none, and they count as no calls of models.
VARIANTS = {"tokens": "Tokens", "cost": "Cost", "model_calls": "ModelCalls", "price": "Unpriced"}
PANICS = {"Tokens": "P401", "Cost": "P402", "Unpriced": "P403"}

_lock = allocate_lock()  # sessions of several threads may share an account; what it guards takes microseconds


class BudgetSpent(NotSent):
    """A request that cannot be reserved: it is not sent, counts as no request, and no retry can mend it."""

    def __init__(self, variant: str, message: str, model: str, **fields: Any) -> None:
        super().__init__("BudgetError", variant, message, model=model, **fields)

    def panic(self) -> Panic:
        """Where no Result carries it."""
        return Panic(PANICS[self.variant or ""], self.message)


class Reservation:
    """What one request may use at most. `settle` it once, with what it has used in the end."""

    __slots__ = ("purse", "request", "owner", "amounts")

    def __init__(self, purse: Purse, request: Any, owner: Any, tokens: int, cost: float, calls: int) -> None:
        self.purse = purse
        self.request = request
        self.owner = owner
        self.amounts = tokens, cost, calls

    @property
    def tokens(self) -> int:
        return self.amounts[0]

    @property
    def cost(self) -> float:
        return self.amounts[1]


class Account:
    """`limits` of tokens, cost and requests, None for none, and what is `used` of them; `whose` names it in messages."""

    __slots__ = ("limits", "used", "open", "waiting", "whose")

    def __init__(
        self, tokens: int | None = None, cost: float | None = None, model_calls: int | None = None, whose: str = "run"
    ) -> None:
        self.limits = tokens, cost, model_calls
        self.used: list[Any] = [0, 0.0, 0]
        self.open: list[Reservation] = []
        self.waiting: list[_Turn] = []
        self.whose = whose

    @property
    def is_limited(self) -> bool:
        return any(limit is not None for limit in self.limits)

    def left(self) -> list[Any]:
        """Of each kind what a request could reserve now, None without a limit."""
        with _lock:
            return self._left()

    def _left(self) -> list[Any]:
        held = [sum(one.amounts[at] for one in self.open) for at in range(len(KINDS))]
        return [
            None if limit is None else max(limit - used - reserved, 0)
            for limit, used, reserved in zip(self.limits, self.used, held, strict=True)
        ]

    def lacks(self, wanted: Reservation) -> str | None:
        """The first kind of which it has not what a request wants, counted with all that is reserved."""
        for kind, amount, left in zip(KINDS, wanted.amounts, self._left(), strict=True):
            if left is not None and amount > left:
                return kind
        return None

    def spent(self, kind: str, wanted: Reservation) -> BudgetSpent:
        at = KINDS.index(kind)
        limit, amount = self.limits[at], wanted.amounts[at]
        left = max(limit - self.used[at], 0)
        of = "" if self.whose == "run" else f" of the {self.whose}"
        if kind == "tokens":
            text = f"token budget{of} spent: a request reserves {amount} tokens, {left} of {limit} are left"
        elif kind == "cost":
            text = f"cost budget{of} spent: a request reserves {amount:.6g}, {left:.6g} of {limit:.6g} is left"
        else:
            text = f"budget of model calls{of} spent: {limit} of {limit} requests were sent"
        way = "; raise the budget" if kind == "model_calls" else _way(wanted)
        message = f"{text} (budget `{kind}`){way}"
        return BudgetSpent(VARIANTS[kind], message, wanted.request.model, wanted=amount, left=left)


class _Turn:
    """Who waits for what others have reserved. Its loop may run in another thread than the one that gives back."""

    __slots__ = ("future", "owner", "thread")

    def __init__(self, future: Any, owner: Any) -> None:
        self.future = future
        self.owner = owner
        self.thread = get_ident()

    def wake(self) -> None:
        if self.thread == get_ident():
            self._set()
            return
        with suppress(RuntimeError):  # its loop was closed meanwhile: it waits no more
            self.future.get_loop().call_soon_threadsafe(self._set)

    def _set(self) -> None:
        if not self.future.done():
            self.future.set_result(None)


class Purse:
    """The accounts that the requests of a call draw on; `future` makes one of the loop that runs it."""

    __slots__ = ("accounts", "pricing", "future", "is_limited", "limits_cost")

    def __init__(
        self, accounts: Sequence[Account], pricing: Mapping[str, Mapping[str, float]], future: Callable[[], Any]
    ) -> None:
        self.accounts = tuple(accounts)
        self.pricing = pricing
        self.future = future
        self.is_limited = any(account.is_limited for account in self.accounts)
        self.limits_cost = any(account.limits[1] is not None for account in self.accounts)

    def left(self) -> list[Any]:
        """Of each kind the least that an account has left."""
        every = zip(*(account.left() for account in self.accounts), strict=True)
        return [min((left for left in kind if left is not None), default=None) for kind in every]

    async def reserve(
        self, request: Request, free: bool, owner: Any = None, listed: Callable[[int, int, int, int], float | None] | None = None
    ) -> Reservation:
        """Waits while requests of other tasks than the owner may give back what they reserved; BudgetSpent when none can.
        `listed` gives the price of a model without one of its own, for its tokens in, out, cached and written to a cache."""
        return await self._reserved(self._wanted(request, free, (id(self), owner), listed))

    async def reserve_vectors(self, request: EmbedRequest, tokens: int, free: bool) -> Reservation:
        """The same for texts of that many tokens, which an embedder is asked for (M-10.16)."""
        cost = 0.0 if free else price(self.pricing, request.model, tokens, 0)
        if cost is None and self.limits_cost:
            raise no_price(request.model)
        return await self._reserved(Reservation(self, request, (id(self), None), tokens, cost or 0.0, 0))

    async def _reserved(self, wanted: Reservation) -> Reservation:
        while True:
            with _lock:
                account, kind = self._short_of(wanted)
                if account is None:
                    for one in self.accounts:
                        one.open.append(wanted)
                    return wanted
                stuck = {wanted.owner, *(turn.owner for turn in account.waiting)}
                if all(held.owner in stuck for held in account.open):  # whoever waits gives nothing back
                    raise account.spent(kind, wanted)
                turn = _Turn(self.future(), wanted.owner)
                account.waiting.append(turn)
            try:
                await turn.future
            finally:
                with _lock:
                    account.waiting.remove(turn)

    def _short_of(self, wanted: Reservation) -> tuple[Account | None, str]:
        for account in self.accounts:
            kind = account.lacks(wanted)
            if kind is not None:
                return account, kind
        return None, ""

    def settle(self, use: Use | None, reservation: Reservation | None = None) -> None:
        """None: nothing was sent."""
        woken: list[_Turn] = []
        with _lock:
            for account in self.accounts:
                if reservation is not None:
                    account.open.remove(reservation)
                    woken += account.waiting
                if use is not None:
                    account.used[0] += use.tokens
                    account.used[1] += use.cost
                    account.used[2] += use.attempts
        for turn in woken:
            turn.wake()

    def _wanted(self, request: Request, free: bool, owner: Any, listed: Any) -> Reservation:
        """At most all of the prompt is written to a cache, which may cost more."""
        prompt, reply = prompt_tokens(request), request.params.get("max_tokens", REPLY_TOKENS)
        cost: float | None = 0.0
        if not free and request.model in self.pricing:
            costs = [price(self.pricing, request.model, prompt, reply, 0, written) for written in (0, prompt)]
            cost = max(one or 0.0 for one in costs)
        elif not free:
            costs = [] if listed is None or not self.limits_cost else [listed(prompt, reply, 0, w) for w in (0, prompt)]
            cost = max((one for one in costs if one is not None), default=None)
        if cost is None and self.limits_cost:
            raise no_price(request.model)
        return Reservation(self, request, owner, prompt + reply, cost or 0.0, 1)


def _way(wanted: Reservation) -> str:
    """What a program can do that reserves more than it needs."""
    reply = wanted.request.params.get("max_tokens")
    if reply is None:
        return f"; a reply without `max_tokens` reserves {REPLY_TOKENS}: set it on the model, or raise the budget"
    return f"; of that its `max_tokens` are {reply}: set them lower, or raise the budget"


def no_price(model: str) -> BudgetSpent:
    way = f'give it one in `[pricing."{model}"]` of Concerto.toml, or by the host option `pricing`'
    return BudgetSpent(VARIANTS["price"], f"model {model} has no price, and the run has a budget of cost: {way}", model)
