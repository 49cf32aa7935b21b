"""Limits of time by name, over real sockets and both real SDKs (O-1.212)."""

import asyncio
import json

import pytest
from concerto.runtime.access.secrets import Redactor
from concerto.runtime.connections import check_connections, resolve
from concerto.runtime.errors import CallFailure, ConfigFailure
from concerto.runtime.records import EmbedRequest, Msg, Request, TimeLimits

from ..servers.peer import head, listening
from .sdk_wires import OK, WIRES, all_wires, responses

EVENTS = head(kind="text/event-stream")


def data(value):
    return f"data: {json.dumps(value)}\n\n".encode()


def pieces(wire, count):
    """The beginning, the texts and the end of a streamed reply of `count` words."""
    words = ["x"] * count
    if wire == "chat":
        end = data({"choices": [{"delta": {}, "finish_reason": "stop"}]})
        return b"", [data({"choices": [{"delta": {"content": word}}]}) for word in words], end
    if wire == "responses":
        output = [{"type": "message", "content": [{"type": "output_text", "text": "".join(words)}]}]
        end = data({"type": "response.completed", "response": responses(output)})
        return b"", [data({"type": "response.output_text.delta", "delta": word}) for word in words], end
    block = {"index": 0}
    start = data({"type": "message_start", "message": {"model": "m"}})
    start += data({"type": "content_block_start", **block, "content_block": {"type": "text", "text": ""}})
    texts = [data({"type": "content_block_delta", **block, "delta": {"type": "text_delta", "text": word}}) for word in words]
    return start, texts, data({"type": "message_delta", "delta": {"stop_reason": "end_turn"}})


class Unconnected(asyncio.SelectorEventLoop):
    """Its connections never come about."""

    async def sock_connect(self, sock, address):
        await self.create_future()


def outcome(wire, url, timeout, stream=True, loop=None, embed=False):
    provider, fields = WIRES[wire]

    async def give(text):
        pass

    async def run():
        base = url if wire == "anthropic" else f"{url}/v1"
        made = provider(resolve("lab", [{"lab": {**fields, "base_url": base}}]), {}, Redactor())
        request = Request(id="r", connection="lab", model="m", messages=[Msg("user", "q")], timeout=timeout, stream=stream)
        try:
            if embed:
                return await made.embed(EmbedRequest("lab", "m", ["a"], timeout))
            return await (made.stream(request, give) if stream else made.send(request))
        except CallFailure as failure:
            return failure
        finally:
            await made.aclose()

    with asyncio.Runner(loop_factory=loop) as runner:
        return runner.run(run())


def over(failure):
    assert (failure.kind, failure.retry_class) == ("TimeoutError", "timeout"), failure.message
    return failure.fields["limit"], failure.fields["timeout_seconds"]


@all_wires
def test_a_stream_that_keeps_coming_is_not_ended(wire):
    start, texts, end = pieces(wire, 8)
    slowly = [EVENTS, start, *[part for text in texts for part in (0.1, text)], end]
    with listening(lambda request: slowly) as peer:
        assert outcome(wire, peer.url, 0.6).text == "x" * 8


@all_wires
@pytest.mark.parametrize("before", [[], [EVENTS]], ids=["no head", "head"])
def test_a_stream_that_does_not_begin(wire, before):
    with listening(lambda request: [*before, 3.0]) as peer:
        assert over(outcome(wire, peer.url, 0.3)) == ("first", 0.3)
        failure = outcome(wire, peer.url, {"first": 0.25, "idle": 60})
    assert over(failure) == ("first", 0.25)
    assert failure.message == "m: the stream did not begin within 0.25 s (timeout `first`)"


@all_wires
def test_a_stream_that_stops(wire):
    start, texts, _ = pieces(wire, 2)
    with listening(lambda request: [EVENTS, start, *texts, 3.0]) as peer:
        assert over(outcome(wire, peer.url, 0.3)) == ("idle", 0.3)
        failure = outcome(wire, peer.url, {"idle": 0.25})
    assert over(failure) == ("idle", 0.25)
    assert failure.message == "m: nothing came of the stream for 0.25 s (timeout `idle`)"


@all_wires
def test_a_stream_that_does_not_end(wire):
    start, texts, _ = pieces(wire, 60)
    with listening(lambda request: [EVENTS, start, *[part for text in texts for part in (0.05, text)]]) as peer:
        failure = outcome(wire, peer.url, {"total": 0.5, "idle": 1})
    assert over(failure) == ("total", 0.5)
    assert failure.message == "m: the stream did not end within 0.5 s (timeout `total`)"


@all_wires
def test_a_whole_reply(wire):
    body = json.dumps(OK[wire]).encode()
    with listening(lambda request: [head(), 0.4, body[:20], 0.2, body[20:]]) as peer:
        assert outcome(wire, peer.url, {"first": 0.1, "idle": 0.1}, stream=False).text == "hello"
        failure = outcome(wire, peer.url, {"total": 0.3}, stream=False)
        assert over(failure) == ("total", 0.3)
        assert failure.message == "m: no reply within 0.3 s (timeout `total`)"
        failure = outcome(wire, peer.url, 0.3, stream=False)
        assert failure.message == "m: no reply within 0.3 s"
        if wire != "anthropic":
            assert over(outcome(wire, peer.url, {"total": 0.3}, embed=True)) == ("total", 0.3)


@all_wires
@pytest.mark.parametrize("stream", [True, False])
def test_connecting(wire, stream):
    failure = outcome(wire, "http://127.0.0.1:9", {"connect": 0.2}, stream, loop=Unconnected)
    assert (failure.kind, failure.variant, failure.retry_class) == ("ConnectionError", "NetworkError", "connection")
    assert failure.message == "m: no connection to 127.0.0.1:9 within 0.2 s (timeout `connect`)"


def test_what_a_value_means():
    one, named = TimeLimits(90), TimeLimits({"idle": 5})
    assert (one.connect, one.first, one.idle, one.total, one.call) == (5, 90, 90, 600, 90)
    assert TimeLimits(900).total == 900
    assert (named.connect, named.first, named.idle, named.total, named.call) == (5, 60, 5, 600, 600)


REFUSED = [{"first": 0}, {"firts": 1}, {"idle": "1"}, {"total": True}, {"total": float("inf")}, [1], "1", 0]


@pytest.mark.parametrize("timeout", REFUSED, ids=str)
def test_what_a_host_may_not_set(timeout):
    with pytest.raises(ConfigFailure) as refused:
        check_connections([{"lab": {"timeout": timeout}}])
    assert refused.value.code == ("E4001" if timeout == {"firts": 1} else "E4004") and "timeout" in refused.value.message
