"""The search tree of the loop: from an opcode's node to its lines, by the fewest steps of CPython 3.11 for what runs often.

A node names one of nine cells by two marks, each None, True or False, and within it a number that comparisons look for. A mark
costs a load and a jump wherever it jumps to; a comparison is quick only when it jumps over at most 255 units of code (3.11 does
not specialise one whose jump needs a prefix), and four times as dear otherwise. So the marks decide first, and
comparisons of a cell jump over little. Hands on `Cells`. Must not know: what opcodes do.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import cache

Mark = bool | None
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
    """Opcode names by cell, each in the order of its numbers. `weight` and `code` give the weight and the lines of each."""

    def __init__(self, names: list[str], weight: Callable[[str], int], code: dict[str, list[str]]) -> None:
        self.weight = weight
        self.code = code
        self.units = {name: units(code[name]) for name in names}
        self.members: dict[tuple[Mark, Mark], list[str]] = {cell: [] for cell in SHARES}
        held = dict.fromkeys(SHARES, 0.0)
        for name in sorted(names, key=lambda name: (-weight(name), name)):
            cell = RARE if weight(name) < 2 else min(SHARES, key=lambda cell: (held[cell] + weight(name)) / SHARES[cell])
            self.members[cell].append(name)
            held[cell] += weight(name)
        self.order = [name for members in self.members.values() for name in members]
        self.numbers = {name: number for number, name in enumerate(self.order)}

    def marks(self) -> list[tuple[Mark, Mark]]:
        """The cell of each opcode, by its number."""
        return [cell for cell, members in self.members.items() for _ in members]

    def lines(self, indent: str) -> list[str]:
        """The whole tree."""

        def beneath(near: Mark, inner: str) -> list[str]:
            return _by_mark("far", lambda far, deeper: self._cell((near, far), deeper), inner)

        return _by_mark("near", beneath, indent)

    def _cell(self, cell: tuple[Mark, Mark], indent: str) -> list[str]:
        members = self.members[cell]
        first = self.numbers[members[0]]
        return self._compared(members, first, self._splits(members), 0, len(members), indent)

    def _compared(self, members: list[str], first: int, splits: Splits, low: int, high: int, indent: str) -> list[str]:
        """Comparisons that tell members[low:high] apart."""
        if high - low == 1:
            return self._leaf(members[low], indent)
        _, at, below_first = splits(low, high)
        inner, after = ((low, at), (at, high)) if below_first else ((at, high), (low, at))
        sign = "<" if below_first else ">="
        return [
            f"{indent}if op {sign} {first + at}:",
            *self._compared(members, first, splits, *inner, indent + "    "),
            *self._compared(members, first, splits, *after, indent),
        ]

    def _leaf(self, name: str, indent: str) -> list[str]:
        lines = self.code[name]
        last = lines[-1].lstrip() if lines else ""
        ends = bool(lines) and not lines[-1].startswith(" ") and last.split(" ")[0] in ("continue", "return", "raise")
        return [f"{indent}# {name}", *(indent + line for line in lines), *([] if ends else [indent + "continue"])]

    def _splits(self, members: list[str]) -> Splits:
        """For a range of members: the cost of telling them apart, where to divide, whether the lower part stands first."""
        weights = [self.weight(name) for name in members]
        sizes = [self.units[name] for name in members]

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
            found = []
            for at in choices(low, high):
                beneath = best(low, at)[0] + best(at, high)[0]
                for below_first in (True, False):
                    jumped = sum(sizes[low:at] if below_first else sizes[at:high])
                    found.append((total * (QUICK if jumped <= SHORT else SLOW) + beneath, at, below_first))
            return min(found, key=lambda choice: choice[0])

        return best


def _by_mark(name: str, part: Callable[[Mark, str], list[str]], indent: str) -> list[str]:
    deeper = indent + "    "
    return [f"{indent}if {name} is None:", *part(None, deeper), f"{indent}if {name}:", *part(True, deeper), *part(False, indent)]


def units(lines: list[str]) -> int:
    """How long the code of these lines is, about: every version of Python is to write the same loop."""
    parts = ast.walk(ast.parse("\n".join(lines).replace("continue", "pass").replace("break", "pass").replace("return", "pass")))
    return COMPARING + sum(LENGTHS.get(type(part), 1) for part in parts)
