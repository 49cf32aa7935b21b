"""Patterns ready for use: search, in time linear in the text where the pattern allows it (G-9.5).

Hands on `compile_pattern`, `Regex` and `BudgetSpent` to the built-ins of `std::regex`. The automaton finds where a match stands;
`Backtracker` then finds its groups between the two ends. Patterns with lookaround or back references go to the backtracker alone,
under its budget of steps. With long texts, what ends the run (P102 for its time, P103 for its memory, or what the host has set:
`values/metering.py`) comes out of every search. What a match is for the program, and how a text is replaced, is for the
built-ins.
"""

from __future__ import annotations

from _thread import _local

from ..values.metering import STRIDE, look
from .automaton import Automaton
from .program import (
    AGAIN,
    ASSERT,
    BACKREF,
    CHAR,
    ENTER,
    JUMP,
    LOOK,
    MATCH,
    SAVE,
    SET,
    SPLIT,
    Subject,
    compile_backward,
    compile_forward,
)
from .syntax import CharSet, fold, parse_pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from .program import Program
    from .short import ShortTexts
    from .syntax import Answers, Node


# ----------------------------------------------------------------
# Matching by trying alternatives in order: what finds groups, and what lookaround and back references need.
#
# With `memory` the `Backtracker` remembers where a choice failed and never tries it again there, which makes it linear in the
# text; a pattern with lookaround or back references cannot, and runs under a step budget (G-9.5).

CHUNK_BITS = 6  # choices of which one number says which have failed
CHUNK = 1 << CHUNK_BITS
# What costs a step: so many characters of a back reference, compared as they are or without regard to case, and so many sets that
# are asked whether a match may begin.
COMPARED = 64
FOLDED = 4
SETS = 16
FAILED = -1  # on the stack above the number of a choice: both of its sides were tried


class BudgetSpent(Exception):
    """The step budget of a pattern with lookaround or back references is used up (G-9.5)."""


class Backtracker:
    """One program, of `size` instructions, on one text (`subject`). `slots`: start and end of the match and of each group, -1 for
    a group that took no part; the list of the caller is the one that is filled. Without `memory` its methods raise BudgetSpent
    after so many `steps`. `limit`: the position behind the last character that a match may take. `pace` counts the work of runs
    that have ended, in instructions, since the last look.

    A choice on the stack is one number: (position * loop states + loop bits) * instructions + instruction.
    """

    __slots__ = ("program", "subject", "slots", "stack", "steps", "memory", "limit", "size", "states", "bits", "pace")

    def __init__(self, program: Program, subject: Subject, slots: list[int], memory: bool, steps: int = 0) -> None:
        self.program = program
        self.subject = subject
        self.slots = slots
        self.stack: list[int] = []
        self.steps = steps
        self.memory: dict[int, int] | None = {} if memory else None
        self.limit = len(subject.text)
        self.size = len(program.code)
        self.states = 1 << program.loops
        self.bits = self.states - 1
        self.pace = 0

    def match_at(self, at: int) -> int:
        """Return the end of the match that begins at `at`, -1 when there is none; `slots` then has its groups."""
        self.slots[:] = [-1] * len(self.slots)
        return self.run(at)

    def run(self, at: int) -> int:
        """As `match_at`, without clearing `slots`: lookarounds share them."""
        code, text, slots, stack = self.program.code, self.subject.text, self.slots, self.stack
        base = len(stack)
        pc = pace = 0
        bits = self.bits  # that of a loop is set outside of it
        while True:
            pace += 1
            if pace % STRIDE == 0:
                look()
            operation, first, second = code[pc]
            if operation <= SET:
                if at < self.limit and (text[at] == first if operation == CHAR else first.has(text[at])):
                    at += 1
                    pc += 1
                    bits = self.bits  # every loop has taken a character now
                    continue
            elif operation == SPLIT:
                if self.choose(pc, at, bits, second):
                    pc = first
                    continue
            elif operation == SAVE:
                stack += (slots[first], -2 - first)  # for `back`, which restores the slot
                slots[first] = at
                pc += 1
                continue
            elif operation == MATCH:
                del stack[base:]  # a lookaround is tried once: its other choices are dropped
                self.works(pace % STRIDE)
                return at
            else:
                state = self.other(operation, first, second, pc, at, bits)
                if state is not None:
                    pc, at, bits = state
                    continue
            alternative = self.back(base)
            if alternative < 0:
                self.works(pace % STRIDE)
                return -1
            rest, pc = divmod(alternative, self.size)
            at, bits = divmod(rest, self.states)

    def works(self, instructions: int) -> None:
        """Count work that takes as long as so many instructions, and look when it is time."""
        self.pace += instructions
        if self.pace >= STRIDE:
            self.pace = 0
            look()

    def spends(self, steps: int) -> None:
        """Count steps and their work. Raises BudgetSpent."""
        self.steps -= steps
        if self.steps < 0 and self.memory is None:
            raise BudgetSpent
        self.works(steps)

    def choose(self, pc: int, at: int, bits: int, later: int) -> bool:
        """Put the second side of a choice on the stack for later; return False when the choice is known to fail. Raises
        BudgetSpent."""
        here = (at * self.states + bits) * self.size
        memory = self.memory
        if memory is None:
            self.steps -= 1
            if self.steps < 0:
                raise BudgetSpent
        else:
            choice = here + pc
            if memory.get(choice >> CHUNK_BITS, 0) >> (choice & CHUNK - 1) & 1:
                return False
            self.stack += (choice, FAILED)
        self.stack.append(here + later)
        return True

    def back(self, base: int) -> int:
        """Undo what was done since the last choice with a side left, take it from the stack and return it; -1 without one."""
        stack = self.stack
        while len(stack) > base:
            top = stack.pop()
            if top >= 0:
                return top
            below = stack.pop()
            if top == FAILED:
                self.remember(below)
            else:
                self.slots[-2 - top] = below
        return -1

    def remember(self, choice: int) -> None:
        """Enter a choice of which both sides have failed."""
        memory = self.memory
        assert memory is not None
        chunk = choice >> CHUNK_BITS
        memory[chunk] = memory.get(chunk, 0) | 1 << (choice & CHUNK - 1)

    def other(
        self, operation: int, first: Any, second: Any, pc: int, at: int, bits: int
    ) -> tuple[int, int, int] | None:
        """Do one of the rarer operations; return where the walk continues, (instruction, position, loop bits), None when it
        fails. Raises BudgetSpent."""
        if operation == JUMP:
            return first, at, bits
        if operation == ASSERT:
            return (pc + 1, at, bits) if self.subject.holds(first, at) else None
        if operation == ENTER:
            return pc + 1, at, bits & ~(1 << first)
        if operation == AGAIN:
            if not bits >> first & 1:
                return second[2], at, bits | 1 << first
            return (second[0], at, bits) if self.choose(pc, at, bits, second[1]) else None
        if operation == LOOK:
            return (pc + 1, at, bits) if self.look(at, *second) else None
        assert operation == BACKREF
        return self.backref(first, second, pc, at, bits)

    def look(self, at: int, program: Program, ahead: bool, negative: bool, width: int) -> bool:
        """Return whether a lookaround holds before position `at`. It is tried once: groups that it set stay set, except those of
        a negative one. `width`: how many characters before `at` it begins."""
        start = at - width
        before = self.slots.copy()
        inner = Backtracker(program, self.subject, self.slots, False, self.steps)
        inner.pace = self.pace
        matched = start >= 0 and inner.run(start) >= 0
        self.steps = inner.steps
        self.pace = inner.pace
        self.spends(1)
        if matched and not negative:
            for slot, old in enumerate(before):
                if self.slots[slot] != old:
                    self.stack += (old, -2 - slot)
        else:
            self.slots[:] = before
        return matched != negative

    def backref(self, number: int, folds: bool, pc: int, at: int, bits: int) -> tuple[int, int, int] | None:
        """Return where the walk continues behind a repetition of a group's text, None when another text stands here."""
        start, end = self.slots[2 * number : 2 * number + 2]
        self.spends(1)
        if start < 0 or end < 0 or at + end - start > len(self.subject.text):
            return None
        length = end - start
        self.spends(length // COMPARED)
        wanted = self.subject.text[start:end]
        candidate = self.subject.text[at : at + length]
        if wanted != candidate and not (folds and self.folded_equal(wanted, candidate)):
            return None
        return pc + 1, at + length, self.bits if length else bits

    def folded_equal(self, wanted: str, candidate: str) -> bool:
        """Return whether two texts of one length differ in case only. Raises BudgetSpent."""
        for position in range(0, len(wanted), COMPARED):
            folded = list(map(fold, wanted[position : position + COMPARED]))
            self.spends(len(folded) // FOLDED)
            if folded != list(map(fold, candidate[position : position + COMPARED])):
                return False
        return True


# The patterns that a thread keeps, and what they weigh together (`Regex.weigh`).
MOST_REMEMBERED = 64
MOST_WEIGHT = 100_000
# How many times over the automaton may read a text for all matches, before the memory of failures takes over.
MOST_READINGS = 8
LEAST_WORK = 4096
UNTIL_SHORT = 16  # searches, after which a pattern is worth compiling for short texts
# The step budget of patterns with lookaround or back references (G-9.5).
LEAST_STEPS = 100_000
STEPS_PER_CHARACTER = 16


class _Thread(_local):
    """The recent patterns of one thread, by their text, the latest last, and the sum of their `weight`. Sessions of a process may
    run side by side, and a search makes states of its pattern."""

    def __init__(self) -> None:
        self.recent: dict[str, Regex] = {}
        self.weight = 0


_thread = _Thread()


def compile_pattern(source: str) -> Regex:
    """Return the compiled pattern; the recent ones of this thread are cached, and no other thread may use what it returns. Raises
    PatternError for text that is no pattern, or one beyond a limit; with a long pattern also what ends the run."""
    recent = _thread.recent
    if recent:  # only the latest has grown since the last call
        name = next(reversed(recent))
        latest = recent[name]
        if latest.grows:
            before, latest.weight = latest.weight, latest.weigh()
            _thread.weight += latest.weight - before
            latest.grows = False
        if name == source and _thread.weight <= MOST_WEIGHT:
            return latest
    regex = recent.pop(source, None) or Regex(source)
    recent[source] = regex
    while len(recent) > MOST_REMEMBERED or (_thread.weight > MOST_WEIGHT and len(recent) > 1):
        _thread.weight -= recent.pop(next(iter(recent))).drop()
    return regex


class Regex:
    """A compiled pattern. A match is a list of positions in characters: start, end, then start and end of each group, -1 for
    none. Searching with lookaround or back references raises BudgetSpent when it takes too many steps. The constructor raises
    PatternError. A search adds to the states of the automata, so only one thread at a time may use an object. `groups`: how many
    the pattern has; `names` has the numbers, from 1, of named groups; `first` knows the characters that a match may begin with,
    None where that is no help. `program`: its instructions; `answers`: what its sets keep; `weight`: what `weigh` last gave;
    `grows`: a search may have added to it since; `forward` and `backward`: the automata, only of a `linear` program. `short`:
    what searches short texts, made of the `tree` after so many `searches` and only where Python's `re` means the same."""

    __slots__ = (
        "groups", "names", "answers", "program", "forward", "backward", "first", "weight", "grows", "tree", "searches", "short",
    )  # fmt: skip

    def __init__(self, source: str) -> None:
        pattern = parse_pattern(source)
        self.tree: Node = pattern.tree
        self.searches = 0
        self.grows = True
        self.short: ShortTexts | None = None
        self.groups = pattern.groups
        self.names = pattern.names
        self.answers = pattern.answers
        self.program = compile_forward(pattern.tree)
        self.weight = 0
        tests = self.program.first_tests()
        self.first = None if tests is None else FirstCharacters(tests, self.answers)
        if self.program.linear:
            self.forward = Automaton(self.program)
            self.backward = Automaton(compile_backward(pattern.tree), backward=True)

    def is_match(self, text: str) -> bool:
        """Return whether the text has a match anywhere. Raises as `find`."""
        short = self.short_for(text)
        if short is not None:
            return short.search(text) is not None
        if self.program.linear:
            return self.forward.finds(self.subject(text))
        return self.find(text) is not None

    def find(self, text: str) -> list[int] | None:
        """Return the first match, None when there is none. Raises BudgetSpent, only with lookaround or back references."""
        short = self.short_for(text)
        if short is not None:
            return short.next(text, 0)
        return self.search(text).next(0)

    def texts(self, text: str) -> list[str | None] | None:
        """Return the text of the first match and of its groups, None for one that took no part. Raises as `find`."""
        short = self.short_for(text)
        if short is not None:
            return short.texts(text)
        spans = self.search(text).next(0)
        if spans is None:
            return None
        places = iter(spans)
        return [None if start < 0 or end < 0 else text[start:end] for start, end in zip(places, places, strict=True)]

    def search(self, text: str) -> Linear | Budgeted:
        """Return a search of a text that is not for Python's `re`."""
        return Linear(self, text) if self.program.linear else Budgeted(self, text)

    def find_all(self, text: str) -> Iterator[list[int]]:
        """Yield the matches from left to right, not overlapping; behind an empty one the search begins a character later. Raises
        as `find`."""
        search: Short | Linear | Budgeted
        short = self.short_for(text)
        search = self.search(text) if short is None else Short(short, text)
        at = 0
        while at <= len(text):
            spans = search.next(at)
            if spans is None:
                return
            yield spans
            at = spans[1] + (spans[0] == spans[1])

    def short_for(self, text: str) -> ShortTexts | None:
        """Return what searches a short text, once the pattern was searched for often; None where the text is too long for it, or
        the pattern not for Python."""
        if self.short is None:
            self.grows = True
            if self.searches > UNTIL_SHORT or not self.program.linear:
                return None
            self.searches += 1
            if self.searches <= UNTIL_SHORT:
                return None
            from .short import ShortTexts, Unfit

            try:
                self.short = ShortTexts(self.tree)
            except Unfit:
                return None
        if self.short.takes(text):
            return self.short
        self.grows = True
        return None

    def subject(self, text: str) -> Subject:
        """Return a text as the matchers of this pattern read it."""
        return Subject(text, self.program.final)

    def slots(self) -> list[int]:
        """Return the slots of a `Backtracker` before a match: a new list."""
        return [-1] * (2 * self.groups + 2)

    def weigh(self) -> int:
        """Return what the pattern keeps, in steps of an automaton, about."""
        kept = self.answers.count // 8
        if self.program.linear:
            for automaton in (self.forward, self.backward):
                kept += automaton.remembered + automaton.walks // 16
        return kept

    def drop(self) -> int:
        """Drop the states of the automata, which else stay until Python's collector comes; return the `weight` until now."""
        if self.program.linear:
            self.forward.forget()
            self.backward.forget()
        return self.weight


class FirstCharacters:
    """The characters that a match may begin with: those of `tests`, which are characters and sets, put together in `sets`.
    `cost`: of a question, in steps."""

    __slots__ = ("sets", "cost")

    def __init__(self, tests: list[Any], answers: Answers) -> None:
        plain, folding = CharSet(answers), CharSet(answers, folds=True)
        self.sets = [plain, folding]
        known = {id(test) for test in self.sets}
        for test in tests:
            if type(test) is str:
                plain.singles.add(test)
            elif id(test) not in known:
                known.add(id(test))
                if test.negated:
                    self.sets.append(test)
                else:
                    (folding if test.folds else plain).add_all(test)
        self.cost = len(self.sets) // SETS

    def has(self, sign: str) -> bool:
        """Return whether a match may begin with a character."""
        return any(one.has(sign) for one in self.sets)


class Budgeted:
    """The search of the backtracker: each start in turn. What it may spend grows with the characters behind it, so a long text is
    no reason to fail, but one place is. With `memory`, failures are remembered from one start to the next instead, and no budget
    ends it. `furthest`: the last start whose characters have been added to the budget."""

    __slots__ = ("regex", "text", "furthest", "backtracker")

    def __init__(self, regex: Regex, text: str, memory: bool = False) -> None:
        self.regex = regex
        self.text = text
        self.furthest = 0
        self.backtracker = Backtracker(regex.program, regex.subject(text), regex.slots(), memory, LEAST_STEPS)

    def next(self, at: int) -> list[int] | None:
        """Return the first match at or after a position, None when there is none. Raises BudgetSpent."""
        text, first = self.text, self.regex.first
        for start in range(at, len(text) + 1):
            if start % STRIDE == 0:
                look()
            self.backtracker.steps += STEPS_PER_CHARACTER * (start - self.furthest)
            self.furthest = start
            if first is not None:
                if first.cost:
                    self.backtracker.spends(first.cost)
                if start == len(text) or not first.has(text[start]):
                    continue
            if self.backtracker.match_at(start) >= 0:
                return self.backtracker.slots.copy()
        return None


class Short:
    """The search of a short text by Python's `re`."""

    __slots__ = ("short", "text")

    def __init__(self, short: ShortTexts, text: str) -> None:
        self.short = short
        self.text = text

    def next(self, at: int) -> list[int] | None:
        """Return the first match at or after a position, None when there is none."""
        return self.short.next(self.text, at)


class Linear:
    """The search of the automaton. A text on which each match needs a look far ahead would be read over and over (quadratic
    time); when that shows, a search by a `Backtracker` that remembers its failures, `other`, takes over. `work`: how many
    characters have been read."""

    __slots__ = ("regex", "subject", "work", "other")

    def __init__(self, regex: Regex, text: str) -> None:
        self.regex = regex
        self.subject = regex.subject(text)
        self.work = 0
        self.other: Budgeted | None = None

    def next(self, at: int) -> list[int] | None:
        """Return the first match at or after a position, None when there is none."""
        if self.other is None and self.work > LEAST_WORK + MOST_READINGS * len(self.subject.text):
            self.other = Budgeted(self.regex, self.subject.text, memory=True)
        if self.other is not None:
            return self.other.next(at)
        forward = self.regex.forward
        end = forward.end_of_first(self.subject, at)
        if end < 0:
            return None
        start = self.regex.backward.start_of(self.subject, end, at)
        self.work += forward.read_to - start
        return self.with_groups(start, end) if self.regex.groups else [start, end]

    def with_groups(self, start: int, end: int) -> list[int]:
        """Return the match from `start` to `end` with its groups. No better walk leads beyond its end, so none need look
        there."""
        inner = Backtracker(self.regex.program, self.subject, self.regex.slots(), memory=True)
        inner.limit = end
        matched_end = inner.match_at(start)
        assert matched_end == end
        return inner.slots
