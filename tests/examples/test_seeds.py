"""The examples of `examples/seeds` on the wire: a server that keeps the provider's rules gets exactly the messages the documents
describe, in their order, over several turns."""

from __future__ import annotations

from pathlib import Path

import concerto

from ..providers.mocks import OpenAIChat, Said

SEEDS = Path(__file__).resolve().parents[2] / "examples" / "seeds"


class Scripted(OpenAIChat):
    """Answers by what the prompt ends with; the second step asks for the board first."""

    def think(self, body):
        last = body["messages"][-1]
        if last["role"] == "user" and last["content"].startswith("Update the summary."):
            return Said(f"plan {sum(_is_fold(one) for one in self.seen)}")
        if last["role"] == "user" and last["content"].endswith("step 2"):
            return Said(calls=[("call_1", "Board__read", {})])
        if last["role"] == "tool":
            return Said("done 2")
        return Said(f"done {last['content'].rpartition(' ')[2]}")


def _is_fold(body):
    return body["messages"][-1]["content"].startswith("Update the summary.")


def _shown(body):
    return [(one["role"], one.get("content") or "") for one in body["messages"]]


def _session(name: str, server: OpenAIChat):
    program = concerto.compile(path=SEEDS / name / "main.conc")
    openai = {"provider": "openai", "api": "chat", "base_url": server.url, "api_key": "k"}
    return program.session(connections={"openai": openai})


def test_ashagent() -> None:
    """M-13.71, M-13.73, M-13.74, M-13.80 to M-13.84"""
    with Scripted() as server:
        with _session("ashagent", server) as session:
            session.run()
        assert server.broken == ["chat-effort"]  # what the provider wants said beside tools is learnt from its first refusal
    said = [("user" if n % 2 == 0 else "assistant", f"{'step' if n % 2 == 0 else 'done'} {n // 2 + 1}") for n in range(10)]
    instruction = "Update the summary. Keep names, numbers, decisions and open questions. Reply with the summary only."
    plan = "[summary] plan 1\n\n"
    lines = "\n".join(f"{role}: {text}" for role, text in said[:6])
    assert [_shown(body) for body in server.seen[1:]] == [
        [("user", "step 1")],
        [*said[:2], ("user", "step 2")],
        [*said[:2], ("user", "step 2"), ("assistant", ""), ("tool", "three tasks")],
        [*said[:4], ("user", "step 3")],
        [("user", f"{instruction}\n\n{lines}")],
        [*said[:6], ("user", f"{plan}step 4")],
        [*said[:8], ("user", f"{plan}step 5")],
    ]


def test_concerto() -> None:
    """M-13.4, M-13.5, M-13.3"""
    system = ("system", "You are a helpful assistant.")
    with Scripted() as server:
        with _session("concerto", server) as session:
            session.run()
        assert server.broken == []
    shown = [_shown(body) for body in server.seen]
    assert shown[0] == [system, ("user", "What is Rust?")]
    assert shown[1] == [
        system, ("user", "What is Rust?"), ("assistant", "done Rust?"), ("user", "How does its borrow checker work?"),
    ]  # fmt: skip
    assert shown[2][1:] == [
        ("system", "The user is working on a Rust project."), ("user", "I have a Vec<String> that I need to sort."),
        ("assistant", "You can use .sort() for in-place sorting."), ("user", "Now how do I deduplicate it?"),
    ]  # fmt: skip
    questions = [[("user", f"Question {n}"), ("assistant", f"done {n}")] for n in range(100)]
    for number in (0, 1, 9, 10, 11, 50, 99):
        kept = [one for turn in questions[max(0, number - 10) : number] for one in turn]
        assert shown[3 + number] == [system, *kept, ("user", f"Question {number}")]
    assert len(shown) == 103
