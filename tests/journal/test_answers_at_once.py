"""Answers that come at the same moment are given again in the order in which they came then (G-13.4, G-13.12, G-14.2): programs
that ask side by side, whose server answers all of them at once and turns some away the first time, on a slow disk, so that waits
run out while the run commits; each is recorded a few times, and given again many times."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import concerto
import pytest
from concerto.runtime.journal.effect_file import EffectFileReader, EffectFileWriter
from concerto.runtime.journal.rows import DISCARDED, DeliveryRow, EffectRow

from tests.fuzz.campaign import fresh_seed

from .durable_programs import HEAD, ModelServer

ASK = "async fn ask(what: String) -> String {{ match {model}.execute(what) {{ Ok(r) => r.text, Err(e) => e.message }} }}\n"
PARALLEL = HEAD + ASK + """
fn main() {{
    for round in 0..2 {{
        let all = parallel for k in 0..6 {{ let a = ask("${{round}}.${{k}}").await; emit("one", a); ask("after " + a).await }};
        emit("all", all);
    }}
}}
"""
RACE = HEAD + ASK + """
fn main() {{
    for round in 0..4 {{
        let first = race (ask("a${{round}}"), ask("b${{round}}"), ask("c${{round}}")).await;
        emit("first", first);
        emit("then", ask("after " + first).await);
    }}
}}
"""
MEMORY = HEAD + ASK + """
memory chat: Memory = Memory::new();
model Talker {{ provider: lab, base: "small", memory: chat }}
fn main() {{
    for round in 0..3 {{
        let first = race (ask("a${{round}}"), ask("b${{round}}"), ask("c${{round}}")).await;
        let all = parallel for k in 0..4 {{ ask("${{round}}.${{k}} " + first).await }};
        emit("all", all);
    }}
    emit("log", chat.messages().map(|m| m.content));
}}
"""
TOOLS = HEAD + ASK + """
tool Shelf {{
    description: "A shelf"
    notes: Array<String> = []
    /// puts a thing on it
    pub fn put(
        mut self,
        /// the thing
        thing: String,
    ) -> String {{
        self.notes.push(thing);
        "has ${{self.notes.len()}} ${{ask("in " + thing).await}}"
    }}
}}
model Clerk {{ provider: lab, base: "small", tools: [Shelf] }}
fn main() {{
    for round in 0..2 {{
        let all = parallel for k in 0..4 {{
            match Clerk.execute("use Shelf__put t${{round}}.${{k}}") {{ Ok(r) => r.text, Err(e) => e.message }}
        }};
        emit("all", all);
    }}
}}
"""
PROGRAMS = {
    "parallel": PARALLEL.replace("{model}", "M"), "race": RACE.replace("{model}", "M"),
    "memory": MEMORY.replace("{model}", "Talker"), "tools": TOOLS.replace("{model}", "M"),
}  # fmt: skip
TOGETHER = 3
RECORDED, AGAIN = 5, 10  # of each of the four programs: 200 replays
COMMIT = 0.008  # seconds that a commit takes
WAIT = 3  # milliseconds that the server asks for who was turned away


class AtOnce(ModelServer):
    """A server that holds its answers until some requests are there, then gives all of them; every request has an even chance to
    be turned away, once."""

    def __init__(self, seed: int) -> None:
        super().__init__(0)
        self.turn = threading.Condition()
        self.there = self.turns = 0
        self.chance = random.Random(seed)
        self.known: set[str] = set()
        answering: Any = self.httpd.RequestHandlerClass
        server = self

        class Handler(answering):  # type: ignore[misc]
            def send_response(self, code: int, message: str | None = None) -> None:
                super().send_response(429 if self.is_refused else code, message)
                if self.is_refused:
                    self.send_header("Retry-After-Ms", str(WAIT))

            def do_POST(self) -> None:
                self.is_refused = False
                server.handling.handler = self
                super().do_POST()

        self.handling = threading.local()
        self.httpd.RequestHandlerClass = Handler

    def answer(self, body: dict[str, Any]) -> dict[str, Any]:
        reply = super().answer(body)
        with self.turn:
            handler: BaseHTTPRequestHandler | Any = self.handling.handler
            handler.is_refused = str(body["messages"]) not in self.known and self.chance.random() < 0.5
            self.known.add(str(body["messages"]))
            turn = self.turns
            self.there += 1
            if self.there == TOGETHER or not self.turn.wait_for(lambda: self.turns != turn, 0.05):
                self.there = 0
                self.turns += 1
                self.turn.notify_all()
        return {"error": {"message": "slow down"}} if handler.is_refused else reply


@pytest.fixture
def slow_disk(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    commit = EffectFileWriter.commit

    def slow(self: EffectFileWriter, *rest: Any) -> None:
        time.sleep(COMMIT)
        commit(self, *rest)

    monkeypatch.setattr(EffectFileWriter, "commit", slow)
    yield


def shown(session: concerto.Session) -> tuple[Any, ...]:
    result = session.run()
    return result.ok, str(result.error), [(one.channel, repr(one.payload)) for one in result.emits]


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.usefixtures("slow_disk")
def test_answers_that_come_at_once_are_given_again_as_they_came(name: str, tmp_path: Path) -> None:
    seed = fresh_seed()
    discarded = together = 0
    for number in range(RECORDED):
        server = AtOnce(seed + number)
        path = tmp_path / f"{number}.effects.jsonl"
        try:
            program = concerto.compile(PROGRAMS[name].format(port=server.port))
            with program.session(record=path) as session:
                first = shown(session)
        finally:
            server.close()
        assert first[0] and first[2], (seed, first)
        for _ in range(AGAIN):
            with program.session(replay=path) as session:
                assert shown(session) == first, f"seed {seed}, recording {number}"
        with closing(EffectFileReader(str(path))) as reader:
            rows = list(reader)
        discarded += sum(isinstance(row, EffectRow) and row.status == DISCARDED for row in rows)
        together += sum(isinstance(row, DeliveryRow) for row in rows)
    assert together > 8, "nothing was on its way side by side"
    assert discarded or name in ("parallel", "tools"), "no race was decided while others were on their way"
