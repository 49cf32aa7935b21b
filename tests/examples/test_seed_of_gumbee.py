"""The custom strategies of Gumbee's document on the wire: a local server that keeps its provider's rules sees exactly the
messages that the document says, in order.

What is expected is computed here as the document's own classes do: an array that is sliced when it is read, the prompt in it.
"""

from __future__ import annotations

from typing import Any

import concerto
import pytest

from ..command import EXAMPLES
from ..providers.mocks import OpenAIChat, Said

SEED = EXAMPLES / "seeds" / "gumbee"


class Server(OpenAIChat):
    """It says what it was asked, calls the weather once, and summarizes in one word."""

    def check(self, body: Any, headers: Any) -> None:
        self.check_pairs(body["messages"])  # gpt-4o has no rules about effort

    def think(self, body: Any) -> Said:
        last = body["messages"][-1]
        if body["model"] == "gpt-4o-mini":
            return Said("SHORT")
        if "weather" in (last["content"] or ""):
            return Said(calls=[("call_1", body["tools"][0]["function"]["name"], {"city": "Tokyo"})])
        return Said(f"echo {last['content']}")


@pytest.fixture
def server():
    with Server() as server:
        yield server
        assert server.broken == []


def session(server: Server, name: str) -> concerto.Session:
    program = concerto.compile((SEED / name).read_text(encoding="utf-8"))
    fields = {"api": "chat", "api_key": "key-of-the-tests", "base_url": server.url}
    return program.session(connections={"openai": fields})


def texts(body: Any) -> list[tuple[str, str]]:
    return [(message["role"], message["content"]) for message in body["messages"]]


def earlier(count: int) -> list[tuple[str, str]]:
    return [("assistant", f"a{i}") if i % 2 else ("user", f"q{i}") for i in range(count)]


@pytest.mark.parametrize("count", [0, 2, 18, 19, 20, 24, 41])
def test_older_messages_are_summarized_by_a_model_when_they_are_read(server, count):
    """`maxMessages: 20`; the prompt was stored before the memory is read."""
    with session(server, "summarizing.conc") as made:
        assert made.call("after", count) == "echo And now?"
    held = [*earlier(count), ("user", "And now?")]
    cutoff = len(held) - 20
    *asked, sent = server.seen
    if cutoff <= 0:
        assert (asked, texts(sent)) == ([], held)
        return
    (summarizing,) = asked
    old = "\n".join(f"{role}: {content}" for role, content in held[:cutoff])
    assert texts(summarizing) == [("user", f"Summarize this conversation concisely:\n{old}")]
    assert texts(sent) == [("user", "[Previous conversation summary: SHORT]"), *held[cutoff:]]


@pytest.mark.parametrize("count", [0, 28, 29, 30, 41])
def test_only_the_newest_messages_are_sent(server, count):
    with session(server, "sliding_window.conc") as made:
        made.call("after", count)
    assert texts(server.seen[0]) == [*earlier(count), ("user", "And now?")][-30:]


def test_each_step_is_told_with_its_finish_and_what_it_appended(server):
    told: list[Any] = []
    with session(server, "step_events.conc") as made:
        made.on("agent-step-end", told.append)
        made.on("response", lambda text: told.append(text))
        assert made.call("ask", "the weather?") == "echo 72°F in Tokyo"
        assert made.call("ask_alone", "alone?") == "echo alone?"
    assert [body["messages"][-1]["role"] for body in server.seen] == ["user", "tool", "user"]
    assert texts(server.seen[2]) == [("user", "alone?")]
    assert told == [
        {"step": 1, "finishReason": "tool", "appended": ["assistant", "tool"]},
        {"step": 2, "finishReason": "stop", "appended": ["assistant"]},
        "echo 72°F in Tokyo",
        {"step": 1, "finishReason": "stop", "appended": ["assistant"]},
    ]


def test_run_before_agent_before_none_and_no_system_message_of_a_memory(server):
    with session(server, "per_run.conc") as made:
        made.call("by_default", "Go on")
        made.call("by_run", "Continue our conversation")
        made.call("with_none", "Who are you?")
    system = ("system", "An assistant")
    assert [texts(body) for body in server.seen] == [
        [system, ("user", "Hello"), ("assistant", "Hi there!"), ("user", "Go on")],
        [system, ("user", "We talked about lamps."), ("assistant", "We did."), ("user", "Continue our conversation")],
        [system, ("user", "Who are you?")],
    ]
