"""Which method of a trait a call or path means (L-3.10.3, L-3.10.4).

Hands on `bounded_methods`, `trait_methods`, `one_of` and `named_method`: `Chosen` methods, or None after a report. Must not
know: how arguments are converted.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from .. import ast
from ..source import Span
from ..symbols import FunctionSymbol, ImplSymbol, TraitItemSymbol, TraitSymbol
from ..types import ANY, NEVER, Implementation, Nominal, Type, Union
from .context import Checker
from .implementing import Matching, implementations_of, kind_head, replaced
from .relations import _Mismatch, convert


@dataclass(slots=True)
class Chosen:
    """`symbol`: the method of an impl, or the trait's own. `trait`: it is chosen at run time by this trait type. `inside`: what
    the type parameters of the trait are, by name."""

    symbol: FunctionSymbol
    trait: Nominal | None = None
    inside: dict[str, Type] = field(default_factory=dict)


# ---------------------------------------------------------------- receivers whose type is known at run time only


def bounded_methods(c: Checker, receiver: Type, name: str) -> list[Chosen]:
    """Methods of a trait type, or of the bounds of a type parameter."""
    if not isinstance(receiver, Nominal) or receiver.kind not in ("trait", "parameter"):
        return []
    found = []
    for bound in (receiver,) if receiver.kind == "trait" else receiver.facts.bounds:
        symbol = c.trait_symbols.get(bound.unique_name)
        if symbol is not None and bound.kind == "trait" and name in symbol.methods:
            found.append(at_run_time(symbol, bound, name))
    return found


def at_run_time(symbol: TraitSymbol, trait: Nominal, name: str) -> Chosen:
    inside = {p.name: type_ for p, type_ in zip(symbol.type_parameters, trait.arguments, strict=False)}
    return Chosen(symbol.methods[name], trait, inside)


def bounded_names(c: Checker, receiver: Type) -> list[str]:
    """Names of those methods, for suggestions."""
    offers = [chosen for name in c.traits for chosen in bounded_methods(c, receiver, name)]
    return [chosen.symbol.name for chosen in offers if chosen.symbol.takes_self]


# ---------------------------------------------------------------- receivers of known type


NAMED = 4  # traits in a message: there may be as many as the source has lines


def trait_methods(c: Checker, receiver: Type, name: str, place: Span) -> list[Chosen]:
    """Methods of this name that the impls of visible traits give a type; those of invisible ones if there are no others."""
    if kind_head(receiver) is None and not isinstance(receiver, Union):
        return []
    if not isinstance(receiver, Nominal) or receiver.arguments:  # of others more may be known at the next use
        return _offered(c, receiver, name, place)
    key = receiver, name, c.modules.at(place)
    if key not in c.offers:
        c.offers[key] = _offered(c, receiver, name, place)
    return c.offers[key]


def _offered(c: Checker, receiver: Type, name: str, place: Span) -> list[Chosen]:
    found = [
        (trait, _chosen(c, trait, made, bindings, name))
        for trait in c.traits.get(name, ())
        for made, bindings in implementations_of(receiver, of_any(trait))
    ]
    visible = [chosen for trait, chosen in found if is_visible(c, trait, place)]
    return visible or [chosen for _, chosen in found]


def of_any(trait: TraitSymbol) -> Nominal:
    """The trait type whatever its type arguments."""
    assert isinstance(trait.type, Nominal)
    return trait.type.of((ANY,) * len(trait.type_parameters))


def is_visible(c: Checker, trait: TraitSymbol, place: Span) -> bool:
    home = trait.home
    return home is None or trait.declaration.public or c.modules.at(place).is_inside(home)


def _chosen(c: Checker, trait: TraitSymbol, made: Implementation, bindings: Matching, name: str) -> Chosen:
    method = c.implementations[made].method(name)
    if method is not None:
        return Chosen(method)
    inside = {p.name: replaced(t, bindings) for p, t in zip(trait.type_parameters, made.arguments, strict=False)}
    return Chosen(trait.methods[name], None, inside)


def names_through_traits(c: Checker, receiver: Type, place: Span) -> list[str]:
    offers = [chosen for name in c.traits for chosen in trait_methods(c, receiver, name, place)]
    return [chosen.symbol.name for chosen in offers if chosen.symbol.takes_self]


def one_of(c: Checker, offers: list[Chosen], name: ast.Ident, arguments: list[ast.Argument]) -> Chosen | None:
    """The method meant: impls of one trait differ in what they take, methods of two traits need the trait's name (E2027)."""
    traits = list(dict.fromkeys(_trait_of(c, offer) for offer in offers))
    if len(traits) == 1 and len(offers) > 1:
        given = [c.infer(argument.value) for argument in arguments]
        offers = _fitting(offers, given)
    if len(offers) == 1:
        return offers[0]
    offered = " and ".join([f"`{trait.name}`" for trait in traits[:NAMED]])
    if len(traits) > NAMED:
        offered += f" and {len(traits) - NAMED} more"
    if len(traits) > 1:
        help = " or ".join(f"`{trait.name}::{name.text}(…)`" for trait in traits[:2])
        c.report("E2027", name.span, f"`{name.text}` is offered by the traits {offered}", help=f"write {help}")
    else:
        message = f"several impls of {offered} offer `{name.text}`, and the arguments do not tell which one is meant"
        c.report("E2027", name.span, message, help="give a value whose type is known, or declare methods of different names")
    return None


def _trait_of(c: Checker, offer: Chosen) -> TraitSymbol:
    owner = offer.symbol.owner
    trait = owner.trait if isinstance(owner, ImplSymbol) else owner
    assert isinstance(trait, TraitSymbol)
    return trait


def _fitting(offers: list[Chosen], given: list[Type]) -> list[Chosen]:
    """Those that take the arguments: as they are, else converted."""
    exact = [offer for offer in offers if _takes(offer, given, exactly=True)]
    return exact or [offer for offer in offers if _takes(offer, given, exactly=False)] or offers


def _takes(offer: Chosen, given: list[Type], exactly: bool) -> bool:
    wanted = offer.symbol.parameters[1:] if offer.symbol.takes_self else offer.symbol.parameters
    inside = _inside(offer)
    if len(given) > len(wanted):
        return False
    for found, declared in zip(given, wanted, strict=False):
        type_ = replaced(declared, inside)
        bare = isinstance(type_, Nominal) and isinstance(found, Nominal) and type_.bare == found.bare
        if not (found == type_ or bare) and (exactly or isinstance(convert(found, type_), _Mismatch)):
            return False
    return True


def _inside(offer: Chosen) -> Matching:
    """What the type parameters of the trait are for a default that it gives."""
    owner = offer.symbol.owner
    if not isinstance(owner, TraitSymbol):
        return {}
    parameters = [(p.name, p.type) for p in owner.type_parameters]
    return {t.unique_name: offer.inside[name] for name, t in parameters if name in offer.inside and isinstance(t, Nominal)}


# ---------------------------------------------------------------- paths


def named_method(c: Checker, item: TraitItemSymbol, name: ast.Ident, arguments: list[ast.Argument]) -> Chosen | None:
    """What `X::m(…)`, `T::m(…)` and `T::X::m(…)` call."""
    if not item.of_type and item.trait is not None:
        return _by_receiver(c, item.trait, name, arguments)
    offers = list(_of_impls(c, item, arguments))
    if not offers:
        return None  # the impl was reported
    behind_self = arguments[1:] if offers[0].symbol.takes_self else arguments
    return one_of(c, offers, name, behind_self)


def _of_impls(c: Checker, item: TraitItemSymbol, arguments: list[ast.Argument]) -> Iterator[Chosen]:
    if arguments and any(method.changes_self for method in _own_methods(item)):
        c.written(arguments[0].value)
    for impl in item.impls:
        made = c.made_by.get(impl)
        if made is None or not isinstance(impl.trait, TraitSymbol):
            continue
        bindings: Matching = dict.fromkeys((parameter.unique_name for parameter in made.parameters), ANY)
        if made.parameters and impl.trait.methods[item.name].takes_self and arguments:
            found = implementations_of(c.infer(arguments[0].value), of_any(impl.trait))
            bindings = next((inside for other, inside in found if other is made), bindings)
        chosen = _chosen(c, impl.trait, made, bindings, item.name)
        if isinstance(chosen.symbol.owner, TraitSymbol):
            chosen.inside["Self"] = replaced(made.target, bindings)
        yield chosen


def _own_methods(item: TraitItemSymbol) -> Iterator[FunctionSymbol]:
    return (impl.trait.methods[item.name] for impl in item.impls if isinstance(impl.trait, TraitSymbol))


def _by_receiver(c: Checker, trait: TraitSymbol, name: ast.Ident, arguments: list[ast.Argument]) -> Chosen | None:
    """`X::m(x, …)`: by the type of x."""
    symbol = trait.methods[name.text]
    if not symbol.takes_self:
        message = f"`{symbol.path}` takes no `self`: the type that implements `{trait.name}` cannot be found"
        c.report("E2029", name.span, message, help=f"name it: `T::{name.text}(…)`")
        return None
    if not arguments or arguments[0].name is not None:
        return at_run_time(trait, of_any(trait), name.text)
    if symbol.changes_self:
        c.written(arguments[0].value)
    receiver = c.infer(arguments[0].value)
    bounded = [offer for offer in bounded_methods(c, receiver, name.text) if offer.symbol is symbol]
    if bounded or receiver in (ANY, NEVER):
        return bounded[0] if bounded else at_run_time(trait, of_any(trait), name.text)
    offers = [_chosen(c, trait, *found, name.text) for found in implementations_of(receiver, of_any(trait))]
    if offers:
        return one_of(c, offers, name, arguments[1:])
    message = f"`{receiver}` does not implement `{trait.name}`"
    c.report("E2009", arguments[0].span, message, help=f"write `impl {trait.name} for {receiver} {{ … }}`")
    return None
