"""How literals, paths, collections, closures and jumps are written."""

from __future__ import annotations

from .. import ast
from .layout import SOFT
from .patterns import pattern
from .printer import COMMA_IF_BROKEN, Printer, prints
from .types import annotation, path, result, type_arguments

# ---------------------------------------------------------------- literals and names


@prints(
    ast.IntLiteral, ast.FloatLiteral, ast.StringLiteral, ast.Interpolation, ast.BoolLiteral, ast.NilLiteral
)  # fmt: skip
def literal(p: Printer, node: ast.Expr) -> int:
    p.verbatim(node)
    return 0


@prints(ast.PathExpr)
def path_expression(p: Printer, node: ast.PathExpr) -> int:
    path(p, node.segments)
    type_arguments(p, node.type_arguments)
    if node.member is not None:
        p.token("::")
        p.name(node.member)
    return 0


# ---------------------------------------------------------------- collections


@prints(ast.GroupExpr)
def group_(p: Printer, node: ast.GroupExpr) -> int:
    p.token("(")
    group = p.begin_inside()
    p.pending = SOFT
    group.hug = given = p.node(node.inner)
    p.close(SOFT, ")", group)
    return given


@prints(ast.TupleExpr)
def tuple_(p: Printer, node: ast.TupleExpr) -> int:
    last = "," if len(node.items) == 1 else COMMA_IF_BROKEN
    return p.bracketed("(", node.items, ")", p.node, last=last)


@prints(ast.ArrayExpr)
def array(p: Printer, node: ast.ArrayExpr) -> int:
    if len(node.items) > 1 and all(is_number(item) for item in node.items):
        return numbers(p, node)
    return p.bracketed("[", node.items, "]", p.node)


def is_number(node: ast.Expr) -> bool:
    if isinstance(node, ast.Unary):
        node = node.operand
    return isinstance(node, (ast.IntLiteral, ast.FloatLiteral))


def numbers(p: Printer, node: ast.ArrayExpr) -> int:
    """An array of numbers: as many on a line as fit."""
    p.token("[")
    inside = len(p.operations)
    group = p.begin_inside()
    p.pending = SOFT
    line = p.begin(filled=True)
    for at, item in enumerate(node.items):
        if at:
            p.next_item()
        p.node(item)
    p.end(line)
    p.separator(",", COMMA_IF_BROKEN)
    p.close(SOFT, "]", group)
    return inside


@prints(ast.MapExpr)
def map_(p: Printer, node: ast.MapExpr) -> int:
    return p.braced(node.entries, p.node)


@prints(ast.MapEntry)
def map_entry(p: Printer, node: ast.MapEntry) -> int:
    p.node(node.key)
    p.token(":")
    p.pending = " "
    return p.node(node.value)


@prints(ast.StructExpr)
def struct(p: Printer, node: ast.StructExpr) -> int:
    path(p, node.path)
    type_arguments(p, node.type_arguments)
    p.pending = " "
    parts: list[ast.FieldInit | ast.Expr] = [*node.fields]
    if node.base is not None:
        parts.append(node.base)
    return p.braced(parts, lambda part: struct_part(p, part))


def struct_part(p: Printer, part: ast.FieldInit | ast.Expr) -> int:
    """A field, or `..base`."""
    if not isinstance(part, ast.FieldInit):
        p.token("..")
        return p.node(part)
    p.name(part.name)
    if part.shorthand:
        return 0
    p.token(":")
    p.pending = " "
    return p.node(part.value)


# ---------------------------------------------------------------- closures


@prints(ast.Closure)
def closure(p: Printer, node: ast.Closure) -> int:
    if node.function_form:
        p.token("fn")
        p.bracketed("(", node.parameters, ")", p.node)
    elif p.next_is("||"):
        p.token("||")
    else:
        closure_parameters(p, node)
    result(p, node.result)
    p.pending = " "
    return p.node(node.body)


def closure_parameters(p: Printer, node: ast.Closure) -> None:
    p.token("|")
    count = len(node.parameters)
    for at, parameter in enumerate(node.parameters, 1):
        if parameter.pattern is not None:
            pattern(p, parameter.pattern)
        else:
            p.name(parameter.name)
        annotation(p, parameter.type)
        p.separator(",", "," if at < count else None)
        if at < count:
            p.pending = " "
    p.token("|")


# ---------------------------------------------------------------- jumps


@prints(ast.Return)
def return_(p: Printer, node: ast.Return) -> int:
    p.token("return")
    return operand(p, node.value)


@prints(ast.Throw)
def throw(p: Printer, node: ast.Throw) -> int:
    p.token("throw")
    return operand(p, node.value)


@prints(ast.Break)
def break_(p: Printer, node: ast.Break) -> int:
    p.token("break")
    target(p, node.label)
    return operand(p, node.value)


@prints(ast.Continue)
def continue_(p: Printer, node: ast.Continue) -> int:
    p.token("continue")
    target(p, node.label)
    return 0


def operand(p: Printer, node: ast.Expr | None) -> int:
    if node is None:
        return 0
    p.pending = " "
    return p.node(node)


def target(p: Printer, label: ast.Ident | None) -> None:
    if label is not None:
        p.pending = " "
        p.token("'" + label.text)
