"""Expressions where the parser gave up.

Must not know: what stood there.
"""

from __future__ import annotations

from .. import ast
from ..types import Type
from .context import Checker, Expected, ExpressionRule
from .relations import ERRONEOUS


def erroneous(c: Checker, node: ast.Expr, expected: Expected) -> Type:
    """Recovery gave up here; the parser has reported it."""
    return ERRONEOUS


RULES: dict[type[ast.Expr], ExpressionRule] = {
    ast.ErrorExpr: erroneous,
}
