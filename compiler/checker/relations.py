"""Relations between types: conversion, assignability, join (L-3.3, L-3.4).

Pure functions over `types`. Hands on `convert`, `fits`, `join` and the erroneous type. Must not know: trees, diagnostics.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from ...vm.values.errors import ancestors, nearest_family
from ..decisions import CheckAny, Coercion, ErrToMessage, FromOption, ToError, ToFloat, ToMessage, ToOption, ToPrompt
from ..symbols import Local
from ..syntax import ast
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
    Implementation,
    Nilable,
    Nominal,
    Open,
    Parameter,
    Simple,
    Tuple,
    Type,
    Union,
    array,
    error,
    map_,
    option,
    pipeline,
)

# ----------------------------------------------------------------
# Which types implement which traits (L-3.10.2, L-3.11.14): questions about types alone.
#
# Hands on `implements`, `implementations_of`, `kind_head`.

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


# ----------------------------------------------------------------

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


# ----------------------------------------------------------------
# Variables whose first value leaves a type open: `let mut xs = [];`, `let mut best = None;`, and the uses that say it
# (L-3.2.8).
#
# Hands on `learn` and what it is made of.


def open_local(node: ast.Expr) -> Local | None:
    """The variable that the expression names, if its type is still open."""
    while isinstance(node, ast.GroupExpr):
        node = node.inner
    local = node.binding if isinstance(node, ast.PathExpr) else None
    return local if isinstance(local, Local) and local.type.is_open else None


def learn(node: ast.Expr, wanted: Type) -> None:
    """The expression stands where `wanted` is expected: the open sides of its variable become what is there."""
    local = open_local(node)
    if local is not None:
        local.type = filled(local.type, wanted)


def learn_from_assignment(target: ast.Expr, key: Type | None, value: Type) -> None:
    """`xs = v`, `m[k] = v`, `m.k = v`: `key` is the type of k, that of a word for `m.k`."""
    while isinstance(target, ast.GroupExpr):
        target = target.inner
    if not isinstance(target, (ast.Index, ast.FieldAccess)):
        learn(target, value)
        return
    local = open_local(target.receiver)
    if local is None:
        return
    if generic(local.type, "Map"):
        local.type = filled(local.type, map_(key or STRING, value))
    elif isinstance(target, ast.Index):
        local.type = filled(local.type, array(value))


def close_variable(node: ast.Expr, found: Type) -> Type:
    """What is read of a variable whose type is open is Any."""
    return found if open_local(node) is None else close(found)


def filled(known: Type, found: Type) -> Type:
    """`known` with its open sides as they are in `found`; as it is where that is of another shape."""
    if not known.is_open or found == NEVER:
        return known
    if isinstance(known, Open):
        return found
    while isinstance(found, Nilable) or (generic(found, "Option") and not generic(known, "Option")):
        found = found.inner if isinstance(found, Nilable) else found.arguments[0]  # type: ignore[attr-defined]
    if generic(known, "Option") and not generic(found, "Option") and found not in (ANY, NIL):
        found = option(found)  # L-3.3.6
    match known, found:
        case Generic(), Generic() if known.name == found.name:
            return Generic(known.name, tuple(map(filled, known.arguments, found.arguments)))
        case Tuple(), Tuple() if len(known.items) == len(found.items):
            return Tuple(tuple(map(filled, known.items, found.items)))
    return known
