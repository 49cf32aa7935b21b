"""`json::parse_as<T>`: which types have a JSON shape (L-7.1.2, E2044).

Must not know: how the text is read.
"""

from __future__ import annotations

from ...vm.builtins import Row
from ...vm.builtins.std import STD_PREFIX
from .. import ast
from ..decisions import BuiltinCall
from ..symbols import EnumSymbol, StdFunctionSymbol, StructSymbol
from ..types import ANY, BOOL, BYTES, FLOAT, INT, NIL, RANGE, STRING, Generic, Nilable, Nominal, Tuple, Type, Union
from .arguments import infer_all
from .builtins import call_row
from .context import Checker, Expected
from .relations import ERRONEOUS
from .types import written_type

SCALARS = (STRING, INT, FLOAT, BOOL, NIL, ANY, RANGE, BYTES)
COLLECTIONS = ("Array", "Map", "Option", "Result", "Set", "Queue", "Stack")


def parse_as_call(
    c: Checker, node: ast.Call, callee: ast.PathExpr, symbol: StdFunctionSymbol, row: Row, expected: Expected
) -> Type:
    """`json::parse_as<T>(s)`; T is written, or what the place expects (L-3.2.6)."""
    written = callee.type_arguments or []
    if len(written) > 1:
        infer_all(c, node.arguments)
        return c.report(
            "E2028", callee.span, f"`{symbol.name}` takes 1 type argument, {len(written)} given",
            help=f"write `{symbol.name}<T>(…)`",
        )
    wanted = written_type(c, written[0]) if written else _expected(expected)
    if wanted is None:
        infer_all(c, node.arguments)
        return c.report("E2029", callee.span, "the type argument `T` is not known", help="write `parse_as<T>(…)`")
    found, matched = call_row(c, row, None, node.arguments, callee.span, expected, {"T": wanted})
    offending = without_shape(c, wanted)
    if offending is not None and offending is not ERRONEOUS:
        place = written[0].span if written else callee.span
        return c.report("E2044", place, f"`{offending}` has no JSON shape", help="parse into `Any`, or a struct of plain data")
    if matched is None:
        return ERRONEOUS
    module = STD_PREFIX + symbol.module
    node.target = BuiltinCall(matched.values, matched.order, module, symbol.name, type_arguments=(wanted,))
    return found


def _expected(expected: Expected) -> Type | None:
    wanted = expected.type
    return wanted.arguments[0] if isinstance(wanted, Generic) and wanted.name == "Result" else None


def without_shape(c: Checker, type_: Type) -> Type | None:
    """A part of the type that no JSON value stands for."""
    todo: list[Type] = [type_]
    seen: set[Type] = set()
    while todo:
        at = todo.pop()
        if at in seen or at in SCALARS or isinstance(at, Union):
            continue
        seen.add(at)
        if isinstance(at, Generic) and at.name in COLLECTIONS:
            todo.extend(at.arguments)
        elif isinstance(at, Tuple):
            todo.extend(at.items)
        elif isinstance(at, Nilable):
            todo.append(at.inner)
        elif isinstance(at, Nominal) and at.kind in ("struct", "schema", "enum", "record"):
            todo.extend(_parts(c, at))
        else:
            return at
    return None


def _parts(c: Checker, type_: Nominal) -> list[Type]:
    symbol = c.declared(type_)
    if isinstance(symbol, EnumSymbol):
        parts = [part for member in symbol.members for _, part, _, _ in member.fields]
    elif isinstance(symbol, StructSymbol):
        parts = [part for _, part, _, _ in symbol.fields]
    else:
        parts = []
    # type parameters of the declaration are Any at run time (L-3.1.22); what they stand for is an argument
    return [*type_.arguments, *(part for part in parts if not (isinstance(part, Nominal) and part.kind == "parameter"))]
