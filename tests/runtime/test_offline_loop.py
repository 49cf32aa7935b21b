"""The event loop of offline runs: its clock jumps, jobs end, are cancelled, fail."""

from __future__ import annotations

import asyncio

import pytest
from concerto.runtime.loop import BEYOND, LAST, Cancelled, OfflineLoop, gather, pause, within


@pytest.fixture
def loop():
    return OfflineLoop(100.0)


def test_the_clock_jumps_to_the_earliest_timer(loop):
    seen = []

    async def sleeper(name, seconds):
        await loop.sleep(seconds)
        seen.append((name, loop.time()))
        return name

    async def main():
        return await gather(loop, [sleeper("a", 3), sleeper("b", 1), sleeper("c", 1)])

    assert loop.run_until_complete(main()) == ["a", "b", "c"]
    assert seen == [("b", 101.0), ("c", 101.0), ("a", 103.0)]


def test_a_cancelled_timer_does_not_move_the_clock(loop):
    async def main():
        with pytest.raises(TimeoutError):
            await within(loop, 2, loop.sleep(50))
        await loop.sleep(1)

    loop.run_until_complete(main())
    assert loop.time() == 103.0


def test_the_clock_goes_slowly_behind_its_end(loop):
    seen = []

    async def main():
        for seconds in (2.0**62, 2.0**62, 60, float("inf")):
            await loop.sleep(seconds)
            seen.append(loop.time() - LAST)

    loop.run_until_complete(main())
    assert seen == [0, BEYOND, BEYOND + 60, 2 * BEYOND + 60]


def test_the_clock_never_goes_back(loop):
    async def main():
        now = loop.time()
        await pause(loop, -5)
        await loop.sleep(float("-inf"))
        assert loop.time() == now

    loop.run_until_complete(main())


def test_a_failure_stops_the_others(loop):
    stopped = []

    async def patient():
        try:
            await loop.sleep(9)
        except Cancelled:
            stopped.append(loop.time())
            raise

    async def failing():
        await loop.sleep(1)
        raise KeyError("no")

    async def main():
        await gather(loop, [failing(), patient()])

    with pytest.raises(KeyError):
        loop.run_until_complete(main())
    assert stopped == [101.0]


@pytest.mark.parametrize("asynchronous", [False, True], ids=["offline loop", "asyncio"])
def test_the_first_failure_in_time_stops_those_before_it_too(loop, asynchronous):
    ended = []

    async def patient():
        try:
            await (asyncio.sleep(100) if asynchronous else loop.sleep(100))
        finally:
            ended.append("patient")

    async def failing(error):
        await (asyncio.sleep(0.01) if asynchronous else loop.sleep(0.01))
        raise error

    async def main():
        here = asyncio.get_running_loop() if asynchronous else loop
        with pytest.raises(KeyError):
            await gather(here, [patient(), failing(KeyError("first")), failing(ValueError("second"))])
        assert ended == ["patient"]
        assert await gather(here, []) == []

    if asynchronous:
        asyncio.run(asyncio.wait_for(main(), 50))
    else:
        loop.run_until_complete(main())
        assert loop.time() < 101


def test_a_job_cancelled_with_its_result_on_the_way_ends_where_it_waits(loop):
    after = []

    async def waiter(future):
        await future
        after.append("went on")

    async def main():
        future = loop.create_future()
        job = loop.create_task(waiter(future))
        await loop.sleep(0)
        future.set_result(1)
        assert job.cancel()
        await loop.sleep(0)
        assert job.cancelled() and not job.cancel()

    loop.run_until_complete(main())
    assert after == []


def test_a_job_cancelled_before_it_began_never_begins(loop):
    began = []

    async def work():
        began.append(1)

    async def main():
        job = loop.create_task(work())
        job.cancel()
        await loop.sleep(0)
        assert job.cancelled()

    loop.run_until_complete(main())
    assert began == []


def test_waiting_for_nothing_is_an_error(loop):
    async def main():
        await loop.create_future()

    with pytest.raises(RuntimeError, match="cannot come"):
        loop.run_until_complete(main())


def test_a_callback_of_what_has_ended_is_called_too(loop):
    seen = []

    async def main():
        ended = loop.create_future()
        ended.set_result(1)
        ended.add_done_callback(seen.append)
        assert seen == []  # never within the call
        await loop.sleep(0)
        assert seen == [ended]

    loop.run_until_complete(main())
