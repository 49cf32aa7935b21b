"""The code of one function as it is translated: with that of the small functions that it calls in place of the calls (V-7.2).

A call becomes stores to locals of its own, a return a jump behind the call; a throw that an inlined function lets out goes to
where the caller takes it. `places` says which instruction of which function each one is, for positions, traces and frames.
Hands on `Body`. Must not know: Python text, values.
"""

from __future__ import annotations

from ..bytecode import image as im
from ..bytecode import operands as k
from ..bytecode.opcodes import BY_NAME, OPCODES, THROWS
from .analysis import marked_arguments
from .library import Inlined

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .analysis import CallGraph

    Key = tuple[Inlined, int]

GROWTH = 480  # instructions that one function may take in
DEEP = 4  # functions inlined into one another
AGAIN = 1  # calls of a function inside itself that are inlined
CALL, RETURN, STORE, JUMP, SLIDE, OK, SOME, ERR, TRY, THROW = (
    BY_NAME[name].number
    for name in ("CALL", "RETURN", "STORE", "JUMP", "SLIDE", "OK", "SOME", "ERR", "TRY", "THROW")
)


class Body:
    """Runs parallel to `instructions`, whose offsets are their indexes: `depths`, `places` (index in its function, which
    function). By index: `handlers`, `kept` (depth of the stack in the handler), `typed` (type of the top of the stack), `wraps`
    (what becomes of an error on its way), `_ways` (what an error passes by an instruction, where that is more than this one).
    `unmarked`: SHARE of what is only read in a call, `moved`: of a local that is not read again, `arguments`: of what a known
    function is given, `unnamed`: STORE of hidden locals. `starts`: index of each instruction of the outermost function."""

    def __init__(self, program: Any, graph: CallGraph, number: int, inlining: bool) -> None:
        self.program = program
        self.graph = graph
        self.inlining = inlining
        self.instructions: list[tuple[int, int, int]] = []
        self.depths: list[int] = []
        self.places: list[tuple[int, Inlined]] = []
        self.typed: dict[int, int] = {}
        self.wraps: dict[int, bool] = {}
        self._ways: dict[int, list[tuple[Inlined, int]]] = {}
        self.unmarked: set[int] = set()
        self.arguments: set[int] = set()
        self.moved: set[int] = set()
        self.unnamed: set[int] = set()
        self.kept: dict[int, int] = {}
        self._targets: dict[int, Key] = {}
        self._starts: dict[Key, int] = {}
        self._handled: dict[int, Key] = {}
        self._grown = 0
        self.root = Inlined(number)
        self.slots = program.image.functions[number].slots
        self._take_in(self.root)
        self._settle_labels()
        self.index_of = {index: index for index in range(len(self.instructions))}
        self.starts = {start: index for (inlined, index), start in self._starts.items() if inlined is self.root}

    # ------------------------------------------------------------ emitting

    def _emit(self, number: int, operand: int, place: tuple[int, Inlined], depth: int, to: Key | None = None) -> int:
        index = len(self.instructions)
        self.instructions.append((index, number, operand))
        self.places.append(place)
        self.depths.append(depth)
        if to is not None:
            self._targets[index] = to
        return index

    def _drop(self) -> None:
        for listing in (self.instructions, self.places, self.depths):
            listing.pop()

    def _settle_labels(self) -> None:
        for index, target in self._targets.items():
            self.instructions[index] = (index, self.instructions[index][1], self._starts[target])
        self.handlers = {index: self._starts[target] for index, target in self._handled.items()}

    # ------------------------------------------------------------ one function

    def _take_in(self, inlined: Inlined) -> None:
        facts = self.program.verified.functions[inlined.function]
        for index, (_, number, operand) in enumerate(facts.instructions):
            self._starts[inlined, index] = len(self.instructions)
            place = (index, inlined)
            reached = facts.depths[index] >= 0
            depth = inlined.base + facts.depths[index] if reached else -1
            kind = OPCODES[number].kind
            if reached and number == CALL:
                self._call(place, operand, depth)
            elif reached and number == RETURN and inlined.caller is not None:
                self._give(place, depth)
            elif reached and number == THROW:
                self._throw(inlined, index, place, depth)
            elif reached and THROWS[number]:
                self._attempt(number, operand, place, depth)
            elif kind is k.LABEL:
                self._emit(number, 0, place, depth, (inlined, facts.index_of[operand]))
            else:
                self._emit(number, operand + inlined.slot if kind is k.LOCAL else operand, place, depth)

    def _wanted(self, inlined: Inlined, number: int) -> bool:
        if not self.inlining or len(inlined.around) > DEEP:
            return False
        size = self.graph.inlined_size(number)
        again = sum([other.function == number for other in inlined.around])
        if not size or again > AGAIN or self._grown + size > GROWTH:
            return False
        self._grown += size
        return True

    def _call(self, place: tuple[int, Inlined], number: int, depth: int) -> None:
        index, caller = place
        function = self.program.image.functions[number]
        count = len(function.params)
        for position, share in enumerate(marked_arguments(self.instructions, self.depths, depth - count, count)):
            self.arguments.add(share)
            if share >= 0 and self.graph.borrows(number, position):
                self.unmarked.add(share)
        if not self._wanted(caller, number):
            self._emit(CALL, number, place, depth)
            return
        inner = Inlined(number, caller, index, self.slots, depth - count)
        self.slots += function.slots
        for position in reversed(range(count)):
            at = self._emit(STORE, inner.slot + position, place, inner.base + position + 1)
            self.typed[at] = function.params[position][1]
        self._take_in(inner)

    # ------------------------------------------------------------ returns

    def _give(self, place: tuple[int, Inlined], depth: int) -> None:
        """RETURN of an inlined function. What `?` takes apart behind the call is not put together."""
        index, inlined = place
        assert inlined.caller is not None
        facts = self.program.verified.functions[inlined.function]
        made = self.instructions[-1][1] if self.places and self.places[-1] == (index - 1, inlined) else -1
        taken_apart = self._at(inlined.caller, inlined.call + 1) == TRY and index not in facts.leaders
        if taken_apart and made in (OK, SOME):
            self._drop()
            self._emit(JUMP, 0, (index - 1, inlined), depth, (inlined.caller, inlined.call + 2))
        elif taken_apart and made == ERR:
            self._drop()
            self._throw(inlined.caller, inlined.call + 1, (index - 1, inlined), depth)
        else:
            at = self._emit(JUMP, 0, place, depth, (inlined.caller, inlined.call + 1))
            self.typed[at] = self.program.image.functions[inlined.function].result

    def _at(self, inlined: Inlined, index: int) -> int:
        return int(self.program.verified.functions[inlined.function].instructions[index][1])

    # ------------------------------------------------------------ errors

    def _handler(self, inlined: Inlined, index: int) -> tuple[Key, int] | None:
        """The handler of an instruction in its own function, and the depth of the stack there."""
        facts = self.program.verified.functions[inlined.function]
        offset = facts.instructions[index][0]
        for start, end, target, kept in self.program.image.functions[inlined.function].handlers:
            if start <= offset < end:
                return (inlined, facts.index_of[target]), inlined.base + kept
        return None

    def way(self, at: int) -> str:
        """The name of the way that an error goes by an instruction, "()" where no function on it is shown in traces."""
        index, inlined = self.places[at]
        passed = [(place.function, each) for place, each in self._ways.get(at, [(inlined, index)])]
        shown = [f"_{number}_{each}" for number, each in passed if not self.program.codes[number].hidden]
        return f"W{''.join(shown)}" if shown else "()"

    def _taker(self, inlined: Inlined, index: int, way: list[tuple[Inlined, int]]) -> tuple[Inlined, int, bool]:
        """Where an error goes that an instruction raises: the function and instruction whose handler takes it, or that returns
        it; whether None leaves as None. `way` gets the instructions that it passes."""
        option = True
        while True:
            way.append((inlined, index))
            option = option and bool(self.program.image.functions[inlined.function].flags & im.F_OPTION)
            caller = inlined.caller
            if self._handler(inlined, index) is not None or caller is None or self._at(caller, inlined.call + 1) != TRY:
                return inlined, index, option
            inlined, index = caller, inlined.call + 1

    def _throw(self, inlined: Inlined, index: int, place: tuple[int, Inlined], depth: int) -> None:
        """An error on the stack, raised by an instruction of `inlined`."""
        way = [] if place == (index, inlined) else [(place[1], place[0])]
        taker, at, _ = self._taker(inlined, index, way)
        handler = self._handler(taker, at)
        self._ways[len(self.instructions)] = way
        if handler is not None or taker.caller is None:
            here = self._emit(THROW, 0, place, depth)
            if handler is not None:
                self._handled[here], self.kept[here] = handler
            return
        self._emit(ERR, 0, place, depth)
        if depth - 1 > taker.base:
            self._emit(SLIDE, depth - 1 - taker.base, place, depth)
        self._emit(JUMP, 0, place, taker.base + 1, (taker.caller, taker.call + 1))

    def _attempt(self, number: int, operand: int, place: tuple[int, Inlined], depth: int) -> None:
        """`?`, or the end of a statement in `try`."""
        way: list[tuple[Inlined, int]] = []
        taker, at, option = self._taker(place[1], place[0], way)
        here = self._emit(number, operand, place, depth)
        self._ways[here] = way
        handler = self._handler(taker, at)
        if handler is None and taker.caller is not None:
            handler = (taker.caller, taker.call + 1), taker.base
            self.wraps[here] = option
        elif handler is None:
            self.wraps[here] = option
        if handler is not None:
            self._handled[here], self.kept[here] = handler
