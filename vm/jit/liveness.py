"""How the locals of a function are used: who consumes each load, what stays in one place, and what is read later (V-7.2).

`LocalUses` finds the arrays that are only read and written in place, whose lists may be promoted to variables. The functions are
a liveness analysis: a local that nothing reads is not stored. Hands on `LocalUses` to `functions` and the emitter,
`hidden_stores` and `read_after` to `functions`, `WRITTEN` to `places` and `loops`. Locals are named by their slots, instructions
by their index in a `Body`, the code of a function with what is inlined; blocks, by their first instruction, are those of a
`Flow`. All is found by reading the code: nothing is changed, written or raised here. What promotion looks like is for `loops`.
"""

from __future__ import annotations

from ..bytecode import image as im
from ..bytecode import operands as k
from ..bytecode.opcodes import BY_NAME, OPCODES
from .kinds import Kinds

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .facts import Value
    from .flow import Flow
    from .inlining import Body

LOAD, LOAD_OWN, MOVE, STORE, SWAP, CALL_BUILTIN, NEW_CELL, STORE_CELL = (
    BY_NAME[name].number for name in (
        "LOAD", "LOAD_OWN", "MOVE", "STORE", "SWAP", "CALL_BUILTIN", "NEW_CELL", "STORE_CELL",
    )
)  # fmt: skip
LOADS = frozenset({LOAD, LOAD_OWN, MOVE})
ESCAPES, READ, WRITTEN = range(3)  # how a loaded container is used: by anything, to read an element in place, to write one
# Opcodes, and the operand that they read or write in place: no other variable sees the array then.
READS = {BY_NAME[name].number: 0 for name in ("INDEX_ARRAY", "INDEX", "LENGTH", "TAKE_INDEX", "TAKE_ENTRY")}
WRITES = {BY_NAME["SET_INDEX"].number: 1, BY_NAME["INDEX_OWN"].number: 0}
READ_BY = frozenset({("Array", "len"), ("Array", "is_empty"), ("Map", "len"), ("Map", "has"), ("Map", "get")})
WRITTEN_BY = frozenset({("Array", "push"), ("Array", "pop"), ("Map", "set")})
INDEXING = frozenset({BY_NAME[name].number for name in ("INDEX_ARRAY", "INDEX", "INDEX_OWN")})


class LocalUses:
    """How each local of a `Body` is used, whose `instructions` and `depths` it has. `kinds`: the kinds of the image. `targets`:
    the instructions that jumps go to. `loads`: by local, the instructions that load it, and how each one's value is used
    (`ESCAPES`, `READ`, `WRITTEN`). `repeated`: locals into which more than one instruction of INDEXING indexes.
    `constant_parameters`: those that are never assigned; `parameters` is how many the function has."""

    def __init__(self, body: Body, image: Any, parameters: int) -> None:
        self.kinds = Kinds(image)
        self.constant_parameters = frozenset(range(parameters))
        self.instructions = body.instructions
        self.depths = body.depths
        self.image = image
        self.targets = {
            body.index_of[operand] for _, number, operand in body.instructions if OPCODES[number].kind is k.LABEL
        }
        self.loads: dict[int, dict[int, int]] = {}
        indexed: dict[int, int] = {}
        for at, (_, number, operand) in enumerate(body.instructions):
            if number == STORE:
                self.constant_parameters -= {operand}
            elif number in LOADS and self.depths[at] >= 0:
                consumer, position = self.consumer(at)
                self.loads.setdefault(operand, {})[at] = self._use(number, consumer, position)
                if consumer >= 0 and body.instructions[consumer][1] in INDEXING and position == 0:
                    indexed[operand] = indexed.get(operand, 0) + 1
        self.cell_types = self._cell_types(image.functions[body.root.function])
        self.repeated = frozenset(slot for slot, count in indexed.items() if count > 1)

    def _cell_types(self, function: Any) -> dict[int, int]:
        """Return, by cell, the declared type of the parameter that a captured variable is; a cell that several variables are in
        one after the other has none."""
        made = [operand for _, number, operand in self.instructions if number == NEW_CELL]
        types: dict[int, int] = {}
        for (_, number, slot), (_, following, cell) in zip(self.instructions, self.instructions[1:], strict=False):
            captured = number in (LOAD, MOVE) and following == STORE_CELL and slot in self.constant_parameters
            if captured and made.count(cell) == 1 and cell not in types:
                types[cell] = function.params[slot][1]
        return types

    def with_contents(self, invariants: dict[Any, Value]) -> dict[Any, Value]:
        """Return the invariants of a function, where an Array or Map also tells what is put into it; a parameter's type says that
        already."""
        filled = invariants.copy()
        for slot, value in invariants.items():
            if value.kind[0] in ("array", "map") and slot not in self.constant_parameters and ("element", slot) in invariants:
                filled[slot] = value.under_name("")
                key = invariants["key", slot].kind if ("key", slot) in invariants else self.kinds.unknown
                filled[slot].kind = self.kinds.filled(value.kind, invariants["element", slot].kind, key)
        return filled

    def consumer(self, at: int, first: int = -1) -> tuple[int, int]:
        """Return the instruction that pops what the instruction `at` pushes, and as which operand, the deepest being 0; with
        `first`, what it makes of what the instructions from that one on have pushed. (-1, 0) if paths part or join before it,
        if control does not go on behind it, as behind RETURN, and for the last instruction. A SWAP that moves the value is
        followed, and no consumer."""
        place = self.depths[at if first < 0 else first]
        for by in range(at + 1, len(self.instructions) - 1):
            op = OPCODES[self.instructions[by][1]]
            if by in self.targets or op.flow in ("jump", "stop") or self.depths[by + 1] < 0:
                break
            depth = self.depths[by]
            if op.number == SWAP and depth - place <= 2:
                place = 2 * depth - 3 - place
                continue
            pops = depth - self.depths[by + 1] + len(op.pushes)
            if depth - pops <= place:
                return by, place - (depth - pops)
            if op.flow != "next":
                break
        return -1, 0

    def _use(self, load: int, consumer: int, position: int) -> int:
        """Return how an instruction uses what an opcode of loading has pushed, as its operand at a position."""
        if consumer < 0:
            return ESCAPES
        number = self.instructions[consumer][1]
        if load == MOVE:
            return ESCAPES
        if number == CALL_BUILTIN and position == 0:
            method = self.builtin_at(consumer)
            if method in READ_BY:
                return WRITTEN if load == LOAD_OWN else READ
            return WRITTEN if method in WRITTEN_BY and load == LOAD_OWN else ESCAPES
        if load == LOAD_OWN:
            return WRITTEN if WRITES.get(number) == position else ESCAPES
        return READ if READS.get(number) == position else ESCAPES

    def builtin_at(self, at: int) -> tuple[str, ...]:
        """Return the receiver and name of the built-in that an instruction calls, () for any other instruction."""
        _, number, operand = self.instructions[at]
        if number != CALL_BUILTIN:
            return ()
        tag, value = self.image.constants[operand]
        return tuple(value) if tag == im.K_BUILTIN else ()

    def growth_sites(self, flow: Flow, body: frozenset[int], slot: int, word: str) -> frozenset[int]:
        """Return the instructions of the blocks `body` that may put one more element into the container of a local; `word` is its
        kind, "array" or "map"."""
        sites: set[int] = set()
        for at, use in self.loads.get(slot, {}).items():
            consumer = self.consumer(at)[0] if use == WRITTEN else -1
            inside = consumer >= 0 and any(start <= at < flow.blocks[start].end for start in body)
            if inside and (word == "map" or self.builtin_at(consumer) == ("Array", "push")):
                sites.add(consumer)
        return frozenset(sites)

    def promotable(self, flow: Flow, body: frozenset[int]) -> dict[int, bool]:
        """Return the locals whose list may stay in a variable throughout a loop of these blocks, and whether the loop writes to
        it: the local is not assigned in it, and the array does not escape."""
        written: dict[int, bool] = {}
        refused: set[int] = set()
        for start in body:
            for at in range(start, flow.blocks[start].end):
                _, number, operand = self.instructions[at]
                if number == STORE:
                    refused.add(operand)
                elif number in LOADS:
                    use = self.loads.get(operand, {}).get(at, ESCAPES)
                    if use == ESCAPES:
                        refused.add(operand)
                    written[operand] = written.get(operand, False) or use == WRITTEN
        return {slot: writes for slot, writes in sorted(written.items()) if slot not in refused}


# ---------------------------------------------------------------- liveness


def live_locals(body: Body, flow: Flow) -> dict[int, frozenset[int]]:
    """Return, by block, the locals that are read from its beginning on before they are assigned: a backward dataflow fixpoint."""
    reads: dict[int, frozenset[int]] = {}
    writes: dict[int, frozenset[int]] = {}
    for start, block in flow.blocks.items():
        reads[start], writes[start] = _reads_and_writes(body.instructions[start : block.end])
    live: dict[int, frozenset[int]] = dict.fromkeys(flow.blocks, frozenset())
    pending = list(flow.blocks)
    while pending:
        start = pending.pop()
        after = _live_after(flow, start, live)
        before = reads[start] | (after - writes[start])
        if before != live[start]:
            live[start] = before
            pending += flow.blocks[start].preds
    return live


def _live_after(flow: Flow, start: int, live: dict[int, frozenset[int]]) -> frozenset[int]:
    return frozenset().union(*[live[target] for target, _ in flow.blocks[start].succs if target in live])


def _reads_and_writes(instructions: list[tuple[int, int, int]]) -> tuple[frozenset[int], frozenset[int]]:
    """Return the locals that a straight run reads before it assigns them, and those that it assigns."""
    read: set[int] = set()
    written: set[int] = set()
    for _, number, slot in instructions:
        if number in LOADS and slot not in written:
            read.add(slot)
        elif number == STORE:
            written.add(slot)
    return frozenset(read), frozenset(written)


def read_after(body: Body, flow: Flow, places: set[int]) -> set[int]:
    """Return the locals that are read, before they are assigned, from one of the instructions `places` on or from the one behind
    it."""
    live = live_locals(body, flow)
    read: set[int] = set()
    for start, block in flow.blocks.items():
        after = set(_live_after(flow, start, live))
        for at in reversed(range(start, block.end)):
            if at in places:
                read |= after
            _, number, slot = body.instructions[at]
            if number in LOADS:
                after.add(slot)
            elif number == STORE:
                after.discard(slot)
            if at in places:
                read |= after
    return read


def hidden_stores(body: Body) -> set[int]:
    """Return each STORE of a local without a name: those that the compiler has made for itself, which no panic shows; in an image
    without names, and in a function that traces leave out, every STORE."""
    names = body.program.image.names
    named: dict[int, set[int]] = {}
    hidden = set()
    for at, (_, number, slot) in enumerate(body.instructions):
        if number == STORE:
            inlined = body.places[at][1]
            if inlined.function not in named:
                shown = bool(names) and not body.program.codes[inlined.function].hidden
                rows = names[inlined.function] if shown else []
                slots = body.program.image.functions[inlined.function].slots  # behind them are the places of cells
                named[inlined.function] = {place for _, place, _, _ in rows if place < slots}
            if slot - inlined.slot not in named[inlined.function]:
                hidden.add(at)
    return hidden
