"""Calls that models take over from one another, over random scripts of replies and faults (O-1.234, O-1.235): a memory gets one
turn or none, budgets hold, no result of a tool is lost, every takeover is told, and the error names who was asked."""

from __future__ import annotations

import random
from typing import Any

import concerto
import pytest

PROGRAM = concerto.compile("""
    schema N { n: Int }
    tool Clock {
        description: "tells the time",
        /// The time.
        pub fn now(self) -> String { emit("asked", nil); "noon" }
    }
    memory log { tools: true }
    @retry(max: 2, backoff: "none")
    model A { provider: offline, max_tokens: 10, memory: log, tools: [Clock], fallback: [B, C],
              fallback_on: ["rate_limit", "server", "connection", "timeout", "not_found", "schema", "refusal"] }
    @retry(max: 1)
    model B { provider: offline, max_tokens: 10, structured: "tool" }
    @retry(max: 2, backoff: "none")
    model C { provider: offline, max_tokens: 10, structured: "prompt" }

    pub fn plain() -> Result<String, AgentError> { Ok(A.execute("hi")?.model) }
    pub fn streamed() -> Result<String, AgentError> {
        let s = A.stream("hi")?;
        for _ in s { }
        Ok(s.response().model)
    }
    pub fn typed() -> Result<Int, AgentError> { Ok(A.execute_with_schema<N>("hi")?.n) }
    pub fn kept() -> Array<String> { log.messages().map(|m| m.role) }
    pub fn times() -> Int { log.messages().filter(|m| m.content == "noon").len() }
""")
REPLIES: list[Any] = [
    {"text": '{"n": 7}', "tokens_out": 4}, {"text": "no", "tokens_out": 1},
    {"tool_calls": [{"tool": "Clock.now", "arguments": {}}], "tokens_out": 3},
    {"tool_calls": [{"tool": "respond", "arguments": {"n": 7}}]},
    *({"error": fault} for fault in ("rate_limit", "server", "connection", "timeout", "not_found", "refusal", "auth")),
]  # fmt: skip


@pytest.mark.parametrize("seed", range(150))
def test_one_turn_or_none(seed: int) -> None:
    chance = random.Random(seed)
    weights = [chance.random() for _ in REPLIES]
    script = chance.choices(REPLIES, weights, k=40)
    tokens, calls = chance.randint(40, 900), chance.randint(2, 30)
    told: list[Any] = []
    asked: list[Any] = []
    with PROGRAM.session(offline_script=script, budgets=concerto.Budgets(tokens=tokens, model_calls=calls)) as session:
        session.on("model:fallback", told.append)
        session.on("asked", asked.append)
        kept: list[str] = []
        for _ in range(5):
            before, looked = len(told), len(asked) - session.call("times")
            failure = None
            way = chance.choice(["plain", "streamed", "typed"])
            try:
                session.call(way)
            except concerto.ProgramError as failed:
                failure = failed.error
            takers = [payload["to"] for payload in told[before:]]
            assert takers == ["B", "C"][: len(takers)]
            assert [payload["from"] for payload in told[before:]] == ["A", "B"][: len(takers)]
            now = session.call("kept")
            if failure is None:
                assert now[: len(kept)] == kept and now[len(kept)] == "user" and now[-1] == "assistant"
                rounds = now[len(kept) + 1 : -1]
                assert rounds == ["assistant", "tool"] * (len(rounds) // 2)
                # of the attempts of a schema call only the last one's rounds stand in the turn
                lost = len(asked) - session.call("times") - looked
                assert lost >= 0 if way == "typed" else lost == 0
                assert now.count("user") == kept.count("user") + 1
            else:
                assert now == kept
                names = f" (models tried: {', '.join(['A', *takers])})"
                loop = failure.variant == "ToolLoopLimit"
                assert failure.message.endswith(names) is (bool(takers) and not loop), failure.message
            kept = now
        metrics = session.metrics()
        assert metrics.model_calls <= calls and metrics.total_tokens <= tokens
