"""Blocks and jumps of one function, or of one loop of it, as nested `while`, `for` and `if` (V-7.2).

This is structured control flow from the dominator tree: a block stands inside the construct of the block that dominates it, and a
block that several paths join in stands behind that construct. A path that has to pass by one such block, to get to a later one,
says so in the variable `g`. `loops` writes the loops and `branches` the ends of blocks; both work on the `Structure` of this
module, which `functions` makes for each part, and `loops` on its `Scope`s too. `EMIT` is the tables of all families in one: what
an opcode becomes stands in the table of its family. Nothing is compiled or run here. The stack is canonical where position n is
in the variable `sn`; fuel is the count of instructions that a run may still do.
"""

from __future__ import annotations

from ..bytecode.opcodes import BY_NAME, OPCODES
from . import arithmetic, branches, calls, intrinsics, kinds, loops, places, values
from .facts import READING, Facts, Value, canonical_stack, slot_of
from .flow import ENDS, MOST_THREADED, Flow, Unshaped
from .text import Branch, Line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..bytecode.opcodes import Opcode
    from .emitter import Emitter
    from .text import Statement

EMIT = {**values.EMIT, **arithmetic.EMIT, **places.EMIT, **intrinsics.EMIT, **calls.EMIT}
# What takes a value apart or asks for its class, and where it lies on the stack: CPython warns of such a form around a constant.
LITERAL_OPERAND = {
    BY_NAME[name].number: 1 for name in (
        "GET_ELEMENT", "IS_NIL", "IS_SOME", "IS_OK", "IS_ERR", "IS_ABSENT", "IS_VARIANT", "UNWRAP", "TRY", "POP_TRY",
    )
} | {BY_NAME[name].number: 2 for name in ("INDEX", "INDEX_ARRAY", "INDEX_OWN")}  # fmt: skip
CONCAT, STORE, NEXT = (BY_NAME[name].number for name in ("CONCAT", "STORE", "NEXT"))
MOST_COPIED = 12  # instructions of a block that stands in a loop though it comes behind it
DEEPEST = 150  # blocks nested in one another


class Scope:
    """What control may go on to from inside a construct: a loop (`is_loop`) or a join. Of a join, `target` is the block behind
    the construct; `passed`: paths go by it; `far`: paths come to it that go by others. Of a loop, `target` is its head; `exits`:
    by block that control goes to from there, the lines before the `break`."""

    __slots__ = ("target", "is_loop", "passed", "far", "exits")

    def __init__(self, target: int, is_loop: bool) -> None:
        self.target = target
        self.is_loop = is_loop
        self.passed = False
        self.far = False
        self.exits: dict[int, list[Line]] = {}


class Structure:
    """The statements of one flow graph, in the making. `emitter`: what writes them; `flow`: the blocks, each named by the index
    of its first instruction; `instructions`: (index, opcode number, operand). `costs`: the fuel of the straight run from each
    instruction on. `scopes`: the constructs around the place, innermost last; `level`: how many blocks are; `joins`: by block,
    those that stand behind its construct. `uses_g`: the text needs the variable `g`. `counting`: by head, the loops that count
    (`loops.counting_loops`); `literals`: by its first instruction, the last one of a literal of constants. Whatever translates
    blocks raises Unshaped as `statements`. `surveying`: what only the interpreter does is skipped, so that the fixpoint sees
    all stores of the function."""

    def __init__(self, emitter: Emitter, flow: Flow, costs: list[int], surveying: bool = False) -> None:
        self.emitter = emitter
        self.flow = flow
        self.costs = costs
        self.surveying = surveying
        self.instructions = flow.code.instructions
        self.scopes: list[Scope] = []
        self.paying: dict[int, Branch] = {}  # by the head of a loop, what pays there for the fuel of its rounds
        self.uses_g = False
        self.level = 0
        self.skip = -1  # an instruction that the head of a `for` does
        self.counting = {} if emitter.metered else loops.counting_loops(flow, emitter.image)
        self.hoisted: frozenset[tuple[str, int]] = frozenset()  # arrays made unique before a loop, each with its `lists` row
        self.ends: dict[int, Facts] = {}  # what holds at the end of a block, before it branches
        self.stacks: dict[int, list[Value]] = {}  # what the operand stack holds there
        self._kept: dict[int, list[int]] = {}  # by block, what `kept_locals` returns
        self.literals = flow.code.literals
        self.joins = self._joins()
        self.merged: dict[int, list[int]] = {}  # by block, those whose conditions have become part of its condition

    def statements(self) -> list[Statement]:
        """Return the translation from the root of the flow graph on. Raises Unshaped where blocks are nested too deeply, or a
        jump leads to no construct around it."""
        e, flow = self.emitter, self.flow
        blocks = [flow.blocks[start] for head in flow.loops() for start in flow.blocks[head].body]
        e.loop_code = frozenset([at for block in blocks for at in range(block.start, block.end)])
        body: list[Statement] = []
        e.out = body
        self.region(flow.root)
        if self.uses_g:
            body.insert(0, "g = 0")
        return body

    # ------------------------------------------------------------ what stands where

    def _joins(self) -> dict[int, list[int]]:
        """Return, by block, those that stand behind its construct, in order: where paths join, and what comes behind a loop."""
        joins: dict[int, list[int]] = {}
        blocks = self.flow.blocks
        all_loops = [blocks[head] for head in self.flow.loops()]
        for start in self.flow.sequence[1:]:
            block = blocks[start]
            parent, ended = block.idom, False
            for loop in all_loops:  # outermost first
                if parent in loop.body and start not in loop.body:
                    walk = self.instructions[parent][1] == NEXT or parent in self.counting
                    around = min([other.body for other in all_loops if parent in other.body], key=len)
                    ended = walk or not self._stays_inside(start) or not around.issuperset(block.preds)
                    if ended:
                        parent = loop.start
                    break
            if ended or self.flow.is_merge(start):
                joins.setdefault(parent, []).append(start)
        return joins

    def _stays_inside(self, start: int) -> bool:
        """Return whether what comes behind a loop is done before it ends: where control ends there, or a few instructions lead to
        where others come to as well."""
        block = self.flow.blocks[start]
        if not block.succs:
            return True
        target = block.succs[0][0]
        alone = len(block.succs) == 1 and not block.body and block.end - start <= MOST_COPIED
        return alone and not self.emitter.metered and (target not in self.flow.blocks or self.flow.is_merge(target))

    def region(self, start: int) -> None:
        """Translate a block and everything that it dominates. Raises Unshaped where that is nested too deeply."""
        self.level += 1
        if self.level > DEEPEST:
            raise Unshaped("nested too deeply")
        e = self.emitter
        block, lists = self.flow.blocks[start], e.lists
        # in a block that leaves a loop for good, nothing is known of what other variables see
        e.lists = {name: loop for name, loop in lists.items() if start in self.flow.blocks[loop].body}
        joins = self.joins.get(start, [])
        outside = [join for join in joins if block.body and join not in block.body]
        inside = [join for join in joins if join not in outside]
        self.open(outside)
        if block.body:
            loops.translate_loop(self, start, inside)
        else:
            self.construct(start, inside)
        self.close(outside)
        e.lists = lists
        self.level -= 1

    def construct(self, start: int, inside: list[int]) -> None:
        """Translate a block with its branches, and the blocks that stand behind it."""
        self.merged[start] = branches.merged_conditions(self, start)
        merged = {start, *self.merged[start]}
        for join in [join for join in inside if len(merged) > 1 and merged.issuperset(self.flow.blocks[join].preds)]:
            inside = [other for other in inside if other != join]
            self.joins[start] = [other for other in self.joins[start] if other != join]
        self.open(inside)
        self.block(start)
        self.close(inside)

    def open(self, joins: list[int]) -> None:
        """Begin the scopes of blocks that stand behind a construct, in order; `close`, with the same blocks, ends them."""
        self.scopes += [Scope(join, False) for join in reversed(joins)]

    def open_loop(self, head: int) -> Scope:
        """Begin the scope of a loop and return it; the caller pops it from `scopes`."""
        scope = Scope(head, True)
        self.scopes.append(scope)
        return scope

    def close(self, joins: list[int]) -> None:
        """Translate the blocks of the innermost scopes, which control now falls into."""
        e = self.emitter
        for join in joins:
            scope = self.scopes.pop()
            assert scope.target == join and not scope.is_loop
            self.enter(join)
            guard = Branch(f"g == 0 or g == {join + 1}" if scope.far else "g == 0")
            before, passed = e.out, scope.passed
            if passed:
                self.uses_g = True
                e.out = guard.yes
            if scope.far:
                e.out.append("g = 0")
            self.region(join)
            if passed:
                e.out = before
                e.out.append(guard)

    # ------------------------------------------------------------ joins

    def enter(self, start: int) -> None:
        """Set the stack and the facts to what holds on every path to a block that several paths come to."""
        e, flow = self.emitter, self.flow
        e.stack = canonical_stack(flow.code.depths[start])
        e.marked = frozenset()
        parent = flow.blocks[start].idom if start in flow.blocks else start
        end = self.ends.get(parent) if parent != start else None
        e.facts = Facts()
        if end is not None:
            between = flow.between(parent, start)
            stored = [slot for block in between for slot in flow.stored(block)]
            pure = between and not flow.blocks[start].body and flow.numbers(between) <= READING
            e.facts = end.after_pure_code(stored) if pure else end.after_stores(stored)
        for position, value in enumerate(e.stack):
            known = e.invariants.get((start, position))
            value.kind = e.kinds.unknown
            if known is not None:
                value.kind, value.low = known.kind, known.low
        for position, slot in enumerate(self.kept_locals(start)[: len(e.stack)]):
            if slot >= 0:
                e.stack[position] = e.local(slot)

    def kept_locals(self, target: int) -> list[int]:
        """Return, by position of the operand stack where paths join in the block `target`, the local whose value is there on each
        of them, -1 for none: it was loaded before they parted, and neither assigned nor taken off the stack since. Such a value
        needs no variable of its own."""
        if target not in self._kept:
            block = self.flow.blocks.get(target)
            stack = [] if block is None or block.body or block.idom == target else self.stacks.get(block.idom, [])
            slots = [slot_of(value.text) for value in stack]
            if block is not None and any(slot >= 0 for slot in slots):
                between = self.flow.between(block.idom, target)
                stored = {slot for start in between for slot in self.flow.stored(start)}
                spans = [range(start, self.flow.blocks[start].end) for start in between]
                lowest = min([self._lowest(at) for span in spans for at in span], default=len(slots))
                lowest = min(lowest, self._lowest(self.flow.blocks[block.idom].end - 1))
                slots = [-1 if slot in stored else slot for slot in slots[:lowest]]
            self._kept[target] = slots
        return self._kept[target]

    def _lowest(self, at: int) -> int:
        """Return how many values stay on the operand stack beneath those that an instruction takes or its handler drops."""
        op, depths = OPCODES[self.instructions[at][1]], self.flow.code.depths
        if at in self.flow.handlers:
            return min(depths[at] - len(op.pops), self.flow.code.handler_depths[at])
        if op.flow in ENDS:
            return depths[at] - len(op.pops)
        return depths[at + 1] - len(op.pushes)

    def record_stack(self, target: int) -> None:
        """Note for the fixpoint what the stack holds on this path to a block."""
        for position, value in enumerate(self.emitter.stack):
            self.emitter.record_store((target, position), value)

    def record_behind_jumps(self, target: int) -> None:
        """Note the same for the block that a jump to `target` comes to in the end, if that only jumps on: parts are translated
        with such jumps left out (`Flow.thread`)."""
        e, final = self.emitter, target
        stack = list(e.stack)
        for _ in range(MOST_THREADED):
            _, number, operand = self.instructions[final]
            if OPCODES[number].flow != "jump":
                break
            declared = e.body.declared_types.get(final)
            if declared is not None and stack[-1].kind == kinds.ANY:
                stack[-1] = stack[-1].with_kind(e.kinds.of_type(declared))
            final = operand
        if final != target:
            for position, value in enumerate(stack):
                e.record_store((final, position), value)

    def arrive(self, target: int) -> None:
        """Make the stack canonical on the way to a block."""
        self.record_stack(target)
        self.emitter.canonicalise(self.kept_locals(target))

    def go(self, target: int, source: int, jumps: bool = False) -> None:
        """Go on from the block `source` to another, with the stack as it is; a jump is charged for the run that begins there."""
        e = self.emitter
        if self.surveying:
            self.record_behind_jumps(target)
        if jumps:
            if e.metered:
                e.spill()  # where something before the jump fails, what follows has cost nothing
            e.charge(self.costs[target])
        block = self.flow.blocks.get(target)
        if block is None:  # outside what is translated
            e.canonicalise()
            e.deoptimise(target)
        elif block.idom in (source, *self.merged.get(source, ())) and not self._stands_elsewhere(target):
            if block.body:
                self.arrive(target)
            self.region(target)
        else:
            self.arrive(target)
            self.jump(target)

    def _stands_elsewhere(self, target: int) -> bool:
        """Return whether a block stands behind some construct, or is the head of a loop that control is in."""
        around = any(scope.is_loop and scope.target == target for scope in self.scopes)
        return around or any(target in joins for joins in self.joins.values())

    def jump(self, target: int) -> None:
        """Go on to a block that stands behind some construct, or to the head of a loop; the stack is canonical. Raises Unshaped
        where no construct around leads there."""
        e = self.emitter
        if target not in self.flow.blocks:
            e.deoptimise(target)
            return
        passed: list[Scope] = []
        for scope in reversed(self.scopes):
            if scope.is_loop:
                if scope.target == target:
                    e.out.append("continue")
                else:
                    line = Line()
                    scope.exits.setdefault(target, []).append(line)
                    e.out += [line, "break"]
                return
            if scope.target == target:
                if passed:
                    self.uses_g = True
                    e.out.append(f"g = {target + 1}")
                    scope.far = True
                    for other in passed:
                        other.passed = True
                return
            passed.append(scope)
        raise Unshaped("a jump to nowhere")

    # ------------------------------------------------------------ blocks and instructions

    def block(self, start: int) -> None:
        """Translate the instructions of a block, and where control goes from there."""
        e = self.emitter
        block = self.flow.blocks[start]
        last = block.end - 1
        at = self.steps(start, last)
        self.ends[start], self.stacks[start] = e.facts.copy(), list(e.stack)
        if at > last:  # the last one was done with the one before it
            self._fall_through(start, last)
            return
        e.at = last
        if OPCODES[self.instructions[last][1]].flow in ENDS or last in self.flow.handlers:
            branches.end_block(self, start, last)
        else:
            self.step(last)
            self.ends[start] = e.facts.copy()
            self._fall_through(start, last)

    def _fall_through(self, start: int, last: int) -> None:
        self.emitter.at = last
        self.go(self.flow.blocks[start].succs[0][0], start)

    def steps(self, start: int, end: int) -> int:
        """Translate the instructions from `start` up to `end`, and return the index of the next one, which may be one further."""
        while start < end:
            start = self.step(start)
        return start

    def step(self, at: int) -> int:
        """Translate an instruction, perhaps with the next one, and return the index of the one behind."""
        if at == self.skip:
            return at + 1
        self.emitter.at = at
        if at in self.literals and values.push_literal(self.emitter, at, self.literals[at]):
            return self.literals[at] + 1
        _, number, operand = self.instructions[at]
        if number == CONCAT and at + 1 not in self.flow.blocks:
            _, following, slot = self.instructions[at + 1]
            if following == STORE and places.append_in_place(self.emitter, slot):
                return at + 2
        self.operation(OPCODES[number], operand)
        return at + 1

    def operation(self, op: Opcode, operand: int) -> None:
        """Translate one opcode by its row, or by its function in vm/interp/ops.py."""
        e = self.emitter
        e.declare_type()
        if op.number in LITERAL_OPERAND:
            position = -LITERAL_OPERAND[op.number]
            e.stack[position] = e.bind_literal(e.stack[position])
        if self.surveying and e.graph.is_interpreted(op.number, operand):
            self._skip_operation(op)
        else:
            self.emit(op, operand)
        e.facts.after(op.number)

    def emit(self, op: Opcode, operand: int) -> None:
        """Write the form of an opcode in EMIT, or the generic form."""
        form = EMIT.get(op.number)
        if form is None:
            self.emitter.generic(op, operand)
        else:
            form(self.emitter, op, operand)

    def _skip_operation(self, op: Opcode) -> None:
        """Do what only the interpreter does, as far as the stack goes."""
        e = self.emitter
        e.spill()
        e.pop_many(len(e.stack) - self.flow.code.depths[e.at + 1] + len(op.pushes))
        for _ in op.pushes:
            e.push(Value(e.temporary()))
