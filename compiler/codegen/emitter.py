"""One function's code under construction: instructions, labels, slots, cells, handler ranges, operand-stack depth.

Hands on `Emitter`, into which the generators and `module` write, which `aliases` reads and `moves` changes, and whose `finish`
returns an `image.Function`; `Label` for jumps and `CellRef` for captured variables. Code after an instruction that never falls
through is left out. The emitter knows opcodes and their effect on the operand stack, and nothing of trees or types: what an
instruction is good for is decided by the generators. What is wrong here is a fault of a generator: AssertionError, KeyError for
an opcode that does not exist, and from `finish` ValueError for an operand that does not fit into 32 bits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from heapq import heappop, heappush
from itertools import compress
from typing import TYPE_CHECKING, Any

from ...vm.bytecode import image as im
from ...vm.bytecode import operands as k
from ...vm.bytecode.encoding import encode_instructions, encode_lines
from ...vm.bytecode.opcodes import BY_NAME, OPCODES
from ...vm.record import record
from ..source import Span

if TYPE_CHECKING:
    from ..symbols import Local


@record
class CellRef:
    """A cell, which holds a variable that closures share: one captured from the enclosing function, by its position, or an own
    one, numbered after all captured ones are known."""

    captured: bool
    position: int


@record
class NamedPlace:
    """A variable of the source and where it lies: `place` is a slot number or a cell, `start` and `end` (which is not included)
    are indexes of instructions, None where not known yet."""

    name: str
    place: int | CellRef
    depth: int = 0  # how many others were in scope when it was declared
    start: int | None = None
    end: int | None = None


class LocalNames:
    """Which variable of the source a slot or cell holds, and in which part of the code (V-3.9). A variable has a value from
    its first assignment to the end of the expression or body that declares it; one that is assigned inside a branch has it
    for certain only behind that branch."""

    def __init__(self) -> None:
        self.rows: dict[Local, NamedPlace] = {}
        self.around: list[NamedPlace] = []  # those of enclosing functions
        self.open: list[NamedPlace] = []  # those in scope, outermost first
        self.unconfirmed: list[tuple[int, int, int, NamedPlace]] = []  # a heap, innermost first
        self.base = 0  # how many of `open` belong to the scopes around the current one
        self.tentative = False  # a pattern is tested: what it binds counts when all of it matched

    def declare(self, local: Local, place: int | CellRef) -> None:
        """Add a variable of the function itself, unless it has been added; its value is not known yet."""
        if local not in self.rows:
            self.rows[local] = NamedPlace(local.name, place, len(self.open))
            self.open.append(self.rows[local])

    def captured(self, local: Local, place: int | CellRef) -> None:
        """Add a variable of an enclosing function, which has its value before this one runs."""
        self.around.append(NamedPlace(local.name, place, start=0))

    def assign(self, local: Local, here: int) -> None:
        """Note that the variable gets a value at the instruction with the index `here`: the first one alone counts, and one
        within a branch or a pattern waits for `confirm`. A variable that was not declared is passed over."""
        row = self.rows.get(local)
        if row is None or row.start is not None:
            return
        if not self.tentative and row.end is None and row.depth >= self.base:
            row.start = here
        else:
            heappush(self.unconfirmed, (-row.depth, here, id(row), row))

    def enter(self) -> int:
        """Begin a scope; return the base of the one around it, which `leave` takes."""
        outer, self.base = self.base, len(self.open)
        return outer

    def leave(self, outer: int, here: int) -> None:
        """End a scope, whose `enter` returned `outer`, at the instruction with the index `here`."""
        if len(self.open) > self.base:
            self._end(self.base, here)
        self.base = outer
        if len(self.open) > outer:
            self.confirm(here)

    def confirm(self, here: int) -> None:
        """Give a value, from the instruction `here` on, to what the current scope declared and something within it assigned."""
        while self.unconfirmed and -self.unconfirmed[0][0] >= self.base:
            row = heappop(self.unconfirmed)[-1]
            if row.start is None and row.end is None:
                row.start = here

    def renumber(self, places: list[int]) -> None:
        """Change the rows to new indexes of instructions; `places` has them by the old ones."""
        for row in (*self.around, *self.rows.values()):
            row.start = None if row.start is None else places[row.start]
            row.end = None if row.end is None else places[row.end]

    def finished(self, here: int) -> list[NamedPlace]:
        """Return all rows of a function whose code ends at `here`, those of enclosing functions first."""
        self._end(0, here)
        for row in self.around:
            row.end = here
        return [*self.around, *self.rows.values()]

    def _end(self, first: int, here: int) -> None:
        for row in self.open[first:]:
            row.end = here
        del self.open[first:]


# Returns file number, from 0, and line and column, from 1, where a span starts.
Place = Callable[[Span], tuple[int, int, int]]


# Per name: number, values popped without a counted group, values pushed, whether there is such a group, whether the operand is a
# function, whether it may suspend, whether control never falls through.
_FORMS = {
    op.name: (
        op.number, *op.effect(0), op.starred, op.kind is k.FUNCTION, op.flow == "suspend", op.flow in ("jump", "stop"),
    )
    for op in OPCODES
}  # fmt: skip


class Label:
    """A place in the code: the `index` of an instruction, None until it is marked; `depth` is the operand-stack depth there,
    known from the first jump, or when it is marked where code falls through."""

    __slots__ = ("index", "depth")

    def __init__(self) -> None:
        self.index: int | None = None
        self.depth: int | None = None


class Emitter:
    """The code of one function. `depth` is the number of values on the operand stack behind the last instruction, `deepest`
    the most there have been."""

    def __init__(self) -> None:
        self.code: list[tuple[int, Any]] = []
        self.spans: list[Span | None] = []  # per instruction
        self.counts: list[int] = []  # per instruction, how many values its starred group has
        self.plain: set[int] = set()  # instructions that push what has nothing inside that a write could reach
        # The parameters whose arguments belong to the function: new values, moved ones or marked ones; and those of them that the
        # caller still holds, but writes anew before it reads them.
        self.owned: set[int] = set()
        self.lent: set[int] = set()
        self.span: Span | None = None  # that of the instructions to come; None for code without a source
        self.depth = 0
        self.deepest = 0
        self.reachable = True  # control may come to the next instruction
        self.slots = 0  # how many locals there are
        self.free: list[int] = []  # slots of `temp` that have been given back
        self.captures: list[int | CellRef] = []  # by position, the cell of the enclosing function
        self.own_cells = 0  # how many cells of its own
        # Of each handler of errors: the first instruction of its range, the one behind it, where the handler is, the depth there.
        self.handlers: list[tuple[int, int, Label, int]] = []
        self.suspends = False  # an instruction of it may suspend the task
        self.calls: set[int] = set()  # the numbers of the functions that operands name
        self.names = LocalNames()  # which variables of the source lie where (V-3.9)
        self.name_rows: list[list[Any]] = []  # the rows of V-3.9, known when the function is finished; none for a hidden one

    def emit(self, name: str, operand: Any = 0, count: int = 0) -> None:
        """Append an instruction by the name of its opcode, unless no control reaches it; the depth changes in either case.
        `count` is the number of values that a starred group of its stack effect stands for, such as `args*`
        (`vm/bytecode/opcodes.py`). The operand is a number, a Label, whose index is put in by `finish`, or a CellRef."""
        number, popped, pushed, starred, calls, suspends, ends = _FORMS[name]
        if self.reachable:
            self.code.append((number, operand))
            self.spans.append(self.span)
            self.counts.append(count)
            if calls:
                self.calls.add(operand)
            if suspends:
                self.suspends = True
        # The depth is counted in unreachable code too, so that what stands behind it can go on.
        self.depth += pushed - popped - count if starred else pushed - popped
        if self.depth > self.deepest:
            self.deepest = self.depth
        if ends:
            self.reachable = False

    def reload(self, slot: int) -> None:
        """Push a local. If it was stored by the last instruction, that store is taken back instead, behind which no label may
        stand."""
        if self.reachable and self.code and self.code[-1] == (BY_NAME["STORE"].number, slot):
            self.code.pop()
            self.spans.pop()
            self.counts.pop()
            self.depth += 1
        else:
            self.emit("LOAD", slot)

    def is_plain(self) -> None:
        """Note that the last instruction pushes what has nothing inside that a write could reach."""
        if self.reachable:
            self.plain.add(len(self.code) - 1)

    def jump(self, name: str, label: Label) -> None:
        """Append a jump, branch or NEXT to a label, on which all that lead to it must agree in depth. NEXT goes to its label with
        the iterator dropped."""
        before = self.depth
        if not self.reachable:
            self.emit(name, label)
            return
        # NEXT pushes an element when it goes on, and drops the iterator when it leaves.
        at_target = before - 1 if name == "NEXT" else before - len(BY_NAME[name].pops)
        if label.depth is None:
            label.depth = at_target
        assert label.depth == at_target, f"{name}: depth {at_target} where {label.depth} was expected"
        self.emit(name, label)

    def mark(self, label: Label, depth: int) -> None:
        """Put a label here. `depth` is the depth with which code goes on when no jump led to it and nothing falls through."""
        if label.depth is not None:
            assert not self.reachable or self.depth == label.depth, f"depth {self.depth} meets {label.depth}"
            self.reachable = True
            self.depth = label.depth
        elif self.reachable:
            label.depth = self.depth
        else:
            self.depth = depth
        label.index = len(self.code)

    def mark_handler(self, label: Label, depth: int) -> None:
        """Begin a handler of errors: the error lies on `depth` values."""
        self.reachable = True
        self.depth = depth + 1
        # The error is on the stack although no instruction here pushed it.
        self.deepest = max(self.deepest, self.depth)
        label.index = len(self.code)

    def leave_out(self, left_out: set[int]) -> None:
        """Take the instructions with these indexes out of the code, in which every label has been marked. What leads to one of
        them leads to the next one that stays. `plain` keeps the indexes from before."""
        places: list[int] = []  # by index before, the index behind
        for at in range(len(self.code) + 1):
            places.append(at if not places else places[-1] + (at - 1 not in left_out))
        labels = {operand for _, operand in self.code if isinstance(operand, Label)} | {label for _, _, label, _ in self.handlers}
        for label in labels:
            assert label.index is not None
            label.index = places[label.index]
        self.handlers = [(places[start], places[end], label, depth) for start, end, label, depth in self.handlers]
        self.names.renumber(places)
        stays = [at not in left_out for at in range(len(self.code))]
        self.code = list(compress(self.code, stays))
        self.spans = list(compress(self.spans, stays))
        self.counts = list(compress(self.counts, stays))

    def slot(self) -> int:
        """Return a new slot, which belongs to a variable to the end of the function."""
        self.slots += 1
        return self.slots - 1

    def temp(self) -> int:
        """Return a slot for a short time; `release` gives it back."""
        return self.free.pop() if self.free else self.slot()

    def release(self, slot: int) -> None:
        """Let a slot of `temp` be used again."""
        self.free.append(slot)

    def own_cell(self) -> CellRef:
        """Return a new cell of this function."""
        # Its number follows those of the captured cells, whose count is known at the end only.
        self.own_cells += 1
        return CellRef(False, self.own_cells - 1)

    def capture(self, parent: CellRef) -> CellRef:
        """Return a new cell of this function for a cell of the enclosing one."""
        self.captures.append(parent)
        return CellRef(True, len(self.captures) - 1)

    def _cell_number(self, ref: CellRef) -> int:
        return ref.position if ref.captured else len(self.captures) + ref.position

    def finish(
        self, name: str, params: list[list[Any]], result: int, flags: int, parent: Emitter | None, place: Place
    ) -> im.Function:
        """Return the finished function and, unless `flags` say that it is hidden, set `name_rows`; every label must have been
        marked. `hash`, and the suspend flag of what it calls, are filled in when the image is complete. `params` are rows of
        name, index of the type, and number of the function of the default or None (`module.Params`), `result` is the index of the
        type, `flags` are `im.F_…`. `place` returns file number, line and column where a span starts. `parent` is the emitter of
        the enclosing function."""
        program = [
            (number, operand if type(operand) is int else self._operand(number, operand)) for number, operand in self.code
        ]
        code, offsets = encode_instructions(program)
        handlers = [
            [offsets[start], offsets[end], offsets[self._index(target)], depth]
            for start, end, target, depth in self.handlers
            if start < end
        ]
        captures = [parent._cell_number(c) if isinstance(c, CellRef) and parent else 0 for c in self.captures]
        lines = encode_lines(self._runs(offsets, place))
        cells = len(self.captures) + self.own_cells
        # Hidden functions show in no trace, so nobody looks for the names of their variables.
        if not flags & im.F_HIDDEN:
            self.name_rows = self._name_rows(offsets)
        return im.Function(
            name, params, result, self.slots, captures, cells, self.deepest, flags, code, handlers, lines, b""
        )

    def _name_rows(self, offsets: list[int]) -> list[list[Any]]:
        """Return [name, place, start, end] for each variable; places of cells are counted on from the slots, start and end
        are byte offsets in the code."""
        rows = []
        for row in self.names.finished(len(self.code)):
            place = row.place if isinstance(row.place, int) else self.slots + self._cell_number(row.place)
            if row.start is not None and row.end is not None and row.start < row.end:
                rows.append([row.name, place, offsets[row.start], offsets[row.end]])
        return rows

    def _operand(self, number: int, operand: Any) -> int:
        if isinstance(operand, Label):
            return self._index(operand)
        if isinstance(operand, CellRef):
            return self._cell_number(operand)
        assert isinstance(operand, int), OPCODES[number].name
        return operand

    def _runs(self, offsets: list[int], place: Place) -> Iterator[tuple[int, int, int, int]]:
        """Yield the byte offset at which the code of a span begins, and the place of the span."""
        last: object = self
        for offset, span in zip(offsets, self.spans, strict=False):
            # Spans are compared by identity: a run is what one node emitted.
            if span is not last:
                last = span
                yield (offset, 0, 1, 1) if span is None else (offset, *place(span))

    def _index(self, label: Label) -> int:
        assert label.index is not None, "a label was never placed"
        return label.index
