"""Calls whose reply is a value of a schema, and what T says in them (O-2.63, O-2.64, O-2.70).

Hands on `schema_argument` to `calls`, for `parse_schema<T>`, and to `methods` `schema_call`, the rule of `execute_with_schema<T>`
and `stream_with_schema<T>`, and `items`, that of the stream which the latter gives. Which types have a JSON form is said by
`schemas.instance_fault`, what a part of a T is by `types.partial_type`. What is wrong is reported to `c`, the state of the check,
and not raised. The call itself, the reply and its checks are matters of the runtime.
"""

from __future__ import annotations

from typing import NamedTuple

from ...vm.builtins import Row
from ..decisions import BuiltinCall
from ..symbols import StructSymbol
from ..syntax import ast
from ..types import ITEM_STREAM, Generic, Nominal, Type
from .arguments import call_row, infer_all
from .json_shapes import check_size
from .relations import ERRONEOUS, generic
from .schemas import fold_defaults, instance_fault
from .state import FREE, Checker
from .types import partial_type, parts_in, written_type


class SchemaArgument(NamedTuple):
    """What T says in `name<T>(…)`: T itself, and the schema that the model is asked for, with its type. That is T's own, or the
    one around a T that is no object, from which the value is taken out (O-2.64)."""

    type: Type
    schema: StructSymbol
    asked: Nominal

    @property
    def unwraps(self) -> bool:
        """Return whether the reply holds the value in its one field, so that it is taken out."""
        return self.type is not self.asked


def schema_argument(c: Checker, name: ast.Ident, written: list[ast.TypeExpr] | None) -> SchemaArgument | None:
    """Return what T in `name<T>(…)` says; None after a report (E2029, E2028, E4022, or of the type that is written). A form that
    is too large (E0114) and defaults that no model can be told (E4023) are reported, and it is returned all the same. Where T is
    no object, `c.reply_used` is set."""
    if written is None:
        message = f"`{name.text}` needs a type argument: the schema of the answer"
        c.report("E2029", name.span, message, help=f"write `{name.text}<T>(…)` with its name for T")
        return None
    if len(written) != 1:
        c.report(
            "E2028", name.span, f"`{name.text}` takes 1 type argument, {len(written)} given",
            help=f"write `{name.text}<T>(…)`",
        )
        return None
    type_ = written_type(c, written[0])
    if type_ is ERRONEOUS:
        return None
    if type_.has_parameters:
        help = "name a type: a type parameter is not known when a model is asked"
        c.report("E4022", written[0].span, f"`{type_}` has a type parameter in it", help=help)
        return None
    symbol = c.declared(type_)
    if isinstance(symbol, StructSymbol) and isinstance(type_, Nominal):
        # A schema without type arguments was checked where it is declared.
        if isinstance(symbol.declaration, ast.Schema) and not type_.arguments:
            return SchemaArgument(type_, symbol, type_)
        schema, asked = symbol, type_
    else:
        assert c.reply is not None and isinstance(c.reply.type, Nominal)
        schema, asked = c.reply, c.reply.type.of((type_,))
        c.reply_used = True
    fault = instance_fault(c, asked, type_)
    if fault is not None:
        c.report("E4022", written[0].span, fault, help="give it schemas, structs, enums or types that JSON has")
        return None
    check_size(c, asked, written[0].span)
    fold_defaults(c, [type_])
    return SchemaArgument(type_, schema, asked)


def schema_call(c: Checker, node: ast.MethodCall, row: Row) -> Type:
    """Return the type of `execute_with_schema<T>(…)`, or of `stream_with_schema<T>(…)`, where T is a schema or a struct, and
    set `node.target` with the schema, which the runtime needs and codegen puts into the image. ERRONEOUS after a report: what
    `schema_argument` and `call_row` report, and E4022 for a T of a stream that is no schema and no struct."""
    argument = schema_argument(c, node.name, node.type_arguments)
    streams = row.name == "stream_with_schema"
    if argument is None or (streams and partial_type(c, argument.type, node.name) is ERRONEOUS):
        infer_all(c, node.arguments)
        return ERRONEOUS
    type_, matched = call_row(c, row, None, node.arguments, node.name.span, FREE, {"T": argument.type})
    if matched is None:
        return ERRONEOUS
    node.target = BuiltinCall(
        matched.values, matched.order, row.receiver, row.name, type_arguments=(argument.asked,), schema=argument.schema,
        unwraps=argument.unwraps, partial=c.partials[argument.type] if streams else None,
    )  # fmt: skip
    return type_


def items(c: Checker, node: ast.MethodCall, receiver: Type, row: Row) -> Type:
    """Return the type of `items(field)` of a typed stream: a stream of the elements of the field, a literal that names an Array
    which may not be left out (E4044). ERRONEOUS after a report, and for a receiver that is no typed stream, or one of a T that
    was reported."""
    _, matched = call_row(c, row, receiver, node.arguments, node.name.span, FREE)
    if matched is None or not isinstance(receiver, Generic):
        return ERRONEOUS
    (owner,) = receiver.arguments
    symbol, value = c.declared(owner), matched.values[0]
    if owner is ERRONEOUS:
        return owner
    assert value is not None
    fields = parts_in(c, symbol, owner) if isinstance(symbol, StructSymbol) else []  # a signature may name any T
    arrays = {name: generic(part, "Array") for name, part, _, optional in fields if not optional}
    name = value.value if isinstance(value, ast.StringLiteral) else ""
    element = arrays.get(name)
    if not element:
        said = f"`{name}`" if name else "what is computed"
        listed = " or ".join(f'`items("{each}")`' for each, part in arrays.items() if part) or f"a `for`: `{owner}` has no Array"
        return c.report("E4044", value.span, f"{said} is no field of `{owner}` that is an Array", help=f"write {listed}")
    node.target = BuiltinCall(matched.values, matched.order, row.receiver, row.name)
    return Generic(ITEM_STREAM, element)
