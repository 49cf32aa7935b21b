"""Calls whose reply arrives as values of a schema: `stream_with_schema<T>`, and `items` of the stream that it gives (O-2.70).

Hands on `stream_with_schema` and `items` to method calls. What a part of a T is, `types.partial_type` says.
"""

from __future__ import annotations

from ...vm.builtins import Row
from ..decisions import BuiltinCall
from ..symbols import StructSymbol
from ..syntax import ast
from ..types import ITEM_STREAM, Generic, Type
from .arguments import call_row, infer_all
from .calls import schema_argument
from .relations import ERRONEOUS, generic
from .state import FREE, Checker
from .types import partial_type, parts_in


def stream_with_schema(c: Checker, node: ast.MethodCall, row: Row) -> Type:
    """Return the type of `stream_with_schema<T>(…)`: T is a schema or a struct."""
    argument = schema_argument(c, node.name, node.type_arguments)
    if argument is None or partial_type(c, argument.type, node.name) is ERRONEOUS:
        infer_all(c, node.arguments)
        return ERRONEOUS
    type_, matched = call_row(c, row, None, node.arguments, node.name.span, FREE, {"T": argument.type})
    if matched is None:
        return ERRONEOUS
    node.target = BuiltinCall(
        matched.values, matched.order, row.receiver, row.name, type_arguments=(argument.asked,), schema=argument.schema,
        partial=c.partials[argument.type],
    )  # fmt: skip
    return type_


def items(c: Checker, node: ast.MethodCall, receiver: Type, row: Row) -> Type:
    """Return the type of `items(field)` of a typed stream: a stream of the elements of the field, a literal that names an Array
    (E4044)."""
    _, matched = call_row(c, row, receiver, node.arguments, node.name.span, FREE)
    if matched is None or not isinstance(receiver, Generic):
        return ERRONEOUS
    (owner,) = receiver.arguments
    symbol, value = c.declared(owner), matched.values[0]
    assert isinstance(symbol, StructSymbol) and value is not None
    arrays = {name: generic(part, "Array") for name, part, _, optional in parts_in(c, symbol, owner) if not optional}
    name = value.value if isinstance(value, ast.StringLiteral) else ""
    element = arrays.get(name)
    if not element:
        said = f"`{name}`" if name else "what is computed"
        listed = " or ".join(f'`items("{each}")`' for each, part in arrays.items() if part) or f"a `for`: `{owner}` has no Array"
        return c.report("E4044", value.span, f"{said} is no field of `{owner}` that is an Array", help=f"write {listed}")
    node.target = BuiltinCall(matched.values, matched.order, row.receiver, row.name)
    return Generic(ITEM_STREAM, element)
