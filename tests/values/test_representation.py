"""What a value of each kind is to the machine (V-5.1 to V-5.6): the values that programs make, seen from the host's side."""

from __future__ import annotations

from typing import Any

import pytest
from concerto.compiler.pipeline import compile_source
from concerto.runtime.session import Host, Session, run_offline
from concerto.vm import values as v
from concerto.vm.load import load_image

DECLARED = """
struct Point { x: Int, y: Int }
schema Reply { text: String }
enum Kind { Plain, Pair(Int, String) }
error Bad { Odd { n: Int } }
memory log: Memory = Memory::new();
model M { provider: offline, memory: log }
agent A { connector: a }
tool T { description: "t", @describe("m") pub fn run(self) -> Int { 1 } }
hashmap h: HashMap<String, Int> = HashMap::new();
ledger l: Ledger = Ledger::new();
pipeline P { stage one(n: Int) -> Int { n } }
mcp W { transport: "stdio", command: "w" }
fn twice(n: Int) -> Int { n * 2 }
async fn later() -> Int { std::time::sleep(1); 1 }
"""


def seen(expression: str) -> Any:
    """The value of an expression as the host is handed it, at a suspension point of the program."""
    emits: list[Any] = []
    text = f"{DECLARED}\nfn keep(_x: Any) {{}}\nfn main() {{ let it = {expression}; keep(it); std::time::sleep(1); keep(it); }}"
    compiled = compile_source(text.encode(), "main.conc")
    assert compiled.image is not None, [d.message for d in compiled.diagnostics.found]
    found: list[Any] = []
    host = Host(
        emit=lambda channel, value, by_runtime: emits.append(value), print=lambda text: None, env={}, now=lambda: 0.0, sleep=None,
        random=lambda: 0.5, offline=True,
    )  # fmt: skip
    session = Session(load_image(compiled.image), host)
    machine = session.machine
    step = machine.step

    def watched() -> Any:
        effects = step()
        for effect in effects:
            if effect.kind == "sleep" and not found:
                found.extend(local for local in effect.task.state[1] if local is not None)
        return effects

    machine.step = watched
    outcome = run_offline(session)
    assert outcome.panic is None, outcome.panic
    return found[0] if found else None


@pytest.mark.parametrize(
    ("expression", "kind", "value"),
    [
        ("9223372036854775807", int, 2**63 - 1), ("-9223372036854775807 - 1", int, -(2**63)), ("1.0", float, 1.0),
        ('"é"', str, "é"), ("true", bool, True), ("(1, 2.0)", tuple, (1, 2.0)), ("()", tuple, ()),
    ],
)  # fmt: skip
def test_scalars_and_tuples_are_pythons(expression: str, kind: type, value: Any) -> None:
    found = seen(expression)
    assert (type(found), found) == (kind, value)
