"""Constant values: into code, and as plain data for declarations."""

from __future__ import annotations

from typing import Any

from ...vm.bytecode import image as im
from .. import ast, symbols
from .generator import Generator

_KINDS = {int: im.K_INT, float: im.K_FLOAT, str: im.K_STRING}
SMALL = 1 << 14  # Ints that INT carries in two operand bytes


def emit_constant(g: Generator, value: Any) -> None:
    """Push a folded constant; collections are built anew, since every use is a value of its own."""
    e = g.emitter
    if value is None:
        e.emit("NIL")
    elif isinstance(value, bool):
        e.emit("TRUE" if value else "FALSE")
    elif isinstance(value, int) and 0 <= value < SMALL:
        e.emit("INT", value)
    elif isinstance(value, (int, float, str)):
        e.emit("CONST", g.module.pool.constant(_KINDS[type(value)], value))
    elif isinstance(value, (list, tuple)):
        for item in value:
            emit_constant(g, item)
        e.emit("ARRAY" if isinstance(value, list) else "TUPLE", len(value), len(value))
    elif isinstance(value, dict):
        for key, item in value.items():
            emit_constant(g, key)
            emit_constant(g, item)
        e.emit("MAP", 2 * len(value), 2 * len(value))
    else:
        raise AssertionError(f"no constant form for {value!r}")


class NotConstant(Exception):
    """The expression is evaluated when the program runs."""


def constant_of(expr: ast.Expr) -> Any:
    """The plain data a constant expression denotes: None, bool, int, float, str, list, tuple, dict. Raises NotConstant."""
    if isinstance(expr, (ast.IntLiteral, ast.FloatLiteral, ast.StringLiteral, ast.BoolLiteral)):
        return expr.value
    if isinstance(expr, ast.NilLiteral):
        return None
    if isinstance(expr, ast.GroupExpr):
        return constant_of(expr.inner)
    if isinstance(expr, ast.Unary) and expr.operator == "-":
        value = constant_of(expr.operand)
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return -value
    if isinstance(expr, ast.ArrayExpr):
        return [constant_of(item) for item in expr.items]
    if isinstance(expr, ast.MapExpr):
        return {constant_of(entry.key): constant_of(entry.value) for entry in expr.entries}
    if isinstance(expr, ast.PathExpr) and isinstance(expr.binding, symbols.ConstSymbol):
        return expr.binding.value
    raise NotConstant
