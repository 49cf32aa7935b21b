"""Budgets of what models use: per call, per session, shared; counters, budgets and the server's own count agree (O-9.48)."""

from __future__ import annotations

import asyncio
import json
import threading
import urllib.request
from pathlib import Path
from typing import Any

import concerto
import pytest

from ..servers.aimock import needs_aimock, serving
from .counting_server import Counting

WIRES = {"chat": {"provider": "openai", "api": "chat"}, "anthropic": {"provider": "anthropic"}}
PROGRAM = concerto.compile("""
    connect lab { provider: "openai", base_url: "http://127.0.0.1:9/v1" }
    model M { provider: lab, base: "m", max_tokens: 40, timeout: 20, retry_policy: { max_attempts: 1 } }
    model Retried { provider: lab, base: "m", max_tokens: 40, retry_policy: { max_attempts: 3, initial_delay_ms: 1 } }
    hashmap kept: HashMap<Int, String> = HashMap::new();

    pub fn ask(text: String) -> Result<String, AgentError> { Ok(M.execute(text)?.text) }
    pub fn again(text: String) -> Result<String, AgentError> { Ok(Retried.execute(text)?.text) }
    pub fn tell(text: String, most: Int = 100) -> Result<Int, AgentError> {
        let mut n = 0;
        for chunk in M.stream(text)? { n += 1; if n == most { break; } }
        Ok(n)
    }
    pub fn work(n: Int) -> String {
        for i in 0..n {
            match M.execute("document ${i}") {
                Ok(r) => kept.set(i, r.text),
                Err(BudgetError { variant, .. }) => { return "${kept.len()} kept, ${variant}, ${left()} left"; }
                Err(e) => { return e.message; }
            }
        }
        "all"
    }
    pub fn left() -> Int { std::budget::left().tokens ?? -1 }
    pub fn counts() -> Array<Int> { let u = std::usage::spent(); [u.attempts, u.tokens_in + u.tokens_out] }
    pub fn told(text: String) -> Array<Int> { let _r = tell(text); let u = std::usage::last(); [u.attempts, u.tokens_in] }
""")
PRICES = {"m": {"input_per_million": 1_000_000.0, "output_per_million": 1_000_000.0}}  # a token costs 1


@pytest.fixture(name="server")
def _server() -> Any:
    with Counting() as server:
        yield server


def opened(server: Counting, wire: str = "chat", **options: Any) -> concerto.Session:
    url = server.url if wire == "chat" else server.url.removesuffix("/v1")
    connections = {"lab": {**WIRES[wire], "base_url": url, "api_key": "k"}}
    return PROGRAM.session(connections=connections, env={}, pricing=PRICES, **options)


def test_a_budget_holds_over_twenty_calls(server: Counting) -> None:
    """It began anew with each call."""
    with opened(server, budgets=concerto.Budgets(tokens=200)) as session:
        refused = 0
        for number in range(20):
            try:
                session.call("ask", f"question {number}")
            except concerto.ProgramError as error:
                assert (error.error.kind, error.error.variant) == ("BudgetError", "Tokens")
                refused += 1
        metrics = session.metrics()
        assert metrics.total_tokens == server.settled(20 - refused) == 200 - session.call("left")
        assert metrics.model_calls == 20 - refused and refused > 0 and metrics.total_tokens > 150
        assert metrics.estimated_cost == metrics.total_tokens and metrics.tokens_estimated == 0
        assert session.call("counts") == [0, 0]  # of this call


def test_budgets_of_a_call_begin_anew(server: Counting) -> None:
    each, all_ = concerto.Budgets(model_calls=2, per="call"), concerto.Budgets(tokens=10_000, model_calls=5)
    with opened(server, budgets=[each, all_]) as session:
        kinds = [session.call("work", 3) for _ in range(3)]
        assert kinds[0] == "2 kept, ModelCalls, 9960 left" or kinds[0].startswith("2 kept, ModelCalls")
        assert session.metrics().model_calls == 5 == len(server.noted)  # 2, 2, and 1 that the session had left


def test_a_program_that_meets_its_budget_saves_what_it_has(server: Counting) -> None:
    """40 paid documents were lost to a panic."""
    with opened(server, budgets=concerto.Budgets(tokens=1_000)) as session:
        assert session.call("work", 200) == f"{len(server.noted)} kept, Tokens, {1_000 - server.tokens} left"
        assert len(server.noted) > 40


@pytest.mark.parametrize("wire", WIRES)
def test_what_broke_is_counted_as_the_server_counts(server: Counting, wire: str) -> None:
    """12 broken streams and cancelled calls left every counter at 0."""

    async def run() -> None:
        budgets = concerto.Budgets(tokens=100_000, cost=100_000.0)
        async with opened(server, wire, budgets=budgets) as session:
            for _ in range(4):  # the connection breaks after three pieces
                with pytest.raises(concerto.ProgramError):
                    await session.acall("tell", "cut")
            for _ in range(4):  # the program leaves
                assert await session.acall("tell", "long", 3) == 3
            for task in (False, True, False, True):  # the host does, while a stream or a reply is on its way
                for function, text in (("tell", "long"), ("ask", "slow")):
                    server.reached.clear()
                    call = session.start(function, text)
                    awaited = asyncio.ensure_future(_ended(call))
                    await asyncio.to_thread(server.reached.wait, 10)
                    await asyncio.sleep(0.05)  # the last piece is on its way too
                    awaited.cancel() if task else call.cancel()
                    await asyncio.wait([awaited])
            with pytest.raises(concerto.ProgramError, match="it broke"):
                await session.acall("again", "fails")
            assert await session.acall("tell", "whole") == 8
            assert await session.acall("ask", "fine") == "fine"
            tokens = await asyncio.to_thread(server.settled, 21)
            metrics, left = session.metrics(), await session.acall("left")
            assert metrics.total_tokens == tokens == 100_000 - left
            assert metrics.estimated_cost == tokens and metrics.tokens_by_model == {"m": tokens}
            assert metrics.model_calls == 21 == len(server.noted)
            assert 0 < metrics.tokens_estimated < tokens

    asyncio.run(run())


async def _ended(call: concerto.Call) -> None:
    try:
        await call
    except concerto.ProgramError as error:
        assert error.error.variant == "Cancelled"


@needs_aimock
def test_an_independent_server_reports_what_is_counted(tmp_path: Path) -> None:
    """What it says of one reply, asked without Concerto, is what each of three calls counts, plain and streamed."""
    said = {"content": "good day to you", "usage": {"prompt_tokens": 23, "completion_tokens": 9, "total_tokens": 32}}
    with serving([{"match": {"userMessage": "hello"}, "response": said}], tmp_path) as url:
        body = {"model": "m", "messages": [{"role": "user", "content": "hello"}]}
        kind = {"content-type": "application/json"}
        request = urllib.request.Request(f"{url}/v1/chat/completions", json.dumps(body).encode(), kind)
        with urllib.request.urlopen(request, timeout=10) as answer:
            one = json.load(answer)["usage"]["total_tokens"]
        assert one > 0
        connections = {"lab": {**WIRES["chat"], "base_url": f"{url}/v1", "api_key": "k"}}
        with PROGRAM.session(connections=connections, env={}, budgets=concerto.Budgets(tokens=1_000)) as session:
            for function in ("ask", "tell", "ask"):
                session.call(function, "hello")
            assert session.metrics().total_tokens == 3 * one == 1_000 - session.call("left")


def test_what_a_provider_has_told_counts(server: Counting) -> None:
    """Of a cut stream on this wire the input stands at its beginning."""
    with opened(server, "anthropic") as session:
        assert session.call("told", "told cut") == [1, 7]
        assert session.metrics().total_tokens == server.settled(1)


def test_a_provider_that_is_not_there_uses_nothing() -> None:
    connections = {"lab": {**WIRES["chat"], "base_url": "http://127.0.0.1:9/v1", "api_key": "k"}}
    with PROGRAM.session(connections=connections, env={}, budgets=concerto.Budgets(tokens=50)) as session:
        for _ in range(3):
            with pytest.raises(concerto.ProgramError, match="NetworkError"):
                session.call("ask", "q")
        metrics = session.metrics()
        assert (metrics.total_tokens, metrics.model_calls, session.call("left")) == (0, 3, 50)


@pytest.mark.parametrize("threads", [True, False])
def test_three_sessions_share_a_budget(server: Counting, threads: bool) -> None:
    shared = concerto.SharedBudget(tokens=600, cost=5_000.0)
    sessions = [opened(server, budgets=[concerto.Budgets(tokens=5_000), shared]) for _ in range(3)]
    said: list[str] = []

    def one(session: concerto.Session) -> None:
        with session:
            said.append(session.call("work", 100))

    async def every() -> None:
        said.extend(await asyncio.gather(*(session.acall("work", 100) for session in sessions)))
        for session in sessions:
            await session.aclose()

    if threads:
        workers = [threading.Thread(target=one, args=(session,)) for session in sessions]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join(60)
    else:
        asyncio.run(every())
    assert len(said) == 3 and all("Tokens" in text for text in said)
    used = sum(session.metrics().total_tokens for session in sessions)
    assert used == server.tokens == shared.used().tokens == shared.used().cost and shared.used().model_calls == len(server.noted)
    assert shared.left().tokens == 600 - used < 60 and shared.left().model_calls is None
    assert sum(int(text.split()[0]) for text in said) == len(server.noted)


def test_a_cancelled_call_gives_a_shared_budget_back(server: Counting) -> None:
    async def run() -> None:
        shared = concerto.SharedBudget(tokens=100)
        async with opened(server, budgets=shared) as one, opened(server, budgets=shared) as other:
            first = one.start("ask", "slow")  # 46 of 100 are reserved
            await asyncio.to_thread(server.reached.wait, 10)
            second, third = other.start("ask", "a"), None
            assert await second == "fine"
            third = other.start("ask", "a rather long question, which needs what the first one has reserved, so that it waits")
            await asyncio.sleep(0.1)
            assert not third.done
            first.cancel()
            with pytest.raises(concerto.ProgramError, match="BudgetError"):
                await third  # a cancelled request has used what it might
            assert shared.used().tokens == await asyncio.to_thread(server.settled, 2)

    asyncio.run(run())


def test_a_state_carries_what_was_used(server: Counting) -> None:
    with opened(server, budgets=concerto.Budgets(tokens=1_000)) as one:
        one.call("ask", "a")
        left, state = one.call("left"), one.dump()
        one.call("ask", "b")
        less = one.call("left")
        one.restore(state)  # going back gives nothing back
        assert one.call("left") == less < left < 1_000
    with opened(server, budgets=concerto.Budgets(tokens=1_000)) as other:
        other.restore(state)
        assert other.call("left") == left
        assert other.metrics().total_tokens == 0  # counters are the session's own


@pytest.mark.parametrize(
    ("wrong", "part"),
    [
        (lambda: concerto.Budgets(per="day"), "per 'day'"),  # type: ignore[arg-type]
        (lambda: concerto.Budgets(model_calls=0), "model_calls is 0"),
        (lambda: concerto.SharedBudget(tokens=0), "tokens is 0"),
        (lambda: PROGRAM.session(budgets=[1]), "a list of them"),  # type: ignore[list-item]
    ],
)
def test_wrong_budgets(wrong: Any, part: str) -> None:
    with pytest.raises(ValueError, match=part):
        wrong()
