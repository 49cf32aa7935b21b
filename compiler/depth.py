"""The nesting limit of L-2.6.7 for what brackets alone do not show: prefix operators, closures, types.

The parser calls it only when its stack has grown past the limit. The walk keeps its own stack, so no depth is too much.
Must not know: tokens, how the tree was built.
"""

from __future__ import annotations

from . import ast
from .brackets import MAX_NESTING
from .diagnostics import Diagnostics

# All children of these stand one level deeper.
_NESTING = (
    ast.Block, ast.GroupExpr, ast.TupleExpr, ast.ArrayExpr, ast.MapExpr, ast.StructExpr, ast.Interpolation, ast.Unary,
    ast.Spawn, ast.Closure, ast.Return, ast.Throw, ast.Break, ast.NamedType, ast.FunctionType, ast.TupleType,
    ast.BindPattern, ast.TupleStructPattern, ast.StructPattern, ast.TuplePattern, ast.ArrayPattern, ast.UseTree,
    ast.Module, ast.Assign,
)  # fmt: skip


def check_depth(program: ast.Program, diagnostics: Diagnostics) -> None:
    """Reports the first node that nests deeper than MAX_NESTING (E0114)."""
    pending: list[tuple[ast.Node, int]] = [(program, 0)]
    while pending:
        node, depth = pending.pop()
        if depth > MAX_NESTING:
            message = f"expressions nest deeper than {MAX_NESTING}"
            diagnostics.report("E0114", node.span, message, help="split the expression up")
            return
        pending.extend((child, depth + _step(node, child)) for child in node.children())


def _step(node: ast.Node, child: ast.Node) -> int:
    """How much deeper `child` stands than `node`. Operator chains to the left, pipes and `else if` do not nest (G-5.2)."""
    if isinstance(node, _NESTING):
        return 1
    if isinstance(node, ast.Binary):
        return int(node.operator == "**" and child is node.right)
    if isinstance(node, ast.Await):
        return int(not node.postfix)
    return int(isinstance(node, ast.Index) and child is node.index)
