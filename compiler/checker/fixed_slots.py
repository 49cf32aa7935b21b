"""Slots without `mut`: written once, never changed (M-10.2, M-10.37).

Hands on `refuse_change` for places that change what a slot holds, and `check_fixed_slots` for a second assignment that is
certain. What depends on the run is P453 there. Must not know: how slots are stored.
"""

from __future__ import annotations

from .. import ast
from ..decisions import BuiltinCall
from ..symbols import SlotAccess
from .context import Checker
from .memory_effects import ASKING


def refuse_change(c: Checker, slot: ast.FieldAccess, place: ast.Expr, by: str) -> None:
    access = slot.target
    assert isinstance(access, SlotAccess)
    if not access.slot.mutable:
        help = f"declare it `mut {access.slot.name}: …` in its context, or give the whole value in its one assignment"
        c.report("E4524", place.span, f"{by} changes the slot `{access.slot.name}`, which is written once", help=help)


def check_fixed_slots(c: Checker, body: ast.Node | None) -> None:
    """Two assignments in one block, with nothing between them that may take the first value away."""
    todo: list[ast.Node] = [body] if body is not None else []
    if not c.contexts:
        return
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Block):
            _block(c, node)
        todo.extend(node.children())


def _block(c: Checker, block: ast.Block) -> None:
    written: dict[tuple[object, str], ast.Assign] = {}
    for statement in block.children():
        assigned = _assignment(statement)
        if _may_forget(statement):
            written.clear()
        if assigned is None:
            continue
        at, node = assigned
        first = written.setdefault(at, node)
        if first is not node:
            message = f"the slot `{at[1]}` has its value already: it is written once"
            help = f"declare it `mut {at[1]}: …` in its context, or remove one of the two"
            c.report("E4524", node.target.span, message, first=first.target.span, help=help)


def _assignment(statement: ast.Node) -> tuple[tuple[object, str], ast.Assign] | None:
    """Of a slot without `mut` of a memory that a name stands for."""
    node = statement.expr if isinstance(statement, ast.ExprStmt) else statement
    if not isinstance(node, ast.Assign) or node.operator != "=":
        return None
    target = node.target
    while isinstance(target, ast.GroupExpr):
        target = target.inner
    if not isinstance(target, ast.FieldAccess) or not isinstance(target.target, SlotAccess) or target.target.slot.mutable:
        return None
    memory = target.receiver.binding if isinstance(target.receiver, ast.PathExpr) else None
    return None if memory is None else ((memory, target.target.slot.name), node)


def _may_forget(statement: ast.Node) -> bool:
    """Whether it calls anything that may take a value out of a slot: `forget`, `load`, the end of a turn, code of a program."""
    todo = [statement]
    while todo:
        node = todo.pop()
        if isinstance(node, (ast.Call, ast.MethodCall, ast.Pipe)):
            target = getattr(node, "target", None)
            if not isinstance(target, BuiltinCall) or target.receiver_kind in ASKING:
                return True
        todo.extend(node.children())
    return False
