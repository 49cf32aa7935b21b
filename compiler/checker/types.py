"""Types as written, to types as values (L-3.1).

Hands on `written_type`. Must not know: expressions. Aliases and nominal symbols are filled by `declarations`.
"""

from __future__ import annotations

from .. import ast, types
from ..resolver.predeclared import LIBRARY_TYPES, TYPES
from ..resolver.scopes import ErroneousSymbol
from ..symbols import (
    AliasSymbol,
    BuiltinSymbol,
    ContextSymbol,
    EnumSymbol,
    ErrorFamilySymbol,
    StructSymbol,
    TraitSymbol,
    TypeParameterSymbol,
)
from ..types import ANY, BOOL, BYTES, INT, NIL, STRING, Generic, Simple, Type, Union
from .bounds import require_bounds
from .context import Checker
from .relations import ERRONEOUS, nilable
from .signatures import opened, substitute

RECORDS = {
    t.name: t
    for t in (
        types.PROMPT, types.RESPONSE, types.MESSAGE, types.CHUNK, types.TOOL_CALL, types.LEDGER_ENTRY, types.ENTRY,
        types.TURN, types.FACT, types.PROVENANCE, types.LEARNED, types.DOMINANT, types.OBSERVED, types.EMIT,
        *types.LIBRARY_RECORDS,
    )
}  # fmt: skip
SPELLINGS: dict[str, Type] = {
    "MemoryRef": types.MEMORY, "Agent": types.AGENT_REF, "Schema": types.SCHEMA_REF, "HashMapRef": types.hashmap(ANY, ANY),
    "LedgerRef": types.LEDGER, "PipelineRef": types.pipeline(ANY, ANY),
    **RECORDS,
}  # fmt: skip


def written_type(c: Checker, node: ast.TypeExpr) -> Type:
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
    return ERRONEOUS


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
    """`String | None` and `Int | String`."""
    names = [member.path[0].text for member in node.members if isinstance(member, ast.NamedType) and len(member.path) == 1]
    if any(name in ("None", "null", "nil", "undefined", "Nil") for name in names):
        return f"write `{written}?` for a value or nil"
    variants = ", ".join(f"{name}({name})" for name in names)
    return f"write `Any`, or declare what it may be: `enum Either {{ {variants} }}`"


def _named(c: Checker, node: ast.NamedType) -> Type:
    if isinstance(node.binding, BuiltinSymbol) and node.binding.name == "Memory" and node.arguments:
        return _memory_of(c, node, node.arguments)
    arguments = [written_type(c, argument) for argument in node.arguments or ()]
    if node.path[0].text == "Self" and len(node.path) == 1 and c.self_type is not None:
        return c.self_type if _counted(c, node, "Self", 0, arguments) else ERRONEOUS
    match node.binding:
        case None:
            return ERRONEOUS
        case ErroneousSymbol():
            return ERRONEOUS
        case BuiltinSymbol(name=name):
            return _builtin(c, node, name, arguments)
        case ErrorFamilySymbol(name=name):
            return types.error(name) if _counted(c, node, name, 0, arguments) else ERRONEOUS
        case TypeParameterSymbol():
            return node.binding.type if _counted(c, node, node.binding.name, 0, arguments) else ERRONEOUS
        case ContextSymbol(name=name):
            help = f"a memory with its slots is a `Memory<{name}>`"
            return c.report("E1002", node.span, f"the context `{name}` is no type of values", help=help)
        case AliasSymbol():
            return _alias(c, node, node.binding, arguments)
        case StructSymbol() | EnumSymbol() | TraitSymbol():
            symbol = node.binding
            if not _counted(c, node, symbol.name, len(symbol.type_parameters), arguments):
                return ERRONEOUS
            require_bounds(c, symbol.name, symbol.type_parameters, arguments, node.span)
            return _of(symbol.type, arguments)
    return ERRONEOUS


def _memory_of(c: Checker, node: ast.NamedType, arguments: list[ast.TypeExpr]) -> Type:
    """`Memory<C>` (M-2.2)."""
    context = arguments[0].binding if isinstance(arguments[0], ast.NamedType) else None
    if len(arguments) > 1:
        return c.report("E2028", node.span, f"`Memory` takes 1 type argument, {len(arguments)} given", help="write `Memory<C>`")
    if isinstance(context, ContextSymbol):
        return types.memory_of(context.type)
    found = written_type(c, arguments[0])
    if found is ERRONEOUS:
        return found
    help = "declare `context C { … }` and write `Memory<C>`, or `Memory`"
    return c.report("E4508", arguments[0].span, f"`{found}` is no context", help=help)


def _of(type_: Type, arguments: list[Type]) -> Type:
    return type_.of(tuple(arguments)) if isinstance(type_, types.Nominal) and arguments else type_


def _alias(c: Checker, node: ast.NamedType, symbol: AliasSymbol, arguments: list[Type]) -> Type:
    names = [parameter.name for parameter in symbol.type_parameters]
    if not _counted(c, node, symbol.name, len(names), arguments):
        return ERRONEOUS
    require_bounds(c, symbol.name, symbol.type_parameters, arguments, node.span)
    found = alias_type(c, symbol)
    return substitute(opened(found, names), dict(zip(names, arguments, strict=True))) if names else found


def alias_type(c: Checker, symbol: AliasSymbol) -> Type:
    """The type behind an alias; a circle of aliases is E2040 (L-3.1.15)."""
    if symbol in c.aliases:
        found = c.aliases[symbol]
        if found is None:
            name = symbol.declaration.name
            circle = " -> ".join([*(a.name for a, t in c.aliases.items() if t is None), symbol.name])
            return c.report("E2040", name.span, f"circular type `{circle}`", help="break it with a struct")
        return found
    c.aliases[symbol] = None
    symbol.type = c.aliases[symbol] = written_type(c, symbol.declaration.target)
    return symbol.type


def _counted(c: Checker, node: ast.NamedType, name: str, wanted: int, arguments: list[Type]) -> bool:
    """The number of type arguments must be the declared one (L-3.1.22)."""
    if len(arguments) == wanted:
        return True
    plural = "" if wanted == 1 else "s"
    message = f"`{name}` takes {wanted} type argument{plural}, {len(arguments)} given"
    c.report("E2028", node.span, message, help=_counted_help(name))
    return False


def _counted_help(name: str) -> str | None:
    written = {"Array": "Array<T>", "Map": "Map<K, V>", "Option": "Option<T>", "Result": "Result<T, E>"}.get(name)
    return f"write `{written}`" if written else None


def _builtin(c: Checker, node: ast.NamedType, name: str, arguments: list[Type]) -> Type:
    wanted = TYPES.get(name, LIBRARY_TYPES.get(name))
    if wanted is None or not _counted(c, node, name, wanted, arguments):
        return ERRONEOUS
    if name in SPELLINGS:
        return SPELLINGS[name]
    if not arguments:
        return ANY if name == "Any" else Simple(name)
    if name in ("Map", "HashMap") and node.arguments is not None:
        check_key_type(c, node.arguments[0], arguments[0])
    return Generic(name, tuple(arguments))


def usable_key(type_: Type) -> bool:
    return type_ in (STRING, INT, BOOL, BYTES, ANY) or isinstance(type_, (Union, types.Open))


def check_key_type(c: Checker, node: ast.Node, type_: Type) -> None:
    """Keys are String, Int, Bool, Bytes, a string union or Any (L-3.1.5)."""
    if not usable_key(type_):
        c.report("E2019", node.span, f"`{type_}` cannot be a key", help="use String, Int or Bool")
