"""What a value of each kind is to the machine (V-5.1 to V-5.6): values that programs make, seen from the host's side."""

from __future__ import annotations

from typing import Any

import pytest
from concerto.compiler.pipeline import compile_source
from concerto.vm import values as v
from concerto.vm.interp.link import load_image
from concerto.vm.interp.machine import Machine
from concerto.vm.panics import Panic

DECLARED = """
struct Point { x: Int, y: Any }
schema Reply { text: String }
enum Kind { Plain, Pair(Int, String), Named { n: Int } }
memory log: Memory = Memory::new();
model M { provider: offline, memory: log }
tool T { description: "t", @describe("m") pub fn run(self) -> Int { 1 } }
hashmap h: HashMap<String, Int> = HashMap::new();
ledger l: Ledger = Ledger::new();
pipeline P { stage one(n: Int) -> Int { n } }
mcp W { transport: "stdio", command: "w" }
fn twice(n: Int) -> Int { n * 2 }
"""


def made(expression: str) -> Any:
    """The value of an expression."""
    compiled = compile_source(f"{DECLARED}\nfn it() -> Any {{ {expression} }}\nfn main() {{ it(); }}".encode(), "main.conc")
    assert compiled.image is not None, [d.message for d in compiled.diagnostics.found]
    program = load_image(compiled.image)
    machine = Machine(program, None)  # type: ignore[arg-type]  # no memory is used
    task = machine.start(next(code for code in program.codes if code.label == "it"), [])
    assert machine.step() == []
    return task.result


@pytest.mark.parametrize(
    ("expression", "kind", "value"),
    [
        ("9223372036854775807", int, 2**63 - 1), ("-9223372036854775807 - 1", int, -(2**63)), ("1.0", float, 1.0),
        ('"é"', str, "é"), ("true", bool, True), ("nil", type(None), None), ("(1, 2.0)", tuple, (1, 2.0)), ("()", tuple, ()),
    ],
)  # fmt: skip
def test_scalars_and_tuples_are_those_of_python(expression: str, kind: type, value: Any) -> None:
    found = made(expression)
    assert (type(found), found) == (kind, value)


@pytest.mark.parametrize("expression", ["n + 1", "n * 2", "-n - 2", "n ** 2", "-(-n - 1)", "let d: Any = n; d + 1"])
def test_no_int_leaves_64_bits(expression: str) -> None:
    with pytest.raises(Panic, match="overflow"):
        made(f"let n = 9223372036854775807; {expression}")


@pytest.mark.parametrize(
    ("expression", "kind", "storage"),
    [
        ("[1, 2]", v.Array, "items"), ('{ "a": 1 }', v.Map, "items"), ("std::collections::Set::from([1])", v.Set, "items"),
        ("{ let q: std::collections::Queue<Int> = std::collections::Queue::new(); q }", v.Queue, "items"),
        ("{ let s: std::collections::Stack<Int> = std::collections::Stack::new(); s }", v.Stack, "items"),
    ],
)  # fmt: skip
def test_containers_hold_storage_and_a_mark(expression: str, kind: type, storage: str) -> None:
    found = made(expression)
    assert type(found) is kind and not hasattr(found, "__dict__")
    assert set(kind.__slots__) == {storage, "shared"}  # type: ignore[attr-defined]
    assert made(f"let a = {expression}; let b = a; (a, b)")[0].shared


def test_declared_types_have_a_class_each_with_fields_by_position() -> None:
    point, reply = made('(Point { y: 2, x: 1 }, Reply { text: "t" })')
    assert (point.f0, point.f1, reply.f0) == (1, 2, "t") and type(point) is not type(reply)
    assert point.values() == (1, 2) and not hasattr(point, "__dict__")
    one, other, moved = made("(Point { x: 1, y: nil }, Point { x: 2, y: [1] }, Point { x: 3, y: 3 })")
    assert type(one) is type(other) is type(moved)
    plain, pair, named = made('(Kind::Plain, Kind::Pair(1, "a"), Kind::Named { n: 5 })')
    assert plain.decl is pair.decl is named.decl and (pair.payload, named.payload) == ((1, "a"), (5,))
    error = made('ToolError::ExecutionFailed("x")')
    assert type(error) is v.ErrorValue and not hasattr(error, "__dict__") and not hasattr(pair, "__dict__")


def test_options_and_results_are_classes() -> None:
    some, none, other, ok, err = made("(Some(1), None, None, Ok(2), Err(3))")
    assert (type(some), type(ok), type(err)) == (v.Some, v.Ok, v.Err) and none is other is v.NONE
    assert (some.value, ok.value, err.value) == (1, 2, 3)
    assert not [value for value in (some, none, ok, err) if hasattr(value, "__dict__")]


@pytest.mark.parametrize(
    ("expression", "kind"),
    [
        ("fn(x: Int) -> Int { x }", v.Closure), ("twice", v.Closure), ("0..3", v.RangeValue), ("M", v.ModelRef),
        ("log", v.MemoryRef),
        ("M.with_memory(log)", v.ModelBuilder), ("T", v.ToolRef), ("h", v.HashMapRef), ("l", v.LedgerRef),
        ("P", v.PipelineRef), ("W", v.McpRef), ("Reply", v.SchemaRef),
    ],
)  # fmt: skip
def test_references_hold_names_and_no_object_of_the_host(expression: str, kind: type) -> None:
    found = made(expression)
    assert type(found) is kind and not hasattr(found, "__dict__")
    if kind not in (v.Closure, v.RangeValue):
        assert_data(found)


def assert_data(value: Any) -> None:
    """Only texts, numbers, marks and further values of this package."""
    if isinstance(value, (tuple, list)):
        for part in value:
            assert_data(part)
    elif value is not v.UNSET and not isinstance(value, (str, int, type(None))):
        assert type(value).__module__.startswith("concerto.vm.values"), type(value)
        for slot in (slot for kind in type(value).__mro__ for slot in getattr(kind, "__slots__", ())):
            assert_data(getattr(value, slot))
