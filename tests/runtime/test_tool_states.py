"""The state of a tool: a method that fails leaves it as it was, and a call costs what it writes, not what the state holds."""

from __future__ import annotations

import asyncio
from typing import Any

import concerto
import pytest
from concerto.vm.generated import loop
from concerto.vm.interp import ops
from concerto.vm.jit import library
from concerto.vm.values import containers
from concerto.vm.values.undo import StoredDict, StoredList

SOURCE = """
hashmap steps: HashMap<String, Bool> = HashMap::new();
struct Row { cells: Array<Int>, sum: Int }
tool Kept {
    description: "keeps",
    lines: Array<String> = [],
    rows: Array<Row> = [],
    groups: Map<String, Array<Int>> = {},
    last: Row = Row { cells: [], sum: 0 },
    @describe("Adds") @param("i", "which")
    pub fn add(mut self, i: Int) -> Int {
        self.lines.push("line ${i}");
        self.rows.push(Row { cells: [], sum: 0 });
        self.rows[i / 2].cells.push(i);
        self.rows[i / 2].sum += i;
        let key = "k${i % 3}";
        if !self.groups.has(key) { self.groups[key] = []; }
        self.groups[key].push(i);
        self.note(i);
        self.lines.len()
    }
    fn note(mut self, i: Int) {
        self.last.cells.push(i);
        let mut lines = self.lines;
        lines.push("again");
        self.lines = lines;
    }
    @describe("Fails") @param("i", "which")
    pub fn fail(mut self, i: Int) -> Int {
        let n = self.add(i);
        self.rows.sort_by(|a, b| b.sum - a.sum);
        self.groups.delete("k0");
        self.lines.pop();
        let none: Array<Int> = [];
        none[n]
    }
    @describe("Is late") @param("i", "which")
    pub fn wait(mut self, i: Int) -> Int {
        let n = self.add(i);
        steps.set("in", true);
        while !steps.has("out") { std::time::sleep(1); }
        self.rows[0].cells.push(n);
        n
    }
    @describe("Refuses") @param("i", "which")
    pub fn refuse(mut self, i: Int) -> Result<Int, ToolError> { self.add(i); Err(ToolError::ExecutionFailed("no")) }
    /// Shows
    pub fn shown(self) -> String { "${self.lines} ${self.rows} ${self.groups} ${self.last}" }
    /// Counts
    pub fn count(self) -> Int { self.lines.len() }
    /// Counts by another one
    pub fn size(self) -> Int { self.size_of(1) }
    fn size_of(self, more: Int) -> Int { self.lines.len() + self.rows.len() + more }
    /// Gives
    pub fn all(self) -> Array<Row> { self.rows }
}
pub fn add(from: Int, to: Int) -> Int { let mut n = 0; for i in from..to { n = Kept.add(i); } n }
pub fn add_and_count(from: Int, to: Int) -> Int { let mut n = 0; for i in from..to { Kept.add(i); n += Kept.count(); } n }
pub fn add_and_measure(from: Int, to: Int) -> Int { let mut n = 0; for i in from..to { Kept.add(i); n += Kept.size(); } n }
pub fn fail(i: Int) -> Int { Kept.fail(i) }
pub fn refuse(i: Int) -> Bool { Kept.refuse(i).is_err() }
pub fn shown() -> String { Kept.shown() }
pub fn race_of_two(i: Int) -> Int { race(spawn(i), late(i)) }
async fn late(i: Int) -> Int { while !steps.has("in") { std::time::sleep(1); } i }
async fn look() -> String {
    while !steps.has("in") { std::time::sleep(1); }
    let shown = Kept.shown();
    steps.set("out", true);
    shown
}
pub fn seen_meanwhile(i: Int) -> (String, String, String) {
    let before = Kept.shown();
    let (_, meanwhile) = await (spawn(i), look());
    (before, meanwhile, Kept.shown())
}
async fn spawn(i: Int) -> Int { Kept.wait(i) }
pub fn given() -> (String, String) { let rows = Kept.all(); Kept.add(4); let shown = "${rows}"; Kept.add(5); (shown, "${rows}") }
fn main() {}
"""
PROGRAM = concerto.compile(SOURCE)


def session() -> Any:
    return PROGRAM.session(offline=True)


def test_a_method_that_panics_leaves_the_state() -> None:
    with session() as run:
        run.call("add", 0, 5)
        before = run.call("shown")
        for number in (5, 6):
            with pytest.raises(concerto.Panic):
                run.call("fail", number)
            assert run.call("shown") == before
        run.call("add", 5, 8)
        after = run.call("shown")
    with session() as run:
        run.call("add", 0, 8)
        assert run.call("shown") == after


def test_an_err_is_no_failure_of_the_method() -> None:
    with session() as run:
        assert run.call("refuse", 0)
        assert "[line 0, again]" in run.call("shown")


def test_a_method_that_is_cancelled_leaves_the_state() -> None:
    with session() as run:
        run.call("add", 0, 5)
        before = run.call("shown")
        assert run.call("race_of_two", 5) == 5
        assert run.call("shown") == before


def test_a_method_that_reads_meanwhile_sees_the_state_before() -> None:
    with session() as run:
        run.call("add", 0, 5)
        before, meanwhile, after = run.call("seen_meanwhile", 5)
        assert before == meanwhile != after
        assert "line 5" in after


def test_what_a_method_gives_is_the_callers() -> None:
    with session() as run:
        run.call("add", 0, 4)
        before, after = run.call("given")
        assert before == after


def test_a_state_goes_into_a_dump_in_the_middle_of_calls() -> None:
    with session() as run:
        run.call("add", 0, 5)
        state = run.dump()
        run.call("add", 5, 9)
        after = run.call("shown")
        run.restore(state)
        run.call("add", 5, 9)
        assert run.call("shown") == after


@pytest.fixture
def copies(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The sizes of all containers that are copied, because they are shared or to note their writes."""
    sizes: list[int] = []

    def counting(function: Any) -> Any:
        def own(value: Any) -> Any:
            if getattr(value, "shared", False) is True and hasattr(value, "items"):
                sizes.append(len(value.items))
            return function(value)

        return own

    def noting(kind: Any) -> None:
        begin = kind.__init__

        def counted(self: Any, items: Any) -> None:
            sizes.append(len(items))
            begin(self, items)

        monkeypatch.setattr(kind, "__init__", counted)

    noting(StoredList)
    noting(StoredDict)
    own = counting(containers.own)
    for owner in (loop, ops, library):
        monkeypatch.setattr(owner, "own", own)
    monkeypatch.setitem(library.NAMES, "own", own)
    return sizes


@pytest.mark.parametrize("work", ["add", "add_and_count", "add_and_measure"])
def test_what_calls_copy_does_not_grow_with_the_state(work: str, copies: list[int]) -> None:
    with session() as run:
        run.call(work, 0, 50)
        copies.clear()
        run.call(work, 50, 100)
        first = sum(copies)
        copies.clear()
        run.call(work, 100, 150)
        assert sum(copies) <= first + 8


def test_states_of_two_sessions_are_apart() -> None:
    async def one(number: int) -> str:
        async with session() as run:
            await run.acall("add", 0, number)
            return str(await run.acall("shown"))

    async def all_of_them() -> list[str]:
        return await asyncio.gather(*(one(number) for number in range(1, 6)))

    texts = asyncio.run(all_of_them())
    assert [text.count("line ") for text in texts] == [1, 2, 3, 4, 5]
