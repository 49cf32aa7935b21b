"""What needs the world ends the machine's slice with an effect, and the task goes on with what it is answered (V-6.3)."""

from __future__ import annotations

from typing import Any

import pytest
from concerto.compiler.pipeline import compile_source
from concerto.runtime.effects.table import FAMILIES
from concerto.vm.interp.effects import Effect
from concerto.vm.interp.link import load_image
from concerto.vm.interp.machine import Machine

DECLARED = """
model M { provider: offline }
tool T { description: "t", @describe("m") pub fn run(self) -> Int { 1 } }
mcp W { transport: "stdio", command: "w" }
"""
# The expression, the kind of its effect, and whether the task waits for an answer.
EXPRESSIONS = [
    ('M.execute("x")', "model", True),
    ("T.run()", "tool", True),
    ('W.call("x")', "mcp", True),
    ('await emit("a", 1)', "emit", True),
    ('emit("a", 1)', "emit", False),
    ("std::time::sleep(5)", "sleep", True),
    ("std::time::now_ms()", "clock", True),
    ("std::math::random()", "random", True),
    ('std::fs::read_file("a")', "file", True),
    ('std::http::get("http://x/")', "http", True),
    ('std::env::get("X")', "env", True),
    ('std::log::info("x")', "log", True),
]


def machine_of(body: str) -> tuple[Machine, Any]:
    source = f'{DECLARED}\nasync fn it() -> Any {{ {body} }}\nfn main() {{ it(); let _ = M; let _ = T; let _ = W; }}'
    compiled = compile_source(source.encode(), "main.conc")
    assert compiled.image is not None, [d.message for d in compiled.diagnostics.found]
    program = load_image(compiled.image)
    machine = Machine(program, None)  # type: ignore[arg-type]  # no memory is used
    return machine, machine.start(next(code for code in program.codes if code.label == "it"), [])


@pytest.mark.parametrize(("expression", "kind", "awaited"), EXPRESSIONS)
def test_the_world_is_an_effect(expression: str, kind: str, awaited: bool) -> None:
    machine, task = machine_of(f"let x: Any = {expression}; (x, 1)")
    (effect,) = machine.step()
    assert isinstance(effect, Effect) and (effect.kind, effect.awaited) == (kind, awaited) and kind in FAMILIES
    if awaited:
        assert task.effect is effect and machine.step() == []  # it runs on with the answer alone
        machine.resume(effect, "the answer")
        machine.step()
        assert task.result is not None and task.result[0] == "the answer"
