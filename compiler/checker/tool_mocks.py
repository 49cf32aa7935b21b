"""Mocks of tools and MCP servers (O-8.13). Hands on `check_mock`, and `check_free_answer` for answers without a signature.

Must not know: mocks of models, what a mock answers.
"""

from __future__ import annotations

from .. import ast
from ..symbols import FunctionSymbol, McpSymbol, ToolSymbol
from ..types import ANY, STRING, Function, Type, map_
from .config import unknown_key
from .context import Checker, Expected
from .relations import ERRONEOUS, generic


def check_mock(c: Checker, node: ast.Mock, tool: ToolSymbol | McpSymbol) -> None:
    """A value for every call of a method, or a closure called with its arguments (O-8.13)."""
    methods = {method.name: method for method in tool.arguments}
    for entry in node.config:
        method = methods.get(entry.key.text)
        if isinstance(tool, McpSymbol) and not tool.methods:
            check_free_answer(c, entry.value, map_(STRING, ANY))
        elif method is None:
            unknown_key(c, f"mock `{tool.name}`", entry.key, methods)
            c.infer(entry.value)
        else:
            _check_answer(c, entry.key.text, entry.value, method)


def check_free_answer(c: Checker, value: ast.Expr, taken: Type) -> None:
    """Where no signature is: a closure takes one value, of a server the arguments as a Map, of an emit the payload."""
    found = c.infer(value, Expected(Function((taken,), ANY)) if isinstance(value, ast.Closure) else Expected())
    if isinstance(found, Function) and len(found.parameters) != 1:
        message = f"what answers takes 1 argument, not {len(found.parameters)}"
        c.report("E4004", value.span, message, help="write `|given| …`, or `|_| …`")


def _check_answer(c: Checker, name: str, value: ast.Expr, method: FunctionSymbol) -> None:
    parameters = method.parameters[1:] if method.takes_self else method.parameters
    if isinstance(value, ast.Closure):
        wanted = Function(tuple(parameters), ANY)
        found = c.infer(value, Expected(wanted))
        if found is not ERRONEOUS and len(value.parameters) == len(parameters):
            c.coerce(value, found, Expected(wanted, "E4004", f"`{name}`"))
        elif found is not ERRONEOUS:
            message = f"`{name}` takes {len(parameters)} arguments, the closure {len(value.parameters)}"
            names = [p.name.text for p in method.declaration.parameters[method.takes_self :]]
            c.report("E4004", value.span, message, help=f"write `|{', '.join(names)}| …`")
        return
    sides = generic(method.result, "Result")
    found = c.infer(value, Expected(method.result))
    if found is ERRONEOUS or generic(found, "Result") or not sides:
        c.coerce(value, found, Expected(method.result, "E4004", f"`{name}`"))
    else:
        c.coerce(value, found, Expected(sides[0], "E4004", f"`{name}`"))
