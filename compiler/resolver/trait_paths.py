"""Paths through traits: `X::m`, `T::m` by an impl, `T::X::m` (L-3.10.3).

Hands on `trait_item`, `members_through_traits`. Must not know: types; which impl is meant is the checker's business.
"""

from __future__ import annotations

from .. import ast
from ..symbols import ImplSymbol, Symbol, TraitItemSymbol, TraitSymbol, TypeParameterSymbol
from .names import find_item
from .spelling import did_you_mean
from .state import Resolver


def trait_item(r: Resolver, owner: Symbol, name: ast.Ident) -> Symbol | None:
    """What `owner::name` names by way of traits: `X::m`, `T::m`, the `T::X` of `T::X::m`; None if nothing."""
    match owner:
        case TraitSymbol():
            return TraitItemSymbol(name.text, owner) if name.text in owner.methods else _unknown(r, owner, name)
        case TraitItemSymbol(trait=TraitSymbol() as trait) if not owner.name:
            known = name.text in trait.methods
            return TraitItemSymbol(name.text, trait, owner.impls, True) if known else _unknown(r, trait, name)
        case TypeParameterSymbol():
            return _of_bounds(r, owner, name)
    impls = r.module.trait_impls.get(owner, [])
    offering = [impl for impl in impls if isinstance(impl.trait, TraitSymbol) and name.text in impl.trait.methods]
    if offering:
        return TraitItemSymbol(name.text, None, offering, True)
    named = find_item(r, name) if name.text[:1].isupper() else None
    if isinstance(named, TraitSymbol):
        return TraitItemSymbol("", named, [impl for impl in impls if impl.trait is named], True)
    return None


def _unknown(r: Resolver, trait: TraitSymbol, name: ast.Ident) -> Symbol | None:
    help = did_you_mean(name.text, trait.methods)
    r.report("E1010", name.span, f"trait `{trait.name}` has no method `{name.text}`", help=help)
    return None


def _of_bounds(r: Resolver, owner: TypeParameterSymbol, name: ast.Ident) -> Symbol | None:
    """`T::m(x)` of a bounded T, and `Self::m(x)` in a trait."""
    bounds = [bound.binding for bound in owner.declaration.bounds if isinstance(bound, ast.NamedType)]
    if owner.name == "Self":
        bounds += [symbol for symbol in r.module.traits if symbol.self_parameter is owner]
    offering = [trait for trait in bounds if isinstance(trait, TraitSymbol) and name.text in trait.methods]
    return TraitItemSymbol(name.text, offering[0]) if offering else None


def members_through_traits(r: Resolver, owner: Symbol) -> list[str]:
    """For suggestions."""
    impls: list[ImplSymbol] = r.module.trait_impls.get(owner, [])
    return [name for impl in impls if isinstance(impl.trait, TraitSymbol) for name in impl.trait.methods]
