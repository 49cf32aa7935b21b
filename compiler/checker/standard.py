"""Functions of the library `std::` and the collections it holds (L-7.0, L-6.7).

Hands on `std_call`, `std_function` and `collection_arguments`. Must not know: what the functions do.
"""

from __future__ import annotations

from collections.abc import Iterable

from ...vm.builtins import Row
from ...vm.builtins.std import STD_PREFIX, STD_TYPES, std_row
from .. import ast
from ..symbols import BuiltinCall, EnumSymbol, StdFunctionSymbol, StructSymbol
from ..types import (
    ANY,
    BOOL,
    FLOAT,
    INT,
    NEVER,
    NIL,
    RANGE,
    STRING,
    Function,
    Generic,
    Nilable,
    Nominal,
    Simple,
    Tuple,
    Type,
)
from .arguments import infer_all, match_arguments
from .builtins import call_row, value_of_row
from .context import Checker, Expected
from .relations import ERRONEOUS
from .signatures import Bindings, Formal, signature_of
from .types import written_type

PLAIN = (INT, FLOAT, STRING, BOOL, NIL, ANY, RANGE)


def std_function(c: Checker, node: ast.PathExpr, symbol: StdFunctionSymbol) -> Type:
    """The type of a library function that is not called (L-3.8.3)."""
    return value_of_row(c, node, row_of(symbol))


def row_of(symbol: StdFunctionSymbol) -> Row:
    row = std_row(symbol.module, symbol.name)
    assert row is not None  # the resolver looked it up
    return row


def std_call(
    c: Checker, node: ast.Call, callee: ast.PathExpr, symbol: StdFunctionSymbol, expected: Expected
) -> Type:
    """A library function called by its path or an imported name."""
    row = row_of(symbol)
    if row.kind == "special":
        return _parse_as(c, node, callee, symbol, row)
    if callee.type_arguments is not None:
        c.report("E2028", callee.span, f"`{symbol.name}` takes no type arguments")
    if row.special == "numeric":
        return _numeric(c, node, callee, symbol, row)
    found, matched = call_row(c, row, None, node.arguments, callee.span, expected)
    if matched is None:
        return ERRONEOUS
    node.target = BuiltinCall(matched.values, matched.order, STD_PREFIX + symbol.module, symbol.name)
    return found


def _parse_as(c: Checker, node: ast.Call, callee: ast.PathExpr, symbol: StdFunctionSymbol, row: Row) -> Type:
    """`json::parse_as<T>(s)`: T is written, and has a JSON form (L-7.1.2)."""
    written = callee.type_arguments
    if written is None or len(written) != 1:
        infer_all(c, node.arguments)
        code = "E2029" if written is None else "E2028"
        return c.report(code, callee.span, f"`{symbol.name}` needs one type argument", help=f"write `{symbol.name}<T>(…)`")
    type_ = written_type(c, written[0])
    offending = without_form(c, type_, set())
    if offending is not None:
        c.report("E4020", written[0].span, f"`{offending}` has no JSON form")
    found, matched = call_row(c, row, None, node.arguments, callee.span, Expected(None), {"T": type_})
    if matched is None or offending is not None:
        return ERRONEOUS
    node.target = BuiltinCall(matched.values, matched.order, STD_PREFIX + symbol.module, symbol.name, type_arguments=(type_,))
    return found


def without_form(c: Checker, type_: Type, seen: set[Type]) -> Type | None:
    """A type inside `type_` of which no JSON text is a value: a function, a handle, an error."""
    if type_ in seen:
        return None
    seen.add(type_)
    if isinstance(type_, Function) or (isinstance(type_, Simple) and type_ not in PLAIN):
        return type_
    if isinstance(type_, Nominal) and type_.kind == "error":
        return type_
    return next((found for part in parts_of(c, type_) if (found := without_form(c, part, seen)) is not None), None)


def parts_of(c: Checker, type_: Type) -> Iterable[Type]:
    """The types of the parts of a value: of elements, fields and payloads."""
    if isinstance(type_, Nilable):
        return (type_.inner,)
    if isinstance(type_, Tuple):
        return type_.items
    symbol = c.declared(type_)
    fields = list(symbol.fields) if isinstance(symbol, StructSymbol) else []
    if isinstance(symbol, EnumSymbol):
        fields = [field for member in symbol.members for field in member.fields]
    arguments = type_.arguments if isinstance(type_, Generic | Nominal) else ()
    return (*arguments, *(field[1] for field in fields))


def _numeric(c: Checker, node: ast.Call, callee: ast.PathExpr, symbol: StdFunctionSymbol, row: Row) -> Type:
    """Functions of numbers: Int when all arguments are Int, else Float (L-7.7.1); with Any it shows when they run."""
    signature = signature_of(row)
    found = [c.infer(argument.value) for argument in node.arguments]
    number = _number(found)
    formals = [Formal(p.name, number if p.type == FLOAT else p.type, p.required) for p in signature.parameters]
    matched = match_arguments(c, symbol.name, formals, node.arguments, callee.span)
    if matched is None:
        infer_all(c, node.arguments)
        return ERRONEOUS
    for formal, value in zip(formals, matched.values, strict=True):
        if value is not None:
            c.value(value, Expected(formal.type, "E2009", f"parameter `{formal.name}`"))
    node.target = BuiltinCall(matched.values, matched.order, STD_PREFIX + symbol.module, symbol.name)
    return number if signature.result == FLOAT else signature.result


def _number(found: list[Type]) -> Type:
    if all(type_ in (INT, NEVER) for type_ in found):
        return INT
    sound = all(type_ in (INT, FLOAT, ANY, NEVER) for type_ in found)
    return ANY if sound and ANY in found else FLOAT


def collection_arguments(c: Checker, callee: ast.PathExpr, name: str) -> Bindings | None:
    """T of `Set<T>::new()`; None where nothing is written or the type takes none."""
    owner, _, member = name.partition("::")
    written = callee.type_arguments
    if written is None or not member or owner not in STD_TYPES["collections"]:
        return None
    if len(written) != 1:
        c.report("E2028", callee.span, f"`{owner}` takes 1 type argument, {len(written)} given")
        return {}
    return {"T": written_type(c, written[0])}
