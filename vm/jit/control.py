"""Blocks and jumps of one function, or of one loop of it, as nested `while`, `for` and `if` (V-7.2).

The dominator tree says what nests in what. A block that several paths come to stands behind the construct they are in; a path
that must pass by one such block to get to a later one says so in `g`. Hands on `Shaper`. Must not know: what opcodes compute.
"""

from __future__ import annotations

from ..bytecode import image as im
from ..bytecode.opcodes import BY_NAME, OPCODES
from .calls import Calls
from .facts import QUIET, Entry, Facts, canonical_stack, slot_of
from .flow import ENDS, STORES, Flow, Unshaped
from .text import Branch, Line, Loop

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .facts import Limit
    from .text import Statement


# ----------------------------------------------------------------
# Loops `while i < n { …; i += k; }` in which nothing else assigns `i`, `n` or `k`: Python walks a range for them (V-7.2).
#
# Hands on `Counting` and `counting`. Whether the step is positive is for who knows the values.

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


# ----------------------------------------------------------------

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


# ----------------------------------------------------------------
# Loops as `for` and `while`: what stands before them, the look at the stop flag, and where they go on (V-7.2).
#
# A `for` walks an iterator, or a range in place of a loop that counts. Hands on `Loops`.

NEXT_FORMS, STORE_FORMS, ITERATE = (BY_NAME[name].number for name in ("NEXT", "STORE", "ITERATE"))
MOST_ROUNDS = 100  # of a walk over constants that is done before the stop flag is looked at again
CALLING = frozenset(op.number for op in OPCODES if op.name.startswith("CALL") and op.name != "CALL_BUILTIN")


class Loops(Shaper):
    """`asked`: arrays that have been asked before the loop whether they are shared, and the loop that their list is kept in."""

    asked: frozenset[tuple[str, int]] = frozenset()

    def loop(self, start: int, inside: list[int]) -> None:
        walk = self.instructions[start][1] == NEXT_FORMS
        frame = Frame(start, True)
        self.frames.append(frame)
        iterator = self.flow.facts.depths[start] - 1
        statement = Loop(f"for v{iterator} in s{iterator}:" if walk else "while True:")
        opened = self.open_lists(start)
        roomy, asked = self.roomy, self.asked
        counts = self.counted(start)
        if walk:
            self.make_room(start, iterator)
        if walk or counts:
            self.ask_before(start, iterator if walk else -1)
        before, self.out = self.out, statement.body
        if walk:
            exhausted = self.walk(start, statement, inside, iterator)
        elif counts:
            self.count(start, frame, statement, inside)
        else:
            self.enter_canonical(start)
            self.poll(start, start)
            self.within(start, inside)
            exhausted = -1
        self.out = before
        self.out.append(statement)
        self.frames.pop()
        self.lists, self.roomy, self.asked = opened, roomy, asked
        if walk:
            self.exhausted(frame, statement, exhausted, iterator)
        self.after_loop(frame)

    def counted(self, start: int) -> bool:
        """Whether a loop counts up in steps that are known to be positive."""
        loop = self.counting.get(start)
        if loop is None:
            return False
        self.enter_canonical(start)
        step = None if loop.fixed else self.local(loop.step)
        least = loop.step if step is None else step.low
        return self.local(loop.slot).kind[0] == "int" and least is not None and least > 0

    def count(self, start: int, frame: Frame, statement: Loop, inside: list[int]) -> None:
        """The body of a loop that counts. The range ends where the condition does; the step behind the last round is then still
        to be made."""
        loop, last = self.counting[start], start + 3
        self.frames += [Frame(join, False) for join in reversed(inside)]
        self.enter_canonical(start)
        self.step(start)
        self.step(start + 1)
        limit, name = self.stack[-1].text, f"l{loop.slot}"
        step = str(loop.step) if loop.fixed else f"l{loop.step}"
        statement.head = f"for {name} in range({name}, {limit}{' + 1' * loop.inclusive}, {step}):"
        self.step(start + 2)
        self.ends[start] = self.facts.copy()
        self.facts.opened |= self.asked
        condition, yes, no = self.condition(last, self.flow.blocks[start].succs)
        facts = self.learned(self.facts, condition.if_true, condition.less_true)
        self.poll(start, start)
        self.facts = facts
        self.advancing |= {loop.advance}
        self.go(yes[0], start, yes[1])
        for join in inside:
            self.behind(join)
        self.out = statement.otherwise
        self.enter_canonical(start)
        for position, entry in enumerate(self.stack):
            self.store((no[0], position), entry)
        ahead, line = Branch(condition.text), Line()
        ahead.yes.append(f"{name} = {name} + {step}")
        self.out += [ahead, line]
        frame.exits.setdefault(no[0], []).append(line)

    def open_lists(self, start: int) -> dict[str, int]:
        """Put the lists of arrays into variables for all of a loop; gives those that were there before."""
        before = self.lists
        self.enter_canonical(start)
        for slot, written in self.storage.kept(self.flow, self.flow.blocks[start].body).items():
            if f"l{slot}" not in before and self.local(slot).kind[0] in ("array", "map"):
                self.lists = {**self.lists, f"l{slot}": start}
                self.out.append(f"a{slot} = l{slot}.items")
                if written:
                    self.out.append(f"b{slot} = None")
        return before

    def make_room(self, start: int, iterator: int) -> None:
        """Before a walk whose length Python can tell: whether an array is not shared, and has room for what the rounds put in.
        An array that a loop inside puts something into is left to that."""
        body = self.flow.blocks[start].body
        nested = [self.flow.blocks[head].body for head in self.flow.loops() if head in body and head != start]
        own = body.difference(*nested)
        for slot, written in self.storage.kept(self.flow, body).items():
            word = self.local(slot).kind[0]
            inside = any(self.storage.growing(self.flow, inner, slot, word) for inner in nested)
            growing = self.storage.growing(self.flow, own, slot, word)
            if written and growing and not inside and f"l{slot}" in self.lists:
                self.roomy = {**self.roomy, f"l{slot}": growing}
                times = f"{len(growing)} * " if len(growing) > 1 else ""
                room = f"len(a{slot}) + {times}s{iterator}.__length_hint__() <= M"
                self.out.append(f"m{slot} = not l{slot}.shared and type(s{iterator}) in WALKS and {room}")

    def ask_before(self, start: int, iterator: int) -> None:
        """What every round of a loop writes to is asked before it, if it has a round, whether it is shared."""
        body = self.flow.blocks[start].body
        always = [block for block in body if all(self.flow.dominates(block, tail) for tail in self.tails(start))]
        self.asked = frozenset()
        for name, loop in self.lists.items():
            slot = slot_of(name)
            written = [at for at, use in self.storage.uses.get(slot, {}).items() if use == 2]
            every = any(block <= at < self.flow.blocks[block].end for at in written for block in always)
            if every and name not in self.roomy and (name, loop) not in self.facts.opened:
                some = self.some_round(start, iterator)
                asking, copied = Branch(f"b{slot} is None and (not {name}.shared or {some})"), Branch(f"{name}.shared")
                copied.yes.append(f"{name} = {self.copying(self.local(slot).kind)}({name})")
                asking.yes += [copied, f"a{slot} = b{slot} = {name}.items"]
                self.out.append(asking)
                self.asked |= {(name, loop)}

    def some_round(self, start: int, iterator: int) -> str:
        if iterator >= 0:
            return f"type(s{iterator}) not in WALKS or s{iterator}.__length_hint__()"
        self.step(start)
        self.step(start + 1)
        limit, counts = self.pop(), self.pop()
        return f"{counts.text} {'<=' if self.counting[start].inclusive else '<'} {limit.text}"

    def tails(self, start: int) -> list[int]:
        """The blocks that go back to the head of a loop."""
        return [tail for tail in self.flow.blocks[start].preds if tail in self.flow.blocks[start].body]

    def walk(self, start: int, statement: Loop, inside: list[int], iterator: int) -> int:
        """The body of a `for`; gives the index where it goes on when there are no more elements."""
        taken = self.flow.blocks[start].succs[1][0]
        self.frames += [Frame(join, False) for join in reversed(inside)]
        self.enter_canonical(start)
        self.ends[start] = self.facts.copy()
        self.facts.opened |= self.asked
        following = start + 1
        block = self.flow.blocks.get(following)
        alone = block is not None and not self.flow.is_merge(following) and not block.body
        at, number, operand = self.instructions[following]
        if alone and number == STORE_FORMS and following + 1 < (block.end if block else 0):
            statement.head = f"for l{operand} in s{iterator}:"
            self.store(operand, self.walked.get(iterator, Entry("")))
            self.assigned_here(operand, self.walked.get(iterator, Entry("")))
            self.below_end(start, operand, self.walked.get(iterator, Entry("")))
            self.skip = following
        else:
            known = self.walked.get(iterator, Entry(""))
            self.stack.append(Entry(f"v{iterator}", known.kind, low=known.low, high=known.high))
        self.poll(self.skip + 1 if self.skip == following else following, start, iterator)
        if self.skip == following:
            self.go(following, start)
        else:
            self.go(self.flow.blocks[start].succs[0][0], start)
        for join in inside:
            self.behind(join)
        return taken

    def below_end(self, start: int, slot: int, element: Entry) -> None:
        """The element of a range is less than its end, as long as neither is assigned."""
        end = slot_of(element.below)
        body = self.flow.blocks[start].body
        if end >= 0 and self.instructions[start - 1][1] == ITERATE and not any(end in self.flow.stored(block) for block in body):
            self.facts.less |= {(f"l{slot}", element.below)}
            if element.low is not None:
                self.learn([(end, element.low + 1, None, None, None)])

    def asked_inside(self, start: int, iterator: int) -> bool:
        """Whether a loop need not look at the stop flag: one inside, which every round comes to, does, or it is soon over."""
        blocks = self.flow.blocks
        body = blocks[start].body
        inner = [head for head in self.flow.loops() if head in body and head != start]
        rounds = self.walked[iterator].length if iterator in self.walked and self.instructions[start - 1][1] == ITERATE else None
        if rounds is not None and rounds <= MOST_ROUNDS and not inner:
            return CALLING.isdisjoint(self.flow.numbers(set(body)))
        whiles = [head for head in inner if self.instructions[head][1] != NEXT_FORMS and head not in self.counting]
        always = [head for head in whiles if all(self.flow.dominates(head, tail) for tail in self.tails(start))]
        return any(not self.asked_inside(head, -1) for head in always)

    def poll(self, index: int, start: int, iterator: int = -1) -> None:
        """At the head of a loop: the stop flag, and what fuel was counted."""
        if not self.metered and self.asked_inside(start, iterator):
            return
        site = f"{self.place(index, self.stack)}raise Leave"
        stop = Branch("S")
        stop.yes.append(site)
        if self.metered:
            paying = Branch("n > 4096")
            paying.yes += ["F[0] -= n", "n = 0"]
            low = Branch("F[0] < LOW")
            low.yes.append(site)
            paying.yes.append(low)
            self.out.append(paying)
        self.out.append(stop)

    def exhausted(self, frame: Frame, statement: Loop, target: int, iterator: int) -> None:
        line = Line()
        before, self.out = self.out, statement.otherwise
        self.charge(self.costs[target])
        self.enter_canonical(frame.to)
        self.pop()
        for position, entry in enumerate(self.stack):
            self.store((target, position), entry)
        self.out.append(line)
        self.out = before
        frame.exits.setdefault(target, []).append(line)

    def after_loop(self, frame: Frame) -> None:
        """Behind a loop: on to where its exits go."""
        targets = sorted(frame.exits)
        if len(targets) == 1:
            self.enter_canonical(targets[0])
            self.jump(targets[0])
            return
        self.uses_g = self.uses_g or bool(targets)
        before, branches = self.out, []
        for target in targets:
            for line in frame.exits[target]:
                line.text = f"g = {target + 1}"
            branch = Branch(f"g == {target + 1}")
            self.out = branch.yes
            self.out.append("g = 0")
            self.enter_canonical(target)
            self.jump(target)
            branches.append(branch)
        for branch, following in zip(branches, branches[1:], strict=False):
            branch.no.append(following)
        self.out = before
        self.out += branches[:1]

    def condition(self, last: int, succs: list[tuple[int, bool]]) -> tuple[Entry, tuple[int, bool], tuple[int, bool]]:
        raise NotImplementedError

    def learned(self, facts: Facts, limits: tuple[Limit, ...], less: tuple[tuple[str, str], ...]) -> Facts:
        raise NotImplementedError
