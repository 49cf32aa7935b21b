"""Traits: their methods as symbols, `Self` inside, the predeclared trait `From` (L-3.10, L-3.1.17).

Hands on `trait_symbol`, `visit_trait`, `predeclare`. Must not know: types, impls.
"""

from __future__ import annotations

from functools import cache

from .. import ast
from ..diagnostics import Diagnostics
from ..parse import parse
from ..source import Source
from ..symbols import FunctionSymbol, TraitSymbol, TypeParameterSymbol
from ..types import NIL, Nominal
from .functions import function, type_parameters
from .state import Resolver

PRELUDE = "trait From<A> { fn from(a: A) -> Self; }"


def trait_symbol(r: Resolver, item: ast.Trait) -> TraitSymbol:
    name = item.name
    written = ast.TypeParameter(span=name.span, name=ast.Ident(span=name.span, text="Self"), bounds=[])
    own = TypeParameterSymbol("Self", written, Nominal("parameter", "Self", key=r.parameter_key("Self")))
    symbol = TraitSymbol(name.text, item, Nominal("trait", name.text, key=r.type_key(name.text)), own)
    r.module.traits.append(symbol)
    for node in item.methods:
        method = FunctionSymbol(node.name.text, node, [], NIL, symbol)
        first = symbol.methods.setdefault(method.name, method)
        if first is not method:
            message = f"`{symbol.name}` has two methods `{method.name}`"
            r.report("E2030", node.name.span, message, help="rename one of them", first=first.declaration.name.span)
            continue
        node.symbol = method
        method.home = r.at
        r.module.add(method, node.name.span)
    return symbol


def visit_trait(r: Resolver, item: ast.Trait) -> None:
    symbol = item.symbol
    if not isinstance(symbol, TraitSymbol):
        return
    with r.block() as scope:
        symbol.type_parameters = type_parameters(r, item.type_parameters)
        scope.names["Self"] = symbol.self_parameter
        for node in item.methods:
            function(r, node)
            for parameter in node.parameters:
                if parameter.binding is not None:
                    parameter.binding.read = True  # a trait's parameters may go unused (L-4.7.1)


@cache
def _prelude_source() -> Source:
    return Source("std", PRELUDE)


def predeclare(r: Resolver) -> None:
    """`From` stands in the outermost scope (L-3.10.5)."""
    source = _prelude_source()
    for item in parse(source, Diagnostics()).items:
        assert isinstance(item, ast.Trait)
        with r.inside(r.root, r.outermost):
            item.symbol = r.outermost.names[item.name.text] = trait_symbol(r, item)
            visit_trait(r, item)
        for method in item.symbol.methods.values():
            method.home = None
