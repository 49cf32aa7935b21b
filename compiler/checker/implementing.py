"""Which types implement which traits (L-3.10.2, L-3.11.14): questions about types alone.

Hands on `implements`, `implementations_of`, `kind_head`. Must not know: trees, symbols, diagnostics.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...vm.values.errors import ancestors
from ..types import (
    ANY,
    ERROR,
    NEVER,
    STRING,
    Function,
    Generic,
    Implementation,
    Nilable,
    Nominal,
    Open,
    Parameter,
    Simple,
    Tuple,
    Type,
    Union,
)

Matching = dict[str, Type]  # type parameters of an impl, by their unique names


def kind_head(type_: Type) -> str | None:
    """What is left of a type at run time, where values are told apart (L-3.1.22); None for types that have no impls."""
    match type_:
        case Nominal(kind="parameter" | "trait"):
            return None
        case Nominal():
            return type_.unique_name
        case Simple():
            return None if type_ in (ANY, NEVER) else type_.name
        case Generic():
            return type_.name
        case Tuple():
            return f"Tuple/{len(type_.items)}"
        case Function():
            return "Function"
    return None


def implements(found: Type, trait: Nominal) -> bool:
    """Whether values of `found` are values of the trait type, or, for `Error`, errors."""
    if isinstance(found, Nominal) and found.kind in ("parameter", "trait"):
        return any(_same_trait(bound, trait) for bound in (found, *found.facts.bounds))
    if trait == ERROR:
        return isinstance(found, Nominal) and (found.kind == "error" or found.facts.is_error)
    return next(implementations_of(found, trait), None) is not None


def _same_trait(bound: Nominal, trait: Nominal) -> bool:
    if bound.kind == "error" or bound.bare != trait.bare:
        return bound == trait
    return all(matched(a, b, {}) for a, b in zip(bound.arguments, trait.arguments, strict=False))


def implementations_of(found: Type, trait: Nominal) -> Iterator[tuple[Implementation, Matching]]:
    """The impls of a trait that suit a type, with what their type parameters are for it. More than one differ in the type
    arguments of the trait; where those are known, they count."""
    if isinstance(found, Union):
        found = STRING
    for head in _heads(found):
        if head is None or not trait.facts.implementations.has(head):
            continue
        for made in trait.facts.implementations.offered(head, trait.arguments):
            bindings = _suits(made, found, trait)
            if bindings is not None:
                yield made, bindings
        return


def _heads(found: Type) -> list[str | None]:
    """Under what a type may have impls: an error has those of its families too, the nearest counts."""
    if isinstance(found, Nominal) and found.kind == "error":
        return [*ancestors(found.name)]
    is_error = isinstance(found, Nominal) and found.facts.is_error
    return [kind_head(found), *(["Error"] if is_error else [])]


def _suits(made: Implementation, found: Type, trait: Nominal) -> Matching | None:
    bindings: Matching = {}
    is_family = isinstance(made.target, Nominal) and made.target.kind == "error"
    if not is_family and not matched(made.target, found, bindings, made.parameters):
        return None
    pairs = zip(made.arguments, trait.arguments, strict=False)
    if not all(matched(own, wanted, bindings, made.parameters) for own, wanted in pairs):
        return None
    return bindings if all(_satisfied(parameter, bindings) for parameter in made.parameters) else None


def _satisfied(parameter: Nominal, bindings: Matching) -> bool:
    found = bindings.get(parameter.unique_name, ANY)
    if found in (ANY, NEVER) or isinstance(found, Open):
        return True
    return all(implements(found, replaced_in(bound, bindings)) for bound in parameter.facts.bounds)


def matched(pattern: Type, found: Type, bindings: Matching, parameters: tuple[Nominal, ...] = ()) -> bool:
    """Whether `found` is of the form `pattern`; a parameter stands for one type throughout. Any suits every part."""
    if isinstance(pattern, Nominal) and pattern in parameters:
        known = bindings.setdefault(pattern.unique_name, found)
        return known == found or ANY in (known, found) or isinstance(known, Open)
    if pattern == found or ANY in (pattern, found) or isinstance(found, (Open, Parameter)) or isinstance(pattern, Open):
        return True
    match pattern, found:
        case Generic(), Generic() if pattern.name == found.name:
            pairs = zip(pattern.arguments, found.arguments, strict=False)
        case Nominal(), Nominal() if pattern.bare == found.bare:
            pairs = zip(pattern.arguments, found.arguments, strict=False)
        case Tuple(), Tuple() if len(pattern.items) == len(found.items):
            pairs = zip(pattern.items, found.items, strict=True)
        case Nilable(), Nilable():
            return matched(pattern.inner, found.inner, bindings, parameters)
        case Function(), Function() if len(pattern.parameters) == len(found.parameters):
            pairs = zip((*pattern.parameters, pattern.result), (*found.parameters, found.result), strict=True)
        case _:
            return False
    return all(matched(a, b, bindings, parameters) for a, b in pairs)


def replaced(type_: Type, bindings: Matching) -> Type:
    """A type of an impl with its type parameters replaced."""
    if not type_.has_parameters:
        return type_
    match type_:
        case Nominal(kind="parameter"):
            return bindings.get(type_.unique_name, type_)
        case Nominal():
            return replaced_in(type_, bindings)
        case Generic():
            return Generic(type_.name, tuple([replaced(t, bindings) for t in type_.arguments]))
        case Tuple():
            return Tuple(tuple([replaced(t, bindings) for t in type_.items]))
        case Nilable():
            return Nilable(replaced(type_.inner, bindings))
        case Function():
            parameters = tuple([replaced(t, bindings) for t in type_.parameters])
            return Function(parameters, replaced(type_.result, bindings))
    return type_


def replaced_in(type_: Nominal, bindings: Matching) -> Nominal:
    return type_.of(tuple([replaced(t, bindings) for t in type_.arguments])) if type_.arguments else type_
