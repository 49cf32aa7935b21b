"""The laws of the formatter, as one function over a program text."""

from __future__ import annotations

import re
from collections import Counter
from difflib import unified_diff

from concerto.compiler.diagnostics import Diagnostics
from concerto.compiler.format import first_difference, format_source
from concerto.compiler.format.field_order import blocks, sort_fields
from concerto.compiler.source import Source
from concerto.compiler.syntax import ast
from concerto.compiler.syntax.parse import parse


def tree(text: str) -> ast.Program | None:
    """The tree of a text; None if it has syntax errors."""
    diagnostics = Diagnostics()
    program = parse(Source("t.conc", text.replace("\r\n", "\n")), diagnostics)
    return None if diagnostics.has_errors else program


def formatted(text: str) -> str | None:
    return format_source(Source("t.conc", text), Diagnostics())


def canonical(text: str) -> str:
    result = formatted(text)
    assert result is not None, text
    return result


def broken_law(text: str) -> str | None:
    """Which law formatting this program breaks, if any."""
    before = tree(text)
    assert before is not None
    result = canonical(text)
    after = tree(result)
    if after is None:
        return f"the result does not parse:\n{result}"
    moves = put_in_order(before)
    difference = first_difference(before, after)
    if difference is not None:
        return f"another tree: {difference}\n{result}"
    # A comment moves with the field it stands at.
    if (Counter if moves else list)(comments(before)) != (Counter if moves else list)(comments(after)):
        return f"other comments:\n{result}"
    again = canonical(result)
    if again != result:
        return "not idempotent:\n" + "".join(unified_diff(result.splitlines(True), again.splitlines(True)))
    return None


def put_in_order(program: ast.Program) -> bool:
    """Sort the fields of memory blocks as the formatter does; return whether any field moves."""
    moves = False
    for block in blocks(program):
        moves = moves or sort_fields(block.entries) != block.entries
        block.entries = sort_fields(block.entries)
    return moves


def comments(program: ast.Program) -> list[str]:
    """Their texts; blanks at the end of a comment may go, and `///` behind code may become `//`."""
    texts = [(comment.text.rstrip(), comment.own_line) for comment in program.comments]
    return [re.sub(r"^///(?!/)", "//", text) if not own_line else text for text, own_line in texts]
