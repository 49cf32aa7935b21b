"""Control flow of one function, or of one loop of it, as the emitter walks it: blocks, dominators, natural loops.

Hands on `Flow`. Where translated code has to leave for the interpreter (`leaves`), control ends, so that what only comes after
such a place is not translated. Must not know: Python text, values.
"""

from __future__ import annotations

from ..bytecode import operands as k
from ..bytecode.opcodes import OPCODES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from .inlining import Body


STORES = frozenset(op.number for op in OPCODES if op.name in ("STORE", "LOAD_OWN"))
ENDS = frozenset({"jump", "branch", "iterate", "stop"})


class Unshaped(Exception):
    """The code cannot be put into loops and branches, or is too large: it stays with the interpreter."""


class Block:
    """`start`, `end`: instructions. `succs`: (block, whether a jump is taken): the next instruction, then the target. `order`:
    position in reverse postorder. `body`: of a loop that begins here, the starts of its blocks."""

    __slots__ = ("start", "end", "succs", "preds", "order", "idom", "children", "body", "leaves")

    def __init__(self, start: int) -> None:
        self.start = start
        self.end = start
        self.succs: list[tuple[int, bool]] = []
        self.preds: list[int] = []
        self.order = 0
        self.idom = start
        self.children: list[int] = []
        self.body: frozenset[int] = frozenset()
        self.leaves = False


class Flow:
    """`root`: the block where it begins. `blocks` by the index of their first instruction, only those that control reaches."""

    def __init__(
        self,
        facts: Body,
        handlers: dict[int, int],
        leaves: Callable[[int], bool],
        root: int = 0,
        within: frozenset[int] | None = None,
        threaded: bool = False,
    ) -> None:
        self.facts = facts
        self.handlers = handlers
        self.leaves = leaves
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
        found = {0, self.root, *self.handlers.values()}
        for i, (_, number, operand) in enumerate(self.facts.instructions):
            op = OPCODES[number]
            if op.kind is k.LABEL:
                found.add(self.facts.index_of[operand])
            if op.flow in ENDS or i in self.handlers or self.leaves(i):
                found.add(i + 1)
        return found

    def _cut(self, leaders: set[int]) -> None:
        pending = [self.root]
        while pending:
            start = pending.pop()
            if start in self.blocks:
                continue
            block = self.blocks[start] = Block(start)
            at = start
            while not (at + 1 in leaders or self.leaves(at)):
                at += 1
            block.end = at + 1
            block.leaves = self.leaves(at)
            block.succs = [] if block.leaves else [self.thread(*following) for following in self.successors(at)]
            pending += [target for target, _ in block.succs if self.within is None or target in self.within]

    def successors(self, at: int) -> list[tuple[int, bool]]:
        """Of an instruction that ends a block: (index, whether it is jumped to, which costs fuel)."""
        _, number, operand = self.facts.instructions[at]
        op = OPCODES[number]
        found: list[tuple[int, bool]] = []
        if op.flow not in ("jump", "stop"):
            found.append((at + 1, False))
        if op.kind is k.LABEL:
            found.append((self.facts.index_of[operand], True))
        elif at in self.handlers:
            found.append((self.handlers[at], True))
        return found

    def thread(self, target: int, taken: bool) -> tuple[int, bool]:
        """Where control comes to behind jumps that do nothing else; they cost fuel, so only where that is not counted."""
        for _ in range(8):
            _, number, operand = self.facts.instructions[target]
            outside = self.within is not None and target not in self.within
            if not self.threaded or OPCODES[number].flow != "jump" or outside:
                break
            target = self.facts.index_of[operand]
        return target, taken

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
        for start in self.sequence[1:]:
            blocks[blocks[start].idom].children.append(start)

    def _meet(self, one: int, other: int) -> int:
        blocks = self.blocks
        while one != other:
            while blocks[one].order > blocks[other].order:
                one = blocks[one].idom
            while blocks[other].order > blocks[one].order:
                other = blocks[other].idom
        return one

    def dominates(self, one: int, other: int) -> bool:
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
        """The blocks on a way from the end of one that dominates another to the beginning of that."""
        seen = {parent}
        pending = list(self.blocks[start].preds)
        while pending:
            block = pending.pop()
            if block not in seen:
                seen.add(block)
                pending += self.blocks[block].preds
        return seen - {parent}

    def numbers(self, blocks: set[int]) -> set[int]:
        """The opcodes of blocks."""
        return {self.facts.instructions[at][1] for start in blocks for at in range(start, self.blocks[start].end)}

    def stored(self, start: int) -> frozenset[int]:
        """The locals that a block assigns, or owns."""
        if start not in self._stored:
            span = self.facts.instructions[start : self.blocks[start].end]
            self._stored[start] = frozenset(operand for _, number, operand in span if number in STORES)
        return self._stored[start]

    def is_merge(self, start: int) -> bool:
        """Whether control comes to it from more than one place, back edges not counted."""
        block = self.blocks[start]
        forward = [pred for pred in block.preds if self.blocks[pred].order < block.order]
        return len(forward) > 1

    def loops(self) -> list[int]:
        return [start for start in self.sequence if self.blocks[start].body]
