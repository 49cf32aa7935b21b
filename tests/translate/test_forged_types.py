"""Types in an image are hints: where they are forged, translated code gives a value or a panic, nothing of the host (V-2.6)."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from concerto.compiler.pipeline import compile_source
from concerto.runtime.session.session import Session, run_offline
from concerto.vm.interp.link import load_image
from concerto.vm.panics import PANICS

from .tiers import host_of

SOURCE = """
struct P { x: Int, s: String, list: Array<Int> }
fn ints(a: Array<Int>, i: Int) -> Int {
    let mut b = a;
    let mut n = 0;
    while n < b.len() && b[n] >= 0 { b[n] = b[n] + i; n += 1; }
    b.push(i);
    for x in b { n += x % 5; }
    n + (b.first() ?? 0) + b.pop().unwrap_or(2)
}
fn texts(a: Array<String>) -> String {
    let mut s = "";
    for x in a { if x < "m" && !x.starts_with("q") { s = s + x.to_upper() + "${x.len()}${x}"; } }
    s + a[0].trim().substring(0, 1) + "${a[0].index_of("e") ?? 7}" + "${a[0].parse_int().unwrap_or(3)}"
}
fn bools(a: Array<Bool>) -> Int { let mut n = 0; for x in a { if x { n += 1; } if !x && a[0] { n += 2; } } n }
fn floats(a: Array<Float>) -> Float { let mut s = 0.5; for x in a { s = s / (x + 1.0) + x.sqrt(); } s }
fn people(a: Array<P>, i: Int) -> Int {
    let mut ps = a;
    for n in 0..2 { ps[n].x += i; ps[n].list[0] = ps[n].x; if ps[n].x < 50 { ps[n].s = ps[n].s + "!"; } }
    ps[1].x + ps[0].list[0]
}
fn table(m: Map<String, Int>, k: String) -> Int {
    let mut c = m;
    c[k] = (c.get(k) ?? 0) + 1;
    for (a, b) in c { c[a] = b + 1; }
    c[k]
}
struct Q { x: Int, s: String }
fn more(m: Map<String, Q>, k: String, p: Q, i: Int) -> Result<Int, String> {
    let q = m.get(k).ok_or("none")?;
    let mut n = if q == p { 1 } else { 2 };
    if k.get(0) == "b" { n += 1; }
    let all = {"x": i, k: n};
    let list = [i, n][1..];
    for (_, first) in all { n += first; break; }
    Ok(n.max(i) + (i as Float) as Int + list.len() + all.len() + k.to_bytes()[0])
}
fn main() {
    for n in 0..3 {
        emit("more", more({"b": Q { x: n, s: "b" }}, if n == 2 { "a" } else { "b" }, Q { x: 1, s: "b" }, n));
        emit("ints", ints([3, 1, n], n));
        emit("texts", texts(["one", "12", "queue"]));
        emit("bools", bools([true, false, n > 1]));
        emit("floats", floats([1.5, 2.0]));
        emit("people", people([P { x: 1, s: "a", list: [n] }, P { x: 2, s: "b", list: [2] }], n));
        emit("table", table({"a": n}, "b"));
    }
}
"""
# by word, what stands in the image instead; inner types are the first of the image
FORGED: dict[str, list[Any]] = {
    "int": ["int"], "float": ["float"], "string": ["string"], "bool": ["bool"], "nil": ["nil"], "array": ["array", 0],
    "map": ["map", 0, 0], "struct": ["struct", "main::P", []], "enum": ["enum", "main::E", []], "option": ["option", 0],
}  # fmt: skip
REAL = ("int", "float", "string", "bool", "array", "map")
ITSELF = {("int", "array"), ("int", "map"), ("int", "option")}  # the first type is Int; what holds itself is refused
PAIRS = [pair for pair in itertools.product(REAL, FORGED) if pair[0] != pair[1] and pair not in ITSELF]


@pytest.mark.parametrize(("real", "forged"), PAIRS)
def test_a_forged_type_is_no_way_out(real: str, forged: str) -> None:
    compiled = compile_source(SOURCE.encode(), "main.conc")
    assert compiled.image is not None
    for number, descriptor in enumerate(compiled.image.types):
        if descriptor[0] == real:
            compiled.image.types[number] = FORGED[forged]
    emits: list[Any] = []
    session = Session(load_image(compiled.image), host_of("both", emits))
    session.machine.tiers(True, at_once=True, counted=False)
    outcome = run_offline(session)
    assert outcome.panic is None or outcome.panic.code in PANICS, outcome.panic
    assert outcome.panic is not None or len(emits) == 21
