"""Stores and embedders that a host hands in (M-8.3, M-8.16, M-10.16, M-13.79)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import concerto
import pytest
from concerto.runtime.memory.facts import Fact
from concerto.runtime.memory.stores.volatile import VolatileStore

PROJECT = """[project]
name = "p"
version = "1"
entry = "main.conc"
[stores.mine]
kind = "host"
[embedders.near]
kind = "host"
"""
TEXT = """
memory m: Memory = Memory::new().store("mine").embed("near");
model M { provider: offline, memory: m }
pub fn keep(name: String, what: String) { m.remember(name, what); }
pub fn names(q: String) -> Array<String> { m.recall(q).map(|f| f.name) }
pub fn turn() -> Bool { M.execute("hello").is_ok() }
fn main() {}
"""


class Near:
    """Words of one letter are near each other when the letter is the same."""

    baseline = 0.5

    def __init__(self) -> None:
        self.fails = False
        self.texts: list[str] = []

    def embed(self, texts: list[str]) -> list[list[float]]:
        if self.fails:
            raise OSError("no line")
        self.texts += texts
        return [[float("x" in text), float("y" in text), 0.01] for text in texts]


def program(folder: Path, text: str = TEXT, project: str = PROJECT) -> concerto.Program:
    (folder / "Concerto.toml").write_text(project)
    (folder / "main.conc").write_text(text)
    return concerto.compile(path=folder / "main.conc")


def test_a_host_embeds(tmp_path: Path) -> None:
    near = Near()
    with program(tmp_path).session(stores={"mine": VolatileStore()}, embedders={"near": near}) as session:
        session.call("keep", "one", "x")
        session.call("keep", "two", "y")
        assert session.call("names", "xx") == ["one"]
        assert near.texts == ["one\nx", "two\ny", "xx"]


def test_what_a_turn_recalls_is_embedded_before_it_begins(tmp_path: Path) -> None:
    near = Near()
    text = TEXT.replace('.embed("near")', '.embed("near").recall(k: 1)')
    stores = {"mine": VolatileStore()}
    with program(tmp_path, text).session(stores=stores, embedders={"near": near}, offline=True) as session:
        session.call("keep", "one", "x")
        assert session.call("turn") is True
    assert near.texts == ["one\nx", "hello"]


def test_an_embedder_that_fails_is_reported_and_done_without(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    near = Near()
    near.fails = True
    heard: list[Any] = []
    store = VolatileStore()
    with program(tmp_path).session(stores={"mine": store}, embedders={"near": near}, offline=True) as session:
        session.on("memory:recall", lambda payload: heard.append(payload["degraded"]))
        session.call("keep", "one", "x")
        assert session.call("names", "xx") == []
        near.fails = False
        assert session.call("turn") is True
        assert session.call("names", "xx") == ["one"]
    assert heard == [True, False]


@pytest.mark.parametrize("missing", ["stores", "embedders"])
def test_what_the_host_lacks(tmp_path: Path, missing: str) -> None:
    given: dict[str, Any] = {"stores": {"mine": VolatileStore()}, "embedders": {"near": Near()}}
    with program(tmp_path).session(**{**given, missing: {}}) as session:
        if missing == "stores":
            with pytest.raises(concerto.Panic, match="P451.*the host gives no store"):
                session.call("keep", "one", "x")
        else:
            session.call("keep", "one", "x")
            assert session.call("names", "x") == ["one"]  # by its words


class Bare:
    """A store without facts, leases and index."""

    name = "bare"
    blocking = False

    def __init__(self) -> None:
        held = VolatileStore()
        for method in ("head", "entries", "turns", "views", "commit", "remove", "keys", "expire", "close"):
            setattr(self, method, getattr(held, method))


class Knowledge(Bare):
    """External knowledge as a store of facts, with an index of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[Any] = []

    def facts(self, key: Any) -> list[Fact]:
        return [Fact(n, "persistent", name, "capital") for n, name in enumerate(("Bonn", "Rome", "Oslo"))]

    def keep(self, key: Any, at: int, facts: Any, gone: Any, seen: Any = (), unseen: Any = ()) -> None:
        """Read only: nobody learns when it was looked at."""

    def candidates(self, key: Any, terms: list[str], vector: list[float] | None, limit: int) -> list[int]:
        self.asked.append((key[-2:], terms, vector, limit))
        return [1, 2, 77]


def test_an_index_of_the_host_says_what_is_ranked(tmp_path: Path) -> None:
    """M-8.16, M-13.79: what it does not name is no hit; scores and order are as ever."""
    store = Knowledge()
    text = TEXT.replace('.embed("near")', "")
    with program(tmp_path, text).session(stores={"mine": store}) as session:
        assert session.call("names", "capital Bonn Oslo") == ["Oslo", "Rome"]
    assert store.asked == [(("m", ""), ["bonn", "capital", "oslo"], None, 100)]


def test_what_a_store_lacks_is_optional(tmp_path: Path) -> None:
    """M-8.16: without leases `Serial` orders within the process; without facts their methods say so."""
    text = TEXT.replace('.embed("near")', "")
    with program(tmp_path, text).session(stores={"mine": Bare()}, offline=True) as session:
        assert [session.call("turn"), session.call("turn")] == [True, True]
        with pytest.raises(concerto.Panic, match="P451.*keeps no facts"):
            session.call("keep", "one", "x")


COUNTED = """
[connections.c]
provider = "openai"
api_key_env = "KEY"
[embedders.e]
connection = "c"
model = "e-1"
"""
LEARNING = """
memory m: Memory = Memory::new().embed("e");
pub fn learn(n: Int) -> Int {
    for i in 0..n { m.remember("fact ${i}", "a text of some length, which an embedder is asked for"); }
    m.recall("text").len()
}
"""


def test_embedding_counts_in_budgets_and_metrics(tmp_path: Path) -> None:
    """M-10.16: what a connection is asked for draws on the budget of tokens, whose panic nothing swallows."""
    learning = program(tmp_path, LEARNING, COUNTED)
    with learning.session(offline=True) as session:
        assert session.call("learn", 3) == 3
        counted = session.metrics()
        assert counted.tokens_by_model == {"e-1": counted.total_tokens}
        assert 30 < counted.total_tokens < 200
    with learning.session(offline=True, budgets=concerto.Budgets(tokens=counted.total_tokens)) as session:
        assert session.call("learn", 3) == 3
    with learning.session(offline=True, budgets=concerto.Budgets(tokens=40)) as session:
        with pytest.raises(concerto.Panic) as raised:
            session.call("learn", 3)
        assert raised.value.code == "P401"


READING = """
memory m: Memory = Memory::new().embed("e");
model M { provider: c, base: "x" }
fn keep() -> Int { m.remember("name", "a text"); 1 }
pub fn own() -> Result<Int, Error> {
    for _c in M.stream("q")? { keep(); }
    Ok(0)
}
pub fn child() -> Result<Int, Error> {
    for _c in M.stream("q")? { let one = spawn keep(); one.await; }
    Ok(0)
}
"""


@pytest.mark.parametrize("function", ["own", "child"])
def test_an_embedder_does_not_wait_for_the_stream_of_who_waits_for_it(tmp_path: Path, function: str) -> None:
    """G-6.4: the stream gives back its reservation when its task reads on, which waits for the vectors."""
    reading = program(tmp_path, READING, COUNTED)
    with reading.session(offline=True, budgets=concerto.Budgets(tokens=4_101, seconds=20)) as session:
        with pytest.raises(concerto.Panic) as raised:
            session.call(function)
        assert raised.value.code == "P401"
