"""One budget on many machines (S-2.3): an actor has it, machines take parts of it for the requests that they are about to send.

Hands on `Ledger`, what the actor of the cluster is made of, `Leased`, the account of a machine, and `Amounts` to `cluster.py`.
What a machine holds counts as used until it says what it has used of it: of a machine that is lost, all that it held. So requests
never cost more together than the budget; how requests reserve and settle is known to `runtime/calls/budgets.py`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from operator import le
from typing import Any, cast

from ..runtime.calls.budgets import KINDS, Reservation
from .calls import Shared

Amounts = tuple[float, ...]  # one for each of KINDS: tokens, cost, requests
Left = list[float | None]  # likewise, None of a kind without a limit
NOTHING: Amounts = (0.0,) * len(KINDS)
AHEAD = 8  # requests that a machine takes room for at once, while there is plenty
PLENTY = 4  # what is left is plenty if it is so many times what a machine takes
SLACK = 1e-9
PATIENCE = 30.0  # seconds that a request waits for what other machines may give back


class Ledger:
    """The budget: `limits` of each kind (KINDS), None for none, and what is `used` of them at the beginning."""

    def __init__(self, limits: Sequence[float | None], used: Sequence[float]) -> None:
        self._limits = list(limits)
        self._free = [None if limit is None else limit - spent for limit, spent in zip(limits, used, strict=True)]
        self._held: dict[str, list[float]] = {}
        self._changed = asyncio.Condition()
        self._waiting = 0

    async def take(self, machine: str, amounts: Amounts) -> tuple[Amounts, bool, Left]:
        """Return what a machine gets, at least `amounts` or nothing at all, whether it is to give back at once what it does not
        use, and what `left` returns. It waits while other machines hold what would be room enough, at most PATIENCE seconds."""
        wanted = tuple(amount * AHEAD for amount in amounts)
        try:
            async with asyncio.timeout(PATIENCE), self._changed:
                while not self._has(amounts):
                    others = [held for name, held in self._held.items() if name != machine and any(part > 1e-12 for part in held)]
                    if not others or not self._has(amounts, [sum(held) * (1 + SLACK) for held in zip(*others, strict=True)]):
                        break
                    self._waiting += 1
                    try:
                        await self._changed.wait()
                    finally:
                        self._waiting -= 1
                is_scarce = not self._has(tuple(PLENTY * part for part in wanted))
                given = amounts if is_scarce else wanted
                if self._has(given):
                    self._move(machine, given, 1)
                    return given, is_scarce, self.left()
        except TimeoutError:
            pass
        return NOTHING, True, self.left()

    async def give_back(self, machine: str, amounts: Amounts) -> None:
        """Take back what a machine does not use."""
        async with self._changed:
            self._move(machine, amounts, -1)
            self._changed.notify_all()

    async def spent(self, machine: str, amounts: Amounts) -> bool:
        """Note that a machine has used a part of what it holds: it is held no more, and is gone. Return whether others wait."""
        async with self._changed:
            held = self._held.setdefault(machine, [0.0] * len(KINDS))
            self._held[machine] = [max(0.0, part - used) for part, used in zip(held, amounts, strict=True)]
            self._changed.notify_all()
        return self._waiting > 0

    async def lost(self, machine: str) -> None:
        """Note that a machine is gone: what it held counts as used."""
        async with self._changed:
            self._held.pop(machine, None)
            self._changed.notify_all()

    def left(self) -> Left:
        """Return what nobody has used or holds, None of a kind without a limit."""
        return list(self._free)

    def _has(self, amounts: Amounts, more: Sequence[float] = NOTHING) -> bool:
        """Return whether amounts are there, where `more` comes back besides."""
        return all(free is None or part <= free + extra for free, part, extra in zip(self._free, amounts, more, strict=True))

    def _move(self, machine: str, amounts: Amounts, sign: int) -> None:
        held = self._held.setdefault(machine, [0.0] * len(KINDS))
        for at, amount in enumerate(amounts):
            free = self._free[at]
            if free is not None:
                self._free[at] = free - sign * amount
                held[at] += sign * amount


class Leased(Shared):
    """The budget as one machine has it: its limits are what it holds. `ask` takes amounts from the ledger (`Ledger.take`),
    `give_back` and `report` return what is not used and tell what is, the latter whether others wait; all three are awaited.
    `lacks` and `is_moving` answer as those of `Account`; `lacks` also begins to ask the ledger for what is lacking, but not for
    as much as the ledger has once refused."""

    __slots__ = ("_whole", "_beside", "_ask", "_give_back", "_report", "_asking", "_refused", "_is_scarce", "_known", "_jobs")

    def __init__(
        self, whole: Sequence[float | None], ask: Callable[[Amounts], Awaitable[tuple[Amounts, bool, Left]]],
        give_back: Callable[[Amounts], Awaitable[None]], report: Callable[[Amounts], Awaitable[bool]],
    ) -> None:  # fmt: skip
        """`whole` is the limits of the batch, by KINDS."""
        super().__init__(*(None if limit is None else 0 for limit in whole))
        self._whole = tuple(whole)
        self._beside: Left = [None if limit is None else 0.0 for limit in whole]  # what the ledger had when it was asked last
        self._ask = ask
        self._give_back = give_back
        self._report = report
        self._asking: asyncio.Task[None] | None = None
        self._refused: list[Amounts] = []
        self._is_scarce = False
        self._known = [0.0] * len(KINDS)  # what the ledger knows to be used
        self._jobs: set[asyncio.Task[None]] = set()

    def lacks(self, reservation: Reservation) -> str | None:
        kind = super().lacks(reservation)
        if kind is not None and self._asking is None and not self._is_refused(self._wanted(reservation)):
            self._asking = asyncio.get_running_loop().create_task(self._more(reservation))
        return kind

    def _wanted(self, reservation: Reservation) -> Amounts:
        # A little more cost than is reserved: its sums are not exact, and what does not fit would be asked for again.
        tokens, cost, calls = reservation.amounts
        pairs = zip((tokens, cost * (1 + SLACK), calls), self._whole, strict=True)
        return tuple(0.0 if limit is None else float(part) for part, limit in pairs)

    def _is_refused(self, amounts: Amounts) -> bool:
        return any(all(map(le, refused, amounts)) for refused in self._refused)

    def _told(self, at: int) -> tuple[Any, Any]:
        limit, left = self._whole[at], (self._beside[at] or 0.0) + self._left()[at]
        return limit, left if KINDS[at] == "cost" else round(left)  # the ledger counts in floats

    @property
    def is_moving(self) -> bool:
        return self._asking is not None or super().is_moving

    async def _more(self, reservation: Reservation) -> None:
        """Take room for a request from the ledger; where there is none, those that wait are told so. What is held beyond open
        requests goes back before: machines that ask hold nothing that others may wait for."""
        amounts = self._wanted(reservation)
        try:
            await self._settle(gives=True)
            given, self._is_scarce, self._beside = await self._ask(amounts)
        except Exception:  # the ledger is gone with its machine: nobody knows what is left
            given = amounts = NOTHING
        if not any(given):
            self._refused = [*(one for one in self._refused if not all(map(le, amounts, one))), amounts]
        self._hold(given, 1)
        self._asking = None
        purses, waiting = list(self.purses), len(self.waiting)
        self.wake()
        first = next(iter(self.waiting), None)
        if first is not None and len(self.waiting) < waiting:  # the others want room too
            self._asking = asyncio.get_running_loop().create_task(self._more(first.reservation))
        for purse in purses:
            purse.look()

    def row_ended(self, is_idle: bool) -> None:
        """Tell the ledger what was used since, and give back what is not needed while there is little, or nothing runs here."""
        self._job(self._settle(gives=is_idle))

    async def _settle(self, gives: bool) -> None:
        used = tuple(float(part) - known for part, known in zip(self.used, self._known, strict=True))
        self._known = [float(part) for part in self.used]
        with suppress(Exception):  # the ledger is gone
            others_wait = await self._report(used)
            if gives or others_wait or self._is_scarce:
                woken = self.coming.amounts  # they take their room when they look
                pairs = zip(self.left(), woken, strict=True)
                spare = tuple(0.0 if left is None else max(0.0, float(left) - amount) for left, amount in pairs)
                self._hold(spare, -1)
                await self._give_back(spare)

    def _hold(self, amounts: Amounts, sign: int) -> None:
        tokens, cost, calls = (
            None if limit is None else limit + sign * part for limit, part in zip(self.limits, amounts, strict=True)
        )
        self.limits = cast("Any", tokens), cost, cast("Any", calls)  # floats, as what comes from the ledger

    def _job(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._jobs.add(task)
        task.add_done_callback(self._jobs.discard)

    async def end(self) -> None:
        """Give all back that is not used."""
        await asyncio.gather(*self._jobs, return_exceptions=True)
        await self._settle(gives=True)
