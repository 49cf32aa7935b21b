"""Budgets of tokens, cost and requests (G-6.4, O-1.133): what a request may use at most is reserved before it is sent, and
replaced by what it has used when it is over.

An `Account` belongs to a call of the host, a session, or several sessions of a host. A `Purse` holds all accounts that a request
draws on, and every request of a metered provider draws on them: retries, schema attempts, tool rounds, losers of races, parallel
tasks. Hands on `Account` to the session and the Python API, `Purse` to the session, `services.py` and `call.py`, `Reservation` to
`call.py`, and `BudgetSpent`, which is raised for a request that cannot be reserved, to the performer of models. What a request
has used says `usage.py`.
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
# For each kind, and for a cost that nobody knows, the variant of BudgetError; and the panic where there is no Result to carry it,
# which is the case for vectors (they do not count as calls of models).
VARIANTS = {"tokens": "Tokens", "cost": "Cost", "model_calls": "ModelCalls", "price": "Unpriced"}
PANICS = {"Tokens": "P401", "Cost": "P402", "Unpriced": "P403"}

_lock = allocate_lock()  # sessions of several threads may share an account; what it guards takes microseconds


class BudgetSpent(NotSent):
    """A request that cannot be reserved. It is not sent, counts as no request, and no retry can mend it."""

    def __init__(self, variant: str, message: str, model: str, **fields: Any) -> None:
        super().__init__("BudgetError", variant, message, model=model, **fields)

    def panic(self) -> Panic:
        """Return the panic for a request for vectors, which has no Result to carry the failure."""
        return Panic(PANICS[self.variant or ""], self.message)


class Reservation:
    """What one request may use at most: `amounts` of tokens, dollars and requests. It ends with one `Purse.settle`, not with two.
    `owner` is the task that sends it, in its session; for vectors None in place of the task."""

    __slots__ = ("purse", "request", "owner", "amounts")

    def __init__(self, purse: Purse, request: Any, owner: Any, tokens: int, cost: float, calls: int) -> None:
        self.purse = purse
        self.request = request
        self.owner = owner
        self.amounts = tokens, cost, calls

    @property
    def cost(self) -> float:
        return self.amounts[1]


class Account:
    """Limits of tokens, cost in dollars and requests, None for no limit; what is `used` of them; `open` reservations, and who is
    `waiting` for some of them to be given back. `whose` names the account in messages."""

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
        """Return, for each kind (KINDS), what a request could reserve now; None without a limit. It takes the lock."""
        with _lock:
            return self._left()

    def _left(self) -> list[Any]:
        reserved_amounts = [sum(one.amounts[at] for one in self.open) for at in range(len(KINDS))]
        return [
            None if limit is None else max(limit - used - reserved, 0)
            for limit, used, reserved in zip(self.limits, self.used, reserved_amounts, strict=True)
        ]

    def lacks(self, reservation: Reservation) -> str | None:
        """Return the first kind of which less is left than a request would reserve; None when it can be reserved. The caller
        holds the lock."""
        for kind, amount, left in zip(KINDS, reservation.amounts, self._left(), strict=True):
            if left is not None and amount > left:
                return kind
        return None

    def spent(self, kind: str, reservation: Reservation) -> BudgetSpent:
        """Return the failure for a request of which this kind cannot be reserved."""
        at = KINDS.index(kind)
        limit, amount = self.limits[at], reservation.amounts[at]
        left = max(limit - self.used[at], 0)
        of = "" if self.whose == "run" else f" of the {self.whose}"
        if kind == "tokens":
            text = f"token budget{of} spent: a request reserves {amount} tokens, {left} of {limit} are left"
        elif kind == "cost":
            text = f"cost budget{of} spent: a request reserves {amount:.6g}, {left:.6g} of {limit:.6g} is left"
        else:
            text = f"budget of model calls{of} spent: {limit} of {limit} requests were sent"
        way = "; raise the budget" if kind == "model_calls" else _way(reservation)
        message = f"{text} (budget `{kind}`){way}"
        return BudgetSpent(VARIANTS[kind], message, reservation.request.model, wanted=amount, left=left)


class _Turn:
    """A request that waits for others to give back what they have reserved. Its loop may run in another thread than theirs."""

    __slots__ = ("future", "owner", "thread")

    def __init__(self, future: Any, owner: Any) -> None:
        self.future = future
        self.owner = owner
        self.thread = get_ident()

    def wake(self) -> None:
        if self.thread == get_ident():
            self._set()
            return
        with suppress(RuntimeError):  # its loop was closed meanwhile: nobody waits any more
            self.future.get_loop().call_soon_threadsafe(self._set)

    def _set(self) -> None:
        if not self.future.done():
            self.future.set_result(None)


class Purse:
    """The accounts that the requests of a session draw on. `pricing` has dollars per million tokens by model id; `future` makes a
    future of the loop that runs the session. Accounts may be shared with sessions of other threads, a purse may not."""

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
        """Return, for each kind (KINDS), the least that any account has left; None when none has a limit."""
        every = zip(*(account.left() for account in self.accounts), strict=True)
        return [min((left for left in kind if left is not None), default=None) for kind in every]

    async def reserve(
        self, request: Request, free: bool, owner: Any = None, listed: Callable[[int, int, int, int], float | None] | None = None
    ) -> Reservation:
        """Reserve what a request may use at most. Wait while other tasks than `owner` may give back something. Raises BudgetSpent
        when nobody else can, or when the cost is limited and nobody knows the price.

        A `free` request costs nothing. `listed` gives the published price in dollars of a model without one of its own, for
        tokens in, out, read from a cache and written to it; None where there is none."""
        return await self._admit(self._estimate(request, free, (id(self), owner), listed))

    async def reserve_vectors(self, request: EmbedRequest, tokens: int, free: bool) -> Reservation:
        """Do the same for a request for vectors of texts with that many tokens (M-10.16): it counts as no call of a model, and is
        priced by `pricing` alone. Raises BudgetSpent as `reserve`; the vectors of a session count as one task, so that they do
        not wait for one another."""
        cost = 0.0 if free else price(self.pricing, request.model, tokens, 0)
        if cost is None and self.limits_cost:
            raise no_price(request.model)
        return await self._admit(Reservation(self, request, (id(self), None), tokens, cost or 0.0, 0))

    async def _admit(self, reservation: Reservation) -> Reservation:
        while True:
            with _lock:
                account, kind = self._short_of(reservation)
                if account is None:
                    for each in self.accounts:
                        each.open.append(reservation)
                    return reservation
                waiting_owners = {reservation.owner, *(turn.owner for turn in account.waiting)}
                if all(other.owner in waiting_owners for other in account.open):  # who waits gives nothing back: a deadlock
                    raise account.spent(kind, reservation)
                turn = _Turn(self.future(), reservation.owner)
                account.waiting.append(turn)
            try:
                await turn.future
            finally:
                with _lock:
                    account.waiting.remove(turn)

    def _short_of(self, reservation: Reservation) -> tuple[Account | None, str]:
        """Return the first account that cannot take a reservation, and the kind that it lacks; None when all can."""
        for account in self.accounts:
            kind = account.lacks(reservation)
            if kind is not None:
                return account, kind
        return None, ""

    def settle(self, use: Use | None, reservation: Reservation | None = None) -> None:
        """Count what a request has used, and end its reservation, if it has one. `use` is None when nothing was sent. Requests
        that wait for something to be given back look again."""
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
        for turn in woken:  # outside the lock: in this thread one may look at the accounts at once
            turn.wake()

    def _estimate(self, request: Request, free: bool, owner: Any, listed: Any) -> Reservation:
        """Return what a request may use at most: its prompt, and the longest reply that it allows. The cost is the higher one
        of two cases: writing the whole prompt to a cache may cost more than sending it. BudgetSpent when a cost is limited and
        unknown."""
        prompt, reply = prompt_tokens(request), request.params.get("max_tokens", REPLY_TOKENS)
        cost: float | None = 0.0
        if not free and request.model in self.pricing:
            costs = [price(self.pricing, request.model, prompt, reply, 0, cache_write) for cache_write in (0, prompt)]
            cost = max(one or 0.0 for one in costs)
        elif not free:
            costs = [] if listed is None or not self.limits_cost else [listed(prompt, reply, 0, w) for w in (0, prompt)]
            cost = max((one for one in costs if one is not None), default=None)
        if cost is None and self.limits_cost:
            raise no_price(request.model)
        return Reservation(self, request, owner, prompt + reply, cost or 0.0, 1)


def _way(reservation: Reservation) -> str:
    """Return what a program can do that reserves more than it needs."""
    reply = reservation.request.params.get("max_tokens")
    if reply is None:
        return f"; a reply without `max_tokens` reserves {REPLY_TOKENS}: set it on the model, or raise the budget"
    return f"; of that its `max_tokens` are {reply}: set them lower, or raise the budget"


def no_price(model: str) -> BudgetSpent:
    """Return the failure for a model without a price when the cost is limited."""
    way = f'give it one in `[pricing."{model}"]` of Concerto.toml, or by the host option `pricing`'
    return BudgetSpent(VARIANTS["price"], f"model {model} has no price, and the run has a budget of cost: {way}", model)
