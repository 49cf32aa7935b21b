"""Calls: declared functions, function values, constructors, built-in functions (L-3.8.1, L-6.1).

Hands on the rules of `Call` and `Pipe`, and to `methods` what both kinds of calls share: which method of a trait is meant
(`Chosen`, `bounded_methods`, `trait_methods`, `one_of`), `formals_of`, `give_arguments`, `check_mutation`, `tool_call` and
`value_call`; to `expressions` what names of functions mean that are not called (`std_function`, `named_method`, `at_run_time`,
`of_any`); to `methods` and the language server `bounded_names` and `names_through_traits`, and to that `bounded_methods` and
`trait_methods` too. `call` decides by what the callee is bound to and sets `node.target` to a record of `decisions`. A new
built-in function with a rule of its own is a row of SPECIAL; others need only their row in `vm/builtins`. `c` is the state of the
check: mistakes are reported to it by a code (E…; W… for a warning), and not raised. ERRONEOUS is the type of what was reported,
which suits every place. No code is made here: `codegen` reads the targets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

from ...vm.builtins import ASSOCIATED, FUNCTIONS, Row
from ...vm.builtins.modules import STD_PREFIX, STD_TYPES, std_row
from ..decisions import (
    BuiltinCall,
    ConstructorCall,
    ErrorCall,
    FunctionCall,
    MethodTarget,
    RecordCall,
    ToolTarget,
    TraitCall,
    ValueCall,
    VariantCall,
)
from ..hints.names import everyday_name, patient, spend
from ..hints.types import absent_help, condition_help
from ..resolver.names import STORES
from ..source import Span
from ..symbols import (
    BuiltinSymbol,
    ErrorFamilySymbol,
    FunctionSymbol,
    ImplSymbol,
    McpSymbol,
    StdFunctionSymbol,
    ToolSymbol,
    TraitItemSymbol,
    TraitSymbol,
    VariantSymbol,
)
from ..syntax import ast
from ..types import (
    ANY,
    FLOAT,
    INT,
    MEASURED,
    MODEL_BUILDER,
    MODEL_REF,
    NEVER,
    RESPONSE,
    STRING,
    Function,
    Implementation,
    Nominal,
    Type,
    Union,
    bare,
    error,
)
from .arguments import Matched, call_row, infer_all, kind_of, match_arguments, value_of_row
from .comparisons import compare_asserted
from .context_declarations import slot_in
from .functions import race
from .impls import require_visible_method
from .json_shapes import emit, parse_as_call
from .memory import memory_value
from .operators import require_mutable
from .prompts import check_prompt, warn_unfilled_places
from .relations import (
    ERRONEOUS,
    Matching,
    _Mismatch,
    convert,
    implementations_of,
    is_declared_data,
    is_entry,
    is_text,
    kind_head,
    replaced,
    root_of,
)
from .schema_calls import schema_argument
from .signatures import Bindings, Formal, signature_of
from .state import FREE, Checker, Expected, ExpressionRule
from .tools import private_tool_method, refuse_test, store_help
from .types import Instance, written_arguments, written_type

# Functions of the library `std::` and the collections it holds (L-7.0, L-6.7).


def std_function(c: Checker, node: ast.PathExpr, symbol: StdFunctionSymbol) -> Type:
    """Return the type of a library function that is not called (L-3.8.3); ERRONEOUS after a report (E2010) for one that can only
    be called."""
    return value_of_row(c, node, row_of(symbol))


def row_of(symbol: StdFunctionSymbol) -> Row:
    """Return the row of the table of built-ins for a library function."""
    row = std_row(symbol.module, symbol.name)
    assert row is not None  # the resolver looked it up
    return row


def std_call(
    c: Checker, node: ast.Call, callee: ast.PathExpr, symbol: StdFunctionSymbol, expected: Expected
) -> Type:
    """Check a call of a library function by its path or an imported name; return its type, ERRONEOUS where its arguments do not
    go to its parameters. Type arguments, which no other than `parse` takes, are reported (E2028), and the call is checked all the
    same."""
    row = row_of(symbol)
    if row.kind == "special":
        return parse_as_call(c, node, callee, symbol, row, expected)
    if callee.type_arguments is not None:
        # The call is checked all the same: one report for one mistake.
        c.report("E2028", callee.span, f"`{symbol.name}` takes no type arguments", help="drop the `<…>`")
    if row.special == "numeric":
        return _numeric(c, node, callee, symbol, row)
    type_, matched = call_row(c, row, None, node.arguments, callee.span, expected)
    if matched is None:
        return ERRONEOUS
    node.target = BuiltinCall(matched.values, matched.order, STD_PREFIX + symbol.module, symbol.name)
    return type_


def _numeric(c: Checker, node: ast.Call, callee: ast.PathExpr, symbol: StdFunctionSymbol, row: Row) -> Type:
    """Check a function of numbers: Int when all arguments are Int, else Float (L-7.7.1); with Any only the run knows."""
    signature = signature_of(row)
    types = [c.infer(argument.value) for argument in node.arguments]
    number = _common_number_type(types)
    # Parameters of type Float in the table stand for numbers of any kind.
    formals = [Formal(p.name, number if p.type == FLOAT else p.type, p.required) for p in signature.parameters]
    matched = match_arguments(c, symbol.name, formals, node.arguments, callee.span)
    if matched is None:
        infer_all(c, node.arguments)
        return ERRONEOUS
    for formal, value in zip(formals, matched.values, strict=True):
        if value is not None:
            c.value(value, Expected(formal.type, "E2009", f"parameter `{formal.name}`"))
    node.target = BuiltinCall(matched.values, matched.order, STD_PREFIX + symbol.module, symbol.name)
    return number if signature.result == FLOAT else signature.result


def _common_number_type(types: list[Type]) -> Type:
    if all(type_ in (INT, NEVER) for type_ in types):
        return INT
    sound = all(type_ in (INT, FLOAT, ANY, NEVER) for type_ in types)
    return ANY if sound and ANY in types else FLOAT


def collection_arguments(c: Checker, callee: ast.PathExpr, name: str) -> Bindings | None:
    """Return T of `Set<T>::new()` as `{"T": type}`; None where nothing is written or the type takes none, an empty dict after a
    report (E2028). `name` is that of the callee, `Set::new`."""
    owner, _, member = name.partition("::")
    written = callee.type_arguments
    if written is None or not member or owner not in STD_TYPES["collections"]:
        return None
    if len(written) != 1:
        c.report(
            "E2028", callee.span, f"`{owner}` takes 1 type argument, {len(written)} given",
            help=f"write `{owner}<T>::new()`",
        )
        return {}
    return {"T": written_type(c, written[0])}


# Which method of a trait a call or path means (L-3.10.3, L-3.10.4).


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
        """The places of those with parameters, by the type of the first one without type arguments, which are not compared."""
        places: dict[Type, list[int]] = {}
        for place, first in self._firsts:
            places.setdefault(bare(first), []).append(place)
        return places

    @cached_property
    def _wide(self) -> list[int]:
        """The places of those to whose first parameter values of other types may convert."""
        return [place for place, first in self._firsts if not is_declared_data(first)]

    @cached_property
    def _firsts(self) -> list[tuple[int, Type]]:
        """The places of those with parameters, each with the type of its first one."""
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


# The rule of calls.

CONSTRUCTORS = ("Some", "Ok", "Err")
LENGTHS = ("String", "Bytes", "Array", "Map", "Tuple", "Range", "Set", "Queue", "Stack")


def call(c: Checker, node: ast.Call, expected: Expected) -> Type:
    """Return the type of a call, ERRONEOUS after a report that leaves none, and set `node.target`, by what the callee is bound
    to. `expected` is what the place asks for."""
    if node.memory is not None:
        return memory_value(c, node.memory)
    callee = ast.ungrouped(node.callee)
    if isinstance(callee, ast.PathExpr):
        match callee.binding:
            # The methods of tools come first: their symbols are function symbols too, but the host runs them.
            case FunctionSymbol(tool=(ToolSymbol() | McpSymbol()) as tool):
                return _tool_path_call(c, node, callee, callee.binding, tool, expected)
            case FunctionSymbol():
                return _function_call(c, node, callee, callee.binding, expected)
            case TraitItemSymbol():
                return _trait_item_call(c, node, callee, callee.binding, expected)
            case BuiltinSymbol():
                return _builtin_call(c, node, callee, callee.binding.name, expected)
            case StdFunctionSymbol():
                return std_call(c, node, callee, callee.binding, expected)
            # `F` alone is the type; only `F::new` and `F::V` can be called.
            case ErrorFamilySymbol() if len(callee.segments) > 1:
                return _error_call(c, node, callee.binding)
            case VariantSymbol():
                return variant_call(c, node, callee, callee.binding, expected)
    return value_call(c, node, node.callee, c.infer(node.callee), node.arguments)


def _trait_item_call(
    c: Checker, node: ast.Call, callee: ast.PathExpr, item: TraitItemSymbol, expected: Expected
) -> Type:
    """Check `X::m(x, …)`, `T::m(…)` or `T::X::m(…)` (L-3.10.3)."""
    chosen = named_method(c, item, callee.member or callee.segments[-1], node.arguments)
    if chosen is None:
        infer_all(c, node.arguments)
        return ERRONEOUS
    return _function_call(c, node, callee, chosen.symbol, expected, chosen)


def _function_call(
    c: Checker, node: ast.Call, callee: ast.PathExpr, symbol: FunctionSymbol, expected: Expected, chosen: Chosen | None = None
) -> Type:
    instance = Instance(c, symbol.path, symbol.all_type_parameters)
    if chosen is not None:
        instance.bindings.update(chosen.inside)
    written_arguments(c, callee, symbol, instance)
    require_visible_method(c, symbol, callee.member or callee.segments[-1])
    refuse_test(c, symbol, callee.span)
    # Before the argument is typed, since `m.key` as a place that is written is typed otherwise.
    if symbol.changes_self and node.arguments:
        c.note_written_place(node.arguments[0].value)
    matched = match_arguments(c, symbol.path, formals_of(symbol), node.arguments, callee.span)
    if matched is None:
        infer_all(c, node.arguments)
        return ERRONEOUS
    give_arguments(c, formals_of(symbol), matched, symbol, instance, expected, callee.span)
    node.target = _call_decision(matched, symbol, chosen.trait if chosen is not None else None)
    receiver = matched.values[0] if matched.values else None
    if symbol.changes_self and receiver is not None:
        check_mutation(c, node, receiver, symbol.name, callee.span)
    return instance.type(symbol.result)


def _tool_path_call(
    c: Checker, node: ast.Call, callee: ast.PathExpr, method: FunctionSymbol, tool: ToolSymbol | McpSymbol, expected: Expected
) -> Type:
    """Check `T::m(…)` of a tool; within the tool `Self::m(…)` is an ordinary call."""
    if callee.segments[0].text == "Self":
        return _function_call(c, node, callee, method, expected)
    # A node for the tool itself, since codegen evaluates the receiver of every tool call.
    receiver = ast.PathExpr(span=callee.span, segments=callee.segments[:-1])
    receiver.binding = tool
    c.infer(receiver)
    return tool_call(c, node, method, receiver, callee.segments[-1], expected)


def tool_call(
    c: Checker, node: ast.Call | ast.MethodCall, method: FunctionSymbol, receiver: ast.Expr, name: ast.Ident, expected: Expected
) -> Type:
    """Check a call of a tool's method, `T.m(…)` or `T::m(…)`, which the host runs on the tool's state (O-4.6); return its type,
    ERRONEOUS for a private method, and where the arguments do not go to its parameters."""
    assert isinstance(method.tool, (ToolSymbol, McpSymbol))
    # Only public methods have arguments for models; the others are private to the tool.
    if method not in method.tool.arguments:
        infer_all(c, node.arguments)
        return private_tool_method(c, name, method)
    formals = formals_of(method)[1:] if method.takes_self else formals_of(method)
    matched = match_arguments(c, method.path, formals, node.arguments, name.span)
    if matched is None:
        infer_all(c, node.arguments)
        return ERRONEOUS
    give_arguments(c, formals, matched, method, Instance(c, method.path, []), expected, name.span)
    node.target = ToolTarget(matched.values, matched.order, method, receiver)
    return method.result


def give_arguments(
    c: Checker,
    formals: list[Formal],
    matched: Matched,
    symbol: FunctionSymbol,
    instance: Instance,
    expected: Expected,
    span: Span,
) -> None:
    """Type the arguments of a declared function and convert them to the parameters (E2009). Of a generic one, also find the type
    arguments (L-3.2.6) and add them to `instance`; those that cannot be found or do not meet their bounds are reported at `span`
    (E2029, E2026). `formals` are without the receiver of a method call."""
    if instance.names:
        instance.expect(symbol.result, expected)
        instance.arguments(formals, matched)
        # The help writes the arguments where they belong: `T<…>::f` or `f<…>`.
        of_type = isinstance(symbol.owner, ImplSymbol) and symbol.owner.type_parameters
        written = f"{symbol.path.replace('::', '<…>::')}" if of_type else f"{symbol.name}<…>"
        instance.require_all(span, f"write `{written}(…)`")
        instance.require_bounds(span)
        return
    for formal, value in zip(formals, matched.values, strict=True):
        if value is not None:
            c.value(value, Expected(formal.type, "E2009", f"parameter `{formal.name}`"))


def formals_of(symbol: FunctionSymbol) -> list[Formal]:
    """Return the parameters of a declared function, `self` included."""
    declared = symbol.declaration.parameters
    return [Formal(p.name.text, type_, p.default is None) for p, type_ in zip(declared, symbol.parameters, strict=True)]


def _call_decision(
    matched: Matched, symbol: FunctionSymbol, trait: Nominal | None
) -> FunctionCall | MethodTarget | TraitCall:
    """Return the decision for a call by a path: `T::m(x)` of a `mut self` method changes x, as `x.m()` does."""
    receiver = matched.values[0] if matched.values else None
    if trait is not None and receiver is not None:
        return TraitCall(matched.values[1:], [index - 1 for index in matched.order if index], symbol, receiver, trait)
    if not symbol.changes_self or receiver is None:
        return FunctionCall(matched.values, matched.order, symbol)
    return MethodTarget(matched.values[1:], [index - 1 for index in matched.order if index], symbol, receiver)


def check_mutation(
    c: Checker, node: ast.Call | ast.MethodCall, receiver: ast.Expr, method: str, place: Span
) -> None:
    """Check the receiver of a method that changes it (L-3.13.2): a mutable place, or W0006 for a temporary value. A change of a
    slot or of an entry of a hashmap is noted in `c.stored_changes`, which is looked through when all bodies are known."""
    root = root_of(receiver)
    stored = slot_in(receiver) is not None or is_entry(root)
    if stored:
        c.stored_changes.append((node, method, is_entry(root)))
    if stored or isinstance(root, ast.PathExpr):
        require_mutable(c, receiver, method)
    else:
        c.report(
            "W0006", place, f"`{method}` changes a temporary value that is lost", help="bind it with `let mut` first"
        )


def variant_call(
    c: Checker, node: ast.Call, callee: ast.PathExpr, symbol: VariantSymbol, expected: Expected
) -> Type:
    """Return the type of `E::V(a, b)`, which takes every part by position, and set `node.target`; ERRONEOUS after a report of
    what cannot be called or matched (E2016, E2007, E2006). Parts of wrong types are reported too (E2009)."""
    name = f"{symbol.enum.name}::{symbol.name}"
    if symbol.form != "tuple":
        infer_all(c, node.arguments)
        help = f"write `{name} {{ … }}`" if symbol.form == "struct" else f"write `{name}`"
        return c.report("E2016", callee.span, f"the variant `{name}` cannot be called", help=help)
    named = next((a.name for a in node.arguments if a.name is not None), None)
    if named is not None:
        infer_all(c, node.arguments)
        return c.report("E2007", named.span, f"`{name}` takes no named argument `{named.text}`", help="give it by position")
    formals = [Formal(part, type_, True) for part, type_, _, _ in symbol.fields]
    matched = match_arguments(c, name, formals, node.arguments, callee.span)
    if matched is None:
        infer_all(c, node.arguments)
        return ERRONEOUS
    node.target = VariantCall(matched.values, matched.order, symbol)
    instance = Instance(c, symbol.enum.name, symbol.enum.type_parameters)
    if instance.names or callee.type_arguments is not None:
        if callee.type_arguments is not None:
            instance.explicit(instance.names, [written_type(c, argument) for argument in callee.type_arguments], callee.span)
        instance.expect(symbol.enum.type, expected)
        instance.arguments(formals, matched)
        instance.require_bounds(callee.span)
        return instance.type(symbol.enum.type)
    for formal, value in zip(formals, matched.values, strict=True):
        if value is not None:
            c.value(value, Expected(formal.type, "E2009", f"part {formal.name} of `{name}`"))
    return symbol.enum.type


def value_call(
    c: Checker, node: ast.Call | ast.MethodCall, callee: ast.Expr, type_: Type, arguments: list[ast.Argument]
) -> Type:
    """Check a call of a function value of this type: it takes all arguments, by position (L-3.8.1). Return the type of the call,
    Any of Any, `never` of a callee that never comes to its end, ERRONEOUS after a report (E2016, E2006, E2007). Arguments of
    wrong types are reported too (E2009)."""
    type_ = c.narrowed(callee, type_)
    if type_ != ANY and not isinstance(type_, Function):
        infer_all(c, arguments)
        return NEVER if type_ == NEVER else report_not_callable(c, callee, type_)
    named = next((a.name for a in arguments if a.name is not None), None)
    if named is not None and type_ is not ERRONEOUS:
        infer_all(c, arguments)
        return c.report(
            "E2007", named.span, f"a function value takes no named argument `{named.text}`", help="give it by position"
        )
    if not isinstance(type_, Function):
        infer_all(c, arguments)
        node.target = ValueCall([a.value for a in arguments], list(range(len(arguments))), callee)
        return type_
    if len(arguments) != len(type_.parameters):
        infer_all(c, arguments)
        wanted = len(type_.parameters)
        plural = "" if wanted == 1 else "s"
        return c.report(
            "E2006", callee.span, f"`{type_}` takes {wanted} argument{plural}, {len(arguments)} given",
            help=f"it takes `({', '.join(map(str, type_.parameters))})`",
        )
    for number, (argument, parameter) in enumerate(zip(arguments, type_.parameters, strict=True), 1):
        c.value(argument.value, Expected(parameter, "E2009", f"argument {number}"))
    node.target = ValueCall([a.value for a in arguments], list(range(len(arguments))), callee)
    return type_.result


def report_not_callable(c: Checker, callee: ast.Expr, type_: Type) -> Type:
    """Report a callee that is no function (E2016), with the method that a model is called by; return ERRONEOUS."""
    if type_ in (MODEL_REF, MODEL_BUILDER):
        help: str | None = f"write `{c.text(callee)[1:-1]}.execute(…)`"
    else:
        help = absent_help(type_)
    return c.report("E2016", callee.span, f"`{type_}` cannot be called", help=help)


# Built-in functions and constructors.


def _builtin_call(c: Checker, node: ast.Call, callee: ast.PathExpr, name: str, expected: Expected) -> Type:
    special = SPECIAL.get(name)
    if special is not None:
        return special(c, node, callee, expected)
    type_arguments = collection_arguments(c, callee, name)
    if callee.type_arguments is not None and type_arguments is None and name not in CONSTRUCTORS:
        c.report("E2028", callee.span, f"`{name}` takes no type arguments", help="drop the `<…>`")
    if name in ("Memory", "MemoryRef"):
        infer_all(c, node.arguments)
        message = "a memory begins with `Memory::new(…)`"
        return c.report("E4501", node.span, message, help="write `Memory::new()` or `Memory::new(20)`")
    if name.startswith("Memory"):
        infer_all(c, node.arguments)
        return c.report(
            "E4501", node.span, "a derived view is made by its declaration only",
            help="memory tail: Memory = Memory::of(log).window(4);",
        )
    owner, _, member = name.partition("::")
    if owner in STORES and member:
        infer_all(c, node.arguments)
        return c.report("E4004", node.span, f"`{name}` stands in a declaration only", help=store_help(owner))
    row = ASSOCIATED.get((owner, member)) if member else FUNCTIONS.get(name)
    if row is None or name == "None":
        infer_all(c, node.arguments)
        return c.report("E2016", callee.span, f"`{name}` cannot be called", help=everyday_name(name))
    type_, matched = call_row(c, row, None, node.arguments, callee.span, expected, type_arguments)
    if matched is None:
        return ERRONEOUS
    if member:
        # What becomes a prompt is looked through for holes that may be empty (W0016).
        if owner in ("Prompt", "Message"):
            for text in matched.values:
                if text is not None:
                    check_prompt(c, text)
        node.target = RecordCall(matched.values, matched.order, owner, member)
    elif name in CONSTRUCTORS:
        node.target = ConstructorCall(matched.values, matched.order, name)
    else:
        node.target = BuiltinCall(matched.values, matched.order, "", name)
        warn_unfilled_places(c, name, node.arguments)
        if name in ("assert_eq", "assert_ne"):
            compare_asserted(c, name, matched.values[0], matched.values[1], node.span)
    return type_


def _plain_row(
    c: Checker, node: ast.Call, callee: ast.PathExpr, expected: Expected, types: tuple[Type, ...] = ()
) -> Type:
    name = callee.segments[0].text
    known = {"T": types[0]} if types else None
    type_, matched = call_row(c, FUNCTIONS[name], None, node.arguments, callee.span, expected, known)
    if matched is None:
        return ERRONEOUS
    node.target = BuiltinCall(matched.values, matched.order, "", name, type_arguments=types)
    return type_


def _len(c: Checker, node: ast.Call, callee: ast.PathExpr, expected: Expected) -> Type:
    """Check `len(x)`; its row takes any value, only some kinds have a length (L-6.1.2). That of a store is the method of it."""
    result = _plain_row(c, node, callee, expected)
    if isinstance(node.target, BuiltinCall) and node.target.arguments[0] is not None:
        argument = node.target.arguments[0]
        kind = kind_of(argument.type)
        if kind in MEASURED:
            node.target = BuiltinCall(node.target.arguments, node.target.order, kind, "len")
        elif argument.type != ANY and argument.type != NEVER and kind not in LENGTHS:
            return c.report(
                "E2009", argument.span, f"`{argument.type}` has no length",
                help="strings, bytes, arrays, maps, tuples, ranges, collections and stores have one",
            )
    return result


def _assert(c: Checker, node: ast.Call, callee: ast.PathExpr, expected: Expected) -> Type:
    result = _plain_row(c, node, callee, expected)
    if isinstance(node.target, BuiltinCall) and node.target.arguments[0] is not None:
        condition = node.target.arguments[0]
        if condition.type not in (ANY, NEVER) and str(condition.type) != "Bool":
            return c.report(
                "E2009", condition.span, f"expected `Bool` for parameter `c`, found `{condition.type}`",
                help=condition_help(condition.type),
            )
    return result


def _parse_schema(c: Checker, node: ast.Call, callee: ast.PathExpr, expected: Expected) -> Type:
    """Check `parse_schema<T>(x)`, x a String or a Response (L-6.1.11)."""
    argument = schema_argument(c, callee.segments[0], callee.type_arguments)
    if argument is None:
        infer_all(c, node.arguments)
        return ERRONEOUS
    result = _plain_row(c, node, callee, FREE, (argument.type,))
    if not isinstance(node.target, BuiltinCall):
        return result
    # Codegen puts the schema into the image beside the call.
    node.target.schema, node.target.type_arguments, node.target.unwraps = argument.schema, (argument.asked,), argument.unwraps
    text = node.target.arguments[0]
    if text is not None and not (is_text(text.type) or text.type in (ANY, NEVER, RESPONSE)):
        return c.report(
            "E2009", text.span, f"expected `String` or `Response` for parameter `x`, found `{text.type}`",
            help="give the reply of a call, or its text",
        )
    return result


SPECIAL = {
    "len": _len,
    "assert": _assert,
    "emit": emit,
    "parse_schema": _parse_schema,
    "race": race,
}


# Error values.


def _error_call(c: Checker, node: ast.Call, symbol: ErrorFamilySymbol) -> Type:
    """Check `F::new(msg)` or `F::V(msg)` (L-3.11.13)."""
    name = f"{symbol.name}::{symbol.variant or 'new'}"
    matched = match_arguments(c, name, [Formal("message", STRING, True)], node.arguments, node.callee.span)
    if matched is None:
        infer_all(c, node.arguments)
        return ERRONEOUS
    for value in matched.values:
        if value is not None:
            c.value(value, Expected(STRING, "E2009", "parameter `message`"))
    node.target = ErrorCall(matched.values, matched.order, symbol.name, symbol.variant)
    return error(symbol.name)


def pipe(c: Checker, node: ast.Pipe, expected: Expected) -> Type:
    """Return the type of `L |> f(a)`: that of the call which the parser made of it (L-2.3.1)."""
    if expected.used:
        return c.tail(node.applied, expected)
    return c.infer(node.applied, expected)


RULES: dict[type[ast.Expr], ExpressionRule] = {ast.Call: call, ast.Pipe: pipe}
