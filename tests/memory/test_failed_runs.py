"""A failed, cancelled or superseded attempt leaves the file of a store as a run without it does (G-12.2, M-12.7).

Stores are compared by the SQL text of all their tables.
"""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
from pathlib import Path
from typing import Any

import httpx2
import pytest
from concerto.compiler.pipeline import compile_source
from concerto.runtime.host import Host
from concerto.runtime.memory.stores.sqlite import SqliteStore
from concerto.runtime.session.session import Outcome, Session
from concerto.vm.interp.link import load_image

from ..runtime.test_fault_matrix import FAULTS, message, said

SOURCE = """
connect lab { provider: "openai", api: "chat", structured: "native", retry: { backoff: "none", max_attempts: 1 } }
connect lab2 { provider: "openai", api: "chat", structured: "native", retry: { backoff: "none" } }
schema Kind { kind: "bug" | "task" }
tool T { description: "d", @describe("m") pub fn m(self) -> Int { panic("tool") } }
memory log: Memory = Memory::new().store("durable");
model M { provider: lab, base: "m", memory: log }
model Again { provider: lab2, base: "m", memory: log }
model Free { provider: lab, base: "free" }
fn main() -> Result<Nil, Error> { BODY Ok() }
"""
FIRST = 'M.execute("first")?;'
# What goes wrong: the fault of the provider's second reply, and the call that meets it.
CALLS = {
    "plain": 'M.execute("second");', "schema": 'M.execute_with_schema<Kind>("second");',
    "tool": 'M.with_tools([T]).execute("second");',
    "stream": 'let s = M.stream("second")?; let mut text = ""; for c in s { text += c.text; }', "panic": 'M.execute(panic("p"));',
    "race": 'let _ = race(Free.execute("free"), M.execute("second"));',
}  # fmt: skip
KINDS = [
    *((fault, "plain") for fault in (
        "401", "403", "404", "400", "422", "408", "429", "500", "529", "no connection", "reset", "time out", "refusal",
        "no reply in it",
    )),
    *((fault, "schema") for fault in ("always cut", "always another", "500")), ("half a stream", "stream"), ("panics", "tool"),
    ("panics", "panic"), ("loses", "race"),
]  # fmt: skip


class Provider:
    """Answers the first request well, the later ones with the fault; or as `replies` says."""

    def __init__(self, fault: str = "", path: str = "plain", replies: Any = None) -> None:
        self.fault, self.path, self.replies, self.requests = fault, path, replies, 0
        self.held = asyncio.Event()

    async def handle(self, request: httpx2.Request) -> httpx2.Response:
        self.requests += 1
        if b'"free"' in request.content and self.path == "race":
            return httpx2.Response(200, json=message("chat", "free"))
        if self.replies is not None:
            return httpx2.Response(200, json=message("chat", self.replies.pop(0)))
        if self.requests == 1:
            return httpx2.Response(200, json=message("chat", "one"))
        if self.path == "race":
            await self.held.wait()  # the other wins
        if self.path == "tool":
            return httpx2.Response(200, json=message("chat", "", calls=[("T__m", "{}")]))
        if self.path == "stream":
            return said("chat", "stream", whole=False)
        answer: httpx2.Response = FAULTS[self.fault][0]("chat", self.path)
        return answer


def ran(path: Path, body: str, provider: Provider) -> Outcome:
    compiled = compile_source(SOURCE.replace("BODY", body).encode(), "main.conc")
    assert compiled.image is not None, [d.message for d in compiled.diagnostics.found]

    async def run() -> Outcome:
        provider.held = asyncio.Event()
        store = SqliteStore(str(path))
        host = Host(
            emit=lambda *given: None, print=print, env={"OPENAI_API_KEY": "k"}, now=lambda: 0.0, sleep=asyncio.sleep,
            random=lambda: 0.0, random_bits=lambda n: 0, secure_bytes=bytes, wall=lambda: 0.0,
            stores={"durable": store},
            http_client=httpx2.AsyncClient(transport=httpx2.MockTransport(provider.handle)),
        )  # fmt: skip
        session = Session(load_image(compiled.image), host)
        try:
            return await session.run()
        finally:
            await session.aclose()
            store.close()

    return asyncio.run(run())


def content(path: Path) -> str:
    with contextlib.closing(sqlite3.connect(path)) as connection:
        return "\n".join(connection.iterdump())


def test_a_good_call_changes_the_file(tmp_path: Path) -> None:
    """So that equal files mean something."""
    assert len(KINDS) >= 12
    for name, body in (("one", FIRST), ("two", FIRST + FIRST)):
        assert ran(tmp_path / name, body, Provider(replies=["one", "two"])).panic is None
    assert content(tmp_path / "one") != content(tmp_path / "two")


@pytest.mark.parametrize(("fault", "path"), KINDS)
def test_a_failed_call_leaves_the_file_as_it_was(tmp_path: Path, fault: str, path: str) -> None:
    without, beside = tmp_path / "without.db", tmp_path / "with.db"
    assert ran(without, FIRST, Provider()).panic is None
    provider = Provider(fault, path)
    outcome = ran(beside, FIRST + CALLS[path], provider)
    assert (outcome.panic is not None) == (fault == "panics") and provider.requests >= (1 if path == "panic" else 2)
    assert content(beside) == content(without)


@pytest.mark.parametrize("bad", [["no"], ['{"kind": 1}', "no"]])
def test_a_superseded_attempt_leaves_nothing(tmp_path: Path, bad: list[str]) -> None:
    without, beside = tmp_path / "without.db", tmp_path / "with.db"
    call = 'Again.execute_with_schema<Kind>("q")?;'
    good = '{"kind": "bug"}'
    for path, replies in ((without, [good]), (beside, [*bad, good])):
        outcome = ran(path, call, Provider(replies=list(replies)))
        assert outcome.panic is None and outcome.error is None
    assert content(beside) == content(without)
