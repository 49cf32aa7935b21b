"""How types are written."""

from __future__ import annotations

from collections.abc import Sequence

from .. import ast
from .layout import LINE
from .printer import Printer, prints


def type_(p: Printer, node: ast.TypeExpr) -> None:
    """A type; the tree does not keep the parentheses around it, so they are found by position."""
    parentheses = open_parentheses(p, node)
    p.node(node)
    close_parentheses(p, parentheses)


def open_parentheses(p: Printer, node: ast.Node) -> int:
    count = 0
    while p.next_start() < node.span.start and p.next_is("("):
        p.token("(")
        count += 1
    return count


def close_parentheses(p: Printer, count: int) -> None:
    for _ in range(count):
        p.token(")")


def types(p: Printer, opening: str, nodes: Sequence[ast.TypeExpr], closing: str, *, alone: str | None = None) -> None:
    """Types with commas on one line; `alone` is what stands behind a single one."""
    p.token(opening)
    for at, node in enumerate(nodes, 1):
        type_(p, node)
        p.separator(",", "," if at < len(nodes) else alone if len(nodes) == 1 else None)
        if at < len(nodes):
            p.pending = " "
    p.token(closing)


def path(p: Printer, segments: Sequence[ast.Ident]) -> None:
    for at, segment in enumerate(segments):
        if at:
            p.token("::")
        p.name(segment)


def type_arguments(p: Printer, arguments: Sequence[ast.TypeExpr] | None) -> None:
    if arguments is not None:
        types(p, "<", arguments, ">")


def annotation(p: Printer, node: ast.TypeExpr | None) -> None:
    """`: T`, if there is one."""
    if node is not None:
        p.token(":")
        p.pending = " "
        type_(p, node)


def result(p: Printer, node: ast.TypeExpr | None) -> None:
    """` -> T`, if there is one."""
    if node is not None:
        p.spaced("->")
        type_(p, node)


def type_parameters(p: Printer, parameters: Sequence[ast.TypeParameter]) -> None:
    if not parameters:
        return
    p.token("<")
    for at, parameter in enumerate(parameters, 1):
        p.node(parameter)
        p.separator(",", "," if at < len(parameters) else None)
        if at < len(parameters):
            p.pending = " "
    p.token(">")


@prints(ast.TypeParameter)
def type_parameter(p: Printer, node: ast.TypeParameter) -> int:
    p.name(node.name)
    for at, bound in enumerate(node.bounds):
        if at:
            p.spaced("+")
        else:
            p.token(":")
            p.pending = " "
        type_(p, bound)
    return 0


@prints(ast.NamedType)
def named(p: Printer, node: ast.NamedType) -> int:
    path(p, node.path)
    type_arguments(p, node.arguments)
    return 0


@prints(ast.NilableType)
def nilable(p: Printer, node: ast.NilableType) -> int:
    type_(p, node.inner)
    p.token("?")
    return 0


@prints(ast.FunctionType)
def function(p: Printer, node: ast.FunctionType) -> int:
    p.token("fn")
    types(p, "(", node.parameters, ")")
    result(p, node.result)
    return 0


@prints(ast.TupleType)
def tuple_(p: Printer, node: ast.TupleType) -> int:
    types(p, "(", node.items, ")", alone=",")
    return 0


@prints(ast.LiteralType)
def literal(p: Printer, node: ast.LiteralType) -> int:
    p.verbatim(node)
    return 0


@prints(ast.UnionType)
def union(p: Printer, node: ast.UnionType) -> int:
    group = p.begin()
    type_(p, node.members[0])
    p.indent()
    for member in node.members[1:]:
        p.pending = LINE
        p.token("|")
        p.pending = " "
        type_(p, member)
    p.dedent()
    p.end(group)
    return 0
