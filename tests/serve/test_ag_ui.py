"""AG-UI: runs, interrupts and refusals, by the official types of Python and the client of npm (S-1.9)."""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

import httpx2
import pytest
from ag_ui.core import Event, RunAgentInput, UserMessage
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

from .served import in_loop, running, served

SOURCE = """
schema Ticket { topic: String, urgent: Bool }
memory chat { retain: 20 }
pub model Clerk { provider: openai, base: "m", system_prompt: "You are a clerk." }
model Talker { provider: openai, base: "m", memory: chat }
channel approve: String -> Bool;
pub fn told(messages: Array<Message>) -> Result<Stream, AgentError> {
    emit("asked", messages.len());
    Clerk.stream(messages[0].content)
}
pub fn loud(messages: Array<Message>) -> String { messages.map(|m| "${m.role}: ${m.content}").join("|") }
pub fn talk(text: String) -> Result<Int> { Talker.execute(text)?; chat.len() }
pub fn sorted(messages: Array<Message>) -> Result<Ticket> { Ticket { topic: messages[0].content, urgent: true } }
pub fn step(text: String, state: Map<String, Int> = {}, context: Any = nil) -> Any {
    emit("state", { "count": (state.get("count") ?? 0) + 1 });
    context
}
pub fn pay(sum: String) -> Result<String> {
    if approve("pay ${sum}?")? { "paid ${sum}" } else { throw ToolError::new("refused"); }
}
pub fn twice(text: String) -> Result<String> { "${approve("first")?} ${approve("second")?}" }
pub fn failing(messages: Array<Message>) -> Result<String> { throw ToolError::new("out of paper"); }
pub fn crash(secret: String) -> Int { let list = [secret.len()]; list[5] }
pub fn slow(text: String) -> String { emit("begun", text); std::time::sleep(60000); "waited" }
pub fn nothing(text: String) { emit("heard", text); }
pub fn other(n: Int) -> Int { n }
"""
EVENT: TypeAdapter[Any] = TypeAdapter(Event)


def asked(text: str = "x", thread: str = "t", **fields: Any) -> dict[str, Any]:
    """Return the body of a run, as the official types write it; fields of the form of the wire come on top."""
    messages = [UserMessage(id="u1", content=text)]
    plain = RunAgentInput(thread_id=thread, run_id="r1", messages=messages, state={}, tools=[], context=[], forwarded_props={})
    return {**plain.model_dump(by_alias=True), **fields}


def told(answer: Any) -> list[dict[str, Any]]:
    """Return the events of an answer, each of which the official types read without a field that they do not know."""
    assert answer.status_code == 200 and answer.headers["content-type"].startswith("text/event-stream"), answer.text
    rows = [json.loads(line.removeprefix("data: ")) for line in answer.text.split("\n") if line.startswith("data: ")]
    for row in rows:
        read = EVENT.validate_python(row)
        assert not read.model_extra and read.model_dump(by_alias=True, mode="json") == row, row
    return rows


async def run(client: Any, name: str, body: dict[str, Any], **headers: str) -> list[dict[str, Any]]:
    return told(await client.post(f"/ag-ui/{name}", json=body, headers=headers))


@in_loop
async def test_a_text_comes_in_pieces_with_emits_between() -> None:
    async with served(SOURCE, offline_script=[{"chunks": ["Good ", "day."], "tokens_in": 7, "tokens_out": 3}]) as (client, _):
        answer = await client.post("/ag-ui/told", json=asked())
        rows = told(answer)
        call = answer.headers["concerto-call"]
        place, message = {"threadId": "t", "runId": "r1"}, {"messageId": f"{call}-2"}
        assert rows == [
            {"type": "RUN_STARTED", **place, "protocolVersion": "1.0"}, {"type": "CUSTOM", "name": "asked", "value": 1},
            {"type": "TEXT_MESSAGE_START", **message, "role": "assistant"},
            {"type": "TEXT_MESSAGE_CONTENT", **message, "delta": "Good "},
            {"type": "TEXT_MESSAGE_CONTENT", **message, "delta": "day."}, {"type": "TEXT_MESSAGE_END", **message},
            {"type": "RUN_FINISHED", **place, "outcome": {"type": "success"}, "result": "Good day.",
             "usage": [{"inputTokens": 7, "outputTokens": 3, "totalTokens": 10}]},
        ]  # fmt: skip


@in_loop
async def test_what_is_served_and_what_it_gets() -> None:
    async with served(SOURCE, offline_script=["Good day."]) as (client, _):
        model = await run(client, "Clerk", asked())
        assert [row["type"] for row in model] == [
            "RUN_STARTED", "TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END", "RUN_FINISHED",
        ]  # fmt: skip
        assert model[2]["delta"] == "Good day."
        messages = [
            {"id": "1", "role": "developer", "content": "Be brief."}, {"id": "2", "role": "assistant", "content": "Yes?"},
            {"id": "3", "role": "reasoning", "content": "hm"},
            {"id": "4", "role": "activity", "activityType": "a", "content": {}},
            {"id": "5", "role": "user", "content": [{"type": "text", "text": "Hello"}]},
        ]  # fmt: skip
        loud = await run(client, "loud", asked(messages=messages))
        assert loud[-1]["result"] == "system: Be brief.|assistant: Yes?|user: Hello"
        typed = await run(client, "sorted", asked("bill"))
        assert len(typed) == 2 and typed[1]["result"] == {"topic": "bill", "urgent": True}
        assert "result" not in (await run(client, "nothing", asked()))[-1]
        context = [{"description": "place", "value": "here"}]
        stepped = await run(client, "step", asked(state={"count": 4}, context=context))
        assert stepped[1] == {"type": "STATE_SNAPSHOT", "snapshot": {"count": 5}} and stepped[2]["result"] == context


@in_loop
async def test_threads_are_sessions_of_their_callers() -> None:
    async with served(SOURCE, tokens={"a": "a" * 16, "b": "b" * 16}) as (client, _):

        async def length(letter: str, thread: str, **headers: str) -> Any:
            rows = await run(client, "talk", asked(thread=thread), authorization=f"Bearer {letter * 16}", **headers)
            return rows[-1]["result"]

        assert [await length(*one) for one in (("a", "t"), ("a", "t"), ("a", "u"), ("b", "t"))] == [2, 4, 2, 2]
        assert await length("a", "new", **{"concerto-session": "t"}) == 6  # the header is above the thread


@in_loop
async def test_questions_interrupt_a_run_and_its_answer_resumes_it() -> None:
    async with served(SOURCE) as (client, app):
        begun = await client.post("/ag-ui/twice", json=asked())
        (interrupt,) = told(begun)[-1]["outcome"]["interrupts"]
        (question,) = app.questions.open.values()
        assert interrupt == {
            "id": f"{begun.headers['concerto-call']}-2", "reason": "approve", "message": "approve: first",
            "responseSchema": {"type": "boolean"}, "metadata": {"question": question.key, "payload": "first"},
        }  # fmt: skip

        async def resumed(body: Any, **fields: Any) -> Any:
            return await client.post("/ag-ui/twice", json=asked(resume=body, **fields))

        def entry(**fields: Any) -> list[dict[str, Any]]:
            return [{"interruptId": interrupt["id"], "status": "resolved", "payload": True, **fields}]

        for body, fields, status, says in (
            (entry(payload="yes"), {}, 400, "expected Bool"), (entry(status="maybe"), {}, 400, "`status` resolved or"),
            (entry() * 2, {}, 400, "one entry"), ("x", {}, 400, "one entry"), (entry(interruptId=5), {}, 400, "one entry"),
            (entry(interruptId="nonsense"), {}, 400, "id of an event"),
            (entry(interruptId=f"{'0' * 32}-1"), {}, 404, "no such call"),
            (entry(interruptId=interrupt["id"][:-1] + "1"), {}, 400, "the id of an interrupt"),
            (entry(interruptId=interrupt["id"][:-1] + "9"), {}, 410, "not kept"), (entry(), {"thread": "u"}, 404, "this thread"),
        ):  # fmt: skip
            refused = await resumed(body, **fields)
            assert (refused.status_code, says in refused.json()["error"]["message"]) == (status, True), refused.text
        other = await client.post("/ag-ui/pay", json=asked(resume=entry()))
        assert other.status_code == 404
        waits = await client.post("/ag-ui/talk", json=asked())
        assert waits.status_code == 409 and f"/questions/{question.key}" in waits.json()["error"]["message"]
        second = told(await resumed(entry()))
        (later,) = second[-1]["outcome"]["interrupts"]
        assert [row["type"] for row in second] == ["RUN_STARTED", "CUSTOM", "RUN_FINISHED"]
        assert later["message"] == "approve: second"
        gone = await resumed(entry())
        assert gone.status_code == 409 and "as `cancelled`" in gone.json()["error"]["message"]
        assert (await client.post(f"/questions/{later['metadata']['question']}", json=False)).status_code == 204
        answered = await resumed(entry(interruptId=later["id"]))
        assert answered.status_code == 409
        rest = told(await resumed(entry(interruptId=later["id"], status="cancelled")))
        assert rest[-1]["result"] == "true false" and app.questions.open == {} and app.admission.running == 0
        # Who declines makes the emit fail.
        ident = told(await client.post("/ag-ui/pay", json=asked("7")))[-1]["outcome"]["interrupts"][0]["id"]
        declined = told(await client.post("/ag-ui/pay", json=asked(resume=[{"interruptId": ident, "status": "cancelled"}])))
        assert declined[-1]["type"] == "RUN_ERROR" and "declined" in declined[-1]["message"]


@in_loop
async def test_a_call_between_question_and_answer_has_no_reader_and_goes_on() -> None:
    """It is not cancelled as one whose client has gone is, belongs to its caller, and can be cancelled by it."""
    async with served(SOURCE, linger_seconds=0.05, tokens={"a": "a" * 16, "b": "b" * 16}) as (client, app):
        mine, others = ({"authorization": f"Bearer {letter * 16}"} for letter in "ab")
        begun = await client.post("/ag-ui/pay", json=asked("7"), headers=mine)
        ident = told(begun)[-1]["outcome"]["interrupts"][0]["id"]
        await asyncio.sleep(0.2)
        resume = asked(resume=[{"interruptId": ident, "status": "resolved", "payload": True}])
        stolen = await client.post("/ag-ui/pay", json=resume, headers=others)
        assert stolen.status_code == 404 and len(app.questions.open) == 1
        assert (await client.delete(f"/calls/{begun.headers['concerto-call']}", headers=mine)).status_code == 204
        while app.admission.running:
            await asyncio.sleep(0.01)
        ended = told(await client.post("/ag-ui/pay", json={**resume, "resume": [{**resume["resume"][0], "status": "cancelled"}]},
                                       headers=mine))  # fmt: skip
        assert ended[-1]["outcome"] == {"type": "cancelled"} and app.questions.open == {}


@in_loop
async def test_failures_end_the_run_and_say_no_more_than_elsewhere() -> None:
    async with served(SOURCE) as (client, _):
        failed = (await run(client, "failing", asked()))[-1]
        assert (failed["type"], failed["message"], failed["code"]) == ("RUN_ERROR", "out of paper", "error")
        assert failed["metadata"]["value"]["kind"] == "ToolError"
        crashed = (await run(client, "crash", asked("hidden")))[-1]
        assert crashed["code"] == "P004" and "hidden" not in json.dumps(crashed)
        misfit = (await run(client, "step", asked(state={"count": "four"})))[-1]
        assert misfit["code"] == "arguments" and "expected Int" in misfit["message"]


@in_loop
async def test_what_is_not_served_is_refused_by_name() -> None:
    tool = {"name": "color", "description": "d", "parameters": {}}
    part = {"type": "image", "source": {"type": "url", "value": "x"}}
    async with served(SOURCE, body_bytes=4000) as (client, app):
        for name in ("other", "Talker", "approve", "", "x/y", "%00"):
            refused = await client.post(f"/ag-ui/{name}", json=asked())
            assert refused.status_code == 404 and "Clerk, crash, failing" in refused.json()["error"]["message"], refused.text
        for fields, says in (
            ({"tools": [tool]}, "`tools` is not served"), ({"tools": 5}, "`tools`"), ({"state": {"n": 1}}, "`state` is given"),
            ({"context": [{"description": "a", "value": "b"}]}, "`context` is given"),
            ({"forwardedProps": {"a": 1}}, "`forwardedProps`"), ({"messages": []}, "an array of messages"),
            ({"messages": None}, "an array of messages"), ({"messages": [5]}, "has the role"),
            ({"messages": [{"id": "1", "role": "tool", "toolCallId": "c", "content": "x"}]}, "`messages[0]` has the role"),
            ({"messages": [{"id": "1", "role": "reasoning", "content": "x"}]}, "what the user says"),
            ({"messages": [{"id": "1", "role": "user", "content": [part]}]}, "parts that are no text"),
            ({"messages": [{"id": "1", "role": "user"}]}, "`messages[0].content`"), ({"threadId": ""}, "`threadId`"),
            ({"threadId": 5}, "`threadId` is a text"), ({"threadId": "a\nb"}, "printable"),
            ({"threadId": "x" * 300}, "printable"),
            ({"runId": None}, "`runId` is a text"), ({"resume": {"a": 1}}, "one entry"),
        ):  # fmt: skip
            refused = await client.post("/ag-ui/loud", json={**asked(), **fields})
            assert refused.status_code == 400 and says in refused.json()["error"]["message"], (fields, refused.text)
        last = [{"id": "1", "role": "assistant", "content": "x"}]
        assert (await client.post("/ag-ui/talk", json=asked(messages=last))).status_code == 400
        json_type = {"content-type": "application/json"}
        for content, headers, status in (
            (b"{", json_type, 400), (b"[1]", json_type, 400), (b"\xff", json_type, 400), (b"[" * 3000, json_type, 400),
            (b"x" * 5000, json_type, 413), (b"{}", {"content-type": "text/plain"}, 415), (b"", json_type, 400),
            (b"{}", {**json_type, "origin": "http://evil.example"}, 403),
        ):  # fmt: skip
            refused = await client.post("/ag-ui/loud", content=content, headers=headers)
            assert refused.status_code == status and refused.json()["error"]["message"], refused.text
        assert (await client.get("/ag-ui/loud")).status_code == 405
        assert app.admission.running == 0 and app.calls.known == {}
    async with served(SOURCE, tokens={"a": "a" * 16}, rate=0.5) as (client, _):
        assert (await client.post("/ag-ui/loud", json=asked())).status_code == 401
        head = {"authorization": f"Bearer {'a' * 16}"}
        statuses = [(await client.post("/ag-ui/loud", json=asked(), headers=head)).status_code for _ in range(2)]
        assert statuses == [200, 429]


@in_loop
async def test_bound_parameters_come_from_the_request_alone() -> None:
    source = 'pub fn mine(user: String, text: String, state: String = "") -> String { "${user} ${text}" }'
    async with served(source, keys={"user": "header:X-User"}) as (client, _):
        assert (await run(client, "mine", asked("hello"), **{"x-user": "ada"}))[-1]["result"] == "ada hello"
        lacking = await client.post("/ag-ui/mine", json=asked())
        assert lacking.status_code == 400 and "lacks header:X-User" in lacking.json()["error"]["message"]
    async with served(source, keys={"user": "caller", "state": "session"}) as (client, _):
        stolen = await client.post("/ag-ui/mine", json=asked(state="eve"))
        assert stolen.status_code == 400 and "never from the body" in stolen.json()["error"]["message"]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3), max_leaves=8,
)  # fmt: skip
FIELDS = ("threadId", "runId", "messages", "state", "tools", "context", "forwardedProps", "resume", "parentRunId")


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(st.sampled_from(FIELDS), JSON, max_size=4))
def test_any_json_gets_a_clear_answer(fields: dict[str, Any]) -> None:
    """Whatever the fields hold, a run begins and ends, or is refused: never a defect."""

    @in_loop
    async def check() -> None:
        async with served(SOURCE) as (client, _):
            for body in ({**asked(), **fields}, fields):
                answer = await client.post("/ag-ui/step", json=body)
                if answer.status_code == 200:
                    assert told(answer)[-1]["type"] in ("RUN_FINISHED", "RUN_ERROR")
                else:
                    assert answer.status_code in (400, 404) and answer.json()["error"]["message"], answer.text

    check()


NODE = Path(__file__).parent / "node_modules" / "@ag-ui" / "client"


@pytest.mark.skipif(shutil.which("node") is None or not NODE.exists(), reason="no node here, or no npm package @ag-ui/client")
def test_the_client_of_npm(tmp_path: Path) -> None:
    tokens = tmp_path / "tokens"
    tokens.write_text("me 0123456789abcdef\n")
    with running(tmp_path, "--tokens", str(tokens), "--linger", "0.2", source=SOURCE) as server:
        words = ["node", str(Path(__file__).parent / "ag_ui_client.mjs"), server.url]
        done = subprocess.run(words, capture_output=True, text=True, timeout=60)
        text = "TEXT_MESSAGE_START TEXT_MESSAGE_CONTENT TEXT_MESSAGE_CONTENT TEXT_MESSAGE_END"
        assert done.stdout.splitlines() == [
            f"RUN_STARTED CUSTOM {text} RUN_FINISHED", '"offline: x" user:x|assistant:offline: x', "kept 2", "kept 4", "kept 2",
            "offline: Hello", '{"topic":"x","urgent":true} 0', 'state {"count":5}',
            'RUN_STARTED CUSTOM RUN_FINISHED approve approve: pay 7? {"type":"boolean"}', "400 answer",
            'RUN_STARTED TEXT_MESSAGE_START TEXT_MESSAGE_CONTENT TEXT_MESSAGE_END RUN_FINISHED "paid 7" 0',
            "the person declined to answer", "400 `tools` is not served: what the program does is decided by the program",
            'error out of paper "ToolError"', "aborted 0",
        ], (done.stdout, done.stderr)  # fmt: skip
        deadline = time.monotonic() + 30
        with httpx2.Client(base_url=server.url, headers={"authorization": "Bearer 0123456789abcdef"}) as client:
            while "concerto_running 0.0" not in client.get("/metrics").text:
                assert time.monotonic() < deadline
                time.sleep(0.05)
        code, log = server.end()
    assert code == 0 and "Traceback" not in log and "internal" not in log, log[-3000:]
