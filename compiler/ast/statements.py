"""Statements."""

from __future__ import annotations

from dataclasses import dataclass

from .nodes import Expr, Item, Pattern, Stmt, TypeExpr


@dataclass(slots=True, kw_only=True, eq=False)
class ExprStmt(Stmt):
    """`e;` or a block-like form that ends at its brace (`terminated` false)."""

    expr: Expr
    terminated: bool


@dataclass(slots=True, kw_only=True, eq=False)
class Let(Stmt):
    pattern: Pattern
    type: TypeExpr | None
    value: Expr | None


@dataclass(slots=True, kw_only=True, eq=False)
class ItemStmt(Stmt):
    item: Item


@dataclass(slots=True, kw_only=True, eq=False)
class EmptyStmt(Stmt):
    """A lone `;`."""
