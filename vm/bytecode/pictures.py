"""What the verifier needs of each opcode, read off its stack picture, operand kind and flow (V-2.2): no second list
of opcodes.

A popped `iterator` is one that ITERATE pushed; `any*` takes iterators and values alike; every other name is a value.
A row with a local or cell operand reads it if it pushes, writes it if it pops, and makes it if it does neither. Must
not know: images.
"""

from __future__ import annotations

from . import operands as k
from .opcodes import OPCODES, Opcode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

# What an instruction does beside popping and pushing values.
PLAIN, READ_SLOT, WRITE_SLOT, MIXED, BEGIN_WALK, WALK, MAKE_CELL, USE_CELL, CAPTURE = range(9)


def role(op: Opcode) -> int:
    """One of the words above."""
    if op.kind is k.LOCAL:
        return WRITE_SLOT if op.pops else READ_SLOT
    if op.kind is k.CELL:
        return USE_CELL if op.pops or op.pushes else MAKE_CELL
    if op.kind is k.FUNCTION:
        return PLAIN if op.pushes == ("result",) else CAPTURE
    if "any*" in op.pops:
        return MIXED
    if "iterator" in op.pops:
        return WALK
    return BEGIN_WALK if "iterator" in op.pushes else PLAIN


def throws(op: Opcode) -> bool:
    """Whether it may go to a handler: `raise`, and a `stop` that pops an error."""
    return op.flow == "raise" or (op.flow == "stop" and op.pops == ("error",))


def _column(value: Callable[[Opcode], int]) -> tuple[int, ...]:
    return tuple(value(op) for op in OPCODES)


# One number per opcode: values popped beside the counted group, values pushed, and so on.
POPS = _column(lambda op: op.effect(0)[0])
PUSHES = _column(lambda op: op.effect(0)[1])
STARRED = _column(lambda op: op.starred)
ROLE = _column(role)
THROWS = _column(throws)
RETURNS = _column(lambda op: op.name == "RETURN")  # the one that hands a value to the caller
FALLS_THROUGH = _column(lambda op: op.flow not in ("jump", "stop"))
SUSPENDS = _column(lambda op: op.flow == "suspend")
JUMPS = _column(lambda op: op.kind is k.LABEL)
ENDS_BLOCK = _column(lambda op: op.flow in ("jump", "branch", "iterate", "stop"))
