"""Relations between types: conversion, assignability, join (L-3.3, L-3.4).

Functions over `types`, which report nothing and change nothing, but for three: `learn` and `learn_from_assignment` set the type
of a variable, `matched` fills the `bindings` it is given. Hands on to the checker `convert` and `fits` (may a value of this
type go there? MISMATCH, of the class `_Mismatch`, says no), `convert_error` (the same of an error that leaves a function),
`join` and its kin (the type of a value that comes from several branches), `implements`, `implementations_of` and `heads_of` (is
it a value of this trait?), with `Matching` and `replaced_in`; `learn` (a use says the type of a variable), `open_local` and
`close_variable`; `close` (to the REPL too), `nilable` and `widen`, which make one type of another; questions about one type
(`generic`, `is_text`, `is_complete`, …) with NUMBERS, what a chain of places begins with (`root_of`, `is_entry`) and ERRONEOUS;
`kind_head`, `matched` and `replaced`, to the code generator too. A side of a type is open (`types.OPEN`) as long as nothing has
said what it is. The functions call themselves for the parts of a type; one that nests too deeply for that raises
RecursionError. A new conversion is a case here, a record in `decisions.py` and its code in `codegen/generator.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache

from ...vm.values.errors import ancestors, nearest_family
from ..decisions import CheckAny, Coercion, ErrToMessage, FromOption, ToError, ToFloat, ToMessage, ToOption, ToPrompt
from ..symbols import Local, McpSymbol
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

# Which types implement which traits (L-3.10.2, L-3.11.14).

Matching = dict[str, Type]  # type parameters of an impl, by their unique names


def kind_head(type_: Type) -> str | None:
    """Return what is left of a type at run time, where values are told apart (L-3.1.22); None for types that have no impls of
    their own: type parameters and traits, Any, `never`, string unions, `T?` and open types."""
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


def implements(type_: Type, trait: Nominal) -> bool:
    """Return whether values of a type are values of the trait type, or, for `Error`, errors. False for Any, `never` and open
    types, of which nothing is known."""
    if isinstance(type_, Nominal) and type_.kind in ("parameter", "trait"):
        return any(_same_trait(bound, trait) for bound in (type_, *type_.facts.bounds))
    if trait == ERROR:
        return isinstance(type_, Nominal) and (type_.kind == "error" or type_.facts.is_error)
    return next(implementations_of(type_, trait), None) is not None


def _same_trait(bound: Nominal, trait: Nominal) -> bool:
    if bound.kind == "error" or bound.bare != trait.bare:
        return bound == trait
    return all(matched(a, b, {}) for a, b in zip(bound.arguments, trait.arguments, strict=False))


def implementations_of(type_: Type, trait: Nominal) -> Iterator[tuple[Implementation, Matching]]:
    """Yield the impls of a trait that suit a type, each with what its type parameters are for it.

    Several differ in the type arguments of the trait; only those that agree with the arguments of `trait` are given, where Any
    agrees with all. A string union has those of String, an error those of the first of its `heads_of` that has any for the trait.
    """
    if isinstance(type_, Union):
        type_ = STRING
    for head in heads_of(type_):
        if head is None or not trait.facts.implementations.has(head):
            continue
        for implementation in trait.facts.implementations.offered(head, trait.arguments):
            bindings = _bindings_of(implementation, type_, trait)
            if bindings is not None:
                yield implementation, bindings
        return


def heads_of(type_: Type) -> list[str | None]:
    """Return the heads under which a type may have impls: an error has those of its families too, of which the nearest counts. A
    head is what `kind_head` returns, None for a type without."""
    if isinstance(type_, Nominal) and type_.kind == "error":
        return [*ancestors(type_.name)]
    is_error = isinstance(type_, Nominal) and type_.facts.is_error
    return [kind_head(type_), *(["Error"] if is_error else [])]


def _bindings_of(implementation: Implementation, type_: Type, trait: Nominal) -> Matching | None:
    bindings: Matching = {}
    # An impl for an error family suits the families below it, which `heads_of` has found by name.
    is_family = isinstance(implementation.target, Nominal) and implementation.target.kind == "error"
    if not is_family and not matched(implementation.target, type_, bindings, implementation.parameters):
        return None
    pairs = zip(implementation.arguments, trait.arguments, strict=False)
    if not all(matched(own, wanted, bindings, implementation.parameters) for own, wanted in pairs):
        return None
    return bindings if all(_bounds_hold(parameter, bindings) for parameter in implementation.parameters) else None


def _bounds_hold(parameter: Nominal, bindings: Matching) -> bool:
    type_ = bindings.get(parameter.unique_name, ANY)
    if type_ in (ANY, NEVER) or isinstance(type_, Open):
        return True
    return all(implements(type_, replaced_in(bound, bindings)) for bound in parameter.facts.bounds)


def matched(pattern: Type, type_: Type, bindings: Matching, parameters: tuple[Nominal, ...] = ()) -> bool:
    """Return whether a type is of the form `pattern`, and add what `parameters` stand for to `bindings`, by their unique names;
    some may be added even when the answer is False. A parameter stands for one type throughout; Any and what is open suit every
    part, and so does a type parameter for which a call has yet to find a type (`types.Parameter`)."""
    # The first place of a parameter says what it stands for; the others must agree.
    if isinstance(pattern, Nominal) and pattern in parameters:
        known = bindings.setdefault(pattern.unique_name, type_)
        return known == type_ or ANY in (known, type_) or isinstance(known, Open)
    if pattern == type_ or ANY in (pattern, type_) or isinstance(type_, (Open, Parameter)) or isinstance(pattern, Open):
        return True
    match pattern, type_:
        case Generic(), Generic() if pattern.name == type_.name:
            pairs = zip(pattern.arguments, type_.arguments, strict=False)
        case Nominal(), Nominal() if pattern.bare == type_.bare:
            pairs = zip(pattern.arguments, type_.arguments, strict=False)
        case Tuple(), Tuple() if len(pattern.items) == len(type_.items):
            pairs = zip(pattern.items, type_.items, strict=True)
        case Nilable(), Nilable():
            return matched(pattern.inner, type_.inner, bindings, parameters)
        case Function(), Function() if len(pattern.parameters) == len(type_.parameters):
            pairs = zip((*pattern.parameters, pattern.result), (*type_.parameters, type_.result), strict=True)
        case _:
            return False
    return all(matched(a, b, bindings, parameters) for a, b in pairs)


def replaced(type_: Type, bindings: Matching) -> Type:
    """Return a type from inside an impl or trait with its type parameters replaced; those without a binding stay."""
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
    """Return a nominal type with the type parameters in its arguments replaced."""
    return type_.of(tuple([replaced(t, bindings) for t in type_.arguments])) if type_.arguments else type_


# The type of an expression that was already reported: equal to Any, so that it suits every place, and told apart by identity, so
# that nothing is reported about it again (L-4.1.3).
ERRONEOUS = Simple("Any")


class _Mismatch:
    """What `convert` returns when there is no way from one type to the other: None means that nothing needs to be done."""


MISMATCH = _Mismatch()

NUMBERS = (INT, FLOAT)


def is_declared_data(type_: Type) -> bool:
    """Return whether a type is a struct, schema or enum, whatever its type arguments."""
    return isinstance(type_, Nominal) and type_.kind in ("struct", "schema", "enum")


def is_error(type_: Type) -> bool:
    """Return whether a type is a built-in error family."""
    return isinstance(type_, Nominal) and type_.kind == "error"


def is_error_value(type_: Type) -> bool:
    """Return whether a type is a built-in error family, has `impl Error`, or is a type parameter with the bound Error."""
    return implements(type_, ERROR)


def is_text(type_: Type) -> bool:
    """Return whether a type is String or a string union."""
    return type_ == STRING or isinstance(type_, Union)


def widen(type_: Type) -> Type:
    """Return String for a string union, which is one for every operator and method (L-3.3.8); any other type as it is."""
    return STRING if isinstance(type_, Union) else type_


def nilable(inner: Type) -> Type:
    """Return `T?`, which is T where T already holds nil (L-3.1.8)."""
    return inner if inner in (ANY, NIL) or isinstance(inner, Nilable) else Nilable(inner)


def is_present(type_: Type) -> bool:
    """Return whether no value of the type is itself an absence, so that `T?` and `Option<T>` mean the same (L-3.3.14)."""
    if isinstance(type_, Nilable) or type_ in (ANY, NIL) or generic(type_, "Option") or isinstance(type_, Open):
        return False
    return not (isinstance(type_, Nominal) and type_.kind in ("parameter", "trait"))


def generic(type_: Type | None, name: str) -> tuple[Type, ...] | None:
    """Return the type arguments if a type is `name<…>`, else None."""
    return type_.arguments if isinstance(type_, Generic) and type_.name == name else None


def keyed(type_: Type | None) -> tuple[Type, ...] | None:
    """Return the types of keys and values of a Map or a HashMap, None for any other type."""
    return generic(type_, "Map") or generic(type_, "HashMap")


def reads_resource(node: ast.Node | None) -> bool:
    """Return whether an expression is `N.resource(…)` of a declared server, without a type argument: then its place says the type
    (O-4.50)."""
    if not (isinstance(node, ast.MethodCall) and node.name.text == "resource" and node.type_arguments is None):
        return False
    server = ast.ungrouped(node.receiver)
    return isinstance(server, ast.PathExpr) and isinstance(server.binding, McpSymbol)


def is_entry(node: ast.Node | None) -> bool:
    """Return whether an expression is `h[k]` of a hashmap (O-5.40); False as long as `h` has not been typed."""
    return isinstance(node, ast.Index) and generic(node.receiver.type, "HashMap") is not None


def root_of(place: ast.Expr, begins: Callable[[ast.Expr], bool] = is_entry) -> ast.Expr:
    """Return what a chain of `.field`, `.N` and `[index]` begins with: the outermost link of which `begins` is true, by default
    the `h[k]` of a hashmap, which is not in the variable with the handle (O-5.40); without such a link the expression behind
    all of them, a variable or any other, such as a call. The chain must have been typed."""
    while True:
        if begins(place):
            return place
        if isinstance(place, (ast.FieldAccess, ast.TupleAccess, ast.Index)):
            place = place.receiver
        elif isinstance(place, ast.GroupExpr):
            place = place.inner
        else:
            return place


def gives_nothing(type_: Type) -> bool:
    """Return whether a type is `Result<Nil, E>`: what returns it gives no value when it succeeds."""
    sides = generic(type_, "Result")
    return sides is not None and sides[0] == NIL


def is_memory(type_: Type | None) -> bool:
    """Return whether a type is a memory, with a context or without."""
    return type_ == MEMORY or generic(type_, "Memory") is not None


def is_complete(type_: Type) -> bool:
    """Return whether no side of a type is still open."""
    return not type_.is_open


def close(type_: Type) -> Type:
    """Return the type with Any in place of every open side."""
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


def convert(source: Type, target: Type) -> Coercion | None | _Mismatch:
    """Return what a place of type `target` does to a value of type `source`: None for nothing, a coercion (the record by which
    codegen converts it), or MISMATCH where it may not go there (L-3.3)."""
    if source is target or source == target or target == ANY:
        return None
    # A value that never comes suits every place, and so does one that was reported.
    if source == NEVER or source is ERRONEOUS or isinstance(source, Open) or isinstance(target, Open):
        return None
    if source == ANY:
        return CheckAny(target)
    if target == FLOAT and source == INT:
        return ToFloat()
    if isinstance(target, Nilable):
        return _to_nilable(source, target.inner)
    if isinstance(target, Generic):
        return _to_generic(source, target)
    if isinstance(target, Nominal) and (target.kind == "trait" or target == ERROR) and implements(source, target):
        return None
    return None if _same_shape(source, target) else _to_prompt(source, target)


def _to_prompt(source: Type, target: Type) -> Coercion | _Mismatch:
    if target == STRING and is_error(source):
        return ToMessage()
    return ToPrompt() if target == PROMPT and is_text(source) else MISMATCH


def _to_nilable(source: Type, inner: Type) -> Coercion | None | _Mismatch:
    if source == NIL:
        return None
    if isinstance(source, Nilable):
        return None if part_fits(source.inner, inner) else MISMATCH
    coercion = convert(source, inner)
    # `Option<T>` to `T?` only where nil can mean nothing but None (L-3.3.14).
    inside = generic(source, "Option")
    if inside and isinstance(coercion, _Mismatch) and is_present(inner) and fits(inside[0], inner):
        return FromOption(Nilable(inner))
    return coercion


def _to_generic(source: Type, target: Generic) -> Coercion | None | _Mismatch:
    if isinstance(source, Generic) and source.name == target.name:
        parts = zip(source.arguments, target.arguments, strict=False)
        if all(part_fits(a, b) for a, b in parts):
            return None
        # The error side becomes its message only if the value side needs no conversion: there is one coercion for a place.
        if target.name == "Result" and is_error(source.arguments[1]) and target.arguments[1] == STRING:
            return ErrToMessage() if part_fits(source.arguments[0], target.arguments[0]) else MISMATCH
    if target.name != "Option":
        return MISMATCH
    if source == NIL:
        return ToOption()
    inside = target.arguments[0]
    if isinstance(source, Nilable):
        return ToOption() if is_present(inside) and fits(source.inner, inside) else MISMATCH
    inner = convert(source, inside)
    return inner if isinstance(inner, _Mismatch) else ToOption(inner)


def _same_shape(source: Type, target: Type) -> bool:
    """Return whether a row of L-3.3 that changes nothing applies, for types that are not generic."""
    match source, target:
        case Union(), Simple(name="String"):
            return True
        case Union(), Union():
            return _is_subset(source, target)
        case Nominal(kind="model"), Simple(name="ModelRef"):
            return True
        case Nominal(kind="tool"), Simple(name="ToolRef"):
            return True
        case Simple(name="AgentBuilder"), Simple(name="ModelBuilder"):
            return True
        case Simple(name="ModelBuilder"), Simple(name="ModelRef"):
            return True
        case Simple(name="AgentBuilder"), Simple(name="AgentRef"):
            return True
        case Generic(name="Memory"), Simple(name="Memory"):
            return True
        case Tuple(), Tuple():
            return len(source.items) == len(target.items) and all(map(part_fits, source.items, target.items))
        case Function(), Function():
            return _function_fits(source, target)
        case Nominal(arguments=(_, *_)), Nominal() if source.bare == target.bare:
            return all(fits(a, b) and fits(b, a) for a, b in zip(source.arguments, target.arguments, strict=False))
    return is_error(source) and is_error(target)


@lru_cache(maxsize=256)
def _is_subset(source: Union, target: Union) -> bool:
    """Return whether every member of one union is in the other; cached, as unions may be long and are often compared."""
    return source.known <= target.known


def _function_fits(source: Function, target: Function) -> bool:
    return (
        len(source.parameters) == len(target.parameters)
        # Parameters are contravariant; a result that nobody uses may be of any type.
        and all(fits(b, a) for a, b in zip(source.parameters, target.parameters, strict=True))
        and (target.result == NIL or fits(source.result, target.result))
    )


def fits(source: Type, target: Type) -> bool:
    """Return whether a value may go there without conversion."""
    return convert(source, target) is None


def part_fits(source: Type, target: Type) -> bool:
    """Return whether a part of a larger value may go there; of Any it may, since parts are not checked at run time (L-3.3.9)."""
    return source == ANY or fits(source, target)


def convert_error(source: Type, target: Type) -> Coercion | None | _Mismatch:
    """Return what `throw` and `?` do to an error on its way to a function that fails with `target` (L-3.12.3): None, a coercion
    or MISMATCH, as `convert`."""
    if source == ANY:
        return None
    return ToError() if is_error(target) and is_text(source) else convert(source, target)


def join(a: Type, b: Type) -> Type | None:
    """Return the type of a value that is an `a` or a `b`; None if there is none (L-3.4.1)."""
    if a is ERRONEOUS or b is ERRONEOUS:
        return ERRONEOUS
    if a == b or b == NEVER or isinstance(b, Open):
        return a
    if a == NEVER or isinstance(a, Open):
        return b
    if ANY in (a, b):
        return ANY
    # Int and Float join to Float before the shapes are compared, as neither fits the other without conversion.
    if a in NUMBERS and b in NUMBERS:
        return FLOAT
    if a == NIL or b == NIL or isinstance(a, Nilable) or isinstance(b, Nilable):
        return _join_nilable(a, b)
    return _join_shapes(a, b)


def join_values(a: Type, b: Type) -> Type | None:
    """Return the type of a value that is an `a` or a `b`, each of which is converted to it: as `join`, and beside it of an Option
    with what converts to it that Option (L-3.4.3). None if there is none."""
    joined = join(a, b)
    inside_a, inside_b = generic(a, "Option"), generic(b, "Option")
    if joined is not None or (inside_a is None) == (inside_b is None):
        return joined
    inside, other = (inside_a, b) if inside_a is not None else (inside_b, a)
    plain = other.inner if isinstance(other, Nilable) else other
    part = join(inside[0], plain) if inside is not None and is_present(plain) else None
    wider = None if part is None else option(part)
    return None if wider is None or MISMATCH in (convert(a, wider), convert(b, wider)) else wider


def _join_nilable(a: Type, b: Type) -> Type | None:
    # Nil joins with every T to `T?`, so it counts as `never` inside.
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
        # A join of parts needs no conversion of the whole: its elements cannot be converted one by one.
        if part is None or not (part_fits(x, part) and part_fits(y, part)):
            return None
        parts.append(part)
    return tuple(parts)


def join_all(types: list[Type]) -> Type | None:
    """Return the join of all types, `never` for none of them; None if two do not join."""
    joined: Type | None = NEVER
    for type_ in types:
        joined = join(joined, type_) if joined is not None else None
    return joined


def join_errors(types: list[Type]) -> Type:
    """Return the error side of a `try` without catch, or of a body whose errors are collected, from the types of the errors that
    leave it (L-3.12.6): open without any, one that all share, else Error, or Any where one of them is no error."""
    distinct = list(dict.fromkeys(types))
    if not distinct:
        return OPEN
    if len(distinct) == 1:
        return distinct[0]
    return ERROR if all(map(is_error_value, distinct)) else ANY


# Variables whose first value leaves their type open (`let mut xs = [];`, `let mut best = None;`), and the uses that say it
# (L-3.2.8).


def open_local(node: ast.Expr) -> Local | None:
    """Return the variable that an expression names, if its type is still open; None for every other expression."""
    node = ast.ungrouped(node)
    local = node.binding if isinstance(node, ast.PathExpr) else None
    return local if isinstance(local, Local) and local.type.is_open else None


def learn(node: ast.Expr, wanted: Type) -> None:
    """Fill the open sides of the variable that an expression names from the type that its place asks for. Of another expression,
    or where no side is open, nothing changes."""
    local = open_local(node)
    if local is not None:
        local.type = fill_open_sides(local.type, wanted)


def learn_from_assignment(target: ast.Expr, key: Type | None, value: Type) -> None:
    """Fill the open sides of the variable in `xs = v`, `m[k] = v` or `m.k = v`, where `value` is the type of v and `key` that of
    k, None for `m.k`, whose key is a String. What is indexed and not known to be a Map is an Array. Of any other target nothing
    changes."""
    target = ast.ungrouped(target)
    if not isinstance(target, (ast.Index, ast.FieldAccess)):
        learn(target, value)
        return
    local = open_local(target.receiver)
    if local is None:
        return
    if generic(local.type, "Map"):
        local.type = fill_open_sides(local.type, map_(key or STRING, value))
    elif isinstance(target, ast.Index):
        local.type = fill_open_sides(local.type, array(value))


def close_variable(node: ast.Expr, type_: Type) -> Type:
    """Return `type_`, the type of an expression that is read; of a variable whose type is still open, with Any for the open
    sides."""
    return type_ if open_local(node) is None else close(type_)


def fill_open_sides(known: Type, use: Type) -> Type:
    """Return `known` with its open sides as they are in `use`; unchanged where that is `never` or of another shape."""
    if not known.is_open or use == NEVER:
        return known
    if isinstance(known, Open):
        return use
    # A use may be wrapped: `T?` and `Option<T>` say T.
    while isinstance(use, Nilable) or (generic(use, "Option") and not generic(known, "Option")):
        use = use.inner if isinstance(use, Nilable) else use.arguments[0]  # type: ignore[attr-defined]
    if generic(known, "Option") and not generic(use, "Option") and use not in (ANY, NIL):
        use = option(use)  # L-3.3.6
    match known, use:
        case Generic(), Generic() if known.name == use.name:
            return Generic(known.name, tuple(map(fill_open_sides, known.arguments, use.arguments)))
        case Tuple(), Tuple() if len(known.items) == len(use.items):
            return Tuple(tuple(map(fill_open_sides, known.items, use.items)))
    return known
