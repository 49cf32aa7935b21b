"""Items: which names a module or block declares, and the names inside each item.

All names of a scope are declared before any body is resolved, so that order does not matter (L-5.4.2). Must not know: types;
the symbols' type fields are filled by the checker.
"""

from __future__ import annotations

from collections.abc import Sequence

from .. import ast
from ..source import Span
from ..symbols import (
    AgentSymbol,
    AliasSymbol,
    ConnectionSymbol,
    ConstSymbol,
    ContextSymbol,
    EnumSymbol,
    FunctionSymbol,
    HashMapSymbol,
    LedgerSymbol,
    MemorySymbol,
    ModelSymbol,
    PipelineSymbol,
    StructSymbol,
    Symbol,
    VariantSymbol,
)
from ..types import ANY, NIL, Nominal
from .field_values import visit_field
from .functions import function, type_parameters
from .impls import visit_impl
from .memory import memory_chain
from .modules import declare_imports, declare_module
from .names import find_item
from .paths import resolve_path
from .pipelines import visit_pipeline
from .scopes import ErroneousSymbol
from .spelling import nearest
from .state import Resolver
from .tools import mcp_symbol, tool_symbol, visit_mcp, visit_tool
from .traits import trait_symbol, visit_trait

# Items on which no decorator may stand, by their keyword.
UNDECORATED: dict[type[ast.Item], str] = {
    ast.Use: "use", ast.Module: "mod", ast.Impl: "impl", ast.Const: "const", ast.TypeAlias: "type",
}  # fmt: skip


def declare_items(r: Resolver, items: Sequence[ast.TopLevel]) -> None:
    """Gives every item of one scope its symbol."""
    places: dict[str, Span] = {}
    for item in items:
        if not isinstance(item, ast.InitStatement):
            _declare_item(r, item, places)


def _declare_item(r: Resolver, item: ast.Item, places: dict[str, Span]) -> None:
    if isinstance(item, ast.ErrorItem):
        r.scope.open = True
        return
    if item.decorators and type(item) in UNDECORATED:
        r.module.decorated.append((item.decorators, UNDECORATED[type(item)]))
    if isinstance(item, ast.Use):
        declare_imports(r, item)
        return
    if isinstance(item, ast.Schema) and item.fields is None:
        return  # it adds to a schema that is declared elsewhere
    name = getattr(item, "name", None)
    if name is None:
        item.symbol = None
        return
    if name.text in places:
        r.report(
            "E1003", name.span, f"`{name.text}` is defined twice", help="rename one of them", first=places[name.text]
        )
        return
    places[name.text] = name.span
    _check_capital(r, item, name)
    if isinstance(item, ast.Module):
        item.symbol = declare_module(r, item)
        r.module.places[item.symbol] = name.span
    else:
        item.symbol = _symbol(r, item, name.text)
        item.symbol.home = r.at
    r.scope.names[name.text] = item.symbol
    if item.public:
        r.scope.public.add(name.text)
    if not isinstance(item, ast.Module):
        r.module.add(item.symbol, name.span)


def _check_capital(r: Resolver, item: ast.Item, name: ast.Ident) -> None:
    if isinstance(item, (ast.Struct, ast.Enum, ast.Trait, ast.Schema, ast.TypeAlias)) and not name.text[:1].isupper():
        capital = name.text.lstrip("_")
        r.report(
            "E1014", name.span, f"the type name `{name.text}` begins with a lower-case letter",
            help=f"write `{capital[:1].upper()}{capital[1:]}`",
        )  # fmt: skip


def _symbol(r: Resolver, item: ast.Item, name: str) -> Symbol:
    match item:
        case ast.Function():
            return FunctionSymbol(name, item, [], NIL)
        case ast.Struct():
            return StructSymbol(name, item, Nominal("struct", name, key=r.type_key(name)), [])
        case ast.Schema():
            return StructSymbol(name, item, Nominal("schema", name, key=r.type_key(name)), [])
        case ast.Enum():
            return enum_symbol(r, item, name)
        case ast.Trait():
            return trait_symbol(r, item)
        case ast.Const():
            return ConstSymbol(name, item, ANY)
        case ast.TypeAlias():
            return AliasSymbol(name, item, ANY)
        case ast.Config() if item.declares == "model":
            return _model_symbol(item, name)
        case ast.Config() if item.kind == "agent":
            return AgentSymbol(name, item)
        case ast.Config():
            return ConnectionSymbol(name, item, {})
        case ast.Tool():
            return tool_symbol(r, item)
        case ast.Mcp():
            return mcp_symbol(r, item)
        case ast.Store() if item.kind == "hashmap":
            return HashMapSymbol(name, item, ANY)
        case ast.Store() if item.kind == "ledger":
            return LedgerSymbol(name, item)
        case ast.Store():
            return MemorySymbol(name, item, None)
        case ast.Pipeline():
            return PipelineSymbol(name, item)
        case ast.Context():
            return ContextSymbol(name, item, Nominal("context", name, key=r.type_key(name)))
    raise AssertionError(f"no symbol for {type(item).__name__}")


def _model_symbol(item: ast.Config, name: str) -> ModelSymbol:
    """Of one written as an agent too, whose `model` is the `base` (O-1.260)."""
    for entry in item.entries if item.kind == "agent" else ():
        if entry.key.text == "model":
            entry.key = ast.Ident(span=entry.key.span, text="base")
    return ModelSymbol(name, item, "", {})


def enum_symbol(r: Resolver, item: ast.Enum, name: str) -> EnumSymbol:
    plain = all(v.items is None and v.fields is None for v in item.variants)
    symbol = EnumSymbol(name, item, Nominal("enum", name, key=r.type_key(name), plain=plain), _variants(r, item))
    for variant in item.variants:
        index = symbol.variants.index(variant.name.text)
        if index == len(symbol.members):
            form = "tuple" if variant.items is not None else "unit" if variant.fields is None else "struct"
            symbol.members.append(VariantSymbol(variant.name.text, symbol, index, form))
    return symbol


def _variants(r: Resolver, item: ast.Enum) -> list[str]:
    seen: dict[str, ast.Variant] = {}
    for variant in item.variants:
        name = variant.name.text
        if name in seen:
            r.report(
                "E1003", variant.name.span, f"variant `{name}` is defined twice", help="rename one of them",
                first=seen[name].name.span,
            )  # fmt: skip
        seen.setdefault(name, variant)
    return list(seen)


def visit_items(r: Resolver, items: Sequence[ast.TopLevel]) -> None:
    """Resolves the names inside the items of one scope."""
    for item in items:
        if isinstance(item, ast.InitStatement):
            with r.body(None):
                r.visit(item.call)
            r.module.inits.append((r.at, item))
        elif isinstance(item, (ast.Use, ast.Module)):
            continue  # modules have their own turn
        elif isinstance(item, ast.Impl):
            r.nesting.call(visit_impl, r, item)
        elif isinstance(item, ast.Trait):
            r.nesting.call(visit_trait, r, item)
        elif isinstance(item, ast.Schema) and item.fields is None:
            _visit_addition(r, item)
        elif item.symbol is not None and not isinstance(item.symbol, ErroneousSymbol):
            r.nesting.call(_visit_item, r, item)
            if isinstance(item, ast.Tool) and item.impl is not None:
                r.nesting.call(visit_impl, r, item.impl)


def _visit_item(r: Resolver, item: ast.Item) -> None:
    if isinstance(item, ast.Function):
        with r.body(None):
            for decorator in item.decorators:
                _visit_decorator(r, decorator)
        function(r, item)
        return
    if isinstance(item, ast.Tool):
        visit_tool(r, item)
        return
    if isinstance(item, ast.Mcp):
        visit_mcp(r, item)
        return
    with r.body(None):
        if isinstance(item.symbol, (StructSymbol, EnumSymbol, AliasSymbol)):
            item.symbol.type_parameters = type_parameters(r, getattr(item, "type_parameters", []))
        for decorator in item.decorators:
            _visit_decorator(r, decorator)
        if isinstance(item, ast.Schema) and isinstance(item.symbol, StructSymbol):
            item.symbol.forms.append(item)
        match item:
            case ast.Struct() | ast.Schema():
                for field in item.fields or ():
                    r.visit(field.type)
                    r.visit(field.default)
                    for decorator in field.decorators:
                        _visit_decorator(r, decorator)
            case ast.Enum():
                for variant in item.variants:
                    for type_ in variant.items or ():
                        r.visit(type_)
                    for field in variant.fields or ():
                        r.visit(field.type)
                        r.visit(field.default)
            case ast.Store(kind="memory"):
                r.visit(item.type)
                memory_chain(r, item.value)
            case ast.Const() | ast.Store():
                r.visit(item.type)
                r.visit(item.value)
            case ast.TypeAlias():
                r.visit(item.target)
            case ast.Context():
                for slot in (slot for tier in item.tiers for slot in tier.slots):
                    r.visit(slot.type)
                    r.visit(slot.default)
                    for decorator in slot.decorators:
                        _visit_decorator(r, decorator)
            case ast.Config():
                _visit_config(r, item)
            case ast.Pipeline():
                visit_pipeline(r, item)


def _visit_addition(r: Resolver, item: ast.Schema) -> None:
    """`schema T;` names a schema and adds its validators (O-2.18)."""
    found = find_item(r, item.name)
    if isinstance(found, StructSymbol) and isinstance(found.declaration, ast.Schema):
        found.forms.append(item)
    elif found is None:
        r.unknown_name(item.name, "E1002", "type")
    elif not isinstance(found, ErroneousSymbol):
        r.report("E4022", item.name.span, f"`{item.name.text}` is not a schema", help="without a body it names a declared schema")
    with r.body(None):
        for decorator in item.decorators:
            _visit_decorator(r, decorator)


def _visit_decorator(r: Resolver, decorator: ast.Decorator) -> None:
    for argument in decorator.arguments:
        visit_field(r, "" if argument.name is None else argument.name.text, argument.value)


def _is_provider(key: str) -> bool:
    """Misspelt too: the checker says so, and a connection is no value there either."""
    return key == "provider" or nearest(key, ["provider"]) is not None


def _visit_config(r: Resolver, item: ast.Config) -> None:
    """The provider of a model is the name of a connection, not a value (O-1.17); without a declaration it may be one of the
    predeclared. The connector of an agent is a name of the manifest or the host (O-7.1)."""
    for entry in item.entries:
        value = entry.value
        if item.kind == "agent" and entry.key.text == "connector" and isinstance(value, ast.PathExpr):
            continue
        if not (item.declares == "model" and _is_provider(entry.key.text) and isinstance(value, ast.PathExpr)):
            visit_field(r, entry.key.text, value)
        elif len(value.segments) > 1:
            value.binding = resolve_path(r, value.segments)
        elif value.member is None:
            value.binding = find_item(r, value.segments[0])
