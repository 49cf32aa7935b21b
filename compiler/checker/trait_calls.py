"""Which method of a trait a call or a path means (L-3.10.3, L-3.10.4).

Hands on `Chosen`, a method that may be meant, with what finds such: `bounded_methods` and `trait_methods` for a receiver,
`one_of` for the arguments of a call, `named_method` for a path, `bounded_names` and `names_through_traits` for suggestions and
completion; `at_run_time` and `of_any` for a trait whose impl is found at run time. `calls`, `methods` and `expressions` make
decisions of what is chosen here; the language server asks for what a receiver has. `c` is the state of the check: mistakes are
reported to it by a code (E…; W… for a warning), and not raised.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

from ..hints.names import patient, spend
from ..source import Span
from ..symbols import FunctionSymbol, ImplSymbol, TraitItemSymbol, TraitSymbol
from ..syntax import ast
from ..types import ANY, NEVER, Implementation, Nominal, Type, Union, bare
from .relations import Matching, _Mismatch, convert, implementations_of, is_declared_data, kind_head, replaced
from .state import Checker


@dataclass(slots=True)
class Chosen:
    """A method that a call may mean. `symbol`: the method of an impl, or the trait's own. `trait`: the impl is chosen at run
    time by this trait type. `inside`: what the type parameters of the trait are, by name, and `Self` too for a default method
    that is called by the path of a type."""

    symbol: FunctionSymbol
    trait: Nominal | None = None
    inside: dict[str, Type] = field(default_factory=dict)


class Offers(list[Chosen]):
    """The methods that a call may mean, with what `one_of` asks of them again and again. It is not changed once it was asked."""

    @cached_property
    def traits(self) -> list[TraitSymbol]:
        """Return their traits, each once."""
        return list(dict.fromkeys(map(_trait_of, self)))

    @cached_property
    def known(self) -> dict[tuple[Type, ...], list[Chosen]]:
        """Return what `fitting` has returned so far, by the types of the arguments."""
        return {}

    def fitting(self, types: tuple[Type, ...]) -> list[Chosen]:
        """Return those that take arguments of these types: as they are, else converted, else all."""
        if types not in self.known:
            exact = [offer for offer in self._at(types, []) if _takes(offer, types, exactly=True)]
            converted = exact or [offer for offer in self._at(types, self._wide) if _takes(offer, types, exactly=False)]
            self.known[types] = converted or list(self)
        return self.known[types]

    def _at(self, types: tuple[Type, ...], others: list[int]) -> list[Chosen]:
        """Return those whose first parameter has the type of the first argument, and those at the places `others`."""
        if not types or types[0].is_open or types[0] in (ANY, NEVER):
            return self
        return [self[place] for place in sorted({*self._by_first.get(bare(types[0]), ()), *others})]

    @cached_property
    def _by_first(self) -> dict[Type, list[int]]:
        """Return the places of those with parameters, by the type of the first one without type arguments, which are not
        compared."""
        places: dict[Type, list[int]] = {}
        for place, first in self._firsts:
            places.setdefault(bare(first), []).append(place)
        return places

    @cached_property
    def _wide(self) -> list[int]:
        """Return the places of those to whose first parameter values of other types may convert."""
        return [place for place, first in self._firsts if not is_declared_data(first)]

    @cached_property
    def _firsts(self) -> list[tuple[int, Type]]:
        """Return the places of those with parameters, each with the type of its first one."""
        taken = [(place, offer, _taken(offer)) for place, offer in enumerate(self)]
        return [(place, replaced(types[0], _trait_bindings(offer))) for place, offer, types in taken if types]


# Receivers whose type is known at run time only.


def bounded_methods(c: Checker, receiver: Type, name: str) -> list[Chosen]:
    """Return the methods of this name of a trait type, or of the bounds of a type parameter; none for any other type."""
    # Every other type has its impls, which are known here.
    if not isinstance(receiver, Nominal) or receiver.kind not in ("trait", "parameter"):
        return []
    methods = []
    for bound in (receiver,) if receiver.kind == "trait" else receiver.facts.bounds:
        symbol = c.trait_symbols.get(bound.unique_name)
        if symbol is not None and bound.kind == "trait" and name in symbol.methods:
            methods.append(at_run_time(symbol, bound, name))
    return methods


def at_run_time(symbol: TraitSymbol, trait: Nominal, name: str) -> Chosen:
    """Return a method of a trait whose impl is chosen at run time."""
    inside = {p.name: type_ for p, type_ in zip(symbol.type_parameters, trait.arguments, strict=False)}
    return Chosen(symbol.methods[name], trait, inside)


COST_OF_A_NAME = 20  # letters that could be compared while the methods of one name are looked for


def bounded_names(c: Checker, receiver: Type) -> list[str]:
    """Return the names of the methods with `self` that `bounded_methods` knows for a receiver, for suggestions; none once
    suggestions have cost enough (`patient`)."""
    if not patient():
        return []
    spend(COST_OF_A_NAME * len(c.traits))
    offers = [chosen for name in c.traits for chosen in bounded_methods(c, receiver, name)]
    return [chosen.symbol.name for chosen in offers if chosen.symbol.takes_self]


# Receivers of known type.


TRAITS_SHOWN = 4  # traits in a message: there may be as many as the source has lines


def trait_methods(c: Checker, receiver: Type, name: str, place: Span) -> Offers:
    """Return the methods of this name that the impls of visible traits give a type; those of invisible traits if there are no
    others, so that the report can say that they are private. The list may be the cached one: it must not be changed."""
    if kind_head(receiver) is None and not isinstance(receiver, Union):
        return Offers()
    return _cached(c, receiver, name, c.modules.at(place), lambda: _methods_of_impls(c, receiver, name, place))


def _cached(c: Checker, receiver: Type, name: str, asked_by: object, make: Callable[[], Offers]) -> Offers:
    """Return what `make` returns: for a type of which nothing is open, what it has returned for the same other arguments."""
    is_fixed = isinstance(receiver, Nominal) and not receiver.arguments
    if not is_fixed and (receiver.is_open or receiver.has_parameters):  # more may be known at the next use
        return make()
    key = receiver, name, asked_by
    if key not in c.trait_method_cache:
        c.trait_method_cache[key] = make()
    offers: Offers = c.trait_method_cache[key]
    return offers


def _methods_of_impls(c: Checker, receiver: Type, name: str, place: Span) -> Offers:
    methods = [
        (trait, _chosen(c, trait, implementation, bindings, name))
        for trait in c.traits.get(name, ())
        for implementation, bindings in implementations_of(receiver, of_any(trait))
    ]
    # The trait must be visible where the method is called, not where the type is declared.
    visible = [chosen for trait, chosen in methods if is_visible(c, trait, place)]
    return Offers(visible or [chosen for _, chosen in methods])


def of_any(trait: TraitSymbol) -> Nominal:
    """Return the trait type with Any for each type argument, which agrees with every use of it."""
    assert isinstance(trait.type, Nominal)
    return trait.type.of((ANY,) * len(trait.type_parameters))


def is_visible(c: Checker, trait: TraitSymbol, place: Span) -> bool:
    """Return whether code at `place` may use a trait (L-8.4)."""
    home = trait.home
    return home is None or trait.declaration.public or c.modules.at(place).is_inside(home)


def _chosen(c: Checker, trait: TraitSymbol, implementation: Implementation, bindings: Matching, name: str) -> Chosen:
    method = c.implementations[implementation].method(name)
    if method is not None:
        return Chosen(method)
    inside = {p.name: replaced(t, bindings) for p, t in zip(trait.type_parameters, implementation.arguments, strict=False)}
    return Chosen(trait.methods[name], None, inside)


def names_through_traits(c: Checker, receiver: Type, place: Span) -> list[str]:
    """Return the names of the methods with `self` that traits give a type, for suggestions; none once these have cost enough
    (`patient`)."""
    if not patient():
        return []
    spend(COST_OF_A_NAME * len(c.traits))
    offers = [chosen for name in c.traits for chosen in trait_methods(c, receiver, name, place)]
    return [chosen.symbol.name for chosen in offers if chosen.symbol.takes_self]


def one_of(c: Checker, offers: list[Chosen], name: ast.Ident, arguments: list[ast.Argument]) -> Chosen | None:
    """Return the method that is meant of at least one that is offered; None after a report (E2027). Impls of one trait are told
    apart by what they take, for which the arguments are typed; methods of two traits only by the trait's name."""
    offers = offers if isinstance(offers, Offers) else Offers(offers)
    traits = offers.traits
    if len(traits) == 1 and len(offers) > 1:
        types = tuple([c.infer(argument.value) for argument in arguments])
        # Impls of one trait for one type differ in its arguments, as `From<A>` and `From<B>`: the argument decides.
        offers = offers.fitting(types)
    if len(offers) == 1:
        return offers[0]
    trait_names = " and ".join([f"`{trait.name}`" for trait in traits[:TRAITS_SHOWN]])
    if len(traits) > TRAITS_SHOWN:
        trait_names += f" and {len(traits) - TRAITS_SHOWN} more"
    if len(traits) > 1:
        help = " or ".join(f"`{trait.name}::{name.text}(…)`" for trait in traits[:2])
        c.report("E2027", name.span, f"`{name.text}` is offered by the traits {trait_names}", help=f"write {help}")
    else:
        message = f"several impls of {trait_names} offer `{name.text}`, and the arguments do not tell which one is meant"
        c.report("E2027", name.span, message, help="give a value whose type is known, or declare methods of different names")
    return None


def _trait_of(offer: Chosen) -> TraitSymbol:
    owner = offer.symbol.owner
    trait = owner.trait if isinstance(owner, ImplSymbol) else owner
    assert isinstance(trait, TraitSymbol)
    return trait


def _taken(offer: Chosen) -> list[Type]:
    """Return the types of the parameters behind `self`."""
    return offer.symbol.parameters[1:] if offer.symbol.takes_self else offer.symbol.parameters


def _takes(offer: Chosen, types: tuple[Type, ...], exactly: bool) -> bool:
    wanted = _taken(offer)
    inside = _trait_bindings(offer)
    if len(types) > len(wanted):
        return False
    for actual, declared in zip(types, wanted, strict=False):
        type_ = replaced(declared, inside)
        # Type arguments are not compared: the call may bind them.
        bare = isinstance(type_, Nominal) and isinstance(actual, Nominal) and type_.bare == actual.bare
        if not (actual == type_ or bare) and (exactly or isinstance(convert(actual, type_), _Mismatch)):
            return False
    return True


def _trait_bindings(offer: Chosen) -> Matching:
    """Return what the type parameters of the trait are, for a method whose body is the trait's default."""
    owner = offer.symbol.owner
    if not isinstance(owner, TraitSymbol):
        return {}
    parameters = [(p.name, p.type) for p in owner.type_parameters]
    return {t.unique_name: offer.inside[name] for name, t in parameters if name in offer.inside and isinstance(t, Nominal)}


# Paths.


def named_method(c: Checker, item: TraitItemSymbol, name: ast.Ident, arguments: list[ast.Argument]) -> Chosen | None:
    """Return the method that `X::m(…)`, `T::m(…)` or `T::X::m(…)` calls; None after a report (E2027, E2029, E2009, or of the
    impl). It may type the arguments, the receiver among them."""
    if not item.of_type and item.trait is not None:
        return _by_receiver(c, item.trait, name, arguments)
    offers = _methods_of_path(c, item, arguments)
    if not offers:
        return None  # the impl was reported
    # By a path the receiver is the first argument.
    behind_self = arguments[1:] if offers[0].symbol.takes_self else arguments
    return one_of(c, offers, name, behind_self)


def _methods_of_path(c: Checker, item: TraitItemSymbol, arguments: list[ast.Argument]) -> Offers:
    """Return the methods that the impls of a path have. What depends on no argument is made once for the same list of impls."""
    key = id(item.impls), item.name, len(c.implementation_of)
    if key not in c.path_offers:
        pairs = [(impl, impl.trait.methods[item.name]) for impl in item.impls if isinstance(impl.trait, TraitSymbol)]
        changes = any(method.changes_self for _, method in pairs)
        known = [(c.implementation_of.get(impl), method) for impl, method in pairs]
        by_receiver = any(one is not None and one.parameters and method.takes_self for one, method in known)
        # the list is kept, so that no other has its identity
        c.path_offers[key] = item.impls, changes, None if by_receiver else Offers(_offers_of_path(c, item, []))
    _, changes, offers = c.path_offers[key]
    if arguments and changes:
        c.note_written_place(arguments[0].value)
    return Offers(_offers_of_path(c, item, arguments)) if offers is None else offers


def _offers_of_path(c: Checker, item: TraitItemSymbol, arguments: list[ast.Argument]) -> Iterator[Chosen]:
    for impl in item.impls:
        implementation = c.implementation_of.get(impl)
        if implementation is None or not isinstance(impl.trait, TraitSymbol):
            continue
        # Without a receiver to look at, the type parameters of the impl may be anything.
        bindings: Matching = dict.fromkeys((parameter.unique_name for parameter in implementation.parameters), ANY)
        if implementation.parameters and impl.trait.methods[item.name].takes_self and arguments:
            suiting = implementations_of(c.infer(arguments[0].value), of_any(impl.trait))
            bindings = next((inside for other, inside in suiting if other is implementation), bindings)
        chosen = _chosen(c, impl.trait, implementation, bindings, item.name)
        if isinstance(chosen.symbol.owner, TraitSymbol):
            chosen.inside["Self"] = replaced(implementation.target, bindings)
        yield chosen


def _by_receiver(c: Checker, trait: TraitSymbol, name: ast.Ident, arguments: list[ast.Argument]) -> Chosen | None:
    """Return the method that `X::m(x, …)` calls, by the type of x."""
    symbol = trait.methods[name.text]
    if not symbol.takes_self:
        message = f"`{symbol.path}` takes no `self`: the type that implements `{trait.name}` cannot be found"
        c.report("E2029", name.span, message, help=f"name it: `T::{name.text}(…)`")
        return None
    if not arguments or arguments[0].name is not None:
        return at_run_time(trait, of_any(trait), name.text)
    if symbol.changes_self:
        c.note_written_place(arguments[0].value)
    receiver = c.infer(arguments[0].value)
    bounded = [offer for offer in bounded_methods(c, receiver, name.text) if offer.symbol is symbol]
    if bounded or receiver in (ANY, NEVER):
        return bounded[0] if bounded else at_run_time(trait, of_any(trait), name.text)
    suiting = implementations_of(receiver, of_any(trait))
    offers = _cached(c, receiver, name.text, trait, lambda: Offers(_chosen(c, trait, *one, name.text) for one in suiting))
    if offers:
        return one_of(c, offers, name, arguments[1:])
    message = f"`{receiver}` does not implement `{trait.name}`"
    c.report("E2009", arguments[0].span, message, help=f"write `impl {trait.name} for {receiver} {{ … }}`")
    return None
