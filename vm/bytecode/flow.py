"""Rules about paths: what the stack, the locals and the cells hold before each instruction (V109 to V117, V126).

Hands on `StackMap`: one pass over the reachable blocks of a function, forward through a worklist. Handlers and
snapshots rely on the depths found here and on nothing else (G-4.2). Must not know: what opcodes compute.
"""

from __future__ import annotations

from heapq import heappop, heappush

from . import pictures as p
from .image import Function
from .operand_rules import describe
from .pictures import READ_SLOT, WRITE_SLOT
from .rules import MOST_VISITS, refuse
from .scope import Code, Scope

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .scope import Effect

    # Stack depth; then bit masks: stack positions with iterators, assigned locals, assigned cells.
    State = tuple[int, int, int, int]


class StackMap:
    """The pass over one function. `depths`, `iterators`: per instruction, the depth -1 where control never arrives."""

    __slots__ = (
        "scope", "function", "program", "index_of", "effects", "depths", "iterators", "leads", "handlers", "states",
        "visits", "pending", "queued",
    )  # fmt: skip

    def __init__(self, scope: Scope, function: Function, code: Code, effects: list[Effect]) -> None:
        self.scope = scope
        self.function = function
        self.program = code.instructions
        self.index_of = code.index_of
        self.effects = effects
        self.depths = [-1] * len(self.program)
        self.iterators = [0] * len(self.program)
        self.handlers = self._innermost_handlers()
        self.leads = self._leads()
        self.states: dict[int, State] = {}
        self.visits: dict[int, int] = {}
        self.pending: list[int] = []  # a heap of block leaders, and the same as a set
        self.queued: set[int] = set()

    def _leads(self) -> bytearray:
        """1 at each index that begins a block: the first, targets of jumps and handlers, whatever follows a block's
        end; and one behind the last."""
        leads = bytearray(len(self.program) + 1)
        leads[0] = leads[-1] = 1
        ends_block, jumps = p.ENDS_BLOCK, p.JUMPS
        for index, (_, number, operand) in enumerate(self.program):
            if ends_block[number]:
                leads[index + 1] = 1
                if jumps[number] and operand in self.index_of:
                    leads[self.index_of[operand]] = 1
        for handler in self.function.handlers:
            leads[self.index_of.get(handler[2], 0)] = 1
        return leads

    def leaders(self) -> list[int]:
        return [index for index, leads in enumerate(self.leads[:-1]) if leads]

    def _innermost_handlers(self) -> dict[int, tuple[int, int]]:
        """(target index, depth) by instruction index, for the instructions that may throw inside a range: one sweep
        over both."""
        found: dict[int, tuple[int, int]] = {}
        coming = sorted(enumerate(self.function.handlers), key=lambda item: (-item[1][0], item[1][1], item[0]))
        around: list[list[int]] = []  # ranges that hold the instruction, innermost last
        for index, (offset, number, _) in enumerate(self.program if coming else ()):
            while coming and coming[-1][1][0] <= offset:
                around.append(coming.pop()[1])
            while around and around[-1][1] <= offset:
                around.pop()
            if around and p.THROWS[number] and around[-1][2] in self.index_of:
                found[index] = (self.index_of[around[-1][2]], around[-1][3])
        return found

    def run(self) -> None:
        function = self.function
        if not self.program or p.FALLS_THROUGH[self.program[-1][1]]:
            at = self.program[-1][0] if self.program else 0
            refuse("V110", f"function `{function.name}`, offset {at}", "nothing stands behind the last instruction")
        if self.program:
            self._arrive(0, (0, 0, (1 << len(function.params)) - 1, (1 << len(function.captures)) - 1), 0)
        while self.pending:
            leader = heappop(self.pending)
            self.queued.discard(leader)
            self.visits[leader] = visits = self.visits.get(leader, 0) + 1
            if visits > MOST_VISITS:
                self._refuse("V126", leader, f"it is visited more than {MOST_VISITS} times")
                return
            self._block(leader)

    def _refuse(self, rule: str, index: int, reason: str) -> None:
        at, number, operand = self.program[index]
        refuse(rule, describe(self.function, at, number, operand), reason)

    # ---------------------------------------------------------------- where paths join

    def _arrive(self, index: int, state: State, source: int) -> None:
        """Control comes to a block in this state; what both ways in assign stays assigned."""
        known = self.states.get(index)
        if known is None:
            merged = state
        elif known == state:
            return
        else:
            if known[0] != state[0]:
                self._refuse("V113", source, f"depth {state[0]} meets depth {known[0]}")
            if known[1] != state[1]:
                self._refuse("V114", source, "a value meets an iterator")
            merged = (known[0], known[1], known[2] & state[2], known[3] & state[3])
            if merged == known:
                return
        self.states[index] = merged
        if index not in self.queued:
            self.queued.add(index)
            heappush(self.pending, index)

    def _throw(self, index: int, state: State, left: int) -> None:
        """Control goes to the handler in range with the stack cut to its depth and the error pushed."""
        target, depth = self.handlers[index]
        if left < depth:
            self._refuse("V117", index, f"the handler expects depth {depth}, {left} is left")
        self._arrive(target, (depth + 1, state[1] & ((1 << depth) - 1), state[2], state[3]), index)

    # ---------------------------------------------------------------- along a block

    def _block(self, index: int) -> None:
        """Follow one block from its leader to its end, and hand its last state to all successors."""
        effects, depths, iterators, leads = self.effects, self.depths, self.iterators, self.leads
        program, declared, handlers = self.program, self.function.stack, self.handlers
        depth, kinds, slots, cells = self.states[index]
        while True:
            popped, pushed, role, ends = effects[index]
            depths[index] = depth
            if kinds:
                iterators[index] = kinds
            left = depth - popped
            if left < 0:
                self._refuse("V111", index, f"it pops {popped} of {depth} values")
                left = 0
            if handlers and index in handlers:
                self._throw(index, (depth, kinds, slots, cells), left)
            depth = left + pushed
            if depth > declared:
                self._refuse("V112", index, f"depth {depth}, declared {declared}")
            if role > WRITE_SLOT:
                kinds, cells = self._effect(index, role, left, kinds, cells)
            else:
                if role == READ_SLOT:
                    if not slots >> program[index][2] & 1:
                        self._refuse("V115", index, f"local {program[index][2]} may be unassigned")
                elif role == WRITE_SLOT:
                    slots |= 1 << program[index][2]
                if kinds and kinds >> left:
                    self._refuse("V116", index, "it pops an iterator")
                    kinds &= (1 << left) - 1
            if ends:
                self._leave(index, (depth, kinds, slots, cells), left)
                return
            index += 1
            if leads[index]:
                if index < len(program):
                    self._arrive(index, (depth, kinds, slots, cells), index - 1)
                return

    def _effect(self, index: int, role: int, left: int, kinds: int, cells: int) -> tuple[int, int]:
        """Kinds of the stack and existing cells behind an instruction that leaves `left` values of the stack alone."""
        _, number, operand = self.program[index]
        above, kinds = kinds >> left, kinds & ((1 << left) - 1)
        if role == p.WALK:
            if above != 1:
                self._refuse("V116", index, "the top of the stack is no iterator")
            return kinds | 1 << left, cells
        if role == p.MIXED:
            if p.PUSHES[number] and above >> max(0, self.depths[index] - left - 1):
                self._refuse("V116", index, "the value to keep is an iterator")
            return kinds, cells
        if above:
            self._refuse("V116", index, "it pops an iterator")
        if role == p.BEGIN_WALK:
            return kinds | 1 << left, cells
        if role == p.MAKE_CELL:
            return kinds, cells | 1 << operand
        if role == p.CAPTURE:
            self._capture(index, cells)
        elif not cells >> operand & 1:
            self._refuse("V115", index, f"cell {operand} may not exist yet")
        return kinds, cells

    def _capture(self, index: int, cells: int) -> None:
        functions, operand = self.scope.image.functions, self.program[index][2]
        for cell in functions[operand].captures if operand < len(functions) else ():
            if not cells >> cell & 1:
                self._refuse("V115", index, f"captured cell {cell} may not exist yet")

    def _leave(self, index: int, state: State, left: int) -> None:
        """The end of a block: its jump, the instruction behind it, or the end of the function."""
        _, number, operand = self.program[index]
        if p.JUMPS[number] and operand in self.index_of:
            jumped = state
            if p.ROLE[number] == p.WALK:  # the jump of NEXT drops the iterator
                jumped = (left, state[1] & ((1 << left) - 1), state[2], state[3])
            self._arrive(self.index_of[operand], jumped, index)
        if p.FALLS_THROUGH[number] and index + 1 < len(self.program):
            self._arrive(index + 1, state, index)
        if p.RETURNS[number] and left:
            self._refuse("V113", index, f"{left + 1} values are on the stack")
