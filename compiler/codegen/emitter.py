"""One function's code under construction: instructions, labels, slots, cells, handler ranges, operand-stack depth.

Code after an instruction that never falls through is not emitted. Hands on the finished `image.Function`. Must not know: trees,
types.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any

from ...vm.bytecode import image as im
from ...vm.bytecode import operands as k
from ...vm.bytecode.encoding import encode_instructions, encode_lines
from ...vm.bytecode.opcodes import BY_NAME, OPCODES
from ..source import Span

if TYPE_CHECKING:
    from ..symbols import Local


# ----------------------------------------------------------------
# Which variable of the source a slot or cell holds, and where in the code (V-3.9).
#
# A variable has a value from its first assignment to the end of the expression or body that declares it; one that is assigned
# inside a branch has it for sure behind that branch only. Hands on rows by instruction index, and `CellRef`.


class CellRef:
    """A cell of the function: a captured one by its position, or an own one, numbered after all captured ones are known."""

    __slots__ = ("captured", "position")

    def __init__(self, captured: bool, position: int) -> None:
        self.captured = captured
        self.position = position


@dataclass(eq=False, slots=True)
class NamedPlace:
    """`place`: a slot number or a cell. `start` and `end`: indexes of instructions, None where not known yet."""

    name: str
    place: int | CellRef
    depth: int = 0  # how many others were in scope when it was declared
    start: int | None = None
    end: int | None = None


class LocalNames:
    def __init__(self) -> None:
        self.rows: dict[Local, NamedPlace] = {}
        self.around: list[NamedPlace] = []  # those of enclosing functions
        self.open: list[NamedPlace] = []  # those in scope, outermost first
        self.unsettled: list[tuple[int, int, int, NamedPlace]] = []  # a heap, innermost first
        self.base = 0  # how many of them belong to the scopes around the current one
        self.held = False  # a pattern is tested: what it binds counts when all of it matched

    def declare(self, local: Local, place: int | CellRef) -> None:
        if local not in self.rows:
            self.rows[local] = NamedPlace(local.name, place, len(self.open))
            self.open.append(self.rows[local])

    def captured(self, local: Local, place: int | CellRef) -> None:
        """It has its value before the function runs."""
        self.around.append(NamedPlace(local.name, place, start=0))

    def assign(self, local: Local, here: int) -> None:
        row = self.rows.get(local)
        if row is None or row.start is not None:
            return
        if not self.held and row.end is None and row.depth >= self.base:
            row.start = here
        else:
            heappush(self.unsettled, (-row.depth, here, id(row), row))

    def enter(self) -> int:
        """A scope begins; the result is what `leave` takes."""
        outer, self.base = self.base, len(self.open)
        return outer

    def leave(self, outer: int, here: int) -> None:
        if len(self.open) > self.base:
            self._end(self.base, here)
        self.base = outer
        if len(self.open) > outer:
            self.settle(here)

    def settle(self, here: int) -> None:
        """What the current scope declared and something within assigned has its value from here on."""
        while self.unsettled and -self.unsettled[0][0] >= self.base:
            row = heappop(self.unsettled)[-1]
            if row.start is None and row.end is None:
                row.start = here

    def finished(self, here: int) -> list[NamedPlace]:
        """All rows of a function whose code ends at `here`, outer ones first."""
        self._end(0, here)
        for row in self.around:
            row.end = here
        return [*self.around, *self.rows.values()]

    def _end(self, first: int, here: int) -> None:
        for row in self.open[first:]:
            row.end = here
        del self.open[first:]


# ----------------------------------------------------------------

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
    """A place in the code; `depth` is the operand-stack depth there, known from the first jump."""

    __slots__ = ("index", "depth")

    def __init__(self) -> None:
        self.index: int | None = None
        self.depth: int | None = None


class Emitter:
    def __init__(self) -> None:
        self.code: list[tuple[int, Any]] = []
        self.spans: list[Span | None] = []  # per instruction
        self.span: Span | None = None  # that of the instructions to come; None for code without a source
        self.depth = 0
        self.deepest = 0
        self.reachable = True
        self.slots = 0
        self.free: list[int] = []
        self.captures: list[int | CellRef] = []
        self.own_cells = 0
        self.handlers: list[tuple[int, int, Label, int]] = []
        self.suspends = False
        self.calls: set[int] = set()
        self.names = LocalNames()
        self.named: list[list[Any]] = []  # the rows of V-3.9, known when the function is finished

    # ------------------------------------------------------------ instructions

    def emit(self, name: str, operand: Any = 0, count: int = 0) -> None:
        """Append an instruction. `count` is what a starred name of its picture stands for."""
        number, popped, pushed, starred, calls, suspends, ends = _FORMS[name]
        if self.reachable:
            self.code.append((number, operand))
            self.spans.append(self.span)
            if calls:
                self.calls.add(operand)
            if suspends:
                self.suspends = True
        self.depth += pushed - popped - count if starred else pushed - popped
        if self.depth > self.deepest:
            self.deepest = self.depth
        if ends:
            self.reachable = False

    def reload(self, slot: int) -> None:
        """Push a local that was perhaps stored just now, in which case the store is taken back."""
        if self.reachable and self.code and self.code[-1] == (BY_NAME["STORE"].number, slot):
            self.code.pop()
            self.spans.pop()
            self.depth += 1
        else:
            self.emit("LOAD", slot)

    def jump(self, name: str, label: Label) -> None:
        """A jump, branch or NEXT. NEXT leaves for its label with the iterator dropped."""
        before = self.depth
        if not self.reachable:
            self.emit(name, label)
            return
        at_target = before - 1 if name == "NEXT" else before - len(BY_NAME[name].pops)
        if label.depth is None:
            label.depth = at_target
        assert label.depth == at_target, f"{name}: depth {at_target} where {label.depth} was expected"
        self.emit(name, label)

    def mark(self, label: Label, depth: int) -> None:
        """Put a label here. `depth` is the depth code continues with when nothing fell through."""
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
        """The beginning of a handler: the error lies on `depth` values."""
        self.reachable = True
        self.depth = depth + 1
        self.deepest = max(self.deepest, self.depth)
        label.index = len(self.code)

    # ------------------------------------------------------------ slots and cells

    def slot(self) -> int:
        self.slots += 1
        return self.slots - 1

    def temp(self) -> int:
        return self.free.pop() if self.free else self.slot()

    def release(self, slot: int) -> None:
        self.free.append(slot)

    def own_cell(self) -> CellRef:
        self.own_cells += 1
        return CellRef(False, self.own_cells - 1)

    def capture(self, parent: CellRef) -> CellRef:
        self.captures.append(parent)
        return CellRef(True, len(self.captures) - 1)

    def _cell_number(self, ref: CellRef) -> int:
        return ref.position if ref.captured else len(self.captures) + ref.position

    # ------------------------------------------------------------ finishing

    def finish(
        self, name: str, params: list[list[Any]], result: int, flags: int, parent: Emitter | None, place: Place
    ) -> im.Function:
        """The finished function; `hash` and the suspend flag through calls are filled when the image is complete. `place`: file
        number, line and column where a span starts."""
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
        if not flags & im.F_HIDDEN:
            self.named = self._named(offsets)
        return im.Function(
            name, params, result, self.slots, captures, cells, self.deepest, flags, code, handlers, lines, b""
        )

    def _named(self, offsets: list[int]) -> list[list[Any]]:
        """[name, place, start, end] per variable; cells are counted on from the slots."""
        found = []
        for row in self.names.finished(len(self.code)):
            place = row.place if isinstance(row.place, int) else self.slots + self._cell_number(row.place)
            if row.start is not None and row.end is not None and row.start < row.end:
                found.append([row.name, place, offsets[row.start], offsets[row.end]])
        return found

    def _operand(self, number: int, operand: Any) -> int:
        if isinstance(operand, Label):
            return self._index(operand)
        if isinstance(operand, CellRef):
            return self._cell_number(operand)
        assert isinstance(operand, int), OPCODES[number].name
        return operand

    def _runs(self, offsets: list[int], place: Place) -> Iterator[tuple[int, int, int, int]]:
        """Where the code of a span begins, and its place."""
        last: object = self
        for offset, span in zip(offsets, self.spans, strict=False):
            if span is not last:
                last = span
                yield (offset, 0, 1, 1) if span is None else (offset, *place(span))

    def _index(self, label: Label) -> int:
        assert label.index is not None, "a label was never placed"
        return label.index
