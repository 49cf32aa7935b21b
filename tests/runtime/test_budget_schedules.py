"""Requests of many tasks, calls and sessions on one tree of accounts, in orders that a seed makes up: no account goes above its
limit by more than what a provider used beyond its reservation, who gets nothing is told so by an Err, and nobody waits for ever
(G-2.26, G-6.4)."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import pytest
from concerto.runtime.calls.budgets import KINDS, Account, Asker, BudgetSpent, Purse
from concerto.runtime.calls.usage import Use
from concerto.runtime.records import Msg, Request

SCHEDULES = 1_000
PARTS = 20
PRICES = {"m": {"input_per_million": 1_000_000.0, "output_per_million": 2_000_000.0}}


class Books:
    """What an accountant would write down of the same schedule: of each account what is used and reserved, and by how much more
    than was reserved requests have used."""

    def __init__(self, accounts: list[Account]) -> None:
        self.used = {account: [0, 0.0, 0] for account in accounts}
        self.open: dict[Account, list[Any]] = {account: [] for account in accounts}
        self.beyond = {account: [0, 0.0, 0] for account in accounts}

    def granted(self, account: Account, amounts: tuple[Any, ...]) -> None:
        self.open[account].append(amounts)
        for at, limit in enumerate(account.limits):
            held = self.used[account][at] + sum(one[at] for one in self.open[account])
            assert limit is None or held <= limit + 1e-6, f"{KINDS[at]}: {held} reserved and used of {limit}"

    def settled(self, account: Account, amounts: tuple[Any, ...], use: Use | None) -> None:
        self.open[account].remove(amounts)
        spent = (0, 0.0, 0) if use is None else (use.tokens, use.cost, use.attempts)
        for at, amount in enumerate(spent):
            self.used[account][at] += amount
            self.beyond[account][at] += max(amount - amounts[at], 0)


def future() -> asyncio.Future[None]:
    return asyncio.get_running_loop().create_future()


class Schedule:
    def __init__(self, seed: int) -> None:
        self.chance = chance = random.Random(seed)
        self.shared = self.account("shared")
        sessions = [self.account("session") for _ in range(chance.randint(1, 3))]
        self.accounts = [self.shared, *sessions]
        self.purses = []
        for session in sessions:
            for _ in range(chance.randint(1, 3)):
                call = self.account("call")
                self.accounts.append(call)
                self.purses.append(Purse([call, session, self.shared], PRICES, future))
        self.books = Books(self.accounts)
        self.told = 0

    def account(self, whose: str) -> Account:
        chance = self.chance
        tokens = chance.choice((None, chance.randint(0, 400)))
        cost = chance.choice((None, float(chance.randint(0, 600))))
        return Account(tokens, cost, chance.choice((None, chance.randint(0, 8))), whose)

    def use(self, amounts: tuple[Any, ...]) -> Use | None:
        """Nothing was sent, less than was reserved, just that, or more: a provider is not bound by what it was asked."""
        kind = self.chance.randrange(4)
        if kind == 0:
            return None
        tokens, cost, calls = amounts
        share = self.chance.random() if kind == 1 else 1.0
        more = self.chance.randint(0, 50) if kind == 3 else 0
        return Use(attempts=calls, tokens_in=int(tokens * share) + more, cost=cost * share + more)

    async def task(self, purse: Purse, owner: int) -> None:
        for _ in range(self.chance.randint(1, 4)):
            text = "x" * self.chance.randint(0, 200)
            params = {"max_tokens": self.chance.randint(1, 80)}
            asked = Request(id="r", connection="box", model="m", messages=[Msg("user", text)], params=params)
            try:
                reservation = await purse.reserve(asked, False, Asker(owner))
            except BudgetSpent as spent:
                self.told += 1
                assert spent.kind == "BudgetError" and spent.variant in ("Tokens", "Cost", "ModelCalls")
                if self.chance.random() < 0.5:
                    return
                continue
            for account in purse.accounts:
                self.books.granted(account, reservation.amounts)
            use = None
            try:
                for _ in range(self.chance.randrange(4)):
                    await asyncio.sleep(0)
                use = self.use(reservation.amounts)
            finally:  # a task that is cancelled settles too
                purse.settle(use, reservation)
                for account in purse.accounts:
                    self.books.settled(account, reservation.amounts, use)

    async def run(self) -> None:
        count = self.chance.randint(2, 10)
        tasks = [asyncio.ensure_future(self.task(self.chance.choice(self.purses), owner)) for owner in range(count)]
        cancels = self.chance.random() < 0.5  # else a task that nobody wakes would be ended by chance
        for _ in range(2_000):
            await asyncio.sleep(0)
            if cancels and self.chance.random() < 0.05:
                self.chance.choice(tasks).cancel()
            if all(task.done() for task in tasks):
                break
        else:
            raise AssertionError("a task waits for what nobody gives back")
        for task in tasks:
            if not task.cancelled() and task.exception() is not None:
                raise task.exception()  # type: ignore[misc]

    def check(self) -> None:
        for account in self.accounts:
            assert not account.open and not account.waiting and not account.coming
            assert account.open.amounts == account.coming.amounts == (0, 0.0, 0)
            assert account.used == pytest.approx(self.books.used[account])
            for at, limit in enumerate(account.limits):
                assert limit is None or account.used[at] <= limit + self.books.beyond[account][at] + 1e-6


@pytest.mark.parametrize("part", range(PARTS))
def test_no_schedule_evades_a_budget(part: int) -> None:
    told = 0
    for seed in range(part * SCHEDULES // PARTS, (part + 1) * SCHEDULES // PARTS):
        schedule = Schedule(seed)
        try:
            asyncio.run(schedule.run())
            schedule.check()
        except AssertionError as error:
            raise AssertionError(f"schedule {seed}: {error}") from error
        told += schedule.told
    assert told > SCHEDULES // PARTS  # budgets were met
