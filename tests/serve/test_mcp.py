"""A served program as an MCP server, by the client of the official SDK (S-1.5)."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import concerto
import httpx2
import mcp_types as types
import pytest
from concerto.serve.caller import ANYONE
from concerto.serve.calls import Wanted
from concerto.serve.mcp_server import server_of
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

from .served import in_loop, program, running

SOURCE = """
schema Ticket { topic: String, urgent: Bool = false }
memory chat { retain: 20 }
memory notes { per: user, retain: 5 }
model Sorter { provider: openai, base: "m", memory: chat }
channel approve: String -> Bool;
channel reason: Ticket -> Ticket;
/// Adds two numbers.
pub fn add(a: Int, b: Int = 2) -> Int { println("adding"); a + b }
pub fn sort(mail: String) -> Result<Ticket> { Sorter.execute<Ticket>(mail)? }
pub fn pay(sum: Int) -> Result<String> {
    if approve("pay ${sum}?")? { "paid ${sum}" } else { throw ToolError::new("refused"); }
}
pub fn correct(topic: String) -> Result<Ticket> { reason(Ticket { topic: topic })? }
pub fn failing() -> Result<Int> { throw ToolError::new("out of paper"); }
"""
MODES = ("legacy", "auto")


def answering(*answers: Any) -> tuple[Any, list[Any]]:
    left, asked = list(answers), list[Any]()

    async def answer(context: Any, params: Any) -> types.ElicitResult:
        asked.append((params.message, params.requested_schema["properties"]["answer"]))
        given = left.pop(0)
        if given is None:
            return types.ElicitResult(action="decline")
        return types.ElicitResult(action="accept", content={"answer": given})

    return answer, asked


async def check_client(client: Client) -> None:
    """What a client sees, over whichever transport."""
    tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert sorted(tools) == ["add", "correct", "failing", "pay", "sort"] and tools["add"].description == "Adds two numbers."
    assert tools["add"].input_schema["required"] == ["a"]
    added = await client.call_tool("add", {"a": 3})
    assert added.structured_content == {"result": 5} and added.content[0].text == "5" and not added.is_error
    ticket = await client.call_tool("sort", {"mail": "x"})
    assert ticket.structured_content == {"topic": "", "urgent": False}, ticket
    wrong = await client.call_tool("add", {"a": "three"})
    assert wrong.is_error and "expected Int" in wrong.content[0].text
    failed = await client.call_tool("failing", {})
    assert failed.is_error and failed.content[0].text == "out of paper"
    assert json.loads(failed.content[1].text)["kind"] == "ToolError"
    unknown = await client.call_tool("nothing", {})
    assert unknown.is_error and "no public function" in unknown.content[0].text


@pytest.mark.parametrize("mode", MODES)
def test_on_standard_input_and_output(mode: str, tmp_path: Path) -> None:
    """What the program prints is not on the protocol's stream; the memory that a call wrote is a resource."""

    @in_loop
    async def check() -> None:
        file = tmp_path / "desk.conc"
        file.write_text(SOURCE)
        words = ["-m", "concerto", "mcp", str(file), "--offline", "--quiet"]
        answer, asked = answering(True, False, '{"topic": "better"}')
        parameters = StdioServerParameters(command=sys.executable, args=words)
        async with Client(parameters, mode=mode, elicitation_callback=answer) as client:
            await check_client(client)
            (resource,) = (await client.list_resources()).resources
            assert (str(resource.uri), resource.name) == ("memory://chat", "chat")
            text = (await client.read_resource(resource.uri)).contents[0].text
            assert [message["role"] for message in json.loads(text)] == ["user", "assistant"]
            paid = await client.call_tool("pay", {"sum": 7})
            assert paid.structured_content == {"result": "paid 7"}
            assert (await client.call_tool("pay", {"sum": 8})).content[0].text == "refused"
            corrected = await client.call_tool("correct", {"topic": "worse"})
            assert corrected.structured_content == {"topic": "better", "urgent": False}
            assert asked[0] == ("approve: pay 7?", {"type": "boolean"}) and asked[2][1]["description"] == "JSON"

    check()


@pytest.mark.skipif(sys.platform == "win32", reason="signals of Unix")
def test_an_interrupt_ends_the_command_while_it_waits_for_its_client(tmp_path: Path) -> None:
    file = tmp_path / "desk.conc"
    file.write_text(SOURCE)
    words = [sys.executable, "-m", "concerto", "mcp", str(file), "--offline"]
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdin is not None and process.stdout is not None
    client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}
    process.stdin.write(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": client}) + "\n")
    process.stdin.flush()
    assert json.loads(process.stdout.readline())["id"] == 1
    process.send_signal(signal.SIGINT)
    try:
        assert process.wait(30) == 130
    finally:
        process.kill()
        _, told = process.communicate()
    assert told == ""


def test_a_program_on_standard_input_is_refused() -> None:
    words = [sys.executable, "-m", "concerto", "mcp", "-"]
    done = subprocess.run(words, input=SOURCE, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (2, "mcp: standard input is the client's; write the program to a file\n")


@pytest.mark.parametrize("mode", MODES)
def test_over_streamable_http(mode: str, tmp_path: Path) -> None:
    tokens = tmp_path / "tokens"
    tokens.write_text("me 0123456789abcdef\n")

    @in_loop
    async def check() -> None:
        with running(tmp_path, "--tokens", str(tokens), source=SOURCE) as server:
            head = {"authorization": "Bearer 0123456789abcdef"}
            async with httpx2.AsyncClient(headers=head, timeout=30) as http:
                answer, asked = answering(True, None)
                transport = streamable_http_client(f"{server.url}/mcp", http_client=http)
                async with Client(transport, mode=mode, elicitation_callback=answer) as client:
                    await check_client(client)
                    assert (await client.call_tool("pay", {"sum": 7})).content[0].text == "paid 7"
                    declined = await client.call_tool("pay", {"sum": 8})
                    assert declined.is_error and "declined" in declined.content[0].text and len(asked) == 2
                metrics = (await http.get(f"{server.url}/metrics")).text
                assert 'function="pay",status="200"} 1.0' in metrics and "concerto_running 0.0" in metrics
            refused = httpx2.post(f"{server.url}/mcp", json={"jsonrpc": "2.0", "id": 1, "method": "ping"})
            assert refused.status_code == 401
            code, log = server.end()
        assert code == 0 and "Traceback" not in log

    check()


@in_loop
async def test_a_question_is_answered_on_the_page_too() -> None:
    """It stands among the open questions; a client that cannot be asked is told so where nobody answers."""
    app = concerto.asgi(program(SOURCE), offline=True)
    async with Client(server_of(app), mode="legacy") as client:
        refused = await client.call_tool("pay", {"sum": 7})
        assert refused.is_error
    await app.aclose()
    assert app.questions.open == {} and app.admission.running == 0


@pytest.mark.parametrize("mode", MODES)
def test_whoever_answers_a_question_first_does(mode: str) -> None:
    """Before the client, or instead of it: the call goes on, and the client gets its result."""

    @in_loop
    async def check() -> None:
        app = concerto.asgi(program(SOURCE), offline=True)
        never = asyncio.Event()

        async def answer(context: Any, params: Any) -> types.ElicitResult:
            (question,) = app.questions.open.values()
            app.questions.answer(question, "true")
            if mode == "legacy":  # it has not answered yet
                await never.wait()
            return types.ElicitResult(action="accept", content={"answer": True})

        async with Client(server_of(app), mode=mode, elicitation_callback=answer) as client:
            paid = await asyncio.wait_for(client.call_tool("pay", {"sum": 7}), 20)
            assert paid.structured_content == {"result": "paid 7"}
        assert app.questions.open == {} and app.admission.running == 0
        await app.aclose()

    check()


@pytest.mark.parametrize("mode", MODES)
def test_an_answer_that_does_not_fit_is_asked_for_again(mode: str) -> None:
    @in_loop
    async def check() -> None:
        app = concerto.asgi(program(SOURCE), offline=True)
        answer, asked = answering("no JSON", '{"topic": "better"}', *["no JSON"] * 20)
        async with Client(server_of(app), mode=mode, elicitation_callback=answer) as client:
            corrected = await client.call_tool("correct", {"topic": "worse"})
            assert corrected.structured_content == {"topic": "better", "urgent": False}
            assert asked[0][0].startswith("reason: ") and asked[1][0] == f"the answer on reason: {asked[1][0][22:]}"
            assert "no JSON" in asked[1][0] and asked[1][0].endswith(asked[0][0])
            if mode == "legacy":  # the others count themselves
                refused = await client.call_tool("correct", {"topic": "worse"})
                assert refused.is_error and "no JSON" in refused.content[0].text and len(asked) == 5
        await app.aclose()
        assert app.questions.open == {} and app.admission.running == 0

    check()


@pytest.mark.parametrize(
    ("answer", "given"), [("Way", "Yes"), ("Way", '"Yes"'), ("Bytes", '"aGk="'), ("Bytes", "aGk="), ('"a" | "b"', "b")]
)
def test_an_answer_as_json_is_taken_and_so_is_the_name_of_a_variant(answer: str, given: str) -> None:
    source = f"""
    enum Way {{ Yes, No, Later(Int) }}
    channel choose: String -> {answer};
    pub fn ask() -> Result<String> {{ choose("which?")?; "taken" }}
    """

    @in_loop
    async def check() -> None:
        app = concerto.asgi(program(source), offline=True)
        answers, asked = answering(given)
        async with Client(server_of(app), mode="auto", elicitation_callback=answers) as client:
            taken = await client.call_tool("ask", {})
            assert taken.structured_content == {"result": "taken"} and len(asked) == 1
        await app.aclose()

    check()


@in_loop
async def test_a_call_by_another_way_has_no_questions_of_mcp() -> None:
    app = concerto.asgi(program(SOURCE), offline=True)
    plain = await app.calls.begin("0123456789abcdef", Wanted("pay", {"sum": 3}, ANYONE, None), streams=False)
    async with Client(server_of(app), mode="auto") as client:
        params = types.CallToolRequestParams(name="pay", arguments={}, request_state=plain.id)
        answer = await client.session.send_request(types.CallToolRequest(params=params), types.CallToolResult)
        assert answer.is_error and "there is no such call" in answer.content[0].text, answer
    await app.aclose()


@pytest.mark.parametrize("mode", MODES)
def test_the_host_names_the_session_here_too(mode: str) -> None:
    """By its function, not by a header of the client; a parameter bound to the session gets that of the protocol else."""
    source = """
        memory chat { retain: 20 }
        pub fn note(text: String) -> Int { chat.append("user", text); chat.len() }
        pub fn of(session: String) -> String { session }
    """

    @in_loop
    async def check() -> None:
        async def called(app: Any, head: dict[str, str], name: str, arguments: dict[str, Any]) -> Any:
            async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app), headers=head) as http:
                transport = streamable_http_client("http://testserver/mcp", http_client=http)
                async with Client(transport, mode=mode) as client:
                    result = await client.call_tool(name, arguments)
                    (text,) = (await client.read_resource("memory://chat")).contents
                    return result, json.loads(text.text)

        app = concerto.asgi(program(source), offline=True, session_of=lambda request: request.headers.get("x-user"))
        given = [("ada", "ada"), ("eve", "ada"), ("ada", "eve")]
        rows = [await called(app, {"x-user": user, "concerto-session": own}, "note", {"text": "x"}) for user, own in given]
        assert [row[0].structured_content["result"] for row in rows] == [1, 1, 2]
        assert [len(row[1]) for row in rows] == [1, 1, 2]
        await app.aclose()
        app = concerto.asgi(program(source), offline=True, keys={"session": "session"})
        result, _ = await called(app, {"concerto-session": "mine"}, "of", {})
        assert result.structured_content == {"result": "mine"}
        result, _ = await called(app, {}, "of", {})
        if mode == "legacy":  # newer revisions have no session
            assert not result.is_error and result.structured_content["result"], result
        else:
            assert result.is_error and "lacks session" in result.content[0].text
        await app.aclose()

    check()


@in_loop
async def test_a_resource_without_a_place_for_its_session_is_refused_in_words() -> None:
    app = concerto.asgi(program(SOURCE), offline=True, sessions=1)
    async with app.sessions.lent(ANYONE, "another"), httpx2.AsyncClient(transport=httpx2.ASGITransport(app)) as http:
        transport = streamable_http_client("http://testserver/mcp", http_client=http)
        async with Client(transport, mode="legacy") as client:
            with pytest.raises(MCPError, match="^all sessions that are kept are in use$"):
                await client.read_resource("memory://chat")
    await app.aclose()


def test_bound_keys_are_no_arguments(tmp_path: Path) -> None:
    source = "pub fn mine(user: String, n: Int) -> String { \"${user} ${n}\" }"

    @in_loop
    async def check() -> None:
        app = concerto.asgi(program(source), offline=True, keys={"user": "header:X-User"})
        http = httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://t", headers={"x-user": "ada"})
        async with http, Client(streamable_http_client("http://t/mcp", http_client=http)) as client:
            (tool,) = (await client.list_tools()).tools
            assert list(tool.input_schema["properties"]) == ["n"]
            assert (await client.call_tool("mine", {"n": 1})).content[0].text == "ada 1"
            stolen = await client.call_tool("mine", {"n": 1, "user": "eve"})
            assert stolen.is_error and "never from the body" in stolen.content[0].text
        await app.aclose()

    check()
