"""The search tree of the loop: from an opcode's node to its lines, by the fewest steps of CPython 3.11 for what runs often.

Hands on `Cells` to `gen_loop.py`, the type `Line` to `loop_compose.py`, and MARKS, the names of the marks, to both. What the
lines of a run are is not known here. A node names one of 27 cells by three marks, each None, True or False, and within it a
number that comparisons look for. A mark costs a load and a jump wherever it jumps to; a comparison is quick only when it jumps
over at most 255 units of code (3.11 does not specialise one whose jump needs a prefix), and is several times as dear otherwise.
So the marks decide first, and comparisons of a cell jump over little. The costs are the constants below.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import cache
from itertools import accumulate, product
from math import prod

Mark = bool | None
Cell = tuple[Mark, ...]
Name = tuple[str, ...]  # the opcodes of a run
Line = tuple[int, str, int | None]  # of a run: indent, text, index of the opcode that fails if this line does
Placed = tuple[str, int]  # of the tree: the line, and how far before the next node the opcode stands that fails if it does
Splits = Callable[[int, int], tuple[float, int, bool]]

MARKS = "near", "far", "side"  # variables of the loop
# The part of all instructions that is to be found by each value of a mark: None is looked for first
PARTS: dict[Mark, float] = {None: 0.4, True: 0.3, False: 0.3}
SHARES: dict[Cell, float] = {cell: prod(PARTS[mark] for mark in cell) for cell in product(PARTS, repeat=len(MARKS))}
RARE = (False,) * len(MARKS)  # the cell of what weighs next to nothing

SHORT = 205  # units of code, about, that a quick comparison may jump over
QUICK, SLOW = 28, 85  # instructions of the processor that a comparison takes
COMPARING = 8  # units of a comparison and its jump, at most
LENGTHS: dict[type[ast.AST], int] = {
    ast.Attribute: 5, ast.Call: 9, ast.Compare: 4, ast.Subscript: 5, ast.BinOp: 2, ast.Tuple: 2, ast.Try: 8, ast.For: 4,
    ast.Raise: 2, ast.Load: 0, ast.Store: 0, ast.Del: 0, ast.Module: 0, ast.Assign: 0, ast.Expr: 1, ast.keyword: 1,
}  # fmt: skip
SMALL_CELL = 40  # more opcodes than that are divided by weight alone
MOVABLE = 160  # of the heaviest runs, those that may move to another cell


class Cells:
    """Runs of opcodes by cell, each in the order of its numbers. `weight` gives how often a run is met, `code` its lines.
    `numbers` has the number of each run, which nodes hold."""

    def __init__(self, runs: list[Name], weight: Callable[[Name], int], code: dict[Name, list[Line]]) -> None:
        self.weight = weight
        self.code = code
        self.units = {run: units([" " * 4 * indent + text for indent, text, _ in code[run]]) for run in runs}
        self.members: dict[Cell, list[Name]] = {cell: [] for cell in SHARES}
        held = dict.fromkeys(SHARES, 0.0)
        ordered = sorted(runs, key=self._rank)
        for run in ordered:
            cell = RARE if weight(run) < 2 else min(SHARES, key=lambda cell: (held[cell] + weight(run)) / SHARES[cell])
            self.members[cell].append(run)
            held[cell] += weight(run)
        self._improve(ordered[:MOVABLE])
        self.order = [run for members in self.members.values() for run in members]
        self.numbers = {run: number for number, run in enumerate(self.order)}

    def _rank(self, run: Name) -> tuple[int, Name]:
        return -self.weight(run), run

    def _improve(self, runs: list[Name]) -> None:
        """Move each of `runs` to the cell where it makes all instructions together cheapest, if that is another one."""
        costs = {cell: self._cost(cell, members) for cell, members in self.members.items()}
        homes = {run: cell for cell, members in self.members.items() for run in members}
        for run in runs:
            home = homes[run]
            without = [other for other in self.members[home] if other != run]
            saved = costs[home] - self._cost(home, without)
            best: tuple[float, Cell, list[Name]] | None = None
            for cell in self.members.keys() - {home, RARE}:
                members = sorted([*self.members[cell], run], key=self._rank)
                added = self._cost(cell, members) - costs[cell]
                if added < saved and (best is None or (added, str(cell)) < (best[0], str(best[1]))):
                    best = added, cell, members
            if best is not None:
                costs[home] -= saved
                costs[best[1]] += best[0]
                self.members[home], self.members[best[1]] = without, best[2]

    def _cost(self, cell: Cell, members: list[Name]) -> float:
        """Return what it takes to find the runs of a cell, weighted."""
        marks = sum(QUICK if mark is None else 2 * QUICK for mark in cell)
        return marks * sum(map(self.weight, members)) + (self._splits(members)(0, len(members))[0] if members else 0)

    def marks(self) -> list[Cell]:
        """Return the cell of each run, by its number."""
        return [cell for cell, members in self.members.items() for _ in members]

    def lines(self, indent: str) -> list[Placed]:
        """Return the whole tree, indented by `indent`."""

        return self._marked((), indent)

    def _marked(self, marks: Cell, indent: str) -> list[Placed]:
        """Return the tree of the cells that begin with these marks."""
        if len(marks) == len(MARKS):
            return self._cell(marks, indent)
        name, deeper = MARKS[len(marks)], indent + "    "
        return [
            (f"{indent}if {name} is None:", 0), *self._marked((*marks, None), deeper),
            (f"{indent}if {name}:", 0), *self._marked((*marks, True), deeper), *self._marked((*marks, False), indent),
        ]  # fmt: skip

    def _cell(self, cell: Cell, indent: str) -> list[Placed]:
        members = self.members[cell]
        if not members:
            return [(f"{indent}pass", 0)]
        first = self.numbers[members[0]]
        return self._compared(members, first, self._splits(members), 0, len(members), indent)

    def _compared(self, members: list[Name], first: int, splits: Splits, low: int, high: int, indent: str) -> list[Placed]:
        """Return the comparisons that tell members[low:high] apart, with their lines."""
        if high - low == 1:
            return self._leaf(members[low], indent)
        _, at, below_first = splits(low, high)
        inner, after = ((low, at), (at, high)) if below_first else ((at, high), (low, at))
        sign = "<" if below_first else ">="
        return [
            (f"{indent}if op {sign} {first + at}:", 0),
            *self._compared(members, first, splits, *inner, indent + "    "),
            *self._compared(members, first, splits, *after, indent),
        ]

    def _leaf(self, run: Name, indent: str) -> list[Placed]:
        last = sum(1 + name.count("__") for name in run) - 1  # such a name stands for two opcodes, of which the first may fail
        lines = [(indent + " " * 4 * deeper + text, 0 if at is None else last - at) for deeper, text, at in self.code[run]]
        return [(f"{indent}# {' '.join(run)}", 0), *lines]

    def _splits(self, members: list[Name]) -> Splits:
        """Return a function that gives for a range of members the cost of telling them apart, where to divide, and whether the
        lower part stands first."""
        weights = [0, *accumulate(map(self.weight, members))]
        sizes = [0, *accumulate(self.units[run] for run in members)]

        def choices(low: int, high: int) -> range:
            if high - low <= SMALL_CELL:
                return range(low + 1, high)
            at = low + 1
            while at < high - 1 and (weights[at] - weights[low]) * 2 < weights[high] - weights[low]:
                at += 1
            return range(at, at + 1)

        @cache
        def best(low: int, high: int) -> tuple[float, int, bool]:
            if high - low == 1:
                return 0, low, True
            total = weights[high] - weights[low]
            found: tuple[float, int, bool] | None = None
            for at in choices(low, high):
                below, above = sizes[at] - sizes[low], sizes[high] - sizes[at]
                cost = total * (QUICK if min(below, above) <= SHORT else SLOW) + best(low, at)[0] + best(at, high)[0]
                if found is None or cost < found[0]:
                    found = cost, at, below <= above
            assert found is not None
            return found

        return best


def units(lines: list[str]) -> int:
    """Return how long the code of these lines is, about. It is computed from the syntax tree, so that every version of Python
    writes the same loop."""
    parts = ast.walk(ast.parse("\n".join(lines).replace("continue", "pass").replace("break", "pass").replace("return", "pass")))
    return COMPARING + sum(LENGTHS.get(type(part), 1) for part in parts)
