"""Conditions: jumps instead of Bool values."""

from __future__ import annotations

from .. import ast
from .emitter import Label
from .generator import Generator


def branch_unless(g: Generator, condition: ast.Expr, label: Label) -> None:
    """Go to `label` when the condition is false."""
    condition = _ungrouped(condition)
    if isinstance(condition, ast.Unary) and condition.operator == "!" and condition.coercion is None:
        branch_if(g, condition.operand, label)
    elif _is(condition, "&&"):
        assert isinstance(condition, ast.Binary)
        branch_unless(g, condition.left, label)
        branch_unless(g, condition.right, label)
    elif _is(condition, "||"):
        assert isinstance(condition, ast.Binary)
        holds = Label()
        depth = g.emitter.depth
        branch_if(g, condition.left, holds)
        branch_unless(g, condition.right, label)
        g.emitter.mark(holds, depth)
    else:
        g.value(condition)
        g.emitter.jump("JUMP_UNLESS", label)


def branch_if(g: Generator, condition: ast.Expr, label: Label) -> None:
    """Go to `label` when the condition is true."""
    condition = _ungrouped(condition)
    if isinstance(condition, ast.Unary) and condition.operator == "!" and condition.coercion is None:
        branch_unless(g, condition.operand, label)
    elif _is(condition, "||"):
        assert isinstance(condition, ast.Binary)
        branch_if(g, condition.left, label)
        branch_if(g, condition.right, label)
    elif _is(condition, "&&"):
        assert isinstance(condition, ast.Binary)
        fails = Label()
        depth = g.emitter.depth
        branch_unless(g, condition.left, fails)
        branch_if(g, condition.right, label)
        g.emitter.mark(fails, depth)
    else:
        g.value(condition)
        g.emitter.jump("JUMP_IF", label)


def _is(expr: ast.Expr, operator: str) -> bool:
    return isinstance(expr, ast.Binary) and expr.operator == operator and expr.coercion is None


def _ungrouped(expr: ast.Expr) -> ast.Expr:
    while isinstance(expr, ast.GroupExpr) and expr.coercion is None:
        expr = expr.inner
    return expr
