"""What the values of a run take of memory is limited, whatever makes them (G-2.9, G-6.1, G-6.8)."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import concerto
import pytest

MIB = 1 << 20
BUDGET = 96 * MIB
SHARE = 1.25
OWN = 24 * MIB  # what the process takes besides: code, the compiler's tables
MEASURED = """
import resource, sys
import concerto
program = concerto.compile(sys.argv[1])
with program.session(tier=sys.argv[3], budgets=concerto.Budgets(memory_bytes=int(sys.argv[2]), seconds=100)) as session:
    before = int(open("/proc/self/statm").read().split()[1]) * resource.getpagesize()
    error = session.run().error
    # of this process alone: what `getrusage` says begins with the peak of the one that started it
    peak = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))
    print(error and error.code, peak * 1024 - before)
"""
GROWING = {
    "long Strings": 'let mut i = 0; loop { b.push("a".repeat(1000000 + i)); i += 1; }',
    "Strings of four bytes": 'let mut i = 0; loop { b.push("😀".repeat(100000 + i)); i += 1; }',
    "structs": "loop { let mut c: Array<P> = []; for i in 0..1000 { c.push(P { x: i, y: 2.5 * i.to_float() }); } b.push(c); }",
    "enums": "loop { let mut c: Array<E> = []; for i in 0..1000 { c.push(E::A(i, i + 5000)); } b.push(c); }",
    "Options": "let mut c: Any = None; let mut i = 0; loop { c = Some((c, i)); i += 1; }",
    "enumerate": "let a = (0..100000).to_array(); loop { b.push(a.enumerate()); }",
    "entries": 'let mut m: Map<String, Int> = {}; for i in 0..10000 { m["k${i}"] = i; } loop { b.push(m.entries()); }',
    "chars": 'let s = "abé😀".repeat(100000); loop { b.push(s.chars()); }',
    "splits": 'let s = "abc,".repeat(100000); loop { b.push(s.split(",")); }',
    "slices": 'let a = (0..100000).to_array(); loop { b.push(a[0..99999]); }',
    "ranges": "loop { b.push((1000..100000).to_array()); }",
    "maps": 'loop { let mut m: Map<String, Any> = {}; for i in 0..1000 { m["k${i}"] = [i]; } b.push(m); }',
    "closures": "loop { let mut c: Array<Any> = []; for i in 0..1000 { c.push(|x: Int| x + i); } b.push(c); }",
    "concatenation": 'let mut s = ""; loop { s = s + "abcdefgh"; if s.len() > 5000 { b.push(s); s = ""; } }',
    "holes": 'let mut i = 0; loop { b.push("${i} of ${i + 1}"); i += 1; if b.len() > 900000 { b = [b]; } }',
    "copies": "let a = (0..100000).to_array(); loop { let mut c = a; c[0] = 1; b.push(c); }",
    "JSON": 'let s = "[" + "[1,2],".repeat(20000) + "1]"; loop { b.push(std::json::parse(s).unwrap()); }',
    "matches": 'let s = "word ".repeat(20000); loop { b.push(std::regex::find_all("w(.)", s).unwrap()); }',
    "errors": 'loop { let mut c: Array<Any> = []; for i in 0..1000 { c.push("x${i}".parse_int()); } b.push(c); }',
    "emits": 'let mut i = 0; loop { emit("kept", "a".repeat(100000 + i)); i += 1; }',
    "hashmap": 'let mut i = 0; loop { store.set("k${i}", "a".repeat(10000 + i % 10)); i += 1; }',
    "memory": 'let mut i = 0; loop { log.append("user", "a".repeat(10000 + i % 10)); i += 1; }',
    "tasks": "grow(0, b)",
    "mapped tuples": "loop { b.push((0..900000).to_array().map(|x| (x, x))); }",
    "mapped arrays": "loop { b.push((0..900000).to_array().map(|x| [x, x])); }",
    "zipped": "let a = (0..900000).to_array(); loop { b.push(a.zip(a)); }",
}
DECLARED = """
struct P { x: Int, y: Float }
enum E { A(Int, Int), B }
hashmap store: HashMap<String, String> = HashMap::new();
memory log: Memory = Memory::new();
fn grow(n: Int, b: Array<Any>) -> Int { let mut c = b; c.push("a".repeat(1000000 + n)); 1 + grow(n + 1, c) }
"""


def source(name: str) -> str:
    return f"{DECLARED}\nfn main() {{ let mut b: Array<Any> = []; {GROWING[name]}; }}"


def grown(name: str, tier: str) -> tuple[str, int]:
    """The code of the panic and how far resident memory went, in a process of its own."""
    command = [sys.executable, "-c", MEASURED, source(name), str(BUDGET), tier]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=200)
    assert ended.returncode == 0, ended.stderr
    code, size = ended.stdout.split()
    return code, int(size)


FEW = ("long Strings", "structs", "maps", "JSON", "emits", "holes", "mapped tuples")


@pytest.mark.skipif(sys.platform != "linux", reason="memory is measured by /proc")
@pytest.mark.parametrize("name", FEW)
def test_what_grows_ends_in_time(name: str) -> None:
    sizes: list[float] = []
    while len(sizes) in (0, 2) or (len(sizes) == 1 and sizes[0] > BUDGET * SHARE + OWN):
        code, size = grown(name, "both")
        assert code == "P103" and size > BUDGET / 2, size / MIB
        sizes.append(size)
    # What a busy machine adds comes once: it is looked at twice more, and neither may be beyond.
    assert len(sizes) == 1 or max(sizes[1:]) <= BUDGET * SHARE + OWN, [size / MIB for size in sizes]


def test_what_is_let_go_does_not_count() -> None:
    program = concerto.compile("""
pub fn held() -> Int {
    let mut n = 0;
    for i in 0..300 { n += "a".repeat(1000000 + i).len(); }
    for i in 0..200000 { let p = [i, i + 1, i + 2]; n += p.len(); }
    n
}""")
    tiers: list[Any] = ["interp", "both"]
    for tier in tiers:
        with program.session(tier=tier, budgets=concerto.Budgets(memory_bytes=32 * MIB)) as session:
            assert session.call("held") == 300_000_000 + 299 * 150 + 600_000


@pytest.mark.parametrize("size", [0, -1, 1.5, True, "10"])
def test_what_it_must_be(size: Any) -> None:
    with pytest.raises(ValueError, match="budget memory_bytes is .*; it is an int of at least 1"):
        concerto.Budgets(memory_bytes=size)


def test_a_session_goes_on_after_it() -> None:
    program = concerto.compile("""
pub fn grow() { let mut b: Array<String> = []; let mut i = 0; loop { b.push("a".repeat(1000000 + i)); i += 1; } }
pub fn small() -> Int { 7 }""")
    with program.session(budgets=concerto.Budgets(memory_bytes=48 * MIB)) as session:
        for _ in range(3):
            with pytest.raises(concerto.Panic, match="memory limit exceeded: 50331648 bytes"):
                session.call("grow")
            assert session.call("small") == 7


def test_what_the_host_holds_does_not_count() -> None:
    """Neither what its variables hold, in the frames beneath the loop, nor its objects."""
    held = [[number] for number in range(1_000_000)]  # 90 MB
    program = concerto.compile("pub fn sum(n: Int) -> Int { let mut s = 0; for i in 0..n { s += i; } s }")
    with program.session(budgets=concerto.Budgets(memory_bytes=8 * MIB)) as session:
        session._session.machine.weigh_soon()
        assert session.call("sum", 1000) == 499_500
    assert len(held) == 1_000_000


if __name__ == "__main__":  # every shape, in both tiers: python -m tests.runtime.test_memory_limit
    for shape in GROWING:
        for which in ("interp", "both"):
            found, most = grown(shape, which)
            print(f"{shape:24} {which:7} {found} {most / BUDGET:.2f}", flush=True)
