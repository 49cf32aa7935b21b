"""Every field of every reply, event and embedding of the three wires mutated, through the real SDKs and whole programs.

Whatever comes: a whole value or a typed failure; the memory has a whole turn or is unchanged; what is counted is a whole number
that is not below 0 (G-9.7, G-9.8).
"""

from __future__ import annotations

import asyncio
import json
import math
import random
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any

import concerto
import httpx2
from concerto.runtime.access.secrets import Redactor
from concerto.runtime.connections import resolve
from concerto.runtime.errors import CallFailure
from concerto.runtime.host import Host
from concerto.runtime.providers.openai import OpenAIChat
from concerto.runtime.records import EmbedRequest
from concerto.runtime.session.session import Session
from concerto.vm.interp.link import load_bytes
from concerto.vm.values import Err, Ok

from .campaign import Campaign, Figures
from .reply_mutation import EMBEDDINGS, ERRORS, REPLIES, STREAMS, as_events, as_json, mutated, spoiled

SOURCE = """
connect chat { provider: "openai", api: "chat", retry: { max_attempts: 1 }, unsupported: "drop" }
connect responses { provider: "openai", api: "responses", retry: { max_attempts: 1 } }
connect anthropic { provider: "anthropic", retry: { max_attempts: 1 } }
memory log: Memory = Memory::new().tools();
tool T {
    description: "t",
    @describe("m") @param("q", "q")
    pub fn m(self, q: Int) -> Int { q }
}
model Chat { provider: chat, base: "m", temperature: 0.5, max_tool_rounds: 2 }
model Responses { provider: responses, base: "m", max_tool_rounds: 2 }
model Anthropic { provider: anthropic, base: "m", max_tool_rounds: 2 }
pub fn model(name: String) -> ModelRef {
    if name == "chat" { Chat } else if name == "responses" { Responses } else { Anthropic }
}
pub fn call(m: ModelRef) -> Result<Array<Any>, AgentError> {
    let r = m.with_memory(log).with_tools([T]).execute("q")?;
    Ok([r.text, r.text, r.tokens_in, r.tokens_out, r.model, r.finish])
}
pub fn stream(m: ModelRef) -> Result<Array<Any>, AgentError> {
    let s = m.with_memory(log).with_tools([T]).stream("q")?;
    let mut text = "";
    for c in s { text += c.text; }
    let r = s.response();
    Ok([text, r.text, r.tokens_in, r.tokens_out, r.model, r.finish])
}
pub fn reset() { log.clear(); log.append("user", "before"); }
pub fn contents() -> Array<String> { log.messages().map(|m| m.content) }
"""
WIRES = ("chat", "responses", "anthropic")
MOST_COUNTED = 10**9
ROLES = {"user", "assistant", "tool", None}  # the program has no system message, and no reply gains one (G-9.4)
WAITS = ("1", "-1", "nan", "1e400", "1e300", "9" * 400, "soon", "Wed, 21 Oct 2099 07:28:00 GMT", "Mon, 99", "")


class Provider:
    """The HTTP of all three: the first request of a case gets what is mutated, the ones after it a good reply."""

    def __init__(self, chance: random.Random, streamed: bool) -> None:
        self.chance = chance
        self.streamed = streamed
        self.wire = ""
        self.first: httpx2.Response | None = None
        self.sent = b""
        self.roles: set[Any] = set()

    def begin(self, wire: str) -> None:
        chance, self.wire = self.chance, wire
        if chance.random() < 0.1:
            self.sent = spoiled(chance, as_json(chance, mutated(chance, chance.choice(ERRORS))))
            self.first = self._answer(chance.choice((300, 307, 400, 401, 404, 408, 422, 429, 500, 501, 529, 599)), self._waits())
        elif self.streamed:
            events = mutated(chance, chance.choice(STREAMS[wire]))
            self.sent = spoiled(chance, as_events(chance, events if isinstance(events, list) else [events]))
            self.first = self._answer(200, {"content-type": "text/event-stream"})
        else:
            self.sent = spoiled(chance, as_json(chance, mutated(chance, chance.choice(REPLIES[wire]))))
            self.first = self._answer(200, {"content-type": chance.choice(("application/json", "text/html; charset=utf-7", ""))})

    def _waits(self) -> dict[str, str]:
        wait = self.chance.choice(WAITS)
        return {self.chance.choice(("retry-after", "retry-after-ms")): wait}

    def _answer(self, status: int, headers: dict[str, str]) -> httpx2.Response:
        return httpx2.Response(status, headers=headers, content=self._pieces() if self.chance.random() < 0.7 else self.sent)

    async def _pieces(self) -> AsyncIterator[bytes]:
        at = 0
        while at < len(self.sent):
            size = self.chance.choice((1, 3, 20, 200, 100_000)) if len(self.sent) < 5000 else 100_000
            yield self.sent[at : at + size]
            at += size

    def handle(self, request: httpx2.Request) -> httpx2.Response:
        body = json.loads(request.content)
        self.roles |= {item.get("role") for item in body.get("messages") or body.get("input")}
        answer, self.first = self.first, None
        if answer is not None:
            return answer
        if self.streamed:
            body = as_events(random.Random(0), STREAMS[self.wire][0])
            return httpx2.Response(200, content=body, headers={"content-type": "text/event-stream"})
        return httpx2.Response(200, json=REPLIES[self.wire][0])


def campaign(streamed: bool) -> Any:
    name = "stream" if streamed else "call"

    def run(seed: int, cases: int) -> Figures:
        program = load_bytes(concerto.compile(SOURCE).to_bytes())
        codes = {name: program.codes[number] for name, number in program.image.exports.functions.items()}
        seen = Counter[str]()

        async def all_cases() -> None:
            provider = Provider(random.Random(seed), streamed)
            client = httpx2.AsyncClient(transport=httpx2.MockTransport(provider.handle))
            host = Host(
                emit=lambda *given: None, print=print, env={"OPENAI_API_KEY": "sk-secret-1", "ANTHROPIC_API_KEY": "sk-secret-1"},
                now=lambda: 0.0, sleep=lambda seconds: asyncio.sleep(0), random=lambda: 0.0, http_client=client,
            )  # fmt: skip
            session = Session(program, host)
            try:
                models = {wire: (await session.invoke(codes["model"], [wire])).value for wire in WIRES}
                for case in range(cases):
                    wire = provider.chance.choice(WIRES)
                    provider.begin(wire)
                    try:
                        await session.invoke(codes["reset"], [])
                        outcome = await session.invoke(codes[name], [models[wire]])
                        contents = (await session.invoke(codes["contents"], [])).value.items
                        seen[_checked(outcome, contents)] += 1
                        assert provider.roles <= ROLES, provider.roles
                    except Exception as error:
                        said = f"seed {seed}, case {case}, {wire} {name}: {error!r} after {provider.sent[:2000]!r}"
                        raise AssertionError(said) from error
            finally:
                await session.aclose()

        asyncio.run(all_cases())
        return {"values": seen["value"], "failures": sum(seen.values()) - seen["value"], "kinds of failure": len(seen) - 1}

    return run


def _checked(outcome: Any, contents: list[str]) -> str:
    """What became of a case; the memory holds it whole, or nothing of it."""
    assert outcome.panic is None, outcome.panic
    if type(outcome.value) is Err:
        error = outcome.value.value
        error.message.encode()
        assert "sk-secret" not in error.message
        assert error.fields.get("retry_after_ms", 0) < 2**63
        assert contents == ["before"], contents
        return f"{error.family}.{error.variant}"
    assert type(outcome.value) is Ok
    text, whole, tokens_in, tokens_out, model, finish = outcome.value.value.items
    assert text == whole and type(text) is str and type(model) is str, (text, whole, model)
    text.encode()
    assert finish in ("stop", "length", "tool"), finish
    for count in (tokens_in, tokens_out):
        assert type(count) is int and 0 <= count < MOST_COUNTED, count
    assert contents[:2] == ["before", "q"], contents
    assert contents[-1] == text or len(contents) > 3, contents  # the text of a stream is that of all its tool rounds
    return "value"


def embeddings(seed: int, cases: int) -> Figures:
    chance, seen = random.Random(seed), Counter[str]()
    body = b""

    async def all_cases() -> None:
        nonlocal body
        client = httpx2.AsyncClient(transport=httpx2.MockTransport(lambda request: httpx2.Response(200, content=body)))
        settings = resolve("lab", [{"lab": {"provider": "openai", "api": "chat", "api_key": "k"}}])
        provider = OpenAIChat(settings, {}, Redactor(), client)
        for case in range(cases):
            body = spoiled(chance, as_json(chance, mutated(chance, EMBEDDINGS)))
            try:
                rows = await provider.embed(EmbedRequest("lab", "e-1", ["a", "b"], 5))
                assert len(rows) == 2
                assert all(math.isfinite(sum(float(value) ** 2 for value in row)) and row for row in rows)
                seen["values"] += 1
            except CallFailure as failure:
                assert failure.variant == "InvalidResponse", failure.variant
                seen["failures"] += 1
            except Exception as error:
                raise AssertionError(f"seed {seed}, case {case}, embeddings: {error!r} after {body[:2000]!r}") from error
        await provider.aclose()

    asyncio.run(all_cases())
    return dict(seen)


CAMPAIGNS = [
    Campaign("mutated replies of providers", "G-9.8", 150, 20_000, campaign(streamed=False)),
    Campaign("mutated streams of providers", "G-9.8", 100, 10_000, campaign(streamed=True)),
    Campaign("mutated embeddings", "G-9.8", 300, 10_000, embeddings),
]
