"""The search tree of the loop: from an opcode's node to its lines, by the fewest steps of CPython 3.11 for what runs often.

Hands on `Cells` to `gen_loop.py` and the type `Line` to `loop_compose.py`. What the lines of a run are is not known here. A node
names one of nine cells by two marks, each None, True or False, and within it a number that comparisons look for. A mark costs a
load and a jump wherever it jumps to; a comparison is quick only when it jumps over at most 255 units of code (3.11 does not
specialise one whose jump needs a prefix), and is several times as dear otherwise. So the marks decide first, and comparisons of a
cell jump over little. The costs are the constants below.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import cache

Mark = bool | None
Name = tuple[str, ...]  # the opcodes of a run
Line = tuple[int, str, int | None]  # of a run: indent, text, index of the opcode that fails if this line does
Placed = tuple[str, int]  # of the tree: the line, and how far before the next node the opcode stands that fails if it does
Splits = Callable[[int, int], tuple[float, int, bool]]

# The cells, and the part of all instructions that is to be found in each: the later, the more marks are looked at.
SHARES: dict[tuple[Mark, Mark], float] = {
    (None, None): 0.19, (None, True): 0.12, (None, False): 0.12, (True, None): 0.12, (False, None): 0.12,
    (True, True): 0.09, (True, False): 0.09, (False, True): 0.09, (False, False): 0.06,
}  # fmt: skip
RARE = (False, False)  # the cell of what weighs next to nothing

SHORT = 205  # units of code, about, that a quick comparison may jump over
QUICK, SLOW = 28, 85  # instructions of the processor that a comparison takes
COMPARING = 8  # units of a comparison and its jump, at most
LENGTHS: dict[type[ast.AST], int] = {
    ast.Attribute: 5, ast.Call: 9, ast.Compare: 4, ast.Subscript: 5, ast.BinOp: 2, ast.Tuple: 2, ast.Try: 8, ast.For: 4,
    ast.Raise: 2, ast.Load: 0, ast.Store: 0, ast.Del: 0, ast.Module: 0, ast.Assign: 0, ast.Expr: 1, ast.keyword: 1,
}  # fmt: skip
SMALL_CELL = 40  # more opcodes than that are divided by weight alone


class Cells:
    """Runs of opcodes by cell, each in the order of its numbers. `weight` gives how often a run is met, `code` its lines.
    `numbers` has the number of each run, which nodes hold."""

    def __init__(self, runs: list[Name], weight: Callable[[Name], int], code: dict[Name, list[Line]]) -> None:
        self.weight = weight
        self.code = code
        self.units = {run: units([" " * 4 * indent + text for indent, text, _ in code[run]]) for run in runs}
        self.members: dict[tuple[Mark, Mark], list[Name]] = {cell: [] for cell in SHARES}
        held = dict.fromkeys(SHARES, 0.0)
        for run in sorted(runs, key=lambda run: (-weight(run), run)):
            cell = RARE if weight(run) < 2 else min(SHARES, key=lambda cell: (held[cell] + weight(run)) / SHARES[cell])
            self.members[cell].append(run)
            held[cell] += weight(run)
        self.order = [run for members in self.members.values() for run in members]
        self.numbers = {run: number for number, run in enumerate(self.order)}

    def marks(self) -> list[tuple[Mark, Mark]]:
        """Return the cell of each run, by its number."""
        return [cell for cell, members in self.members.items() for _ in members]

    def lines(self, indent: str) -> list[Placed]:
        """Return the whole tree, indented by `indent`."""

        def beneath(near: Mark, inner: str) -> list[Placed]:
            return _by_mark("far", lambda far, deeper: self._cell((near, far), deeper), inner)

        return _by_mark("near", beneath, indent)

    def _cell(self, cell: tuple[Mark, Mark], indent: str) -> list[Placed]:
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
        weights = [self.weight(run) for run in members]
        sizes = [self.units[run] for run in members]

        def choices(low: int, high: int) -> range:
            if high - low <= SMALL_CELL:
                return range(low + 1, high)
            at, running = low + 1, weights[low]
            while at < high - 1 and running * 2 < sum(weights[low:high]):
                running += weights[at]
                at += 1
            return range(at, at + 1)

        @cache
        def best(low: int, high: int) -> tuple[float, int, bool]:
            if high - low == 1:
                return 0, low, True
            total = sum(weights[low:high])
            options = []
            for at in choices(low, high):
                inner_cost = best(low, at)[0] + best(at, high)[0]
                for below_first in (True, False):
                    jumped = sum(sizes[low:at] if below_first else sizes[at:high])
                    options.append((total * (QUICK if jumped <= SHORT else SLOW) + inner_cost, at, below_first))
            return min(options, key=lambda choice: choice[0])

        return best


def _by_mark(name: str, part: Callable[[Mark, str], list[Placed]], indent: str) -> list[Placed]:
    deeper = indent + "    "
    return [
        (f"{indent}if {name} is None:", 0), *part(None, deeper), (f"{indent}if {name}:", 0), *part(True, deeper),
        *part(False, indent),
    ]  # fmt: skip


def units(lines: list[str]) -> int:
    """Return how long the code of these lines is, about. It is computed from the syntax tree, so that every version of Python
    writes the same loop."""
    parts = ast.walk(ast.parse("\n".join(lines).replace("continue", "pass").replace("break", "pass").replace("return", "pass")))
    return COMPARING + sum(LENGTHS.get(type(part), 1) for part in parts)
