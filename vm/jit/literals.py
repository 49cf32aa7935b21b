"""Literals of constants alone, such as `[(1, "I"), (5, "V")]` or `Some(0)`: found in the code, and made once (V-7.2).

What is made is marked as shared, with all in it, so that whoever writes to it gets a copy (V-5.7), and no run can tell it from
one made at its place. Hands on `literals` to `functions`, `name_of`, `parts_of` and `may_be_written` to `values`, `literal` to
the tier. Here code is only read, and no text is written but the name of a literal. A literal is a run of instructions of one
function, named by the first and the last one.
"""

from __future__ import annotations

from ..bytecode import image as im
from ..bytecode import operands as k
from ..bytecode.opcodes import BY_NAME, OPCODES
from ..values import NONE, EnumValue, Ok, Some, share
from ..values.containers import Array, Map

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .inlining import Body

SINGLE: dict[str, Any] = {"NIL": None, "TRUE": True, "FALSE": False, "NONE": NONE}
ATOMS = frozenset({BY_NAME[name].number for name in ("CONST", "INT", *SINGLE)})
WHOLES = frozenset({BY_NAME[name].number for name in ("ARRAY", "MAP", "TUPLE", "SOME", "OK", "VARIANT")})
WRITABLE = frozenset({BY_NAME[name].number for name in ("ARRAY", "MAP")})
CONST, INT, MAP, VARIANT = (BY_NAME[name].number for name in ("CONST", "INT", "MAP", "VARIANT"))
KEYS = frozenset({im.K_STRING, im.K_INT})


def literals(body: Body, image: Any) -> dict[int, int]:
    """Return the literals in the code `body` that are no part of another one: by the index of the first instruction, that of the
    last. Nothing jumps into one. A literal is never empty, and the keys of a Map in it are Strings and Ints."""
    targets = {to for _, number, to in body.instructions if OPCODES[number].kind is k.LABEL} | set(body.handlers.values())
    found: dict[int, int] = {}
    begun: list[int] = []  # where the values on top of the stack begin, as far as they are literals or parts of one
    for at, (_, number, operand) in enumerate(body.instructions):
        if at in targets or not _follows(body, at):
            begun.clear()
        count = parts_of(image, number, operand)
        if number in ATOMS:
            begun.append(at)
        elif not 0 < count <= len(begun) or (number == MAP and not _has_keys(body, image, begun[-count:])):
            begun.clear()
        else:
            start = begun[-count]
            begun[-count:] = [start]
            while found and next(reversed(found)) >= start:  # parts of this one
                found.popitem()
            found[start] = at
    return found


def _follows(body: Body, at: int) -> bool:
    """Return whether an instruction stands behind the one before it in one function too."""
    (index, inlined), (before, other) = body.places[at], body.places[at - 1]
    return at > 0 and inlined is other and index == before + 1 and body.depths[at] >= 0


def parts_of(image: Any, number: int, operand: int) -> int:
    """Return how many values an instruction of WHOLES takes; 0 for any other."""
    if number not in WHOLES:
        return 0
    if number == VARIANT:
        type_index, variant = image.constants[operand][1][:2]
        return len(image.types[type_index][2][variant][1])
    return operand if OPCODES[number].starred else 1


def _has_keys(body: Body, image: Any, starts: list[int]) -> bool:
    keys = [body.instructions[start][1:] for start in starts[::2]]
    return all(number == INT or (number == CONST and image.constants[operand][0] in KEYS) for number, operand in keys)


def may_be_written(body: Body, start: int, last: int) -> bool:
    """Return whether something in the literal could be written to in place, had it been made anew."""
    return any(number in WRITABLE for _, number, _ in body.instructions[start : last + 1])


def name_of(body: Body, start: int, last: int) -> str:
    """Return the global name of the literal from the instruction `start` to `last` of the code."""
    (first, inlined), (end, _) = body.places[start], body.places[last]
    return f"C{inlined.function}_{first}_{end}"


def literal(program: Any, function: int, first: int, last: int) -> Any:
    """Return the value of the literal that the instructions from `first` to `last` of a function make, marked as shared."""
    stack: list[Any] = []
    for _, number, operand in program.verified.functions[function].instructions[first : last + 1]:
        op = OPCODES[number]
        count = parts_of(program.image, number, operand)
        if op.name == "INT":
            stack.append(operand)
        elif op.name in SINGLE:
            stack.append(SINGLE[op.name])
        elif number == CONST:
            stack.append(program.resolve_operand(op, operand))
        else:
            parts = stack[len(stack) - count :]
            stack[len(stack) - count :] = [share(_whole(program, op, operand, parts))]
    return stack[0]


def _whole(program: Any, op: Any, operand: int, parts: list[Any]) -> Any:
    if op.name == "VARIANT":
        form = program.resolve_operand(op, operand)
        return EnumValue(form.decl, form.variant, tuple(parts))
    if op.name in ("SOME", "OK"):
        return Some(parts[0]) if op.name == "SOME" else Ok(parts[0])
    return {"ARRAY": Array, "MAP": Map.of, "TUPLE": tuple}[op.name](parts)
