"""Events of memories, as a host hears them (M-6.25, M-6.28, M-6.29)."""

from __future__ import annotations

from typing import Any

import concerto

TOOLS = """
/// Sums.
tool T {
    /// What follows one.
    pub fn next(self) -> Int { 1 + 1 }
}
memory log: Memory = Memory::new(tools: true);
model M { provider: openai, base: "m-1", memory: log, tools: [T] }
pub fn ask(q: String) -> Result<String, AgentError> { Ok(M.execute(q)?.text) }
pub fn read(q: String) -> Result<String, AgentError> { Ok(M.with_memory(log, auto: false).execute(q)?.text) }
fn main() { }
"""
CALL = {"tool_calls": [{"tool": "T.next", "arguments": {}}]}


def heard(session: Any, *channels: str) -> list[tuple[str, Any]]:
    """Grows with what is emitted on these channels."""
    found: list[tuple[str, Any]] = []
    for channel in channels:
        session.on(channel, lambda value, channel=channel: found.append((channel, value)))
    return found


def test_each_reply_of_a_run_is_a_step() -> None:
    with concerto.compile(TOOLS).session(offline=True, offline_script=[CALL, "two", "read"]) as session:
        events = heard(session, "memory:step", "memory:commit")
        assert (session.call("ask", "q"), session.call("read", "r")) == ("two", "read")
    assert [channel for channel, _ in events] == ["memory:step", "memory:commit", "memory:step"]
    first, commit, last = (value for _, value in events)
    assert (first["memory"], first["round"], last["round"]) == ("log", 1, 2)
    assert [message["role"] for message in first["appended"]] == ["assistant", "tool"]
    assert first["appended"][1]["content"] == "2"
    assert last["appended"] == [{"role": "assistant", "content": "two"}]
    assert first["run"] == commit["run"] == last["run"] and commit["seqs"] == [0, 1, 2, 3]


LIMITS = """
memory small: Memory = Memory::new().tokens(30);
memory forked: Memory = Memory::new().on_conflict(Fork);
memory once: Memory = Memory::new().on_conflict(Reject);
model M { provider: openai, base: "m-1" }
pub fn overflow(q: String) -> Result<String, AgentError> { Ok(M.with_memory(small).execute(q)?.text) }
pub async fn both() -> Int {
    let _ = await (M.with_memory(forked).execute("1"), M.with_memory(forked).execute("2"));
    let _ = await (M.with_memory(once).execute("1"), M.with_memory(once).execute("2"));
    forked.branches().len()
}
fn main() { }
"""


def test_overflow_and_conflict() -> None:
    with concerto.compile(LIMITS).session(offline=True, offline_script=list("abcde")) as session:
        events = heard(session, "memory:overflow", "memory:conflict")
        session.call("overflow", "short")
        assert events == []
        session.call("overflow", "long " * 40)
        assert session.call("both") == 1
    (_, overflow), (_, fork), (_, reject) = events
    assert overflow["needed"] == 54 and overflow["budget"] == 30
    assert (fork["memory"], fork["expected"], fork["actual"]) == ("forked", 0, 1)
    assert fork["branch"].startswith("conflict-") and reject["branch"] is None and reject["memory"] == "once"


FOLDS = """
fn joined(previous: String, new: Array<Message>) -> Result<String, String> {
    if new[0].content == "bad" { Err("no") } else { Ok("${previous}${new.len()}") }
}
memory log: Memory = Memory::new().summary(joined, every: 1);
model M { provider: openai, base: "m-1", memory: log }
pub fn ask(q: String) -> Result<String, AgentError> { Ok(M.execute(q)?.text) }
fn main() { }
"""


def test_summaries_and_their_failures() -> None:
    with concerto.compile(FOLDS).session(offline=True, offline_script=["a", "b"]) as session:
        events = heard(session, "memory:summary", "memory:summary_failed")
        session.call("ask", "good")
        session.call("ask", "bad")
    (_, folded), (_, failed) = events
    assert (folded["upto"], folded["tokens"], folded["memory"], folded["key"][1]) == (1, 5, "log", "log")
    assert failed["reason"] == "no"
