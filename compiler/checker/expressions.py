"""Literals, names, collections (L-3.2, L-3.4).

Must not know: operators, calls, control flow.
"""

from __future__ import annotations

import re

from .. import ast
from ..resolver.everyday import NAMES
from ..resolver.predeclared import STORES
from ..resolver.scopes import ErroneousSymbol
from ..symbols import (
    AgentSymbol,
    AliasSymbol,
    BuiltinSymbol,
    ConnectionSymbol,
    ConstSymbol,
    ContextSymbol,
    EnumSymbol,
    ErrorFamilySymbol,
    FunctionSymbol,
    HashMapSymbol,
    LedgerSymbol,
    Local,
    McpSymbol,
    MemorySymbol,
    ModelSymbol,
    ModuleSymbol,
    PipelineSymbol,
    StdFunctionSymbol,
    StdModuleSymbol,
    StructSymbol,
    Symbol,
    ToolSymbol,
    TraitItemSymbol,
    TraitSymbol,
    VariantSymbol,
)
from ..types import (
    AGENT_REF,
    ANY,
    BOOL,
    FLOAT,
    INT,
    LEDGER,
    MCP_REF,
    MODEL_REF,
    NEVER,
    NIL,
    OPEN,
    RANGE,
    SCHEMA_REF,
    STRING,
    TOOL_REF,
    Function,
    Nilable,
    Tuple,
    Type,
    Union,
    array,
    error,
    map_,
    option,
    result,
)
from .builtins import function_value
from .comparisons import words_help
from .context import Checker, Expected, ExpressionRule
from .contexts import memory_type
from .generics import Instance, written_arguments
from .impls import require_visible_method
from .memory import check_memory
from .pipelines import pipeline_type
from .relations import ERRONEOUS, MISMATCH, convert, generic, join
from .signatures import Bindings
from .standard import std_function
from .stores import store_help
from .testing import refuse_test
from .tools import private_tool_method
from .trait_calls import at_run_time, named_method, of_any
from .types import check_key_type, written_type

# Keys of known providers (G-10.1).
KEY_SHAPE = re.compile(r"sk-[A-Za-z0-9_-]{20,}|AIza[A-Za-z0-9_-]{35}")


def peel(type_: Type | None) -> Type | None:
    """What a literal may look like where `type_` is expected: inside `T?`, or Option<T> for a bare value."""
    while isinstance(type_, Nilable) or generic(type_, "Option"):
        type_ = type_.inner if isinstance(type_, Nilable) else type_.arguments[0]  # type: ignore[union-attr]
    return type_


# ---------------------------------------------------------------- literals and names


def int_literal(c: Checker, node: ast.IntLiteral, expected: Expected) -> Type:
    return INT


def float_literal(c: Checker, node: ast.FloatLiteral, expected: Expected) -> Type:
    return FLOAT


def bool_literal(c: Checker, node: ast.BoolLiteral, expected: Expected) -> Type:
    return BOOL


def nil_literal(c: Checker, node: ast.NilLiteral, expected: Expected) -> Type:
    return NIL


def string_literal(c: Checker, node: ast.StringLiteral, expected: Expected) -> Type:
    """Where a string union is expected, a member has that type (L-3.3.8)."""
    if KEY_SHAPE.fullmatch(node.value):
        c.report("E4005", node.span, "this text has the shape of a provider key", help='read it with `env("NAME")`')
    wanted = peel(expected.type)
    if not isinstance(wanted, Union) or wanted.holds(node.value):
        return wanted if isinstance(wanted, Union) else STRING
    return c.report(
        expected.code, node.span, f'expected `{wanted}`, found `"{node.value}"`',
        help=words_help(node.value, wanted),
    )  # fmt: skip


def interpolation(c: Checker, node: ast.Interpolation, expected: Expected) -> Type:
    for part in node.parts:
        c.infer(part)
    return STRING


def group(c: Checker, node: ast.GroupExpr, expected: Expected) -> Type:
    return c.tail(node.inner, expected)


def path_expr(c: Checker, node: ast.PathExpr, expected: Expected) -> Type:
    symbol = node.binding
    known = symbol is not None and not isinstance(symbol, (BuiltinSymbol, ErroneousSymbol))
    if node.type_arguments is not None and known and not _is_generic(symbol):
        return c.report("E2028", node.span, f"`{written(node)}` takes no type arguments", help="drop the `<…>`")
    match symbol:
        case Local() | ConstSymbol():
            return symbol.type
        case FunctionSymbol(tool=ToolSymbol() | McpSymbol()) if node.segments[0].text != "Self":
            return _tool_method_value(c, node, symbol)
        case FunctionSymbol():
            require_visible_method(c, symbol, node.member or node.segments[-1])
            refuse_test(c, symbol, node.span)
            return function_type(c, node, symbol, expected)
        case TraitItemSymbol():
            return _trait_item_value(c, node, symbol, expected)
        case VariantSymbol():
            return _variant_value(c, node, symbol, expected)
        case ModelSymbol():
            return c.models.get(symbol, MODEL_REF)
        case AgentSymbol():
            return AGENT_REF
        case MemorySymbol():
            check_memory(c, symbol)
            return memory_type(symbol)
        case ToolSymbol():
            return c.tools.get(symbol, TOOL_REF)
        case McpSymbol():
            return MCP_REF
        case HashMapSymbol():
            return symbol.type
        case LedgerSymbol():
            return LEDGER
        case PipelineSymbol():
            return pipeline_type(c, symbol)
        case BuiltinSymbol():
            return _builtin_value(c, node, symbol.name, expected)
        case StdFunctionSymbol():
            return std_function(c, node, symbol)
        case ModuleSymbol() | StdModuleSymbol():
            return c.report(
                "E1001", node.span, f"`{written(node)}` is a module, not a value",
                help=f"name something in it: `{written(node)}::…`",
            )
        case ErrorFamilySymbol() if len(node.segments) > 1:
            made = error(symbol.name)
            return made if symbol.variant is not None else Function((STRING,), made)
    return _no_value(c, node, symbol)


def _tool_method_value(c: Checker, node: ast.PathExpr, method: FunctionSymbol) -> Type:
    """`T::m` not called: a function of the parameters that a call takes (O-4.6)."""
    assert isinstance(method.tool, (ToolSymbol, McpSymbol))
    if method not in method.tool.arguments:
        return private_tool_method(c, node.member or node.segments[-1], method)
    return Function(tuple(method.parameters[method.takes_self :]), method.result)


def function_type(
    c: Checker, node: ast.PathExpr, symbol: FunctionSymbol, expected: Expected, inside: Bindings | None = None
) -> Type:
    """The type of a function that is not called; of a generic one with the type arguments written, known or expected."""
    own = Function(tuple(symbol.parameters), symbol.result)
    instance = Instance(c, symbol.path, symbol.all_type_parameters)
    if not instance.names:
        return own
    written_arguments(c, node, symbol, instance)
    instance.bindings.update(inside or {})
    if instance.is_open:
        instance.expect(own, expected)
        instance.settle()
        instance.require_all(node.span, f"write `{symbol.path}<…>`")
    instance.require_bounds(node.span)
    return instance.type(own)


def _trait_item_value(c: Checker, node: ast.PathExpr, item: TraitItemSymbol, expected: Expected) -> Type:
    """`X::m` as a function of any value of X, `T::m` as the function it is (L-3.8.3)."""
    name = node.member or node.segments[-1]
    if not item.name:
        return c.report("E1001", node.span, f"`{written(node)}` is a trait, not a value", help="name a method of it")
    if not item.of_type and item.trait is not None and item.trait.methods[item.name].takes_self:
        return _method_of_any(c, item.trait, name, expected)
    chosen = named_method(c, item, name, [])
    if chosen is None:
        return ERRONEOUS
    node.binding = chosen.symbol
    require_visible_method(c, chosen.symbol, name)
    return function_type(c, node, chosen.symbol, expected, chosen.inside)


def _method_of_any(c: Checker, trait: TraitSymbol, name: ast.Ident, expected: Expected) -> Type:
    of_it = of_any(trait)
    chosen = at_run_time(trait, of_it, name.text)
    require_visible_method(c, chosen.symbol, name)
    instance = Instance(c, chosen.symbol.path, chosen.symbol.all_type_parameters)
    instance.bindings.update(chosen.inside, Self=of_it)
    own = Function(tuple(chosen.symbol.parameters), chosen.symbol.result)
    if instance.is_open:
        instance.expect(own, expected)
        instance.settle()
        instance.require_all(name.span, "call it in a closure: `|x| x.m(…)`")
    return instance.type(own)


def _variant_value(c: Checker, node: ast.PathExpr, symbol: VariantSymbol, expected: Expected) -> Type:
    """A unit variant, or a tuple variant as the function that makes it (L-3.8.3)."""
    instance = Instance(c, symbol.enum.name, symbol.enum.type_parameters)
    own = symbol.enum.type
    if symbol.form == "tuple":
        own = Function(tuple(type_ for _, type_, _, _ in symbol.fields), own)
    if node.type_arguments is not None:
        instance.explicit(instance.names, [written_type(c, argument) for argument in node.type_arguments], node.span)
    elif instance.names:
        instance.expect(own, expected)
        instance.settle()
    if symbol.form != "struct":
        return instance.type(own)
    help = f"write `{written(node)} {{ … }}`"
    return c.report("E2012", node.span, f"`{written(node)}` lacks its fields", help=help)


def _is_generic(symbol: Symbol | None) -> bool:
    if isinstance(symbol, FunctionSymbol):
        return bool(symbol.all_type_parameters)
    return isinstance(symbol, TraitItemSymbol) or (isinstance(symbol, VariantSymbol) and bool(symbol.enum.type_parameters))


def written(node: ast.PathExpr) -> str:
    return "::".join(segment.text for segment in [*node.segments, *([node.member] if node.member else [])])


def _no_value(c: Checker, node: ast.PathExpr, symbol: Symbol | None) -> Type:
    if isinstance(symbol, StructSymbol) and isinstance(symbol.declaration, ast.Schema):
        if not symbol.type_parameters:
            return SCHEMA_REF
        help = f"give its type arguments where it is used: `execute_with_schema<{symbol.type}>(…)`"
        return c.report("E2029", node.span, f"the type arguments of `{symbol.name}` cannot be found", help=help)
    if isinstance(symbol, (StructSymbol, EnumSymbol, AliasSymbol, ErrorFamilySymbol, TraitSymbol)):
        return c.report("E1001", node.span, f"`{written(node)}` is a type, not a value", help=_type_help(c, node, symbol))
    if isinstance(symbol, ContextSymbol):
        help = f"a memory has its slots: `Memory::new().context({symbol.name})`"
        return c.report("E1001", node.span, f"`{written(node)}` is a context, not a value", help=help)
    if isinstance(symbol, ConnectionSymbol):
        return c.report(
            "E1001", node.span, f"`{written(node)}` is a connection, not a value",
            help=f"a model names it: `provider: {written(node)}`",
        )
    return ERRONEOUS


def _type_help(c: Checker, node: ast.PathExpr, symbol: Symbol) -> str | None:
    """How a value of the type is written."""
    if isinstance(symbol, AliasSymbol):
        symbol = c.declared(symbol.type) or symbol
    if isinstance(symbol, StructSymbol):
        return f"write a literal: `{symbol.name} {{ {', '.join(f'{name}: …' for name, _, _, _ in symbol.fields[:3])} }}`"
    if isinstance(symbol, EnumSymbol) and symbol.variants:
        dotted = re.compile(r"\s*\.\s*(\w+)").match(c.sources[node.span.file].text, node.span.end)
        variant = dotted[1] if dotted is not None and dotted[1] in symbol.variants else symbol.variants[0]
        return f"a variant is written `{symbol.name}::{variant}`"
    return f"make one: `{symbol.name}::new(…)`" if isinstance(symbol, ErrorFamilySymbol) else None


def _builtin_value(c: Checker, node: ast.PathExpr, name: str, expected: Expected) -> Type:
    """A predeclared name that is not called (L-3.8.3)."""
    wanted = expected.type
    if name == "None":
        inside = generic(wanted, "Option")
        return option(inside[0] if inside else OPEN)
    if name in ("Some", "Ok", "Err"):
        given = wanted.parameters[0] if isinstance(wanted, Function) and len(wanted.parameters) == 1 else ANY
        given = ANY if given == OPEN else given
        made = {"Some": option(given), "Ok": result(given, ANY), "Err": result(ANY, given)}[name]
        return Function((given,), made)
    if name.startswith("Memory::"):
        return c.report("E4501", node.span, f"`{name}` is called where it stands", help="write `|| Memory::new()`")
    record, _, constructor = name.partition("::")
    if record in STORES and constructor:
        return c.report("E4004", node.span, f"`{name}` stands in a declaration only", help=store_help(record))
    signature = function_value(c, node, name)
    if signature is not None:
        return signature
    return c.report("E1001", node.span, f"`{name}` is a type, not a value", help=NAMES.get(name) or "write a value of it")


# ---------------------------------------------------------------- collections


def array_expr(c: Checker, node: ast.ArrayExpr, expected: Expected) -> Type:
    wanted = peel(expected.type)
    inside = (ANY,) if wanted == ANY else generic(wanted, "Array")
    item = inside[0] if inside else None
    return array(elements(c, node.items, expected.of(item), "element"))


WIDER = {"element": "Array<Any>", "key": "Map<Any, …>", "value": "Map<String, Any>"}


def elements(c: Checker, items: list[ast.Expr], expected: Expected, word: str) -> Type:
    """The type of the elements of a literal: the expected one, or their join, or E2018; Any for values of a Map without one."""
    if expected.concrete:
        for item in items:
            c.value(item, expected)
        return expected.type or ANY
    found = [(item, c.infer(item, expected)) for item in items]
    joined: Type = OPEN
    for position, (item, type_) in enumerate(found, 1):
        wider = join(joined, type_)
        if wider is None and word == "value":
            return ANY
        if wider is None:
            return c.report(
                "E2018", item.span, f"{word} {position} is `{type_}`, the ones before are `{joined}`",
                help=f"annotate `{WIDER[word]}`",
            )  # fmt: skip
        joined = wider
    for item, type_ in found:
        coercion = convert(type_, joined)
        item.coercion = None if coercion is MISMATCH else coercion
    return joined


def map_expr(c: Checker, node: ast.MapExpr, expected: Expected) -> Type:
    wanted = peel(expected.type)
    inside = (None, ANY) if wanted == ANY else generic(wanted, "Map") or (None, None)
    _duplicate_keys(c, node)
    key = elements(c, [entry.key for entry in node.entries], expected.of(inside[0]), "key")
    for entry in node.entries:
        if entry.key.type is not ERRONEOUS:
            check_key_type(c, entry.key, entry.key.type)
    value = elements(c, [entry.value for entry in node.entries], expected.of(inside[1]), "value")
    if key == OPEN and wanted == ANY:
        key = ANY
    return map_(key, value)


def _duplicate_keys(c: Checker, node: ast.MapExpr) -> None:
    seen: dict[tuple[type, object], ast.MapEntry] = {}
    for entry in node.entries:
        if isinstance(entry.key, (ast.StringLiteral, ast.IntLiteral, ast.BoolLiteral)):
            key = (type(entry.key), entry.key.value)
            if key in seen:
                shown = f'"{entry.key.value}"' if isinstance(entry.key, ast.StringLiteral) else str(entry.key.value)
                c.report(
                    "E2020", entry.key.span, f"the key {shown} stands twice", first=seen[key].key.span,
                    help="remove one of the two",
                )
            seen.setdefault(key, entry)


def tuple_expr(c: Checker, node: ast.TupleExpr, expected: Expected) -> Type:
    wanted = peel(expected.type)
    items: list[Type | None] = [None] * len(node.items)
    if isinstance(wanted, Tuple) and len(wanted.items) == len(node.items):
        items = list(wanted.items)
    elif wanted == ANY:
        items = [ANY] * len(node.items)
    return Tuple(tuple([c.tail(item, expected.of(type_)) for item, type_ in zip(node.items, items, strict=True)]))


def range_expr(c: Checker, node: ast.RangeExpr, expected: Expected) -> Type:
    operator = "..=" if node.inclusive else ".."
    for bound in (node.start, node.end):
        if bound is None:
            continue
        found = c.infer(bound)
        if found not in (INT, ANY, NEVER):
            c.report("E2002", bound.span, f"`{operator}` takes Int bounds, found `{found}`", help="cast it: `as Int`")
        else:
            c.coerce(bound, found, Expected(INT))
    return RANGE


RULES: dict[type[ast.Expr], ExpressionRule] = {
    ast.IntLiteral: int_literal,
    ast.FloatLiteral: float_literal,
    ast.BoolLiteral: bool_literal,
    ast.NilLiteral: nil_literal,
    ast.StringLiteral: string_literal,
    ast.Interpolation: interpolation,
    ast.GroupExpr: group,
    ast.PathExpr: path_expr,
    ast.ArrayExpr: array_expr,
    ast.MapExpr: map_expr,
    ast.TupleExpr: tuple_expr,
    ast.RangeExpr: range_expr,
}
