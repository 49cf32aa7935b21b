"""Runs of opcodes that one node stands for: whatever fails within one has its position (V-2.5)."""

from __future__ import annotations

import pytest
from concerto.compiler.pipeline import compile_source
from concerto.runtime.host import Host
from concerto.runtime.loop import OfflineLoop
from concerto.runtime.session.session import Session, run_offline
from concerto.vm.interp import link
from concerto.vm.interp.link import load_image
from concerto.vm.values import to_json

PROGRAM = """\
struct P { x: Int, y: Int }
fn f(a: Array<Int>, ps: Array<P>, i: Int, j: Int, big: Int) -> Int {
    let mut own = a;
    let mut qs = ps;
    let mut n = 0;
    while n < 1 {
        let step = a[i] + a[j] * big;
        n = n + step - step + 1;
        own[i] = n + big;
        qs[j].x = qs[i].x + qs[j].y;
        n += own[i] / own[j] - own[i] / own[j];
    }
    n
}
fn main() {
    let a = [1, 2, 3];
    let ps = [P { x: 1, y: 2 }, P { x: 3, y: 9223372036854775807 }, P { x: 1, y: 2 }];
    emit("r", f(CALL));
}
"""
CALLS = {
    "a, ps, 0, 2, 1": None,
    "a, ps, 3, 2, 1": "P004 7:20",
    "a, ps, 0, 3, 1": "P004 7:27",
    "a, ps, -1, 2, 1": "P004 7:20",
    "a, ps, 0, 2, 9223372036854775807": "P002 7:27",
    "a, ps, 0, 0, 9223372036854775807": "P002 7:20",
    "a, ps, 0, 1, 1": "P002 10:19",
    "[1, 0], [P { x: 1, y: 2 }], 0, 1, 1": "P004 10:29",
    "[1, 0], ps, 0, 1, 0": "P002 10:19",
    "[1, 2, 0], ps, 0, 2, 1": "P003 11:14",
}


def outcome(call: str, tier: str) -> str | None:
    compiled = compile_source(PROGRAM.replace("CALL", call).encode(), "runs.conc").image
    assert compiled is not None
    loop = OfflineLoop(0.0)
    host = Host(
        emit=lambda *_: None, print=print, env={}, now=loop.time, sleep=loop.sleep, random=lambda: 0.0, offline=True, loop=loop,
        tier=tier,
    )  # fmt: skip
    panic = run_offline(Session(load_image(compiled), host)).panic
    return None if panic is None else "{} {}:{}".format(panic.code, *panic.trace[0][2:])


@pytest.mark.parametrize("call", CALLS)
def test_what_fails_within_a_run_has_its_position(call: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found = outcome(call, "interp")
    monkeypatch.setattr(link, "fuse", lambda *_: None)  # nothing is fused: each opcode is a node
    assert found == outcome(call, "interp")
    assert found == CALLS[call]


# Each operation has a quick way and one for what is rare; behind either the run goes on where it was.
RARE = """\
struct P { x: Int, m: Map<String, Int> }
fn divided(n: Int, d: Int) -> Array<Int> {
    let q = n / d; let r = n % d;
    [n / d, n % d, n / d + n % d, if n % d == 0 { n / d } else { n / d + 1 }, q, r, n / 3 * (n % 3), -n / d]
}
fn main() {
    for n in -7..8 { for d in [-3, -1, 2, 5] { emit("d", divided(n, d)); } }
    let mut ps = {true: P { x: 1, m: {} }, false: P { x: 2, m: {} }};
    let mut counts = {"a": 1};
    let key = false;
    let word = "b";
    for i in 0..4 {
        ps[key].x = i - 2;
        ps[key].m = {"k": i};
        ps[key].m["k"] = ps[key].m["k"] + 1;
        counts[word] = ps[key].x / -2 + i;
        counts["a"] = counts[word] % -2;
        emit("m", [ps[key].x, ps[key].m["k"], counts["a"], counts["b"], i]);
    }
}
"""


def emitted(tier: str) -> list[object]:
    compiled = compile_source(RARE.encode(), "rare.conc").image
    assert compiled is not None
    loop = OfflineLoop(0.0)
    found: list[object] = []
    host = Host(
        emit=lambda _, value, __: found.append(to_json(value)), print=print, env={}, now=loop.time, sleep=loop.sleep,
        random=lambda: 0.0, offline=True, loop=loop, tier=tier,
    )  # fmt: skip
    assert run_offline(Session(load_image(compiled), host)).panic is None
    return found


def test_what_is_rare_leaves_the_run_where_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    found = emitted("interp")
    monkeypatch.setattr(link, "fuse", lambda *_: None)
    assert len(found) == 64 and found == emitted("interp")
