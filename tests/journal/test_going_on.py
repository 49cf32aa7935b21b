"""Runs whose process dies at any commit, and that go on from what was kept (G-13.1, G-13.4 to G-13.6, G-16.6, G-16.13)."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from concerto.runtime.access.permissions import Permissions
from concerto.runtime.journal.journal import Fenced, Suspended
from concerto.runtime.journal.rows import INTENT
from concerto.runtime.mcp.served import Answer, ServedTool
from concerto.runtime.session.session import Session

from tests.journal.worlds import Died, Rows, World

EVERYTHING = """
memory chat: Memory = Memory::new(6);
hashmap seen: HashMap<String, Int> = HashMap::new();
schema Ticket { title: String, kind: "bug" | "task" }
model M { provider: openai, base: "m", memory: chat }
tool Shelf {
    description: "A shelf"
    things: Array<String> = []
    /// puts a thing on it
    pub fn put(
        mut self,
        /// the thing
        thing: String,
    ) -> Int { self.things.push(thing); self.things.len() }
}
model Clerk { provider: openai, base: "m", tools: [Shelf] }
fn main() -> Result<Nil, Error> {
    emit("ticket", M.execute_with_schema<Ticket>("crash")?.kind);
    emit("clerk", Clerk.execute("b")?.text);
    let (a, b) = await (M.execute("a"), M.execute("c"));
    emit("both", a?.text + b?.text);
    seen.set("x", 1);
    for i in 0..2 {
        emit("put", Shelf.put("t"));
        emit("turn", M.execute("turn")?.text);
        std::time::sleep(1500);
        seen.set("x", seen.get("x").unwrap_or(0) + 1);
    }
    emit("seen", seen.get("x"));
    emit("len", chat.len());
    emit("dice", std::math::random() < 2.0);
    emit("id", std::crypto::uuid().len());
    emit("yes", (await emit("ask", "go?")).is_ok());
}
"""
SCRIPT = [
    "no json", '{"title": "t", "kind": "bug"}', {"tool_calls": [{"tool": "Shelf.put", "arguments": {"thing": "x"}}]}, "B",
]  # fmt: skip


def world(folder: Path) -> World:
    return World(EVERYTHING, folder, {"ask": True}, SCRIPT)


def test_a_run_dies_at_every_commit_and_ends_as_if_it_had_not(tmp_path: Path) -> None:
    alive = world(tmp_path)
    whole = Rows(parks=True)
    outcome = alive.run(alive.journal(whole))
    assert not outcome.exit_code and whole.commits > 10
    for keeps in (False, True):
        for at in range(whole.commits):
            dying, sink = world(tmp_path), Rows(parks=True, dies_at=at, keeps=keeps)
            with pytest.raises(Died):
                dying.run(dying.journal(sink))
            kept = Rows([*sink.rows()], parks=True)
            kept.told = sink.told
            sink.dies_at = None
            again = world(tmp_path)
            ended = again.run(again.journal(sink, kept, goes_on=True))
            assert not ended.exit_code, (at, keeps, ended.panic, ended.error)
            told = dying.emits + again.emits
            emits = [(plain["emit"], plain["value"]) for plain in sink.plain if "emit" in plain and not plain["by_runtime"]]
            expected = [(plain["emit"], plain["value"]) for plain in whole.plain if "emit" in plain and not plain["by_runtime"]]
            assert emits == expected, (at, keeps)  # each exactly once, by its place
            assert all(one in told for one in alive.emits), (at, keeps)  # and told at least once
            assert again.asked.count("ask") + dying.asked.count("ask") <= 2


ONCE = """
fn main() {
    emit("before", 1);
    let done = std::fs::append_file("FOLDER/log.txt", "line\\n");
    emit("done", match done { Ok(_) => "ok", Err(e) => e.variant });
    let other = std::fs::append_file("FOLDER/log.txt", "other\\n");
    emit("other", other.is_ok());
}
"""


@pytest.mark.parametrize("keeps", [False, True])
def test_what_must_not_happen_twice_happens_once_or_is_unknown(tmp_path: Path, keeps: bool) -> None:
    """The five windows of G-16.13 are the commits before and behind each effect, kept or not."""
    source = ONCE.replace("FOLDER", str(tmp_path))
    log = tmp_path / "log.txt"
    whole = Rows(parks=True)
    count = World(source, tmp_path)
    count.run(count.journal(whole))
    outcomes = set()
    for at in range(whole.commits):
        log.unlink(missing_ok=True)
        dying, sink = World(source, tmp_path), Rows(parks=True, dies_at=at, keeps=keeps)
        with pytest.raises(Died):
            dying.run(dying.journal(sink))
        again = World(source, tmp_path)
        kept = Rows([*sink.rows()], parks=True)
        sink.dies_at = None
        again.run(again.journal(sink, kept, goes_on=True))
        lines = log.read_text().splitlines() if log.exists() else []
        assert len(lines) == len(set(lines)), at
        said = dict(again.emits)
        outcomes.add(said.get("done"))
        if said.get("done") == "\"ok\"":
            assert "line" in lines
        else:
            assert said["done"] == "\"EffectUnknown\""
        replayed = World(source, tmp_path)  # what the program was told stays told
        replayed.run(replayed.journal(Rows(parks=True), Rows([*sink.rows()], parks=True)))
        assert dict(replayed.emits) == {**dict(dying.emits), **said}, at
        assert log.read_text().splitlines() == lines if log.exists() else not lines
    assert outcomes == {"\"ok\"", "\"EffectUnknown\""}


WAITS = """
channel approve: String -> Bool;
model M { provider: openai, base: "m" }
fn plan(n: Int) -> Result<Bool, Error> { approve("${n}")? }
fn main() -> Result<Nil, Error> {
    let (a, b) = await (plan(1), plan(2));
    emit("answers", [a?, b?]);
}
"""


def test_a_run_that_waits_for_answers_only_is_suspended_and_takes_them_later(tmp_path: Path) -> None:
    first, sink = World(WAITS, tmp_path), Rows(parks=True)
    with pytest.raises(Suspended):
        first.run(first.journal(sink))
    keys = [wait["key"] for wait in sink.waits]
    assert [wait["value"] for wait in sink.waits] == ["1", "2"]
    second = World(WAITS, tmp_path)
    half = Rows([*sink.rows()], parks=True)
    half_way = second.journal(half, sink, goes_on=True, answers={keys[1]: {"json": False}})
    with pytest.raises(Suspended):
        second.run(half_way)
    assert [wait["key"] for wait in half.waits] == [keys[0]]
    third, end = World(WAITS, tmp_path), Rows([*half.rows()], parks=True)
    third.run(third.journal(end, half, goes_on=True, answers={keys[0]: {"json": True}}))
    assert third.emits == [("answers", "[true,false]")]
    assert end.plain[-1]["end"] == "ok"


def test_a_wait_goes_on_where_the_process_died_in_it(tmp_path: Path) -> None:
    source = 'fn main() { std::time::sleep(60000); emit("now", std::time::now_ms()); }'
    whole = Rows(parks=True)
    first = World(source, tmp_path)
    first.run(first.journal(whole))
    intents = [plain for plain in whole.plain if plain.get("status") == INTENT]
    assert [plain["kind"] for plain in intents] == ["wait"]
    slept: list[float] = []
    again = World(source, tmp_path)
    journal = again.journal(Rows(parks=True), Rows(list(whole.rows())[:1], parks=True), goes_on=True)
    journal.real_wall = lambda: 1_000.0 + 45.0  # the process was away for 45 s
    host = again.host(journal)
    sleep = host.sleep

    async def noted(seconds: float) -> None:
        slept.append(seconds)
        await sleep(seconds)

    host.sleep = noted
    from concerto.runtime.session.session import Session, run_offline

    run_offline(Session(again.program, host))
    assert slept == [pytest.approx(15.0)]


REFUSED = '"ConnectionFailed"'
SERVED = """
mcp shelf { transport: "stdio", command: "true" }
fn put(n: Int) -> String? {
    match shelf.call("put", { "n": n }) { Ok(value) => "${value}", Err(e) => e.variant }
}
fn main() {
    emit("first", put(0));
    let (a, b) = await (put(1), put(2));
    emit("both", [a, b]);
    emit("last", put(3));
}
"""


class Shelf:
    """A server of one tool, which gives its argument back."""

    def __init__(self, says: str) -> None:
        self.says = says
        self.is_open = True

    async def tools(self) -> list[ServedTool]:
        return [ServedTool("put", self.says, {"type": "object", "properties": {"n": {"type": "integer"}}})]

    async def call(self, name: str, arguments: dict[str, Any], caller: Any) -> Answer:
        return Answer(arguments["n"], [])

    async def aclose(self) -> None:
        self.is_open = False


@pytest.mark.parametrize(
    ("says", "given", "times"),
    [("a shelf", ['"0"', '["1","2"]', '"3"'], 1), ("another", ['"0"', f"[{REFUSED},{REFUSED}]", REFUSED], 3)],
)
def test_a_run_goes_on_with_one_connection_to_a_server_that_has_not_changed(
    tmp_path: Path, says: str, given: list[str], times: int
) -> None:
    made: list[Shelf] = []

    async def ran(one: World, journal: Any, says: str) -> None:
        async def server(settings: Any) -> Shelf:
            made.append(Shelf(says))
            await asyncio.sleep(0)
            return made[-1]

        host = one.host(journal)
        host.loop, host.sleep, host.server, host.permissions = None, asyncio.sleep, server, Permissions.of_texts(["run"])
        session = Session(one.program, host)
        await session.run()
        await session.aclose()

    first, whole = World(SERVED, tmp_path), Rows()
    asyncio.run(ran(first, first.journal(whole), "a shelf"))
    kept = Rows(list(whole.rows())[: next(at for at, plain in enumerate(whole.plain) if plain.get("emit") == "first") + 1])
    made.clear()
    again = World(SERVED, tmp_path)
    asyncio.run(ran(again, again.journal(Rows(), kept, goes_on=True), says))
    assert [value for _, value in again.emits] == given
    assert [one.is_open for one in made] == [False] * times


def test_a_claim_that_was_lost_ends_the_run(tmp_path: Path) -> None:
    class Lost(Rows):
        def commit(self, rows: Any, told: int, waits: Any) -> None:
            raise Fenced("taken over")

    one = World('model M { provider: openai, base: "m" } fn main() { M.execute("a")?; emit("never", 1); }', tmp_path)
    with pytest.raises(Fenced):
        one.run(one.journal(Lost()))
    assert one.emits == []


def test_a_breaker_closes_in_a_program_that_asks_on_and_on(tmp_path: Path) -> None:
    """The clock of the run stands between outcomes; a call that the breaker refuses is none."""
    source = """
connect lab { provider: "offline", breaker: { failures: 1, seconds: 5 } }
model M { provider: lab, base: "m" }
fn main() {
    let mut asked = 0;
    let mut done = false;
    emit("first", M.execute("a").is_err());
    while !done && asked < 100000 {
        asked += 1;
        done = M.execute("b").is_ok();
    }
    emit("done", done);
}
"""
    one = World(source, tmp_path, script=[{"error": "server"}, {"error": "server"}, {"error": "server"}, "fine"])
    times = iter(range(10_000_000))
    sink = Rows()
    journal = one.journal(sink)
    journal.real_time = lambda: next(times) / 100
    one.run(journal)
    assert one.emits[-1] == ("done", "true")
    again = World(source, tmp_path)
    ended = again.run(again.journal(None, sink))
    assert ended.panic is None, ended.panic.message
    assert again.emits == one.emits
