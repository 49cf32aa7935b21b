"""Analysis of the call graph of a program: which functions may suspend, which may recur, and which only read an argument (V-7.3).

A call of a function value, or of a method that is found at run time, is not followed: there translated code asks what it meets.

Hands on `CallGraph` to the rest of the translator and the tier, `only_reads` to `runtime/tools/direct.py`, `ends_of_arguments` to
`inlining`, `prelude_row` to `calls` and `functions`, `LARGEST` to `functions` and `TALLEST` to the tier. It only reads the
verified image and writes no code; numbers are those of functions in it. Fuel is the count of instructions that a run may still
do. What may be inlined is decided here (`CallGraph.inlined_size`, `MOST_INLINED`), how much of it in `inlining`.
"""

from __future__ import annotations

from ..builtins.modules import built_in_row
from ..bytecode import image as im
from ..bytecode import operands as k
from ..bytecode.opcodes import BY_NAME, OPCODES
from ..bytecode.verify_code import unplaced_returns

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..bytecode.verify import FunctionFacts


# ---------------------------------------------------------------- borrowed arguments
#
# An argument needs no mark as shared where the callee only reads the parameter, and calls nothing (V-5.7). The mark is for
# writes through one of two places. Here the second place is gone when the function returns, nobody writes through the first
# one before, and what is read out of it and bound gets a mark of its own.

LOAD, LOAD_OWN, MOVE, STORE, CALL_BUILTIN, CALL, CALL_VALUE, CLOSURE = (
    BY_NAME[name].number for name in ("LOAD", "LOAD_OWN", "MOVE", "STORE", "CALL_BUILTIN", "CALL", "CALL_VALUE", "CLOSURE")
)
# Of what a parameter may be used for: opcodes that take it alone, those with a position, built-ins.
READS = frozenset({BY_NAME["GET_FIELD"].number, BY_NAME["LENGTH"].number})
INDEXES = frozenset({BY_NAME["INDEX_ARRAY"].number, BY_NAME["INDEX"].number})
ASKING = frozenset({("Array", "len"), ("Array", "is_empty"), ("Map", "len")})
# Only the top of these carries the mark. Behind a tuple, an Option or an enum value it lies inside, and what is taken out there
# relies on it.
WHOLES = frozenset({"struct", "schema", "array", "map"})


def only_reads(image: Any, number: int, facts: FunctionFacts, position: int) -> bool:
    """Return whether the parameter at `position`, from 0, of function `number` is used for nothing but reading its fields,
    elements and length; `facts` are what the verifier found of the function. It may call nothing but built-ins, which is not
    tested here. False for a parameter whose type is none of WHOLES."""
    if image.types[image.functions[number].params[position][1]][0] not in WHOLES:
        return False
    for at, (_, opcode, operand) in enumerate(facts.instructions):
        used = OPCODES[opcode].kind is k.LOCAL and operand == position
        if used and (opcode in (LOAD_OWN, MOVE) or not _read(image, facts, at, opcode)):
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


def ends_of_arguments(depths: list[int], call: int, base: int, count: int) -> list[int]:
    """Return the index of the last instruction of each of the `count` values that a call at the index `call` takes, -1 where the
    code has no such; `base` is the depth of the stack beneath them, `depths` that before each instruction, at least of those
    before the call."""
    ends = [-1] * count
    at = call - 1
    for position in reversed(range(count)):
        ends[position] = at
        while position and at >= 0 and depths[at] != base + position:
            at -= 1
        at -= 1
    return ends


# ---------------------------------------------------------------- functions of the prelude


def prelude_row(function: Any) -> Any:
    """Return the row of the built-in that a function of an image is, where that is written in Concerto; None for any other. What
    an image calls so may be another function."""
    receiver, _, name = function.name.partition("::")
    row = built_in_row(receiver, name) if function.flags & im.F_HIDDEN else None
    return row if row is not None and row.kind == "prelude" else None


# ---------------------------------------------------------------- the call graph

# What only the interpreter does: it ends the slice, works on tasks, or configures a declaration. CALL_HOST belongs to it where
# only the host can answer (`CallGraph.is_interpreted`).
LEAVING = frozenset({"CALL_METHOD", "CALL_INOUT", "CALL_HOST"})  # what leaves for the interpreter when it has to
INTERPRETED = frozenset(
    op.number for op in OPCODES if (op.flow == "suspend" and op.name not in LEAVING) or op.name in ("START", "CONFIGURE")
)
CALL_HOST = BY_NAME["CALL_HOST"].number
DYNAMIC_CALLS = frozenset(op.number for op in OPCODES if op.name in ("CALL_VALUE", "CALL_METHOD", "CALL_INOUT"))
LARGEST = 4000  # instructions of a function that is translated
MOST_INLINED = 48  # instructions of a function that is inlined
TALLEST = 40  # calls of functions that cannot recur may nest so deep without being counted


class CallGraph:
    """The call graph of a linked program; `verified` is its image with the facts that the verifier has found, `image` the image
    alone, `facts` those facts, by function. By function: `calls`, the functions that it calls by number; `suspends`, whether it
    may do what only the interpreter does, by itself or through such a call; `counted`, whether it takes the number of calls that
    may still nest as an argument; `leaf`, whether it calls nothing but built-ins. `values`: the functions that become function
    values or capture variables, which take their cells as an argument."""

    def __init__(self, program: Any) -> None:
        self.constants = program.constants
        self.verified = program.verified
        self.facts = facts = program.verified.functions
        self.image = program.image
        self._borrows: dict[tuple[int, int], bool] = {}
        self._sizes: dict[int, int] = {}
        self._loops: dict[int, bool] = {}
        self._called: dict[int, frozenset[int]] = {}
        self._unplaced: dict[int, set[int]] = {}
        self.calls: list[set[int]] = []
        self.suspends: list[bool] = []
        self.counted: list[bool] = []
        self.leaf: list[bool] = []
        self.values: set[int] = set()
        for function in facts:
            calls: set[int] = set()
            suspends = dynamic = False
            for index, (_, number, operand) in enumerate(function.instructions):
                if function.depths[index] < 0:
                    continue
                if number == CALL:
                    calls.add(operand)
                elif number == CLOSURE:
                    self.values.add(operand)
                elif self.is_interpreted(number, operand):
                    suspends = True
                elif number in DYNAMIC_CALLS:
                    dynamic = True
            self.calls.append(calls)
            self.suspends.append(suspends)
            self.counted.append(dynamic)
            self.leaf.append(not calls and not dynamic)
        self.values |= {number for number, function in enumerate(program.image.functions) if function.captures}
        for number in self.values:
            self.counted[number] = True
        self._spread(self.suspends)
        self._count_cycles()
        self._spread(self.counted)

    def is_interpreted(self, number: int, operand: int) -> bool:
        """Return whether only the interpreter does an instruction, by its opcode and operand."""
        return number in INTERPRETED or (number == CALL_HOST and self.constants[operand].at_once is None)

    def cost(self, number: int) -> int:
        """Return the fuel of the straight run that a function begins with: the number of its instructions, up to and including
        the first one that never falls through."""
        for count, (_, opcode, _) in enumerate(self.facts[number].instructions, 1):
            if OPCODES[opcode].flow in ("jump", "stop"):
                return count
        return 0

    def inlined_size(self, number: int, with_loops: bool = False) -> int:
        """Return the number of instructions of a function that can be inlined; 0 for one that cannot: it is large, has cells of
        its own, may suspend, notes where an Err was first seen, or has a loop, which only the call of a known closure in it is
        worth (`with_loops`)."""
        if number not in self._sizes:
            function, facts = self.image.functions[number], self.facts[number]
            self._loops[number] = any(
                OPCODES[opcode].kind is k.LABEL and facts.index_of[operand] <= index
                for index, (_, opcode, operand) in enumerate(facts.instructions)
            )
            stays = function.cells > len(function.captures) or self.suspends[number] or len(facts.instructions) > MOST_INLINED
            stays = stays or bool(self.unplaced(number))
            self._sizes[number] = 0 if stays else len(facts.instructions)
        return 0 if self._loops[number] and not with_loops else self._sizes[number]

    def called_parameters(self, number: int) -> frozenset[int]:
        """Return the positions, from 0, of the parameters that a function calls as function values and never assigns; none for a
        function that is not translated."""
        if len(self.facts[number].instructions) > LARGEST:
            return frozenset()
        if number not in self._called:
            facts, called, assigned = self.facts[number], set(), set()
            for at, (_, opcode, operand) in enumerate(facts.instructions):
                if opcode == CALL_VALUE and facts.depths[at] >= 0:
                    end = ends_of_arguments(facts.depths, at, facts.depths[at] - operand - 1, operand + 1)[0]
                    if end >= 0 and facts.instructions[end][1] in (LOAD, MOVE):
                        called.add(facts.instructions[end][2])
                elif opcode in (STORE, LOAD_OWN):
                    assigned.add(operand)
            count = len(self.image.functions[number].params)
            self._called[number] = frozenset([position for position in called - assigned if position < count])
        return self._called[number]

    def unplaced(self, number: int) -> set[int]:
        """Return the indexes of those RETURNs of a function that note where an Err was first seen (`unplaced_returns`)."""
        if number not in self._unplaced:
            self._unplaced[number] = unplaced_returns(self.verified, number)
        return self._unplaced[number]

    def borrows(self, number: int, position: int) -> bool:
        """Return whether a function does nothing with its argument at `position`, from 0, but read it, until it returns."""
        key = (number, position)
        if key not in self._borrows:
            self._borrows[key] = self.leaf[number] and only_reads(self.image, number, self.facts[number], position)
        return self._borrows[key]

    def _spread(self, marks: list[bool]) -> None:
        """Mark the callers of what is marked, up to the roots."""
        callers: list[list[int]] = [[] for _ in marks]
        for caller, callees in enumerate(self.calls):
            for callee in callees:
                callers[callee].append(caller)
        pending = [number for number, marked in enumerate(marks) if marked]
        while pending:
            for caller in callers[pending.pop()]:
                if not marks[caller]:
                    marks[caller] = True
                    pending.append(caller)

    def _count_cycles(self) -> None:
        """Mark the functions whose calls nest without a bound, or deeper than TALLEST: in topological order from the leaves,
        what is left is in a cycle or above one."""
        waiting = [len(callees) for callees in self.calls]
        callers: list[list[int]] = [[] for _ in waiting]
        for caller, callees in enumerate(self.calls):
            for callee in callees:
                callers[callee].append(caller)
        height = [0] * len(waiting)
        ready = [number for number, count in enumerate(waiting) if not count]
        ordered = set(ready)
        while ready:
            number = ready.pop()
            for caller in callers[number]:
                height[caller] = max(height[caller], height[number] + 1)
                waiting[caller] -= 1
                if not waiting[caller]:
                    ready.append(caller)
                    ordered.add(caller)
        for number in range(len(waiting)):
            if number not in ordered or height[number] > TALLEST:
                self.counted[number] = True
