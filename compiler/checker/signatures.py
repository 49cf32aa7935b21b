"""Signatures of built-ins as static types, and type arguments found from arguments (L-3.2.6).

Hands on `Formal` (a parameter of anything callable) to `arguments`, `calls` and `types`, `signature_of` (the row of a built-in
as types) to `arguments`, `calls` and `methods`, `static_type` (one descriptor of a row) to `memory_steps`, and what finds type
arguments: `open_parameters`, for `types`, makes the type parameters of a declaration ready to be bound; for `arguments`,
`methods` and `types` `unify` compares a parameter's type with an argument's and adds to `Bindings` (which `calls` and
`expressions` make too), and `substitute` puts the bindings in. First-order unification in one pass over the arguments: the
first binding of a type parameter stays. A new form of descriptor is a case of `static_type`. Nothing is reported here: whether
an argument suits is said by `relations.convert`, and the rules of calls report it. Only types that nest too deeply raise,
RecursionError.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, NamedTuple

from ...vm.builtins import REQUIRED, Row
from ..types import (
    ANY,
    MEMORY,
    NEVER,
    OPEN,
    PROMPT,
    Function,
    Generic,
    Nilable,
    Nominal,
    Open,
    Parameter,
    Simple,
    Tuple,
    Type,
    Union,
    error,
)
from .relations import MISMATCH, convert, implementations_of, is_complete, nilable, replaced

Bindings = dict[str, Type]  # what type parameters stand for, by their names


class Formal(NamedTuple):
    """One parameter of anything callable. `required`: it has no default; `variadic`: it takes all further arguments."""

    name: str
    type: Type
    required: bool
    variadic: bool = False


@dataclass(frozen=True, slots=True)
class BuiltinSignature:
    """The signature of a built-in; `receiver`, the type that has the method, is None for functions."""

    receiver: Type | None
    parameters: tuple[Formal, ...]
    result: Type


_SIMPLE = {
    "int": "Int", "float": "Float", "string": "String", "bool": "Bool", "nil": "Nil", "any": "Any", "never": "never",
    "range": "Range", "bytes": "Bytes",
}  # fmt: skip
_GENERIC = {
    "array": "Array", "map": "Map", "option": "Option", "result": "Result", "task": "Task", "set": "Set",
    "queue": "Queue", "stack": "Stack", "hashmap": "HashMap", "pipeline": "PipelineRef",
    "index": "Index",
    "typed_stream": "TypedStream", "item_stream": "ItemStream", "host_stream": "HostStream",
}  # fmt: skip
# By identity: rows are constants of modules, which live as long as this cache.
_cache: dict[int, BuiltinSignature] = {}


def signature_of(row: Row) -> BuiltinSignature:
    """Return the signature of a row of the table of built-ins, made once for each row; the row must live as long as the
    process."""
    known = _cache.get(id(row))
    if known is None:
        formals = tuple(Formal(p.name, static_type(p.type), p.default is REQUIRED, p.variadic) for p in row.parameters)
        receiver = None if row.receiver_type is None else static_type(row.receiver_type)
        known = _cache[id(row)] = BuiltinSignature(receiver, formals, static_type(row.result))
    return known


def static_type(descriptor: tuple[Any, ...]) -> Type:
    """Return a type descriptor of the machine's table as a type. A descriptor is a tuple: a word for the form (`("int",)`,
    `("array", element)`, `("fn", parameters, result)`), then its parts; that of a handle, `("handle", name)`, is the type of this
    name, but for `MemoryRef`, which is Memory."""
    head = descriptor[0]
    if head in _SIMPLE:
        return Simple(_SIMPLE[head])
    if head in _GENERIC:
        return Generic(_GENERIC[head], tuple(map(static_type, descriptor[1:])))
    match head:
        case "tuple":
            return Tuple(tuple(map(static_type, descriptor[1])))
        case "nilable":
            return nilable(static_type(descriptor[1]))
        case "fn":
            return Function(tuple(map(static_type, descriptor[1])), static_type(descriptor[2]))
        case "var":
            return Parameter(descriptor[1])
        case "error":
            return error(descriptor[1])
        case "prompt":
            return PROMPT
        case "struct":
            return Nominal("record", descriptor[1])
        case "union":
            return Union(descriptor[1])
    return MEMORY if descriptor[1] == "MemoryRef" else Simple(descriptor[1])


def substitute(type_: Type, bindings: Bindings) -> Type:
    """Return the type with its parameters replaced by what they are bound to; those without binding are open."""
    if not type_.is_open:
        return type_
    match type_:
        case Parameter():
            return bindings.get(type_.name, OPEN)
        case Generic():
            return Generic(type_.name, tuple([substitute(t, bindings) for t in type_.arguments]))
        case Tuple():
            return Tuple(tuple([substitute(t, bindings) for t in type_.items]))
        case Nilable():
            return nilable(substitute(type_.inner, bindings))
        case Function():
            parameters = tuple([substitute(t, bindings) for t in type_.parameters])
            return Function(parameters, substitute(type_.result, bindings))
        case Nominal() if type_.arguments:
            return type_.of(tuple([substitute(t, bindings) for t in type_.arguments]))
    return type_


def open_parameters(type_: Type, names: Collection[str]) -> Type:
    """Return a type `type_` from inside a generic declaration with the parameters of these names as `Parameter`s, which a call
    has to bind."""
    if not names or not type_.has_parameters:
        return type_
    match type_:
        case Nominal(kind="parameter"):
            return Parameter(type_.name) if type_.name in names else type_
        case Nominal() if type_.arguments:
            return type_.of(tuple([open_parameters(t, names) for t in type_.arguments]))
        case Generic():
            return Generic(type_.name, tuple([open_parameters(t, names) for t in type_.arguments]))
        case Tuple():
            return Tuple(tuple([open_parameters(t, names) for t in type_.items]))
        case Nilable():
            return Nilable(open_parameters(type_.inner, names))
        case Function():
            return Function(tuple([open_parameters(t, names) for t in type_.parameters]), open_parameters(type_.result, names))
    return type_


def unify(formal: Type, actual: Type, bindings: Bindings, hints: Bindings | None = None) -> None:
    """Bind, in `bindings`, the parameters of `formal` that are still unbound to what stands in their places in `actual`; a hint
    is preferred where the actual type converts to it. `T?` takes a T too, and a trait what implements it; else types of different
    kinds, names or lengths bind nothing: the conversion of the argument reports them. `hints` are what the surroundings of the
    call would like the parameters to be."""
    match formal:
        case Parameter():
            _bind(formal.name, actual, bindings, hints or {})
        # Any says nothing about its parts: every parameter inside is Any.
        case _ if actual == ANY:
            for part in _parts(formal):
                unify(part, ANY, bindings, hints)
        case Nilable():
            unify(formal.inner, actual.inner if isinstance(actual, Nilable) else actual, bindings, hints)
        # A value of a type that implements the trait binds the arguments of the trait through its impl.
        case Nominal(kind="trait") if not (isinstance(actual, Nominal) and actual.bare == formal.bare):
            _unify_through_impl(formal, actual, bindings, hints)
        case Nominal() if isinstance(actual, Nominal) and actual.bare != formal.bare:
            return
        case Generic() if isinstance(actual, Generic) and actual.name != formal.name:
            return
        case _ if type(formal) is type(actual) and len(_parts(formal)) == len(_parts(actual)):
            for a, b in zip(_parts(formal), _parts(actual), strict=True):
                unify(a, b, bindings, hints)


def _unify_through_impl(formal: Nominal, actual: Type, bindings: Bindings, hints: Bindings | None) -> None:
    """Bind T of a parameter `X<T>` for an argument whose type implements X once: T is what that impl says."""
    any_of_it = formal.of((ANY,) * len(formal.arguments))
    offers = list(implementations_of(actual, any_of_it))
    if len(offers) == 1:
        implementation, inside = offers[0]
        for part, argument in zip(formal.arguments, implementation.arguments, strict=False):
            unify(part, replaced(argument, inside), bindings, hints)


def _bind(name: str, actual: Type, bindings: Bindings, hints: Bindings) -> None:
    # The first argument that says something decides; `[]` and `None` say nothing.
    if name in bindings or isinstance(actual, Open):
        return
    hint = hints.get(name)
    if hint is not None and convert(actual, hint) is not MISMATCH:
        bindings[name] = hint
    elif is_complete(actual):
        # An argument that never comes must not make the result `never`.
        bindings[name] = ANY if actual == NEVER else actual


def _parts(type_: Type) -> tuple[Type, ...]:
    match type_:
        case Generic() | Nominal():
            return type_.arguments
        case Tuple():
            return type_.items
        case Function():
            return (*type_.parameters, type_.result)
        case Nilable():
            return (type_.inner,)
    return ()
