"""Runs of opcodes that one node stands for: whatever fails within one has its position (V-2.5, speed.md 2)."""

from __future__ import annotations

import pytest
from concerto.compiler.pipeline import compile_source
from concerto.runtime.host import Host
from concerto.runtime.offline_loop import OfflineLoop
from concerto.runtime.session import Session, run_offline
from concerto.vm import fusion
from concerto.vm.load import load_image

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
    monkeypatch.setattr(fusion, "_LENGTHS", {})  # nothing is fused: each opcode is a node
    assert found == outcome(call, "interp")
    assert found == CALLS[call]
