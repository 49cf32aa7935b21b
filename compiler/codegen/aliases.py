"""Which variables, or parts of them, may hold the same value as the operand stack, before each instruction of a function.

A container that stands in two places has a mark as shared, or a write through one of them would show in the other (V-5.7). An
abstract interpretation of the code of an `Emitter`, a fixpoint over its jumps and handlers, finds the places that may hold a
value without that mark. No code is changed here: which marks may be left out is decided by `moves`. The answer is a bound from
above: a place that it does not name does not hold the value.

Hands on to `moves` `Flow`, the states before all instructions, with `Entry`, `clash` and `overlap`, `Place` and `Path`, NEW,
ANYWHERE and CALLER, and the names (NAMES) and numbers (NUMBER, LOAD, STORE, …) of the opcodes that both look at. What opcodes do
with values is said by `_FRESH`, `_SAME`, `_PARTS` and `_READS`, and of some by `Flow`; one that none of these names is taken to
keep all that it pops and to push what any place may hold.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from typing import Any

from ...vm.bytecode import operands as k
from ...vm.bytecode.opcodes import OPCODES, THROWS
from .emitter import Emitter, Label

# From a local to a part of its value: kind and number of each step. The kinds are "field", "element" and "payload", with a
# position, "held" of wrappers, with 0, and "key", with the number that `moves` gives the key.
Path = tuple[tuple[str, int], ...]
Place = tuple[int, Path]  # a slot, or a number below 0 that two values on the stack share, and a path
LONGEST = 4  # steps of a path; what lies deeper may be anywhere
ANYWHERE: Place = (-1, ())  # a place of which nothing is known
CALLER: Place = (-2, ())  # one of the caller, which writes nothing while the function runs

NAMES = tuple(op.name for op in OPCODES)
NUMBER = {op.name: op.number for op in OPCODES}
LOAD, LOAD_OWN, STORE, SHARE, GET_FIELD, CALL, CALL_BUILTIN = (
    NUMBER[name] for name in ("LOAD", "LOAD_OWN", "STORE", "SHARE", "GET_FIELD", "CALL", "CALL_BUILTIN")
)
_LABEL = tuple(op.kind is k.LABEL for op in OPCODES)
_ENDS = tuple(op.flow in ("jump", "stop") for op in OPCODES)
_GOES_ON = tuple(not ends and not label for ends, label in zip(_ENDS, _LABEL, strict=True))  # nowhere but to the next

# The value of these is new, or has its mark.
_FRESH = frozenset(
    {"CALL", "CALL_VALUE", "CALL_BUILTIN", "CALL_METHOD", "CALL_INOUT", "CALL_HOST", "CLOSURE", "RANGE", "SHARE", "PARSE_AS"}
    | {op.name for op in OPCODES if not op.pops and op.kind is not k.LOCAL and op.kind is not k.CELL}
    | {op.name for op in OPCODES if op.pushes and set(op.pushes) <= {
        "bool", "int", "text", "sum", "difference", "product", "quotient", "rest", "negated", "float", "power", "task",
    }}
)  # fmt: skip
# These hand on the value, or wrap it in what is no place itself, or take it out of that again.
_SAME = frozenset({"SOME", "WRAP", "OK", "ERR", "VARIANT", "TUPLE", "CHECK", "CAST", "TRY_CAST", "INT_TO_FLOAT", "SETTLE"})
# Parts of wholes that are no places: a mark on the whole lies on the parts (`vm/values/containers.py`).
_PARTS = {"GET_ELEMENT": "element", "GET_PAYLOAD": "payload", "UNWRAP": "held", "TRY": "held"}
# These read what they pop and keep none of it.
_READS = frozenset(
    {
        "POP", "JUMP_IF", "JUMP_UNLESS", "PRINT", "PRINTLN", "FAIL_MATCH", "FAIL_LENGTH", "JOIN", "CONCAT", "LENGTH", "ITERATE",
        "NEXT", "IS", "CHANGES_SELF", "DROP", "SLIDE", "SHARE", "POP_TRY", "RANGE", "STORE", "NOT", "POW", "FIELD_OWN",
        "MEMBER_OWN", "ARRAY", "MAP", "STRUCT", *_SAME, *_PARTS,
    }
    | {name for name in NAMES if name.startswith(("IS_", "GET_", "INDEX"))}
    | {name for name in NAMES for word in ("EQ", "NE", "LT", "LE", "GT", "GE", "ADD", "SUB", "MUL", "DIV", "REM", "NEG")
       if name in (word, f"{word}_INT", f"{word}_FLOAT")}
)


class Entry:
    """A value. `held`: the places that may hold it without a mark. `by`: the instructions that brought it here from those;
    `shares`: those that gave it its mark."""

    __slots__ = ("held", "by", "shares")

    def __init__(
        self, held: frozenset[Place] = frozenset(), by: frozenset[int] = frozenset(), shares: frozenset[int] = frozenset()
    ) -> None:
        self.held = held
        self.by = by
        self.shares = shares

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Entry) and (self.held, self.by, self.shares) == (other.held, other.by, other.shares)

    def __hash__(self) -> int:
        return hash((self.held, self.by, self.shares))

    def join(self, other: Entry) -> Entry:
        """Return what is known of a value that may be either of the two."""
        if self is other or self == other:
            return self
        return Entry(self.held | other.held, self.by | other.by, self.shares | other.shares)

    def stepped(self, kind: str, number: int) -> Entry:
        """Return the part of it to which one step leads, of a kind and with a number as in a `Path`; beyond LONGEST steps it may
        be held ANYWHERE."""
        held = frozenset(
            [ANYWHERE if place == ANYWHERE or len(place[1]) >= LONGEST else (place[0], (*place[1], (kind, number)))
             for place in self.held]
        )  # fmt: skip
        return Entry(held, self.by, self.shares)

    def also(self, *places: Place) -> Entry:
        """Return the value with more places that may hold it."""
        return Entry(self.held | set(places), self.by, self.shares)

    def without(self, slot: int) -> Entry:
        """Return what is known of the value once a slot has another one."""
        if not self.held:
            return self
        held = frozenset([place for place in self.held if place[0] != slot])
        return self if len(held) == len(self.held) else Entry(held, self.by, self.shares)


NEW = Entry()  # a value that nobody else holds without a mark
UNKNOWN = Entry(frozenset({ANYWHERE}))  # any place may hold it
LENT = Entry(frozenset({CALLER}))  # an argument that the caller goes on holding


def overlap(one: Path, other: Path) -> bool:
    """Return whether one of two parts of a value may be or lie in the other."""
    for (kind, number), (other_kind, other_number) in zip(one, other, strict=False):
        if kind != other_kind or kind == "key":
            return True  # two keys may turn out to be equal
        if number != other_number:
            return False
    return True


_EFFECTS = tuple((*op.effect(0), op.starred) for op in OPCODES)
# Of most opcodes: how many values they pop, and what they push, where they read all of them and what they push is new.
_SIMPLE = tuple(
    (op.effect(0)[0], (NEW,) * op.effect(0)[1]) if not op.starred and op.name in _FRESH and (op.name in _READS or not op.pops)
    and op.name not in ("SHARE", "CALL", "CALL_BUILTIN", "CALL_METHOD", "CALL_INOUT") else None
    for op in OPCODES
)  # fmt: skip


class State:
    """What holds before an instruction: the operand stack, and by slot the value of each local that is not new."""

    __slots__ = ("stack", "slots")

    def __init__(self, stack: tuple[Entry, ...], slots: dict[int, Entry]) -> None:
        self.stack = stack
        self.slots = slots

    def join(self, other: State) -> State:
        """Return what holds where both may come from; `self` where that is nothing more. Their stacks must be of one height."""
        stack = tuple([mine.join(theirs) for mine, theirs in zip(self.stack, other.stack, strict=True)])
        slots = self.slots
        for slot, theirs in other.slots.items():
            mine = slots.get(slot)
            joined = theirs if mine is None else mine.join(theirs)
            if joined is not mine and joined != mine:
                if slots is self.slots:
                    slots = slots.copy()
                slots[slot] = joined
        return self if slots is self.slots and stack == self.stack else State(stack, slots)


class Flow:
    """The states of one function, by the indexes of its instructions. `states`: what holds before an instruction, None where no
    control reaches it. `receivers`: the instructions that mark what becomes the receiver of a method found at run time, which
    asks for the mark. `kept`: what an instruction puts into another place without a mark. `successors`: where control may go on;
    `fails`: where an error goes that the instruction raises, and the depth of the operand stack there without the error.
    `leaders`: the instructions that jumps and handlers lead to. `code`, `counts` and `plain` are those of the emitter."""

    def __init__(self, emitter: Emitter, parameters: int, keeps: Callable[[int, int], bool]) -> None:
        """Work out the states of a function whose labels are all marked and whose first slots are its `parameters`.
        `keeps(index, position)` says whether the call at an instruction keeps its argument, counted from 0."""
        self.code = emitter.code
        self.counts = emitter.counts
        self.plain = emitter.plain
        self.keeps = keeps
        self.receivers: set[int] = set()
        self.kept: dict[int, list[Entry]] = {}
        self.fails: dict[int, tuple[int, int]] = {}
        for start, end, target, depth in reversed(emitter.handlers):
            assert target.index is not None
            for at in range(start, end):
                if THROWS[self.code[at][0]]:
                    self.fails[at] = target.index, depth
        self.leaders = {target for target, _ in self.fails.values()}
        last = len(self.code) - 1
        self.successors = [
            (at + 1,) if _GOES_ON[number] and at < last else self._after(at) for at, (number, _) in enumerate(self.code)
        ]
        self.states: list[State | None] = [None] * len(self.code)
        lent = {slot for slot in range(parameters) if slot not in emitter.owned}
        slots = dict.fromkeys(lent, LENT)
        if self.code:
            self._run(State((), slots))

    def _after(self, at: int) -> tuple[int, ...]:
        number, operand = self.code[at]
        following = () if _ENDS[number] or at + 1 >= len(self.code) else (at + 1,)
        if not _LABEL[number]:
            return following
        assert isinstance(operand, Label) and operand.index is not None
        self.leaders.add(operand.index)
        return (*following, operand.index)

    def _run(self, first: State) -> None:
        self.states[0] = first
        # In the order of the code: jumps lead forward but for those of loops, so that what many places lead to, as the next arm
        # of a match, is looked at when all of them have been.
        pending = [0]
        while pending:
            at = heappop(pending)
            if pending and pending[0] == at:
                continue
            while True:  # one straight run; what it leads to waits
                state = self.states[at]
                assert state is not None
                after = self._step(at, state)
                if at in self.plain:
                    after = State((*after.stack[:-1], NEW), after.slots)
                if at in self.fails:
                    target, depth = self.fails[at]
                    self._reach(target, State((*state.stack[:depth], UNKNOWN), state.slots), pending)
                following = self.successors[at]
                if len(following) == 1 and following[0] == at + 1 and at + 1 not in self.leaders:
                    at += 1
                    self.states[at] = after
                    continue
                for target in following:
                    # NEXT pushes an element when it goes on, and drops the iterator when it leaves
                    left = target != at + 1 and NAMES[self.code[at][0]] == "NEXT"
                    self._reach(target, State(after.stack[:-2], after.slots) if left else after, pending)
                break

    def _reach(self, target: int, state: State, pending: list[int]) -> None:
        earlier = self.states[target]
        joined = state if earlier is None else earlier.join(state)
        if joined is not earlier:
            self.states[target] = joined
            heappush(pending, target)

    # ------------------------------------------------------------ one instruction

    def _step(self, at: int, state: State) -> State:
        number, operand = self.code[at]
        stack, slots = state.stack, state.slots
        simple = _SIMPLE[number]
        if simple is not None:
            pops, pushed = simple
            return State(stack[: len(stack) - pops] + pushed, slots)
        if number in (LOAD, LOAD_OWN):
            if at in self.plain:
                return State((*stack, NEW), slots)
            value = slots.get(operand)
            if value is None:
                return State((*stack, Entry(frozenset([(operand, ())]), frozenset([at]))), slots)
            return State((*stack, Entry(value.held | {(operand, ())}, value.by | {at})), slots)
        if number == STORE:
            return self._stored(operand, state)
        name = NAMES[number]
        if name == "DUP":
            entry = stack[-1].also((-3 - at, ()))
            return State((*stack[:-1], entry, entry), slots)
        if name == "SWAP":
            return State((*stack[:-2], stack[-1], stack[-2]), slots)
        if name == "SLIDE":
            return State((*stack[: len(stack) - operand - 1], stack[-1]), slots)
        if name == "SHARE":
            return self._marked(at, state)
        pops, pushes, starred = _EFFECTS[number]
        if starred:
            pops += self.counts[at]
        below = len(stack) - pops
        popped = stack[below:]
        kept = [entry for position, entry in enumerate(popped) if entry.held and not self._reads(at, position)]
        if kept:
            self.kept[at] = kept
            for entry in kept:
                slots = _escaped(slots, entry)
        if name in ("CALL_METHOD", "CALL_INOUT"):
            self.receivers |= popped[0].shares
        return State(stack[:below] + self._pushed(at, name, operand, popped, pushes), slots)

    def _stored(self, slot: int, state: State) -> State:
        """Return what holds after an assignment. Whoever else held the old value may be the only one now."""
        stack, slots = state.stack, state.slots
        value = stack[-1].without(slot)
        if slots:
            slots = {other: entry.without(slot) if entry.held else entry for other, entry in slots.items() if other != slot}
        # Its marks are asked for while it lies on the stack only; a local that is known for nothing else is as good as new.
        if value.held or value.by:
            slots = {**slots, slot: Entry(value.held, value.by)}
        rest = tuple([entry.without(slot) for entry in stack[:-1]]) if len(stack) > 1 else ()
        return State(rest, slots)

    def effect(self, at: int) -> tuple[int, int]:
        """Return how many values the instruction with the index `at` pops and pushes."""
        pops, pushes, starred = _EFFECTS[self.code[at][0]]
        return pops + self.counts[at] if starred else pops, pushes

    def _reads(self, at: int, position: int) -> bool:
        """Return whether an instruction keeps nothing of the operand at this position."""
        name = NAMES[self.code[at][0]]
        if name in ("CALL", "CALL_BUILTIN"):
            return not self.keeps(at, position)
        if name in ("CALL_METHOD", "CALL_INOUT", "CALL_VALUE"):
            return position == 0
        if name.startswith("SET_"):
            return position > 0
        return name in _READS

    def _marked(self, at: int, state: State) -> State:
        """Return what holds after a mark: who holds parts of the value without one shares them with another place."""
        top = state.stack[-1]
        slots = {slot: _seen_elsewhere(entry, top) for slot, entry in state.slots.items()} if top.held else state.slots
        below = tuple([_seen_elsewhere(entry, top) for entry in state.stack[:-1]]) if top.held else state.stack[:-1]
        return State((*below, Entry(shares=frozenset([at]))), slots)

    def _pushed(self, at: int, name: str, operand: Any, popped: tuple[Entry, ...], pushes: int) -> tuple[Entry, ...]:
        if not pushes:
            return ()
        if name in _FRESH:
            return (NEW,) * pushes
        if name == "GET_FIELD":
            entry = popped[0].stepped("field", operand)
            # Each struct on the way is asked for its mark.
            entry = Entry(entry.held, frozenset([by for by in entry.by if self.code[by][0] == GET_FIELD] + [at]), entry.shares)
        elif name == "FIELD_OWN":
            entry = popped[0].stepped("field", operand)
        elif name in _PARTS:
            entry = popped[0].stepped(_PARTS[name], operand if name != "TRY" and name != "UNWRAP" else 0)
        elif name in _SAME or name in ("ARRAY", "MAP", "STRUCT"):
            entry = NEW
            for part in popped:
                if part.held or part.by:
                    entry = entry.join(part)
            if entry.held and name not in _SAME:
                entry = entry.also(ANYWHERE)
            entry = Entry(entry.held, entry.by)
        elif name == "NEXT":
            return (popped[0], *(UNKNOWN,) * (pushes - 1))
        else:
            entry = UNKNOWN
            for part in popped:
                entry = entry.join(part)
        return (entry,) * pushes


def clash(place: Place, others: frozenset[Place]) -> bool:
    """Return whether a place is, holds, or lies in one of others; the place of the caller does not, since it is not written."""
    slot, path = place
    return slot != CALLER[0] and any(slot == other and overlap(path, other_path) for other, other_path in others)


def _seen_elsewhere(entry: Entry, marked: Entry) -> Entry:
    return entry.also(ANYWHERE) if entry.held and any(clash(place, marked.held) for place in entry.held) else entry


def _escaped(slots: dict[int, Entry], entry: Entry) -> dict[int, Entry]:
    """Return the locals when something else keeps a value without a mark."""
    changed = slots
    for slot, _ in entry.held:
        local = changed.get(slot, NEW)
        if slot >= 0 and ANYWHERE not in local.held:
            changed = {**changed, slot: local.also(ANYWHERE)}
    return changed
