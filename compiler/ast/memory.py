"""Contexts of memory."""

from __future__ import annotations

from .nodes import Expr, Ident, Item, Node, TypeExpr, node


@node
class Slot(Node):
    name: Ident
    mutable: bool
    type: TypeExpr
    default: Expr | None


@node
class Tier(Node):
    """`persistent`, `session` or `ephemeral`."""

    kind: str
    slots: list[Slot]


@node
class Context(Item):
    name: Ident
    tiers: list[Tier]
