"""Expressions that are parsed but not yet compiled: one E4999 each, and the type Any.

Must not know: anything about them.
"""

from __future__ import annotations

from .. import ast
from ..types import Type
from .context import Checker, Expected, ExpressionRule
from .relations import ERRONEOUS

NAMES: dict[type[ast.Expr], str] = {
    ast.Listen: "listen",
}


def unbuilt(c: Checker, node: ast.Expr, expected: Expected) -> Type:
    return c.unbuilt(node.span, NAMES[type(node)])


def erroneous(c: Checker, node: ast.Expr, expected: Expected) -> Type:
    """Recovery gave up here; the parser has reported it."""
    return ERRONEOUS



RULES: dict[type[ast.Expr], ExpressionRule] = {
    **dict.fromkeys(NAMES, unbuilt),
    ast.ErrorExpr: erroneous,
}
