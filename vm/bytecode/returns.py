"""Which returns of a function may give an Err that no instruction of the program made (L-5.11.3).

Hands on `unplaced_returns`. Must not know: values, linked code.
"""

from __future__ import annotations

from . import image as im
from . import operands as k
from .opcodes import BY_NAME, OPCODES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .verify import Verified

RETURN, CALL, JUMP, SETTLE, SLIDE, OK, ERR = (
    BY_NAME[name].number for name in ("RETURN", "CALL", "JUMP", "SETTLE", "SLIDE", "OK", "ERR")
)


def unplaced_returns(verified: Verified, number: int) -> set[int]:
    """Indexes of the RETURNs of a function that gives a Result. Those are left out that give an Ok, an Err which is made here, or
    what a function of the program gives, whose own RETURN has seen to it."""
    image = verified.image
    function = image.functions[number]
    if image.types[function.result][0] != "result" or function.flags & im.F_HIDDEN:
        return set()
    facts = verified.functions[number]
    jumps: dict[int, list[int]] = {}  # to an instruction, from others
    for index, (_, opcode, operand) in enumerate(facts.instructions):
        if OPCODES[opcode].kind is k.LABEL:
            jumps.setdefault(facts.index_of[operand], []).append(index)
    handled = {facts.index_of[target] for _, _, target, _ in function.handlers}

    def placed(index: int) -> bool:
        """Whether what is on the stack before an instruction is known to need no place."""
        pending, seen = [index], set()
        while pending:
            at = pending.pop()
            if at in seen:
                continue
            seen.add(at)
            if at in handled or at == 0:
                return False
            falls = OPCODES[facts.instructions[at - 1][1]].flow not in ("jump", "stop")
            for source in [*([at - 1] if falls else []), *jumps.get(at, ())]:
                opcode, operand = facts.instructions[source][1:]
                if opcode in (JUMP, SETTLE, SLIDE):
                    pending.append(source)
                elif facts.depths[source] >= 0 and opcode not in (OK, ERR) and not (opcode == CALL and saw_to(operand)):
                    return False
        return True

    def saw_to(callee: int) -> bool:
        called = image.functions[callee]
        return image.types[called.result][0] == "result" and not called.flags & im.F_HIDDEN

    reached = [i for i, (_, opcode, _) in enumerate(facts.instructions) if opcode == RETURN and facts.depths[i] >= 0]
    return {index for index in reached if not placed(index)}
