"""A2A: the agent card and tasks, by the client of the official SDK (S-1.9)."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import concerto
import httpx
import httpx2
import pytest
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.client.errors import A2AClientError
from a2a.types import a2a_pb2 as pb
from a2a.utils import errors
from google.protobuf.json_format import MessageToDict, ParseDict
from hypothesis import given, settings
from hypothesis import strategies as st
from starlette.applications import Starlette
from starlette.routing import Mount

from .served import in_loop, program, running, served

SOURCE = """
schema Ticket { topic: String, urgent: Bool = false }
memory chat { retain: 20 }
/// Answers letters.
pub model Clerk { provider: openai, base: "m", system_prompt: "You are a clerk." }
model Talker { provider: openai, base: "m", memory: chat }
channel approve: String -> Bool;
channel reason: String -> String;
/// Adds two numbers.
pub fn add(a: Int, b: Int = 2) -> Int { a + b }
pub fn told(question: String) -> Result<Stream, AgentError> { emit("asked", question); Clerk.stream(question) }
pub fn talk(text: String) -> Result<Int> { Talker.execute(text)?; chat.len() }
pub fn correct(ticket: Ticket) -> Ticket { ticket }
pub fn pay(sum: Int) -> Result<String> {
    if approve("pay ${sum}?")? { "paid ${sum}: ${reason("why?")?}" } else { throw ToolError::new("refused"); }
}
pub fn failing() -> Result<Int> { throw ToolError::new("out of paper"); }
pub fn crash(secret: String) -> Int { let list = [secret.len()]; list[5] }
pub fn wait(ms: Int) -> String { emit("begun", ms); std::time::sleep(ms); "waited" }
pub fn half(of: Float) -> Float { of / 2.0 }
pub fn nothing() { emit("heard", 1); }
"""
WORKING, DONE = pb.TASK_STATE_WORKING, pb.TASK_STATE_COMPLETED


@asynccontextmanager
async def client_of(http: httpx.AsyncClient, url: str, **config: Any) -> AsyncIterator[Any]:
    """Yield a client of the SDK, made by the card of a server."""
    factory = ClientFactory(ClientConfig(httpx_client=http, **config))
    yield await factory.create_from_url(url)


@asynccontextmanager
async def agents(source: str = SOURCE, *, streaming: bool = True, head: str = "", **options: Any) -> AsyncIterator[Any]:
    """Yield a client of the SDK for a program in this process, and the application."""
    async with served(source, **options) as (_, app):
        headers = {"authorization": f"Bearer {head}"} if head else {}
        transport = httpx.ASGITransport(app)
        http = httpx.AsyncClient(transport=transport, base_url="http://agent", headers=headers, timeout=30)
        async with http, client_of(http, "http://agent", streaming=streaming) as client:
            yield client, app


def message(skill: str | None, *, text: str | None = None, data: Any = ..., **fields: Any) -> pb.SendMessageRequest:
    """Return a message with a text, JSON data, or both."""
    parts = [*([{"text": text}] if text is not None else []), *([{"data": data}] if data is not ... else [])]
    metadata = {} if skill is None else {"metadata": {"skill": skill}}
    row = {"messageId": "m1", "role": "ROLE_USER", "parts": parts, **metadata, **fields}
    return ParseDict({"message": row}, pb.SendMessageRequest())


async def sent(client: Any, *given: Any, **fields: Any) -> list[dict[str, Any]]:
    """Send a message; return what comes as JSON, in the order in which it comes."""
    return [MessageToDict(one) for one in [row async for row in client.send_message(message(*given, **fields))]]


async def task_of(client: Any, *given: Any, **fields: Any) -> dict[str, Any]:
    """Send a message to a client that does not stream; return its task."""
    (row,) = await sent(client, *given, **fields)
    return row["task"]


def part_of(task: dict[str, Any]) -> Any:
    ((part,),) = [one["parts"] for one in task["artifacts"]]
    return part.get("text", part.get("data"))


@in_loop
async def test_the_card_names_the_skills() -> None:
    async with served(SOURCE, keys={"ms": "header:X-Ms"}) as (client, app):
        raw = (await client.get("/.well-known/agent-card.json", headers={"host": "agent"})).json()
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app)) as http:
            card = await A2ACardResolver(http, "http://agent").get_agent_card()
    assert MessageToDict(card) == raw  # no field that the official type lacks
    (interface,) = card.supported_interfaces
    assert (interface.url, interface.protocol_binding, interface.protocol_version) == ("http://agent/a2a", "JSONRPC", "1.0")
    assert card.capabilities.streaming and not card.capabilities.push_notifications and not card.security_schemes
    skills = {one.id: one for one in card.skills}
    assert sorted(skills) == ["Clerk", "add", "correct", "crash", "failing", "half", "nothing", "pay", "talk", "told", "wait"]
    assert skills["Clerk"].description == "Answers letters." and list(skills["Clerk"].input_modes) == ["text/plain"]
    says, _, schema = skills["add"].description.partition("JSON Schema: ")
    assert says.startswith("Adds two numbers.") and json.loads(schema)["required"] == ["a"]
    assert list(skills["add"].input_modes) == ["application/json"] and list(skills["told"].output_modes) == ["text/plain"]
    assert json.loads(skills["correct"].description.partition("JSON Schema: ")[2])["$defs"]
    assert json.loads(skills["wait"].description.partition("JSON Schema: ")[2])["properties"] == {}
    async with served(SOURCE, url="https://desk.example/x/", tokens={"a": "a" * 16}) as (client, _):
        assert (await client.get("/.well-known/agent-card.json")).status_code == 401
        card = (await client.get("/.well-known/agent-card.json", headers={"authorization": f"Bearer {'a' * 16}"})).json()
        assert card["supportedInterfaces"][0]["url"] == "https://desk.example/x/a2a"
        assert card["securitySchemes"]["bearer"]["httpAuthSecurityScheme"]["scheme"] == "Bearer"
        ParseDict(card, pb.AgentCard())
    async with served(SOURCE) as (_, app):
        mounting = httpx2.ASGITransport(Starlette(routes=[Mount("/desk", app)]))
        async with httpx2.AsyncClient(transport=mounting, base_url="https://host.example") as client:
            card = (await client.get("/desk/.well-known/agent-card.json?a=b")).json()
    assert card["supportedInterfaces"][0]["url"] == "https://host.example/desk/a2a"


def test_the_address_in_the_card_is_set_by_a_flag(tmp_path: Path) -> None:
    with running(tmp_path, "--url", "https://desk.example", source=SOURCE) as server:
        card = httpx2.get(f"{server.url}/.well-known/agent-card.json").json()
    assert card["supportedInterfaces"][0]["url"] == "https://desk.example/a2a"
    for wrong in ("desk.example", "ftp://desk.example", "https://", "https://desk .example"):
        with pytest.raises(ValueError, match="an address of http or https"):
            concerto.asgi(program(SOURCE), url=wrong)


@in_loop
async def test_tasks_are_calls_and_their_results_artifacts() -> None:
    async with agents(streaming=False, offline_script=["Good day."]) as (client, app):
        added = await task_of(client, "add", data={"a": 3})  # which the client sends as 3.0
        assert added["status"] == {"state": "TASK_STATE_COMPLETED"} and part_of(added) == 5
        assert part_of(await task_of(client, "Clerk", text="Hello")) == "Good day."
        assert part_of(await task_of(client, "told", text="Hello")) == "Good day."
        assert part_of(await task_of(client, "correct", data={"ticket": {"topic": "x"}})) == {"topic": "x", "urgent": False}
        assert [part_of(await task_of(client, "half", data={"of": number})) for number in (3, 0.5)] == [1.5, 0.25]
        assert "artifacts" not in await task_of(client, "nothing", data={})
        assert part_of(await task_of(client, "told", data={"question": "x"})) == "Good day."
        failed = await task_of(client, "failing", data={})
        assert failed["status"]["state"] == "TASK_STATE_FAILED" and failed["status"]["message"]["role"] == "ROLE_AGENT"
        text, error = failed["status"]["message"]["parts"]
        assert text["text"] == "out of paper" and error["data"]["value"]["kind"] == "ToolError"
        crashed = await task_of(client, "crash", text="hidden")
        assert crashed["status"]["message"]["parts"][1]["data"]["code"] == "P004" and "hidden" not in json.dumps(crashed)
        wrong = await task_of(client, "add", data={"a": "three"})
        assert wrong["status"]["state"] == "TASK_STATE_REJECTED"
        assert "expected Int" in wrong["status"]["message"]["parts"][0]["text"]
        again = await client.get_task(pb.GetTaskRequest(id=added["id"]))
        assert MessageToDict(again) == added and app.admission.running == 0
        assert [one.id for one in (await client.list_tasks(pb.ListTasksRequest(page_size=2))).tasks][-1] == crashed["id"]


@in_loop
async def test_a_stream_of_events() -> None:
    async with agents(offline_script=[{"chunks": ["Good ", "day."]}]) as (client, _):
        rows = await sent(client, "told", text="x")
        ids = {"taskId": rows[0]["task"]["id"], "contextId": rows[0]["task"]["contextId"]}
        assert rows[0]["task"]["status"] == {"state": "TASK_STATE_WORKING"}
        emitted = rows[1]["statusUpdate"]
        assert {key: emitted[key] for key in ids} == ids and emitted["status"]["state"] == "TASK_STATE_WORKING"
        assert emitted["status"]["message"]["parts"] == [{"data": {"channel": "asked", "payload": "x"}}]
        pieces = [row["artifactUpdate"] for row in rows[2:4]]
        texts = [(one["artifact"]["parts"][0]["text"], one.get("append", False)) for one in pieces]
        assert texts == [("Good ", False), ("day.", True)]
        assert rows[4:] == [{"statusUpdate": {**ids, "status": {"state": "TASK_STATE_COMPLETED"}}}]
        whole = await sent(client, "add", data={"a": 1})
        assert [*map(next, map(iter, whole))] == ["task", "artifactUpdate", "statusUpdate"]
        assert whole[1]["artifactUpdate"]["artifact"]["parts"][0]["data"] == 3
        failed = await sent(client, "failing", data={})
        assert failed[-1]["statusUpdate"]["status"]["state"] == "TASK_STATE_FAILED"


@pytest.mark.parametrize("streaming", (False, True))
def test_a_task_that_asks_is_answered_by_messages_to_it(streaming: bool) -> None:
    @in_loop
    async def check() -> None:
        async with agents(streaming=streaming, linger_seconds=0.05) as (client, app):

            async def status(*given: Any, **fields: Any) -> Any:
                last = (await sent(client, *given, **fields))[-1]
                return next(iter(last.values()))["status"]

            asked = await status("pay", data={"sum": 7})
            text, data = asked["message"]["parts"]
            assert asked["state"] == "TASK_STATE_INPUT_REQUIRED" and text["text"] == "approve: pay 7?"
            assert data["data"]["answer"] == {"type": "boolean"} and data["data"]["payload"] == "pay 7?"
            (question,) = app.questions.open.values()
            task = question.call
            with pytest.raises(errors.UnsupportedOperationError, match=f"which call {task} asked for"):
                await sent(client, "wait", data={"ms": 0}, contextId=task)
            await asyncio.sleep(0.2)  # longer than a stream may be without a reader
            for fields, says in (
                ({"text": "perhaps"}, "approve"), ({"data": 5}, "expected Bool"), ({"text": "true", "data": True}, "not both"),
                ({"text": "true", "contextId": "other"}, "contextId"),
            ):  # fmt: skip
                with pytest.raises(errors.InvalidParamsError, match=says):
                    await sent(client, None, taskId=task, **fields)
            second = await status(None, text="true", taskId=task)
            assert second["message"]["parts"][0]["text"] == "reason: why?"
            last = await sent(client, None, text="it was due", taskId=task, contextId=question.call)
            final = await client.get_task(pb.GetTaskRequest(id=task))
            assert part_of(MessageToDict(final)) == "paid 7: it was due" and final.status.state == DONE
            assert next(iter(last[-1].values()))["status"]["state"] == "TASK_STATE_COMPLETED"
            with pytest.raises(errors.UnsupportedOperationError, match="waits for no answer"):
                await sent(client, None, text="again", taskId=task)
            assert app.admission.running == 0

    check()


@pytest.mark.parametrize(
    ("answer", "text", "is_taken"),
    [
        ("Way", "Yes", True), ("Way", '"Yes"', True), ("Way", '{"variant": "Later", "data": 3}', True), ("Way", "Maybe", False),
        ("Way", "Later", False), ('"a" | "b"', "a", True), ('"a" | "b"', "c", False), ("Bytes", "aGk=", True),
        ("Bytes", '"aGk="', True), ("String", '"', True), ("Int?", "null", True), ("Ticket", "Yes", False),
    ],
)  # fmt: skip
def test_a_text_answers_by_the_type_of_the_channel(answer: str, text: str, is_taken: bool) -> None:
    source = f"""
    enum Way {{ Yes, No, Later(Int) }}
    struct Ticket {{ topic: String }}
    channel choose: String -> {answer};
    pub fn ask() -> Result<String> {{ choose("which?")?; "taken" }}
    """

    @in_loop
    async def check() -> None:
        async with agents(source, streaming=False) as (client, _):
            task = await task_of(client, "ask", data={})
            if is_taken:
                assert part_of(await task_of(client, None, text=text, taskId=task["id"])) == "taken"
            else:
                with pytest.raises(errors.InvalidParamsError, match="the answer on choose"):
                    await sent(client, None, text=text, taskId=task["id"])

    check()


@in_loop
async def test_contexts_are_sessions_of_their_callers() -> None:
    async with agents(streaming=False) as (client, _):
        first = await task_of(client, "talk", text="a")
        kept = await task_of(client, "talk", text="b", contextId=first["contextId"])
        other = await task_of(client, "talk", text="c")
        named = [await task_of(client, "talk", text="c", contextId="mine") for _ in range(2)]
        assert [part_of(one) for one in (first, kept, other, *named)] == [2, 4, 2, 2, 4]
        assert kept["contextId"] == first["contextId"] and other["contextId"] != first["contextId"]
        listed = await client.list_tasks(pb.ListTasksRequest(context_id="mine", include_artifacts=True, page_size=1))
        assert [one.id for one in listed.tasks] == [named[1]["id"]] and (listed.total_size, listed.page_size) == (2, 1)
        rest = await client.list_tasks(pb.ListTasksRequest(context_id="mine", page_token=listed.next_page_token))
        assert [one.id for one in rest.tasks] == [named[0]["id"]] and not rest.tasks[0].artifacts and not rest.next_page_token
        assert not (await client.list_tasks(pb.ListTasksRequest(status=WORKING))).tasks
        assert len((await client.list_tasks(pb.ListTasksRequest(status=DONE))).tasks) == 5


async def left_behind(client: Any, request: pb.SendMessageRequest) -> str:
    """Begin a task by a stream and leave it behind its first event, its connection with it; return the id of the task."""
    first: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    async def read() -> None:
        async for row in client.send_message(request):
            if not first.done():
                first.set_result(row.task.id)

    reading = asyncio.create_task(read())
    task = await first
    reading.cancel()
    await asyncio.wait({reading})
    return task


async def state_after_work(client: Any, task: str) -> int:
    """Return the state of a task when it is not at work any more."""
    deadline = time.monotonic() + 30
    while (state := (await client.get_task(pb.GetTaskRequest(id=task))).status.state) == WORKING:
        assert time.monotonic() < deadline
        await asyncio.sleep(0.1)
    return int(state)


def test_the_client_against_a_server(tmp_path: Path) -> None:
    """Tasks that are left and come back to, cancelled, and of two callers, over real connections."""
    tokens = tmp_path / "tokens"
    tokens.write_text("a aaaaaaaaaaaaaaaa\nb bbbbbbbbbbbbbbbb\n")

    @in_loop
    async def check() -> None:
        with running(tmp_path, "--tokens", str(tokens), "--linger", "1", source=SOURCE) as server:
            heads = [{"authorization": f"Bearer {letter * 16}"} for letter in "ab"]
            async with httpx.AsyncClient(headers=heads[0], timeout=30) as mine, httpx.AsyncClient(headers=heads[1]) as others:
                async with client_of(mine, server.url) as client, client_of(others, server.url) as other:
                    pieces = [row["artifactUpdate"]["artifact"]["parts"] for row in (await sent(client, "told", text="x"))[2:-1]]
                    assert "".join(part["text"] for (part,) in pieces) == "offline: x"
                    # Left in the middle of its stream, and found again.
                    task = await left_behind(client, message("wait", data={"ms": 900}))
                    again = [MessageToDict(one) async for one in client.subscribe(pb.SubscribeToTaskRequest(id=task))]
                    assert [*map(next, map(iter, again))] == ["task", "statusUpdate", "artifactUpdate", "statusUpdate"]
                    assert again[-1]["statusUpdate"]["status"]["state"] == "TASK_STATE_COMPLETED"
                    with pytest.raises(errors.UnsupportedOperationError, match="has ended"):
                        await anext(client.subscribe(pb.SubscribeToTaskRequest(id=task)))
                    with pytest.raises(errors.TaskNotCancelableError):
                        await client.cancel_task(pb.CancelTaskRequest(id=task))
                    # Without a reader for good.
                    alone = await left_behind(client, message("wait", data={"ms": 60_000}))
                    assert await state_after_work(client, alone) == pb.TASK_STATE_CANCELED
                    # Nothing of one caller is there for another one.
                    for work in (other.get_task(pb.GetTaskRequest(id=task)), other.cancel_task(pb.CancelTaskRequest(id=task))):
                        with pytest.raises(errors.TaskNotFoundError):
                            await work
                    assert not (await other.list_tasks(pb.ListTasksRequest())).tasks
                async with client_of(mine, server.url, streaming=False, polling=True) as client:
                    begun = await task_of(client, "wait", data={"ms": 1500})
                    assert begun["status"]["state"] == "TASK_STATE_WORKING"
                    # Nobody reads it for longer than a stream may be without a reader: it was left on purpose.
                    assert await state_after_work(client, begun["id"]) == DONE
                    begun = await task_of(client, "wait", data={"ms": 60_000})
                    cancelled = await client.cancel_task(pb.CancelTaskRequest(id=begun["id"]))
                    assert cancelled.status.state == pb.TASK_STATE_CANCELED
                metrics = (await mine.get(f"{server.url}/metrics")).text
                assert "concerto_running 0.0" in metrics and 'function="told",status="200"} 1.0' in metrics
                with pytest.raises(A2AClientError, match="401"):
                    async with httpx.AsyncClient() as nobody, client_of(nobody, server.url):
                        pass
            code, log = server.end()
        assert code == 0 and "Traceback" not in log and "internal" not in log, log[-3000:]

    check()


@in_loop
async def test_what_is_not_served_is_refused_by_name() -> None:
    async with agents(streaming=False) as (client, app):
        file = [{"url": "http://x"}]
        for given_, fields, error, says in (
            ("add", {"text": "3"}, errors.ContentTypeNotSupportedError, "takes no text"),
            ("Clerk", {"data": {}}, errors.ContentTypeNotSupportedError, "Clerk takes a text"),
            ("add", {"data": [1]}, errors.ContentTypeNotSupportedError, "takes a data part that is an object"),
            ("add", {"parts": file}, errors.ContentTypeNotSupportedError, r"parts\[0\]` is a file"),
            ("told", {"text": "x", "data": {"question": "y"}}, errors.InvalidParamsError, "both give `question`"),
            ("nothing here", {"text": "x"}, errors.InvalidParamsError, "`metadata.skill` is one of add"),
            (None, {"text": "x"}, errors.InvalidParamsError, "which skill"),
            ("add", {"parts": []}, errors.InvalidParamsError, "parts"),
            ("add", {"role": "ROLE_AGENT", "data": {}}, errors.InvalidParamsError, "ROLE_USER"),
            ("add", {"data": {}, "taskId": "0" * 32}, errors.TaskNotFoundError, "no such"),
            ("add", {"data": {}, "contextId": "a\nb"}, errors.InvalidParamsError, "printable"),
        ):  # fmt: skip
            with pytest.raises(error, match=says):
                await sent(client, given_, **fields)
        with pytest.raises(errors.PushNotificationNotSupportedError):
            await client.create_task_push_notification_config(pb.TaskPushNotificationConfig(task_id="x", url="http://x"))
        request = message("add", data={"a": 1})
        request.configuration.task_push_notification_config.url = "http://evil.example"
        with pytest.raises(errors.PushNotificationNotSupportedError):
            await anext(client.send_message(request))
        for ident in ("", "x", "0" * 32):
            with pytest.raises((errors.TaskNotFoundError, errors.InvalidParamsError)):
                await client.get_task(pb.GetTaskRequest(id=ident))
        assert app.calls.known == {} and app.admission.running == 0
    one = 'pub fn echo(text: String) -> String { text }  pub fn add(a: Int) -> Int { a }'
    async with agents(one, streaming=False) as (client, _):  # the only skill that takes a text needs no name
        assert part_of(await task_of(client, None, text="x")) == "x"


@in_loop
async def test_calls_of_other_protocols_are_no_tasks() -> None:
    async with served(SOURCE) as (http, _):
        begun = await http.post("/call/add", json={"a": 1}, headers={"accept": "text/event-stream"})
        body = {"jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": {"id": begun.headers["concerto-call"]}}
        answer = (await http.post("/a2a", json=body, headers={"a2a-version": "1.0"})).json()
        assert answer["error"]["code"] == -32001 and answer["id"] == 1


@in_loop
async def test_malformed_requests_get_errors_of_json_rpc() -> None:
    good: dict[str, Any] = {"jsonrpc": "2.0", "id": 7, "method": "SendMessage", "params": {}}
    async with served(SOURCE, body_bytes=4000) as (client, app):

        def changed(**fields: Any) -> bytes:
            return json.dumps({**good, **fields}).encode()

        async def posted(content: bytes, **headers: str) -> httpx2.Response:
            head = {"a2a-version": "1.0", "content-type": "application/json", **headers}
            return await client.post("/a2a", content=content, headers=head)

        for content, code in (
            (b"{", -32700), (b"[" * 3000, -32700), (b"\xff", -32700), (b"NaN", -32700), (b"5", -32600), (b"[]", -32600),
            (b"", -32600), (b"{}", -32600), (json.dumps([good]).encode(), -32600), (changed(id=None), -32600),
            (changed(id=True), -32600), (changed(jsonrpc="1.0"), -32600), (changed(method="message/send"), -32601),
            (changed(method=5), -32601), (changed(method="GetExtendedAgentCard"), -32007), (changed(), -32602),
            (changed(params=[]), -32602), (changed(params={"message": 5}), -32602),
            (changed(method="ListTasks", params={"pageSize": 101}), -32602),
            (changed(method="ListTasks", params={"pageToken": "x"}), -32602),
            (changed(method="ListTasks", params={"statusTimestampAfter": "x"}), -32004),
        ):  # fmt: skip
            answer = await posted(content)
            body = answer.json()
            assert (answer.status_code, body["error"]["code"], body["jsonrpc"]) == (200, code, "2.0"), (content[:80], answer.text)
            assert body["error"]["message"] and body["id"] == (7 if code not in (-32700, -32600) else None), answer.text
        for version in ("0.3", "", "x", "2.0"):
            assert (await posted(json.dumps(good).encode(), **{"a2a-version": version})).json()["error"]["code"] == -32009
        for content, headers, status in (
            (b"x" * 5000, {}, 413), (b"{}", {"content-type": "text/plain"}, 415), (b"{}", {"origin": "http://evil.example"}, 403),
        ):  # fmt: skip
            answer = await posted(content, **headers)
            assert answer.status_code == status and answer.json()["error"]["code"] == -32603, answer.text
        assert app.admission.running == 0 and app.calls.known == {}
    async with served(SOURCE, rate=0.5) as (client, _):
        params = {"message": {"messageId": "1", "role": "ROLE_USER", "metadata": {"skill": "add"}, "parts": [{"data": {"a": 1}}]}}
        answers = [await client.post("/a2a", json={**good, "params": params}, headers={"a2a-version": "1.0"}) for _ in range(2)]
        assert [one.status_code for one in answers] == [200, 429] and "retry-after" in answers[1].headers


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3), max_leaves=8,
)  # fmt: skip
PART = st.dictionaries(st.sampled_from(("text", "data", "url", "raw", "kind")), JSON, max_size=2) | JSON
FIELDS = dict.fromkeys(("messageId", "role", "metadata", "taskId", "contextId"), JSON)
MESSAGE = st.fixed_dictionaries({}, optional={**FIELDS, "parts": st.lists(PART, max_size=3) | JSON}) | JSON
OTHERS = dict.fromkeys(("configuration", "id", "pageSize", "pageToken", "contextId", "status"), JSON)
PARAMS = st.fixed_dictionaries({}, optional={**OTHERS, "message": MESSAGE})
METHODS = ("SendMessage", "SendStreamingMessage", "GetTask", "ListTasks", "CancelTask", "SubscribeToTask")


@settings(max_examples=80, deadline=None)
@given(st.sampled_from(METHODS), PARAMS, JSON)
def test_any_parameters_get_a_clear_answer(method: str, params: dict[str, Any], data: Any) -> None:
    """Whatever they hold, a result or an error of the protocol comes, never a defect."""
    right = {"messageId": "1", "role": "ROLE_USER", "metadata": {"skill": "add"}, "parts": [{"data": data}]}
    given_ = params.get("message")
    mixed = {**params, "message": {**right, **given_} if isinstance(given_, dict) else right}

    @in_loop
    async def check() -> None:
        async with served(SOURCE) as (client, app):
            for row in (params, mixed):
                body = {"jsonrpc": "2.0", "id": "1", "method": method, "params": row}
                answer = await client.post("/a2a", json=body, headers={"a2a-version": "1.0"})
                assert answer.status_code == 200, answer.text
                if not answer.headers["content-type"].startswith("text/event-stream"):
                    refused = answer.json().get("error", {}).get("code")
                    assert answer.json().get("result") or refused in (-32001, -32003, -32004, -32005, -32602), answer.text
            assert app.admission.running == 0

    check()
