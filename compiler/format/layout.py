"""The layout engine: from a list of operations to text that keeps to a width, in linear time and without recursion.

Hands on the operations (texts; `Break` and the usual ones of it, SOFT, LINE, HARD and BLANK; `Begin`, `END`, `INDENT`, `DEDENT`,
`IfBroken`, `Remark`) to the printer and the families of constructs, and to the package `write`, which lays them out. A group is
written on one line if it fits with what follows it up to the next possible line end; otherwise it ends a line at each of its
breaks, unless `Begin` says less. The scheme is Oppen's (Prettyprinting, 1980), with the widths summed up beforehand. The engine
knows nothing of the language whose text it lays out.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...vm.record import record

WIDTH = 100  # characters of a line
INDENTATION = 4  # characters


@record
class Break:
    """Where a line may end. `flat` is written where it does not; one with `newlines` always ends the line, with so many line
    ends."""

    flat: str = ""
    newlines: int = 0


SOFT = Break()  # nothing where the line goes on
LINE = Break(" ")  # a blank where it goes on
HARD = Break(newlines=1)
BLANK = Break(newlines=2)  # with a blank line


class Begin:
    """The beginning of a group. `at` and `end` are the rows, indexes in the list of operations, of this beginning and of its END.

    With `hug`, a row inside it, the group's own breaks stay on one line if everything up to that row fits: what follows is the
    inside of a last bracket, which is a group of its own; 0: there is none. A group that is `filled` ends only the lines that are
    full.
    """

    __slots__ = ("at", "end", "hug", "filled")

    def __init__(self, at: int, filled: bool) -> None:
        self.at = at
        self.end = at
        self.hug = 0
        self.filled = filled


@record
class Indent:
    """A change of indentation by `columns` characters, in a group on one line without effect. Both changes of a pair stand in
    the same group."""

    columns: int


INDENT = Indent(INDENTATION)
DEDENT = Indent(-INDENTATION)


class End:
    """The end of the innermost open group."""

    __slots__ = ()


END = End()


@record
class IfBroken:
    """Text that is written only if the innermost group ends its lines."""

    text: str


@record
class Remark:
    """Text that may pass the width, such as a comment."""

    text: str


Operation = str | Break | Begin | End | Indent | IfBroken | Remark

_FLAT, _BROKEN, _FILLED = range(3)


class _Measures:
    """Widths in characters on one line, and where lines may and must end behind each row."""

    def __init__(self, operations: Sequence[Operation]) -> None:
        count = len(operations)
        self.before = [0] * (count + 1)  # width of all earlier operations
        self.commas = [0] * (count + 1)  # width of all earlier texts that only a broken group has
        self.next_break = [count] * (count + 1)
        self.next_hard = [count] * (count + 1)
        self.sum_widths(operations)
        self.find_breaks(operations)

    def sum_widths(self, operations: Sequence[Operation]) -> None:
        """Set `before`: the width of all operations before each row, as if on one line; and `commas`."""
        total, before = 0, self.before
        broken, commas = 0, self.commas
        for row, operation in enumerate(operations):
            if type(operation) is str:
                # Of a text with line ends only its first line counts: it must fit behind what stands before it.
                total += len(operation) if "\n" not in operation else operation.index("\n")
            elif type(operation) is Break:
                total += len(operation.flat)
            elif type(operation) is IfBroken:
                broken += len(operation.text)
            before[row + 1], commas[row + 1] = total, broken

    def find_breaks(self, operations: Sequence[Operation]) -> None:
        """Set the next row, from each row on, at which a line may end and at which it must."""
        soft = hard = len(operations)
        next_break, next_hard = self.next_break, self.next_hard
        # From the end, so that each row knows the next break behind it.
        for row in range(len(operations) - 1, -1, -1):
            operation = operations[row]
            if type(operation) is Break:
                soft = row
                if operation.newlines:
                    hard = row
            next_break[row] = soft
            next_hard[row] = hard

    def mode(self, group: Begin, column: int, outer: int) -> int:
        """Return how a group is written that begins in `column`, inside one that is written as `outer`."""
        before, start = self.before, self.before[group.at]
        hard, behind = self.next_hard[group.at], self.next_break[group.end]
        comma = self.commas[behind] - self.commas[group.end] if outer != _FLAT else 0
        # A group is flat if no forced line end lies inside it and it fits up to the next possible one.
        if hard > group.end and column + before[behind] + comma - start <= WIDTH:
            return _FLAT
        if group.hug and hard >= group.hug and column + before[group.hug] - start <= WIDTH:
            return _FLAT
        return _FILLED if group.filled else _BROKEN

    def item_fits(self, row: int, column: int) -> bool:
        """Return whether what stands between the break at `row` and the next one fits on the line, with a comma behind it."""
        return column + self.before[self.next_break[row + 1]] - self.before[row] < WIDTH


def write(operations: Sequence[Operation]) -> str:
    """Return the text of the operations, with lines of at most WIDTH characters where breaks allow it. A line is longer where a
    single text is, behind a Remark, and by what closes a call whose last argument stands behind its parenthesis. Nothing is
    raised; groups must be closed in the order in which they were opened."""
    measures = _Measures(operations)
    out: list[str] = []
    add = out.append
    modes: list[int] = [_BROKEN]
    column = indentation = 0
    for row, operation in enumerate(operations):
        kind = type(operation)
        if kind is str:
            add(operation)  # type: ignore[arg-type]
            column = _column_after(operation, column)  # type: ignore[arg-type]
        elif kind is Break:
            mode = modes[-1]
            ends = operation.newlines or mode == _BROKEN  # type: ignore[union-attr]
            if ends or (mode == _FILLED and not measures.item_fits(row, column)):
                add("\n" * (operation.newlines or 1) + " " * indentation)  # type: ignore[union-attr]
                column = indentation
            else:
                add(operation.flat)  # type: ignore[union-attr]
                column += len(operation.flat)  # type: ignore[union-attr]
        elif kind is Begin:
            modes.append(measures.mode(operation, column, modes[-1]))  # type: ignore[arg-type]
        elif kind is End:
            modes.pop()
        elif kind is Indent:
            if modes[-1] != _FLAT:
                indentation += operation.columns  # type: ignore[union-attr]
        # A Remark is always written; IfBroken only in a group that ends its lines.
        elif kind is Remark or modes[-1] != _FLAT:
            add(operation.text)  # type: ignore[union-attr]
            column = _column_after(operation.text, column)  # type: ignore[union-attr]
    return "".join(out)


def _column_after(text: str, column: int) -> int:
    """Return the column behind a text that begins in `column`."""
    line_end = text.rfind("\n")
    return column + len(text) if line_end < 0 else len(text) - line_end - 1
