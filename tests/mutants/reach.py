"""Which programs of the suite and which tests reach the places of changes.

`probe` puts a call before the statement of each change, in a copy of the tree. `reach_driver` and `reach_plugin` run there, in
processes of their own, and note what was reached after each operation or test: one line of JSON each, in a file that the
environment names.
"""

from __future__ import annotations

import ast
import json
import os
import sys
from pathlib import Path

from .changes import Change

REACHED = "MUTANTS_REACHED"  # the file, to be appended to
NAME = "_reached"  # of the set's `add` in `sys`; a process without it notes nothing
PROBE = f'__import__("sys").__dict__.get("{NAME}", id)'


def probe(changes: list[Change], tree: Path) -> None:
    by_file: dict[str, list[int]] = {}
    for number, change in enumerate(changes):
        by_file.setdefault(change.file, []).append(number)
    for file, numbers in by_file.items():
        path = tree / file
        text = path.read_text(encoding="utf-8")
        statements = Statements(text)
        lines = text.splitlines(keepends=True)
        probes = sorted(((statements.line(changes[number].line), number) for number in numbers), reverse=True)
        for line, number in probes:
            indent = lines[line - 1][: len(lines[line - 1]) - len(lines[line - 1].lstrip())]
            lines.insert(line - 1, f"{indent}{PROBE}({number})\n")
        path.write_text("".join(lines), encoding="utf-8")


class Statements:
    """Where the statements of a file begin."""

    def __init__(self, text: str) -> None:
        self.lines = text.splitlines()
        self.nodes = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.stmt)]
        self.parents = {id(child): node for node in self.nodes for child in ast.iter_child_nodes(node)}

    def line(self, inside: int) -> int:
        """The first line of the innermost statement with that line; of an `elif` that of its `if`."""
        around = [node for node in self.nodes if node.lineno <= inside <= (node.end_lineno or 0)]
        inner = max(around, key=lambda node: (node.lineno, -(node.end_lineno or 0)))
        while self.lines[inner.lineno - 1].lstrip().startswith("elif"):
            inner = self.parents[id(inner)]
        return inner.lineno


class Reach:
    """The numbers of the changes that this process reached since the last `taken`."""

    def __init__(self) -> None:
        self.seen: set[int] = set()
        setattr(sys, NAME, lambda number: self.seen.add(number))

    def taken(self) -> list[int]:
        seen, self.seen = sorted(self.seen), set()
        return seen


def note(name: str, reached: list[int], seconds: float = 0.0) -> None:
    """Appends one line to the file: a program or test, the numbers of the changes, and how long it took."""
    with open(os.environ[REACHED], "a", encoding="utf-8") as out:
        out.write(json.dumps([name, reached, round(seconds, 3)]) + "\n")
