"""Agents that speak ACP, against real processes: agents by the agent side of the SDK, and hostile ones that write lines
(O-7.38 to O-7.50)."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from acp.schema import (
    CancelNotification,
    InitializeRequest,
    NewSessionRequest,
    PromptRequest,
    ReadTextFileResponse,
    RequestPermissionResponse,
)
from concerto.runtime.agents import acp as speaking
from concerto.runtime.agents.acp import AcpProcess, chosen, lines_of
from concerto.runtime.agents.acp_messages import Misfit
from concerto.runtime.agents.child import Child
from concerto.runtime.agents.files import FileRefused
from concerto.runtime.agents.messages import AgentSettings, Unanswered
from concerto.runtime.errors import CallFailure, ConfigFailure
from concerto.runtime.media import MediaPart
from concerto.vm.values.media import content_of, link_to

from .children import Deaf, arguments, asked, gone, run

AGENT = Path(__file__).parent / "acp_agent.py"
# Published with the TypeScript SDK (npm, @agentclientprotocol/sdk 2.4.0), read on 2026-11-27.
SCHEMA = Path(__file__).parent.parent / "servers/node_modules/@agentclientprotocol/sdk/schema/v1/schema.json"


class Disk:
    """Files of an agent, in memory."""

    reads, writes = True, False

    def __init__(self) -> None:
        self.texts = {"/a": "one\ntwo\n"}

    async def read(self, path: str) -> str:
        if path not in self.texts:
            raise FileRefused(f"{path}: no such file or directory", True)
        return self.texts[path]

    async def write(self, path: str, text: str) -> None:
        raise FileRefused(f"permission denied: fs:write={path}")


class Taped:
    """A child whose input is kept."""

    def __init__(self, child: Child, tape: list[str]) -> None:
        self.child = child
        self.tape = tape

    async def write(self, text: str) -> None:
        self.tape.append(text)
        await self.child.write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.child, name)


def agent(source: str | None = None, *, tape: list[str] | None = None, params: Any = None, **fields: Any) -> AcpProcess:
    """An agent of ACP: by the SDK, or a hostile one with this source."""
    settings = AgentSettings(
        "A", {"connector": "a", **fields}, {}, {"command": "x", "protocol": "acp", "params": params or {}}
    )
    words = [sys.executable, str(AGENT)] if source is None else arguments(source)

    async def launch() -> Child:
        child: Any = Taped(await Child.start(words, {"PATH": os.environ["PATH"]}, "."), [] if tape is None else tape)
        return child

    return AcpProcess(settings, launch, "/work", Disk())  # type: ignore[arg-type]


def texts(found: list[Any]) -> list[Any]:
    return [(one.kind, one.variant, one.message) if isinstance(one, CallFailure) else one[0] for one in found]


# ---------------------------------------------------------------- turns


def test_a_turn_gives_the_last_message_and_the_fields_of_its_end() -> None:
    listener = Deaf()
    (answer,) = asked(agent(), "say=I think=hm say=look work=read say=It's say=.", listener=listener)
    assert answer == ("It's.", {"stopReason": "end_turn", "text": "It's."})
    assert [message["type"] for message in listener.messages] == [
        "agent_message_chunk", "agent_thought_chunk", "agent_message_chunk", "tool_call", "agent_message_chunk",
        "agent_message_chunk",
    ]  # fmt: skip
    assert listener.messages[1] == {"type": "agent_thought_chunk", "content": {"type": "text", "text": "hm"}}


def test_a_message_before_the_last_tool_call_is_the_answer_when_none_follows() -> None:
    assert texts(asked(agent(), "say=done work=tidy", "work=look")) == ["done", ""]


def test_calls_share_one_session_and_a_new_process_has_a_new_one() -> None:
    assert texts(asked(agent(), "count", "count")) == ["1", "2"]
    made = agent()
    assert texts(asked(made, "count")) == texts(asked(made, "count")) == ["1"]


def test_directory_and_params_of_the_session() -> None:
    assert texts(asked(agent(params={"level": 3}), "tell=cwd", "tell=level", "tell=mcp_servers")) == ["/work", "3", "[]"]


def test_the_context_is_a_text_of_its_own() -> None:
    tape: list[str] = []
    asked(agent(tape=tape), "say=x", context=({"a": [1]},))
    blocks = json.loads(tape[2])["params"]["prompt"]
    assert blocks == [{"type": "text", "text": "say=x"}, {"type": "text", "text": 'Context: {"a":[1]}'}]


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        ("refusal", ("AgentError", "ContentFiltered", "A: the agent refuses to go on")),
        ("max_tokens", ("AgentError", "Failed", "A: the agent has stopped at its limit of tokens (max_tokens)")),
        ("max_turn_requests", ("AgentError", "Failed", "A: the agent has stopped at its limit of requests (max_turn_requests)")),
        ("cancelled", ("AgentError", "Cancelled", "A: the agent has cancelled the turn")),
    ],
)
def test_other_ends_of_a_turn_keep_the_process(reason: str, expected: Any) -> None:
    assert texts(asked(agent(), f"stop={reason}", "count")) == [expected, "2"]


def test_formats_belong_to_lines() -> None:
    for field in ("input_format", "output_format"):
        with pytest.raises(ConfigFailure, match='agent A: the protocol "acp" carries no input_format or output_format'):
            agent(**{field: "json"})
    assert agent(output_format="text").settings.speaks_acp


# ---------------------------------------------------------------- what the agent asks


class Person(Deaf):
    """Answers what is asked on a channel; `late` and None stand for nobody."""

    def __init__(self, answer: Any, handler: bool = False) -> None:
        super().__init__(answer=lambda message: answer if message["type"] == "request_permission" else None)
        self.answer = answer
        self.handler = handler
        self.asked: list[Any] = []

    def handles(self, message_type: str) -> bool:
        return self.handler and message_type == "request_permission"

    async def ask(self, channel: str, payload: dict[str, Any]) -> Any:
        self.asked.append((channel, payload))
        if self.answer in ("late", None):
            raise Unanswered(self.answer == "late")
        return self.answer


BOTH = "ask=allow_always,allow_once,reject_always,reject_once"


@pytest.mark.parametrize("handler", [False, True])
@pytest.mark.parametrize(
    ("answer", "kinds", "expected"),
    [
        (True, BOTH, "allow_once"), (False, BOTH, "reject_once"), (None, BOTH, "reject_once"),
        ("allow_always", BOTH, "allow_always"), (False, "ask=allow_once,reject_always", "cancelled"),
    ],
)  # fmt: skip
def test_permissions(handler: bool, answer: Any, kinds: str, expected: str) -> None:
    person = Person(answer, handler)
    assert texts(asked(agent(), kinds, listener=person)) == [expected]
    assert len(person.asked) == (0 if handler else 1)
    for channel, payload in person.asked:
        assert (channel, payload["agent"], payload["toolCall"]) == ("agent:permission", "A", {"toolCallId": "t1"})


def test_no_answer_in_time_is_cancelled() -> None:
    assert texts(asked(agent(), BOTH, listener=Person("late"))) == ["cancelled"]


@pytest.mark.parametrize("answer", ["maybe", 3, {"a": 1}, [True], "True"])
def test_an_answer_that_is_no_option_ends_the_turn(answer: Any) -> None:
    tape: list[str] = []
    ((_, variant, message),) = texts(asked(agent(tape=tape), "ask=allow_once", listener=Person(answer)))
    text = "A: the answer on agent:permission does not fit: expected true, false, nil or the id of an option: allow_once"
    assert (variant, message) == ("Failed", text)
    assert [json.loads(line).get("method") for line in tape[-2:]] == ["session/cancel", None]
    assert json.loads(tape[-1])["result"] == {"outcome": {"outcome": "cancelled"}}


def test_true_needs_an_option_that_allows_once() -> None:
    with pytest.raises(Misfit, match="true means the option of kind allow_once, and there is none"):
        chosen(True, [("a", "allow_always")])
    assert chosen(False, []) is None


def test_a_person_takes_longer_than_the_limit_of_a_prompt() -> None:
    class Slow(Person):
        async def ask(self, channel: str, payload: dict[str, Any]) -> Any:
            timer = made._timer
            assert timer is not None
            assert timer.when() is None  # it does not run
            return True

    made = agent()
    assert texts(asked(made, BOTH, listener=Slow(True))) == ["allow_once"]
    assert made._timer is not None and made._timer.when() is not None


def test_files_are_read_as_far_as_they_may() -> None:
    prompts = ("offered", "read=/a", "read=/b", "read=a", "write=/a", "terminal=ls")
    assert texts(asked(agent(), *prompts)) == [
        "True False", "one\ntwo\n", "-32002 /b: no such file or directory", "-32602 the path is not absolute",
        "-32603 permission denied: fs:write=/a", "-32601",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("first", "most", "expected"),
    [(None, None, "a\nb\nc\n"), (2, None, "b\nc\n"), (2, 1, "b"), (0, 2, "a\nb"), (1, 0, ""), (9, 9, "")],
)
def test_lines_of_a_file(first: int | None, most: int | None, expected: str) -> None:
    assert lines_of("a\nb\nc\n", first, most) == expected


# ---------------------------------------------------------------- what is sent


def test_all_that_is_sent_is_as_the_protocol_says() -> None:
    """By the models of the SDK: each message fits and holds nothing that they do not know."""
    for method, params in sent():
        if method in MODELS:
            model = MODELS[method].model_validate(params)
            assert model.model_dump(mode="json", by_alias=True, exclude_unset=True) == params


@pytest.mark.skipif(not SCHEMA.exists(), reason="the schema of ACP comes with npm: make servers")
def test_all_that_is_sent_fits_the_published_schema() -> None:
    definitions = json.loads(SCHEMA.read_text())["$defs"]
    seen = set()
    for method, params in sent():
        name = MODELS[method].__name__
        jsonschema.validate(params, {"$ref": f"#/$defs/{name}", "$defs": definitions})
        assert set(params) <= set(definitions[name]["properties"])
        seen.add(name)
    assert seen == {model.__name__ for model in MODELS.values()}


MODELS: dict[str, Any] = {
    "initialize": InitializeRequest, "session/new": NewSessionRequest, "session/prompt": PromptRequest,
    "session/cancel": CancelNotification, "permission": RequestPermissionResponse, "read": ReadTextFileResponse,
}  # fmt: skip


def sent() -> list[tuple[str, Any]]:
    """What an agent is sent in turns of all kinds: the method, or the prompt for an answer, and the params or result."""
    tape: list[str] = []
    picture = MediaPart(content_of("image", b"GIF89a\2\0\3\0"), "p.gif", 1)
    link = MediaPart(link_to("document", "https://a.example/b.pdf"), None, 1)

    async def talk() -> None:
        made = agent(tape=tape, params={"level": 3})
        await made.exchange("say=x", ({"a": 1},), Deaf(), (picture, link))
        for answer, prompt in ((True, BOTH), (False, "ask=allow_once"), (None, "read=/a")):
            await made.exchange(prompt, (), Person(answer))
        waiting = asyncio.ensure_future(made.exchange("say=x wait", (), Deaf()))
        while '"say=x wait"' not in tape[-1]:
            await asyncio.sleep(0.01)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting

    run(talk())
    found = []
    for line in tape:
        message = json.loads(line)
        assert line.endswith("}\n") and message["jsonrpc"] == "2.0"
        if "method" in message:
            assert ("id" in message) == (message["method"] != "session/cancel")
            found.append((message["method"], message["params"]))
        else:
            result = message["result"]
            found.append(("permission" if "outcome" in result else "read", result))
    return found


def test_media_go_where_the_agent_takes_them() -> None:
    sound = MediaPart(content_of("audio", b"RIFF\0\0\0\0WAVEfmt "), None, 1)

    async def ask() -> Any:
        made = agent()
        with pytest.raises(CallFailure) as caught:
            await made.exchange("count", (), Deaf(), (sound,))
        answer = await made.exchange("count", (), Deaf())
        await made.stop()
        return caught.value, answer.text

    failure, text = run(ask())
    assert (failure.variant, text) == ("InvalidRequest", "1")
    assert failure.message == "A: media: audio (audio/wav) is not taken by this agent"


# ---------------------------------------------------------------- the end of a turn


def test_a_cancelled_turn_is_told_the_agent_and_the_process_ends() -> None:
    made = agent()

    async def cancelled() -> tuple[int, str]:
        listener = Deaf()
        call = asyncio.ensure_future(made.exchange("say=x wait", (), listener))
        while not listener.messages:
            await asyncio.sleep(0.01)
        child = made._child
        assert child is not None
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        return child.pid, child.stderr

    pid, stderr = run(cancelled())
    assert gone(pid) and "cancelled" in stderr and made._child is None


def test_a_limit_of_time_cancels_the_turn() -> None:
    async def late() -> Any:
        made = agent(timeout=30)
        await made.exchange("count", (), Deaf())
        made.settings.timeout = 0.2
        with pytest.raises(CallFailure) as caught:
            await made.exchange("wait", (), Deaf())
        return caught.value

    failure = run(late())
    assert (failure.kind, failure.message) == ("TimeoutError", "A: no reply within 30 s")
    assert "cancelled" in failure.fields["stderr"]


def test_an_error_of_the_listener_cancels_the_turn() -> None:
    class Broken(Deaf):
        async def on_message(self, message: dict[str, Any]) -> Any:
            raise LookupError("x")

    tape: list[str] = []

    async def broken() -> None:
        made = agent(tape=tape)
        with pytest.raises(LookupError):
            await made.exchange("say=x wait", (), Broken())
        assert made._child is None

    run(broken())
    assert json.loads(tape[-1])["method"] == "session/cancel"


# ---------------------------------------------------------------- hostile agents

GREETS = """
import json, os, sys, time
def say(**message): print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)
def heard(): return json.loads(sys.stdin.readline())
say(id=heard()["id"], result={"protocolVersion": 1})
say(id=heard()["id"], result={"sessionId": "s1"})
prompt = heard()["id"]
def update(**fields): say(method="session/update", params={"sessionId": "s1", "update": fields})
"""
END = "\nsay(id=prompt, result={'stopReason': 'end_turn'})\ninput()"
PROTOCOL = ("AgentError", "Protocol")

HOSTILE: dict[str, tuple[str, Any]] = {
    "garbage": ("print('hello, I am npm', flush=True); input(); input()", "a line is no message of ACP"),
    "a number": ("print('1', flush=True); input(); input()", "a line is no message of ACP"),
    "a batch": ("print('[]', flush=True); input(); input()", "a line is no message of ACP"),
    "no UTF-8": ("sys.stdout.buffer.write(bytes([255, 10])); sys.stdout.flush(); input(); input()", "a line is no UTF-8"),
    "an endless line": ("import sys\nwhile True: sys.stdout.write('x' * 100_000)", "a line is longer than 1 MiB"),
    "a version of tomorrow": (
        """input(); print('{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":2}}', flush=True); input()""",
        "it speaks version 2 of ACP, Concerto version 1",
    ),
    "deep JSON": (GREETS + "print('[' * 100_000 + ']' * 100_000, flush=True); input()", "a line is no message of ACP"),
    "a deep object": (GREETS + "print('{\"a\":' * 99 + '1' + '}' * 99, flush=True); input()", "a line is no message of ACP"),
    "wide JSON": (GREETS + "print('[' + '1,' * 300_000 + '1]', flush=True); input()", "a line is no message of ACP"),
    "doubled keys": (GREETS + """print('{"id":2,"id":2,"result":{}}', flush=True); input()""", "a line is no message of ACP"),
    "an id of another request": (GREETS + "say(id=7, result={}); input()", "a line answers a request that is not on its way"),
    "an id that is a text": (GREETS + "say(id='2', result={}); input()", "a line answers a request that is not on its way"),
    "a list as id": (GREETS + "say(id=[2], result={}); input()", "a line is no message of ACP"),
    "true as id": (GREETS + "say(id=True, result={}); input()", "a line is no message of ACP"),
    "an error of no form": (GREETS + "say(id=prompt, error=[1]); input()", "a line is no message of ACP"),
    "params of no form": (GREETS + "say(method='session/update', params=[1]); input()", "a line is no message of ACP"),
    "no stop reason": (
        GREETS + "say(id=prompt, result={}); input()",
        "the answer to `session/prompt` is not what ACP says: stopReason: Field required",
    ),
    "too much text": (
        GREETS + "while True: update(sessionUpdate='agent_message_chunk', content={'type': 'text', 'text': 'x' * 100_000})",
        "the text of a turn is longer than 1 MiB",
    ),
}


@pytest.mark.parametrize("shape", HOSTILE)
def test_a_hostile_agent_is_a_protocol_error_and_leaves_nothing(shape: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(speaking, "CANCEL_GRACE", 0.05)
    source, message = HOSTILE[shape]
    made = agent("import os, sys; sys.stderr.write(str(os.getpid()) + '\\n'); sys.stderr.flush()\n" + source)
    (failure,) = asked(made, "x")
    assert (failure.kind, failure.variant, failure.message) == (*PROTOCOL, f"A: {message}")
    assert gone(int(failure.fields["stderr"].split()[0])) and made._child is None


ODD: dict[str, tuple[str, list[dict[str, Any]]]] = {
    "no update": ("say(method='session/update', params={'sessionId': 's1'})", [{"sessionId": "s1", "type": "session/update"}]),
    "an update of no form": (
        "say(method='session/update', params={'update': 3})", [{"update": 3, "type": "session/update"}],
    ),
    "a chunk without content": ("update(sessionUpdate='agent_message_chunk')", [{"type": "agent_message_chunk"}]),
    "a chunk of no form": (
        "update(sessionUpdate='agent_message_chunk', content={'type': 'text', 'text': 7})",
        [{"type": "agent_message_chunk", "content": {"type": "text", "text": 7}}],
    ),
    "an update of tomorrow": ("update(sessionUpdate='mood', level=3)", [{"type": "mood", "level": 3}]),
    "no params": ("say(method='_mood')", [{"type": "_mood"}]),
    "another session": (
        "say(method='session/update', params={'sessionId': 's2', 'update': "
        "{'sessionUpdate': 'agent_message_chunk', 'content': {'type': 'text', 'text': 'x'}}})",
        [{"type": "agent_message_chunk", "content": {"type": "text", "text": "x"}}],
    ),
}  # fmt: skip


@pytest.mark.parametrize("shape", ODD)
def test_what_is_odd_is_told_as_it_came(shape: str) -> None:
    source, messages = ODD[shape]
    listener = Deaf()
    assert texts(asked(agent(GREETS + source + END), "x", listener=listener)) == [""]
    assert listener.messages == messages


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("session/request_permission", {}), ("session/request_permission", {"sessionId": "s1", "toolCall": 1, "options": 1}),
        ("session/request_permission", {"sessionId": "s2", "toolCall": {"toolCallId": "t"}, "options": []}),
        ("fs/read_text_file", {"sessionId": "s1"}), ("fs/read_text_file", {"sessionId": "s1", "path": ["/a"]}),
        ("fs/read_text_file", {"sessionId": "s2", "path": "/a"}), ("fs/write_text_file", {"sessionId": "s1", "path": "/a"}),
    ],
)  # fmt: skip
def test_requests_that_do_not_fit_are_answered_with_an_error(method: str, params: Any) -> None:
    asks = f"say(id='q', method={method!r}, params={params!r}); got = heard()"
    source = f"{GREETS}{asks}\nupdate(sessionUpdate='got', got=got){END}"
    listener = Deaf()
    assert texts(asked(agent(source), "x", listener=listener)) == [""]
    (told,) = listener.messages
    assert (told["got"]["id"], told["got"]["error"]["code"]) == ("q", -32602)


def test_a_handler_may_answer_a_method_of_the_agent() -> None:
    source = GREETS + "say(id=5, method='_x/y', params={'n': 1}); got = heard()\nupdate(sessionUpdate='got', got=got)" + END
    listener = Deaf(answer=lambda message: {"m": 2} if message["type"] == "_x/y" else None)
    asked(agent(source), "x", listener=listener)
    assert listener.messages[0] == {"type": "_x/y", "n": 1}
    assert listener.messages[1]["got"]["result"] == {"m": 2}


def test_one_that_never_answers_names_what_was_waited_for() -> None:
    (failure,) = asked(agent("import time; time.sleep(600)", timeout=0.5), "x")
    assert (failure.kind, failure.message) == ("TimeoutError", "A: no answer to `initialize` within 0.5 s")


def test_one_that_exits_says_why() -> None:
    (failure,) = asked(agent("import sys; input(); sys.exit('no key')"), "x")
    assert (failure.variant, failure.fields["exit_code"]) == ("Exited", 1)
    assert failure.message == "A: the agent exited with code 1 before it answered; its stderr ends: no key"
    (failure,) = asked(agent(GREETS + "os._exit(3)"), "x")
    assert (failure.variant, failure.fields["exit_code"]) == ("Exited", 3)


LOGIN = "error={'code': -32000, 'message': 'Authentication required'}"


def test_a_login_is_wanted() -> None:
    ways = "{'protocolVersion': 1, 'authMethods': [{'id': 'k', 'name': 'Log in with a browser'}]}"
    source = GREETS.replace("{\"protocolVersion\": 1}", ways).replace('result={"sessionId": "s1"}', LOGIN)
    (failure,) = asked(agent(source), "x")
    assert (failure.kind, failure.variant) == ("ConnectionError", "AuthenticationFailed")
    assert failure.message == (
        "A: the agent wants a login (Log in with a browser): start it by hand once and log in there; "
        "it says: Authentication required"
    )
    source = f"{GREETS}say(id=prompt, {LOGIN})\nprompt = heard()['id']{END}"
    first, second = texts(asked(agent(source), "x", "y"))
    assert first[:2] == ("ConnectionError", "AuthenticationFailed") and second == ""


@pytest.mark.parametrize(
    ("error", "message"),
    [
        ({"code": -32603, "message": "Internal error", "data": {"details": "no"}}, 'A: Internal error {"details":"no"}'),
        ({}, "A: the agent gave no message"), ({"code": "x", "message": 4}, "A: the agent gave no message"),
    ],
)  # fmt: skip
def test_an_error_of_a_prompt_keeps_the_process(error: Any, message: str) -> None:
    source = f"{GREETS}say(id=prompt, error={error!r})\nprompt = heard()['id']{END}"
    assert texts(asked(agent(source), "x", "y")) == [("AgentError", "Failed", message), ""]


def test_an_agent_that_does_not_end_its_turn_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(speaking, "CANCEL_GRACE", 0.05)
    asks = "while True: say(id='q', method='session/request_permission'); time.sleep(0.01)"
    source = f"{GREETS}update(sessionUpdate='on')\n{asks}"
    tape: list[str] = []
    made = agent(source, tape=tape)

    async def cancelled() -> int:
        listener = Deaf()
        call = asyncio.ensure_future(made.exchange("x", (), listener))
        while not listener.messages:
            await asyncio.sleep(0.01)
        assert made._child is not None
        pid = made._child.pid
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        return pid

    assert gone(run(cancelled()))
    methods: list[Callable[[str], Any]] = [json.loads(line).get("method") for line in tape]
    assert "session/cancel" in methods
