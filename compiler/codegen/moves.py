"""Moves: a value that is not read again where it was goes on without a mark as shared, so that a write need not copy it (V-5.7).

The generators mark every value that they bind a second time. When all code is there, `move_values` takes back each mark whose
value no other place holds from then on: the local, or the part of it, is not read before it is assigned again. `MOVE` and
`TAKE_FIELD` then say what `LOAD` and `GET_FIELD` did. `aliases` knows who holds what, this file what is read later. Hands on
`move_values` to `module`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable
from typing import Any

from .aliases import ANYWHERE, CALL, GET_FIELD, LOAD, NAMES, NUMBER, SHARE, STORE, Flow, Path, Place, clash, overlap
from .emitter import Emitter

LOAD_OWN, FIELD_OWN, SET_FIELD = (NUMBER[name] for name in ("LOAD_OWN", "FIELD_OWN", "SET_FIELD"))
MOVED = {LOAD: NUMBER["MOVE"], GET_FIELD: NUMBER["TAKE_FIELD"]}
PARTS = {NUMBER["GET_ELEMENT"]: "element", NUMBER["GET_PAYLOAD"]: "payload", NUMBER["UNWRAP"]: "held", GET_FIELD: "field"}
# They ask what kind of value it is, and a part of it that has moved on is the same kind.
ASKING = frozenset(
    NUMBER[name] for name in (
        "IS_SOME", "IS_OK", "IS_ERR", "IS_NIL", "IS_ABSENT", "IS_VARIANT", "IS_ERROR", "FAIL_MATCH", "FAIL_LENGTH",
    )
)  # fmt: skip
READ, WRITTEN, ASSIGNED = range(3)


def move_values(functions: dict[int, tuple[Emitter, int]], asks: Callable[[int], bool]) -> None:
    """Take back the marks that no value needs. `functions`: by number the code and how many parameters there are. `asks`: whether
    the built-in of a constant only reads its arguments."""

    def keeps(number: int, position: int) -> bool:
        """Return whether a function keeps an argument; `self` is lent to it (`arguments.receive`)."""
        emitter, _ = functions[number]
        return position in emitter.owned and position not in emitter.lent

    for emitter, parameters in functions.values():
        if any([number == SHARE for number, _ in emitter.code]):
            Body(emitter, parameters, keeps, asks).move()


class Body:
    """The code of one function. `touches`: by slot, the instructions that read or assign it, in order; `blocks`: the first
    instructions of its straight runs."""

    def __init__(
        self, emitter: Emitter, parameters: int, keeps: Callable[[int, int], bool], asks: Callable[[int], bool]
    ) -> None:
        self.emitter = emitter
        self.code = emitter.code
        self.flow = Flow(emitter, parameters, lambda at, position: self._keeps(at, position, keeps, asks))
        self.touches: dict[int, list[int]] = {}
        for at, (number, operand) in enumerate(self.code):
            if number in (LOAD, LOAD_OWN, STORE):
                self.touches.setdefault(operand, []).append(at)
        self.ends = self._ends()

    def _keeps(self, at: int, position: int, keeps: Callable[[int, int], bool], asks: Callable[[int], bool]) -> bool:
        number, operand = self.code[at]
        return keeps(operand, position) if number == CALL else position > 0 and not asks(operand)

    def _ends(self) -> list[int]:
        """Return by instruction the one behind the straight run that it stands in."""
        flow, ends = self.flow, [0] * len(self.code)
        end = len(self.code)
        for at in reversed(range(len(self.code))):
            if flow.successors[at] != (at + 1,) or at + 1 in flow.leaders or at in flow.fails:
                end = at + 1
            ends[at] = end
        return ends

    # ------------------------------------------------------------ decisions

    def move(self) -> None:
        taken_back: set[int] = set()
        moved: set[int] = set()
        for at, (number, _) in enumerate(self.code):
            state = self.flow.states[at]
            if number != SHARE or state is None or at in self.flow.receivers:
                continue
            value = state.stack[-1]
            if self._is_alone(at) and all([self.is_dead(place, at) for place in value.held]):
                taken_back.add(at)
                moved |= value.by
        for at in moved:
            self.code[at] = MOVED.get(self.code[at][0], self.code[at][0]), self.code[at][1]
        self.emitter.leave_out(taken_back)

    def _is_alone(self, at: int) -> bool:
        """Return whether what an instruction is to mark is held by nothing but what brought it here: neither by another value on
        the stack nor by a local that is read later."""
        state = self.flow.states[at]
        assert state is not None
        held = state.stack[-1].held
        if ANYWHERE in held or any([clash(place, held) for entry in state.stack[:-1] for place in entry.held]):
            return False
        slots = {slot for slot, _ in held}
        others = [slot for slot, entry in state.slots.items() if slot not in slots and any([clash(p, held) for p in entry.held])]
        return all([self.is_dead((slot, ()), at) for slot in others])

    # ------------------------------------------------------------ what is read later

    def is_dead(self, place: Place, at: int) -> bool:
        """Return whether nothing behind an instruction reads a part of a local before it is assigned again."""
        slot, path = place
        touches = self.touches.get(slot, [])
        if slot < 0 or not touches:
            return True
        seen: set[int] = set()
        pending = [at + 1]
        if at + 1 == self.ends[at]:
            pending = list(self._following(at))
        while pending:
            start = pending.pop()
            if start in seen:
                continue
            seen.add(start)
            end = self.ends[start]
            for touch in touches[bisect_left(touches, start) :]:
                if touch >= end:
                    pending += self._following(end - 1)
                    break
                kind, other = self._touch(touch)
                if kind == ASSIGNED or (kind == WRITTEN and other == path[: len(other)]):
                    break
                if kind in (READ, WRITTEN) and overlap(path, other):
                    return False
            else:
                pending += self._following(end - 1)
        return True

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
        while behind < len(self.code) and self.code[behind][0] in parts and behind not in self.flow.leaders:
            then, operand = self.code[behind]
            path.append((parts[then], operand if NAMES[then] != "UNWRAP" else 0))
            behind += 1
        then, operand = self.code[behind]
        if number == LOAD_OWN and then == SET_FIELD:
            return WRITTEN, (*path, ("field", operand))
        if then in ASKING:
            return -1, ()
        return READ, tuple(path)
