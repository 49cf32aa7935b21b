"""Calls of tools that run within the slice of their caller do what calls that the host performs do (V-6.8)."""

from __future__ import annotations

import asyncio
import re
from contextlib import chdir
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import concerto
import pytest
from concerto.compiler.pipeline import compile_source
from concerto.runtime.host import AUDIT, Host
from concerto.runtime.session.session import Session, run_offline
from concerto.runtime.tools import direct
from concerto.vm.bytecode.encoding import encode
from concerto.vm.bytecode.image import Image
from concerto.vm.interp import link
from concerto.vm.interp.machine import IN_A_ROW
from concerto.vm.jit import tier
from concerto.vm.panics import Panic
from concerto.vm.values import containers, display

ROOT = Path(__file__).resolve().parent.parent.parent
WITH_TOOLS = sorted(
    path for path in (ROOT / "conformance" / "tests").rglob("*.conc") if re.search(rb"(?m)^(pub )?tool ", path.read_bytes())
)

TILL = """
tool Till {
    description: "sells", cents: Int = 0, by_kind: Map<String, Int> = {}, all: Array<Int> = [], lines: Array<String> = [],
    /// Sells
    @param("kind", "what") @param("cents", "price")
    pub fn sell(mut self, kind: String, cents: Int) -> Result<Int, ToolError> {
        if cents <= 0 { return Err(ToolError::ExecutionFailed("a sale of ${cents}")); }
        self.cents += cents;
        self.all.push(cents);
        self.by_kind[kind] = (self.by_kind.get(kind) ?? 0) + cents;
        if cents == 99 { let none: Array<Int> = []; self.cents = none[cents]; }
        Ok(self.cents)
    }
    /// Sells many
    @param("prices", "theirs") @param("factor", "of each")
    pub fn sell_all(mut self, prices: Array<Int>, factor: Int = 1) -> Int {
        let mut mine = prices;
        mine.push(1);
        self.all = self.all.concat(mine.map(|p| p * factor));
        self.all.len()
    }
    /// The sum
    pub fn sum(self) -> Int { self.cents }
    /// What was sold
    pub fn sold(self) -> Array<Int> { let all = self.all; all }
    /// All of it
    pub fn text(self) -> String { "${self.cents} ${self.by_kind} ${self.all}" }
    /// Turns
    @param("n", "how many")
    pub fn turn(mut self, n: Int) -> Int { let mut i = 0; while i < n { i += 1; self.cents += i; } i }
    /// Goes deep
    @param("n", "how deep")
    pub fn dive(mut self, n: Int) -> Int { self.cents += self.down(n); self.cents }
    fn down(self, n: Int) -> Int { if n == 0 { self.cents % 7 } else { self.down(n - 1) + 1 } }
    /// Reads
    @param("text", "a number")
    pub fn read(mut self, text: String) -> Result<Int, ParseError> { self.cents += 1; text.parse_int() }
    /// Heaps up
    @param("line", "what")
    pub fn heap(mut self, line: String) -> Int { self.lines.push(line); self.lines.len() }
    /// Asks others
    @param("n", "which")
    pub fn told(mut self, n: Int) -> Int { self.cents += n; emit("told", n); self.cents }
    /// Nothing
    pub fn nothing() -> Int { 7 }
}
tool Other {
    description: "counts", n: Int = 0,
    /// Sums
    pub fn sum(mut self) -> Int { self.n += 1; self.n }
}
"""
# A tool whose methods write their state in all ways that a lease knows, and fail behind it where they are told to.
SHELF = """
tool Shelf {
    description: "keeps",
    n: Int = 0, big: Int = 0, all: Array<Int> = [], names: Map<String, Int> = {}, by: Map<Int, String> = {},
    few: Array<Int> = [], seen: Set<String> = Set::new(), last: String = "", over: Stack<Int> = Stack::new(),
    /// Adds
    @param("i", "which") @param("step", "how much")
    pub fn add(mut self, i: Int, step: Int) -> Int {
        self.n += 1;
        self.last = "${i}";
        self.all.push(i);
        self.names["k${i % 7}"] = (self.names.get("k${i % 7}") ?? 0) + i;
        self.by.set(i, "v${i}");
        self.names["k${i % 7}"] = 1 + (self.names.get("k${i % 7}") ?? 0);
        self.names["new${i}"] = i;
        self.big += step;
        self.all.push(self.big % 10);
        self.all.len()
    }
    /// Writes in other ways
    @param("i", "which") @param("at", "where")
    pub fn mix(mut self, i: Int, at: Int) -> Int {
        self.few.push(i % 5);
        self.few[0] = i;
        if i % 4 == 3 { self.few.sort(); self.few.pop(); }
        self.seen.insert("s${i % 3}");
        self.over.push(i);
        if i % 5 == 4 { self.names.delete("k1"); self.names["k1"] = i; }
        if i % 6 == 5 { self.over.pop(); self.over.pop(); }
        self.n += self.few[at];
        self.few.len()
    }
    /// Begins anew
    @param("i", "which") @param("step", "how much")
    pub fn anew(mut self, i: Int, step: Int) -> Int {
        if i % 3 == 0 { self.names = {}; self.all = [1]; self.by = {1: "one"}; }
        self.names["a"] = i;
        self.all.push(i);
        self.by[i] = "x";
        self.few = self.few.concat([i]);
        self.big += step;
        self.n
    }
    /// Enters last
    @param("i", "which") @param("step", "how much")
    pub fn enter(mut self, i: Int, step: Int) -> Option<Int> {
        self.big += step;
        if i % 4 == 1 { self.by = {}; }
        self.by[i] = "entered";
        Some(self.big)
    }
    /// Enters before it fails
    @param("i", "which") @param("step", "how much")
    pub fn enter_first(mut self, i: Int, step: Int) -> Int { self.n += 1; self.names["first${i}"] = i; self.big + step }
    /// Counts beside
    @param("i", "which")
    pub fn beside(mut self, i: Int) -> Int { let was = self; self.n += i; self.all.push(was.n); self.n - was.n }
    /// The state
    pub fn me(self) -> Any { self }
    /// Keeps a way out
    @param("i", "which")
    pub fn give(mut self, i: Int) -> Array<Int> { self.all.push(i); let given = self.all; self.all.push(i + 1); given }
    /// Counts down far
    @param("i", "how far") @param("step", "how much")
    pub fn far(mut self, i: Int, step: Int) -> Int {
        self.n += 1;
        self.all.push(i);
        self.names["far"] = i;
        self.n += down(i);
        self.all.push(-i);
        self.names["further"] = i;
        self.big += step;
        self.n
    }
    /// Reads a number
    @param("text", "it")
    pub fn number(mut self, text: String) -> Result<Int, ParseError> {
        self.n += 1;
        let n = text.parse_int()?;
        self.n += n;
        Ok(n)
    }
    /// Reads one, and what comes of it is not looked at
    @param("text", "it")
    pub fn raw(mut self, text: String) -> Result<Int, ParseError> { self.n += 1; text.parse_int() }
    /// Turns
    @param("n", "how often")
    pub fn turn(mut self, n: Int) -> Int { let mut i = 0; while i < n { i += 1; self.n += i; self.all.push(i % 3); } i }
    /// One of them
    @param("i", "which")
    pub fn at(self, i: Int) -> Int { self.all[i] }
    /// How many
    pub fn count(self) -> Int { self.all.len() }
    /// All
    pub fn text(self) -> String {
        let more = "${self.few} ${self.seen.len()} ${self.over.len()} ${self.last}";
        "${self.n} ${self.big} ${self.all} ${self.names} ${self.by} ${more}"
    }
}
fn down(n: Int) -> Int { if n <= 0 { 0 } else { 1 + down(n - 1) } }
"""
LENT = {
    "all ways": """
fn main() {
    let mut s = 0;
    for i in 0..120 { s += Shelf.add(i, i) + Shelf.mix(i, 0); if i % 10 == 0 { s += Shelf.count() + Shelf.at(i); } }
    emit("s", [s, Shelf.count()]);
    for i in 0..50 { s += Shelf.anew(i, 1); }
    emit("text", Shelf.text());
}""",
    "an overflow": """
fn main() {
    let mut s = 0;
    for i in 0..150 { s += Shelf.add(i % 90, if i == 140 { 9223372036854775807 } else { 1 }); }
    emit("s", s);
}""",
    "an early overflow": """
fn main() {
    for i in 0..60 { if i % 2 == 0 { Shelf.mix(i, 0); } Shelf.add(i % 9, if i == 44 { 9223372036854775807 } else { 1 }); }
}""",
    "an overflow behind a new container": """
fn main() { for i in 0..60 { Shelf.add(i, 1); Shelf.anew(i, if i == 45 { 9223372036854775807 } else { 1 }); } }""",
    "a position that is none": """
fn main() { for i in 0..60 { Shelf.mix(i, if i == 14 { 1000 } else { 0 }); } }""",
    "a position that is none, in a reader": """
fn main() {
    let mut s = 0;
    for i in 0..60 { Shelf.mix(i % 8, 0); s += Shelf.add(i, 1); s += Shelf.at(if i == 50 { 500 } else { i }); }
}""",
    "an entry behind what fails": """
fn main() {
    let mut s = 0;
    for i in 0..60 { s += Shelf.enter(i, if i == 50 { 9223372036854775807 } else { 1 }).unwrap_or(0) + Shelf.count(); }
    emit("s", s);
}""",
    "an entry before what fails": """
fn main() {
    for i in 0..60 {
        Shelf.enter(i, 1);
        Shelf.enter_first(i, if i == 50 { 9223372036854775807 } else { 1 });
    }
}""",
    "what was given stays as it is": """
fn main() {
    let mut kept: Array<Array<Int>> = [];
    for i in 0..60 { let mut given = Shelf.give(i); given.push(-1); kept.push(given); }
    emit("kept", kept.map(|k| k.len()));
    emit("last", [kept[3], kept[20]]);
    emit("count", Shelf.count());
    for i in 0..60 { let given = Shelf.give(i); Shelf.add(i, if i == 55 { 9223372036854775807 } else { 1 }); kept.push(given); }
}""",
    "a way out of the middle": """
fn main() {
    let mut s = 0;
    for i in 0..40 { s += Shelf.far(if i % 9 == 8 { 150 } else { i }, 1); Shelf.add(i, 1); }
    emit("s", s);
    for i in 0..40 { s += Shelf.far(if i > 20 { 170 } else { i }, if i == 33 { 9223372036854775807 } else { 1 }); }
}""",
    "errors and their ways": """
fn one(text: String) -> Result<Int, ParseError> { let n = Shelf.raw(text)?; Ok(n + 1) }
fn two(text: String) -> Result<Int, ParseError> { Shelf.number(text) }
fn three(text: String) -> Result<Int, ParseError> { let r = Shelf.raw(text); Shelf.count(); r }
fn all(last: Int) -> Result<Int, ParseError> {
    let mut s = 0;
    for i in 0..60 {
        s += one("${i}")? + two("${i}")? + three("${i}").unwrap_or(0);
        s += if one("x").is_err() && two("y").is_err() && three("").is_err() { 1 } else { 0 };
        if i == 55 { s += if last == 1 { one("z")? } else if last == 2 { two("z")? } else { three("z")? }; }
    }
    Ok(s)
}
fn main() -> Result<Nil, ParseError> {
    emit("e", try { all(2)? } catch e { e.message.len() });
    emit("e", try { all(1)? } catch e { e.message.len() });
    all(3)?;
    Ok(nil)
}""",
    "other tools at one place": """
fn main() {
    let mut n = 0;
    for i in 0..90 { let t: Any = if i % 3 == 0 { Till } else { Other }; n += t.sum(); }
    for i in 0..90 { let t: Any = Other; n += t.sum() + Shelf.add(i, 1); }
    emit("n", n);
}""",
    "one call for each entry into translated code": """
fn again(i: Int) -> Int { let mut s = 0; for k in 0..3 { s += Shelf.add(i + k, 1) + Shelf.mix(k, 0); } s }
fn main() { let mut s = 0; for i in 0..60 { s += again(i); emit("s", s); } emit("t", Shelf.text()); }""",
    "a state that is kept outside": """
fn main() {
    let mut kept: Array<Any> = [];
    for i in 0..60 { Shelf.add(i, 1); if i % 7 == 3 { kept.push(Shelf.me()); } Shelf.add(i, i); }
    emit("kept", kept.map(|k| "${k}".len()));
    for i in 0..60 { Shelf.add(i, 1); if i % 7 == 3 { kept.push(Shelf.me()); } if i == 46 { Shelf.add(i, 9223372036854775807); } }
}""",
    "calls that make another state": """
fn main() {
    let mut s = 0;
    for i in 0..90 { s += Shelf.add(i, 1); if i % 3 == 0 { s += Shelf.beside(i); } s += Shelf.count(); }
    emit("t", [Shelf.text(), "${s}"]);
    for i in 0..90 { s += Shelf.add(i, if i == 80 { 9223372036854775807 } else { 1 }); if i % 3 == 0 { s += Shelf.beside(i); } }
}""",
    "calls in a row of which some have no lease": """
fn main() {
    let mut s = 0;
    for i in 0..1700 { s += Shelf.add(i % 50, 1) + Shelf.count(); if i % 2 == 0 { Shelf.beside(i); } }
    emit("s", s);
}""",
    "more calls than a row has": """
fn main() {
    let mut s = 0;
    for i in 0..2300 { s += Shelf.add(i % 50, 1) + Shelf.count(); }
    emit("s", s);
    emit("n", Shelf.turn(3));
}""",
}
# Each is a program without its tools.
PROGRAMS = {
    "a loop": """
fn main() {
    let kinds = ["tea", "cake"];
    let mut refused = 0;
    for i in 0..130 { match Till.sell(kinds[i % 2], i * 37 % 90) { Ok(_) => {} Err(_) => { refused += 1; } } }
    emit("refused", refused);
    emit("text", [Till.text(), "${Till.sum()}", "${Till.nothing()}"]);
}""",
    "errors on their way": """
fn sold(cents: Int) -> Result<Int, ToolError> { let n = Till.sell("a", cents)?; Ok(n + 1) }
fn handed(cents: Int) -> Result<Int, ToolError> { Till.sell("a", cents) }
fn kept(cents: Int) -> Result<Int, ToolError> { let r = Till.sell("a", cents); emit("x", 1); r }
fn all() -> Result<Int, ToolError> {
    for i in 1..60 { sold(i)?; handed(i)?; }
    emit("err", [sold(0).is_err(), handed(0).is_err(), kept(-1).is_err()]);
    let r = ["a", "b"].map(|k| Till.sell(k, 5));
    emit("r", "${r}");
    emit("caught", try { sold(0)? } catch e { e.message.len() });
    for i in 0..60 { let x = handed(50 - i)?; }
    Ok(1)
}
fn main() -> Result<Nil, ToolError> { all()?; Ok(nil) }""",
    "an error that was kept": """
fn later(text: String) -> Result<Int, ParseError> {
    let found = Till.read(text);
    let more = text.len() + 1;
    if more > 1000 { return Ok(more); }
    found
}
fn all() -> Result<Int, ParseError> { for i in 0..60 { let x = later(if i == 55 { "x" } else { "1" })?; } Ok(1) }
fn main() -> Result<Nil, ToolError> { all()?; Ok(nil) }""",
    "a method that goes deep": """
fn main() {
    let mut n = 0;
    for i in 0..60 { n += Till.dive(i * 7) % 100; Till.sell("d", i + 1); }
    emit("n", [n, Till.sum()]);
}""",
    "a panic": """
fn deep(n: Int) -> Int { if n == 0 { Till.sell("z", 99).unwrap_or(0) } else { deep(n - 1) + 1 } }
fn main() { for i in 0..50 { Till.sell("a", i + 1); } emit("x", deep(3)); }""",
    "a panic behind many entries": """
fn main() {
    for i in 0..90 { Till.sell("k${i % 50}", i + 100); Till.heap("l${i}"); }
    let all = Till.sold();
    emit("sold", [all.len(), Till.sold().len()]);
    Till.sell("new", 1);
    Till.sell(if all.len() > 90 { "new" } else { "k3" }, 99);
}""",
    "arguments": """
fn main() {
    let prices = [1, 2];
    for i in 0..30 { Till.sell_all(prices); Till.sell_all(factor: 2, prices: [i]); Till.sell_all(prices, i); }
    let mut sold = Till.sold();
    sold.push(0);
    emit("all", [sold.len(), Till.sold().len(), prices.len()]);
    emit("more", prices.map(|p| Till.sell("more", p).unwrap_or(0) + Till.sum()));
    emit("text", Till.text());
}""",
    "tasks": """
async fn worker(name: String) -> Int {
    let mut n = 0;
    for i in 0..5 { n = Till.sell(name, i + 1).unwrap_or(0); emit(name, n); Till.sum(); }
    n
}
fn main() {
    emit("n", await (worker("a"), worker("b"), worker("c")));
    emit("p", parallel for i in 0..4 { Till.sell("p", i + 1).unwrap_or(0) });
    emit("r", race (worker("d"), worker("e")));
    for i in 0..30 { Till.told(i); Till.sum(); }
    emit("text", Till.text());
}""",
    "a task that stops itself": """
fn main() {
    let mut own: Option<Task<Int>> = None;
    let get = || own;
    let t = spawn async {
        std::time::sleep(10);
        for i in 0..3 { Till.sell("a", 1).unwrap_or(0); }
        get().unwrap().cancel();
        Till.sell("a", 50).unwrap_or(0)
    };
    own = Some(t);
    std::time::sleep(100);
    emit("s", Till.sum());
}""",
    "several tools at one place": """
fn main() {
    let mut n = 0;
    for i in 0..90 { let t: Any = if i % 3 == 0 { Till } else { Other }; n += t.sum(); }
    emit("n", n);
}""",
    "deep": """
fn deep(n: Int) -> Int { if n == 0 { Till.turn(3) } else { deep(n - 1) + Till.sum() } }
fn main() { for i in 0..40 { deep(i); } emit("n", deep(300)); }""",
    "functions as values": """
fn twice(f: fn(Int) -> Int, n: Int) -> Int { f(f(n)) }
fn main() {
    let mut n = 0;
    for i in 0..40 { n = twice(|x| { Till.sell("t", x + 1); Till.sum() }, n) % 1000; }
    emit("n", n);
}""",
}


class Clock:
    """Waiting moves it, and nothing else does."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def now(self) -> float:
        return self.seconds

    async def sleep(self, seconds: float) -> None:
        self.seconds += seconds


class Watched(Session):
    """A session that notes its effects, but for those of tools."""

    keys: list[tuple[str, str]]

    async def _perform(self, effect: Any) -> None:
        if effect.kind != "tool":
            self.keys.append((effect.key, effect.kind))
        else:
            self.tools += 1
        await super()._perform(effect)

    tools = 0


def host_of(seen: list[Any], **others: Any) -> Host:
    clock = Clock()
    return Host(
        emit=lambda channel, value, by_runtime: seen.append((channel, display(value), by_runtime)), print=seen.append, env={},
        now=clock.now, sleep=clock.sleep, wall=clock.now, random=lambda: 0.5, offline=True, **others,
    )  # fmt: skip


def ran(image: Image, route: str, **limits: Any) -> tuple[dict[str, Any], int]:
    """What can be seen of a run in an empty directory, and how many calls of tools were effects."""
    seen: list[Any] = []
    session = Watched(link.load_bytes(encode(image)), host_of(seen, tier="interp" if route in ("effects", "interp") else "both"))
    session.keys = []
    if route == "effects":
        session.machine.find_direct = lambda tool, name: None
    if route.startswith("lent"):
        session.host.is_audited = False
    session.machine.tiers(
        session.machine.both, at_once=route in ("at once", "lent at once"), counted=route in ("at once", "counted")
    )
    with TemporaryDirectory() as directory, chdir(directory):
        try:
            outcome: Any = run_offline(session, **limits)
            result = (outcome.failure, display(outcome.value), outcome.trace, outcome.panic and outcome.panic.message)
        except Exception as error:
            outcome, result = None, repr(error)  # type: ignore[assignment]
    tools = session.state.get("tools")
    states = {} if tools is None else {name: display(state) for name, state in tools.states.items()}
    fuel = session.machine.used if session.machine.exact else None
    return {"seen": seen, "result": result, "keys": session.keys, "states": states, "fuel": fuel}, session.tools


ROUTES = ["interp", "both", "at once", "counted", "lent", "lent at once"]


def same(image: Image, name: str, **limits: Any) -> int:
    """Run on all routes, and return how many calls less were effects."""
    wanted, effects = ran(image, "effects", **limits)
    fewest = effects
    by_route = {}
    for route in ROUTES:
        found, left = ran(image, route, **limits)
        by_route[route] = left
        if found["fuel"] is None:
            found["fuel"] = wanted["fuel"]
        if route.startswith("lent"):  # nobody hears the records of direct calls
            for one in (found, wanted):
                one["seen"] = [emit for emit in one["seen"] if emit[0] != AUDIT]
        assert found == wanted, f"{name}, {route}"
        fewest = min(fewest, left)
    assert by_route["lent"] == by_route["both"] and by_route["lent at once"] == by_route["at once"]
    return effects - fewest


def image_of(source: str | bytes) -> Image | None:
    compiled = compile_source(source.encode() if isinstance(source, str) else source, "main.conc")
    return compiled.image


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_see_no_difference(name: str) -> None:
    image = image_of(TILL + PROGRAMS[name])
    assert image is not None, [d.message for d in compile_source((TILL + PROGRAMS[name]).encode(), "main.conc").diagnostics.found]
    assert same(image, name) > (90 if name == "arguments" else 0)


@pytest.fixture
def leases(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The tools whose states are lent, one for each lease."""
    lent: list[str] = []
    lend = tier.Tier.lend

    def noted(self: Any, lease: Any) -> bool:
        given = lend(self, lease)
        if given:
            lent.append(lease.tool.name)
        return given

    monkeypatch.setattr(tier.Tier, "lend", noted)
    return lent


@pytest.mark.parametrize("name", LENT)
def test_calls_with_a_lease_are_no_others(name: str, leases: list[str]) -> None:
    image = image_of(TILL + SHELF + LENT[name])
    assert image is not None
    assert same(image, name) > 0
    assert leases


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_run_that_ends_anywhere_leaves_the_same(name: str) -> None:
    image = image_of(TILL + PROGRAMS[name])
    assert image is not None
    for steps in (*range(40, 400, 37), 1000, 3000):
        same(image, f"{name}, {steps} steps", steps=steps)
    for depth in (3, 5, 20):
        same(image, f"{name}, depth {depth}", depth=depth)


@pytest.mark.parametrize("path", WITH_TOOLS, ids=lambda path: path.stem)
def test_programs_of_the_suite_see_no_difference(path: Path) -> None:
    text = path.read_bytes()
    for number, chunk in enumerate([] if b"//-----" in text else text.split(b"\n//=====\n")):
        image = image_of(chunk)
        if image is not None and image.header.entry is not None:
            same(image, f"{path.stem} {number}")


@pytest.mark.parametrize("tier", ["interp", "both"])
def test_a_method_that_suspends_although_it_may_not_ends_the_run(tier: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(direct, "may_suspend", lambda run, number: False)
    image = image_of(TILL + "fn main() { for i in 0..90 { Till.sell(\"a\", 5); } Till.told(1); }")
    assert image is not None
    seen: list[Any] = []
    session = Session(link.load_bytes(encode(image)), host_of(seen, tier=tier))
    outcome = run_offline(session)
    assert outcome.failure == "P007" and ("told", "1", False) not in seen
    assert display(session.state["tools"].states["Till"]).startswith("Till {cents: 450,")


# ---------------------------------------------------------------- hosts

PUBLIC = """
pub fn sell(kind: String, cents: Int) -> Int { Till.sell(kind, cents).unwrap_or(-1) }
pub fn often(n: Int) -> Int { let mut s = 0; for i in 0..n { s += Till.sell("x", i + 100).unwrap_or(0); } s }
pub fn turn(n: Int) -> Int { Till.turn(n) }
pub fn turns(last: Int) -> Int { let mut s = 0; for i in 0..90 { s += Till.turn(if i == 89 { last } else { 1 }); } s }
pub fn text() -> String { Till.text() }
pub fn sum() -> Int { Till.sum() }
pub fn heap(n: Int) -> Int { let mut s = 0; for i in 0..n { s = Till.heap("a long line of it all ${i}".repeat(20)); } s }
fn main() {}
"""
PROGRAM = concerto.compile(TILL + PUBLIC)


def test_a_listener_hears_each_call_before_it_runs() -> None:
    with PROGRAM.session(offline=True) as session:
        assert session.call("often", 30) > 0  # nobody listens yet
        heard: list[Any] = []
        session.on(AUDIT, heard.append)
        session.call("sell", "a", 5)
        assert heard == [{"tool": "Till", "method": "sell", "args": {"kind": "a", "cents": 5}}]
        session.call("often", 50)
        assert [record["args"]["cents"] for record in heard[1:]] == list(range(100, 150))
        session.call("text")
        assert heard[-1] == {"tool": "Till", "method": "text", "args": {}}


def test_a_call_with_a_handle_hears_its_own() -> None:
    heard: list[Any] = []
    with PROGRAM.session(offline=True) as session:
        call = session.start("sell", "a", 5)
        call.on("*", lambda emit: heard.append(emit.channel))
        call.result()
        assert heard == [AUDIT]


class Deaf(Exception):
    pass


@pytest.mark.parametrize("tier", ["interp", "both"])
@pytest.mark.parametrize("error", [Deaf("no"), TypeError("no"), RecursionError("no")], ids=lambda error: type(error).__name__)
def test_what_the_sink_raises_comes_out_as_it_is(tier: str, error: Exception) -> None:
    image = image_of(TILL + 'fn main() { for i in 0..200 { Till.sell("a", i + 100); } }')
    assert image is not None
    calls = 0

    def emit(channel: str, value: Any, by_runtime: bool) -> None:
        nonlocal calls
        calls += 1
        if calls == 150:
            raise error

    host = host_of([], tier=tier)
    host.emit = emit
    session = Session(link.load_bytes(encode(image)), host)
    with pytest.raises(type(error)) as raised:
        run_offline(session)
    assert raised.value is error
    assert display(session.state["tools"].states["Till"]).startswith("Till {cents: 25926")  # 149 sales


def test_a_panic_of_the_sink_is_one_of_the_call() -> None:
    image = image_of(TILL + 'fn main() {\n Till.sell("a", 1);\n Till.sum(); }')
    assert image is not None

    def emit(channel: str, value: Any, by_runtime: bool) -> None:
        if channel == AUDIT and "sum" in display(value):
            raise Panic("P103", "too large")

    host = host_of([])
    host.emit = emit
    outcome = run_offline(Session(link.load_bytes(encode(image)), host))
    assert outcome.failure == "P103" and outcome.trace[0][0] == "main"


def test_a_disabled_method_is_refused() -> None:
    permissions = concerto.Permissions(tools={"Till": ["sum"]})
    with PROGRAM.session(offline=True, permissions=permissions) as session:
        assert session.call("sell", "a", 5) == -1
        assert session.call("sum") == 0


def test_a_function_of_the_host_takes_the_place_at_any_time() -> None:
    with PROGRAM.session(offline=True) as session:
        assert session.call("sum") == 0
        session.register_tool("Till", "sum", lambda: 42)
        assert session.call("sum") == 42


def test_calls_go_on_from_a_restored_state() -> None:
    with PROGRAM.session(offline=True) as session:
        session.call("sell", "a", 5)
        state, text = session.dump(), session.call("text")
        session.call("often", 60)
        session.restore(state)
        assert session.call("text") == text
        session.call("sell", "b", 1)
        assert session.call("sum") == 6


def test_a_state_that_others_hold_is_not_lent() -> None:
    """It is copied first."""
    source = TILL + SHELF + "pub fn add(n: Int) { for i in 0..n { Shelf.add(i, 1); } } fn main() {}"
    with concerto.compile(source).session() as run:
        run.call("add", 50)
        states = run._session.state["tools"].held.states
        before = states["Shelf"] = containers.share(states["Shelf"])
        run.call("add", 50)
        assert (before.f0, states["Shelf"].f0) == (50, 100)


@pytest.mark.parametrize("tier", ["interp", "both"])
def test_a_deadline_ends_a_method_and_leaves_its_state(tier: Any) -> None:
    with PROGRAM.session(offline=True, tier=tier, budgets=concerto.Budgets(seconds=0.3)) as session:
        session.call("sell", "a", 5)
        with pytest.raises(concerto.Panic) as raised:
            session.call("turn", 1 << 40)
        assert raised.value.code == "P102"
        assert session.call("text") == '5 {"a": 5} [5]'
        assert session.call("sum") == 5


def test_a_deadline_ends_a_method_with_a_lease_and_leaves_its_state(leases: list[str]) -> None:
    with PROGRAM.session(offline=True, budgets=concerto.Budgets(seconds=0.5)) as session:
        with pytest.raises(concerto.Panic) as raised:
            session.call("turns", 1 << 40)
        assert raised.value.code == "P102" and leases
        assert session.call("sum") == 89


@pytest.mark.parametrize("tier", ["interp", "both"])
def test_a_state_that_grows_counts_against_the_memory(tier: Any) -> None:
    budgets = concerto.Budgets(memory_bytes=20_000_000, seconds=60)
    with PROGRAM.session(offline=True, tier=tier, budgets=budgets) as session, pytest.raises(concerto.Panic) as raised:
        session.call("heap", 5_000_000)
    assert raised.value.code == "P103"


def test_the_loop_of_the_host_gets_turns() -> None:
    async def both() -> tuple[int, int]:
        turns = 0

        async def count() -> None:
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        async with PROGRAM.session(offline=True) as session:
            await session.acall("often", 100)
            counting = asyncio.create_task(count())
            await asyncio.sleep(0)
            before = turns
            await session.acall("often", 20 * IN_A_ROW)
            counting.cancel()
            return before, turns

    before, after = asyncio.run(both())
    assert after - before >= 20


def test_a_recording_has_the_calls_and_gives_them_again(tmp_path: Path) -> None:
    main = 'fn main() { for i in 0..60 { Till.sell("a", i + 100); emit("n", Till.sum()); } emit("t", std::time::now_ms() > 0); }'
    program = concerto.compile(TILL + main)

    def run_of(program: concerto.Program, **options: Any) -> Any:
        with program.session(offline=True, **options) as session:
            return session.run()

    plain = run_of(program)
    path = str(tmp_path / "run.jsonl")
    recorded = run_of(program, record=path)
    replayed = run_of(program, replay=path)
    assert plain.emits == recorded.emits == replayed.emits
    assert Path(path).read_text().count(AUDIT) == 120
