"""A deadline and a cancellation are met within built-ins too, whatever they work on (G-2.7, G-6.1, G-6.3)."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import Any

import concerto
import pytest
from concerto.compiler.pipeline import compile_source
from concerto.runtime.host import Host
from concerto.runtime.loop import OfflineLoop
from concerto.runtime.session.session import Session
from concerto.vm.interp.link import load_image
from concerto.vm.interp.machine import Stopped

from tests.least import least

LATE = 1.5  # seconds: machines are busy; `make soak` prints what an idle one reaches
LONG = 'let s = "ab".repeat(7000000); '
LOOPS = {
    "replace": LONG + 'loop { let n = s.replace("a", "c").len(); }',
    "index_of": LONG + 'loop { let n = s.index_of("bb"); }',
    "equality": LONG + 'let t = "ab".repeat(7000000); let mut n = 0; loop { if s == t { n += 1; } }',
    "split": 'let s = "a,".repeat(999999); loop { let n = s.split(",").len(); }',
    "json": 'let s = "[" + "1,".repeat(900000) + "1]"; loop { let v = std::json::parse(s); }',
    "display": "let mut a: Any = []; for i in 0..40 { a = [a, a]; } loop { let n = \"${a}\".len(); }",
    "regex": 'let w = "$0".repeat(500000); let s = "a".repeat(1000000); loop { let r = std::regex::replace("(b*)", s, w); }',
    "states of a pattern": f'let s = "{"".join(map(chr, range(0x4E00, 0x4E00 + 8000)))}"; '
    'let r = std::regex::is_match("(?:a?){1000}(?:c?){1000}(?:d?){1000}b", s);',
    "sort": "let mut a = (0..1000000).map(|i| (i * 7919) % 1000003); loop { let mut b = a; b.sort(); }",
    "copies": "let a = (0..1000000).to_array(); loop { let mut b = a; b[0] = 1; }",
    "casts": "let a: Any = (0..1000000).map(|i| i as Any); loop { let b = a as Array<Int>; }",
    "shared parts": f"let mut a: Any = 1; for i in 0..40 {{ a = [a, a]; }} let _b = a as {'Array<' * 40}Int{'>' * 40};",
    "pretty": 'let s = "x\\n".repeat(4000000); loop { let n = std::json::stringify_pretty([s], 2).len(); }',
}


@pytest.mark.parametrize("tier", ["interp", "both"])
@pytest.mark.parametrize("name", sorted(LOOPS))
def test_a_deadline_within_a_built_in(name: str, tier: Any) -> None:
    program = concerto.compile(f"fn main() {{ {LOOPS[name]} }}")

    def late() -> float:
        started = time.monotonic()
        with program.session(tier=tier, budgets=concerto.Budgets(seconds=0.3)) as session:
            result = session.run()
        assert isinstance(result.error, concerto.Panic) and result.error.code in ("P102", "P103"), result.error
        return time.monotonic() - started - 0.3

    assert least(late, LATE) < LATE


def session_of(source: str) -> tuple[Session, OfflineLoop]:
    compiled = compile_source(source.encode(), "main.conc")
    assert compiled.image is not None
    loop = OfflineLoop(0.0)
    host = Host(emit=print, print=print, env={}, now=loop.time, sleep=loop.sleep, random=lambda: 0.0, loop=loop)  # type: ignore[arg-type]
    return Session(load_image(compiled.image), host), loop


def test_a_call_without_seconds_has_no_deadline_of_the_call_before() -> None:
    session, loop = session_of("fn main() {}")
    seen: list[float | None] = []

    async def arguments(_: object) -> list[Any]:
        seen.append(session.remaining())
        return []

    for seconds in (1, None, 2):
        loop.run_until_complete(session.invoke(session.program.codes[0], arguments, seconds=seconds))
    assert seen == [1, None, 2]


@pytest.mark.parametrize("way", ["computes", "waits", "is stopped"])
def test_what_ended_a_call_does_not_end_the_next_one(way: str) -> None:
    session, loop = session_of("""
        pub fn long(ms: Int) { if ms > 0 { std::time::sleep(ms); } let mut n = 0; while ms == 0 { n = (n + 1) % 1000; } }
        pub fn short() -> Int { 7 }
    """)
    long, short = (session.program.codes[session.program.image.exports.functions[name]] for name in ("long", "short"))
    for _ in range(2):
        if way == "is stopped":
            timer = threading.Timer(0.1, session.stop, ["enough"])
            timer.start()
            with pytest.raises(Stopped, match="enough"):
                loop.run_until_complete(session.invoke(long, [0]))
            timer.join()
        else:
            outcome = loop.run_until_complete(session.invoke(long, [0 if way == "computes" else 5000], seconds=0.1))
            assert outcome.panic is not None and outcome.panic.code == "P102"
        assert loop.run_until_complete(session.invoke(short, [])).value == 7


def test_a_stop_between_two_calls_ends_the_next_one() -> None:
    session, loop = session_of("pub fn short() -> Int { 7 }")
    short = session.program.codes[session.program.image.exports.functions["short"]]
    session.stop("enough")
    with pytest.raises(Stopped, match="enough"):
        loop.run_until_complete(session.invoke(short, []))
    assert loop.run_until_complete(session.invoke(short, [])).value == 7


STORES = {
    "turns": 'loop { let _ = m.turns().len(); }',
    "dump": "loop { let _ = m.dump().len(); }",
    "entries": "loop { let _ = m.entries().len(); }",
    "view": 'loop { let _ = m.view("x").len(); }',
    "prune": 'for i in 0..200 { q.append("user", "word ${i} ".repeat(200)); } loop { let _ = q.view("x"); }',
    "keys": "loop { let _ = h.keys().len(); }",
    "search": 'loop { let _ = l.query().from_identifier("word").len(); }',
}
FILLED = """
memory m: Memory = Memory::new();
memory q: Memory = Memory::new().prune(similar: 0.5);
hashmap h: HashMap<String, Int> = HashMap::new();
ledger l: Ledger = Ledger::new();
pub fn fill() {
    for i in 0..3000 { m.append("user", "word ${i} ".repeat(50)); h.set("k${i}", i); l.insert("word${i} here", ["k"], "v"); }
}
"""


@pytest.mark.parametrize("name", sorted(STORES))
def test_a_deadline_within_methods_of_stores(name: str) -> None:
    program = concerto.compile(f"{FILLED} pub fn work() {{ {STORES[name]} }}")
    with program.session(offline=True, budgets=concerto.Budgets(seconds=2)) as session:
        session.call("fill")
        started = time.monotonic()
        with pytest.raises(concerto.Panic) as caught:
            session.call("work")
        assert caught.value.code == "P102"
    assert time.monotonic() - started - 2 < LATE


def test_a_deadline_where_nothing_else_can_run() -> None:
    """An asynchronous session that computes holds its event loop; the clock is looked at beside it."""
    program = concerto.compile("fn main() { let mut n = 0; loop { n = (n + 1) % 1000; } }")

    async def both() -> float:
        async with program.session(budgets=concerto.Budgets(seconds=0.3)) as session:
            started = time.monotonic()
            result = await session.arun()
            assert isinstance(result.error, concerto.Panic) and result.error.code == "P102"
            return time.monotonic() - started - 0.3

    assert asyncio.run(both()) < LATE


def test_a_cancellation_within_a_built_in() -> None:
    program = concerto.compile(f"fn main() {{ {LOOPS['replace']} }}")
    with program.session() as session:
        told: list[float] = []

        def cancel() -> None:
            told.append(time.monotonic())
            session.cancel()

        threading.Timer(0.5, cancel).start()
        result = session.run()
        assert result.exit_code == 130 and time.monotonic() - told[0] < LATE


def test_many_runs_have_one_thread() -> None:
    program = concerto.compile("pub fn f() -> Int { 7 }")
    before = threading.active_count()
    with program.session(budgets=concerto.Budgets(seconds=30)) as session:
        for _ in range(50):
            session.call("f")
        assert threading.active_count() <= before + 1
