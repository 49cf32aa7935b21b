"""Deep recursion is the panic P012 through every built-in that takes a function, and the next run is unharmed (G-2.8)."""

from __future__ import annotations

import sys

import pytest
from concerto.compiler.pipeline import compile_source
from concerto.runtime.host import Host
from concerto.runtime.session import Outcome, Session, run_offline
from concerto.vm.builtins import ASSOCIATED, FUNCTIONS, METHODS
from concerto.vm.load import load_image

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


def run(body: str) -> Outcome:
    source = "hashmap h: HashMap<String, Int> = HashMap::new();\n"
    source += f'fn down(n: Int) -> Int {{ {body} }}\nfn main() {{ h.set("k", 1); down(1); }}'
    compiled = compile_source(source.encode(), "main.conc")
    assert compiled.image is not None, [d.message for d in compiled.diagnostics.found]
    host = Host(
        emit=lambda channel, value, by_runtime: None, print=lambda text: None, env={}, now=lambda: 0.0, sleep=None,
        random=lambda: 0.5, offline=True,
    )  # fmt: skip
    return run_offline(Session(load_image(compiled.image), host))


def test_every_built_in_that_takes_a_function_is_here() -> None:
    rows = [*METHODS.values(), *FUNCTIONS.values(), *ASSOCIATED.values()]
    taking = {(row.receiver, row.name) for row in rows if any(p.type[0] == "fn" for p in row.parameters)}
    assert taking - {("StoreWrites", "finish")} == set(BODIES) | WATCHERS


@pytest.mark.parametrize("method", BODIES, ids=lambda method: "-".join(method))
def test_recursion_is_a_panic(method: tuple[str, str]) -> None:
    before = sys.getrecursionlimit()
    panic = run(BODIES[method]).panic
    assert panic is not None and panic.code == "P012", panic
    assert sys.getrecursionlimit() == before
    assert run("n").panic is None
