"""The control flow graph of one function, or of one loop of it: basic blocks, dominators, natural loops.

The dominator tree is computed by iteration in reverse postorder (Cooper, Harvey and Kennedy, "A Simple, Fast Dominance
Algorithm").

Hands on `Flow` to `functions`, `control`, `loops` and `liveness`, ENDS to `control`, STORES to `loops`, and `Unshaped` to all
that may find that code cannot be translated; the tier catches it. Blocks are named by the index of their first instruction in a
`Body`, the code of a function with what is inlined. How blocks become statements is for `control`: nothing here writes text.
"""

from __future__ import annotations

from ..bytecode import operands as k
from ..bytecode.opcodes import OPCODES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .inlining import Body


STORES = frozenset(op.number for op in OPCODES if op.name in ("STORE", "LOAD_OWN"))  # they assign a local, or load it for writing
# The words of `Opcode.flow` that end a block: control goes elsewhere, to one of two places, on or out of a walk, or nowhere.
ENDS = frozenset({"jump", "branch", "iterate", "stop"})
MOST_THREADED = 8  # jumps behind one another that become one


class Unshaped(Exception):
    """The code cannot be put into loops and branches, or is too large: it stays with the interpreter."""


class Block:
    """A basic block: the instructions from `start` up to `end`. `succs`: where control goes (block, whether by a jump), the
    next instruction first. `preds`: the blocks that it comes from, one for each way. `order`: its position in reverse postorder.
    `idom`: its immediate dominator. `body`: of a loop whose head this is, the starts of its blocks."""

    __slots__ = ("start", "end", "succs", "preds", "order", "idom", "body")

    def __init__(self, start: int) -> None:
        self.start = start
        self.end = start
        self.succs: list[tuple[int, bool]] = []
        self.preds: list[int] = []
        self.order = 0
        self.idom = start
        self.body: frozenset[int] = frozenset()


class Flow:
    """The graph of the code from the block `root` on. `handlers`: by instruction that may throw to one, the block of its handler.
    `within`: the blocks of the loop, if it is only one. `threaded`: a jump to a jump goes to where that goes, which changes what
    fuel is counted. `blocks`: by start, those that control reaches; `sequence`: their starts in reverse postorder. The
    constructor raises Unshaped for a jump into a loop."""

    def __init__(
        self,
        code: Body,
        handlers: dict[int, int],
        root: int = 0,
        within: frozenset[int] | None = None,
        threaded: bool = False,
    ) -> None:
        self.code = code
        self.handlers = handlers
        self.within = within
        self.threaded = threaded
        self.root = root
        self.blocks: dict[int, Block] = {}
        self._stored: dict[int, frozenset[int]] = {}
        self._cut(self._leaders())
        self._number()
        self._dominate()
        self._find_loops()

    def _leaders(self) -> set[int]:
        leaders = {0, self.root, *self.handlers.values()}
        for i, (_, number, operand) in enumerate(self.code.instructions):
            op = OPCODES[number]
            if op.kind is k.LABEL:
                leaders.add(self.code.index_of[operand])
            if op.flow in ENDS or i in self.handlers:
                leaders.add(i + 1)
        return leaders

    def _cut(self, leaders: set[int]) -> None:
        pending = [self.root]
        while pending:
            start = pending.pop()
            if start in self.blocks:
                continue
            block = self.blocks[start] = Block(start)
            at = start
            while at + 1 not in leaders:
                at += 1
            block.end = at + 1
            block.succs = [self.thread(*successor) for successor in self.successors(at)]
            pending += [target for target, _ in block.succs if self.within is None or target in self.within]

    def successors(self, at: int) -> list[tuple[int, bool]]:
        """Return where control goes from an instruction that ends a block: indexes, and whether by a jump, which costs fuel."""
        _, number, operand = self.code.instructions[at]
        op = OPCODES[number]
        following: list[tuple[int, bool]] = []
        if op.flow not in ("jump", "stop"):
            following.append((at + 1, False))
        if op.kind is k.LABEL:
            following.append((self.code.index_of[operand], True))
        elif at in self.handlers:
            following.append((self.handlers[at], True))
        return following

    def thread(self, target: int, jumps: bool) -> tuple[int, bool]:
        """Return where control comes to behind at most MOST_THREADED jumps (jump threading), and `jumps` as it is. Jumps cost
        fuel, so this is only done where that is not counted."""
        for _ in range(MOST_THREADED):
            _, number, operand = self.code.instructions[target]
            outside = self.within is not None and target not in self.within
            if not self.threaded or OPCODES[number].flow != "jump" or outside:
                break
            target = self.code.index_of[operand]
        return target, jumps

    def _number(self) -> None:
        order: list[int] = []
        seen = {self.root}
        pending = [(self.root, iter(self.blocks[self.root].succs))]
        while pending:
            start, rest = pending[-1]
            for target, _ in rest:
                if target in self.blocks and target not in seen:
                    seen.add(target)
                    pending.append((target, iter(self.blocks[target].succs)))
                    break
            else:
                pending.pop()
                order.append(start)
        self.sequence = order[::-1]
        for position, start in enumerate(self.sequence):
            self.blocks[start].order = position
            for target, _ in self.blocks[start].succs:
                if target in self.blocks:
                    self.blocks[target].preds.append(start)

    def _dominate(self) -> None:
        blocks = self.blocks
        known = {self.root}
        changed = True
        while changed:
            changed = False
            for start in self.sequence[1:]:
                block = blocks[start]
                best = -1
                for pred in block.preds:
                    if pred in known:
                        best = pred if best < 0 else self._meet(best, pred)
                if block.idom != best or start not in known:
                    block.idom = best
                    known.add(start)
                    changed = True

    def _meet(self, one: int, other: int) -> int:
        blocks = self.blocks
        while one != other:
            while blocks[one].order > blocks[other].order:
                one = blocks[one].idom
            while blocks[other].order > blocks[one].order:
                other = blocks[other].idom
        return one

    def dominates(self, one: int, other: int) -> bool:
        """Return whether each way from the root to the block `other` comes through the block `one`."""
        while self.blocks[other].order > self.blocks[one].order:
            other = self.blocks[other].idom
        return one == other

    def _find_loops(self) -> None:
        for start in self.sequence:
            for target, _ in self.blocks[start].succs:
                if target in self.blocks and self.blocks[target].order <= self.blocks[start].order:
                    if not self.dominates(target, start):
                        raise Unshaped("a jump into a loop")
                    self._add_body(target, start)

    def _add_body(self, head: int, tail: int) -> None:
        body = {head, *self.blocks[head].body}
        pending = [tail]
        while pending:
            start = pending.pop()
            if start not in body:
                body.add(start)
                pending += self.blocks[start].preds
        self.blocks[head].body = frozenset(body)

    def between(self, parent: int, start: int) -> set[int]:
        """Return the blocks on a way from the end of the block `parent` to the beginning of `start`, which `parent` dominates."""
        seen = {parent}
        pending = list(self.blocks[start].preds)
        while pending:
            block = pending.pop()
            if block not in seen:
                seen.add(block)
                pending += self.blocks[block].preds
        return seen - {parent}

    def numbers(self, blocks: set[int]) -> set[int]:
        """Return the numbers of the opcodes in some blocks."""
        return {self.code.instructions[at][1] for start in blocks for at in range(start, self.blocks[start].end)}

    def stored(self, start: int) -> frozenset[int]:
        """Return the locals that a block assigns, or loads for writing."""
        if start not in self._stored:
            span = self.code.instructions[start : self.blocks[start].end]
            self._stored[start] = frozenset(operand for _, number, operand in span if number in STORES)
        return self._stored[start]

    def is_merge(self, start: int) -> bool:
        """Return whether control comes to a block by more than one way, back edges not counted; two ways may be from one
        block."""
        block = self.blocks[start]
        forward = [pred for pred in block.preds if self.blocks[pred].order < block.order]
        return len(forward) > 1

    def loops(self) -> list[int]:
        """Return the heads of the loops; that of an outer one stands before those inside it."""
        return [start for start in self.sequence if self.blocks[start].body]
