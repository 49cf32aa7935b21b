"""What runs in a task of its own, and async blocks: each body is a scope that captures from those around it (O-6.8, L-9.1.1).

Must not know: types, what is assigned where.
"""

from __future__ import annotations

from .. import ast
from ..symbols import BuiltinSymbol, FunctionScope
from .functions import parameters
from .names import find
from .patterns import bind_pattern
from .state import Handler, Resolver


def body(r: Resolver, kind: str, node: ast.Expr, pattern: ast.Pattern | None = None) -> ast.TaskBody:
    with r.body(r.function) as scope:
        scope.copies = kind != "async"
        if pattern is not None:
            bind_pattern(r, pattern)
        r.visit(node)
    return _task(scope, kind, pattern, node)


def _task(scope: FunctionScope, kind: str, pattern: ast.Pattern | None, node: ast.Expr) -> ast.TaskBody:
    task = ast.TaskBody(span=node.span, kind=kind, pattern=pattern, body=node)
    task.scope = scope
    return task


def await_(r: Resolver, node: ast.Await) -> ast.Node | None:
    """The elements of a tuple directly under `await` run concurrently (L-9.2.1)."""
    if not isinstance(node.operand, ast.TupleExpr) or not node.operand.items:
        return node.operand
    node.tasks = [body(r, "await", item) for item in node.operand.items]
    return None


def race(r: Resolver, node: ast.Call) -> bool:
    """Whether the call is `race(…)`, the name not shadowed; its operands are resolved then (L-9.2.2)."""
    callee = node.callee
    if not isinstance(callee, ast.PathExpr) or [segment.text for segment in callee.segments] != ["race"]:
        return False
    if not isinstance(find(r, callee.segments[0]), BuiltinSymbol):
        return False
    node.tasks = [body(r, "race", argument.value) for argument in node.arguments]
    return True


def async_block(r: Resolver, node: ast.AsyncBlock) -> None:
    node.task = body(r, "async", node.body)


def spawn(r: Resolver, node: ast.Spawn) -> None:
    if r.function is not None:
        r.function.spawns = True
    node.task = body(r, "spawn", node.operand)


def parallel_for(r: Resolver, node: ast.ParallelFor) -> None:
    r.visit(node.iterable)
    r.visit(node.limit)
    node.task = body(r, "parallel", node.body, node.pattern)


def listen(r: Resolver, node: ast.Listen) -> ast.Node | None:
    """Handlers see and change the variables around them (O-7.35)."""
    r.visit(node.operand)
    for handler in node.handlers:
        if isinstance(handler.body, ast.Closure):
            handler.task = _handler(r, handler.body)
    return None


def _handler(r: Resolver, closure: ast.Closure) -> ast.TaskBody:
    with r.body(r.function) as scope:
        parameters(r, closure.parameters)
        r.visit(closure.body)
    return _task(scope, "listen", None, closure.body)


HANDLERS: dict[type[ast.Node], Handler] = {
    ast.Await: await_,
    ast.AsyncBlock: async_block,
    ast.Spawn: spawn,
    ast.ParallelFor: parallel_for,
    ast.Listen: listen,
}
