"""Scripted replies of mocks, as far as they are written out: the tools they call, the errors they name (O-8.21, O-8.22).

Hands on `check_script`. What is computed is known only when the test runs. Must not know: which fields a mock has, what a
reply does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...vm.bytecode.memory_steps import TOOL_METHODS
from ...vm.schema import RESPOND, STORE_METHODS, tool_name
from ...vm.values.errors import FAULTS
from .. import ast
from ..resolver.spelling import did_you_mean, listed
from ..symbols import McpSymbol, MemorySymbol, Offering, ToolSymbol
from .context import Checker


def check_script(c: Checker, field: str, value: ast.Expr) -> None:
    """One field of a mock of a model: `tool_calls`, `error`, `response` or `responses`."""
    while isinstance(value, ast.GroupExpr):
        value = value.inner
    if field == "error" and isinstance(value, ast.StringLiteral):
        _check_error(c, value)
    elif field == "tool_calls" and isinstance(value, ast.ArrayExpr):
        for call in value.items:
            for name in _entries(call, "tool"):
                _check_call(c, name)
    elif field == "responses" and isinstance(value, ast.ArrayExpr):
        for reply in value.items:
            check_script(c, "response", reply)
    elif field == "response":
        for part in ("tool_calls", "error"):
            for given in _entries(value, part):
                check_script(c, part, given)


def _entries(value: ast.Expr, key: str) -> Iterator[ast.Expr]:
    """What a map that is written out holds under a key."""
    while isinstance(value, ast.GroupExpr):
        value = value.inner
    if isinstance(value, ast.MapExpr):
        for entry in value.entries:
            if isinstance(entry.key, ast.StringLiteral) and entry.key.value == key:
                yield entry.value


def _check_error(c: Checker, value: ast.StringLiteral) -> None:
    """Another text is the message of `AgentError::Failed`; one that is nearly a kind was hardly meant so."""
    near = None if value.value in FAULTS else did_you_mean(value.value, FAULTS)
    if near is not None:
        message = f"`{value.value}` is no kind of error: it is the message of `AgentError::Failed`"
        c.report("W0406", value.span, message, help=near)


def _check_call(c: Checker, name: ast.Expr) -> None:
    """E4003 for what a program cannot offer."""
    if not isinstance(name, ast.StringLiteral) or name.value == RESPOND:
        return
    called = name.value.replace(".", "__")
    if any(_offers(symbol, called) for symbol in c.offering):
        return
    owner, _, method = called.rpartition("__")
    names = {symbol.name: [f"{symbol.name}.{method}" for method in _methods(symbol)] for symbol in c.offering}
    every = [shown for methods in names.values() for shown in methods]
    help = did_you_mean(f"{owner}.{method}", every) or listed(f"the tools of `{owner}`", names.get(owner, ()))
    c.report(
        "E4003", name.span, f"nothing of the program offers the tool `{name.value}`",
        help=help or "write `T.method`; a call that nothing offers, on purpose, takes its name from a variable",
    )  # fmt: skip


def _offers(symbol: Offering, called: str) -> bool:
    """Whether a model calls something of it by this name. A scope of a store and a part of a memory begin with its name; of a
    server without signatures only the run knows the tools."""
    if isinstance(symbol, McpSymbol) and not symbol.methods:
        return called.startswith(tool_name(symbol.name, ""))
    if isinstance(symbol, (ToolSymbol, McpSymbol)):
        return any(tool_name(symbol.name, method) == called for method in _methods(symbol))
    owner, _, method = called.rpartition("__")
    return method in _methods(symbol) and (owner == symbol.name or owner.startswith(f"{symbol.name}_"))


def _methods(symbol: Offering) -> Sequence[str]:
    if isinstance(symbol, (ToolSymbol, McpSymbol)):
        return [method.name for method in symbol.arguments]
    return TOOL_METHODS if isinstance(symbol, MemorySymbol) else STORE_METHODS
