"""One-line changes of the product's source, as a careless programmer would make them, drawn by a seed (C-12.7)."""

from __future__ import annotations

import ast
import random
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("compiler", "vm", "runtime")

COMPARISONS = {
    ast.Lt: ("<", "<="), ast.LtE: ("<=", "<"), ast.Gt: (">", ">="), ast.GtE: (">=", ">"), ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="), ast.Is: ("is", "is not"), ast.IsNot: ("is not", "is"), ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"),
}  # fmt: skip
ARITHMETIC = {ast.Add: ("+", "-"), ast.Sub: ("-", "+"), ast.Mult: ("*", "+"), ast.FloorDiv: ("//", "*"), ast.Mod: ("%", "//")}


class Change(NamedTuple):
    """`old`, from byte `start` to byte `end` of the file, becomes `new`."""

    file: str
    line: int
    function: str
    start: int
    end: int
    old: str
    new: str

    def source(self) -> str:
        """The text of the changed file."""
        text = (ROOT / self.file).read_bytes()
        return (text[: self.start] + self.new.encode() + text[self.end :]).decode()

    @property
    def key(self) -> tuple[str, str, str, str]:
        """Its file, function, old and new text, which stay when lines move."""
        return self.file, self.function, " ".join(self.old.split()), " ".join(self.new.split())

    @property
    def where(self) -> str:
        return f"{self.file}:{self.line}"

    @property
    def what(self) -> str:
        old, new = (" ".join(part.split()) for part in (self.old, self.new))
        return f"`{old}` becomes `{new}`" if new != "pass" else f"`{old}` is left out"


class _Sites(ast.NodeVisitor):
    """Every change of one file that its operators allow."""

    def __init__(self, file: str, text: str) -> None:
        self.file = file
        self.data = text.encode()
        self.starts = [0]
        for line in self.data.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))
        self.function = ""
        self.found: list[Change] = []

    # ------------------------------------------------------------ places

    def at(self, line: int, column: int) -> int:
        return self.starts[line - 1] + column

    def span(self, node: ast.AST) -> tuple[int, int]:
        return self.at(node.lineno, node.col_offset), self.at(node.end_lineno, node.end_col_offset)

    def change(self, start: int, end: int, new: str) -> None:
        line = self.data.count(b"\n", 0, start) + 1
        self.found.append(Change(self.file, line, self.function, start, end, self.data[start:end].decode(), new))

    def between(self, left: ast.AST, right: ast.AST, old: str, new: str) -> None:
        """The operator between two operands."""
        start, end = self.span(left)[1], self.span(right)[0]
        at = self.data[start:end].find(old.encode())
        if at >= 0:
            self.change(start + at, start + at + len(old), new)

    # ------------------------------------------------------------ what is left alone

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        outer, self.function = self.function, f"{self.function}.{node.name}".strip(".")
        for statement in node.body:
            self.visit(statement)
        self.function = outer

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        outer, self.function = self.function, f"{self.function}.{node.name}".strip(".")
        for statement in node.body:
            self.visit(statement)
        self.function = outer

    def visit_If(self, node: ast.If) -> None:
        if isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            return
        self.condition(node.test)
        self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def visit_Assert(self, node: ast.Assert) -> None:
        return  # what must never be false

    # ------------------------------------------------------------ the operators

    def condition(self, test: ast.expr) -> None:
        """A condition without an operator of its own is turned round."""
        if isinstance(test, (ast.Name, ast.Attribute, ast.Call, ast.Subscript)):
            start, end = self.span(test)
            self.change(start, end, f"not {self.data[start:end].decode()}")

    def visit_IfExp(self, node: ast.IfExp) -> None:
        self.condition(node.test)
        self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> None:
        operands = [node.left, *node.comparators]
        for left, operator, right in zip(operands, node.ops, operands[1:], strict=False):
            if not isinstance(right, ast.JoinedStr):
                self.between(left, right, *COMPARISONS[type(operator)])
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        words = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
        for left, right in zip(node.values, node.values[1:], strict=False):
            self.between(left, right, *words)
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        if isinstance(node.op, ast.Not):
            self.change(self.span(node)[0], self.span(node.operand)[0], "")
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        sides = (node.left, node.right)
        texts = any(isinstance(side, ast.Constant) and isinstance(side.value, str) for side in sides)
        if type(node.op) in ARITHMETIC and not texts and not isinstance(node.left, (ast.JoinedStr, ast.List)):
            self.between(*sides, *ARITHMETIC[type(node.op)])
        self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        if isinstance(node.op, (ast.Add, ast.Sub)):
            old, new = ("+=", "-=") if isinstance(node.op, ast.Add) else ("-=", "+=")
            if not isinstance(node.value, (ast.List, ast.ListComp, ast.JoinedStr)):
                self.between(node.target, node.value, old, new)
        self.visit(node.value)

    def visit_Constant(self, node: ast.Constant) -> None:
        start, end = self.span(node)
        if node.value is True or node.value is False:
            self.change(start, end, str(not node.value))
        elif type(node.value) is int:
            self.change(start, end, str(node.value + 1))

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        return  # places inside an f-string are not known exactly before Python 3.12

    def visit_Return(self, node: ast.Return) -> None:
        value = node.value
        if value is not None and not (isinstance(value, ast.Constant) and value.value in (None, True, False)):
            start, end = self.span(value)
            self.change(start, end, "None")
        self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, (ast.Call, ast.Await)) and self.function:
            self.change(*self.span(node), "pass")
        if not isinstance(node.value, ast.Constant):
            self.generic_visit(node)

    def visit_Raise(self, node: ast.Raise) -> None:
        if node.exc is not None:
            self.change(*self.span(node), "pass")
        self.generic_visit(node)

    def visit_Continue(self, node: ast.Continue) -> None:
        self.change(*self.span(node), "break")

    def visit_Break(self, node: ast.Break) -> None:
        self.change(*self.span(node), "continue")


def changes_of(path: Path) -> list[Change]:
    return changes_in(str(path.relative_to(ROOT)), path.read_text(encoding="utf-8"))


def changes_in(file: str, text: str) -> list[Change]:
    """The changes of the file of that name with that text, within its functions and classes."""
    sites = _Sites(file, text)
    sites.visit(ast.parse(text))
    return [change for change in sites.found if change.start != change.end and change.function]


def _sources() -> Iterator[Path]:
    for room in ROOMS:
        for path in sorted((ROOT / room).rglob("*.py")):
            if "generated" not in path.parts:
                yield path


def drawn(seed: int, count: int) -> list[Change]:
    """`count` changes, at most one of a line, every possible one with the same chance; the same seed draws the same ones."""
    by_line: dict[tuple[str, int], list[Change]] = {}
    for path in _sources():
        for change in changes_of(path):
            by_line.setdefault((change.file, change.line), []).append(change)
    random_ = random.Random(seed)
    lines = sorted(by_line)
    chosen: list[Change] = []
    while lines and len(chosen) < count:
        places = random_.sample(lines, min(count - len(chosen), len(lines)))
        for line in places:
            change = random_.choice(by_line[line])
            try:
                compile(change.source(), change.file, "exec")
            except SyntaxError:
                continue
            chosen.append(change)
        lines = [line for line in lines if line not in set(places)]
    return sorted(chosen)
