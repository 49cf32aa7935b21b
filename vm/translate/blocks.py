"""Blocks and jumps of one function, or of one loop of it, as nested `while`, `for` and `if` (V-7.2).

The dominator tree says what nests in what. A block that several paths come to stands behind the construct they are in; a path
that must pass by one such block to get to a later one says so in `g`. Hands on `Shaper`. Must not know: what opcodes compute.
"""

from __future__ import annotations

from ..bytecode.opcodes import BY_NAME, OPCODES
from .calls import Calls
from .counting import counting
from .facts import QUIET, Facts
from .flow import ENDS, Flow, Unshaped
from .stack import Entry, canonical_stack
from .text import Branch, Line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .text import Statement

NEXT = BY_NAME["NEXT"].number
SHORT = 12  # instructions that stand in a loop though they come behind it
DEEPEST = 150  # blocks nested in one another


class Frame:
    """What control may go on to from inside a construct. A join: the block `to` stands behind it; `passed`: paths go by it;
    `far`:
    paths come to it that go by others. A loop: `to` is its head; `exits`: places that break out of it, by where they go."""

    __slots__ = ("to", "loop", "passed", "far", "exits")

    def __init__(self, to: int, loop: bool) -> None:
        self.to = to
        self.loop = loop
        self.passed = False
        self.far = False
        self.exits: dict[int, list[Line]] = {}


class Shaper(Calls):
    flow: Flow
    costs: list[int]
    skip = -1  # an instruction that the head of a `for` has done
    walked: dict[int, Entry]  # what is known of the elements of the iterator at a stack position

    def shape(self, flow: Flow, costs: list[int]) -> list[Statement]:
        """The statements from the root of `flow` on."""
        self.flow = flow
        self.costs = costs
        self.frames: list[Frame] = []
        self.uses_g = False
        self.level = 0
        self.instructions = flow.facts.instructions
        self.counting = {} if self.metered else counting(flow, self.image)
        self.ends: dict[int, Facts] = {}  # what is known at the end of a block, before it branches
        self.joins = self._joins()
        self.merged: dict[int, list[int]] = {}  # blocks whose conditions have joined that of another
        body: list[Statement] = []
        self.out = body
        self.node(flow.root)
        if self.uses_g:
            body.insert(0, "g = 0")
        return body

    def repeated(self) -> bool:
        blocks = self.flow.blocks
        within = [blocks[start] for head in self.flow.loops() for start in blocks[head].body]
        return any(block.start <= self.at < block.end for block in within)

    # ------------------------------------------------------------ what stands where

    def _joins(self) -> dict[int, list[int]]:
        """The blocks that stand behind the construct of another, in order, by that one: where paths join, and what comes behind a
        loop."""
        found: dict[int, list[int]] = {}
        blocks = self.flow.blocks
        loops = [blocks[head] for head in self.flow.loops()]
        for start in self.flow.sequence[1:]:
            block = blocks[start]
            parent, ended = block.idom, False
            for loop in loops:  # outermost first
                if parent in loop.body and start not in loop.body:
                    walk = self.instructions[parent][1] == NEXT or parent in self.counting
                    around = min([other.body for other in loops if parent in other.body], key=len)
                    ended = walk or not self.short(start) or not around.issuperset(block.preds)
                    if ended:
                        parent = loop.start
                    break
            if ended or self.flow.is_merge(start):
                found.setdefault(parent, []).append(start)
        return found

    def short(self, start: int) -> bool:
        """Whether what comes behind a loop is done before it ends: where control ends there, or a few instructions lead to where
        others come to as well."""
        block = self.flow.blocks[start]
        if not block.succs:
            return True
        target = block.succs[0][0]
        alone = len(block.succs) == 1 and not block.body and block.end - start <= SHORT
        return alone and not self.metered and (target not in self.flow.blocks or self.flow.is_merge(target))

    def node(self, start: int) -> None:
        """The block, and everything that it dominates."""
        self.level += 1
        if self.level > DEEPEST:
            raise Unshaped("nested too deeply")
        block, lists = self.flow.blocks[start], self.lists
        # in a block that leaves a loop for good, nothing is known of what other variables see
        self.lists = {name: loop for name, loop in lists.items() if start in self.flow.blocks[loop].body}
        joins = self.joins.get(start, [])
        outside = [join for join in joins if block.body and join not in block.body]
        inside = [join for join in joins if join not in outside]
        frames = [Frame(join, False) for join in reversed(outside)]
        self.frames += frames
        if block.body:
            self.loop(start, inside)
        else:
            self.within(start, inside)
        for join in outside:
            self.behind(join)
        self.lists = lists
        self.level -= 1

    def within(self, start: int, inside: list[int]) -> None:
        self.merged[start] = self.combined(start)
        merged = {start, *self.merged[start]}
        for join in [join for join in inside if len(merged) > 1 and merged.issuperset(self.flow.blocks[join].preds)]:
            inside = [other for other in inside if other != join]
            self.joins[start] = [other for other in self.joins[start] if other != join]
        self.frames += [Frame(join, False) for join in reversed(inside)]
        self.block(start)
        for join in inside:
            self.behind(join)

    def behind(self, join: int) -> None:
        """The block of the innermost frame, which control now falls into."""
        frame = self.frames.pop()
        assert frame.to == join and not frame.loop
        self.enter_canonical(join)
        if frame.passed:
            self.uses_g = True
            guard = Branch(f"g == 0 or g == {join + 1}" if frame.far else "g == 0")
            before, self.out = self.out, guard.yes
            if frame.far:
                self.out.append("g = 0")
            self.node(join)
            self.out = before
            self.out.append(guard)
        else:
            if frame.far:
                self.out.append("g = 0")
            self.node(join)

    def enter_canonical(self, start: int) -> None:
        """The stack as a block finds it that several paths come to."""
        self.stack = canonical_stack(self.flow.facts.depths[start])
        self.marked = frozenset()
        parent = self.flow.blocks[start].idom if start in self.flow.blocks else start
        ended = self.ends.get(parent) if parent != start else None
        self.facts = Facts()
        if ended is not None:
            between = self.flow.between(parent, start)
            stored = [slot for block in between for slot in self.flow.stored(block)]
            quiet = between and not self.flow.blocks[start].body and self.flow.numbers(between) <= QUIET
            self.facts = ended.kept(stored) if quiet else ended.limited(stored)
        for position, entry in enumerate(self.stack):
            known = self.known.get((start, position))
            if known is not None:
                entry.kind, entry.low = known.kind, known.low

    def arrive(self, target: int) -> None:
        """The stack is made canonical on the way to a block."""
        for position, entry in enumerate(self.stack):
            self.store((target, position), entry)
        self.canonical()

    # ------------------------------------------------------------ jumps

    def go(self, target: int, source: int, taken: bool = False) -> None:
        """From the block `source` to another, with the stack as it is."""
        if taken:
            if self.metered:
                self.settle()  # where something before the jump fails, what follows has cost nothing
            self.charge(self.costs[target])
        block = self.flow.blocks.get(target)
        if block is None:  # outside what is translated
            self.canonical()
            self.leave(target)
        elif block.idom in (source, *self.merged.get(source, ())) and not self.stands_elsewhere(target):
            if block.body:
                self.arrive(target)
            self.node(target)
        else:
            self.arrive(target)
            self.jump(target)

    def stands_elsewhere(self, target: int) -> bool:
        """Whether it stands behind some construct, or is the head of a loop that control is in."""
        around = any(frame.loop and frame.to == target for frame in self.frames)
        return around or any(target in joins for joins in self.joins.values())

    def jump(self, target: int) -> None:
        """On to a block that stands behind something, or to the head of a loop; the stack is canonical."""
        if target not in self.flow.blocks:
            self.leave(target)
            return
        passed: list[Frame] = []
        for frame in reversed(self.frames):
            if frame.loop:
                if frame.to == target:
                    self.out.append("continue")
                else:
                    line = Line()
                    frame.exits.setdefault(target, []).append(line)
                    self.out += [line, "break"]
                return
            if frame.to == target:
                if passed:
                    self.uses_g = True
                    self.out.append(f"g = {target + 1}")
                    frame.far = True
                    for other in passed:
                        other.passed = True
                return
            passed.append(frame)
        raise Unshaped("a jump to nowhere")

    # ------------------------------------------------------------ blocks

    def block(self, start: int) -> None:
        """The instructions of a block, and where control goes from there."""
        block = self.flow.blocks[start]
        last = block.end - 1
        at = start
        while at < last:
            at = self.step(at)
        self.ends[start] = self.facts.copy()
        if at > last:  # the last one was done with the one before it
            self.ended(start, last)
            return
        self.at = last
        if block.leaves:
            self.leave()
            return
        op = OPCODES[self.instructions[last][1]]
        if op.flow in ENDS or last in self.flow.handlers:
            self.terminator(start, last, op.name, block.succs)
        else:
            self.step(last)
            self.ends[start] = self.facts.copy()
            self.ended(start, last)

    def ended(self, start: int, last: int) -> None:
        self.at = last
        self.go(self.flow.blocks[start].succs[0][0], start)

    def loop(self, start: int, inside: list[int]) -> None:
        raise NotImplementedError

    def step(self, at: int) -> int:
        """Translate an instruction; gives the index of the next one."""
        if at == self.skip:
            return at + 1
        _, number, operand = self.instructions[at]
        self.at = at
        self.operation(number, operand)
        return at + 1

    def operation(self, number: int, operand: int) -> None:
        raise NotImplementedError

    def terminator(self, start: int, last: int, name: str, succs: list[tuple[int, bool]]) -> None:
        raise NotImplementedError

    def combined(self, start: int) -> list[int]:
        """The blocks whose conditions join the condition that this block ends in."""
        return []
