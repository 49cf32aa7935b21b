"""Expressions where the parser gave up.

Must not know: what stood there.
"""

from __future__ import annotations

from .. import ast
from ..types import Type
from .context import Checker, Expected, ExpressionRule
from .relations import ERRONEOUS


def erroneous(c: Checker, node: ast.ErrorExpr, expected: Expected) -> Type:
    """The parser has reported it; what stands inside is looked at all the same."""
    for part in node.inside:
        c.infer(part)
    return ERRONEOUS


RULES: dict[type[ast.Expr], ExpressionRule] = {
    ast.ErrorExpr: erroneous,
}
