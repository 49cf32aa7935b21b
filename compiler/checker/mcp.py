"""MCP servers: their fields with those of the manifest, signatures of their tools (O-4.36 to O-4.44, O-4.47), and the type of a
resource (O-4.50).

Hands on `declare_mcp` and `check_mcp` to the table of `declaration_checks`, and `resource` to `methods`. A server is checked
without being started: signatures are what the program says of its tools. Parameters and names for models are checked as those of
tools (`tool_arguments`); a new field is a row of `vm/declaration_fields.py`. `c` is the state of the check: mistakes are reported
to it by a code (E…; W… for a warning), and not raised. ERRONEOUS is the type of what was reported, which suits every place.
Whether a server has these tools is seen by the run.
"""

from __future__ import annotations

from collections.abc import Callable

from ...vm.builtins import Row
from ..decisions import BuiltinCall
from ..fields import MCP, MCP_CARRIED, MCP_FIELDS
from ..manifest import WORDS, has_words
from ..symbols import FunctionSymbol, McpSymbol, StructSymbol
from ..syntax import ast
from ..types import ANY, BYTES, ERROR, MEDIA, STRING, Nilable, Nominal, Type, error, result
from .arguments import call_row, infer_all
from .config import check_fields
from .connections import check_headers
from .decorators import check_decorators
from .functions import declare_signature
from .json_shapes import check_size
from .relations import ERRONEOUS, generic
from .schemas import field_without_json
from .state import Checker, Expected
from .tool_arguments import arguments_of, check_wire_name, parameter_texts
from .types import written_type

TOOL_ERROR = error("ToolError")
# The field that each transport needs.
NEEDED = {"stdio": "command", "http": "url"}


def declare_mcp(c: Checker, symbol: McpSymbol) -> None:
    """Set the types of the signatures. Each returns a `Result<T, ToolError>`, whatever is written (O-4.45); a Result that is
    written with another error is reported (E2001), and what `functions.declare_signature` reports of parameters."""
    for method in symbol.methods:
        declare_signature(c, method)
        declared = generic(method.result, "Result")
        if method.declaration.result is None:
            method.result = ANY
        elif declared:
            if declared[1] not in (TOOL_ERROR, ERROR, ERRONEOUS):
                assert method.declaration.result is not None
                span = method.declaration.result.span
                c.report("E2001", span, f"expected `ToolError`, found `{declared[1]}`", help="a tool of a server fails with it")
            method.result = declared[0]
        # A server may always fail, so that the caller gets a Result.
        method.result = result(method.result, TOOL_ERROR)


def check_mcp(c: Checker, symbol: McpSymbol) -> None:
    """Check an MCP server and set its fields, over which those of the manifest win (O-1.2), and of each signature the text, the
    arguments and the result as a schema. E4001 and E4004 for fields that are unknown, repeated or wrong, E4002, E4004, E4006
    for what its transport lacks or does not carry, W0401 without transport, E4020 for a result without JSON form, E0114 for too
    large a one; of decorators, headers, names for models and parameters what `check_decorators`, `check_headers` and
    `tool_arguments` report."""
    node = symbol.declaration
    owner = f"mcp `{symbol.name}`"
    check_decorators(c, node.decorators, "mcp")
    own: dict[str, Callable[[ast.Expr], object]] = {
        "headers": lambda value: check_headers(c, value),
    }
    check_fields(c, owner, node.entries, symbol.fields, MCP, MCP_FIELDS, own)
    symbol.fields.update(c.servers.get(symbol.name, {}))
    _check_transport(c, symbol, owner)
    for method in symbol.methods:
        _check_signature(c, symbol, method)


def _check_transport(c: Checker, symbol: McpSymbol, owner: str) -> None:
    """Check what the transport needs and carries (E4002, E4006); without one the host has to give it (W0401, O-4.47)."""
    node = symbol.declaration
    written = {entry.key.text: entry.key.span for entry in node.entries}
    transport = symbol.fields.get("transport")
    if not isinstance(transport, str):
        if "transport" not in written:
            help = f"write `transport`, or [mcp.{symbol.name}] in Concerto.toml, or give it by the host"
            c.report("W0401", node.name.span, f"{owner} has no transport", help=help)
        return
    needed = NEEDED[transport]
    if needed not in symbol.fields and needed not in written:
        help = f"add `{needed}: \"…\"`, here or in [mcp.{symbol.name}] of Concerto.toml"
        c.report("E4002", node.name.span, f"{owner} lacks `{needed}`, which the transport \"{transport}\" needs", help=help)
    # `command` without `args` is split into words by the runtime.
    command = symbol.fields.get("command")
    if isinstance(command, str) and not {"args"} & {*symbol.fields, *written} and not has_words(command):
        c.report(
            "E4004", written.get("command", node.name.span), f"`command` of {owner} is {WORDS}", help="write the words in `args`"
        )
    for other, fields in MCP_CARRIED.items():
        for name in fields if other != transport else ():
            if name in written:
                what = f"`{name}` of {owner} is not carried by the transport \"{transport}\""
                c.report("E4006", written[name], what, help="remove it, or change `transport`")


def _check_signature(c: Checker, server: McpSymbol, method: FunctionSymbol) -> None:
    node = method.declaration
    own = [decorator for decorator in node.decorators if decorator.name.text != "param"]
    described = dict(check_decorators(c, own, "mcp method")).get("describe", {}).get("text") or node.doc
    if isinstance(described, str):
        server.texts[method] = described
    server.arguments[method] = arguments_of(c, server.name, method, parameter_texts(c, method, required=False))
    check_wire_name(c, server.wire_name(method), node.name.span)
    server.results[method] = _result_schema(c, server, method)


def _result_schema(c: Checker, server: McpSymbol, method: FunctionSymbol) -> StructSymbol:
    """Return what a call gives as a schema of the one field `value`; E4020 for a type without JSON form."""
    node = method.declaration
    type_: Type = (generic(method.result, "Result") or (ANY,))[0]
    offending = field_without_json(c, type_)
    if offending is not None and type_ is not ERRONEOUS and node.result is not None:
        help = f"write `Option<{offending.inner}>`" if isinstance(offending, Nilable) else "a server gives what JSON can hold"
        c.report("E4020", node.result.span, f"`{offending}` has no JSON form", help=help)
        type_ = ANY
    elif node.result is not None:
        check_size(c, type_, node.result.span)
    name = ast.Ident(span=node.name.span, text="value")
    written = node.result or ast.NamedType(span=node.name.span, path=[name], arguments=None)
    field = ast.Field(span=node.name.span, name=name, type=written, default=None)
    schema = ast.Schema(span=node.span, name=node.name, type_parameters=[], fields=[field])
    return StructSymbol(f"{server.name}.{method.name}", schema, Nominal("schema", ""), [("value", type_, None, False)])


# The type of `N.resource(uri)`: the machine has a method for each type of FORMS, so that another content is an Err of the call
# and no panic of its place (O-4.50). Anywhere else the value is Any.

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
