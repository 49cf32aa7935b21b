"""Relations between types: conversion, assignability, join (L-3.3, L-3.4).

Pure functions over `types`. Hands on `convert`, `fits`, `join` and the erroneous type. Must not know: trees, diagnostics.
"""

from __future__ import annotations

from functools import lru_cache

from ...vm.values.errors import nearest_family
from ..decisions import CheckAny, Coercion, ErrToMessage, FromOption, ToError, ToFloat, ToMessage, ToOption, ToPrompt
from ..types import (
    ANY,
    ERROR,
    FLOAT,
    INT,
    MEMORY,
    MODEL_REF,
    NEVER,
    NIL,
    OPEN,
    PROMPT,
    STRING,
    TOOL_REF,
    Function,
    Generic,
    Nilable,
    Nominal,
    Open,
    Simple,
    Tuple,
    Type,
    Union,
    error,
    pipeline,
)
from .implementing import implements

# The type of an expression that was already reported: equal to Any, told apart by identity (L-4.1.3).
ERRONEOUS = Simple("Any")


class _Mismatch:
    """The answer of `convert` when there is no way from one type to the other."""


MISMATCH = _Mismatch()

NUMBERS = (INT, FLOAT)


def is_error(type_: Type) -> bool:
    """A built-in family."""
    return isinstance(type_, Nominal) and type_.kind == "error"


def is_error_value(type_: Type) -> bool:
    """A built-in family or a type with `impl Error`."""
    return implements(type_, ERROR)


def is_text(type_: Type) -> bool:
    return type_ == STRING or isinstance(type_, Union)


def widen(type_: Type) -> Type:
    """A string union is a String for every operator and method (L-3.3.8)."""
    return STRING if isinstance(type_, Union) else type_


def nilable(inner: Type) -> Type:
    """`T?`, which is T where T already holds nil (L-3.1.8)."""
    return inner if inner in (ANY, NIL) or isinstance(inner, Nilable) else Nilable(inner)


def is_present(type_: Type) -> bool:
    """Whether no value of the type is itself an absence, so that `T?` and `Option<T>` say the same (L-3.3.14)."""
    if isinstance(type_, Nilable) or type_ in (ANY, NIL) or generic(type_, "Option") or isinstance(type_, Open):
        return False
    return not (isinstance(type_, Nominal) and type_.kind in ("parameter", "trait"))


def generic(type_: Type | None, name: str) -> tuple[Type, ...] | None:
    """The type arguments when `type_` is `name<…>`."""
    return type_.arguments if isinstance(type_, Generic) and type_.name == name else None


def is_memory(type_: Type | None) -> bool:
    """With a context or without."""
    return type_ == MEMORY or generic(type_, "Memory") is not None


def is_complete(type_: Type) -> bool:
    """Whether no side of it is still open."""
    return not type_.is_open


def close(type_: Type) -> Type:
    """The type with every open side become Any."""
    if not type_.is_open:
        return type_
    match type_:
        case Generic():
            return Generic(type_.name, tuple(map(close, type_.arguments)))
        case Tuple():
            return Tuple(tuple(map(close, type_.items)))
        case Nilable():
            return nilable(close(type_.inner))
        case Function():
            return Function(tuple(map(close, type_.parameters)), close(type_.result))
        case Nominal():
            return type_.of(tuple(map(close, type_.arguments)))
    return ANY


def convert(found: Type, wanted: Type) -> Coercion | None | _Mismatch:
    """What a place of type `wanted` does to a value of type `found`: nothing, a coercion, or MISMATCH (L-3.3)."""
    if found is wanted or found == wanted or wanted == ANY:
        return None
    if found == NEVER or found is ERRONEOUS or isinstance(found, Open) or isinstance(wanted, Open):
        return None
    if found == ANY:
        return CheckAny(wanted)
    if wanted == FLOAT and found == INT:
        return ToFloat()
    if isinstance(wanted, Nilable):
        return _to_nilable(found, wanted.inner)
    if isinstance(wanted, Generic):
        return _to_generic(found, wanted)
    if isinstance(wanted, Nominal) and (wanted.kind == "trait" or wanted == ERROR) and implements(found, wanted):
        return None
    return None if _same_shape(found, wanted) else _to_prompt(found, wanted)


def _to_prompt(found: Type, wanted: Type) -> Coercion | _Mismatch:
    if wanted == STRING and is_error(found):
        return ToMessage()
    return ToPrompt() if wanted == PROMPT and is_text(found) else MISMATCH


def _to_nilable(found: Type, inner: Type) -> Coercion | None | _Mismatch:
    if found == NIL:
        return None
    if isinstance(found, Nilable):
        return None if part_fits(found.inner, inner) else MISMATCH
    coercion = convert(found, inner)
    inside = generic(found, "Option")
    if inside and isinstance(coercion, _Mismatch) and is_present(inner) and fits(inside[0], inner):
        return FromOption(Nilable(inner))
    return coercion


def _to_generic(found: Type, wanted: Generic) -> Coercion | None | _Mismatch:
    if isinstance(found, Generic) and found.name == wanted.name:
        parts = zip(found.arguments, wanted.arguments, strict=False)
        if all(part_fits(a, b) for a, b in parts):
            return None
        if wanted.name == "Result" and is_error(found.arguments[1]) and wanted.arguments[1] == STRING:
            return ErrToMessage() if part_fits(found.arguments[0], wanted.arguments[0]) else MISMATCH
    if wanted.name != "Option":
        return MISMATCH
    if found == NIL:
        return ToOption()
    inside = wanted.arguments[0]
    if isinstance(found, Nilable):
        return ToOption() if is_present(inside) and fits(found.inner, inside) else MISMATCH
    inner = convert(found, inside)
    return inner if isinstance(inner, _Mismatch) else ToOption(inner)


def _same_shape(found: Type, wanted: Type) -> bool:
    """The rows of L-3.3 that change nothing, for types that are not generic."""
    match found, wanted:
        case Union(), Simple(name="String"):
            return True
        case Union(), Union():
            return _within(found, wanted)
        case Nominal(kind="model"), Simple(name="ModelRef"):
            return True
        case Nominal(kind="tool"), Simple(name="ToolRef"):
            return True
        case Simple(name="AgentBuilder"), Simple(name="ModelBuilder"):
            return True
        case Generic(name="Memory"), Simple(name="Memory"):
            return True
        case Tuple(), Tuple():
            return len(found.items) == len(wanted.items) and all(map(part_fits, found.items, wanted.items))
        case Function(), Function():
            return _function_fits(found, wanted)
        case Nominal(arguments=(_, *_)), Nominal() if found.bare == wanted.bare:
            return all(fits(a, b) and fits(b, a) for a, b in zip(found.arguments, wanted.arguments, strict=False))
    return is_error(found) and is_error(wanted)


@lru_cache(maxsize=256)
def _within(found: Union, wanted: Union) -> bool:
    """Unions may be long and are often used."""
    return found.known <= wanted.known


def _function_fits(found: Function, wanted: Function) -> bool:
    return (
        len(found.parameters) == len(wanted.parameters)
        and all(fits(b, a) for a, b in zip(found.parameters, wanted.parameters, strict=True))
        and (wanted.result == NIL or fits(found.result, wanted.result))
    )


def fits(found: Type, wanted: Type) -> bool:
    """Assignable without conversion."""
    return convert(found, wanted) is None


def part_fits(found: Type, wanted: Type) -> bool:
    """Assignable as a part of a larger type, where parts behind Any stay unchecked (L-3.3.9)."""
    return found == ANY or fits(found, wanted)


def convert_error(found: Type, wanted: Type) -> Coercion | None | _Mismatch:
    """What `throw` and `?` do to an error on its way to a target that fails with `wanted` (L-3.12.3)."""
    if found == ANY:
        return None
    return ToError() if is_error(wanted) and is_text(found) else convert(found, wanted)


def join(a: Type, b: Type) -> Type | None:
    """The type of a value that is an `a` or a `b`, or None (L-3.4.1)."""
    if a is ERRONEOUS or b is ERRONEOUS:
        return ERRONEOUS
    if a == b or b == NEVER or isinstance(b, Open):
        return a
    if a == NEVER or isinstance(a, Open):
        return b
    if ANY in (a, b):
        return ANY
    if a in NUMBERS and b in NUMBERS:
        return FLOAT
    if a == NIL or b == NIL or isinstance(a, Nilable) or isinstance(b, Nilable):
        return _join_nilable(a, b)
    return _join_shapes(a, b)


def _join_nilable(a: Type, b: Type) -> Type | None:
    inner_a = a.inner if isinstance(a, Nilable) else NEVER if a == NIL else a
    inner_b = b.inner if isinstance(b, Nilable) else NEVER if b == NIL else b
    inner = join(inner_a, inner_b)
    if inner is None:
        return None
    joined = nilable(inner)
    convertible = not any(isinstance(convert(t, joined), _Mismatch) for t in (a, b))
    return joined if convertible else None


def _join_shapes(a: Type, b: Type) -> Type | None:
    match a, b:
        case Generic(name="Memory"), Generic(name="Memory"):
            return MEMORY
        case Generic(name="PipelineRef"), Generic(name="PipelineRef"):
            return pipeline(ANY, ANY)
        case Generic(), Generic() if a.name == b.name:
            parts = _join_parts(a.arguments, b.arguments)
            return None if parts is None else Generic(a.name, parts)
        case Tuple(), Tuple() if len(a.items) == len(b.items):
            parts = _join_parts(a.items, b.items)
            return None if parts is None else Tuple(parts)
        case Nominal(kind="model"), Nominal(kind="model"):
            return MODEL_REF
        case Nominal(kind="tool"), Nominal(kind="tool"):
            return TOOL_REF
        case Nominal(kind="error"), Nominal(kind="error"):
            return error(nearest_family(a.name, b.name))
    if is_text(a) and is_text(b):
        return b if fits(a, b) else a if fits(b, a) else STRING
    return b if fits(a, b) else a if fits(b, a) else None


def _join_parts(a: tuple[Type, ...], b: tuple[Type, ...]) -> tuple[Type, ...] | None:
    parts = []
    for x, y in zip(a, b, strict=True):
        part = join(x, y)
        if part is None or not (part_fits(x, part) and part_fits(y, part)):
            return None
        parts.append(part)
    return tuple(parts)


def join_all(types: list[Type]) -> Type | None:
    joined: Type | None = NEVER
    for type_ in types:
        joined = join(joined, type_) if joined is not None else None
    return joined


def join_errors(types: list[Type]) -> Type:
    """The error side of a `try` without catch (L-3.12.6)."""
    distinct = list(dict.fromkeys(types))
    if not distinct:
        return OPEN
    if len(distinct) == 1:
        return distinct[0]
    return ERROR if all(map(is_error_value, distinct)) else ANY
