"""Clauses `needs` and `reads` of a function (M-10.3, M-10.4): what they load at entry is held in hidden variables, which closures
capture like any other.

Hands on `clauses`, `held_slot` and `held_slots`. Must not know: which slots a memory has, types.
"""

from __future__ import annotations

from collections.abc import Iterator

from .. import ast
from ..symbols import Local
from ..types import ANY
from .names import find
from .state import Resolver


def clauses(r: Resolver, node: ast.Function) -> None:
    """One hidden variable for each slot; `m` is what the name means where the clause stands."""
    for clause in node.clauses:
        if node.body is None:
            message = f"`{clause.kind}` stands at a function without a body"
            r.report("E4506", clause.span, message, help="write it where the body is")
            continue
        for ref in clause.slots:
            ref.kind = clause.kind
            _load(r, ref)


def _load(r: Resolver, ref: ast.SlotRef) -> None:
    assert r.function is not None
    at = (ref.owner.text, ref.slot.text)
    first = r.function.slots.get(at)
    if first is not None:
        r.report("E4506", ref.span, f"`{'.'.join(at)}` is listed twice", help="remove one of them", first=first.span)
        return
    ref.binding = find(r, ref.owner)
    if isinstance(ref.binding, Local):
        ref.binding.read = True
    ref.local = Local(".".join(at), ANY, True, r.function, declared_at=ref, read=True, changed=True)
    r.function.locals.append(ref.local)
    r.function.slots[at] = ref


def held_slot(r: Resolver, node: ast.FieldAccess) -> None:
    """Marks `m.slot` that a clause of the function around it has loaded."""
    owner = _name(node.receiver)
    if owner is not None and r.function is not None:
        node.held = next(_held(r, owner, node.name.text), None)


def held_slots(r: Resolver, node: ast.MethodCall) -> None:
    """Marks a write by name, which the function sees (M-10.4)."""
    owner = _name(node.receiver)
    if owner is not None and r.function is not None:
        node.held = list(_held(r, owner))


def _name(receiver: ast.Expr) -> ast.Ident | None:
    while isinstance(receiver, ast.GroupExpr):
        receiver = receiver.inner
    single = isinstance(receiver, ast.PathExpr) and len(receiver.segments) == 1 and receiver.member is None
    return receiver.segments[0] if single and isinstance(receiver, ast.PathExpr) else None


def _held(r: Resolver, owner: ast.Ident, slot: str | None = None) -> Iterator[ast.SlotRef]:
    """Those of the memory that this name means here; one slot, or all."""
    at = r.function
    while at is not None:
        for (memory, name), ref in at.slots.items():
            if memory == owner.text and slot in (None, name) and find(r, owner) is ref.binding:
                if at is not r.function:
                    ref.local.captured = True
                yield ref
        at = at.parent
