"""Signatures of built-ins as static types, and type arguments found from arguments (L-3.2.6).

Hands on `BuiltinSignature`, `signature_of`, `substitute`, `unify`. Must not know: expressions.
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
    error,
)
from .relations import MISMATCH, convert, implementations_of, is_complete, nilable, replaced

Bindings = dict[str, Type]


class Formal(NamedTuple):
    """One parameter of anything callable."""

    name: str
    type: Type
    required: bool
    variadic: bool = False


@dataclass(frozen=True, slots=True)
class BuiltinSignature:
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
}  # fmt: skip
_cache: dict[int, BuiltinSignature] = {}


def signature_of(row: Row) -> BuiltinSignature:
    known = _cache.get(id(row))
    if known is None:
        formals = tuple(Formal(p.name, static_type(p.type), p.default is REQUIRED, p.variadic) for p in row.parameters)
        receiver = None if row.receiver_type is None else static_type(row.receiver_type)
        known = _cache[id(row)] = BuiltinSignature(receiver, formals, static_type(row.result))
    return known


def static_type(descriptor: tuple[Any, ...]) -> Type:
    """A descriptor of the machine's table as a type."""
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
    return MEMORY if descriptor[1] == "MemoryRef" else Simple(descriptor[1])


def substitute(type_: Type, bindings: Bindings) -> Type:
    """The type with its parameters replaced; those not bound are open."""
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


def opened(type_: Type, names: Collection[str]) -> Type:
    """A type from inside a generic declaration, with the type parameters of these names to be found by a call."""
    if not names or not type_.has_parameters:
        return type_
    match type_:
        case Nominal(kind="parameter"):
            return Parameter(type_.name) if type_.name in names else type_
        case Nominal() if type_.arguments:
            return type_.of(tuple([opened(t, names) for t in type_.arguments]))
        case Generic():
            return Generic(type_.name, tuple([opened(t, names) for t in type_.arguments]))
        case Tuple():
            return Tuple(tuple([opened(t, names) for t in type_.items]))
        case Nilable():
            return Nilable(opened(type_.inner, names))
        case Function():
            return Function(tuple([opened(t, names) for t in type_.parameters]), opened(type_.result, names))
    return type_


def unify(formal: Type, found: Type, bindings: Bindings, hints: Bindings | None = None) -> None:
    """Binds the parameters of `formal` that are still unbound to what stands there in `found`; a hint is preferred where the
    found type converts to it."""
    match formal:
        case Parameter():
            _bind(formal.name, found, bindings, hints or {})
        case _ if found == ANY:
            for part in _parts(formal):
                unify(part, ANY, bindings, hints)
        case Nilable():
            unify(formal.inner, found.inner if isinstance(found, Nilable) else found, bindings, hints)
        case Nominal(kind="trait") if not (isinstance(found, Nominal) and found.bare == formal.bare):
            _unify_through_impl(formal, found, bindings, hints)
        case Nominal() if isinstance(found, Nominal) and found.bare != formal.bare:
            return
        case Generic() if isinstance(found, Generic) and found.name != formal.name:
            return
        case _ if type(formal) is type(found):
            for a, b in zip(_parts(formal), _parts(found), strict=False):
                unify(a, b, bindings, hints)


def _unify_through_impl(formal: Nominal, found: Type, bindings: Bindings, hints: Bindings | None) -> None:
    """`X<T>` meets a type that implements X once: T is what that impl says."""
    any_of_it = formal.of((ANY,) * len(formal.arguments))
    offers = list(implementations_of(found, any_of_it))
    if len(offers) == 1:
        made, inside = offers[0]
        for part, argument in zip(formal.arguments, made.arguments, strict=False):
            unify(part, replaced(argument, inside), bindings, hints)


def _bind(name: str, found: Type, bindings: Bindings, hints: Bindings) -> None:
    if name in bindings or isinstance(found, Open):
        return
    hint = hints.get(name)
    if hint is not None and convert(found, hint) is not MISMATCH:
        bindings[name] = hint
    elif is_complete(found):
        bindings[name] = ANY if found == NEVER else found


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
