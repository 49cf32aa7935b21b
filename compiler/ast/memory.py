"""Contexts of memory."""

from __future__ import annotations

from dataclasses import dataclass

from .nodes import Expr, Ident, Item, Node, TypeExpr


@dataclass(slots=True, kw_only=True, eq=False)
class Slot(Node):
    name: Ident
    mutable: bool
    type: TypeExpr
    default: Expr | None


@dataclass(slots=True, kw_only=True, eq=False)
class Tier(Node):
    """`persistent`, `session` or `ephemeral`."""

    kind: str
    slots: list[Slot]


@dataclass(slots=True, kw_only=True, eq=False)
class Context(Item):
    name: Ident
    tiers: list[Tier]
