"""Loops as `for` and `while`: what stands before them, the look at the stop flag, and where they go on (V-7.2).

A `for` walks an iterator, or a range in place of a loop that counts. Hands on `Loops`. Must not know: what opcodes compute.
"""

from __future__ import annotations

from ..bytecode.opcodes import BY_NAME, OPCODES
from .blocks import Frame, Shaper
from .stack import Entry, slot_of
from .text import Branch, Line, Loop

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .facts import Facts
    from .stack import Limit

NEXT, STORE, ITERATE = (BY_NAME[name].number for name in ("NEXT", "STORE", "ITERATE"))
MOST_ROUNDS = 100  # of a walk over constants that is done before the stop flag is looked at again
CALLING = frozenset(op.number for op in OPCODES if op.name.startswith("CALL") and op.name != "CALL_BUILTIN")


class Loops(Shaper):
    """`asked`: arrays that have been asked before the loop whether they are shared, and the loop that their list is kept in."""

    asked: frozenset[tuple[str, int]] = frozenset()

    def loop(self, start: int, inside: list[int]) -> None:
        walk = self.instructions[start][1] == NEXT
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
        if alone and number == STORE and following + 1 < (block.end if block else 0):
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
        whiles = [head for head in inner if self.instructions[head][1] != NEXT and head not in self.counting]
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
