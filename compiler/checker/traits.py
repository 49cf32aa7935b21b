"""Traits and their impls as declarations: bounds, which types implement what, methods against their trait (L-3.10, L-3.9.3).

Hands on `declare_traits`, `declare_trait_impl`, `check_trait_impls`. Must not know: calls, bodies.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .. import ast
from ..symbols import ErrorFamilySymbol, FunctionSymbol, ImplSymbol, Symbol, TraitSymbol, TypeParameterSymbol
from ..types import ERROR, NIL, Implementation, Nominal, Type
from .bounds import own
from .context import Checker
from .implementing import Matching, kind_head, matched, replaced
from .relations import ERRONEOUS
from .types import written_type

ERROR_TARGETS = ("struct", "schema", "enum")


def declare_traits(c: Checker, symbols: Iterable[Symbol], traits: Sequence[TraitSymbol], impls: Sequence[ImplSymbol]) -> None:
    """Trait types and the bounds of all type parameters, before impls and signatures."""
    for trait in traits:
        assert isinstance(trait.type, Nominal)
        trait.type = trait.type.of(tuple(parameter.type for parameter in trait.type_parameters))
        own(trait.self_parameter).facts.bounds = (trait.type,)
        for name, method in trait.methods.items():
            c.traits.setdefault(name, []).append(trait)
            c.mutating |= {name} if method.changes_self else set()
        c.trait_symbols[trait.type.unique_name] = trait
    for holder in (*symbols, *traits, *impls):
        for parameter in getattr(holder, "type_parameters", ()):
            own(parameter).facts.bounds = tuple(_bounds(c, parameter))


def _bounds(c: Checker, parameter: TypeParameterSymbol) -> Iterable[Nominal]:
    for node in parameter.declaration.bounds:
        bound = _trait_type(c, node)
        if bound is not None:
            yield bound


def _trait_type(c: Checker, node: ast.TypeExpr) -> Nominal | None:
    """A type that must be a trait, or `Error`."""
    found = written_type(c, node)
    if isinstance(found, Nominal) and (found.kind == "trait" or found == ERROR):
        return found
    if found is not ERRONEOUS:
        c.report("E1002", node.span, f"`{found}` is not a trait", help="name a trait of the program, or `Error`")
    return None


# ---------------------------------------------------------------- impls


def declare_trait_impl(c: Checker, impl: ImplSymbol) -> None:
    """Makes an impl known to its trait. Its target is typed already."""
    node = impl.declaration
    assert node.trait is not None
    trait = _trait_type(c, node.trait)
    if trait is None or impl.target is ERRONEOUS:
        return
    if isinstance(impl.trait, ErrorFamilySymbol):
        _declare_error(c, impl)
        return
    head = kind_head(impl.target)
    if head is None:
        help = _target_help(impl.target, trait)
        c.report("E2031", node.target.span, f"`{impl.target}` cannot have an `impl` of a trait", help=help)
        return
    made = Implementation(tuple(own(p) for p in impl.type_parameters), trait.arguments, impl.target)
    alike = trait.facts.implementations.offered(head, made.arguments, made.parameters)
    first = next((other for other in alike if _overlap(made, other)), None)
    if first is not None:
        what = f"`{trait}` has an `impl` for `{impl.target}` already"
        if first.target != made.target:
            what += ": at run time it is not told apart from `" + str(first.target) + "`"
        span = c.implementations[first].declaration.span
        c.report("E2030", node.target.span, what, help="remove one of them", first=span)
        return
    trait.facts.implementations.add(made, head)
    c.implementations[made] = impl
    c.made_by[impl] = made


def _target_help(target: Type, trait: Nominal) -> str:
    if isinstance(target, Nominal) and target.kind == "trait":
        return f"implement `{trait.name}` for the types that implement `{target.name}`"
    return "implement it for structs, enums, schemas and built-in value types"


def _overlap(a: Implementation, b: Implementation) -> bool:
    """Whether both, of one head, could be meant for one value: the machine sees bare types only (L-3.1.22)."""
    parameters = (*a.parameters, *b.parameters)
    pairs = list(zip(a.arguments, b.arguments, strict=False))
    return all(matched(x, y, {}, parameters) or matched(y, x, {}, parameters) for x, y in pairs)


def _declare_error(c: Checker, impl: ImplSymbol) -> None:
    """`impl Error for T {}` (L-3.11.14)."""
    node, target = impl.declaration, impl.target
    if not isinstance(target, Nominal) or target.kind not in ERROR_TARGETS:
        c.report("E2031", node.target.span, f"`{target}` cannot be an error", help="wrap it in a struct")
    elif target.facts.is_error:
        first = next(other for other in c.error_impls if kind_head(other.target) == kind_head(target))
        message = f"`Error` has an `impl` for `{target}` already"
        c.report("E2030", node.target.span, message, help="remove one of them", first=first.declaration.span)
    else:
        target.facts.is_error = True
        c.error_impls.append(impl)
    for method in impl.methods:
        message = f"`Error` has no method `{method.name}`"
        c.report("E2025", method.declaration.name.span, message, help=f"move it to `impl {impl.name} {{ … }}`")


# ---------------------------------------------------------------- methods against their trait


def check_trait_impls(c: Checker) -> None:
    """After signatures: every method without default is there, no other, each as the trait says (L-3.10.2)."""
    for made, impl in c.implementations.items():
        trait = impl.trait
        if isinstance(trait, TraitSymbol):
            bindings = bindings_of(trait, made)
            _check_missing(c, impl, trait, bindings)
            for method in impl.methods:
                _check_method(c, impl, trait, method, bindings)


def bindings_of(trait: TraitSymbol, made: Implementation) -> Matching:
    """What the type parameters of a trait are in one impl."""
    found: Matching = {own(trait.self_parameter).unique_name: made.target}
    for parameter, argument in zip(trait.type_parameters, made.arguments, strict=False):
        found[own(parameter).unique_name] = argument
    return found


def _check_missing(c: Checker, impl: ImplSymbol, trait: TraitSymbol, bindings: Matching) -> None:
    given = {method.name for method in impl.methods}
    missing = [m for m in trait.methods.values() if m.declaration.body is None and m.name not in given]
    if missing:
        listed = ", ".join(f"`{method.name}`" for method in missing)
        help = f"add `{signature_text(missing[0], bindings)} {{ … }}`"
        node = impl.declaration
        span = node.trait.span if node.trait is not None else node.span
        message = f"`impl {trait.name} for {impl.target}` lacks {listed}"
        first = missing[0].declaration.name.span if trait.home is not None else None
        c.report("E2025", span, message, help=help, first=first, note="declared here")


def _check_method(c: Checker, impl: ImplSymbol, trait: TraitSymbol, method: FunctionSymbol, bindings: Matching) -> None:
    name = method.declaration.name
    other = impl.method(method.name)
    if other is not None and other is not method:
        message = f"`impl {trait.name} for {impl.target}` has two methods `{method.name}`"
        c.report("E2030", name.span, message, help="rename one of them", first=other.declaration.name.span)
        return
    wanted = trait.methods.get(method.name)
    if wanted is None:
        help = f"move it to `impl {impl.name} {{ … }}`"
        c.report("E2025", name.span, f"trait `{trait.name}` has no method `{method.name}`", help=help)
        return
    pairs = zip(wanted.type_parameters, method.type_parameters, strict=False)
    renamed = {own(of_trait).unique_name: of_impl.type for of_trait, of_impl in pairs}
    if not _same_signature(wanted, method, {**bindings, **renamed}):
        theirs, ours = signature_text(wanted, bindings), signature_text(method, {})
        message = f"`{method.name}` of `{trait.name}` is `{theirs}`, here it is `{ours}`"
        first = wanted.declaration.name.span if trait.home is not None else None
        c.report("E2025", name.span, message, help=f"write `{theirs}`", first=first, note="declared here")


def _same_signature(wanted: FunctionSymbol, given: FunctionSymbol, bindings: Matching) -> bool:
    if wanted.takes_self != given.takes_self or wanted.changes_self != given.changes_self:
        return False
    if len(wanted.parameters) != len(given.parameters) or len(wanted.type_parameters) != len(given.type_parameters):
        return False
    start = 1 if wanted.takes_self else 0
    pairs = [*zip(wanted.parameters[start:], given.parameters[start:], strict=True), (wanted.result, given.result)]
    return all(ERRONEOUS in (a, b) and (a is ERRONEOUS or b is ERRONEOUS) or replaced(a, bindings) == b for a, b in pairs)


def signature_text(method: FunctionSymbol, bindings: Matching) -> str:
    """`fn m(self, k: Int) -> Bool`, as source writes it."""
    parts = []
    for parameter, type_ in zip(method.declaration.parameters, method.parameters, strict=True):
        written = f"{parameter.name.text}: {replaced(type_, bindings)}"
        parts.append(written if not parameter.is_self else "mut self" if parameter.mutable else "self")
    generic = f"<{', '.join(p.name for p in method.type_parameters)}>" if method.type_parameters else ""
    result = replaced(method.result, bindings)
    return f"fn {method.name}{generic}({', '.join(parts)})" + ("" if result == NIL else f" -> {result}")
