"""Contexts of memory."""

from __future__ import annotations

from dataclasses import field

from .nodes import Decorator, Expr, Ident, Item, Node, TypeExpr, node


@node
class Slot(Node):
    name: Ident
    mutable: bool
    type: TypeExpr
    default: Expr | None
    decorators: list[Decorator] = field(default_factory=list)


@node
class Tier(Node):
    """`persistent`, `session` or `ephemeral`."""

    kind: str
    slots: list[Slot]


@node
class Context(Item):
    name: Ident
    tiers: list[Tier]
