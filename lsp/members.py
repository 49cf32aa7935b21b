"""What types, modules and enums offer behind `.` and `::`.

Hands on `Offer` and the functions that list offers. Rows of the built-in tables, fields and methods are asked of the tables
and of the checker; no name is listed here. Must not know: texts and offsets.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..compiler import ast
from ..compiler.checker.builtins import kind_of
from ..compiler.checker.context import Checker
from ..compiler.checker.contexts import slots_of
from ..compiler.checker.impls import find_method, methods_of
from ..compiler.checker.places import error_fields, fields_of
from ..compiler.checker.privacy import private_fields
from ..compiler.checker.tools import tool_of
from ..compiler.checker.trait_calls import bounded_methods, bounded_names, names_through_traits, trait_methods
from ..compiler.resolver.names import TOOL_NAMES
from ..compiler.source import Source, Span
from ..compiler.symbols import EnumSymbol, FunctionSymbol, ModuleSymbol, StructSymbol, Symbol, ToolSymbol
from ..compiler.types import Nilable, Nominal, Type
from ..vm.builtins import ASSOCIATED, STD_MODULES, STD_TYPES, Row, lookup, method_names, std_module
from .hover import doc_of, head_of, row_head

METHOD, FIELD, FUNCTION, VARIANT, MODULE, TYPE, VARIABLE, CONSTANT, HANDLE = (
    "method", "field", "function", "variant", "module", "type", "variable", "constant", "handle",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Offer:
    """One name that may stand at the place; `kind` is one of the words above."""

    name: str
    kind: str
    detail: str = ""
    doc: str = ""


def of_row(row: Row, kind: str) -> Offer:
    return Offer(row.name, kind, row_head(row), row.doc)


def of_symbol(name: str, symbol: Symbol, kind: str, sources: Mapping[str, Source]) -> Offer:
    return Offer(name, kind, head_of(symbol, sources).partition("\n")[0], doc_of(symbol) or "")


# ---------------------------------------------------------------- behind a dot


def of_value(c: Checker, receiver: ast.Expr, place: Span) -> list[Offer]:
    """Fields, then methods: the order in which a reader thinks of them."""
    type_ = receiver.type
    tool = tool_of(receiver)
    offers = [*_fields(c, type_, place)]
    if tool is not None:
        offers += [of_symbol(m.name, m, METHOD, c.sources) for m in tool.methods if _callable(tool, m)]
    offers += _declared(c, type_, place)
    if not isinstance(type_, Nilable):  # of those only what every value has can be called (L-3.7)
        rows = [lookup(kind_of(type_), name) for name in method_names(kind_of(type_))]
    else:
        rows = [lookup("Any", "to_string")]
    offers += [of_row(row, METHOD) for row in rows if row is not None]
    return once(offers)


def _callable(tool: object, method: FunctionSymbol) -> bool:
    return not isinstance(tool, ToolSymbol) or method in tool.arguments


def _fields(c: Checker, type_: Type, place: Span) -> Iterator[Offer]:
    for name, slot in (slots_of(c, type_) or {}).items():
        yield Offer(name, FIELD, f"{slot.tier} {name}: {slot.type}")
    if not isinstance(type_, Nominal):
        return
    symbol = c.declared(type_)
    hidden = private_fields(c.modules, symbol, place) if isinstance(symbol, StructSymbol) else frozenset[str]()
    docs = {f.name.text: f.doc or "" for f in symbol.declaration.fields or ()} if isinstance(symbol, StructSymbol) else {}
    found = error_fields(type_.name) if type_.kind == "error" else fields_of(c, type_)
    for name, field in found.items():
        if name not in hidden:
            yield Offer(name, FIELD, f"{name}: {field}", docs.get(name, ""))


def _declared(c: Checker, type_: Type, place: Span) -> Iterator[Offer]:
    for name in methods_of(c, type_):
        method = find_method(c, type_, name)
        if method is not None and _visible(c, method, place):
            yield of_symbol(name, method, METHOD, c.sources)
    for name in dict.fromkeys([*bounded_names(c, type_), *names_through_traits(c, type_, place)]):
        for chosen in (bounded_methods(c, type_, name) or trait_methods(c, type_, name, place))[:1]:
            yield of_symbol(name, chosen.symbol, METHOD, c.sources)


def _visible(c: Checker, method: FunctionSymbol, place: Span) -> bool:
    return method.declaration.public or method.home is None or c.modules.at(place).is_inside(method.home)


# ---------------------------------------------------------------- behind a path


def of_library(path: Sequence[str]) -> list[Offer]:
    """`std::` and `std::name::`."""
    if not path:
        return [Offer(name, MODULE, f"std::{name}") for name in (*STD_MODULES, "tools")]
    if len(path) > 1:
        return []
    if path[0] == "tools":
        return [Offer(name, HANDLE, f"tool {name}") for name in TOOL_NAMES]
    if path[0] not in STD_MODULES:
        return []
    rows = std_module(path[0])
    return [*(of_row(row, FUNCTION) for row in rows.values()), *(Offer(n, TYPE) for n in STD_TYPES.get(path[0], ()))]


def of_builtin_type(name: str) -> list[Offer]:
    return [of_row(row, FUNCTION) for (owner, _), row in ASSOCIATED.items() if owner == name and owner[:1].isupper()]


def of_module(module: ModuleSymbol, symbols: Sequence[Symbol], sources: Mapping[str, Source]) -> list[Offer]:
    own = [s for s in symbols if s.home is module and not (isinstance(s, FunctionSymbol) and s.owner is not None)]
    return once([of_symbol(s.name, s, kind_of_symbol(s), sources) for s in own])


def of_type(c: Checker, symbol: StructSymbol | EnumSymbol) -> list[Offer]:
    """Variants and associated functions."""
    offers = []
    if isinstance(symbol, EnumSymbol):
        offers = [of_symbol(member.name, member, VARIANT, c.sources) for member in symbol.members]
    names = c.methods.get(symbol.type.unique_name, {}) if isinstance(symbol.type, Nominal) else {}
    return [*offers, *(of_symbol(name, method, FUNCTION, c.sources) for name, method in names.items())]


def kind_of_symbol(symbol: Symbol) -> str:
    node = getattr(symbol, "declaration", None)
    match node:
        case ast.Function():
            return FUNCTION
        case ast.Const():
            return CONSTANT
        case ast.Struct() | ast.Schema() | ast.Enum() | ast.Trait() | ast.TypeAlias() | ast.TypeParameter():
            return TYPE
        case ast.Item():
            return HANDLE
    return MODULE if isinstance(symbol, ModuleSymbol) else VARIABLE


def once(offers: list[Offer]) -> list[Offer]:
    """The first of a name hides the others, as in a call."""
    return list({offer.name: offer for offer in reversed(offers)}.values())[::-1]
