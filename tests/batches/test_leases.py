"""One budget on many machines (S-2.3): the ledger, and the account of a machine, without a cluster between them."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import concerto
import pytest
from concerto.batches.calls import BudgetEnds, ClusterFailure, RowCalls
from concerto.batches.cluster import _require_answer
from concerto.batches.leases import Leased, Ledger
from concerto.runtime.calls.budgets import Asker, BudgetSpent, Purse, Reservation
from concerto.runtime.calls.usage import Use
from hypothesis import given, settings
from hypothesis import strategies as st

from .serving import PROGRAM, served

KINDS = 3


def machine(ledger: Ledger, name: str, whole: tuple[float | None, ...] = (None, 0.3, None)) -> Leased:
    async def ask(amounts: tuple[float, ...]) -> tuple[tuple[float, ...], bool, list[float | None]]:
        await asyncio.sleep(0.001)
        return await ledger.take(name, amounts)

    async def give_back(amounts: tuple[float, ...]) -> None:
        await ledger.give_back(name, amounts)

    async def report(amounts: tuple[float, ...]) -> bool:
        return await ledger.spent(name, amounts)

    return Leased(whole, ask, give_back, report)


def test_machines_never_use_more_than_the_budget(tmp_path: Path) -> None:
    """Three machines with 12 rows at a time; a row costs 0.015, and reserves some 0.034: 0.3 is room for 19 or 20."""
    options: Any = {"pricing": {"m": {"input_per_million": 1000.0, "output_per_million": 1000.0}}}

    async def work(calls: RowCalls, budget: Leased, rows: list[int], done: list[float], left: list[str]) -> None:
        running = 0

        async def one(row: int) -> None:
            nonlocal running
            running += 1
            try:
                done.append((await calls.call({"text": f"row {row}"})).cost)
            except BudgetEnds as ends:
                left.append(ends.text)
            running -= 1
            budget.row_ended(not running)

        slots = asyncio.Semaphore(4)

        async def with_slot(row: int) -> None:
            async with slots:
                await one(row)

        await asyncio.gather(*map(with_slot, rows))

    async def main(port: int) -> tuple[list[float], list[str], list[float | None]]:
        ledger = Ledger([None, 0.3, None], [0, 0.0, 0])
        program = concerto.compile(PROGRAM.format(port=port))._linked
        budgets = [machine(ledger, f"m{number}") for number in range(3)]
        calls = [RowCalls(program, "ask", options, None, budget, 0) for budget in budgets]
        done: list[float] = []
        left: list[str] = []
        shares = [list(range(at, 60, 3)) for at in range(3)]
        await asyncio.gather(*[work(c, b, rows, done, left) for c, b, rows in zip(calls, budgets, shares, strict=True)])
        for one, budget in zip(calls, budgets, strict=True):
            await budget.end()
            await one.aclose()
        return done, left, ledger.left()

    with served(tmp_path, 0.02) as server:
        done, left, rest = asyncio.run(main(server.port))
        assert sum(done) <= 0.3 and len(done) + len(left) == 60
        assert len(done) >= 18, "what others gave back is used"
        assert sum(server.counts().values()) == len(done)
        assert all(text.startswith("cost budget of the batch spent") for text in left)
        assert rest[1] is not None and abs(rest[1] - (0.3 - sum(done))) < 1e-9  # all that was not used is back


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["take", "spend", "back", "lose"]), st.floats(0, 30)), max_size=40)
)
def test_the_ledger_gives_no_more_than_it_has(steps: list[tuple[str, str, float]]) -> None:
    async def main() -> None:
        ledger = Ledger([None, 100.0, None], [0, 10.0, 0])
        held = dict.fromkeys("abc", 0.0)
        gone = 0.0
        for name, what, amount in steps:
            if what == "take":
                if any(part > 0 for other, part in held.items() if other != name):
                    continue  # it may wait for the others
                (_, given_amount, _), _, _ = await ledger.take(name, (0.0, amount, 0.0))
                assert given_amount == 0 or given_amount >= amount
                held[name] += given_amount
            elif what == "spend":
                used = min(amount, held[name])
                await ledger.spent(name, (0.0, used, 0.0))
                held[name] -= used
                gone += used
            elif what == "back":
                back = min(amount, held[name])
                await ledger.give_back(name, (0.0, back, 0.0))
                held[name] -= back
            else:
                await ledger.lost(name)
                gone += held[name]
                held[name] = 0.0
            left = ledger.left()[1]
            assert left is not None and left > -1e-6 and abs(left + sum(held.values()) + gone - 90) < 1e-6

    asyncio.run(main())


def test_a_machine_waits_for_what_another_gives_back() -> None:
    async def main() -> tuple[Any, Any]:
        ledger = Ledger([None, 1.0, None], [0, 0.0, 0])
        first, is_scarce, _ = await ledger.take("a", (0.0, 0.8, 0.0))
        waiting = asyncio.create_task(ledger.take("b", (0.0, 0.5, 0.0)))
        await asyncio.sleep(0.01)
        assert is_scarce and not waiting.done()
        await ledger.give_back("a", (0.0, 0.7, 0.0))
        return first, await waiting

    first, second = asyncio.run(main())
    assert (first[1], second[0][1]) == (0.8, 0.5)


def test_a_refused_request_leaves_room_for_smaller_ones_and_its_text_tells_of_the_batch() -> None:
    """It made the machine refuse all that came later, and told of its lease: "0.0 of 0.0 are left"."""

    async def main() -> tuple[list[str], list[float | None]]:
        whole = (10_000, None, 5)
        ledger = Ledger(whole, [1000, 0.0, 0])
        budget = machine(ledger, "m", whole)
        loop = asyncio.get_running_loop()
        purse = Purse((budget,), {}, loop.create_future, lambda paths: {}, loop.call_soon_threadsafe)
        told = []
        for tokens in (20_000, 30_000, 9000, 1, 100):
            request = SimpleNamespace(model="m", params={"max_tokens": tokens}, hosted=[])
            reservation = Reservation(purse, request, Asker(), tokens, 0.0, 1, False)
            try:
                await asyncio.wait_for(purse._admit(reservation), 20)
                told.append("sent")
                purse.settle(Use(1, tokens), reservation)
            except BudgetSpent as spent:
                told.append(f"{spent.message.partition(' (')[0]}; {spent.fields['left']}")
        await budget.end()
        return told, ledger.left()

    told, left = asyncio.run(main())
    whole = "token budget of the batch spent: a request reserves"
    assert told == [
        f"{whole} 20000 tokens, 9000 of 10000 are left; 9000", f"{whole} 30000 tokens, 9000 of 10000 are left; 9000", "sent",
        f"{whole} 1 tokens, 0 of 10000 are left; 0", f"{whole} 100 tokens, 0 of 10000 are left; 0",
    ]  # fmt: skip
    assert left[0] is not None and abs(left[0]) < 1e-3


def test_what_nobody_can_give_back_is_not_waited_for() -> None:
    async def main() -> Any:
        ledger = Ledger([None, 1.0, None], [0, 0.5, 0])
        await ledger.take("a", (0.0, 0.4, 0.0))
        return await asyncio.wait_for(ledger.take("b", (0.0, 0.6, 0.0)), 5)

    assert asyncio.run(main())[0] == (0.0, 0.0, 0.0)


def test_a_rate_of_a_connection_is_that_of_all_rows(tmp_path: Path) -> None:
    import time

    with served(tmp_path, 0.1) as server:
        source = PROGRAM.replace('api: "chat"', 'api: "chat", rate_limit: {{ concurrent_requests: 1 }}').format(port=server.port)
        began = time.monotonic()
        done = [row.ok for row in concerto.batch(concerto.compile(source), "ask", [{"text": str(n)} for n in range(6)])]
        assert done == [True] * 6 and time.monotonic() - began > 0.6
        assert json.loads(server.log.read_text().splitlines()[0]) == "0"


def test_a_cluster_whose_host_has_no_name() -> None:
    with pytest.raises(ClusterFailure, match="a..b is no name of a host"):
        _require_answer("a..b:80")
