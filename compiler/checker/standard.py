"""Functions of the library `std::` and the collections it holds (L-7.0, L-6.7).

Hands on `std_call`, `std_function` and `collection_arguments`. Must not know: what the functions do.
"""

from __future__ import annotations

from ...vm.builtins import Row
from ...vm.builtins.std import STD_PREFIX, STD_TYPES, std_row
from .. import ast
from ..decisions import BuiltinCall
from ..symbols import StdFunctionSymbol
from ..types import (
    ANY,
    FLOAT,
    INT,
    NEVER,
    Type,
)
from .arguments import infer_all, match_arguments
from .builtins import call_row, value_of_row
from .context import Checker, Expected
from .json_shapes import parse_as_call
from .relations import ERRONEOUS
from .signatures import Bindings, Formal, signature_of
from .types import written_type


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
        return parse_as_call(c, node, callee, symbol, row, expected)
    if callee.type_arguments is not None:
        c.report("E2028", callee.span, f"`{symbol.name}` takes no type arguments", help="drop the `<…>`")
    if row.special == "numeric":
        return _numeric(c, node, callee, symbol, row)
    found, matched = call_row(c, row, None, node.arguments, callee.span, expected)
    if matched is None:
        return ERRONEOUS
    node.target = BuiltinCall(matched.values, matched.order, STD_PREFIX + symbol.module, symbol.name)
    return found


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
        c.report(
            "E2028", callee.span, f"`{owner}` takes 1 type argument, {len(written)} given",
            help=f"write `{owner}<T>::new()`",
        )
        return {}
    return {"T": written_type(c, written[0])}
