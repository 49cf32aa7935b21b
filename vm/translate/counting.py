"""Loops `while i < n { …; i += k; }` in which nothing else assigns `i`, `n` or `k`: Python walks a range for them (V-7.2).

Hands on `Counting` and `counting`. Whether the step is positive is for who knows the values. Must not know: Python text, values.
"""

from __future__ import annotations

from ..bytecode import image as im
from ..bytecode.opcodes import BY_NAME
from .flow import STORES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .flow import Flow

LOAD, STORE, INT, CONST, ADD_INT, LT_INT, LE_INT, JUMP, JUMP_UNLESS = (
    BY_NAME[name].number
    for name in ("LOAD", "STORE", "INT", "CONST", "ADD_INT", "LT_INT", "LE_INT", "JUMP", "JUMP_UNLESS")
)


class Counting:
    """`slot`: the local that counts; `step`: the local that it grows by, or the number, as `fixed` says; `advance`: the
    instruction that stores it; `inclusive`: it comes to the limit too."""

    __slots__ = ("slot", "step", "fixed", "advance", "inclusive")

    def __init__(self, slot: int, step: int, fixed: bool, advance: int, inclusive: bool) -> None:
        self.slot = slot
        self.step = step
        self.fixed = fixed
        self.advance = advance
        self.inclusive = inclusive


def counting(flow: Flow, image: Any) -> dict[int, Counting]:
    """By head, the loops of this form. `continue` goes to the head without a step, so that there is one way back. What may end
    before the limit often does so after a few rounds, which a range is too dear for."""
    found: dict[int, Counting] = {}
    for head in flow.loops():
        block = flow.blocks[head]
        tails = [start for start in block.body if any(target == head for target, _ in flow.blocks[start].succs)]
        out = [start for start in block.body for target, _ in flow.blocks[start].succs if target not in block.body]
        if block.end != head + 4 or len(tails) != 1 or tails[0] == head or out != [head]:
            continue
        end = flow.blocks[tails[0]].end
        if end - tails[0] >= 5:
            loop = _form(flow.facts.instructions, image, head, end)
            assigned = [slot for start in block.body for slot in _assigned(flow, start)]
            if loop is not None and assigned.count(loop[0].slot) == 1 and loop[1].isdisjoint(assigned):
                found[head] = loop[0]
    return found


def _assigned(flow: Flow, start: int) -> list[int]:
    """The locals that a block assigns, as often as it does."""
    span = flow.facts.instructions[start : flow.blocks[start].end]
    return [operand for _, number, operand in span if number in STORES]


def _form(instructions: list[tuple[int, int, int]], image: Any, head: int, end: int) -> tuple[Counting, set[int]] | None:
    """The loop whose condition begins at `head` and whose step ends before `end`; and the locals that it relies upon."""
    (_, first, slot), (_, second, limit), (_, test, _), (_, branch, _) = instructions[head : head + 4]
    (_, loaded, again), (_, by, step), (_, add, _), (_, stored, to), (_, jump, _) = instructions[end - 5 : end]
    if (first, branch, loaded, add, stored, jump) != (LOAD, JUMP_UNLESS, LOAD, ADD_INT, STORE, JUMP):
        return None
    if not slot == again == to or test not in (LT_INT, LE_INT) or second not in (LOAD, INT, CONST) or by not in (LOAD, INT):
        return None
    if second == CONST and image.constants[limit][0] != im.K_INT:
        return None
    relied = {operand for number, operand in ((second, limit), (by, step)) if number == LOAD}
    return Counting(slot, step, by == INT, end - 2, test == LE_INT), relied
