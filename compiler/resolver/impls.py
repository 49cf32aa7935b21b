"""Impls: which type each belongs to, its methods as symbols, `Self` inside (L-3.10, L-3.1.17).

Hands on `declare_impls` and `visit_impl`. Must not know: types; which targets are allowed is the checker's business.
"""

from __future__ import annotations

from collections.abc import Sequence

from .. import ast
from ..symbols import AliasSymbol, FunctionSymbol, ImplSymbol, ModelSymbol, Symbol, ToolSymbol
from ..types import ANY, NIL
from .functions import function, type_parameters
from .names import find_item, walk
from .scopes import ErroneousSymbol
from .state import Resolver
from .tool_traits import trait_impl

LONGEST_ALIAS_CHAIN = 64


def declare_impls(r: Resolver, items: Sequence[ast.TopLevel]) -> None:
    """Methods become members of their types before any body is resolved, so that order does not matter."""
    for item in items:
        if isinstance(item, ast.Impl) and not isinstance(item.symbol, ErroneousSymbol):
            _declare_impl(r, item)
        elif isinstance(item, ast.Tool) and item.trait is not None:
            item.impl = trait_impl(r, item)
            _declare_impl(r, item.impl)


def _declare_impl(r: Resolver, item: ast.Impl) -> None:
    head = _head(r, item.target)
    impl = ImplSymbol(head.name if head is not None else "", item, head, ANY)
    impl.home = r.at
    impl.trait = _head(r, item.trait) if item.trait is not None else None
    item.symbol = impl
    r.module.impls.append(impl)
    if item.trait is not None and head is not None:
        r.module.trait_impls.setdefault(head, []).append(impl)
    for node in item.methods:
        symbol = node.symbol = FunctionSymbol(node.name.text, node, [], NIL, impl)
        symbol.home = r.at
        impl.methods.append(symbol)
        r.module.add(symbol, node.name.span)
        if head is not None and item.trait is None:
            r.module.members.setdefault(head, {}).setdefault(symbol.name, []).append(symbol)


def _head(r: Resolver, target: ast.TypeExpr) -> Symbol | None:
    """What the target names; aliases are followed."""
    for _ in range(LONGEST_ALIAS_CHAIN):
        if not isinstance(target, ast.NamedType):
            return None
        symbol = find_item(r, target.path[0]) if len(target.path) == 1 else walk(r, target.path).symbol
        if not isinstance(symbol, AliasSymbol):
            return symbol
        target = symbol.declaration.target
    return None


def visit_impl(r: Resolver, item: ast.Impl) -> None:
    if not isinstance(item.symbol, ImplSymbol):
        return
    with r.block() as scope:
        item.symbol.type_parameters = type_parameters(r, item.type_parameters)
        r.visit(item.trait)
        head = item.symbol.head
        is_type = not isinstance(head, (ModelSymbol, ToolSymbol))
        if is_type:
            r.visit(item.target)
        scope.names["Self"] = head if head is not None and is_type else item.symbol
        for method in item.methods:
            function(r, method)
