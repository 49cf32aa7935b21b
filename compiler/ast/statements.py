"""Statements."""

from __future__ import annotations

from .nodes import Expr, Item, Pattern, Stmt, TypeExpr, node


@node
class ExprStmt(Stmt):
    """`e;` or a block-like form that ends at its brace (`terminated` false)."""

    expr: Expr
    terminated: bool


@node
class Let(Stmt):
    pattern: Pattern
    type: TypeExpr | None
    value: Expr | None


@node
class ItemStmt(Stmt):
    item: Item


@node
class EmptyStmt(Stmt):
    """A lone `;`."""
