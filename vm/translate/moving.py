"""Values that need no mark as shared because their first place is gone: the local is not read again (V-5.7); and what is
read later at all.

Hands on `moved`, `unnamed` and `read_after`. Must not know: Python text, values.
"""

from __future__ import annotations

from ..bytecode import image as im
from ..bytecode.opcodes import BY_NAME

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .flow import Flow
    from .inlining import Body

LOAD, LOAD_OWN, STORE, SHARE, JUMP = (BY_NAME[name].number for name in ("LOAD", "LOAD_OWN", "STORE", "SHARE", "JUMP"))
# What these give is new, or has its mark.
ALONE = frozenset({BY_NAME[name].number for name in ("SHARE", "CALL", "ARRAY", "MAP", "STRUCT")})


def moved(body: Body, flow: Flow) -> set[int]:
    """SHARE of a local that is not read again: its value goes on to another local, or as an argument. A method found at run time
    asks for the mark of its receiver."""
    live = lives(body, flow)
    found = set()
    seen_twice = _unsure(body, flow)
    for start, block in flow.blocks.items():
        after = _after(flow, start, live)
        for at in range(start + 1, block.end):
            (_, loaded, slot), (_, number, _) = body.instructions[at - 1 : at + 1]
            placed = at in body.arguments or (at + 1 < block.end and body.instructions[at + 1][1] == STORE)
            if number == SHARE and loaded == LOAD and placed and slot not in seen_twice:
                read, written = _used(body.instructions[at + 1 : block.end])
                if slot not in read and (slot in written or slot not in after):
                    found.add(at)
    return found


def unnamed(body: Body) -> set[int]:
    """STORE of locals without a name: those that the compiler has made for itself, which no panic shows."""
    names = body.program.image.names
    named: dict[int, set[int]] = {}
    found = set()
    for at, (_, number, slot) in enumerate(body.instructions):
        if number == STORE:
            inlined = body.places[at][1]
            if inlined.function not in named:
                rows = names[inlined.function] if names else []
                named[inlined.function] = {place for _, place, _, _ in rows}
            if slot - inlined.slot not in named[inlined.function]:
                found.add(at)
    return found


def read_after(body: Body, flow: Flow, places: set[int]) -> set[int]:
    """The locals that are read from some of these instructions on, or from the one behind, before they are assigned."""
    live = lives(body, flow)
    found: set[int] = set()
    for start, block in flow.blocks.items():
        after = set(_after(flow, start, live))
        for at in reversed(range(start, block.end)):
            if at in places:
                found |= after
            _, number, slot = body.instructions[at]
            if number in (LOAD, LOAD_OWN):
                after.add(slot)
            elif number == STORE:
                after.discard(slot)
            if at in places:
                found |= after
    return found


def lives(body: Body, flow: Flow) -> dict[int, frozenset[int]]:
    """By block, the locals that are read from its beginning on before they are assigned."""
    reads: dict[int, frozenset[int]] = {}
    writes: dict[int, frozenset[int]] = {}
    for start, block in flow.blocks.items():
        reads[start], writes[start] = _used(body.instructions[start : block.end])
    live: dict[int, frozenset[int]] = dict.fromkeys(flow.blocks, frozenset())
    pending = list(flow.blocks)
    while pending:
        start = pending.pop()
        after = _after(flow, start, live)
        before = reads[start] | (after - writes[start])
        if before != live[start]:
            live[start] = before
            pending += flow.blocks[start].preds
    return live


def _unsure(body: Body, flow: Flow) -> set[int]:
    """Locals whose value may lie in another place without a mark, as a part of what a pattern takes apart and `self` do."""
    function = body.program.image.functions[body.root.function]
    borrowed = {0} if "::" in function.name or function.flags & im.F_METHOD else set()
    return borrowed | {
        slot
        for start, block in flow.blocks.items()
        for at in range(start, block.end)
        for _, number, slot in [body.instructions[at]]
        if number == STORE and not _alone(body, flow, start, at)
    }


def _alone(body: Body, flow: Flow, start: int, at: int) -> bool:
    """Whether nothing else holds what is on the stack before an instruction; a return of an inlined function is a jump to it."""
    if at > start:
        return body.instructions[at - 1][1] in ALONE
    for block in [flow.blocks[pred] for pred in flow.blocks[start].preds]:
        made, last = body.instructions[max(block.start, block.end - 2)][1], body.instructions[block.end - 1][1]
        if last != JUMP or made not in ALONE:
            return False
    return True


def _after(flow: Flow, start: int, live: dict[int, frozenset[int]]) -> frozenset[int]:
    return frozenset().union(*[live[target] for target, _ in flow.blocks[start].succs if target in live])


def _used(instructions: list[tuple[int, int, int]]) -> tuple[frozenset[int], frozenset[int]]:
    """The locals that a straight run reads before it assigns them, and those that it assigns."""
    read: set[int] = set()
    written: set[int] = set()
    for _, number, slot in instructions:
        if number in (LOAD, LOAD_OWN) and slot not in written:
            read.add(slot)
        elif number == STORE:
            written.add(slot)
    return frozenset(read), frozenset(written)
