"""Rate limits: waiting in line, never a failure, no part of latency (O-1.11, O-1.16)."""

import asyncio

import pytest
from concerto.runtime.calls.call import execute
from concerto.runtime.calls.services import RateLimiter
from concerto.runtime.calls.settings import call_settings


class Clock:
    def __init__(self):
        self.now = 100.0
        self.slept = []

    def __call__(self):
        return self.now

    async def sleep(self, seconds):
        self.slept.append(seconds)
        self.now += seconds


def test_requests_of_the_last_minute(finish):
    clock = Clock()
    limiter = RateLimiter({"requests_per_minute": 2}, clock, clock.sleep)
    waits = []
    for _ in range(5):
        waits.append(finish(limiter.enter()))
        limiter.leave(1000)
        clock.now += 10
    assert waits == [0, 0, 40, 0, 40]


def test_reported_tokens_of_the_last_minute(finish):
    clock = Clock()
    limiter = RateLimiter({"tokens_per_minute": 100}, clock, clock.sleep)
    waits = []
    for tokens in (60, 30, 20, 500, 1):
        waits.append(finish(limiter.enter()))
        limiter.leave(tokens)
        clock.now += 10
    # 60 + 30 leave room; 110 do not until the 60 are a minute old; 500 until they are.
    assert waits == [0, 0, 0, 30, 50]


@pytest.mark.parametrize("limit", [1, 2, 5])
def test_concurrent_requests_enter_in_order(limit):
    async def run():
        limiter = RateLimiter({"concurrent_requests": limit}, asyncio.get_running_loop().time, asyncio.sleep)
        order, running, most = [], 0, 0

        async def call(number):
            nonlocal running, most
            await limiter.enter()
            order.append(number)
            running += 1
            most = max(most, running)
            await asyncio.sleep(0.001 * (number % 3))
            running -= 1
            limiter.leave(0)

        await asyncio.gather(*(call(number) for number in range(20)))
        return order, most

    order, most = asyncio.run(run())
    assert order == list(range(20))
    assert most == limit


def test_a_cancelled_call_leaves_the_line():
    async def run():
        limiter = RateLimiter({"concurrent_requests": 1}, asyncio.get_running_loop().time, asyncio.sleep)
        await limiter.enter()
        first = asyncio.create_task(limiter.enter())
        second = asyncio.create_task(limiter.enter())
        await asyncio.sleep(0)
        first.cancel()
        await asyncio.sleep(0)
        assert not second.done()
        limiter.leave(0)
        await asyncio.wait_for(second, 1)

    asyncio.run(run())


def test_waiting_is_no_part_of_timeout_or_latency(bench, finish):
    declared = {"box": {"provider": "offline", "rate_limit": {"requests_per_minute": 1}, "default_model": "m", "timeout": 5}}
    made = bench(["a", {"text": "b", "delay_ms": 2000}], declared)
    made.pool["box"].free_and_instant = False
    settings = call_settings("M", {}, {"log": {}}, made.connections["box"])
    first = finish(execute(made.services, settings, "p", run_id="1"))
    second = finish(execute(made.services, settings, "p", run_id="2"))
    assert made.slept == [60, 2]
    assert (first.latency_ms, second.latency_ms, second.text) == (0, 2000, "b")
    assert made.emits[1][1]["latency_ms"] == 2000


def test_a_retry_takes_part(bench, finish):
    declared = {"box": {"provider": "offline", "rate_limit": {"requests_per_minute": 1}, "default_model": "m"}}
    made = bench([{"error": "server"}, "done"], declared)
    settings = call_settings("M", {}, {}, made.connections["box"])
    assert finish(execute(made.services, settings, "p", run_id="1")).text == "done"
    assert made.slept == [0.5, 59.5]
