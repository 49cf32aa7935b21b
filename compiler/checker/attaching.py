"""Who may attach a memory: `.allow(read: […], write: […])` (M-4.16).

Hands on `check_allowed` for `with_memory`, `refuse_attaching`. What only a run knows is refused there. Must not know: steps.
"""

from __future__ import annotations

from .. import ast
from ..symbols import AgentSymbol, MemorySymbol, ModelSymbol
from .context import Checker


def check_allowed(c: Checker, node: ast.MethodCall, arguments: list[ast.Expr | None]) -> None:
    """Of `NAME.….with_memory(m, auto: …)` with names of a model or agent and of memories."""
    attaching: ast.Expr = node.receiver
    while isinstance(attaching, (ast.MethodCall, ast.GroupExpr)):
        attaching = attaching.receiver if isinstance(attaching, ast.MethodCall) else attaching.inner
    who = attaching.binding if isinstance(attaching, ast.PathExpr) else None
    given, auto = arguments[0], arguments[1]
    if not isinstance(who, (ModelSymbol, AgentSymbol)) or given is None:
        return
    writes = auto is None or (isinstance(auto, ast.BoolLiteral) and auto.value)  # else only a run knows
    items = given.items if isinstance(given, ast.ArrayExpr) else [given]
    for number, item in enumerate(items):
        memory = item.binding if isinstance(item, ast.PathExpr) else None
        if isinstance(memory, MemorySymbol):
            refuse_attaching(c, item, who, memory, writes=writes and number == len(items) - 1)


def refuse_attaching(
    c: Checker, at: ast.Expr, who: ModelSymbol | AgentSymbol, memory: MemorySymbol, *, writes: bool
) -> None:
    """E4510 for one that `allow` does not name. A view is attached as the memory it is of."""
    base = memory.log
    allow = (base.steps or {}).get("allow")
    if allow is None or not {"allow_read", "allow_write"} & allow.keys():
        return
    writers, readers = allow.get("allow_write", []), allow.get("allow_read", [])
    if who in writers or (not writes and who in readers):
        return
    if who in readers:
        c.report("E4510", at.span, f"`{who.name}` may only read `{base.name}`", help="attach it with `auto: false`")
    else:
        c.report("E4510", at.span, f"`{base.name}` does not allow `{who.name}`", help=f"name it: .allow(write: [{who.name}])")
