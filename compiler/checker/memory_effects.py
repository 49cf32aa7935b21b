"""Functions of memory steps ask nothing of the host and change nothing (E4509): they run in the middle of a commit or a view.

What is called is looked through as far as names lead; what only a run knows is refused there. Hands on `check_step_functions`.
Must not know: steps.
"""

from __future__ import annotations

from collections.abc import Callable

from ...vm.builtins import lookup
from .. import ast
from ..decisions import BuiltinCall, FunctionCall, MethodTarget, ToolTarget
from ..symbols import FunctionSymbol, SlotAccess
from .context import Checker

ASKING = ("ModelRef", "ModelBuilder", "AgentRef", "AgentBuilder", "Stream", "Memory", "KeyedMemory", "PipelineRef")
OUTPUT = ("print", "println", "emit", "flush_emits")
READS = ("get", "has", "keys", "values", "len", "is_empty", "get_many", "query", "find", "require", "scope", "partition",
         "as_ref", "entries", "identifiers", "from_identifier", "from_key", "from_any_keys", "from_exact_keys")  # fmt: skip


def check_step_functions(c: Checker) -> None:
    for function in c.step_functions:
        found = _forbidden(function.value)
        if found is not None:
            c.report(
                "E4509", function.value.span, f"a function of a memory step cannot use `{found}`",
                help="it runs while a turn is stored or shown: compute its result from its argument alone",
            )  # fmt: skip


def check_computed_bounds(c: Checker) -> None:
    """E4519: before any memory is used nothing can be asked that uses one (M-2.14)."""
    for value in c.computed_bounds:
        found = _forbidden(value, asked_at_all)
        if found is not None:
            c.report(
                "E4519", value.span, f"a bound cannot use `{found}`",
                help="it is computed before the program begins: from constants, configuration and functions of them",
            )  # fmt: skip


def _forbidden(value: ast.Expr, refuses: Callable[[object], str | None] | None = None) -> str | None:
    """The first thing it does that it may not, in what it is and what it calls."""
    refused = refuses or _called
    seen: set[FunctionSymbol] = set()
    todo: list[ast.Node] = [value]
    while todo:
        node = todo.pop()
        target = getattr(node, "target", None)
        found = refused(target)
        if found is not None:
            return found
        called = target.function if isinstance(target, (FunctionCall, MethodTarget)) else None
        if isinstance(node, ast.PathExpr) and isinstance(node.binding, FunctionSymbol):
            called = node.binding
        if called is not None and called not in seen:
            seen.add(called)
            if called.declaration.clauses:
                return called.declaration.clauses[0].kind
            if called.declaration.body is not None:
                todo.append(called.declaration.body)
        todo.extend(node.children())
    return None


def asked_at_all(target: object) -> str | None:
    """What asks a model, an agent, a tool or a memory, or whoever listens."""
    if isinstance(target, ToolTarget):
        return target.function.name
    if isinstance(target, SlotAccess):
        return target.slot.name
    if not isinstance(target, BuiltinCall):
        return None
    asks = target.receiver_kind in ASKING or (not target.receiver_kind and target.name in OUTPUT)
    return target.name if asks else None


def _called(target: object) -> str | None:
    found = asked_at_all(target)
    if found is not None or not isinstance(target, BuiltinCall):
        return found
    row = lookup(target.receiver_kind, target.name)
    writes = target.receiver_kind in ("HashMap", "Ledger") and target.name not in READS
    return target.name if writes or (row is not None and row.kind == "effect") else None
