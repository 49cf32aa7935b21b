"""Arguments that need no mark as shared: the function called only reads the parameter, and calls nothing (V-5.7).

The mark is for writes through one of two places. Here the second place is gone when the function returns, nobody writes
through the first one before, and what is read out of it and bound gets a mark of its own. Hands on `only_reads` and
`marked_arguments`. Must not know: Python text, values.
"""

from __future__ import annotations

from ..bytecode import image as im
from ..bytecode import operands as k
from ..bytecode.opcodes import BY_NAME, OPCODES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..bytecode.verify import FunctionFacts

LOAD, LOAD_OWN, SHARE, CALL_BUILTIN = (BY_NAME[name].number for name in ("LOAD", "LOAD_OWN", "SHARE", "CALL_BUILTIN"))
READS = frozenset({BY_NAME["GET_FIELD"].number, BY_NAME["LENGTH"].number})
INDEXES = frozenset({BY_NAME["INDEX_ARRAY"].number, BY_NAME["INDEX"].number})
ASKING = frozenset({("Array", "len"), ("Array", "is_empty"), ("Map", "len")})
# Only the top of these carries the mark. Behind a tuple, an Option or an enum value it lies inside, and what is taken out there
# relies on it.
WHOLES = frozenset({"struct", "schema", "array", "map"})


def only_reads(image: Any, number: int, facts: FunctionFacts, position: int) -> bool:
    """Whether a parameter is used for nothing but reading its fields and elements. The function calls no other."""
    if image.types[image.functions[number].params[position][1]][0] not in WHOLES:
        return False
    for at, (_, opcode, operand) in enumerate(facts.instructions):
        used = OPCODES[opcode].kind is k.LOCAL and operand == position
        if used and (opcode == LOAD_OWN or not _read(image, facts, at, opcode)):
            return False
    return True


def _read(image: Any, facts: FunctionFacts, at: int, opcode: int) -> bool:
    if opcode != LOAD:
        return True  # it has another value then
    (_, then, operand), *more = facts.instructions[at + 1 : at + 3]
    if then == CALL_BUILTIN:
        kind, value = image.constants[operand]
        return kind == im.K_BUILTIN and tuple(value) in ASKING
    pushed = OPCODES[then]
    return then in READS or (not pushed.pops and len(pushed.pushes) == 1 and bool(more) and more[0][1] in INDEXES)


def marked_arguments(instructions: list[tuple[int, int, int]], depths: list[int], base: int, count: int) -> list[int]:
    """The SHARE that ends the code of each argument of a call that comes next, -1 where none does; `base`: depth beneath the
    arguments."""
    found = [-1] * count
    at = len(instructions) - 1
    for position in reversed(range(count)):
        if at >= 0 and instructions[at][1] == SHARE and depths[at] == base + position + 1:
            found[position] = at
        while at >= 0 and depths[at] != base + position:
            at -= 1
        at -= 1
    return found
