"""Moves: a value that is not read again where it was goes on without a mark as shared, so that a write need not copy it (V-5.7).

The generators mark every value that they bind a second time. When all code is there, `move_values` takes back each mark that
nobody needs:

- a value moves: the local that holds it, or the part of it, is not read before it is assigned again. `MOVE` and `TAKE_FIELD` then
  say what `LOAD` and `GET_FIELD` did. `TAKE_INDEX` and `TAKE_ENTRY` take an element that is written anew before it is read, as in
  `let mut xs = m.get(k) ?? []; xs.push(x); m.set(k, xs);`
- an argument is lent: the function only reads it, and so does a walk over a local that nothing writes into;
- a function that fails gives its argument back: it has done nothing with it wherever it returns an Err. So the argument moves if
  only what follows an Err reads it again.

A mark is the instruction SHARE: it flags the container on the operand stack as held in two places, so that the next write copies
it. `aliases` knows who holds what, this file what is read later. Hands on `move_values` to `module`. A mark may only go if nobody
could tell: in doubt it stays, which costs one copy. Functions above DEEPEST or LARGEST keep all their marks.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from .aliases import (
    ANYWHERE,
    CALL,
    CALL_BUILTIN,
    CALLER,
    GET_FIELD,
    LOAD,
    LOAD_OWN,
    NAMES,
    NEW,
    NUMBER,
    SHARE,
    STORE,
    Entry,
    Flow,
    Path,
    Place,
    clash,
    overlap,
)
from .emitter import CellRef, Emitter, Label

CALL_INOUT, FIELD_OWN, SET_FIELD, SET_INDEX, TRY, POP_TRY, THROW, RETURN, ITERATE, OK, SOME, JUMP_UNLESS, IS_OK = (
    NUMBER[name] for name in (
        "CALL_INOUT", "FIELD_OWN", "SET_FIELD", "SET_INDEX", "TRY", "POP_TRY", "THROW", "RETURN", "ITERATE", "OK", "SOME",
        "JUMP_UNLESS", "IS_OK",
    )
)  # fmt: skip
IS_ERR, CONST, INT, DUP, IS_ABSENT, CLOSURE, STORE_CELL, CELL_OWN = (
    NUMBER[name] for name in ("IS_ERR", "CONST", "INT", "DUP", "IS_ABSENT", "CLOSURE", "STORE_CELL", "CELL_OWN")
)
# They give an Option of the element that they take off, None of an empty container.
TAKING_OFF = frozenset({("Array", "pop"), ("Stack", "pop"), ("Queue", "dequeue")})
INDEXES = frozenset({NUMBER["INDEX"], NUMBER["INDEX_ARRAY"]})
MOVED = {
    LOAD: NUMBER["MOVE"], GET_FIELD: NUMBER["TAKE_FIELD"], CALL_BUILTIN: NUMBER["TAKE_ENTRY"],
    **dict.fromkeys(INDEXES, NUMBER["TAKE_INDEX"]),
}  # fmt: skip
PARTS = {NUMBER["GET_ELEMENT"]: "element", NUMBER["GET_PAYLOAD"]: "payload", NUMBER["UNWRAP"]: "held", GET_FIELD: "field"}
# They ask what kind of value it is, and a part of it that has moved on is the same kind.
ASKING = frozenset(
    NUMBER[name] for name in (
        "IS_SOME", "IS_OK", "IS_ERR", "IS_NIL", "IS_ABSENT", "IS_VARIANT", "IS_ERROR", "FAIL_MATCH", "FAIL_LENGTH",
    )
)  # fmt: skip
# They ask for the number of parts only.
COUNTING = frozenset({("Array", "len"), ("Array", "is_empty"), ("Map", "len"), ("Map", "is_empty")})
# How an instruction uses its local (`Body._touch`).
NOT_TOUCHED, COUNTED, READ, WRITTEN, ASSIGNED = range(5)

DEEPEST = 100  # values on the operand stack of a function that is looked at
LARGEST = 20_000  # its instructions
LONGEST_ARGUMENT = 500  # instructions between a mark and what pops the value, where control parts

Builtin = Callable[[int], tuple[str, str]]


def move_values(functions: dict[int, tuple[Emitter, int]], builtin: Builtin) -> None:
    """Take back the marks that no value needs; the code of the emitters is changed in place. `functions`: by number the code and
    how many parameters there are. `builtin`: the kind of receiver and the name of the built-in that a constant names."""
    program = Moves(functions, builtin)
    program.decide()
    for body in program.bodies.values():
        body.rewrite()


class Moves:
    """What functions do with their arguments, as a fixpoint: everything is assumed that no function contradicts. By function:
    `borrowed`, the parameters that it only reads; `returned`, those that it has not touched wherever it returns an Err."""

    def __init__(self, functions: dict[int, tuple[Emitter, int]], builtin: Builtin) -> None:
        self.functions = functions
        self.builtin = builtin
        self.borrowed: dict[int, set[int]] = dict.fromkeys(functions, set())
        self.returned: dict[int, set[int]] = dict.fromkeys(functions, set())
        self.bodies: dict[int, Body] = {}
        for number, (emitter, parameters) in functions.items():
            small = emitter.deepest <= DEEPEST and len(emitter.code) <= LARGEST
            if small and (emitter.owned or any(opcode == SHARE for opcode, _ in emitter.code)):
                self.borrowed[number] = self.returned[number] = emitter.owned - emitter.lent
                self.bodies[number] = Body(self, emitter, parameters)

    def decide(self) -> None:
        """Bring `borrowed` and `returned` to the fixpoint, and with them what each body takes back."""
        callers: dict[int, set[int]] = {}
        for number, (emitter, _) in self.functions.items():
            for callee in emitter.calls:
                callers.setdefault(callee, set()).add(number)
        # In turn, so that what many callees contradict is decided anew in their caller once.
        pending = deque(self.bodies)
        waits = set(pending)
        while pending:
            number = pending.popleft()
            waits.remove(number)
            body = self.bodies[number]
            body.decide()
            remaining = self.borrowed[number] & body.only_read(), self.returned[number] & body.given_back()
            if remaining != (self.borrowed[number], self.returned[number]):
                self.borrowed[number], self.returned[number] = remaining
                new = [caller for caller in sorted(callers.get(number, ())) if caller in self.bodies and caller not in waits]
                pending.extend(new)
                waits.update(new)

    def keeps(self, number: int, position: int) -> bool:
        """Return whether the function `number` keeps its argument at `position`, from 0; a plain `self` is only read, and `mut
        self` goes back to its place."""
        emitter, _ = self.functions[number]
        return position in emitter.owned and position not in emitter.lent


class Holders:
    """Who holds what some instructions do something with, by slot: a question looks at the slots that it names only. Places of
    the caller, which are not written, are left out."""

    def __init__(self, entries: Iterable[tuple[int, Entry]]) -> None:
        self.rows: dict[int, list[tuple[int, Path]]] = {}  # instruction and path, in the order of the instructions
        self.paths: dict[int, set[Path]] = {}
        for at, entry in sorted(entries, key=lambda one: one[0]):
            for slot, path in entry.held:
                if slot != CALLER[0]:
                    self.rows.setdefault(slot, []).append((at, path))
                    self.paths.setdefault(slot, set()).add(path)

    def clash(self, held: Iterable[Place]) -> bool:
        """Return whether one of the places is, holds, or lies in one of `held`."""
        return any(overlap(path, other) for slot, path in held for other in self.paths.get(slot, ()))

    def clash_between(self, held: Iterable[Place], first: int, last: int) -> bool:
        """Return the same for the instructions between `first` and `last`, without these."""
        for slot, path in held:
            rows = self.rows.get(slot, [])
            for number in range(bisect_left(rows, first + 1, key=_instruction), len(rows)):
                at, other = rows[number]
                if at >= last:
                    break
                if overlap(path, other):
                    return True
        return False


def _instruction(row: tuple[int, Path]) -> int:
    return row[0]


class Body:
    """The code of one function. `touches`: by slot, the instructions that read or assign it, in order, and `stores` those that
    assign it; `ends`: by instruction the one behind the straight run that it stands in; `floors`: by instruction, one before
    which control cannot come from there; `shares`: the marks that may be taken back; `consumers`: by mark, what `_consumer` says;
    `writes`: who holds what is written into. `moved` and `lent`: the marks that are taken back. `taken`: by instructions that
    take an element, what held it. `keyed_touches`: what `_touches_with` has returned."""

    def __init__(self, program: Moves, emitter: Emitter, parameters: int) -> None:
        self.program = program
        self.emitter = emitter
        self.code = emitter.code
        self.parameters = parameters
        self.flow = Flow(emitter, parameters, self._keeps)
        self.touches: dict[int, list[int]] = {}
        self.stores: dict[int, list[int]] = {}
        for at, (number, operand) in enumerate(self.code):
            if number in (LOAD, LOAD_OWN, STORE):
                self.touches.setdefault(operand, []).append(at)
            if number == STORE:
                self.stores.setdefault(operand, []).append(at)
        self.keyed_touches: dict[tuple[int, tuple[int, ...]], list[int]] = {}
        self.ends = self._ends()
        self.floors = self._floors()
        self.shares = [
            at for at, (number, _) in enumerate(self.code)
            if number == SHARE and self.flow.states[at] is not None and at not in self.flow.receivers
        ]  # fmt: skip
        self.written = list(self._written())
        own = ((at, entry) for at, entry in self.written if self.code[at][0] == LOAD_OWN)
        self.writes = Holders([*self._changed(), *own])
        self.consumers = {at: self._consumer(at) for at in self.shares}
        self.reading = list(self._reading())
        self.moved: set[int] = set()
        self.lent: set[int] = set()
        self.taken: dict[int, Entry] = {}

    def _keeps(self, at: int, position: int) -> bool:
        number, operand = self.code[at]
        if number == CALL:
            return self.program.keeps(operand, position)
        return position > 0 and self.program.builtin(operand)[0] != ""  # a global function only reads

    def _ends(self) -> list[int]:
        flow, ends = self.flow, [0] * len(self.code)
        end = len(self.code)
        for at in reversed(range(len(self.code))):
            if flow.successors[at] != (at + 1,) or at + 1 in flow.leaders or at in flow.fails:
                end = at + 1
            ends[at] = end
        return ends

    def _floors(self) -> list[int]:
        """Return `floors`; there is one for the end of the code too."""
        floors = list(range(len(self.code) + 1))
        lowest = len(self.code)
        successors, fails = self.flow.successors, self.flow.fails
        for at in reversed(range(len(self.code))):
            following = successors[at]
            lowest = min(lowest, following[-1] if following else at, at)  # a jump stands behind the next instruction
            if at in fails:
                lowest = min(lowest, fails[at][0])
            floors[at] = lowest
        for at, floor in enumerate(floors):  # from the floor control may come to what lies below it
            floors[at] = floors[floor] if floor < at else at
        return floors

    def _consumer(self, share: int) -> tuple[int, int]:
        """Return the instruction that pops what a mark lies on, and as which operand; where control parts before, the one that
        all paths come to which do not leave the function or go to a handler. -1 where there is no such, or code of another
        place lies between."""
        depth = len(self.stack(share))
        consumers: set[int] = set()
        seen: set[int] = set()
        pending = [share + 1]
        while pending:
            at = pending.pop()
            if at in seen:
                continue
            if at <= share or len(seen) > LONGEST_ARGUMENT:
                return -1, 0
            seen.add(at)
            pops, _ = self.flow.effect(at)
            if self.code[at][0] == RETURN:
                continue  # the value is dropped
            if len(self.stack(at)) - pops < depth:
                consumers.add(at)
                continue
            pending += self.flow.successors[at]
        last = max(consumers, default=-1)
        between = range(share + 1, last)
        if len(consumers) != 1 or any(self.flow.states[at] is not None and at not in seen for at in between):
            return -1, 0
        return (last, depth - 1 - (len(self.stack(last)) - self.flow.effect(last)[0])) if max(seen) == last else (-1, 0)

    def stack(self, at: int) -> tuple[Entry, ...]:
        """Return what is known of the operand stack before the instruction `at`, lowest value first; control must reach it."""
        state = self.flow.states[at]
        assert state is not None
        return state.stack

    # ------------------------------------------------------------ decisions

    def decide(self) -> None:
        """Set `moved`, `lent` and `taken` by what is assumed of other functions at present."""
        candidates = {at for at in self.shares if self._may_be_lent(at)}
        self.moved, self.lent, self.taken = set(), set(), dict(self._elements())
        self.moved = {at + 1 for at in self.taken if self.code[at][0] in INDEXES}
        for at in self.shares:
            held = self.stack(at)[-1].held
            if at not in candidates and self._is_alone(at, at) and self._are_dead(held, at):
                self.moved.add(at)
        # A value that is lent has no mark while it lies on the stack, so nothing may move there meanwhile.
        moves = Holders({**{at: self.stack(at)[-1] for at in self.moved}, **self.taken}.items())
        self.lent = {at for at in candidates if not self._moves_meanwhile(at, moves)}
        walked = Holders([(at, self.stack(at)[-1]) for at in self.lent if self._is_walked(at)])
        lenders = self._lenders()
        for at in self.shares:
            if at in self.moved or at in self.lent:
                continue
            held = self.stack(at)[-1].held
            lent = [place for by in lenders.get(at, ()) for place in self.stack(by)[-1].held]
            if not walked.clash(held) and not any(clash(place, held) for place in lent) and self._moves_later(at):
                self.moved.add(at)

    def _elements(self) -> Iterator[tuple[int, Entry]]:
        """Yield the instructions that read an element which is written anew before it is read again, and what holds it."""
        for at, element in self.reading:
            if self._is_alone(at, at, element) and self._are_dead(element.held, at):
                yield at, element

    def _reading(self) -> Iterator[tuple[int, Entry]]:
        """Yield the instructions that read an element by a key, and what holds it; of an array only where a mark follows."""
        for at, (number, operand) in enumerate(self.code):
            if number in INDEXES:
                if at + 1 not in self.consumers or at + 1 in self.flow.leaders:
                    continue
            elif number != CALL_BUILTIN or self.program.builtin(operand) != ("Map", "get"):
                continue
            if self.flow.states[at] is None or at in self.flow.leaders:
                continue
            key = self._key(at - 1)
            if key is not None:
                yield at, self.stack(at)[-2].stepped("key", key)

    def _key(self, at: int) -> int | None:
        """Return a number for the key or position that an instruction pushes: of two that are equal it is the same."""
        number, operand = self.code[at]
        if number in (INT, CONST):
            return -2 * int(operand) - (number == INT) - 1
        if number != LOAD:
            return None
        # The index of a place lies in a slot of its own, which has it from a variable.
        before = self._stored_before(operand, at)
        if before > 0 and self.ends[before] == self.ends[at]:
            loaded, other = self.code[before - 1]
            if loaded == LOAD and self.ends[before - 1] == self.ends[at] and self._stored_before(other, at) < before:
                return int(other)
        return int(operand)

    def _stored_before(self, slot: int, at: int) -> int:
        """Return the last instruction before `at` that assigns a local, -1 without one."""
        stores = self.stores.get(slot, [])
        number = bisect_left(stores, at)
        return stores[number - 1] if number else -1

    def _may_be_lent(self, share: int) -> bool:
        """Return whether what pops a value only reads it, and nothing writes into the value before."""
        at, position = self.consumers[share]
        held = self.stack(share)[-1].held
        if at < 0 or ANYWHERE in held:
            return False
        number, callee = self.code[at]
        if number == STORE_CELL:
            lent = CALLER in held and all(place == CALLER or (not place[1] and place[0] not in self.stores) for place in held)
            return lent and self._is_only_read_in_closures(callee)
        walked = number == ITERATE
        if not walked and (number != CALL or position not in self.program.borrowed[callee]):
            return False
        return not (self.writes.clash(held) if walked else self.writes.clash_between(held, share, at))

    def _is_only_read_in_closures(self, cell: Any) -> bool:
        """Return whether a variable is captured by closures only that do not assign it, and of which nothing is left when the
        function that they are the last argument of has returned: then what a method has as `self` needs no mark there."""
        captured = False
        for at, (number, operand) in enumerate(self.code):
            if number in (STORE_CELL, CELL_OWN) and operand == cell and (number == CELL_OWN or captured):
                return False
            if number != CLOSURE:
                continue
            inner, _ = self.program.functions[operand]
            own = [CellRef(True, position) for position, parent in enumerate(inner.captures) if parent == cell]
            if not own:
                continue
            captured = True
            then, callee = self.code[at + 1]
            last = self.flow.effect(at + 1)[0] - 1
            if then != CALL or at + 1 in self.flow.leaders or last not in self.program.borrowed[callee]:
                return False
            if any(op in (STORE_CELL, CELL_OWN) and of in own for op, of in inner.code):
                return False
            if any(op == CLOSURE and set(self.program.functions[of][0].captures) & set(own) for op, of in inner.code):
                return False
        return captured

    def _is_walked(self, share: int) -> bool:
        """Return whether a `for` walks over what a mark lies on."""
        return self.code[self.consumers[share][0]][0] == ITERATE

    def _moves_meanwhile(self, share: int, moves: Holders) -> bool:
        """Return whether one of `moves` takes what is lent while it lies on the stack."""
        held = self.stack(share)[-1].held
        if self._is_walked(share):
            return moves.clash(held)
        return moves.clash_between(held, share, self.consumers[share][0])

    def _lenders(self) -> dict[int, list[int]]:
        """Return, by mark, the marks whose values are lent to a function and lie on the stack at that time."""
        lenders: dict[int, list[int]] = {}
        for lent in self.lent:
            if not self._is_walked(lent):
                first, last = bisect_left(self.shares, lent + 1), bisect_left(self.shares, self.consumers[lent][0])
                for share in self.shares[first:last]:
                    lenders.setdefault(share, []).append(lent)
        return lenders

    def _moves_later(self, share: int) -> bool:
        """Return whether a value moves where it is popped: what stands between only lends it, and nothing reads it behind. Where
        a function that gives its argument back fails, it may be read again."""
        at, position = self.consumers[share]
        if at < 0:
            return False
        held = self.stack(share)[-1].held
        slots = {slot for slot, _ in held}
        if self.writes.clash_between(held, share, at):
            return False
        for between in range(share + 1, at):
            number, operand = self.code[between]
            if number == STORE and operand in slots:
                return False
            marked = number == SHARE and any(clash(place, held) for place in self.stack(between)[-1].held)
            if marked and not (between in self.lent and self.consumers[between][0] < at):
                return False
        if any(clash(place, held) for entry in self.stack(at)[len(self.stack(share)) :] for place in entry.held):
            return False
        if not self._is_alone(share, at):
            return False
        number, callee = self.code[at]
        if number == CALL and position in self.program.returned[callee]:
            return self._are_dead(held, at, self._success(at))
        return self._are_dead(held, at)

    def _success(self, call: int) -> list[int] | None:
        """Return where control goes on behind a call that has not failed: behind `?`, or in the arm for Ok; None where nothing
        asks at once whether it has failed."""
        after = [self.code[at][0] for at in range(call + 1, min(call + 5, len(self.code)))]
        if after[:1] == [TRY]:
            return [call + 2]
        if len(after) == 4 and after[:2] == [STORE, LOAD] and after[2] in (IS_OK, IS_ERR) and after[3] == JUMP_UNLESS:
            stored, loaded, label = self.code[call + 1][1], self.code[call + 2][1], self.code[call + 4][1]
            if stored == loaded and not self.flow.leaders & {call + 1, call + 2, call + 3, call + 4}:
                assert isinstance(label, Label) and label.index is not None
                return [call + 5 if after[2] == IS_OK else label.index]
        return None

    def _is_alone(self, share: int, at: int, element: Entry | None = None) -> bool:
        """Return whether what an instruction is to mark, or the element that it reads, is held by nothing but what brought it
        here: neither by another value on the stack nor by a local that is read behind the instruction `at`."""
        state = self.flow.states[share]
        assert state is not None
        held = state.stack[-1].held if element is None else element.held
        if any(slot in (ANYWHERE[0], CALLER[0]) for slot, _ in held):
            return False
        below = state.stack[: -1 if element is None else -2]
        if any(clash(place, held) for entry in below for place in entry.held):
            return False
        if element is not None:  # what lies below with a mark may move when it is popped, and have none then
            marked = [place for entry in below for by in entry.shares for place in self.stack(by)[-1].held]
            if any(clash(place, held) for place in marked):
                return False
        slots = {slot for slot, _ in held}
        others = [slot for slot, entry in state.slots.items() if slot not in slots and any(clash(p, held) for p in entry.held)]
        return self._are_dead([(slot, ()) for slot in others], at)

    def _are_dead(self, places: Iterable[Place], at: int, behind: list[int] | None = None) -> bool:
        return all(self.is_dead(place, at, behind) for place in places)

    # ------------------------------------------------------------ what becomes of parameters

    def only_read(self) -> set[int]:
        """Return the parameters that the function does nothing with but read them, or mark what it keeps."""
        used = {slot for _, entry in self.written for slot, _ in entry.held}
        for entries, _ in self._touched():
            used |= {slot for entry in entries for slot, _ in entry.held}
        return set(range(self.parameters)) - used

    def _changed(self) -> Iterator[tuple[int, Entry]]:
        """Yield the calls of methods that change their receiver, and who holds that."""
        for at, (number, callee) in enumerate(self.code):
            changes = number == CALL_INOUT or (number == CALL and self.program.functions[callee][0].lent)
            if changes and self.flow.states[at] is not None:
                yield at, self.stack(at)[-self.flow.effect(at)[0]]

    def _written(self) -> Iterator[tuple[int, Entry]]:
        """Yield the instructions that write into a local or assign it, and who holds what it has before."""
        for at, (number, slot) in enumerate(self.code):
            state = self.flow.states[at]
            if number in (LOAD_OWN, STORE) and state is not None:
                yield at, state.slots.get(slot, NEW).also((slot, ())) if number == LOAD_OWN else Entry(frozenset({(slot, ())}))

    def given_back(self) -> set[int]:
        """Return the parameters that the function has not touched wherever it may return an Err. One that a local has taken over
        is touched where that local is."""
        renamed = self._renamed()
        sources: dict[int, set[int]] = {}
        for entries, reached in self._touched(failing=True):
            for slot in {slot for entry in entries for slot, _ in entry.held if slot >= 0}:
                sources.setdefault(slot, set()).update(reached)
        for at, entry in self.written:
            if self.code[at][0] != STORE or self.code[at][1] not in renamed:
                for slot in {slot for slot, _ in entry.held if slot >= 0}:
                    sources.setdefault(slot, set()).update(self._behind_write(at))
        for local in sorted(renamed, reverse=True):  # a local is named behind those that it takes from
            for slot in renamed[local]:
                sources.setdefault(slot, set()).update(sources.get(local, ()))
        return {slot for slot in range(self.parameters) if not self._may_fail_behind(sources.get(slot, set()))}

    def _behind_write(self, at: int) -> Iterable[int]:
        """Return where control goes on once a local has been written into: behind the instruction that loads it for that, or, of
        what takes an element off, where there was one. Without one nothing was changed, as in `xs.pop() ?? throw "empty"`."""
        call = at + 1
        while self.code[call][0] == FIELD_OWN:
            call += 1
        number, operand = self.code[call]
        if self.code[at][0] != LOAD_OWN or number != CALL_BUILTIN or self.program.builtin(operand) not in TAKING_OFF:
            return self._following(at)
        after = self.code[call + 1 : min(call + 4, self.ends[call])]
        if after[:1] == [(TRY, 0)] and call + 1 not in self.flow.fails:
            return [call + 2]
        if [opcode for opcode, _ in after] == [DUP, IS_ABSENT, JUMP_UNLESS]:
            label = after[2][1]
            assert isinstance(label, Label) and label.index is not None
            return [label.index]
        return self._following(at)

    def _renamed(self) -> dict[int, set[int]]:
        """Return the locals that are assigned once, a value that moves, as in `let mut o = e;`; by local, the earlier slots whose
        value that may be."""
        renamed: dict[int, set[int]] = {}
        for at in self.moved:
            consumer, _ = self.consumers[at]
            local = self.code[consumer][1] if consumer >= 0 and self.code[consumer][0] == STORE else -1
            held = self.stack(at)[-1].held
            slots = {slot for slot, path in held if slot >= 0 and not path}
            once = local >= self.parameters and len(self.stores[local]) == 1
            if once and slots and len(slots) == len(held) and max(slots) < local:
                renamed[local] = slots
        return renamed

    def _touched(self, failing: bool = False) -> Iterator[tuple[list[Entry], Iterable[int]]]:
        """Yield what goes away from its place without a mark, and where control goes on then. `failing`: where a call that gives
        it back has failed it is still there."""
        for at, element in self.taken.items():
            yield [element], self._following(at)
        renamed = self._renamed() if failing else {}
        for at in self.moved:
            consumer, position = self.consumers[at]
            number, callee = self.code[at if consumer < 0 else consumer]
            if number == STORE and callee in renamed:
                continue
            gives_back = failing and number == CALL and position in self.program.returned[callee]
            if gives_back and self.code[consumer + 1][0] in (TRY, RETURN) and consumer + 1 not in self.flow.leaders:
                yield [self.stack(at)[-1]], [consumer + 2] if self.code[consumer + 1][0] == TRY else []
            else:
                yield [self.stack(at)[-1]], self._following(at)
        for at, kept in self.flow.kept.items():
            yield kept, self._following(at)

    def _may_fail_behind(self, starts: set[int]) -> bool:
        """Return whether control may come from some of these instructions to one that returns an Err."""
        seen: set[int] = set()
        pending = list(starts)
        while pending:
            at = pending.pop()
            if at in seen:
                continue
            seen.add(at)
            number = self.code[at][0]
            if number in (TRY, POP_TRY, THROW) and at not in self.flow.fails:
                return True
            if number == RETURN and (at in self.flow.leaders or self.code[at - 1][0] not in (OK, SOME)):
                return True
            pending += self._following(at)
        return False

    # ------------------------------------------------------------ what is read later

    def is_dead(self, place: Place, at: int, behind: list[int] | None = None) -> bool:
        """Return whether nothing behind the instruction `at` reads a part of a local before it is assigned again; `behind`: where
        to look instead of behind it."""
        slot, path = place
        touches = self.touches.get(slot, [])
        if slot < 0 or not touches:
            return True
        keys = tuple([key for kind, key in path if kind == "key" and key >= 0])
        if keys:  # a variable that gets another value is another key
            touches = self._touches_with(slot, keys)
        seen: set[int] = set()
        pending = list(self._following(at)) if behind is None else behind.copy()
        while pending:
            start = pending.pop()
            if start in seen:
                continue
            seen.add(start)
            if touches[-1] < self.floors[start]:
                continue
            end = self.ends[start]
            for number in range(bisect_left(touches, start), len(touches)):
                touch = touches[number]
                if touch >= end:
                    pending += self._following(end - 1)
                    break
                use, part = self._touch(touch)
                if use == ASSIGNED:
                    if self.code[touch][1] == slot:
                        break
                    return False
                if use == WRITTEN and part == path[: len(part)]:
                    break
                if use == NOT_TOUCHED or (use == COUNTED and len(path) > len(part)):
                    continue
                if use == WRITTEN and part[:-1] == path[: len(part) - 1] and len(path) >= len(part) and _is_key(part[-1]):
                    continue  # another key, or the same
                if overlap(path, part):
                    return False
            else:
                pending += self._following(end - 1)
        return True

    def _touches_with(self, slot: int, keys: tuple[int, ...]) -> list[int]:
        """Return the instructions that read or assign a local or assign one of the `keys`, in order."""
        if (slot, keys) not in self.keyed_touches:
            assigned = [at for key in keys for at in self.stores.get(key, ())]
            self.keyed_touches[slot, keys] = sorted([*self.touches[slot], *assigned])
        return self.keyed_touches[slot, keys]

    def _following(self, at: int) -> Iterable[int]:
        fails = self.flow.fails.get(at)
        return self.flow.successors[at] if fails is None else (*self.flow.successors[at], fails[0])

    def _touch(self, at: int) -> tuple[int, Path]:
        """Return how an instruction uses its local, and which part of it."""
        number, _ = self.code[at]
        if number == STORE:
            return ASSIGNED, ()
        path: list[tuple[str, int]] = []
        parts = {FIELD_OWN: "field"} if number == LOAD_OWN else PARTS
        behind = at + 1
        while self.code[behind][0] in parts and behind not in self.flow.leaders:
            then, operand = self.code[behind]
            path.append((parts[then], operand if NAMES[then] != "UNWRAP" else 0))
            behind += 1
        then, operand = self.code[behind]
        if number == LOAD_OWN:
            if then == SET_FIELD:
                return WRITTEN, (*path, ("field", operand))
            key = self._key_written(behind)
            return (READ, tuple(path)) if key is None else (WRITTEN, (*path, ("key", key)))
        if then in ASKING:
            return NOT_TOUCHED, ()
        if then == CALL_BUILTIN and self.program.builtin(operand) in COUNTING:
            return COUNTED, tuple(path)
        key = self._key_read(behind)
        return READ, tuple(path) if key is None else (*path, ("key", key))

    def _key_read(self, at: int) -> int | None:
        """Return the key by which an element is read of what lies on the stack before an instruction; None where it is no
        element that is read."""
        if at + 1 >= len(self.code) or at + 1 in self.flow.leaders:
            return None
        number, operand = self.code[at + 1]
        reads = number in INDEXES or (number == CALL_BUILTIN and self.program.builtin(operand) == ("Map", "get"))
        return self._key(at) if reads and self.code[at][0] in (LOAD, INT, CONST) else None

    def _key_written(self, at: int) -> int | None:
        """Return the key by which an element is written into what lies on the stack before an instruction; None where it is no
        element that is written."""
        if at in self.flow.leaders or self.code[at][0] not in (LOAD, INT, CONST):
            return None
        behind = [self.code[after] for after in range(at + 1, min(at + 4, self.ends[at]))]
        if behind[:1] and behind[0][0] == SET_INDEX:
            return self._key(at)
        # `set(key, variable)`
        if behind[:1] and behind[0][0] in (LOAD, INT, CONST):
            calls = behind[2:] if len(behind) > 1 and behind[1][0] == SHARE else behind[1:]
            if calls and calls[0][0] == CALL_BUILTIN and self.program.builtin(calls[0][1]) == ("Map", "set"):
                return self._key(at)
        return None

    # ------------------------------------------------------------ the new code

    def rewrite(self) -> None:
        """Exchange the opcodes of what moves, and leave out the marks that are taken back. To be called once, when all functions
        are decided."""
        for at in self.moved:
            for by in self.stack(at)[-1].by if at - 1 not in self.taken else ():
                number, operand = self.code[by]
                self.code[by] = MOVED.get(number, number), operand
        for at, element in self.taken.items():
            self.code[at] = MOVED[self.code[at][0]], 0
            for by in element.by:
                if self.code[by][0] == GET_FIELD:
                    self.code[by] = MOVED[GET_FIELD], self.code[by][1]
        if self.moved or self.lent:
            self.emitter.leave_out(self.moved | self.lent)


def _is_key(step: tuple[str, int]) -> bool:
    return step[0] == "key"
