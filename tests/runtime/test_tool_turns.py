"""Turns of the methods that change a tool: order, a waiter that is cancelled, a method that waits for itself (O-4.25)."""

from __future__ import annotations

import asyncio
from itertools import count
from typing import Any

import pytest
from concerto.runtime.tools.tools import Turns
from concerto.vm.panics import Panic

NUMBERS = count()


def task(parent: str = "") -> str:
    """The path of a new task."""
    return f"{parent}.{next(NUMBERS)}" if parent else str(next(NUMBERS))


def run(work: Any) -> None:
    asyncio.run(work())


def test_turns_come_in_order_and_a_cancelled_waiter_is_passed_over() -> None:
    async def work() -> None:
        turns, seen = Turns("T", asyncio.get_running_loop().create_future, []), []

        async def one(name: str) -> None:
            await turns.take(task())
            seen.append(name)
            await asyncio.sleep(0)
            turns.end()

        tasks = [asyncio.ensure_future(one(name)) for name in "abcd"]
        await asyncio.sleep(0)
        tasks[1].cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert seen == ["a", "c", "d"]
        assert not turns.busy

    run(work)


def test_a_turn_given_to_a_cancelled_waiter_goes_on() -> None:
    async def work() -> None:
        turns = Turns("T", asyncio.get_running_loop().create_future, [])
        await turns.take(task())
        waiter = asyncio.ensure_future(turns.take(task()))
        await asyncio.sleep(0)
        turns.end()
        waiter.cancel()
        await asyncio.gather(waiter, return_exceptions=True)
        assert not turns.busy

    run(work)


def test_a_method_below_the_running_one_cannot_wait_for_it() -> None:
    async def work() -> None:
        turns = Turns("T", asyncio.get_running_loop().create_future, [])
        await turns.take(task())
        running = task()
        turns.begin(running)
        with pytest.raises(Panic, match="waits for itself"):
            await turns.take(task(task(running)))

    run(work)


def test_methods_of_two_tools_cannot_wait_for_each_other() -> None:
    async def work() -> None:
        future: Any = asyncio.get_running_loop().create_future
        known: list[Turns] = []
        first, second = Turns("A", future, known), Turns("B", future, known)
        known += [first, second]
        in_first, in_second = task(), task()
        await first.take(task())
        first.begin(in_first)
        await second.take(task())
        second.begin(in_second)
        waiter = asyncio.ensure_future(second.take(task(in_first)))
        await asyncio.sleep(0)
        with pytest.raises(Panic, match="tools B and A: their `mut self` methods wait for each other"):
            await first.take(task(in_second))
        waiter.cancel()
        await asyncio.gather(waiter, return_exceptions=True)
        outside = asyncio.ensure_future(first.take(task()))  # who is in no circle just waits
        await asyncio.sleep(0)
        assert not outside.done()
        first.end()
        await outside

    run(work)
