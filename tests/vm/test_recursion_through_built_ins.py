"""Deep recursion is the panic P012 through every built-in that takes a function, in both tiers at the same call, without a frame
of Python for each, and the next run is unharmed (G-2.8, G-5.6)."""

from __future__ import annotations

import sys

import pytest
from concerto.compiler.pipeline import compile_source
from concerto.runtime.host import Host
from concerto.runtime.session.session import Outcome, Session, run_offline
from concerto.vm.builtins import ASSOCIATED, FUNCTIONS, METHODS
from concerto.vm.interp.link import load_image

# The body of `fn down(n: Int) -> Int`, which calls itself through the method; `n` grows, so that nothing repeats.
BODIES = {
    ("Array", "map"): "[n].map(|x| down(x + 1))[0]",
    ("Array", "flat_map"): "[n].flat_map(|x| [down(x + 1)])[0]",
    ("Array", "filter"): "[n].filter(|x| down(x + 1) > 0).len()",
    ("Array", "find"): "[n].find(|x| down(x + 1) > 0).unwrap_or(0)",
    ("Array", "any"): "if [n].any(|x| down(x + 1) > 0) { 1 } else { 0 }",
    ("Array", "all"): "if [n].all(|x| down(x + 1) > 0) { 1 } else { 0 }",
    ("Array", "reduce"): "[n].reduce(0, |a, x| a + down(x + 1))",
    ("Array", "sort_by"): "let mut a = [n, n]; a.sort_by(|x, _y| down(x + 1)); a[0]",
    ("Option", "unwrap_or_else"): "let o: Option<Int> = None; o.unwrap_or_else(|| down(n + 1))",
    ("Option", "map"): "Some(n).map(|x| down(x + 1)).unwrap()",
    ("Option", "and_then"): "Some(n).and_then(|x| Some(down(x + 1))).unwrap()",
    ("Option", "filter"): "Some(n).filter(|x| down(x + 1) > 0).unwrap_or(0)",
    ("Result", "unwrap_or_else"): "let r: Result<Int, String> = Err(\"e\"); r.unwrap_or_else(|_e| down(n + 1))",
    ("Result", "map"): "let r: Result<Int, String> = Ok(n); r.map(|x| down(x + 1)).unwrap()",
    ("Result", "and_then"): "let r: Result<Int, String> = Ok(n); r.and_then(|x| Ok(down(x + 1))).unwrap()",
    ("Result", "map_err"): "let r: Result<Int, Int> = Err(n); r.map_err(|x| down(x + 1)).unwrap_err()",
    ("Range", "map"): "(n..n + 1).map(|x| down(x + 1))[0]",
    ("Range", "filter"): "(n..n + 1).filter(|x| down(x + 1) > 0).len()",
    ("HashMap", "query"): "h.query(|_k, v| down(v) > 0).len()",
    ("HashMap", "find"): "if h.find(|_k, v| down(v) > 0).is_some() { 1 } else { 0 }",
}
WATCHERS = {("HashMap", "on_change"), ("HashMap", "on_any_change")}  # kept, and bounded by their own limit (O-5.18)


TIERS = ("interp", "both")
LITTLE = 250  # frames of Python above those that stand: far fewer than calls of the program


def run(body: str, tier: str = "both", depth: int = 10_000) -> Outcome:
    source = "hashmap h: HashMap<String, Int> = HashMap::new();\n"
    source += f'fn down(n: Int) -> Int {{ {body} }}\nfn main() {{ h.set("k", 1); down(1); }}'
    compiled = compile_source(source.encode(), "main.conc")
    assert compiled.image is not None, [d.message for d in compiled.diagnostics.found]
    host = Host(
        emit=lambda channel, value, by_runtime: None, print=lambda text: None, env={}, now=lambda: 0.0, sleep=None,
        random=lambda: 0.5, offline=True, tier=tier,
    )  # fmt: skip
    session = Session(load_image(compiled.image), host)
    if tier == "both":
        session.machine.tiers(True, at_once=True, counted=False)
    return run_offline(session, depth=depth)


def standing() -> int:
    frame, count = sys._getframe(), 0
    while frame is not None:
        frame, count = frame.f_back, count + 1  # type: ignore[assignment]
    return count


def test_every_built_in_that_takes_a_function_is_here() -> None:
    rows = [*METHODS.values(), *FUNCTIONS.values(), *ASSOCIATED.values()]
    taking = {(row.receiver, row.name) for row in rows if any(p.type[0] == "fn" for p in row.parameters)}
    assert taking - {("StoreWrites", "finish")} == set(BODIES) | WATCHERS


@pytest.mark.parametrize("method", BODIES, ids=lambda method: "-".join(method))
def test_recursion_is_a_panic(method: tuple[str, str]) -> None:
    before = sys.getrecursionlimit()
    panics = [run(BODIES[method], tier).panic for tier in TIERS]
    for panic in panics:
        assert panic is not None and panic.code == "P012", panic
    assert panics[0].position == panics[1].position and panics[0].trace == panics[1].trace
    assert sys.getrecursionlimit() == before
    assert run("n").panic is None


@pytest.mark.parametrize("method", BODIES, ids=lambda method: "-".join(method))
def test_calls_of_a_program_are_no_frames_of_python(method: tuple[str, str]) -> None:
    """Interpreted frames are data: some thousand of them need no room on the host's stack."""
    run(BODIES[method], "interp", depth=100)  # what is loaded late is loaded now
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(standing() + LITTLE)
    try:
        panic = run(BODIES[method], "interp", depth=5_000).panic
    finally:
        sys.setrecursionlimit(before)
    assert panic is not None and panic.code == "P012", panic
