"""The rewriting of `|>` and prefix `await` (L-2.3.1 to L-2.3.3)."""

from __future__ import annotations

from .. import ast
from ..source import Span
from .rules import Reduction


def apply_pipe(p: Reduction) -> ast.Expr:
    """`left |> right` with `left` put into the innermost call of `right`."""
    left, right = p[1], p[3]
    peeled, inner = _peel(right)
    applied = _apply(left, inner)
    if applied is None:
        if not isinstance(inner, ast.ErrorExpr):
            p.context.error(
                "E2016", right.span, "the right side of `|>` is not a call, a function or a closure",
                "write `x |> f(a)`, `x |> f` or `x |> |v| …`",
            )  # fmt: skip
        return ast.ErrorExpr(span=p.span, inside=[left, right])
    return ast.Pipe(span=p.span, left=left, applied=_put_back(peeled, applied, applied.span.start))


def _peel(node: ast.Expr) -> tuple[list[ast.Expr], ast.Expr]:
    """Sets trailing `?` and `.await` aside, outermost first."""
    peeled: list[ast.Expr] = []
    while isinstance(node, ast.Propagate) or (isinstance(node, ast.Await) and node.postfix):
        peeled.append(node)
        node = node.operand
    return peeled, node


def _put_back(peeled: list[ast.Expr], node: ast.Expr, start: int) -> ast.Expr:
    for outer in reversed(peeled):
        span = Span(outer.span.file, start, outer.span.end)
        if isinstance(outer, ast.Await):
            node = ast.Await(span=span, operand=node, postfix=True)
        else:
            node = ast.Propagate(span=span, operand=node)
    return node


def _apply(left: ast.Expr, target: ast.Expr) -> ast.Expr | None:
    argument = ast.Argument(span=left.span, name=None, value=left)
    while isinstance(target, ast.GroupExpr):
        target = target.inner
    if isinstance(target, ast.Call):
        return ast.Call(span=target.span, callee=target.callee, arguments=_with(argument, target))
    if isinstance(target, ast.MethodCall):
        return ast.MethodCall(
            span=target.span, receiver=target.receiver, name=target.name, type_arguments=target.type_arguments,
            arguments=[argument, *target.arguments],
        )  # fmt: skip
    if isinstance(target, (ast.PathExpr, ast.Closure)):
        return ast.Call(span=target.span, callee=target, arguments=[argument])
    return None


def _with(argument: ast.Argument, call: ast.Call) -> list[ast.Argument]:
    """`L |> emit(c)` is `emit(c, L)`; every other call takes L first."""
    callee = call.callee
    is_emit = isinstance(callee, ast.PathExpr) and [s.text for s in callee.segments] == ["emit"]
    if is_emit and len(call.arguments) > 0:
        return [call.arguments[0], argument, *call.arguments[1:]]
    return [argument, *call.arguments]


def await_innermost(p: Reduction) -> ast.Expr:
    """`await f()?` is `(await f())?`."""
    peeled, inner = _peel(p[2])
    start = p.span.start
    awaited = ast.Await(span=Span(p.context.file, start, inner.span.end), operand=inner, postfix=False)
    return _put_back(peeled, awaited, start)
