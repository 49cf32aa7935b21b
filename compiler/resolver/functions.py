"""Functions and closures: parameters, defaults, bodies, captures (L-5.9).

Must not know: types, calls.
"""

from __future__ import annotations

from .. import ast
from ..symbols import FunctionSymbol, TypeParameterSymbol
from ..types import Nominal
from .patterns import bind_pattern
from .slots import clauses
from .state import Resolver


def function(r: Resolver, node: ast.Function) -> None:
    """A declared function sees no locals of functions around it (L-2.4.5)."""
    outer, r.body_name = r.body_name, node.name.text
    with r.body(None) as scope:
        node.scope = scope
        found = type_parameters(r, node.type_parameters)
        if isinstance(node.symbol, FunctionSymbol):
            node.symbol.type_parameters = found
        parameters(r, node.parameters)
        r.visit(node.result)
        clauses(r, node)
        r.visit(node.body)
    r.body_name = outer


def type_parameters(r: Resolver, declared: list[ast.TypeParameter]) -> list[TypeParameterSymbol]:
    """Declares the type parameters of an item in its scope, then resolves their bounds."""
    found: dict[str, TypeParameterSymbol] = {}
    for node in declared:
        name = node.name.text
        if name in found:
            first = found[name].declaration.name.span
            r.report("E1003", node.name.span, f"duplicate type parameter `{name}`", first=first, help="rename one of them")
            continue
        if not name[:1].isupper():
            r.report(
                "E1014", node.name.span, f"the type name `{name}` begins with a lower-case letter",
                help=f"write `{name[:1].upper()}{name[1:]}`",
            )
        found[name] = TypeParameterSymbol(name, node, Nominal("parameter", name, key=r.parameter_key(name)))
        r.scope.names[name] = found[name]
    for node in declared:
        for bound in node.bounds:
            r.visit(bound)
    return list(found.values())


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
        if name in seen and name != "_":
            r.report(
                "E1003", parameter.name.span, f"duplicate parameter `{name}`", first=seen[name].name.span,
                help="rename one of them",
            )
        seen.setdefault(name, parameter)
        if name != "_":
            parameter.binding = r.declare(name, parameter, parameter.mutable and parameter.is_self)
