"""What the checker finds in a snippet, and where.

A snippet marks each expected position with `«`; a snippet without `fn main` is the body of one. Diagnostics are compared as
(code, line, column) in order of position.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from concerto.compiler.checker.program import CheckedProgram, check
from concerto.compiler.diagnostics import Diagnostic, Diagnostics
from concerto.compiler.source import Source
from concerto.compiler.syntax import ast
from concerto.compiler.syntax.parse import parse

MARK = "«"


class Snippet:
    """A checked snippet."""

    def __init__(self, text: str) -> None:
        body = text if "fn main" in text else f"fn main() {{\n{text}\n}}"
        pieces = body.split(MARK)
        plain = "".join(pieces)
        offsets = [sum(map(len, pieces[: i + 1])) for i in range(len(pieces) - 1)]
        self.source = Source("snippet.conc", plain)
        diagnostics = Diagnostics()
        self.tree = parse(self.source, diagnostics)
        assert not diagnostics.found, f"the snippet does not parse: {diagnostics.found}"
        self.checked: CheckedProgram = check(self.tree, self.source, diagnostics)
        self.diagnostics: list[Diagnostic] = diagnostics.ordered()
        self.found = [(d.code, *self.source.position(d.span.start)) for d in self.diagnostics]
        self.marked = [tuple(self.source.position(offset)) for offset in offsets]

    def function(self, name: str) -> Any:
        return next(f for f in self.checked.functions if f.name == name)

    def nodes(self, kind: type[ast.Node]) -> list[Any]:
        """Every node of a kind, in source order."""
        found: list[ast.Node] = []
        todo: list[ast.Node] = [self.tree]
        while todo:
            node = todo.pop()
            if isinstance(node, kind):
                found.append(node)
            todo.extend(reversed(list(node.children())))
        return found


@pytest.fixture
def snippet() -> type[Snippet]:
    return Snippet


@pytest.fixture
def expect() -> Callable[[str, str], None]:
    """Asserts that exactly `codes` (one for each mark, in order) are found."""

    def compare(codes: str, text: str) -> None:
        checked = Snippet(text)
        wanted = [(code, *place) for code, place in zip(codes.split(), checked.marked, strict=True)]
        assert checked.found == wanted, "\n".join(f"{d.code} {d.message}" for d in checked.diagnostics)

    return compare
