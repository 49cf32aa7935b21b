"""Budgets of tokens, cost and requests (G-6.4, O-1.133): what a request may use at most is reserved before it is sent, and
replaced by what it has used when it is over.

An `Account` belongs to a call of the host, a session, or several sessions of a host. A `Purse` holds all accounts that a
request draws on, and every request of a metered provider draws on them: retries, schema attempts, tool rounds, losers of races,
parallel tasks. A request that finds no room waits for others; `_stuck` finds those that would wait for ever, and they get an
error instead. Hands on `Account` to the session, the Python API and batches, `Purse` to the session, `services.py` and
`call.py`, `Asker` to `services.py`, `Reservation` to `call.py`, and `BudgetSpent`, which is raised for a request that cannot be
reserved, to `embedders.py`; to the batches of several machines KINDS and `Reservation` (`batches/leases.py`,
`batches/cluster.py`). What a request has used is counted by `usage.py`.
"""

from __future__ import annotations

from _thread import allocate_lock, get_ident  # the module threading is more than a start should load
from collections import deque
from heapq import heapify, heappop, heappush
from itertools import count
from math import isfinite

from ...vm.panics import Panic
from ..errors import NotSent
from .usage import HOSTED_CALLS, REPLY_TOKENS, Use, most_calls, price, prompt_tokens

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any

    from ..records import EmbedRequest, Request

    Waits = dict[str, tuple[list[str], bool]]  # by path of a task: the tasks whose ends it waits for, and whether one is enough

KINDS = ("tokens", "cost", "model_calls")
# For each kind, and for a cost that nobody knows, the variant of BudgetError; and the panic where there is no Result to carry it,
# which is the case for vectors (they do not count as calls of models).
VARIANTS = {"tokens": "Tokens", "cost": "Cost", "model_calls": "ModelCalls", "price": "Unpriced"}
PANICS = {"Tokens": "P401", "Cost": "P402", "Unpriced": "P403"}

_lock = allocate_lock()  # sessions of several threads may share an account; what it guards takes microseconds
_numbers = count()


class BudgetSpent(NotSent):
    """A request that cannot be reserved: `variant` is one of the values of VARIANTS, `model` the id that the request names. It is
    not sent, counts as no request, and no retry can mend it."""

    def __init__(self, variant: str, message: str, model: str, **fields: Any) -> None:
        super().__init__("BudgetError", variant, message, model=model, **fields)

    def panic(self) -> Panic:
        """Return the panic for a request for vectors, which has no Result to carry the failure. KeyError for ModelCalls, for
        which such a request does not count."""
        return Panic(PANICS[self.variant or ""], self.message)


class Asker:
    """Who makes the requests of one call. `task` is the path of the task that waits for them or, of a reply in chunks, has asked
    for the last chunk; None where nobody knows."""

    __slots__ = ("task",)

    def __init__(self, task: str | None = None) -> None:
        self.task = task


class Reservation:
    """What one `request` may use at most of the accounts of `purse`: `amounts` of tokens, dollars and requests. Whoever has
    reserved must end it by exactly one `Purse.settle`.

    That of a reply in chunks (`is_held`) ends when the task of its `asker` has read on, any other by itself. `number` is the
    order of asking."""

    __slots__ = ("purse", "request", "asker", "amounts", "is_held", "number")

    def __init__(self, purse: Purse, request: Any, asker: Asker, tokens: int, cost: float, calls: int, is_held: bool) -> None:
        self.purse = purse
        self.request = request
        self.asker = asker
        self.amounts = tokens, cost, calls
        self.is_held = is_held
        self.number = next(_numbers)

    @property
    def cost(self) -> float:
        """Return the dollars of `amounts`."""
        return self.amounts[1]


UNIT = 1 << 1074  # every finite number of dollars is a whole number of parts, of which one dollar has so many


class Open:
    """Reservations in their order (`rows`), with the exact sums of their amounts: no error of rounding stays when they have gone.
    `loose` counts those that end by themselves, `purses` those of each purse."""

    __slots__ = ("rows", "loose", "purses", "_tokens", "_cost", "_calls")

    def __init__(self) -> None:
        self.rows: dict[Reservation, None] = {}
        self.loose = 0
        self.purses: dict[Purse, int] = {}
        self._tokens = 0
        self._cost = 0
        self._calls = 0

    def __iter__(self) -> Iterator[Reservation]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def amounts(self) -> tuple[int, float, int]:
        """Return the sums of tokens, dollars and requests."""
        return self._tokens, self._cost / UNIT, self._calls

    def add(self, reservation: Reservation) -> None:
        """Add a reservation, which must not be there."""
        self.rows[reservation] = None
        self._count(reservation, 1)

    def remove(self, reservation: Reservation) -> None:
        """Remove a reservation, which must be there."""
        del self.rows[reservation]
        self._count(reservation, -1)

    def _count(self, reservation: Reservation, change: int) -> None:
        tokens, cost, calls = reservation.amounts
        self._tokens += change * tokens
        self._calls += change * calls
        if cost and isfinite(cost):  # what is not stands in no account that limits the cost
            parts, of_a_dollar = cost.as_integer_ratio()
            self._cost += change * parts * (UNIT // of_a_dollar)
        if not reservation.is_held:
            self.loose += change
        if change > 0:
            self.purses[reservation.purse] = self.purses.get(reservation.purse, 0) + 1
        else:
            _less_one(self.purses, reservation.purse)


class Account:
    """Limits of tokens, cost in dollars and requests, None for no limit; what is `used` of them, in the order of KINDS; the
    reservations that are `open`, the requests that are `waiting` for some of them to be given back, in their order, and those
    that are `coming`: that were woken because there is room, and have not looked yet. `tasks` and `purses` count those that wait.
    `whose` names the account in messages. The caller of a method holds the lock, but of `left` and `wake`."""

    __slots__ = ("limits", "used", "open", "waiting", "tasks", "purses", "coming", "whose", "_least")

    def __init__(
        self, tokens: int | None = None, cost: float | None = None, model_calls: int | None = None, whose: str = "run"
    ) -> None:
        self.limits = tokens, cost, model_calls
        self.used: list[Any] = [0, 0.0, 0]
        self.open = Open()
        self.waiting: dict[_Turn, None] = {}
        self.tasks: dict[tuple[Purse, str | None], int] = {}
        self.purses: dict[Purse, int] = {}
        self.coming = Open()
        self.whose = whose
        self._least: list[list[tuple[Any, int, _Turn]]] = [[], [], []]  # by kind: heaps of the amounts of those that wait

    @property
    def is_limited(self) -> bool:
        """Return whether any kind has a limit."""
        return any(limit is not None for limit in self.limits)

    def left(self) -> list[Any]:
        """Return, for each kind in the order of KINDS, what a request could reserve now; None without a limit. It takes the lock,
        which the caller must not hold."""
        with _lock:
            return self._left()

    def _left(self) -> list[Any]:
        return [
            None if limit is None else max(limit - used - reserved, 0)
            for limit, used, reserved in zip(self.limits, self.used, self.open.amounts, strict=True)
        ]

    def lacks(self, reservation: Reservation) -> str | None:
        """Return the first kind (of KINDS) of which less is left than a request would reserve; None when it can be reserved."""
        at = _beyond(reservation, self._left())
        return None if at is None else KINDS[at]

    def _told(self, at: int) -> tuple[Any, Any]:
        """Return the limit of a kind, and what is left of it, as a refusal tells them."""
        return self.limits[at], self._left()[at]

    def wait(self, turn: _Turn) -> None:
        """Let a request wait."""
        self.waiting[turn] = None
        self.tasks[turn.of] = self.tasks.get(turn.of, 0) + 1
        purse = turn.reservation.purse
        self.purses[purse] = self.purses.get(purse, 0) + 1
        if len(self.waiting) == 1 or any(len(heap) > 2 * len(self.waiting) for heap in self._least):  # of many that have gone
            self._least = [[one for one in heap if one[2] in self.waiting] for heap in self._least]
            for heap in self._least:
                heapify(heap)
        for limit, amount, heap in zip(self.limits, turn.reservation.amounts, self._least, strict=True):
            if limit is not None:
                heappush(heap, (amount, next(_numbers), turn))

    def leave(self, turn: _Turn) -> None:
        """Let a request wait no more, or take no more what it was woken for."""
        if turn in self.waiting:
            self._forget(turn)
        if turn.reservation in self.coming.rows:
            self.coming.remove(turn.reservation)

    def _forget(self, turn: _Turn) -> None:
        del self.waiting[turn]
        _less_one(self.tasks, turn.of)
        _less_one(self.purses, turn.reservation.purse)

    def fitting(self) -> list[_Turn]:
        """Return the requests of those that wait which there is room for, in their order, beside those that are coming. They are
        coming now, and have to be woken."""
        found: list[_Turn] = []
        room = _less(self._left(), self.coming.amounts)
        if self.waiting and self._may_fit(room):
            for turn in self.waiting:
                if _beyond(turn.reservation, room) is None:
                    found.append(turn)
                    room = _less(room, turn.reservation.amounts)
                    if not self._may_fit(room):
                        break
        for turn in found:
            turn.is_woken = True
            self._forget(turn)
            self.coming.add(turn.reservation)
        return found

    def wake(self) -> None:
        """Make requests look again for which there is room now, after the limits were raised. The caller must not hold the
        lock."""
        with _lock:
            woken = self.fitting()
        _wake(woken)

    def _may_fit(self, room: Sequence[Any]) -> bool:
        """Return False when there is no room for any request that waits."""
        return all(left is None or self._least_of(at) <= left for at, left in enumerate(room))

    def _least_of(self, at: int) -> Any:
        """Return the least amount of a kind, which is limited, that any request waits for."""
        heap = self._least[at]
        while heap[0][2] not in self.waiting:
            heappop(heap)
        return heap[0][0]

    @property
    def is_moving(self) -> bool:
        """Return whether something is given back, or taken, by requests that end by themselves or have been woken."""
        return bool(self.open.loose or self.coming)

    def spent(self, kind: str, reservation: Reservation) -> BudgetSpent:
        """Return the failure for a request of which this kind cannot be reserved: what open reservations hold is not left."""
        at = KINDS.index(kind)
        amount, (limit, left) = reservation.amounts[at], self._told(at)
        of = "" if self.whose == "run" else f" of the {self.whose}"
        if kind == "tokens":
            text = f"token budget{of} spent: a request reserves {amount} tokens, {left} of {limit} are left"
        elif kind == "cost":
            text = f"cost budget{of} spent: a request reserves {amount:.6g}, {left:.6g} of {limit:.6g} is left"
        else:
            text = f"budget of model calls{of} spent: {limit} of {limit} requests were sent"
        way = "; raise the budget" if kind == "model_calls" else _way(reservation, kind)
        message = f"{text} (budget `{kind}`){way}"
        return BudgetSpent(VARIANTS[kind], message, reservation.request.model, wanted=amount, left=left)


def _less_one(counts: dict[Any, int], key: Any) -> None:
    counts[key] -= 1
    if not counts[key]:
        del counts[key]


def _less(room: Sequence[Any], amounts: Sequence[Any]) -> list[Any]:
    """Return the room that amounts leave; None is no limit."""
    return [None if left is None else max(left - amount, 0) for left, amount in zip(room, amounts, strict=True)]


def _beyond(reservation: Reservation, room: Sequence[Any]) -> int | None:
    """Return the place of the first kind of which a request reserves more than there is room for; None in `room` is no limit."""
    for at, (amount, left) in enumerate(zip(reservation.amounts, room, strict=True)):
        if left is not None and amount > left:
            return at
    return None


class _Turn:
    """A request that waits until others have given back something to the `account` that has too little left. Its loop may run in
    another thread than theirs. Once it `is_woken` it looks again, and does not count as waiting."""

    __slots__ = ("reservation", "account", "future", "is_woken")

    def __init__(self, reservation: Reservation, account: Account, future: Any) -> None:
        self.reservation = reservation
        self.account = account
        self.future = future
        self.is_woken = False

    def wake(self) -> bool:
        """Wake it; return whether anybody may still wait there. The caller must not hold the lock: in this thread one may look at
        the accounts at once."""
        return self.reservation.purse.in_its_thread(self._set)

    @property
    def of(self) -> tuple[Purse, str | None]:
        """The session, and the path of the task, that waits."""
        return self.reservation.purse, self.reservation.asker.task

    def _set(self) -> None:
        if not self.future.done():
            self.future.set_result(None)


class Purse:
    """The accounts that the requests of a session draw on; `is_limited` and `limits_cost` say whether one of them has a limit,
    and one of the cost. `pricing` has dollars per million tokens by model id; `future` makes a future of the loop that runs the
    session. Accounts may be shared with sessions of other threads, a purse may not.

    `waits` takes paths of tasks, and says of these and of those that they wait for, for whose ends they wait, and whether one end
    is enough (`Waits`); it is called in the session's thread only. `call_soon` calls a function in that thread; it raises
    RuntimeError when nobody waits there any more."""

    __slots__ = ("accounts", "pricing", "future", "waits", "call_soon", "thread", "published", "is_limited", "limits_cost")

    def __init__(
        self,
        accounts: Sequence[Account],
        pricing: Mapping[str, Mapping[str, float]],
        future: Callable[[], Any],
        waits: Callable[[list[str]], Waits] = lambda tasks: {},
        call_soon: Callable[[Callable[[], object]], object] = lambda function: function(),
    ) -> None:
        self.accounts = tuple(accounts)
        self.pricing = pricing
        self.future = future
        self.waits = waits
        self.call_soon = call_soon
        self.thread = get_ident()
        self.published: Waits = {}  # what `waits` gave last, for other threads
        self.is_limited = any(account.is_limited for account in self.accounts)
        self.limits_cost = any(account.limits[1] is not None for account in self.accounts)

    def in_its_thread(self, function: Callable[[], object]) -> bool:
        """Call a function in the thread of the session: at once when this is that thread, else soon. Return False when its loop
        has ended, so that it is never called."""
        if self.thread == get_ident():
            function()
            return True
        try:
            self.call_soon(function)
        except RuntimeError:
            return False
        return True

    def left(self) -> list[Any]:
        """Return, for each kind in the order of KINDS, the least that any account has left, None when no account limits it; an
        empty list when there is no account."""
        every = zip(*(account.left() for account in self.accounts), strict=True)
        return [min((left for left in kind if left is not None), default=None) for kind in every]

    async def reserve(
        self, request: Request, free: bool, asker: Asker | None = None,
        listed: Callable[[int, int, int, int], float | None] | None = None,
    ) -> Reservation:  # fmt: skip
        """Reserve what a request may use at most, and return the reservation. Wait while something may be given back by others,
        who do not wait, directly or through others, for this request to end. Raises BudgetSpent when nobody can give anything
        back, or when the cost is limited and nobody knows the price. A wait that cannot end, because tasks have come to wait for
        each other, ends in BudgetSpent for the newest request.

        A `free` request costs nothing. `listed` gives the published price in dollars of a model without one of its own, for
        tokens in, out, read from a cache and written to it; None where there is none."""
        return await self._admit(self._estimate(request, free, asker or Asker(), listed))

    async def reserve_vectors(self, request: EmbedRequest, tokens: int, free: bool, task: str | None = None) -> Reservation:
        """Do what `reserve` does for a request for vectors of texts with that many tokens (M-10.16), for which the task of the
        path `task` waits: it counts as no call of a model, and is priced by `pricing` alone. Raises BudgetSpent as `reserve`."""
        cost = 0.0 if free else price(self.pricing, request.model, tokens, 0)
        if cost is None and self.limits_cost:
            raise no_price(request.model)
        return await self._admit(Reservation(self, request, Asker(task), tokens, cost or 0.0, 0, False))

    async def _admit(self, reservation: Reservation) -> Reservation:
        turn: _Turn | None = None
        while True:
            failure = None
            with _lock:
                account, kind = self._short_of(reservation)
                woken = [] if turn is None else _given_up(turn, takes=account is None)
                if account is None:
                    for each in self.accounts:
                        each.open.add(reservation)
                    return reservation
                turn = _Turn(reservation, account, self.future())
                account.wait(turn)
                woken += self._end_deadlocks()
                if turn in woken:
                    woken.remove(turn)
                    failure = account.spent(kind, reservation)
                others = [purse for purse in account.open.purses if purse.thread != self.thread]
            _wake(woken)
            if failure is not None:
                raise failure
            for purse in others:  # only their own threads know what their tasks wait for
                purse.in_its_thread(purse.look)
            try:
                await turn.future
            except BaseException:
                with _lock:
                    woken = [*_given_up(turn), *self._end_deadlocks()]
                _wake(woken)
                raise

    def look(self) -> None:
        """End what waits for ever. It must be called in the session's thread whenever tasks of the session have come to wait for
        something: one that holds a reservation may wait by then for one that waits for it."""
        if not any(account.waiting for account in self.accounts):
            return
        with _lock:
            woken = self._end_deadlocks()
        _wake(woken)

    def _end_deadlocks(self) -> list[_Turn]:
        """Mark the newest of the requests that wait for ever as woken, until none waits for ever, and return all that were
        marked, which wait no more: they look again, and fail if nothing has changed. The caller holds the lock."""
        woken: list[_Turn] = []
        while stuck := _stuck(self.accounts):
            stuck.sort(key=lambda turn: turn.reservation.number, reverse=True)
            # where nothing is open, nothing that others do helps
            for turn in [turn for turn in stuck if not turn.account.open] or stuck[:1]:
                turn.is_woken = True
                turn.account.leave(turn)
                woken.append(turn)
        return woken

    def _short_of(self, reservation: Reservation) -> tuple[Account | None, str]:
        """Return the first account that cannot take a reservation, and the kind that it lacks; None when all can."""
        for account in self.accounts:
            kind = account.lacks(reservation)
            if kind is not None:
                return account, kind
        return None, ""

    def settle(self, use: Use | None, reservation: Reservation | None = None) -> None:
        """Count what a request has used, and end its reservation, if it has one. `use` is None when nothing was sent. Where a
        reservation ends, requests for which there is room now look again, and those for which there will be none. KeyError for a
        reservation that has ended."""
        woken: list[_Turn] = []
        with _lock:
            for account in self.accounts:
                if reservation is not None:
                    account.open.remove(reservation)
                if use is not None:
                    account.used[0] += use.tokens
                    account.used[1] += use.cost
                    account.used[2] += use.attempts
            if reservation is not None:
                woken = [turn for account in self.accounts for turn in account.fitting()]
                woken += self._end_deadlocks()
        _wake(woken)

    def _estimate(self, request: Request, free: bool, asker: Asker, listed: Any) -> Reservation:
        """Return what a request may use at most: its prompt, the longest reply that it allows, and all calls of hosted tools. The
        cost is the higher one of two cases: writing the whole prompt to a cache may cost more than sending it. BudgetSpent when a
        cost is limited and unknown."""
        prompt, reply = prompt_tokens(request), request.params.get("max_tokens", REPLY_TOKENS)
        calls = most_calls(request)
        costs: list[float | None] = [0.0] if free else []
        if not free and request.model in self.pricing:
            costs = [price(self.pricing, request.model, prompt, reply, 0, cache_write, calls) for cache_write in (0, prompt)]
        elif not free and not calls and listed is not None and self.limits_cost:
            costs = [listed(prompt, reply, 0, cache_write) for cache_write in (0, prompt)]
        cost = max((one for one in costs if one is not None), default=None)
        if cost is None and self.limits_cost:
            row = self.pricing.get(request.model)
            raise no_price(request.model, [kind for kind in calls if row is None or kind not in row])
        return Reservation(self, request, asker, prompt + reply, cost or 0.0, 1, request.stream)


def _given_up(turn: _Turn, takes: bool = False) -> list[_Turn]:
    """Let a request wait no more. Unless it `takes` what it was woken for, return others, which are to be woken for it. The
    caller holds the lock."""
    turn.account.leave(turn)
    return [] if takes or not turn.is_woken else turn.account.fitting()


def _wake(turns: list[_Turn]) -> None:
    """Wake requests, in place of one that is there no more another one. The caller must not hold the lock."""
    pending = deque(turns)
    while pending:
        turn = pending.popleft()
        if not turn.wake():
            with _lock:
                pending += _given_up(turn)


def _stuck(accounts: Sequence[Account]) -> list[_Turn]:
    """Return the requests that wait for these accounts, or for others that these depend on, and wait for ever: all that could be
    given back is held by tasks that wait for such requests themselves. The caller holds the lock."""
    waiting = [account for account in accounts if account.waiting]
    if all(account.is_moving for account in waiting):
        return []  # the usual case, in which nobody has to be asked who waits for whom
    return _Knot(waiting).stuck()


def _holding(purse: Purse) -> list[str]:
    """Return the tasks of a session that hold reservations until they have read on."""
    held = [one for account in purse.accounts for one in account.open if one.is_held and one.purse is purse]
    return [one.asker.task for one in held if one.asker.task is not None]


class _Knot:
    """Accounts that requests wait for, with those that their reservations depend on, and who waits for whom around them."""

    def __init__(self, accounts: Sequence[Account]) -> None:
        self.accounts: list[Account] = []
        self.waits: dict[Purse, Waits] = {}
        self.moving: set[Account] = set()  # something will be given back to them
        pending = list(accounts)
        while pending:
            account = pending.pop()
            if account not in self.accounts:
                self.accounts.append(account)
                for purse in {*account.open.purses, *account.coming.purses, *account.purses}:
                    pending += purse.accounts
        holding = {purse for account in self.accounts for purse in account.open.purses}
        self.is_alone = all(purse.thread == get_ident() for purse in holding)
        for purse in holding:
            self.waits[purse] = {} if self.is_alone else self._of_purse(purse)
            if self.is_alone:
                purse.published = self.waits[purse]

    def _of_purse(self, purse: Purse) -> Waits:
        """Return for whom the tasks that hold reservations of a purse wait; of a session of another thread what it has said
        last."""
        if purse.thread == get_ident():
            purse.published = purse.waits(_holding(purse))
        return purse.published

    def _awaited_by(self, purse: Purse, task: str) -> tuple[list[str], bool]:
        """Return for whose ends a task waits, and whether one is enough. Where no other thread has to know, the first task is
        asked for alone: mostly it goes on."""
        waits = self.waits[purse]
        if self.is_alone and task not in waits:
            waits.update(purse.waits([task] if not waits else _holding(purse)))
        return waits.setdefault(task, ([], False))

    def stuck(self) -> list[_Turn]:
        while True:
            more = [account for account in self.accounts if account not in self.moving and self._moves(account)]
            if not more:
                break
            self.moving.update(more)
        return [turn for account in self.accounts if account not in self.moving for turn in account.waiting]

    def _moves(self, account: Account) -> bool:
        seen: dict[Any, bool] = {}
        return account.is_moving or any(self._goes_on(one.purse, one.asker.task, seen) for one in account.open)

    def _goes_on(self, purse: Purse, task: str | None, seen: dict[Any, bool]) -> bool:
        """Return whether a task does something, or waits for what comes as far as is known. `seen` has the answers so far; a task
        that waits for itself does not go on."""
        if task is None:
            return True
        if (purse, task) not in seen:
            seen[purse, task] = False
            awaited, one_is_enough = self._awaited_by(purse, task)
            enough = any if one_is_enough else all
            has_room = all(account in self.moving or (purse, task) not in account.tasks for account in self.accounts)
            seen[purse, task] = has_room and enough([self._goes_on(purse, other, seen) for other in awaited])
        return seen[purse, task]


def _way(reservation: Reservation, kind: str) -> str:
    """Return what a program can do that reserves more than it needs."""
    if not reservation.amounts[2]:  # a request for vectors has no reply
        return "; raise the budget"
    if kind == "cost" and reservation.request.hosted:
        calls = sum(most_calls(reservation.request).values())
        counted = f"{calls} calls of hosted tools, {HOSTED_CALLS} for one without `max_uses`"
        return f"; it may have {counted}: set that, or raise the budget"
    reply = reservation.request.params.get("max_tokens")
    if reply is None:
        return f"; a reply without `max_tokens` reserves {REPLY_TOKENS}: set it on the model, or raise the budget"
    return f"; of that its `max_tokens` are {reply}: set them lower, or raise the budget"


def no_price(model: str, tools: Sequence[str] = ()) -> BudgetSpent:
    """Return the failure for a model without a price when the cost is limited; for hosted tools without one, if there are any."""
    way = f'give it one in `[pricing."{model}"]` of Concerto.toml, or by the host option `pricing`'
    what = f"model {model}"
    if tools:
        what = f"the hosted tool {tools[0]} of {what}"
        way += f": `{tools[0]}`, for a thousand calls, beside the prices of tokens"
    return BudgetSpent(VARIANTS["price"], f"{what} has no price, and the run has a budget of cost: {way}", model)
