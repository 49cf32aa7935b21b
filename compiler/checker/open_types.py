"""Variables whose first value leaves a type open: `let mut xs = [];`, `let mut best = None;`, and the uses that say it (L-3.2.8).

Hands on `learn` and what it is made of. Must not know: where uses stand (`context`, `places`, `methods`), what is reported.
"""

from __future__ import annotations

from .. import ast
from ..symbols import Local
from ..types import ANY, NEVER, NIL, STRING, Generic, Nilable, Open, Tuple, Type, array, map_, option
from .relations import close, generic


def open_local(node: ast.Expr) -> Local | None:
    """The variable that the expression names, if its type is still open."""
    while isinstance(node, ast.GroupExpr):
        node = node.inner
    local = node.binding if isinstance(node, ast.PathExpr) else None
    return local if isinstance(local, Local) and local.type.is_open else None


def learn(node: ast.Expr, wanted: Type) -> None:
    """The expression stands where `wanted` is expected: the open sides of its variable become what is there."""
    local = open_local(node)
    if local is not None:
        local.type = filled(local.type, wanted)


def learn_from_assignment(target: ast.Expr, key: Type | None, value: Type) -> None:
    """`xs = v`, `m[k] = v`, `m.k = v`: `key` is the type of k, that of a word for `m.k`."""
    while isinstance(target, ast.GroupExpr):
        target = target.inner
    if not isinstance(target, (ast.Index, ast.FieldAccess)):
        learn(target, value)
        return
    local = open_local(target.receiver)
    if local is None:
        return
    if generic(local.type, "Map"):
        local.type = filled(local.type, map_(key or STRING, value))
    elif isinstance(target, ast.Index):
        local.type = filled(local.type, array(value))


def close_variable(node: ast.Expr, found: Type) -> Type:
    """What is read of a variable whose type is open is Any."""
    return found if open_local(node) is None else close(found)


def filled(known: Type, found: Type) -> Type:
    """`known` with its open sides as they are in `found`; as it is where that is of another shape."""
    if not known.is_open or found == NEVER:
        return known
    if isinstance(known, Open):
        return found
    while isinstance(found, Nilable) or (generic(found, "Option") and not generic(known, "Option")):
        found = found.inner if isinstance(found, Nilable) else found.arguments[0]  # type: ignore[attr-defined]
    if generic(known, "Option") and not generic(found, "Option") and found not in (ANY, NIL):
        found = option(found)  # L-3.3.6
    match known, found:
        case Generic(), Generic() if known.name == found.name:
            return Generic(known.name, tuple(map(filled, known.arguments, found.arguments)))
        case Tuple(), Tuple() if len(known.items) == len(found.items):
            return Tuple(tuple(map(filled, known.items, found.items)))
    return known
