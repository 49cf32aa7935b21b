"""How patterns are written."""

from __future__ import annotations

from .. import ast
from .layout import LINE
from .printer import COMMA_IF_BROKEN, Printer, prints
from .types import close_parentheses, open_parentheses, path


def pattern(p: Printer, node: ast.Pattern) -> None:
    """A pattern; the tree does not keep the parentheses around it, so they are found by position."""
    parentheses = open_parentheses(p, node)
    p.node(node)
    close_parentheses(p, parentheses)


@prints(ast.WildcardPattern, ast.LiteralPattern, ast.RangePattern)
def tokens(p: Printer, node: ast.Pattern) -> int:
    """Words, numbers, strings and ranges: their tokens without blanks between."""
    while p.next_start() < node.span.end:
        p.token(p.text[p.next_start() : p.ends[p.row]])
    return 0


@prints(ast.BindPattern)
def binding(p: Printer, node: ast.BindPattern) -> int:
    if node.mutable:
        p.token("mut")
        p.pending = " "
    p.name(node.name)
    if node.inner is not None:
        p.spaced("@")
        pattern(p, node.inner)
    return 0


@prints(ast.PathPattern)
def path_(p: Printer, node: ast.PathPattern) -> int:
    path(p, node.path)
    return 0


@prints(ast.TupleStructPattern)
def tuple_struct(p: Printer, node: ast.TupleStructPattern) -> int:
    path(p, node.path)
    p.bracketed("(", node.items, ")", lambda item: pattern(p, item))
    return 0


@prints(ast.StructPattern)
def struct(p: Printer, node: ast.StructPattern) -> int:
    path(p, node.path)
    p.pending = " "
    fields: list[ast.FieldPattern | None] = [*node.fields]
    if node.rest:
        fields.append(None)
    p.braced(fields, lambda part: field(p, part))
    return 0


def field(p: Printer, node: ast.FieldPattern | None) -> None:
    """A field, or the `..` that stands for the other fields."""
    if node is None:
        p.token("..")
        return
    if not node.shorthand:
        p.name(node.name)
        p.token(":")
        p.pending = " "
    pattern(p, node.pattern)


@prints(ast.TuplePattern)
def tuple_(p: Printer, node: ast.TuplePattern) -> int:
    last = "," if len(node.items) == 1 else COMMA_IF_BROKEN
    p.bracketed("(", node.items, ")", lambda item: pattern(p, item), last=last)
    return 0


@prints(ast.ArrayPattern)
def array(p: Printer, node: ast.ArrayPattern) -> int:
    p.bracketed("[", node.items, "]", lambda item: pattern(p, item))
    return 0


@prints(ast.RestPattern)
def rest(p: Printer, node: ast.RestPattern) -> int:
    p.token("..")
    if node.name is not None:
        p.name(node.name)
    return 0


@prints(ast.OrPattern)
def alternatives(p: Printer, node: ast.OrPattern) -> int:
    group = p.begin()
    pattern(p, node.alternatives[0])
    for alternative in node.alternatives[1:]:
        p.pending = LINE
        p.token("|")
        p.pending = " "
        pattern(p, alternative)
    p.end(group)
    return 0
