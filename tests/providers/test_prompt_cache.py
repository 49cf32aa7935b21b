"""What is said to providers of their prompt caches (O-1.220), against mocks that bill by the published rules."""

from __future__ import annotations

from typing import Any

import concerto
import pytest

from ..oracles import check_request
from .mocks import Anthropic, Broken, OpenAIChat, OpenAIResponses, Said, cache_blocks

Json = dict[str, Any]
KEY = {"api_key": "key-of-the-tests"}
SYSTEM = "You answer questions of customers of a shop that sells lamps. " * 90
SOURCE = """
    connect lab { provider: "PROVIDER", base_url: "http://127.0.0.1:9/v1" }
    schema N { n: Int }
    /// The sky.
    tool Sky {
        /// The weather at a place.
        @param("place", "the place")
        pub fn at(self, place: String) -> String { "sunny at ${place}. ".repeat(300) }
    }
    memory all: Memory = Memory::new();
    memory units: Memory = Memory::new(tools: true);
    memory full: Memory = Memory::new(6);
    memory low: Memory = Memory::new().window(12, low: 4);
    memory topics: Memory = Memory::new().summary(|old, new| "of ${new.len()}", every: 6);
    model M { provider: lab, base: "m-1", system_prompt: SETUP CACHE }
    model T { provider: lab, base: "m-1", tools: [Sky] CACHE }
    fn memory_of(name: String) -> Memory { match name { "all" => all, "full" => full, "low" => low, _ => units } }
    pub fn ask(of: String, text: String) -> Result<Array<Int>, AgentError> {
        let r = M.with(memory: memory_of(of)).execute(text)?;
        Ok([r.tokens_in, r.tokens_cached, r.tokens_cache_write])
    }
    pub fn alone(text: String) -> Result<Array<Int>, AgentError> {
        let r = M.execute(text)?;
        Ok([r.tokens_in, r.tokens_cached, r.tokens_cache_write])
    }
    pub fn with_tools(of: String, text: String) -> Result<Array<Int>, AgentError> {
        let r = T.with(memory: memory_of(of)).execute(text)?;
        Ok([r.tokens_in, r.tokens_cached, r.tokens_cache_write])
    }
    pub fn told(context: String) -> Result<String, AgentError> { Ok(M.with_context(context).execute("Hello?")?.text) }
    pub fn number(of: String, text: String) -> Result<Int, AgentError> {
        Ok(M.with(memory: memory_of(of), structured: "prompt").execute_with_schema<N>(text)?.n)
    }
"""
ANTHROPIC = {"provider": "anthropic"}


def program(provider: str, cache: str = "", system: str = SYSTEM) -> concerto.Program:
    return concerto.compile(SOURCE.replace("PROVIDER", provider).replace("SETUP", f'"{system}"').replace("CACHE", cache))


def session_on(mock: Any, fields: Json = ANTHROPIC, cache: str = "", **more: Any) -> concerto.Session:
    return program(fields["provider"], cache, **more).session(connections={"lab": {**KEY, **fields, "base_url": mock.url}})


def marks(body: Json) -> list[int]:
    """How many blocks stand up to each breakpoint."""
    return [number for number, (_, marked) in enumerate(cache_blocks(body), 1) if marked]


def question(number: int) -> str:
    return f"Question {number}: " + "what of the lamp in the hall? " * 20


def test_a_conversation_is_written_once_and_read_from_then_on() -> None:
    with Anthropic() as mock, session_on(mock) as session:
        counts = [session.call("ask", "all", question(number)) for number in range(30)]
        for body in mock.seen:
            check_request("anthropic", body)
    assert mock.broken == []
    reads = [read for _, read, _ in counts]
    assert reads[0] == 0 and reads[1] > 1000 and reads == sorted(reads)
    for (total, _, _), (_, read, _) in zip(counts, counts[1:], strict=False):
        assert read >= total - 1  # all that the request before had
    # Each token of the conversation is written once.
    assert sum(written for _, _, written in counts) <= counts[-1][0]


def test_a_full_window_is_not_written_again_and_again() -> None:
    """What moves with each turn is never read: only the system message is kept."""
    with Anthropic() as mock, session_on(mock) as session:
        counts = [session.call("ask", "full", question(number)) for number in range(20)]
    system = counts[0][0] - counts[0][2]
    assert all(written == 0 and read > 1000 for _, read, written in counts[6:]), (system, counts)
    assert {tuple(marks(body)) for body in mock.seen[6:]} == {(1,)}


def test_a_window_with_a_low_mark_is_kept_between_its_cuts() -> None:
    with Anthropic() as mock, session_on(mock) as session:
        counts = [session.call("ask", "low", question(number)) for number in range(24)]
    reads = sum(read for _, read, _ in counts[4:]) / sum(total for total, _, _ in counts[4:])
    assert reads > 0.8 and all(len(marks(body)) >= 2 for body in mock.seen)


def test_a_call_without_memory_keeps_its_system_message_only() -> None:
    with Anthropic() as mock, session_on(mock) as session:
        first, second = session.call("alone", question(1)), session.call("alone", question(2))
    assert [marks(body) for body in mock.seen] == [[1], [1]]
    assert first[2] > 1000 and (second[1], second[2]) == (first[2], 0)


def test_a_system_message_that_changes_with_each_call_is_not_kept() -> None:
    with Anthropic() as mock, session_on(mock) as session:
        for number in range(6):
            session.call("told", f"It is {number} o'clock.")
    assert [len(marks(body)) for body in mock.seen] == [1, 1, 0, 0, 0, 0]


def test_the_rounds_of_a_call_are_kept() -> None:
    class Looking(Anthropic):
        def think(self, body: Json) -> Said:
            rounds = sum(block["type"] == "tool_result" for m in body["messages"] if m["role"] == "user" for block in (
                m["content"] if isinstance(m["content"], list) else []
            ))  # fmt: skip
            return Said("done") if rounds >= 4 else Said(calls=[(f"c{rounds}", "Sky__at", {"place": f"place {rounds}"})])

    with Looking() as mock, session_on(mock) as session:
        total, read, written = session.call("with_tools", "units", "How is it?")
        for body in mock.seen:
            check_request("anthropic", body)
    assert len(mock.seen) == 5 and mock.broken == []
    last = sum(len(text) // 4 for text, _ in cache_blocks(mock.seen[-1]))
    assert written <= last + 10 and read > 0.6 * (total - last)
    assert marks(mock.seen[-1])[-1] == len(cache_blocks(mock.seen[-1]))


def test_a_retry_of_a_schema_reads_all_before_its_prompt() -> None:
    class Wrong(Anthropic):
        def think(self, body: Json) -> Said:
            return Said('{"n": 7}' if len(self.seen) >= 8 else '{"n": "no"}' if len(self.seen) >= 6 else "Yes.")

    with Wrong() as mock, session_on(mock) as session:
        for number in range(5):
            session.call("ask", "all", question(number))
        assert session.call("number", "all", "How many?") == 7
    attempts = mock.seen[-3:]
    assert len(attempts) == 3
    for body in attempts:
        blocks = [text for text, _ in cache_blocks(body)]
        assert blocks[:-1] == [text for text, _ in cache_blocks(attempts[0])][:-1]
        same = sum(map(len, blocks[:-1]))
        assert same >= 0.95 * (same + len(blocks[-1]))
        assert marks(body)[-1] == len(blocks) - 1  # the prompt as it is sent no later request has


def test_what_a_program_says() -> None:
    for cache, expected in ((', cache_prompt: "1h"', {"type": "ephemeral", "ttl": "1h"}), (", cache_prompt: false", None)):
        with Anthropic() as mock, session_on(mock, cache=cache) as session:
            session.call("ask", "all", question(1))
            session.call("with_tools", "all", question(1) * 4)
            bodies = [str(body) for body in mock.seen]
            assert all((str(expected) in body) is (expected is not None) for body in bodies)
            assert expected is not None or not any("cache_control" in body for body in bodies)
    with Anthropic() as mock, session_on(mock, system="Answer.") as session:  # too short for any cache
        session.call("ask", "all", "Hello?")
        assert "cache_control" not in str(mock.seen)


@pytest.mark.parametrize("kind", [OpenAIChat, OpenAIResponses])
def test_a_name_leads_equal_beginnings_to_one_server(kind: type[Any]) -> None:
    fields = {"provider": "openai", "api": "chat" if kind is OpenAIChat else "responses"}
    wire = str(fields["api"])
    with kind() as mock, session_on(mock, fields) as session:  # another address than the provider's own
        session.call("ask", "all", question(1))
        assert "prompt_cache_key" not in mock.seen[-1]
    with kind() as mock, session_on(mock, fields, ", cache_prompt: true") as session:
        counts = [session.call("ask", "all", question(number)) for number in range(3)]
        session.call("with_tools", "all", question(1))
        names = [body["prompt_cache_key"] for body in mock.seen]
        assert len(set(names[:3])) == 1 and names[3] != names[0] and all(len(name) == 32 for name in names)
        for body in mock.seen:
            check_request(wire, body)
    assert counts[-1][1] >= 1024 and set(mock.broken) <= {"chat-effort"}


def test_the_mock_knows_what_is_refused() -> None:
    marked = {"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}
    for content in ([marked] * 5, [{**marked, "text": ""}], [{**marked, "type": "thinking"}]):
        with pytest.raises(Broken):
            cache_blocks({"messages": [{"role": "user", "content": content}]})
    long = {**marked, "cache_control": {"type": "ephemeral", "ttl": "1h"}}
    with pytest.raises(Broken):
        cache_blocks({"messages": [{"role": "user", "content": [marked, long]}]})
    assert len(cache_blocks({"messages": [{"role": "user", "content": [long, marked]}]})) == 2
