"""Losers of a race leave no trace in a memory, wherever in their call they were stopped (O-6.8, O-3.24, G-7.3)."""

from __future__ import annotations

import re
from typing import Any

from concerto.runtime.providers.base import Provider
from concerto.runtime.records import Call, Reply
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from .runs import Run

HEAD = """
memory log: Memory = Memory::new();
schema N { n: Int }
tool T { description: "d", @describe("m") @param("q", "q") pub fn m(self, q: String) -> Result<String, ToolError> {
    log.len(); Ok(q)
} }
model M { provider: openai, base: "m", memory: log, tools: [T] }
fn asked(q: String) -> Int { M.execute_with_schema<N>(q).unwrap().n }
fn main() { log.append("system", "start"); emit("first", race(%s)); }
"""
PROMPT = re.compile(r"(c\d+) (\d+) (\d+) (\d+)")


class Answering(Provider):
    """The prompt `NAME MS BAD ROUNDS` is answered after MS per request: first with ROUNDS calls of a tool, then BAD times with
    nonsense, then well."""

    name = "provider"
    free_and_instant = True

    def __init__(self, sleep: Any) -> None:
        self.sleep = sleep
        self.requests: dict[str, int] = {}

    async def send(self, request: Any) -> Reply:
        name, milliseconds, bad, rounds = next(
            found.groups() for message in reversed(request.messages) if (found := PROMPT.search(message.content or ""))
        )
        self.requests[name] = number = self.requests.get(name, 0) + 1
        await self.sleep(int(milliseconds) / 1000)
        if number <= int(rounds):
            return Reply("", model="m", tokens_in=1, tokens_out=1, calls=[Call(f"{name}{number}", "T__m", {"q": name})])
        good = number > int(rounds) + int(bad)
        return Reply(f'{{"n": {name[1:]}}}' if good else "nonsense", model="m", tokens_in=1, tokens_out=1)


branches = st.tuples(st.integers(1, 10**5), st.integers(0, 2), st.integers(0, 2))


@settings(max_examples=80, deadline=None)
@given(st.lists(branches, min_size=2, max_size=6), st.booleans())
def test_only_the_winner_is_in_the_memory(made: list[tuple[int, int, int]], asyncio: bool) -> None:
    ends = [milliseconds * (1 + bad + rounds) for milliseconds, bad, rounds in made]
    assume(len(set(ends)) == len(ends))  # ties are for the programs of the suite
    prompts = [f"c{n} {milliseconds} {bad} {rounds}" for n, (milliseconds, bad, rounds) in enumerate(made)]
    run = Run(HEAD % ", ".join(f'asked("{prompt}")' for prompt in prompts), asyncio=asyncio)
    provider = Answering(run.slow.sleep)
    run.session.services.provider = lambda name: provider
    assert run.finish().panic is None
    first = ends.index(min(ends))
    assert run.emits == [("first", first)]
    kept = [(message.role, message.content) for message in run.session.memories["log"].messages()]
    assert kept == [("system", "start"), ("user", prompts[first]), ("assistant", f'{{"n": {first}}}')]
