"""What asks for an instruction of a function, once for each frame or handler, does not walk over the function each time (V-4.3):
counted, not timed."""

from __future__ import annotations

from typing import Any

import pytest
from concerto.compiler.pipeline import compile_source
from concerto.runtime.host import Host
from concerto.runtime.session.session import Session, run_offline
from concerto.vm.bytecode import encoding
from concerto.vm.bytecode.opcodes import BY_NAME
from concerto.vm.interp.link import Program, load_image
from concerto.vm.jit.analysis import LARGEST, CallGraph
from concerto.vm.snapshot.envelope import SnapshotError
from concerto.vm.snapshot.machine import _place

from ..bytecode.builder import lines_run


def loaded(source: str) -> Program:
    compiled = compile_source(source.encode(), "main.conc")
    assert compiled.image is not None, [found.message for found in compiled.diagnostics.ordered()]
    return load_image(compiled.image)


class Walked(list[Any]):
    """A list that counts the entries which walks over it have met."""

    met = 0

    def __iter__(self) -> Any:
        for entry in super().__iter__():
            self.met += 1
            yield entry


LONG = "fn main() { let mut x = 0;\n" + "x = x + 1;\n" * 500 + "println(x); }"


def test_places_of_frames_are_found_by_one_walk() -> None:
    program = loaded(LONG)
    (code,) = [code for code in program.codes if code.label == "main"]
    program.link(code)
    nodes = code.nodes
    code.nodes = walked = Walked(nodes)
    assert [_place(code, node) for node in nodes] == list(range(len(nodes)))
    assert [program.index_before(code, node) for node in nodes] == [0, *range(len(nodes) - 1)]
    assert walked.met <= len(nodes)
    with pytest.raises(SnapshotError, match="stands at no suspension point"):
        _place(code, list(nodes[0]))


def test_a_trace_walks_over_the_lines_of_a_function_once(monkeypatch: pytest.MonkeyPatch) -> None:
    program = loaded("fn f(n: Int) -> Int { let a = n;\n if n == 0 { panic(\"end\"); }\n f(n - 1) + a }\nfn main() { f(40); }")
    walks = 0
    walk_lines = encoding.walk_lines

    def counted(lines: bytes) -> Any:
        nonlocal walks
        walks += 1
        return walk_lines(lines)

    monkeypatch.setattr(encoding, "walk_lines", counted)
    ignored: dict[str, Any] = {"print": lambda text: None, "emit": lambda *given: None, "now": lambda: 0.0, "sleep": None}
    session = Session(program, Host(**ignored, env={}, random=lambda: 0.5, offline=True, tier="interp"))
    session.machine.keeps_locals = True
    outcome = run_offline(session)
    assert outcome.panic is not None
    trace = [(name, line) for name, _, line, _ in outcome.panic.trace]
    assert trace == [("f", 2), *[("f", 3)] * 40, ("main", 4)]
    assert [variables["n"] for variables in outcome.panic.locals[:-1]] == list(range(41))
    assert [variables["a"] for variables in outcome.panic.locals[:-1]] == list(range(41))
    assert walks <= 2


def test_linking_does_not_search_all_handlers_for_each_throw() -> None:
    def lines(count: int) -> int:
        body = "try { x += g()?; } catch e { x += 1; }\n" * count
        program = loaded(f"fn g() -> Result<Int, String> {{ Ok(1) }}\nfn main() {{ let mut x = 0;\n{body} println(x); }}")
        (code,) = [code for code in program.codes if code.label == "main"]
        return lines_run(lambda: program.link(code))

    assert lines(320) < 9 * lines(40)


def test_places_that_read_json_share_the_declared_types() -> None:
    program = loaded("struct S { x: Int }\nfn main() { println(1); }")
    read = [program.resolve_operand(BY_NAME["PARSE_AS"], 0)[1] for _ in range(2)]
    assert read[0] is read[1] is program.declared


def calling(count: int) -> tuple[Program, int]:
    body = "x = f(x);\n" * count
    program = loaded(f"fn run(f: fn(Int) -> Int) -> Int {{ let mut x = 0;\n{body} x }}\nfn main() {{ println(run(|a| a)); }}")
    (number,) = [code.number for code in program.codes if code.label == "run"]
    return program, number


class Unsliced(list[int]):
    def __getitem__(self, key: Any) -> Any:
        assert not isinstance(key, slice), "a part of the list is copied"
        return super().__getitem__(key)


def test_called_parameters_of_a_long_function() -> None:
    """Nothing is copied for each call, and a function that is too large to be translated is not looked at."""
    program, number = calling(100)
    facts = program.verified.functions[number]
    facts.depths = Unsliced(facts.depths)
    assert CallGraph(program).called_parameters(number) == {0}
    program, number = calling(LARGEST)
    assert CallGraph(program).called_parameters(number) == frozenset()
