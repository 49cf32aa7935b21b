"""Functions and closures: parameters, defaults, bodies, captures (L-5.9).

Must not know: types, calls.
"""

from __future__ import annotations

from .. import ast
from .patterns import bind_pattern
from .state import Resolver


def function(r: Resolver, node: ast.Function) -> None:
    """A declared function sees no locals of functions around it (L-2.4.5)."""
    with r.body(None) as scope:
        node.scope = scope
        parameters(r, node.parameters)
        r.visit(node.result)
        r.visit(node.body)


def closure(r: Resolver, node: ast.Closure) -> None:
    with r.body(r.function) as scope:
        node.scope = scope
        parameters(r, node.parameters)
        r.visit(node.result)
        r.visit(node.body)


def parameters(r: Resolver, declared: list[ast.Parameter]) -> None:
    """Each default sees the parameters before it (L-5.9.1)."""
    seen: dict[str, ast.Parameter] = {}
    for parameter in declared:
        r.visit(parameter.type)
        r.visit(parameter.default)
        if parameter.pattern is not None:
            bind_pattern(r, parameter.pattern)
            continue
        name = parameter.name.text
        if name in seen:
            r.report("E1003", parameter.name.span, f"duplicate parameter `{name}`", first=seen[name].name.span)
        seen.setdefault(name, parameter)
        if name != "_":
            parameter.binding = r.declare(name, parameter, parameter.mutable and parameter.is_self)
