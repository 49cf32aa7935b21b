"""Streams of the real SDKs over a fake HTTP layer: pieces as they come, the whole reply at the end, and what cuts it."""

import asyncio
import json
import time

import httpx2
import pytest
from concerto.runtime.access.secrets import Redactor
from concerto.runtime.connections import resolve
from concerto.runtime.errors import CallFailure
from concerto.runtime.providers.anthropic import Anthropic
from concerto.runtime.providers.json_fields import Fields, joined, merge
from concerto.runtime.providers.openai import OpenAIChat, OpenAIResponses
from concerto.runtime.records import Msg, Request

WIRES = {
    "chat": (OpenAIChat, {"provider": "openai", "api": "chat", "api_key": "sk-secret"}),
    "responses": (OpenAIResponses, {"provider": "openai", "api": "responses", "api_key": "sk-secret"}),
    "anthropic": (Anthropic, {"provider": "anthropic", "api_key": "sk-secret"}),
}


def delta(index=0, finish=None, **parts):
    return {"model": "real-1", "choices": [{"index": index, "delta": parts, "finish_reason": finish}]}


def block(kind, **parts):
    return {"type": f"content_block_{kind}", "index": 0, **parts}


RESPONSE = {
    "model": "real-1", "status": "completed", "usage": {"input_tokens": 5, "output_tokens": 2},
    "output": [{"type": "message", "content": [{"type": "output_text", "text": "hello"}]}],
}  # fmt: skip
EVENTS = {
    "chat": [
        delta(role="assistant", content=""),
        delta(content="hel"),
        delta(content="lo"),
        delta(finish="stop"),
        {"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 2}},
    ],
    "responses": [
        {"type": "response.created", "response": {}},
        {"type": "response.output_text.delta", "delta": "hel"},
        {"type": "response.output_text.delta", "delta": "lo"},
        {"type": "response.completed", "response": RESPONSE},
    ],
    "anthropic": [
        {"type": "message_start", "message": {"model": "real-1", "content": [], "usage": {"input_tokens": 5}}},
        block("start", content_block={"type": "text", "text": ""}),
        block("delta", delta={"type": "text_delta", "text": "hel"}),
        block("delta", delta={"type": "text_delta", "text": "lo"}),
        block("stop"),
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}},
        {"type": "message_stop"},
    ],
}
CALLS = {
    "chat": [
        delta(tool_calls=[{"index": 0, "id": "c1", "function": {"name": "T__m", "arguments": '{"a"'}}]),
        delta(tool_calls=[{"index": 0, "function": {"arguments": ": 1}"}}], finish="tool_calls"),
    ],
    "anthropic": [
        {"type": "message_start", "message": {"model": "real-1", "content": []}},
        block("start", content_block={"type": "tool_use", "id": "c1", "name": "T__m", "input": {}}),
        block("delta", delta={"type": "input_json_delta", "partial_json": '{"a"'}),
        block("delta", delta={"type": "input_json_delta", "partial_json": ": 1}"}),
        block("stop"),
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}},
    ],
}
FAILED = {
    "chat": {"error": {"message": "it broke"}},
    "responses": {"type": "response.failed", "response": {"error": {"message": "it broke"}}},
    "anthropic": {"type": "error", "error": {"message": "it broke"}},
}
every_wire = pytest.mark.parametrize("wire", WIRES)


def streamed(wire, events, status=200):
    """The pieces, the reply and the request of one streamed request."""
    provider, fields = WIRES[wire]
    seen, pieces = [], []
    body = "".join(f"data: {json.dumps(event)}\n\n" for event in events).encode()

    def handle(request):
        seen.append(json.loads(request.content))
        return httpx2.Response(status, content=body, headers={"content-type": "text/event-stream"})

    async def give(text):
        pieces.append(text)

    async def run():
        client = httpx2.AsyncClient(transport=httpx2.MockTransport(handle))
        made = provider(resolve("lab", [{"lab": fields}]), {}, Redactor(), client)
        request = Request(id="r", connection="lab", model="m-1", messages=[Msg("user", "hi")], stream=True)
        try:
            return await made.stream(request, give)
        finally:
            await made.aclose()

    try:
        return pieces, asyncio.run(run()), seen[0]
    except CallFailure as failure:
        return pieces, failure, seen[0]


@every_wire
def test_pieces_and_the_whole_reply(wire):
    pieces, reply, sent = streamed(wire, EVENTS[wire])
    assert pieces == ["hel", "lo"]
    assert (reply.text, reply.finish, reply.model, reply.tokens_in, reply.tokens_out) == ("hello", "stop", "real-1", 5, 2)
    assert sent["stream"] is True


@pytest.mark.parametrize("wire", CALLS)
def test_calls_are_put_together(wire):
    pieces, reply, _ = streamed(wire, CALLS[wire])
    assert (pieces, reply.finish) == ([], "tool")
    assert [(call.id, call.name, call.arguments) for call in reply.calls] == [("c1", "T__m", {"a": 1})]


@pytest.mark.parametrize("wire", CALLS)
def test_arguments_that_are_cut_off_stay_as_they_came(wire):
    at = 1 if wire == "chat" else 3
    events = [event for number, event in enumerate(CALLS[wire]) if number != at]
    if wire == "chat":
        events.append(delta(finish="tool_calls"))
    _, reply, _ = streamed(wire, events)
    assert [(call.id, call.arguments, call.text) for call in reply.calls] == [("c1", None, '{"a"')]


@pytest.mark.parametrize("wire", CALLS)
def test_an_empty_object_is_one(wire):
    def emptied(event):
        return json.loads(json.dumps(event).replace(r'{\"a\"', "{").replace(r": 1}", "}"))

    _, reply, _ = streamed(wire, [emptied(event) for event in CALLS[wire]])
    assert [call.arguments for call in reply.calls] == [{}]


@every_wire
def test_an_error_event_cuts_the_stream(wire):
    pieces, failure, _ = streamed(wire, [*EVENTS[wire][:3], FAILED[wire]])
    assert pieces[0] == "hel"
    assert (failure.variant, "it broke" in failure.message) == ("InvalidResponse", True)


@every_wire
def test_a_stream_without_its_end_is_no_reply(wire):
    _, failure, _ = streamed(wire, EVENTS[wire][:3])
    says = {"chat": "the reply has no finish_reason", "anthropic": "the reply has no stop_reason"}
    assert failure.variant == "InvalidResponse"
    assert failure.message == f"m-1: {says.get(wire, 'the stream ended before its reply')}"
    assert streamed(wire, [])[1].message == "m-1: the stream has no events"


@every_wire
def test_a_status_is_what_it_is_elsewhere(wire):
    _, failure, _ = streamed(wire, [], status=429)
    assert (failure.variant, failure.retry_class) == ("RateLimited", "rate_limit")


def test_a_refusal_comes_in_pieces_too():
    events = [delta(role="assistant"), delta(refusal="I can"), delta(refusal="not"), delta(finish="stop")]
    pieces, failure, _ = streamed("chat", events)
    assert (pieces, failure.kind, failure.variant) == ([], "AgentError", "ContentFiltered") and "I cannot" in failure.message


def test_arguments_of_very_many_pieces():
    """Each piece costs the same, however many came before it."""
    stream = OpenAIChat(resolve("lab", [{"lab": WIRES["chat"][1]}]), {}, Redactor()).growing()
    began = time.perf_counter()
    for number in range(100_000):
        name = {"name": "lookup"} if not number else {}
        stream.take(Fields(delta(tool_calls=[{"index": 0, "id": "c", "function": {**name, "arguments": "ab"}}])))
    assert time.perf_counter() - began < 8
    stream.take(Fields(delta(finish="tool_calls")))
    (call,) = stream.whole().records("choices")[0].record("message").records("tool_calls")
    assert call.record("function").data == {"name": "lookup", "arguments": "ab" * 100_000}


def test_a_stream_with_very_many_unknown_elements():
    """Each piece looks for its element, and not at those before it."""
    whole = {}
    began = time.perf_counter()
    for number in [*range(20_000), *range(20_000)]:
        merge(whole, {"parts": [{"index": number, "text": "a"}], "plain": [number]})
    plain = joined(whole)
    assert time.perf_counter() - began < 5
    assert plain["parts"][19_999] == {"index": 19_999, "text": "aa"} and len(plain["parts"]) == 20_000
    assert plain["plain"] == [*range(20_000), *range(20_000)]
