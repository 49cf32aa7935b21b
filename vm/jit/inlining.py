"""Inlining: the code of one function as it is translated, with small functions in the place of their calls (V-7.2).

A call becomes stores to locals of its own, a return a jump behind the call. An error that an inlined function does not catch goes
to where the caller catches it, if a `?` stands behind the call. `places` says which instruction of which function each one is,
for positions, traces and frames. Hands on `Body` to `functions`, which makes it; all that translates reads it. The image stays as
it is, and no text is written here. Which functions are small enough is said by `CallGraph.inlined_size` (`analysis`), how many go
into one by MOST_GROWTH, MOST_NESTED and MOST_RECURSIVE.
"""

from __future__ import annotations

from ..bytecode import image as im
from ..bytecode import operands as k
from ..bytecode.opcodes import BY_NAME, OPCODES, THROWS
from .analysis import ends_of_arguments
from .library import Inlined

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .analysis import CallGraph
    from .library import Closures

    Key = tuple[Inlined, int]

MOST_GROWTH = 480  # instructions that are inlined into one function
MOST_NESTED = 4  # functions inlined into one another
MOST_RECURSIVE = 1  # calls of a function inside itself that are inlined
CALL, CALL_VALUE, CLOSURE, LOAD, MOVE, SHARE, POP, RETURN, STORE, JUMP, SLIDE, OK, SOME, ERR, TRY, THROW = (
    BY_NAME[name].number for name in (
        "CALL", "CALL_VALUE", "CLOSURE", "LOAD", "MOVE", "SHARE", "POP", "RETURN", "STORE", "JUMP", "SLIDE", "OK", "SOME", "ERR",
        "TRY", "THROW",
    )
)  # fmt: skip


class Body:
    """The code of function `number` of a linked `program`, `root` as an `Inlined`. `instructions`: (index, opcode number,
    operand), where labels are indexes too, so that `index_of` gives each index itself. Parallel to them are `depths`, of the
    operand stack before each, -1 where control never arrives, and `places`: its index in its function, and which function.
    `slots`: the number of locals, those of inlined functions included. Without `inlining` all calls stay.

    By index: `handlers`, the target of the handler that catches what the instruction raises, and `handler_depths`, how many
    values that keeps; `declared_types`, the number of the type of the top of the stack; `keeps_none`, whether `?` passes a None
    on as a None; `_paths`, the instructions that an error passes, where these are more than the one. `borrowed_shares`: each
    SHARE of what the callee only reads; `given`, of a CALL that stays, the parameters that it gives known closures for, with
    their functions; `called`, of a CALL_VALUE that stays, the function of the closure, where that is known. `functions` sets
    `hidden_locals`, those without a name, `hidden_stores`, each STORE of one, and `literals`: by its first instruction, the last
    one of a literal of constants. `starts`: by index of an instruction in the outermost function, its index here.

    `closures`: pairs of the position of a parameter, from 0, and the number of the function whose closure is passed for it;
    `closure_cells`: for each of these positions, the numbers under which the outermost function has the cells of that closure."""

    def __init__(
        self, program: Any, graph: CallGraph, number: int, inlining: bool, closures: Closures = ()
    ) -> None:
        self.program = program
        self.graph = graph
        self.inlining = inlining
        self.instructions: list[tuple[int, int, int]] = []
        self.depths: list[int] = []
        self.places: list[tuple[int, Inlined]] = []
        self.declared_types: dict[int, int] = {}
        self.keeps_none: dict[int, bool] = {}
        self._paths: dict[int, list[tuple[Inlined, int]]] = {}
        self.borrowed_shares: set[int] = set()
        self.hidden_stores: set[int] = set()
        self.hidden_locals: frozenset[int] = frozenset()
        self.literals: dict[int, int] = {}
        self.handler_depths: dict[int, int] = {}
        self._targets: dict[int, Key] = {}
        self._starts: dict[Key, int] = {}
        self._handled: dict[int, Key] = {}
        self._closures: dict[int, tuple[int, tuple[int, ...]]] = {}  # by slot of a parameter: a closure's function and cells
        self.given: dict[int, Closures] = {}
        self.called: dict[int, int] = {}
        self._growth = 0
        cells = program.image.functions[number].cells
        self.root = Inlined(number, cells=tuple(range(cells)))
        self.closure_cells: dict[int, tuple[int, ...]] = {}
        for position, function in closures:
            own = tuple(range(cells, cells + len(program.image.functions[function].captures)))
            self._closures[position], self.closure_cells[position] = (function, own), own
            cells += len(own)
        self.slots = program.image.functions[number].slots
        self._inline(self.root)
        self._resolve_labels()
        self.index_of = {index: index for index in range(len(self.instructions))}
        self.starts = {start: index for (inlined, index), start in self._starts.items() if inlined is self.root}

    # ------------------------------------------------------------ instructions

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

    def _resolve_labels(self) -> None:
        for index, target in self._targets.items():
            self.instructions[index] = (index, self.instructions[index][1], self._starts[target])
        self.handlers = {index: self._starts[target] for index, target in self._handled.items()}

    # ------------------------------------------------------------ one function

    def _inline(self, inlined: Inlined) -> None:
        facts = self.program.verified.functions[inlined.function]
        for index, (_, number, operand) in enumerate(facts.instructions):
            self._starts[inlined, index] = len(self.instructions)
            place = (index, inlined)
            reached = facts.depths[index] >= 0
            depth = inlined.base + facts.depths[index] if reached else -1
            kind = OPCODES[number].kind
            if reached and number == CALL:
                self._call(place, operand, depth)
            elif reached and number == CALL_VALUE:
                self._call_value(place, operand, depth)
            elif reached and number == RETURN and inlined.caller is not None:
                self._return(place, depth)
            elif reached and number == THROW:
                self._throw(inlined, index, place, depth)
            elif reached and THROWS[number]:
                self._attempt(number, operand, place, depth)
            elif kind is k.LABEL:
                self._emit(number, 0, place, depth, (inlined, facts.index_of[operand]))
            elif kind is k.CELL:
                self._emit(number, inlined.cells[operand], place, depth)
            else:
                self._emit(number, operand + inlined.slot if kind is k.LOCAL else operand, place, depth)

    def _is_worthwhile(self, inlined: Inlined, number: int, with_loops: bool) -> bool:
        if not self.inlining or len(inlined.around) > MOST_NESTED:
            return False
        size = self.graph.inlined_size(number, with_loops)
        recursive = sum([other.function == number for other in inlined.around])
        if not size or recursive > MOST_RECURSIVE or self._growth + size > MOST_GROWTH:
            return False
        self._growth += size
        return True

    def _call(self, place: tuple[int, Inlined], number: int, depth: int) -> None:
        index, caller = place
        count = len(self.program.image.functions[number].params)
        closures: dict[int, tuple[int, tuple[int, ...]]] = {}
        for position, end in enumerate(ends_of_arguments(self.depths, len(self.depths), depth - count, count)):
            opcode, operand = self.instructions[end][1:] if end >= 0 else (-1, 0)
            share = end if opcode == SHARE and self.depths[end] == depth - count + position + 1 else -1
            if share >= 0 and self.graph.borrows(number, position):
                self.borrowed_shares.add(share)
            makes = opcode == CLOSURE and self.depths[end] == depth - count + position
            if position not in self.graph.called_parameters(number):
                continue
            if makes and not self.graph.suspends[operand]:
                maker = self.places[end][1].cells
                closures[position] = operand, tuple([maker[cell] for cell in self.program.image.functions[operand].captures])
            elif opcode in (LOAD, MOVE) and operand in self._closures and self.depths[end] == depth - count + position:
                closures[position] = self._closures[operand]
        inlinable = any(self.graph.inlined_size(function) for function, _ in closures.values())
        if not self._is_worthwhile(caller, number, inlinable):
            at = self._emit(CALL, number, place, depth)
            if closures and self.inlining:
                self.given[at] = tuple([(position, function) for position, (function, _) in sorted(closures.items())])
            return
        inner = Inlined(number, caller, index, self.slots, depth - count)
        self._closures |= {inner.slot + position: closure for position, closure in closures.items()}
        self._enter(place, inner)
        self._inline(inner)

    def _call_value(self, place: tuple[int, Inlined], count: int, depth: int) -> None:
        """Copy a CALL_VALUE, or inline what it calls: that is known where a parameter is called that got a known closure."""
        index, caller = place
        end, *ends = ends_of_arguments(self.depths, len(self.depths), depth - count - 1, count + 1)
        opcode, slot = self.instructions[end][1:] if end >= 0 else (-1, 0)
        number, cells = self._closures.get(slot, (-1, ())) if opcode in (LOAD, MOVE) else (-1, ())
        fits = number >= 0 and len(self.program.image.functions[number].params) == count
        for position, last in enumerate(ends if fits else []):
            if last >= 0 and self.instructions[last][1] == SHARE and self.graph.borrows(number, position):
                self.borrowed_shares.add(last)
        if not fits or not self._is_worthwhile(caller, number, False):
            at = self._emit(CALL_VALUE, count, place, depth)
            if fits and self.inlining:
                self.called[at] = number
            return
        inner = Inlined(number, caller, index, self.slots, depth - count - 1, cells)
        self._enter(place, inner, 1)
        self._emit(POP, 0, place, inner.base + 1)
        self._inline(inner)

    def _enter(self, place: tuple[int, Inlined], inner: Inlined, beneath: int = 0) -> None:
        """Move the arguments of a call from the stack to locals; `beneath`: how many values lie between them and the base."""
        function = self.program.image.functions[inner.function]
        self.slots += function.slots
        for position in reversed(range(len(function.params))):
            at = self._emit(STORE, inner.slot + position, place, inner.base + beneath + position + 1)
            self.declared_types[at] = function.params[position][1]

    # ------------------------------------------------------------ returns

    def _return(self, place: tuple[int, Inlined], depth: int) -> None:
        """Write the jump for a RETURN of an inlined function. A Result that `?` takes apart behind the call is not built."""
        index, inlined = place
        assert inlined.caller is not None
        facts = self.program.verified.functions[inlined.function]
        built = self.instructions[-1][1] if self.places and self.places[-1] == (index - 1, inlined) else -1
        taken_apart = self._at(inlined.caller, inlined.call + 1) == TRY and index not in facts.leaders
        if taken_apart and built in (OK, SOME):
            self._drop()
            self._emit(JUMP, 0, (index - 1, inlined), depth, (inlined.caller, inlined.call + 2))
        elif taken_apart and built == ERR:
            self._drop()
            self._throw(inlined.caller, inlined.call + 1, (index - 1, inlined), depth)
        else:
            at = self._emit(JUMP, 0, place, depth, (inlined.caller, inlined.call + 1))
            self.declared_types[at] = self.program.image.functions[inlined.function].result

    def _at(self, inlined: Inlined, index: int) -> int:
        return int(self.program.verified.functions[inlined.function].instructions[index][1])

    # ------------------------------------------------------------ errors

    def _handler(self, inlined: Inlined, index: int) -> tuple[Key, int] | None:
        """Return the handler of an instruction in its own function, and the depth of the stack there."""
        handler = self.program.verified.functions[inlined.function].handlers.get(index)
        return None if handler is None else ((inlined, handler[0]), inlined.base + handler[1])

    def error_path(self, at: int) -> str:
        """Return the expression of the path that an error takes by the instruction `at`: a global name, or "()" where no function
        on the path is shown in traces."""
        index, inlined = self.places[at]
        passed = [(place.function, each) for place, each in self._paths.get(at, [(inlined, index)])]
        shown = [f"_{number}_{each}" for number, each in passed if not self.program.codes[number].hidden]
        return f"W{''.join(shown)}" if shown else "()"

    def _catcher(self, inlined: Inlined, index: int, path: list[tuple[Inlined, int]]) -> tuple[Inlined, int, bool]:
        """Return where an error goes that an instruction raises: the function and instruction whose handler catches it, or that
        returns it; and whether a None stays a None. The instructions that it passes are added to `path`."""
        keeps_none = True
        while True:
            path.append((inlined, index))
            keeps_none = keeps_none and bool(self.program.image.functions[inlined.function].flags & im.F_OPTION)
            caller = inlined.caller
            if self._handler(inlined, index) is not None or caller is None or self._at(caller, inlined.call + 1) != TRY:
                return inlined, index, keeps_none
            inlined, index = caller, inlined.call + 1

    def _throw(self, inlined: Inlined, index: int, place: tuple[int, Inlined], depth: int) -> None:
        """Write what becomes of an error on the stack that the instruction `index` of `inlined` raises."""
        path = [] if place == (index, inlined) else [(place[1], place[0])]
        catcher, at, _ = self._catcher(inlined, index, path)
        handler = self._handler(catcher, at)
        self._paths[len(self.instructions)] = path
        if handler is not None or catcher.caller is None:
            here = self._emit(THROW, 0, place, depth)
            if handler is not None:
                self._handled[here], self.handler_depths[here] = handler
            return
        self._emit(ERR, 0, place, depth)
        if depth - 1 > catcher.base:
            self._emit(SLIDE, depth - 1 - catcher.base, place, depth)
        self._emit(JUMP, 0, place, catcher.base + 1, (catcher.caller, catcher.call + 1))

    def _attempt(self, number: int, operand: int, place: tuple[int, Inlined], depth: int) -> None:
        """Copy a `?`, or the end of a statement in `try`, and note where its error goes."""
        path: list[tuple[Inlined, int]] = []
        catcher, at, keeps_none = self._catcher(place[1], place[0], path)
        here = self._emit(number, operand, place, depth)
        self._paths[here] = path
        handler = self._handler(catcher, at)
        if handler is None:
            self.keeps_none[here] = keeps_none
            if catcher.caller is not None:
                handler = (catcher.caller, catcher.call + 1), catcher.base
        if handler is not None:
            self._handled[here], self.handler_depths[here] = handler
