"""Handles of calls: listeners, answers and an end of their own (O-9.47)."""

from __future__ import annotations

import asyncio
import gc
import threading
from typing import Any

import concerto
import pytest
from concerto.api.json_calls import Misfitting

PROGRAM = concerto.compile("""
    memory log: Memory = Memory::new();
    pub async fn tokens(n: Int, wait: Int = 1) -> Int {
        for i in 0..n { emit("token", i); std::time::sleep(wait); }
        n
    }
    pub async fn ask(q: String) -> Result<Bool, EmitError> { let ok: Bool = await emit("approve", q)?; Ok(ok) }
    pub fn forever() { emit("running", nil); loop { } }
    model M { provider: offline, memory: log }
    pub fn remember() { let _r = M.execute("x"); }
    pub fn fails() -> Result<Int, Error> { emit("token", 1); throw "no" }
""")


def test_emits_reach_the_listeners_of_their_call_alone() -> None:
    """Two clients of one session: the second one got events of the first."""

    async def client(session: concerto.Session, n: int) -> tuple[list[Any], list[Any], Any]:
        async with session.start("tokens", n) as call:
            heard: list[Any] = []
            call.on("token", heard.append)
            streamed = [emit.payload async for emit in call]
            return heard, streamed, await call

    async def both() -> list[Any]:
        async with PROGRAM.session() as session:
            every: list[Any] = []
            session.on("token", every.append)
            found = await asyncio.gather(client(session, 9), client(session, 2))
            assert every == [*range(9), 0, 1]
            return list(found)

    assert asyncio.run(both()) == [([*range(n)], [*range(n)], n) for n in (9, 2)]


def test_emits_come_while_the_call_runs() -> None:
    async def run() -> bool:
        async with PROGRAM.session() as session, session.start("tokens", 3, wait=20) as call:
            async for emit in call:
                assert emit == concerto.Emit("token", 0)
                return call.done
        raise AssertionError

    assert asyncio.run(run()) is False


def test_each_iteration_gets_every_emit() -> None:
    """Of two at the same time, and of one that begins when the call has ended."""

    async def run() -> list[list[Any]]:
        async with PROGRAM.session() as session, session.start("tokens", 3, wait=5) as call:

            async def payloads() -> list[Any]:
                return [emit.payload async for emit in call]

            found = await asyncio.wait_for(asyncio.gather(payloads(), payloads()), 20)
            return [*found, await payloads()]

    assert asyncio.run(run()) == [[0, 1, 2]] * 3


def test_an_iteration_that_is_left_does_not_disturb_the_other() -> None:
    async def run() -> list[Any]:
        async with PROGRAM.session() as session, session.start("tokens", 4, wait=5) as call:

            async def payloads() -> list[Any]:
                return [emit.payload async for emit in call]

            async def first() -> Any:
                async for emit in call:
                    return emit.payload

            left = asyncio.ensure_future(payloads())
            whole = asyncio.ensure_future(payloads())
            assert await first() == 0
            left.cancel()
            return await asyncio.wait_for(whole, 20)

    assert asyncio.run(run()) == [0, 1, 2, 3]


def test_cancel_ends_this_call_only() -> None:
    async def run() -> list[Any]:
        async with PROGRAM.session() as session:
            first, second, third = (session.start("tokens", n, wait=30) for n in (100, 101, 2))
            async for _ in first:
                break
            second.cancel()  # it waits for its turn
            first.cancel()
            ended = await asyncio.gather(first, second, third, return_exceptions=True)
            first.cancel()  # over long ago
            return [*ended, await session.start("tokens", 1)]

    first, second, third, last = asyncio.run(run())
    for ended in (first, second):
        assert isinstance(ended, concerto.ProgramError) and (ended.error.kind, ended.error.variant) == ("TaskError", "Cancelled")
    assert (third, last) == (2, 1)


def test_cancel_after_the_end_does_nothing_in_a_closed_loop_too() -> None:
    with PROGRAM.session() as session:
        ended = session.start("tokens", 2)
        assert ended.result() == 2
        ended.cancel()
    ended.cancel()
    assert ended.done

    async def begun() -> concerto.Call:
        async with PROGRAM.session() as session:
            call = session.start("tokens", 1)
            assert await call == 1
            return call

    asyncio.run(begun()).cancel()


def test_cancel_from_another_thread_ends_a_program_that_computes() -> None:
    with PROGRAM.session() as session:
        call = session.start("forever")
        call.on("running", lambda _: threading.Timer(0.05, call.cancel).start())
        with pytest.raises(concerto.ProgramError, match="TaskError::Cancelled"):
            call.result()
        call.cancel()
        assert session.start("tokens", 2).result() == 2


def test_a_late_cancel_does_not_meet_the_next_call() -> None:
    with PROGRAM.session() as session:
        for _ in range(50):
            call = session.start("tokens", 0)
            threading.Thread(target=call.cancel).start()
            try:
                assert call.result() == 0
            except concerto.ProgramError as error:
                assert error.error.variant == "Cancelled"
            assert session.call("tokens", 0) == 0


def test_cancelling_the_task_that_awaits_ends_the_call() -> None:
    async def run() -> Any:
        async with PROGRAM.session() as session:
            for form in (session.acall, session.start):
                with pytest.raises(TimeoutError):
                    async with asyncio.timeout(0.02):
                        await form("tokens", 1000)
            return await session.acall("tokens", 1)

    assert asyncio.run(run()) == 1


def test_leaving_a_call_ends_it() -> None:
    async def run() -> Any:
        async with PROGRAM.session() as session:
            async with session.start("tokens", 1000) as call:
                pass
            assert call.done
            return await session.acall("tokens", 1)

    assert asyncio.run(run()) == 1


def test_answers_of_a_call_come_before_those_of_the_session() -> None:
    async def run() -> list[Any]:
        async with PROGRAM.session() as session:
            session.on_emit("approve", lambda q: False)
            one, other = session.start("ask", "a"), session.start("ask", "b")
            one.on_emit("approve", lambda q: True)
            return [await one, await other]

    assert asyncio.run(run()) == [True, False]


def test_an_answer_that_does_not_fit_is_an_error_of_the_program() -> None:
    """A4: it was panic P007, which nothing catches."""
    with PROGRAM.session() as session:
        session.on_emit("approve", lambda q: "yes")
        with pytest.raises(concerto.ProgramError, match="the answer on approve: expected Bool, found String") as caught:
            session.call("ask", "x")
        assert (caught.value.error.kind, caught.value.error.variant) == ("EmitError", "WrongAnswer")


def test_a_failed_call_raises_where_it_is_awaited() -> None:
    async def run() -> None:
        async with PROGRAM.session() as session:
            call = session.start("fails")
            assert [emit.payload async for emit in call] == [1]
            with pytest.raises(concerto.ProgramError, match="no"):
                await call

    asyncio.run(run())
    with PROGRAM.session() as session:
        with pytest.raises(ValueError, match="no public function"):
            session.start("nope")
        with pytest.raises(TypeError, match="expected Int"):
            session.start("tokens", "x")
        with pytest.raises(TypeError, match="expected a function"):
            session.start("tokens", 1).on("token", 5)


def test_a_call_hears_memories() -> None:
    with PROGRAM.session(offline=True) as session:
        call, heard = session.start("remember"), []
        call.on("memory:commit", heard.append)
        call.result()
        assert len(heard) == 1 and not session._hears()


def test_a_call_that_nobody_runs_is_forgotten() -> None:
    with PROGRAM.session() as session:
        call = session.start("tokens", 1)
        call.on("*", print)
        assert len(session._calls) == 1
        del call
        gc.collect()
        assert len(session._calls) == 0


def test_json_that_is_nested_too_deep_is_refused_before_a_call_and_in_it() -> None:
    deep: list[Any] = []
    for _ in range(300):
        deep = [deep]
    with concerto.compile("pub fn same(x: Any) -> Any { x }").session() as session:
        for refused in (session.require_arguments, lambda name, data: session.start_json(name, data).result()):
            with pytest.raises(Misfitting, match="argument 'x' of same: nesting limit exceeded"):
                refused("same", {"x": deep})
