"""A pattern as a finite automaton whose states are made while a text is read: time linear in the text (G-9.5).

Hands on `Automaton` to `matcher.py`: `end_of_first` is where the match ends that a backtracking matcher would find first,
`start_of` where the longest match begins that ends at a position. A state is the list of instructions a walk may stand at, best
first; instructions behind a match are cut off, so that order decides as it does in backtracking.

A walk is a way through the program; it carries one *loop bit* for each loop whose body may be empty, which says whether the
present iteration of that loop has taken a character (`program.py`). An iteration without one ends its loop. Outside of
the loop its bit is set, so that walks that go on alike are one.

A state is a dict from character to next state, so that the loop over a text costs one look-up per character. Steps that find a
match or end the search are not in it: they raise KeyError and are handled outside of the loop. The program that is walked stands
in `program.py`, and which of the two matchers is taken in `matcher.py`. Groups, lookaround and back references are never found
here: they need the other one.
"""

from __future__ import annotations

from itertools import islice

from ..values.metering import BLOCK, STRIDE, look
from .program import AGAIN, ASSERT, CHAR, END, ENTER, FINAL_LINE_END, JUMP, MATCH, SET, SPLIT, START, class_of, holds

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .program import Program, Subject

    State = dict[Any, Any]

# Steps that are kept, and walks of the states that are. A pattern may have exponentially many states, and a state as many walks
# as the pattern has instructions, so at either number all are dropped and made again as needed (the cache of a lazy DFA, as RE2
# has it).
MOST_STEPS = 20_000
MOST_WALKS = 200_000
DEAD = None


class Facts:
    """What a state was made from; it stands in the state's dict under the key None. `walks`: best first; `searching`: a match may
    still begin at a later character; `before`: the class of the symbol read last. `steps`: (next state, whether a match ends
    before the symbol) by symbol."""

    __slots__ = ("walks", "searching", "before", "steps")

    def __init__(self, walks: tuple[int, ...], searching: bool, before: int) -> None:
        self.walks = walks
        self.searching = searching
        self.before = before
        self.steps: dict[Any, tuple[Any, bool]] = {}


class Automaton:
    """The states of one program, which has neither lookaround nor back references. `code`: its instructions; `asserts`: it has
    assertions; `states`: by walks, whether a match may still begin, and class of the symbol before. `backward`: it reads from
    right to left and wants the longest match. `read_to`: how far the last search read. A walk is one number: index of its
    instruction + `size` (the number of instructions) * its loop bits; a match begins with `start`, and `bits` are all loop bits
    set. `remembered` counts the steps that are kept, `walks` the walks of the states that are, `pace` those gone since the last
    look. What ends the run (P102 for its time, P103 for its memory, or what the host has set: `values/metering.py`) comes out of
    the searches; nothing else is raised."""

    __slots__ = ("code", "size", "bits", "start", "asserts", "backward", "states", "remembered", "walks", "pace", "read_to")

    def __init__(self, program: Program, backward: bool = False) -> None:
        self.code = program.code
        self.size = len(program.code)
        self.bits = (1 << program.loops) - 1
        self.start = self.size * self.bits
        self.asserts = program.asserts
        self.backward = backward
        self.states: dict[tuple[Any, ...], State] = {}
        self.remembered = 0
        self.walks = 0
        self.pace = 0
        self.read_to = 0

    # ------------------------------------------------------------ reading

    def finds(self, subject: Subject) -> bool:
        """Return whether the text has a match; reading stops where one is certain."""
        return self.end_of_first(subject, 0, certain=True) >= 0

    def end_of_first(self, subject: Subject, position: int, certain: bool = False) -> int:
        """Return where the first match at or after `position` ends, -1 when there is none; `read_to` is how far it read.
        Positions are in characters, an end is behind the last one. With `certain`, return any end that proves that there is a
        match; `read_to` may be of an earlier search then."""
        body = subject.body
        state = self.state((self.start,), True, class_of(subject.symbol(position - 1)))
        # The loop over characters is Python's own, with one dict look-up each; the iterator tells where a step was missing.
        signs = iter(body)
        signs.__setstate__(position)  # type: ignore[attr-defined]
        while True:
            try:
                for sign in islice(signs, BLOCK):
                    state = state[sign]
                if signs.__length_hint__():  # type: ignore[attr-defined]
                    look()
                    continue
                break
            except KeyError:
                at = len(body) - int(signs.__length_hint__()) - 1  # type: ignore[attr-defined]
            state, matched = self.step(state, body[at])
            if matched and certain:
                return at
            if matched or state is DEAD:
                return self.finish(subject, state, at, at if matched else -1)
        return self.finish(subject, state, max(position, len(body)) - 1, -1)

    def finish(self, subject: Subject, state: Any, at: int, best: int) -> int:
        """Read on behind position `at`, after a match or at the end of the characters, until no walk is left; return the end of
        the match, `best` when no other is found."""
        body = subject.body
        at += 1
        while state is not DEAD and at < len(body):
            if at % STRIDE == 0:
                look()
            sign = body[at]
            step = state[None].steps.get(sign)
            state, matched = step if step is not None else self.step(state, sign)
            if matched:
                best = at
            at += 1
        while state is not DEAD and at <= len(subject.text):
            state, matched = self.step(state, END if at == len(subject.text) else FINAL_LINE_END)
            if matched:
                best = at
            at += 1
        self.read_to = at
        return best

    def start_of(self, subject: Subject, end: int, lowest: int) -> int:
        """Return the smallest start, not below `lowest`, of a match that ends at `end`; `end` itself when no match ends there.
        Positions are in characters."""
        state: Any = self.state((self.start,), False, class_of(subject.symbol(end)))
        smallest = end
        for at in range(end - 1, lowest - 2, -1):
            if at % STRIDE == 0:
                look()
            symbol = subject.symbol(at)
            step = state[None].steps.get(symbol)
            state, matched = step if step is not None else self.step(state, symbol)
            if matched:
                smallest = at + 1
            if state is DEAD:
                break
        return smallest

    # ------------------------------------------------------------ states

    def state(self, walks: tuple[int, ...], searching: bool, before: int) -> State:
        """Return the state of these walks, best first. `searching`: a match may still begin at a later character; `before`:
        the class of the symbol read last, on which assertions depend."""
        if not self.asserts:
            before = 0
        key = (walks, searching, before)
        state = self.states.get(key)
        if state is None:
            state = self.states[key] = {None: Facts(walks, searching, before)}
            self.walks += len(walks)
        return state

    def forget(self) -> None:
        """Drop every state. They lead to one another in circles, so each is emptied, or they would stay until Python's collector
        comes."""
        for state in self.states.values():
            state[None].steps.clear()
            state.clear()
        self.states.clear()
        self.remembered = self.walks = 0

    def step(self, state: State, symbol: Any) -> tuple[Any, bool]:
        """Return the state behind `symbol`, DEAD where no walk is left, and whether a match ends before it."""
        facts = state[None]
        cached = facts.steps.get(symbol)
        if cached is not None:
            return cached  # type: ignore[no-any-return]
        if self.remembered >= MOST_STEPS or self.walks >= MOST_WALKS:
            self.forget()
            state = self.state(facts.walks, facts.searching, facts.before)
            facts = state[None]
        step = self.make_step(facts, symbol)
        self.remembered += 1
        facts.steps[symbol] = step
        if step[0] is not DEAD and not step[1] and type(symbol) is str:
            state[symbol] = step[0]
        return step

    def make_step(self, facts: Facts, symbol: Any) -> tuple[Any, bool]:
        """Return the state behind `symbol` and whether a match ends before it, without a look at steps made before."""
        after = class_of(symbol)
        left, right = (after, facts.before) if self.backward else (facts.before, after)
        walks: dict[int, None] = {}
        matched = self.advance(facts.walks, symbol, left, right, walks)
        searching = facts.searching and not matched
        if searching and symbol not in (END, START):
            walks.setdefault(self.start)
        return (self.state(tuple(walks), searching, after) if walks else DEAD), matched

    def advance(self, walks: tuple[int, ...], symbol: Any, left: int, right: int, reached: dict[int, None]) -> bool:
        """Enter into `reached` where each walk stands behind `symbol`, best first; return whether one is at the end."""
        code, size = self.code, self.size
        sign = "\n" if symbol == FINAL_LINE_END else symbol
        pending = list(reversed(walks))
        visited: set[int] = set()
        matched = False
        while pending:
            walk = pending.pop()
            if walk in visited:
                continue
            visited.add(walk)
            if len(visited) % STRIDE == 0:
                look()
            at = walk % size
            operation, first, second = code[at]
            if operation == CHAR:
                if first == sign:
                    reached.setdefault(at + 1 + size * self.bits)
            elif operation == SET:
                if type(sign) is str and first.has(sign):
                    reached.setdefault(at + 1 + size * self.bits)
            elif operation == MATCH:
                matched = True
                if not self.backward:
                    break
            elif operation != ASSERT or holds(first, left, right):
                pending.extend(self.onward(at, walk - at, operation, first, second))
        self.pace += len(visited)
        if self.pace >= STRIDE:
            self.pace = 0
            look()
        return matched

    def onward(self, at: int, bits: int, operation: int, first: Any, second: Any) -> tuple[int, ...]:
        """Return where a walk continues without taking a character, the better alternative last; `bits`: its loop bits times
        `size`."""
        if operation == SPLIT:
            return (second + bits, first + bits)
        if operation == JUMP:
            return (first + bits,)
        if operation == ENTER:
            return (at + 1 + self.without_bit(bits, first),)
        if operation == AGAIN:
            if (bits // self.size) >> first & 1:
                return (second[1] + bits, second[0] + bits)
            return (second[2] + bits + (self.size << first),)
        return (at + 1 + bits,)

    def without_bit(self, bits: int, number: int) -> int:
        """Return loop bits, scaled by `size` as in a walk, with the bit of the loop `number` cleared."""
        return (bits // self.size & ~(1 << number)) * self.size
