"""Conditions: jumps instead of Bool values."""

from __future__ import annotations

from .. import ast
from .emitter import Label
from .generator import Generator


def branch_unless(g: Generator, condition: ast.Expr, label: Label) -> None:
    """Go to `label` when the condition is false."""
    g.module.nesting.call(_branch, g, condition, label, False)


def _branch(g: Generator, condition: ast.Expr, label: Label, wanted: bool) -> None:
    """Go to `label` when the condition is `wanted`. In a chain of `||` (of `&&`, when false jumps) each operand may decide alone;
    in one of the other operator each but the last may decide that nothing jumps."""
    condition = _ungrouped(condition)
    if isinstance(condition, ast.Unary) and condition.operator == "!" and condition.coercion is None:
        g.module.nesting.call(_branch, g, condition.operand, label, not wanted)
        return
    deciding, other = ("||", "&&") if wanted else ("&&", "||")
    if _is(condition, deciding):
        for operand in _operands(condition, deciding):
            g.module.nesting.call(_branch, g, operand, label, wanted)
    elif _is(condition, other):
        past = Label()
        depth = g.emitter.depth
        *earlier, last = _operands(condition, other)
        for operand in earlier:
            g.module.nesting.call(_branch, g, operand, past, not wanted)
        g.module.nesting.call(_branch, g, last, label, wanted)
        g.emitter.mark(past, depth)
    else:
        g.value(condition)
        g.emitter.jump("JUMP_IF" if wanted else "JUMP_UNLESS", label)


def _operands(condition: ast.Expr, operator: str) -> list[ast.Expr]:
    """The operands of a chain, first to last; chains are left-deep and may be long (G-5.2)."""
    operands = []
    while _is(condition, operator):
        assert isinstance(condition, ast.Binary)
        operands.append(condition.right)
        condition = condition.left
    return [condition, *reversed(operands)]


def _is(expr: ast.Expr, operator: str) -> bool:
    return isinstance(expr, ast.Binary) and expr.operator == operator and expr.coercion is None


def _ungrouped(expr: ast.Expr) -> ast.Expr:
    while isinstance(expr, ast.GroupExpr) and expr.coercion is None:
        expr = expr.inner
    return expr
