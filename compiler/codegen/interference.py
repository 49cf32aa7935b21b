"""Whether evaluating one expression can write what another one read: values that wait on the operand stack while it runs.

Hands on `root_of` and `may_write`. An answer of True costs one copy at the next write, a wrong False would change a value
under way. Must not know: instructions.
"""

from __future__ import annotations

from ...vm.builtins import lookup
from .. import ast, decisions, symbols


def root_of(expr: ast.Expr) -> symbols.Local | None:
    """The variable a chain of fields, elements and indexes begins with (L-5.5.1); of a slot, what stands for it."""
    while isinstance(expr, (ast.FieldAccess, ast.TupleAccess, ast.Index, ast.GroupExpr)):
        if isinstance(expr, ast.FieldAccess) and isinstance(expr.target, symbols.SlotAccess):
            return expr.target.slot.root
        expr = expr.inner if isinstance(expr, ast.GroupExpr) else expr.receiver
    return expr.binding if isinstance(expr, ast.PathExpr) and isinstance(expr.binding, symbols.Local) else None


def may_write(expr: ast.Expr, root: symbols.Local | None) -> bool:
    """Whether evaluating `expr` can write into `root`; without a root the value may stand in any variable."""
    pending: list[ast.Node] = [expr]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Assign) and (root is None or root_of(node.target) is root):
            return True
        if isinstance(node, (ast.Call, ast.MethodCall)) and _call_may_write(node, root):
            return True
        if isinstance(node, (ast.Await, ast.ParallelFor)) and (root is None or root.captured):
            return True  # other tasks run meanwhile
        pending.extend(node.children())
    return False


def _call_may_write(node: ast.Call | ast.MethodCall, root: symbols.Local | None) -> bool:
    """A *mut* method on the root, or, where closures hold the root, anything that may call one."""
    reachable = root is None or root.captured
    target = node.target
    changes = isinstance(target, decisions.MethodTarget) and target.function.changes_self
    if changes and (root is None or root_of(target.receiver) is root):
        return True
    if isinstance(node, ast.MethodCall) and changes_receiver(node) and (root is None or root_of(node.receiver) is root):
        return True
    return reachable and _runs_user_code(target)


def changes_receiver(node: ast.MethodCall) -> bool:
    """A *mut* method, or one found at run time that may turn out to be one."""
    if isinstance(node.target, decisions.DynamicCall):
        return node.target.may_change
    if isinstance(node.target, decisions.MethodTarget):
        return node.target.function.changes_self
    row = lookup(node.target.receiver_kind, node.target.name) if isinstance(node.target, decisions.BuiltinCall) else None
    return row is not None and row.mut


_WITHOUT_USER_CODE = (
    decisions.BuiltinCall, decisions.ConstructorCall, decisions.ErrorCall, decisions.RecordCall, decisions.VariantCall,
)  # fmt: skip


def _runs_user_code(target: decisions.CallTarget | None) -> bool:
    if isinstance(target, decisions.BuiltinCall) and target.receiver_kind:
        row = lookup(target.receiver_kind, target.name)
        return row is not None and bool(row.source)
    return not isinstance(target, _WITHOUT_USER_CODE)
