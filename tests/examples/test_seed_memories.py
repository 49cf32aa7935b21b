"""The programs of examples/seeds that are about conversation memories, on the wire: exactly the messages that the documents of
selectools and Gumbee say each request holds, in order; and their own tests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import concerto
import pytest
from concerto.cli.main import main

from ..providers.mocks import Json, OpenAIChat, Said

SEEDS = Path(__file__).resolve().parents[2] / "examples" / "seeds"
CHANNELS = ("recent", "restored", "appended", "kept", "response")
PROGRAMS = ["selectools/memory.conc", "gumbee/simple_memory.conc"]


class Scripted(OpenAIChat):
    """Says one thing after another, to requests whose tool results follow their calls."""

    def __init__(self, said: list[Said]) -> None:
        super().__init__()
        self.said = said

    def check(self, body: Json, headers: Json) -> None:
        self.check_pairs(body["messages"])

    def think(self, body: Json) -> Said:
        return self.said.pop(0)


def ran(name: str, said: list[Said], folder: Path, monkeypatch: Any) -> tuple[list[list[Any]], list[tuple[str, Any]]]:
    """The messages of each request, short, and what the program emitted."""
    monkeypatch.chdir(folder)
    program = concerto.compile((SEEDS / name).read_text(encoding="utf-8"))
    emitted: list[tuple[str, Any]] = []
    with Scripted(said) as server:
        lab = {"provider": "openai", "api": "chat", "api_key": "key-of-the-tests", "base_url": server.url}
        with program.session(connections={"openai": lab}, permissions=concerto.Permissions(all=True)) as session:
            for channel in CHANNELS:
                session.on(channel, lambda value, channel=channel: emitted.append((channel, value)))
            session.run()
        assert server.broken == [] and server.said == []
        return [[short(message) for message in body["messages"]] for body in server.seen], emitted


def short(message: Json) -> tuple[str, Any]:
    calls = message.get("tool_calls")
    if calls:
        return "calls", [(call["id"], call["function"]["name"], json.loads(call["function"]["arguments"])) for call in calls]
    return message["role"], message["content"] if message["role"] != "tool" else (message["tool_call_id"], message["content"])


def test_selectools(tmp_path, monkeypatch):
    """Flow: history, the new messages, and within a run each call with its result; at the end the final response is added."""
    said = [
        Said("Hello Alice"), Said("Alice"), Said(calls=[("c1", "Calculator__add", {"a": 2, "b": 2})]), Said("4"),
    ]  # fmt: skip
    requests, emitted = ran("selectools/memory.conc", said, tmp_path, monkeypatch)
    first = [("user", "My name is Alice")]
    second = [*first, ("assistant", "Hello Alice"), ("user", "What's my name?")]
    third = [*second, ("assistant", "Alice"), ("user", "What's 2+2?")]
    called = [("calls", [("c1", "Calculator__add", {"a": 2, "b": 2})]), ("tool", ("c1", "4"))]
    assert requests == [first, second, third, [*third, *called]]
    recent = [text for channel, text in emitted if channel == "recent"]
    assert recent == ["assistant: Alice", "user: What's 2+2?", "assistant: ", "tool: 4", "assistant: 4"]
    assert ("restored", 8) in emitted
    saved = json.loads((tmp_path / "conversation.json").read_text(encoding="utf-8"))
    assert (saved["limits"]["retain"], saved["limits"]["retain_tokens"], saved["count"]) == (20, 4000, 8)
    assert saved["messages"][0] == {"role": "user", "content": "My name is Alice"} and len(saved["messages"]) == 8


def test_gumbee(tmp_path, monkeypatch):
    """Its own system message first, then all of the memory, then what the steps of this run made; a fresh memory begins empty."""
    called = ("calls", [("c1", "Weather__now", {"city": "Tokyo"})]), ("tool", ("c1", "72F in Tokyo"))
    said = [
        Said(calls=[("c1", "Weather__now", {"city": "Tokyo"})]),
        *map(Said, ("It's 72F in Tokyo.", "Where were we?", "Cold.")),
    ]
    requests, emitted = ran("gumbee/simple_memory.conc", said, tmp_path, monkeypatch)
    history = [("user", "Hello"), ("assistant", "Hi there!")]
    asked = [*history, ("user", "What's the weather in Tokyo?")]
    whole = [*asked, *called, ("assistant", "It's 72F in Tokyo."), ("user", "Continue our conversation")]
    system = ("system", "An assistant")
    assert requests == [[system, *asked], [system, *asked, *called], [system, *whole], [("user", "And in Oslo?")]]
    assert [role for channel, role in emitted if channel == "appended"] == ["user", "assistant", "tool", "assistant"]
    assert ("kept", [2, 0]) in emitted and ("response", "Cold.") in emitted


@pytest.mark.parametrize("name", PROGRAMS)
def test_their_own_tests_pass(name, capsys):
    assert main(["test", str(SEEDS / name)]) == 0
    assert "0 failed" in capsys.readouterr().out
