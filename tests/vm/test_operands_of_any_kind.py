"""A forged image gives every opcode values of every kind: the outcome is a value or a panic of the language (V-2.6, G-4.4)."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from concerto.vm.bytecode import image as i
from concerto.vm.bytecode import operands as k
from concerto.vm.bytecode.fields import append
from concerto.vm.bytecode.opcodes import BY_NAME, OPCODES, Opcode
from concerto.vm.bytecode.rules import RULES
from concerto.vm.interp.link import Program, load_image
from concerto.vm.interp.machine import Machine
from concerto.vm.panics import PANICS, Panic

from ..bytecode.builder import code, with_functions

# Instructions that push a value of each kind.
VALUES = {
    "int": "INT 3", "float": "CONST 1", "string": "CONST 2", "bool": "TRUE", "nil": "NIL", "none": "NONE", "some": "INT 1; SOME",
    "ok": "INT 1; OK", "err": "INT 1; ERR", "array": "INT 7; INT 8; ARRAY 2", "map": "CONST 2; INT 1; MAP 2",
    "tuple": "INT 4; TUPLE 1",
    "range": "INT 0; INT 2; RANGE 0", "struct": "INT 1; INT 2; STRUCT 1", "enum": "VARIANT 3", "error": "NIL; NIL; ERROR 6",
    "closure": "CLOSURE 0", "model": "MODEL 0", "memory": "MEMORY 0",
}  # fmt: skip
HELPER = code("NIL; RETURN", name="helper", slots=0, cells=0)
PLAIN = [
    op.name
    for op in OPCODES
    if op.kind in (k.NONE, k.NAME, k.FIELD)
    and op.pops
    and op.flow in ("next", "raise")
    and "any*" not in op.pops
    and "iterator" not in (*op.pops, *op.pushes)
    and op.name not in ("FILL",)
]
ENDINGS = ("_INT", "_FLOAT", "_ARRAY", "_FIELD", "_OWN")
TYPED = [name for name in PLAIN if name.endswith(ENDINGS) and name not in ("EQ_INT", "NE_INT")]  # any two values are equal or not
UPPER = ("int", "float", "string", "bool", "nil", "array", "map", "tuple", "range", "struct")


CONSTANTS = [
    (i.K_INT, 300), (i.K_FLOAT, 1.5), (i.K_STRING, "name"), (i.K_VARIANT, [2, 1]), (i.K_METHOD, ["push", 1]),
    (i.K_BUILTIN, ["String", "len"]), (i.K_ERROR, ["ToolError", "Timeout", "tool"]), (i.K_CONFIG, ["models", 0, "temperature"]),
]  # fmt: skip


def outcomes(name: str, combinations: list[list[str]]) -> list[Any]:
    """Per list of pushing instructions the value of `name` behind them, or the code of its panic."""
    op = BY_NAME[name]
    operand = {k.NONE: "", k.NAME: " 2", k.FIELD: " 0"}[op.kind]
    drops = ["POP"] * (len(op.pushes) - 1) if op.pushes else ["NIL"]
    bodies = ["; ".join([*pushes, name + operand, *drops, "RETURN"]) for pushes in combinations]
    program = load_image(with_functions(HELPER, *(code(body, slots=0, cells=0) for body in bodies), constants=CONSTANTS))
    return [outcome(program, entry) for entry in program.codes[1:]]


def outcome(program: Program, entry: Any) -> Any:
    machine = Machine(program, None)  # type: ignore[arg-type]  # no memory is used
    task = machine.start(entry, [])
    try:
        machine.step()
    except Panic as panic:
        assert panic.code in PANICS
        return panic.code
    return task.result


@pytest.mark.parametrize("name", PLAIN)
def test_every_kind_is_a_value_or_a_panic(name: str) -> None:
    count = len(BY_NAME[name].pops)
    chosen = itertools.product(VALUES.values(), *[[VALUES[kind] for kind in UPPER]] * (min(count, 2) - 1))
    found = outcomes(name, [[*pushes, *["INT 0"] * (count - len(pushes))] for pushes in chosen])
    assert name not in TYPED or any(isinstance(value, str) for value in found), "a typed instruction takes every kind"


@pytest.mark.parametrize(
    ("typed", "generic"),
    [("ADD_INT", "ADD"), ("SUB_INT", "SUB"), ("MUL_INT", "MUL"), ("ADD_FLOAT", "ADD"), ("SUB_FLOAT", "SUB"), ("MUL_FLOAT", "MUL"),
     ("LT_INT", "LT"), ("LE_INT", "LE"), ("GT_INT", "GT"), ("GE_INT", "GE")],
)  # fmt: skip
def test_typed_arithmetic_of_other_numbers_is_the_generic_one(typed: str, generic: str) -> None:
    pairs = [[VALUES[a], VALUES[b]] for a, b in itertools.product(("int", "float"), repeat=2)]
    assert outcomes(typed, pairs) == outcomes(generic, pairs)


@pytest.mark.parametrize("op", [op for op in OPCODES if op.kind.table], ids=lambda op: op.name)
def test_each_kind_of_operand_has_its_limit(op: Opcode) -> None:
    """A number beyond the table is refused by the rule of the kind; opcodes of one kind share encoding and name."""
    assert op.kind.rule in RULES and op.kind in k.KINDS
    plain = with_functions(code("NIL; RETURN"), HELPER, constants=CONSTANTS)
    body = bytearray([op.number])
    append(body, 99_999)
    plain.functions[0].flags |= i.F_SUSPENDS
    plain.functions[0].code = bytes([*body, BY_NAME["NIL"].number, BY_NAME["RETURN"].number])
    with pytest.raises(i.ImageError) as refused:
        load_image(plain)
    assert refused.value.code == op.kind.rule and op.name in refused.value.message
