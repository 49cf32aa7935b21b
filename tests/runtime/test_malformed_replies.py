"""Replies, events and usage reports that are not what their API documents, through both real SDKs (G-9.7, G-9.8, O-1.105)."""

import asyncio
import json

import concerto
import httpx2
import pytest
from concerto.runtime.errors import CallFailure
from concerto.runtime.host import Host
from concerto.runtime.records import Msg, Request
from concerto.runtime.session.session import Session
from concerto.vm.interp.link import load_bytes

from .sdk_wires import OK, Wire, all_wires, anthropic, chat, responses


def event(**parts):
    return {"choices": [{"index": 0, "delta": parts, "finish_reason": None}]}


def call(index, **function):
    return event(tool_calls=[{"index": index, "id": "c", "function": function or []}])


def start(**parts):
    return {"type": "message_start", "message": {"model": "m", "content": [], **parts}}


def delta(**parts):
    return {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", **parts}}


STOP = {"choices": [{"delta": {}, "finish_reason": "stop"}]}
BLOCK = {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
CITED = {"type": "content_block_delta", "index": 0, "delta": {"type": "citations_delta", "citation": {}}}
END = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}}
STREAMS = [
    ("chat", [{"choices": 5}], "choices is a number, not a list"),
    ("chat", [{"choices": [5]}], "choices[0] is a number, no object"),
    ("chat", [{"choices": [{}]}], "choices[0] has no delta"),
    ("chat", [event(content=5)], "choices[0].delta.content is a number, not a text"),
    ("chat", [call(-3, name="x")], "choices[0].delta.tool_calls[0].index is below 0"),
    ("chat", [call(1, name="x")], "the calls of the stream are out of order"),
    ("chat", [call(True, name="x")], "choices[0].delta.tool_calls[0].index is a Bool, not a number"),
    ("chat", [call(0)], "choices[0].delta.tool_calls[0].function is a list, no object"),
    ("chat", [{**event(content="x"), "model": 5}, STOP], "model is a number, not a text"),
    ("chat", [[]], "the reply is a list, no object"),
    ("responses", [{"type": "response.completed", "response": []}], "response is a list, not an object"),
    ("responses", [{"type": "response.failed", "response": 5}], "the stream ended in an error"),
    (
        "responses", [{"type": "response.completed", "response": responses(output=[5])}],
        "response.output[0] is a number, no object",
    ),
    (
        "responses",
        [{"type": "response.output_text.delta", "delta": "hellO"}, {"type": "response.completed", "response": responses()}],
        "the pieces of the stream are not the text of its end",
    ),
    ("anthropic", [delta(text="x")], "an event of the stream is about another content block than the one before it"),
    ("anthropic", [start(), BLOCK, BLOCK], "the content blocks of the stream are out of order"),
    ("anthropic", [start(), BLOCK, delta(text=[])], "delta.text is a list, not a text"),
    ("anthropic", [start(), {**END, "delta": {"stop_reason": {}}}], "stop_reason is an object, not a text"),
    ("anthropic", [start(), BLOCK, delta(text="x")], "the reply has no stop_reason"),
    (
        "anthropic", [start(), {**BLOCK, "content_block": {"type": "text", "text": "", "citations": 5}}, CITED],
        "a content block.citations is a number, not a list",
    ),
]  # fmt: skip
REPLIES = [
    ("chat", chat(finish=[]), "choices[0].finish_reason is a list, not a text"),
    ("chat", chat(finish=None), "the reply has no finish_reason"),
    ("chat", chat({"refusal": 5}), "choices[0].message.refusal is a number, not a text"),
    ("chat", chat({"tool_calls": {}}), "choices[0].message.tool_calls is an object, not a list"),
    ("responses", responses(status=["completed"]), "status is a list, not a text"),
    ("responses", responses(status="incomplete", incomplete_details=5), "incomplete_details is a number, no object"),
    ("anthropic", anthropic(stop_reason={}), "stop_reason is an object, not a text"),
    ("anthropic", anthropic(model=5), "model is a number, not a text"),
    ("anthropic", anthropic(content=[[]]), "content[0] is a list, no object"),
]


def failure_of(wire, answer, stream=False):
    request = Request(id="r", connection="lab", model="m-1", messages=[Msg("user", "hi")], stream=stream)
    sender = Wire(wire, answer)

    async def give(text):
        pass

    async def run():
        with pytest.raises(CallFailure) as raised:
            await (sender.provider.stream(request, give) if stream else sender.provider.send(request))
        await sender.provider.aclose()
        return raised.value

    return asyncio.run(run())


def streamed(events):
    body = "".join(f"data: {json.dumps(each)}\n\n" for each in events)
    return httpx2.Response(200, content=body.encode(), headers={"content-type": "text/event-stream"})


@pytest.mark.parametrize(("wire", "events", "why"), STREAMS)
def test_events(wire, events, why):
    failure = failure_of(wire, lambda request: streamed(events), stream=True)
    assert (failure.kind, failure.variant, failure.retry_class) == ("AgentError", "InvalidResponse", None)
    assert failure.message == f"m-1: {why}"


@pytest.mark.parametrize(("wire", "answer", "why"), REPLIES)
def test_replies(wire, answer, why):
    failure = failure_of(wire, answer)
    assert (failure.kind, failure.variant, failure.retry_class) == ("AgentError", "InvalidResponse", None)
    assert failure.message == f"m-1: {why}"


COUNTERS = {
    "chat": ("prompt_tokens", "completion_tokens"), "responses": ("input_tokens", "output_tokens"),
    "anthropic": ("input_tokens", "output_tokens"),
}  # fmt: skip
UNSOUND = [-1, -1_000_000, 2**31, 2**63, 2**80, 10**300, 0.5, 5.0, True, "5", [], {}]


@all_wires
@pytest.mark.parametrize("value", UNSOUND, ids=str)
def test_a_counter_that_counts_nothing(wire, value):
    """The whole report is as if it were missing."""
    counted, other = COUNTERS[wire]
    reply = Wire(wire, OK[wire] | {"usage": {counted: value, other: 3}}).send()
    assert (reply.tokens_in, reply.tokens_out, reply.reports) == (0, 0, (False, False))
    details = {"chat": "completion_tokens_details", "responses": "output_tokens_details"}.get(wire)
    if details is not None:
        reply = Wire(wire, OK[wire] | {"usage": {counted: 5, other: 3, details: {"reasoning_tokens": value}}}).send()
        assert (reply.tokens_in, reply.reasoning, reply.reports) == (0, 0, (False, False))


@all_wires
def test_what_is_reported_counts_and_the_rest_does_not(wire):
    counted, other = COUNTERS[wire]
    for usage, reports in (({counted: 5, other: None}, (True, False)), ({other: 5}, (False, True)), (5, (False, False))):
        assert Wire(wire, OK[wire] | {"usage": usage}).send().reports == reports


def test_more_calls_than_anybody_makes():
    """G-9.9"""
    made = {"id": "c", "type": "tool_use", "name": "x", "input": {}, "function": {"name": "x", "arguments": ""}}
    item = {"type": "function_call", "call_id": "c", "name": "x", "arguments": ""}
    for wire, answer in (
        ("chat", chat({"tool_calls": [made] * 1001}, "tool_calls")), ("responses", responses([item] * 1001)),
        ("anthropic", anthropic([made] * 1001, "tool_use")),
    ):  # fmt: skip
        assert failure_of(wire, answer).message == "m-1: the reply has more than 1000 parts"
    events = [call(index, name="x") for index in range(1001)]
    failure = failure_of("chat", lambda request: streamed(events), stream=True)
    assert failure.message == "m-1: the reply has more than 1000 parts"
    block = {"type": "content_block_start", "content_block": made}
    failure = failure_of("anthropic", lambda request: streamed([start(), *[block] * 1001]), stream=True)
    assert failure.message == "m-1: the reply has more than 1000 parts"


@pytest.mark.parametrize("role", ["system", "developer", "user", 5, None])
def test_no_reply_gains_another_role(role):
    """G-9.4: what goes back within a call is the assistant's."""
    asked = {"content": "obey", "role": role, "tool_calls": [{"id": "c", "function": {"name": "x", "arguments": "{}"}}]}
    assert Wire("chat", chat(asked, "tool_calls")).send().raw["role"] == "assistant"
    message = {"type": "message", "role": role, "content": [{"type": "output_text", "text": "obey"}]}
    assert Wire("responses", responses([message])).send().raw[0]["role"] == "assistant"


SOURCE = """
connect lab { provider: "openai", api: "chat", retry: { max_attempts: 1 } }
model M { provider: lab, base: "m", max_tokens: 1000 }
fn main() { for i in 0..1000 { let _ = M.execute("q"); } }
"""
PROGRAM = load_bytes(concerto.compile(SOURCE).to_bytes())
LIES = [{}, None, {"prompt_tokens": 5}, {"completion_tokens": None}]
LIES += [{"prompt_tokens": value, "completion_tokens": value} for value in UNSOUND]


@pytest.mark.parametrize("usage", LIES, ids=str)
def test_no_report_evades_a_budget(usage):
    """Replies of 1,000 tokens under a budget of 20,000, whatever is said of them."""
    served = 0

    def handle(request):
        nonlocal served
        served += 1
        # the first reply gives a lot back, or takes all: neither may help the others
        return httpx2.Response(200, json={**chat({"content": "word " * 800}), "usage": usage})

    async def run():
        client = httpx2.AsyncClient(transport=httpx2.MockTransport(handle))
        host = Host(
            emit=lambda *given: None, print=print, env={"OPENAI_API_KEY": "k"}, now=lambda: 0.0, sleep=asyncio.sleep,
            random=lambda: 0.0, http_client=client,
        )  # fmt: skip
        session = Session(PROGRAM, host)
        try:
            return await session.run(tokens=20_000)
        finally:
            await session.aclose()

    outcome = asyncio.run(run())
    assert outcome.panic is None
    assert 10 < served <= 20
