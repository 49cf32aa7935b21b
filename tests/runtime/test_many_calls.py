"""Many calls at once through the real SDKs over real sockets, on an event loop that is always late (G-15.3).

The clock is virtual: every turn of the loop takes `turn` seconds of it, and no turn waits.
"""

import asyncio
import json
from types import SimpleNamespace

import pytest
from concerto.runtime.access.secrets import Redactor
from concerto.runtime.connections import resolve
from concerto.runtime.errors import CallFailure
from concerto.runtime.providers import gate
from concerto.runtime.providers.anthropic import Anthropic
from concerto.runtime.providers.openai import OpenAIChat
from concerto.runtime.providers.patience import STEPS, Patience
from concerto.runtime.records import Msg, Request

OK = {
    "chat": {"model": "m", "choices": [{"finish_reason": "stop", "message": {"role": "assistant", "content": "yes"}}]},
    "anthropic": {"model": "m", "stop_reason": "end_turn", "content": [{"type": "text", "text": "yes"}]},
}
WIRES = {"chat": (OpenAIChat, {"provider": "custom"}), "anthropic": (Anthropic, {"provider": "anthropic", "api_key": "k"})}
each_wire = pytest.mark.parametrize("wire", ["chat", "anthropic"])


class LateLoop(asyncio.SelectorEventLoop):
    """Computes for `turn` virtual seconds in every turn; connects nobody while `unreachable`."""

    def __init__(self, turn):
        super().__init__()
        self.turn, self.clock = turn, 0.0
        self.unreachable = False
        self.connects = 0
        self.call_soon(self._compute)

    def time(self):
        return getattr(self, "clock", 0.0)

    def _compute(self):
        self.clock += self.turn
        self.call_soon(self._compute)

    async def sock_connect(self, sock, address):
        self.connects += 1
        if self.unreachable:
            await self.create_future()
        await super().sock_connect(sock, address)


class Server:
    """Answers every request once `expected` of them have come."""

    def __init__(self, wire, expected):
        self.body = json.dumps(OK[wire]).encode()
        self.expected = expected
        self.come = 0
        self.place = ""
        self.complete = asyncio.Event()

    async def answer(self, reader, writer):
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:] if line)
                await reader.readexactly(int(fields[b"content-length"]))
                self.come += 1
                if self.come >= self.expected:
                    self.complete.set()
                await self.complete.wait()
                writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % len(self.body) + self.body)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


def on_late_loop(turn, work):
    with asyncio.Runner(loop_factory=lambda: LateLoop(turn)) as runner:
        return runner.run(work())


async def exchange(wire, calls, use, expected=1, seconds=1e6):
    """What `use` finds out about `calls(n)`: the results of n calls at once of one provider."""
    answering = Server(wire, expected)
    listening = await asyncio.start_server(answering.answer, "127.0.0.1", 0, backlog=calls)
    answering.place = f"127.0.0.1:{listening.sockets[0].getsockname()[1]}"
    url = f"http://{answering.place}"
    make, fields = WIRES[wire]
    provider = make(resolve("lab", [{"lab": {**fields, "base_url": url}}]), {}, Redactor())

    async def send(number):
        request = Request(id=str(number), connection="lab", model="m", messages=[Msg("user", "hi")], timeout=seconds)
        return (await provider.send(request)).text

    async def all_of(count):
        return await asyncio.gather(*(send(number) for number in range(count)), return_exceptions=True)

    try:
        return await use(all_of, answering)
    finally:
        await provider.aclose()
        listening.close()


def test_three_hundred_at_once_all_connect():
    async def use(all_of, server):
        assert await all_of(300) == ["yes"] * 300
        assert server.come == 300

    on_late_loop(1.0, lambda: exchange("chat", 300, use))


@each_wire
def test_a_call_that_waits_for_its_reply_keeps_nobody_from_starting(wire, monkeypatch):
    monkeypatch.setattr(gate, "HELD_SECONDS", 1e6)
    calls = 3 * gate.AT_ONCE

    async def use(all_of, server):
        assert await all_of(calls) == ["yes"] * calls

    on_late_loop(0.01, lambda: exchange(wire, calls, use, expected=calls, seconds=60))


@each_wire
def test_who_cannot_be_reached_fails_and_keeps_nobody_from_starting(wire):
    calls = 3 * gate.AT_ONCE

    async def use(all_of, server):
        loop = asyncio.get_running_loop()
        loop.unreachable = True
        failures = await all_of(calls)
        assert loop.connects == calls
        assert {type(failure) for failure in failures} == {CallFailure}
        assert {(f.variant, f.message) for f in failures} == {("NetworkError", f"m: no connection to {server.place} within 5 s")}
        assert loop.clock < 2 * gate.CONNECT_SECONDS
        loop.unreachable = False
        assert await all_of(calls) == ["yes"] * calls

    on_late_loop(0.01, lambda: exchange(wire, calls, use, seconds=60))


def test_a_cancelled_call_gives_its_place_back(monkeypatch):
    monkeypatch.setattr(gate, "HELD_SECONDS", 1e6)
    calls = 2 * gate.AT_ONCE

    async def use(all_of, server):
        loop = asyncio.get_running_loop()
        loop.unreachable = True
        stuck = asyncio.ensure_future(all_of(calls))
        while loop.connects < gate.AT_ONCE:
            await asyncio.sleep(0)
        stuck.cancel()
        with pytest.raises(asyncio.CancelledError):
            await stuck
        assert loop.connects == gate.AT_ONCE
        loop.unreachable = False
        async with asyncio.timeout(100):
            assert await all_of(calls) == ["yes"] * calls

    on_late_loop(0.01, lambda: exchange("chat", calls, use))


async def turns(count):
    for _ in range(count):
        await asyncio.sleep(0)
    return "here"


def test_a_limit_counts_turns_when_the_loop_is_late():
    async def work():
        assert await Patience(1.0).waiting(turns(STEPS - 1)) == "here"
        with pytest.raises(TimeoutError):
            await Patience(1.0).waiting(turns(3 * STEPS))

    on_late_loop(10.0, work)


def test_a_limit_counts_time_when_the_loop_is_not():
    async def work():
        loop = asyncio.get_running_loop()
        patience = Patience(2.0)
        await patience.waiting(asyncio.sleep(0.5))
        await asyncio.sleep(5)  # what nobody waits for does not count
        started = loop.time()
        with pytest.raises(TimeoutError):
            await patience.waiting(asyncio.sleep(60))
        assert 1.4 < loop.time() - started < 1.7
        with pytest.raises(TimeoutError):
            await patience.waiting(asyncio.sleep(60))
        assert loop.time() - started < 1.7

    on_late_loop(0.001, work)


def test_a_request_behind_a_call_reports_to_nobody():
    sent = [SimpleNamespace(extensions={}) for _ in range(2)]

    async def run():
        narrow = gate.Gate()
        start = gate.Start(narrow, Patience(60))
        async with start:
            await narrow.watch(sent[0])
        await narrow.watch(sent[1])
        return start

    start = asyncio.run(run())
    assert [request.extensions for request in sent] == [{"trace": start.on_event}, {}]
