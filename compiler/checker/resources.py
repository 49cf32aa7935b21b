"""The type of `N.resource(uri)` of an MCP server: what its `<T>` or its place asks for (O-4.50).

Hands on `resource` to method calls. Only the types of FORMS can be asked for: the machine has a method for each, so that another
content is an Err of the call and no panic of the place. Anywhere else the value is Any.
"""

from __future__ import annotations

from ...vm.builtins import Row
from ..decisions import BuiltinCall
from ..syntax import ast
from ..types import ANY, BYTES, MEDIA, STRING, Nilable, Type
from .arguments import call_row, infer_all
from .relations import ERRONEOUS, generic
from .state import Checker, Expected
from .types import written_type

FORMS = (STRING, BYTES, MEDIA)
PARSED = "read it as String, then `json::parse_as<{type_}>(text)`"


def resource(c: Checker, node: ast.MethodCall, receiver: Type, row: Row, expected: Expected) -> Type:
    """Return the type of `N.resource<T>(uri)`, where T is written or asked for by the place, and set `node.target`; ERRONEOUS
    after a report (E2001 for a T that no resource has, E2028)."""
    wanted = _wanted(c, node, expected)
    if wanted is None:
        infer_all(c, node.arguments)
        return ERRONEOUS
    type_, matched = call_row(c, row, receiver, node.arguments, node.name.span, Expected(), {"T": wanted})
    if matched is None:
        return ERRONEOUS
    answer = wanted if wanted in FORMS else None
    node.target = BuiltinCall(matched.values, matched.order, row.receiver, row.name, answer=answer)
    return type_


def _wanted(c: Checker, node: ast.MethodCall, expected: Expected) -> Type | None:
    """Return T, Any where nothing says it; None after a report."""
    written = node.type_arguments
    if written is None:
        sides = generic(expected.type, "Result")
        inner = sides[0] if sides else ANY
        inside = generic(inner, "Option")
        inner = inside[0] if inside else inner.inner if isinstance(inner, Nilable) else inner
        return inner if inner in FORMS else ANY
    if len(written) != 1:
        message = f"`resource` takes 1 type argument, {len(written)} given"
        c.report("E2028", node.name.span, message, help="write `resource<String>(…)`")
        return None
    type_ = written_type(c, written[0])
    if type_ in (*FORMS, ANY):
        return type_
    if type_ is not ERRONEOUS:
        help = PARSED.format(type_=type_)
        c.report("E2001", written[0].span, f"a resource is a `String`, a `Media` or `Bytes`, not `{type_}`", help=help)
    return None
