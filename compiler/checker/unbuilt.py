"""What parses and is not compiled: the one table of methods that end in E4999, and expressions where the parser gave up.

Hands on `is_unbuilt`, which the reference pages ask too. Must not know: anything about the methods.
"""

from __future__ import annotations

from .. import ast
from ..types import Type
from .context import Checker, Expected, ExpressionRule
from .relations import ERRONEOUS

# By the kind of the receiver, as the table of built-ins names it.
METHODS: dict[str, tuple[str, ...]] = {
    "Memory": ("remember", "recall"),
}


def is_unbuilt(kind: str, name: str) -> bool:
    return name in METHODS.get(kind, ())


def erroneous(c: Checker, node: ast.Expr, expected: Expected) -> Type:
    """Recovery gave up here; the parser has reported it."""
    return ERRONEOUS


RULES: dict[type[ast.Expr], ExpressionRule] = {
    ast.ErrorExpr: erroneous,
}
