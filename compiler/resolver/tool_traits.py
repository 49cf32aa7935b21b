"""`tool T impl X { … }`: an impl of X for T whose methods call the tool methods of the same names (O-4.5).

Hands on `trait_impl`. The host runs tool methods with the state, so what stands behind a trait is a call of them. Must not know:
types.
"""

from __future__ import annotations

from copy import deepcopy

from .. import ast
from ..symbols import TraitSymbol
from .names import find_item
from .state import Resolver


def trait_impl(r: Resolver, item: ast.Tool) -> ast.Impl:
    """Methods that the trait does not name, or that are private, are not in it."""
    assert item.trait is not None
    trait = find_item(r, item.trait)
    promised = trait.methods if isinstance(trait, TraitSymbol) else {}
    methods = [
        _bridge(item, node, takes_self=promised[node.name.text].takes_self, mutable=promised[node.name.text].changes_self)
        for node in item.methods
        if node.public and node.name.text in promised
    ]
    span = item.trait.span
    return ast.Impl(span=span, type_parameters=[], trait=_named(item.trait), target=_named(item.name), methods=methods)


def _named(name: ast.Ident) -> ast.NamedType:
    return ast.NamedType(span=name.span, path=[name], arguments=None)


def _bridge(item: ast.Tool, method: ast.Function, *, takes_self: bool, mutable: bool) -> ast.Function:
    """`fn m(self, a: A) -> R { T::m(a) }`"""
    span = method.name.span
    given = [
        ast.Parameter(span=p.span, name=p.name, type=deepcopy(p.type), default=deepcopy(p.default))
        for p in method.parameters
        if not p.is_self
    ]
    own = ast.Parameter(span=span, name=ast.Ident(span=span, text="self"), type=None, is_self=True, mutable=mutable)
    arguments = [ast.Argument(span=span, name=None, value=ast.PathExpr(span=span, segments=[p.name])) for p in given]
    call = ast.Call(span=span, callee=ast.PathExpr(span=span, segments=[item.name, method.name]), arguments=arguments)
    return ast.Function(
        span=method.span, name=method.name, is_async=False, type_parameters=[],
        parameters=[*([own] if takes_self else []), *given], result=deepcopy(method.result), clauses=[],
        body=ast.Block(span=span, statements=[], result=call),
    )  # fmt: skip
