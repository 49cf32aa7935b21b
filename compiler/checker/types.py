"""Types as written, to types as values (L-3.1).

Hands on to the checker `written_type` (the type that a type expression means), `parts_in`, `part_in` and `shape_in` (the fields
of a struct, or one of them, in a value of this type), `Instance` (one use of a generic declaration, whose type arguments are
found step by step) and `written_arguments`, `alias_type`, `nominal_of`, `check_key_type`, the table RECORDS (built-in records by
name, to codegen too), `partial_type` (the parts in which a value arrives), and to `program` `check_pending_bounds` and
`fill_partials`. A new form of written type is a case of `_written_type`; a built-in type is a row of `resolver.names.TYPES`, and
of RECORDS if it has fields, or of SPELLINGS if its type has another form. The types of declared structs and enums are filled by
`declarations`; how two types relate is in `relations`. What is wrong is reported to `c`, the state of the check, and not raised.
`c` also keeps what was worked out of a type once.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...vm.schema import partial_key
from .. import types
from ..resolver.names import LIBRARY_TYPES, TYPES
from ..resolver.state import ErroneousSymbol
from ..source import Span
from ..symbols import (
    AliasSymbol,
    BuiltinSymbol,
    ContextSymbol,
    EnumSymbol,
    ErrorFamilySymbol,
    FunctionSymbol,
    KnownType,
    StructSymbol,
    TraitSymbol,
    TypeParameterSymbol,
    VariantSymbol,
)
from ..syntax import ast
from ..types import ANY, BOOL, BYTES, INT, NEVER, NIL, OPEN, STRING, Generic, Nominal, Simple, Type, Union
from .arguments import Matched, hints_of, infer_arguments, is_wrapped_or_not
from .relations import ERRONEOUS, close, generic, implements, is_complete, nilable, replaced_in
from .signatures import Bindings, Formal, open_parameters, substitute, unify
from .state import Checker, Expected, PendingBounds

# Bounds of type parameters against type arguments (L-3.9.3).


def require_bounds(
    c: Checker, owner: str, parameters: Sequence[TypeParameterSymbol], arguments: Sequence[Type], span: Span
) -> None:
    """Report each type argument that does not implement what its parameter asks for (E2026); Any, `never` and what is open pass.
    While types are declared the check is put off until all impls are known (`check_pending_bounds`). `owner` is the generic
    declaration, for the message."""
    if c.pending_bounds is not None:
        c.pending_bounds.append(PendingBounds(owner, parameters, arguments, span))
        return
    pairs = [(nominal_of(p), type_) for p, type_ in zip(parameters, arguments, strict=False)]
    bindings = {parameter.unique_name: type_ for parameter, type_ in pairs}
    for parameter, type_ in pairs:
        for bound in parameter.facts.bounds:
            wanted = replaced_in(bound, bindings)
            # An open type is checked where it is bound.
            if type_ not in (ANY, NEVER) and is_complete(type_) and not implements(type_, wanted):
                message = f"`{type_}` does not implement `{wanted}`, which `{parameter}` of `{owner}` asks for"
                c.report("E2026", span, message, help=_bound_help(type_, wanted))


def check_pending_bounds(c: Checker) -> None:
    """Check the bounds that were put off; after this call `require_bounds` reports at once."""
    pending, c.pending_bounds = c.pending_bounds or [], None
    for use in pending:
        require_bounds(c, use.owner, use.parameters, use.arguments, use.span)


def nominal_of(parameter: TypeParameterSymbol) -> Nominal:
    """Return the type that a type parameter is inside its declaration."""
    assert isinstance(parameter.type, Nominal)
    return parameter.type


def _bound_help(type_: Type, bound: Nominal) -> str:
    if isinstance(type_, Nominal) and type_.kind == "parameter":
        return f"declare `<{type_}: {bound}>`"
    return f"write `impl {bound} for {type_} {{ … }}`"


# Written types.

# Built-in structs, which no program declares; what fields they have is said by `declarations.RECORD_FIELDS`.
RECORDS = {
    t.name: t
    for t in (
        types.PROMPT, types.RESPONSE, types.CITATION, types.MESSAGE, types.CHUNK, types.TOOL_CALL, types.LEDGER_ENTRY,
        types.ENTRY, types.TURN, types.FACT, types.PROVENANCE, types.LEARNED, types.DOMINANT, types.OBSERVED, types.EMIT,
        *types.LIBRARY_RECORDS,
    )
}  # fmt: skip
# Names whose type is not simply called so.
SPELLINGS: dict[str, Type] = {
    "MemoryRef": types.MEMORY, "Agent": types.AGENT_REF, "Schema": types.SCHEMA_REF, "HashMapRef": types.hashmap(ANY, ANY),
    "LedgerRef": types.LEDGER, "PipelineRef": types.pipeline(ANY, ANY),
    **RECORDS,
}  # fmt: skip


def written_type(c: Checker, node: ast.TypeExpr) -> Type:
    """Return the type that a type expression means; ERRONEOUS after a report (E0114, E1002, E2028, E2039, E2040, E4022, E4508),
    or where the resolver has reported a name, and of a part of it that part. A type argument that is only illegal as a key or
    by its bounds (E2019, E2026) is reported and kept."""
    return c.bounded(c.nesting.call(_written_type, c, node), node.span)


def _written_type(c: Checker, node: ast.TypeExpr) -> Type:
    match node:
        case ast.NamedType():
            return _named(c, node)
        case ast.NilableType():
            return nilable(written_type(c, node.inner))
        case ast.FunctionType():
            parameters = tuple(written_type(c, p) for p in node.parameters)
            return types.Function(parameters, NIL if node.result is None else written_type(c, node.result))
        case ast.TupleType():
            return types.Tuple(tuple([written_type(c, item) for item in node.items]))
        case ast.LiteralType():
            return Union((node.value,))
        case ast.UnionType():
            return _union(c, node)
        case KnownType():
            return _known(c, node.known)
    return ERRONEOUS


def _known(c: Checker, type_: Type) -> Type:
    """Return a type of an earlier program as this program has it, with what its own impls say (`Facts`); Any for a declared type
    that this program does not declare."""
    match type_:
        case Nominal(kind="struct" | "schema" | "enum" | "trait" | "context"):
            key = type_.unique_name
            symbol = c.declared(type_) or c.trait_symbols.get(key) or c.contexts.get(key)
            if symbol is None or not isinstance(symbol.type, Nominal) or symbol.type.bare != type_.bare:
                return ANY
            return symbol.type.of(tuple([_known(c, argument) for argument in type_.arguments]))
        case Generic():
            return Generic(type_.name, tuple([_known(c, argument) for argument in type_.arguments]))
        case types.Tuple():
            return types.Tuple(tuple([_known(c, item) for item in type_.items]))
        case types.Nilable():
            return nilable(_known(c, type_.inner))
        case types.Function():
            return types.Function(tuple([_known(c, part) for part in type_.parameters]), _known(c, type_.result))
    return type_


def _union(c: Checker, node: ast.UnionType) -> Type:
    members: dict[str, None] = {}  # in order, each once
    for member in node.members:
        if isinstance(member, ast.LiteralType):
            members[member.value] = None
            continue
        written = written_type(c, member)
        if written is not ERRONEOUS:
            help = "write `T?` for a value or nil" if written == NIL else _union_help(node, written)
            return c.report("E2039", member.span, f"a union holds string literals only, not `{written}`", help=help)
    return Union(tuple(members))


def _union_help(node: ast.UnionType, written: Type) -> str:
    """Return the help for `String | None` and `Int | String`, which are unions of types elsewhere."""
    names = [member.path[0].text for member in node.members if isinstance(member, ast.NamedType) and len(member.path) == 1]
    if any(name in ("None", "null", "nil", "undefined", "Nil") for name in names):
        return f"write `{nilable(written)}` for a value or nil"
    variants = ", ".join(f"{name}({name})" for name in names)
    return f"write `Any`, or declare what it may be: `enum Either {{ {variants} }}`"


def _named(c: Checker, node: ast.NamedType) -> Type:
    if isinstance(node.binding, BuiltinSymbol) and node.binding.name == "Memory" and node.arguments:
        return _memory_of(c, node, node.arguments)
    arguments = [written_type(c, argument) for argument in node.arguments or ()]
    if node.path[0].text == "Self" and len(node.path) == 1 and c.self_type is not None:
        return c.self_type if _check_count(c, node, "Self", 0, arguments) else ERRONEOUS
    match node.binding:
        case None:
            return ERRONEOUS
        case ErroneousSymbol():
            return ERRONEOUS
        case BuiltinSymbol(name=name):
            return _builtin(c, node, name, arguments)
        case ErrorFamilySymbol(name=name):
            return types.error(name) if _check_count(c, node, name, 0, arguments) else ERRONEOUS
        case TypeParameterSymbol():
            return node.binding.type if _check_count(c, node, node.binding.name, 0, arguments) else ERRONEOUS
        case ContextSymbol(name=name):
            help = f"a memory with its slots is a `Memory<{name}>`"
            return c.report("E1002", node.span, f"the context `{name}` is no type of values", help=help)
        case AliasSymbol():
            return _alias(c, node, node.binding, arguments)
        case StructSymbol() | EnumSymbol() | TraitSymbol():
            symbol = node.binding
            if not _check_count(c, node, symbol.name, len(symbol.type_parameters), arguments):
                return ERRONEOUS
            require_bounds(c, symbol.name, symbol.type_parameters, arguments, node.span)
            return _with_arguments(symbol.type, arguments)
    return ERRONEOUS


def _memory_of(c: Checker, node: ast.NamedType, arguments: list[ast.TypeExpr]) -> Type:
    """Return the type that `Memory<C>` means (M-2.2)."""
    context = arguments[0].binding if isinstance(arguments[0], ast.NamedType) else None
    if len(arguments) > 1:
        return c.report("E2028", node.span, f"`Memory` takes 1 type argument, {len(arguments)} given", help="write `Memory<C>`")
    if isinstance(context, ContextSymbol):
        return types.memory_of(context.type)
    type_ = written_type(c, arguments[0])
    if type_ is ERRONEOUS:
        return type_
    help = "declare `context C { … }` and write `Memory<C>`, or `Memory`"
    return c.report("E4508", arguments[0].span, f"`{type_}` is no context", help=help)


def _with_arguments(type_: Type, arguments: list[Type]) -> Type:
    return type_.of(tuple(arguments)) if isinstance(type_, types.Nominal) and arguments else type_


def _alias(c: Checker, node: ast.NamedType, symbol: AliasSymbol, arguments: list[Type]) -> Type:
    names = [parameter.name for parameter in symbol.type_parameters]
    if not _check_count(c, node, symbol.name, len(names), arguments):
        return ERRONEOUS
    require_bounds(c, symbol.name, symbol.type_parameters, arguments, node.span)
    target = alias_type(c, symbol)
    # The alias is a template: its type parameters are opened, then replaced by the arguments.
    return substitute(open_parameters(target, names), dict(zip(names, arguments, strict=True))) if names else target


def alias_type(c: Checker, symbol: AliasSymbol) -> Type:
    """Return the type behind an alias, resolved once; ERRONEOUS after the report of a circle of aliases (E2040, L-3.1.15), and
    where `written_type` gives that."""
    # An alias that is entered without type is being resolved further up: a circle.
    if symbol in c.aliases:
        type_ = c.aliases[symbol]
        if type_ is None:
            name = symbol.declaration.name
            circle = " -> ".join([*(a.name for a, t in c.aliases.items() if t is None), symbol.name])
            return c.report("E2040", name.span, f"circular type `{circle}`", help="break it with a struct")
        return type_
    c.aliases[symbol] = None
    symbol.type = c.aliases[symbol] = written_type(c, symbol.declaration.target)
    return symbol.type


def _check_count(c: Checker, node: ast.NamedType, name: str, wanted: int, arguments: list[Type]) -> bool:
    """Return whether there are as many type arguments as declared; E2028 else (L-3.1.22)."""
    if len(arguments) == wanted:
        return True
    plural = "" if wanted == 1 else "s"
    message = f"`{name}` takes {wanted} type argument{plural}, {len(arguments)} given"
    c.report("E2028", node.span, message, help=_count_help(name))
    return False


def _count_help(name: str) -> str | None:
    written = {"Array": "Array<T>", "Map": "Map<K, V>", "Option": "Option<T>", "Result": "Result<T>"}.get(name)
    return f"write `{written}`" if written else None


def _builtin(c: Checker, node: ast.NamedType, name: str, arguments: list[Type]) -> Type:
    if name == "Stream" and len(arguments) == 1:  # without an argument it is a reply of a model (P-1.3)
        return types.Generic(types.HOST_STREAM, tuple(arguments))
    wanted = TYPES.get(name, LIBRARY_TYPES.get(name))
    if name == "Result" and len(arguments) == 1:  # `Result<T>` is `Result<T, Error>` (L-3.1.24)
        arguments.append(types.ERROR)
    if wanted is None or not _check_count(c, node, name, wanted, arguments):
        return ERRONEOUS
    if name in SPELLINGS:
        return SPELLINGS[name]
    if not arguments:
        return ANY if name == "Any" else Simple(name)
    if name == "Partial":
        return partial_type(c, arguments[0], node)
    if name in ("Map", "HashMap") and node.arguments is not None:
        check_key_type(c, node.arguments[0], arguments[0])
    return Generic(name, tuple(arguments))


def usable_key(type_: Type) -> bool:
    """Return whether values of a type may be keys of a Map: String, Int, Bool, Bytes, a string union or Any (L-3.1.5), or a type
    that is still open."""
    return type_ in (STRING, INT, BOOL, BYTES, ANY) or isinstance(type_, (Union, types.Open))


def check_key_type(c: Checker, node: ast.Node, type_: Type) -> None:
    """Report a type whose values cannot be keys (E2019)."""
    if not usable_key(type_):
        c.report("E2019", node.span, f"`{type_}` cannot be a key", help="use String, Int or Bool")


# Generic declarations: what their parts are for given type arguments, and type arguments found at calls (L-3.2.6, L-3.9).

# Of each field or part: name, type, default, and whether it may be left out without one.
Parts = list[tuple[str, Type, ast.Expr | None, bool]]


def shape_in(c: Checker, own: Type, type_: Type) -> Type:
    """Return `own`, a declared generic type, as it can occur in a value of `type_`: with its type arguments where that is a use
    of `own`, else with Any for each. Any other `own` is returned as it is."""
    if not isinstance(own, Nominal) or not own.arguments:
        return own
    if isinstance(type_, Nominal) and type_.bare == own.bare:
        return type_
    return own.of((ANY,) * len(own.arguments))


PARTS_KEPT = 50_000  # fields of generic types, once for each list of type arguments; with more the cache begins anew


def parts_in(c: Checker, symbol: StructSymbol | VariantSymbol, type_: Type) -> Parts:
    """Return the fields of a struct or the payload of a variant as they are in a value of `type_`, each as in `Parts`. The list
    may be that of the symbol, or one that was asked for before: do not change it."""
    declared = symbol.enum if isinstance(symbol, VariantSymbol) else symbol
    names = [parameter.name for parameter in declared.type_parameters]
    if not names:
        return symbol.fields
    shape = shape_in(c, declared.type, type_)
    assert isinstance(shape, Nominal)
    known = c.parts.get((symbol, shape))
    # While types are declared fields may still be added.
    if known is None or known[0] != len(symbol.fields):
        parts = [
            (name, _in_use(part, names, shape), default, left_out) for name, part, default, left_out in symbol.fields
        ]
        known = c.parts[symbol, shape] = (len(symbol.fields), parts)
        c.parts_kept += len(parts)
        if c.parts_kept > PARTS_KEPT:
            for cache in (c.parts, c.field_types):
                cache.clear()
            c.parts_kept = 0
    return known[1]


def part_in(c: Checker, symbol: StructSymbol, type_: Type, at: int) -> Type:
    """Return the type of the field at a place, counted from 0, as it is in a value of `type_`; as `parts_in`, without all
    others."""
    _, part, _, _ = symbol.fields[at]
    names = [parameter.name for parameter in symbol.type_parameters]
    shape = shape_in(c, symbol.type, type_)
    return _in_use(part, names, shape) if names and isinstance(shape, Nominal) else part


def _in_use(part: Type, names: list[str], shape: Nominal) -> Type:
    """Return a part of a generic type with the type arguments of a use in place of the parameters of these names."""
    return substitute(open_parameters(part, names), dict(zip(names, shape.arguments, strict=True)))


# Parts of a reply that arrives piece by piece (O-2.71).


def partial_type(c: Checker, type_: Type, place: ast.Node) -> Type:
    """Return `Partial<T>`, a struct that is made of T when it is first named: each field is a `Progress` of what it is in T, an
    Option of that where it may be left out. While declared types lack their fields it gets its own by `fill_partials`. ERRONEOUS
    for a T that is, and after a report at `place` when T is no schema or struct or has a type parameter in it (E4022)."""
    if type_ is ERRONEOUS:
        return type_
    symbol = c.declared(type_)
    if not isinstance(symbol, StructSymbol) or type_.has_parameters or c.progress is None:
        help = "a reply arrives field by field: name a schema or a struct"
        return c.report("E4022", place.span, f"`{type_}` has no parts: it is no schema and no struct", help=help)
    partial = c.partials.get(type_)
    if partial is None:
        key = partial_key(types.type_name(type_))
        declaration = ast.Struct(symbol.declaration.span, symbol.declaration.name, [], [])
        partial = StructSymbol("Partial", declaration, Nominal("struct", f"Partial<{type_}>", key=key), [])
        c.partials[type_] = c.nominals[key] = partial
        if c.unfilled is None:
            _fill(c, partial, type_)
        else:
            c.unfilled.append((partial, type_))
    return partial.type


def fill_partials(c: Checker) -> None:
    """Give the partial types that were named so far their fields; called when all structs and schemas have theirs."""
    unfilled, c.unfilled = c.unfilled or [], None
    for partial, type_ in unfilled:
        _fill(c, partial, type_)


def _fill(c: Checker, partial: StructSymbol, type_: Type) -> None:
    symbol = c.declared(type_)
    assert isinstance(symbol, StructSymbol) and c.progress is not None and isinstance(c.progress.type, Nominal)
    for name, part, _, left_out in parts_in(c, symbol, type_):
        whole = types.option(part) if left_out and not generic(part, "Option") else part
        partial.fields.append((name, c.progress.type.of((whole,)), None, False))


class Instance:
    """One use of something generic: a call, a literal, a function value. `bindings` are the type arguments known so far; `hints`
    what the surroundings would like them to be: preferred by an argument that converts to one, and used for those that no
    argument binds. `guides` says whether an argument has to be of its hint. `name` is that of the declaration, in
    messages."""

    __slots__ = ("checker", "name", "parameters", "names", "bindings", "hints", "guides")

    def __init__(self, c: Checker, name: str, parameters: Sequence[TypeParameterSymbol]) -> None:
        self.checker = c
        self.name = name
        self.parameters = parameters
        self.names = [parameter.name for parameter in parameters]
        self.bindings: Bindings = {}
        self.hints: Bindings = {}
        self.guides = True

    def open(self, type_: Type) -> Type:
        """Return a type of the declaration with its type parameters to be bound."""
        return open_parameters(type_, self.names)

    def explicit(self, names: Sequence[str], arguments: Sequence[Type], span: Span, form: str = "") -> None:
        """Bind the type parameters `names` to the type arguments that are written, which must be as many: else E2028, and all of
        them are bound to ERRONEOUS. `form` is what the help writes, by default the names behind that of the declaration."""
        if len(arguments) != len(names):
            plural, written = "" if len(names) == 1 else "s", f"{self.name}<{', '.join(names)}>"
            self.checker.report(
                "E2028", span, f"`{self.name}` takes {len(names)} type argument{plural}, {len(arguments)} given",
                help=f"write `{form or written}`" if names else "leave out the `<…>`",
            )
            # Bound all the same, so that nothing more is reported about them.
            self.bindings.update(dict.fromkeys(names, ERRONEOUS))
            return
        self.bindings.update(zip(names, arguments, strict=True))

    def expect(self, result: Type, expected: Expected) -> None:
        """Take hints from what the surroundings expect of the result."""
        self.hints = hints_of(self.open(result), expected)
        self.guides = not is_wrapped_or_not(self.open(result), expected)

    def meet(self, formal: Type, actual: Type) -> None:
        """Bind type parameters by comparing a type of the declaration with the type of a value."""
        unify(self.open(formal), actual, self.bindings)

    def meet_hinted(self, formal: Type, actual: Type) -> None:
        """Bind as `meet`, where a hint is preferred if the actual type converts to it."""
        unify(self.open(formal), actual, self.bindings, self.hints)

    def arguments(self, formals: Sequence[Formal], matched: Matched) -> None:
        """Type the written arguments, those of `matched` by the place of their parameter in `formals`, and convert them, binding
        type parameters, those that no argument binds as by `use_hints`; defaults say nothing about type arguments."""
        pairs = [
            (Formal(formal.name, self.open(formal.type), True), value)
            for formal, value in zip(formals, matched.values, strict=True)
            if value is not None
        ]
        values: list[ast.Expr | None] = [value for _, value in pairs]
        infer_arguments(
            self.checker, [formal for formal, _ in pairs], Matched(values, list(range(len(values)))), self.bindings, self.hints,
            self.guides,
        )
        self.use_hints()

    def use_hints(self) -> None:
        """Bind what is still unbound to its hint, if that is a complete type."""
        for name, hint in self.hints.items():
            if is_complete(hint):
                self.bindings.setdefault(name, hint)

    def require_all(self, span: Span, help: str) -> None:
        """Report each type parameter that is still unbound (E2029), and bind it to ERRONEOUS. `span` is the place of the use.
        `help` is shown with the report."""
        for name in self.names:
            if name not in self.bindings:
                self.checker.report("E2029", span, f"the type argument `{name}` of `{self.name}` cannot be found", help=help)
                # Bound all the same: one report is enough.
                self.bindings[name] = ERRONEOUS

    def require_bounds(self, span: Span) -> None:
        """Report each type argument that does not meet its bounds (E2026)."""
        arguments = [self.bindings.get(name, ANY) for name in self.names]
        require_bounds(self.checker, self.name, self.parameters, arguments, span)

    def hinted(self, type_: Type) -> Type:
        """Return a type of the declaration with what is bound or hinted so far."""
        return substitute(self.open(type_), {**self.hints, **self.bindings})

    def type(self, type_: Type) -> Type:
        """Return a type of the declaration with what is bound so far; the rest is open."""
        return substitute(self.open(type_), self.bindings)

    def closed(self, type_: Type) -> Type:
        """Return a type of the declaration with what is bound so far; the rest is Any."""
        return close(self.type(type_))

    @property
    def is_open(self) -> bool:
        """Return whether a type parameter has no type yet."""
        return any(self.bindings.get(name, OPEN) == OPEN for name in self.names)


def written_arguments(c: Checker, node: ast.PathExpr, symbol: FunctionSymbol, instance: Instance) -> None:
    """Bind the type arguments that are written at a path: `f<Int>` gives those of the function, `T<Int>::f` those of its type.
    E2028 for another number of them, of each what `written_type` reports; without any, and behind the name of a trait, nothing
    is bound."""
    if node.type_arguments is None:
        return
    arguments = [written_type(c, argument) for argument in node.type_arguments]
    if node.member is None or symbol.owner is None:
        instance.explicit([parameter.name for parameter in symbol.type_parameters], arguments, node.span)
        return
    target = symbol.owner.target
    if isinstance(symbol.owner, TraitSymbol):
        return  # a default: the type it is called for is that of the impl
    wanted = target.arguments if isinstance(target, (Nominal, Generic)) else ()
    if len(arguments) != len(wanted):
        # Only to report the number: the names of the target's arguments mean nothing to a reader.
        instance.explicit(["_"] * len(wanted), arguments, node.span, symbol.path.replace("::", "<…>::", 1))
        return
    for formal, type_ in zip(wanted, arguments, strict=True):
        instance.meet(formal, type_)
