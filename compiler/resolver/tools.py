"""Tools: a tool is a struct of its state fields with an impl of its methods (O-4.1 to O-4.6).

Hands on `tool_symbol`, `visit_tool`, and the same of MCP servers. Must not know: types, descriptions, how a tool is called.
"""

from __future__ import annotations

from .. import ast
from ..symbols import FunctionSymbol, ImplSymbol, McpSymbol, StructSymbol, ToolSymbol
from ..types import ANY, NIL, Nominal
from .field_values import visit_field
from .functions import function
from .state import Resolver


def tool_symbol(r: Resolver, item: ast.Tool) -> ToolSymbol:
    """The symbol of a tool, its state and its methods declared; only the tool itself has a name that others see."""
    name = item.name.text
    fields = [ast.Field(span=f.span, name=f.name, type=f.type, default=f.default, doc=f.doc) for f in item.fields]
    struct = ast.Struct(span=item.span, name=item.name, type_parameters=[], fields=fields)
    state = StructSymbol(name, struct, Nominal("struct", name, key=r.type_key(name)), [], home=r.at)
    target = ast.NamedType(span=item.name.span, path=[item.name], arguments=None)
    target.binding = state
    methods = ast.Impl(span=item.span, type_parameters=[], trait=None, target=target, methods=item.methods)
    impl = ImplSymbol(name, methods, state, ANY, home=r.at)
    tool = ToolSymbol(name, item, state, impl)
    r.module.add(state, item.name.span)
    r.module.impls.append(impl)
    for node in item.methods:
        method = node.symbol = FunctionSymbol(node.name.text, node, [], NIL, impl, tool, home=r.at)
        impl.methods.append(method)
        r.module.add(method, node.name.span)
        for owner in (tool, state):
            r.module.members.setdefault(owner, {}).setdefault(method.name, []).append(method)
    return tool


def visit_tool(r: Resolver, item: ast.Tool) -> None:
    """Names in fields, values and methods; `Self` is the state."""
    assert isinstance(item.symbol, ToolSymbol)
    with r.body(None):
        for entry in item.entries:
            r.visit(entry.value)
        for field in item.fields:
            r.visit(field.type)
            r.visit(field.default)
    with r.block() as scope:
        scope.names["Self"] = item.symbol.state
        for method in item.methods:
            function(r, method)


def mcp_symbol(r: Resolver, item: ast.Mcp) -> McpSymbol:
    """The symbol of an MCP server with those of its signatures, which have no bodies."""
    server = McpSymbol(item.name.text, item, home=r.at)
    target = ast.NamedType(span=item.name.span, path=[item.name], arguments=None)
    methods = ast.Impl(span=item.span, type_parameters=[], trait=None, target=target, methods=[])
    owner = ImplSymbol(server.name, methods, server, ANY)
    members = r.module.members.setdefault(server, {})
    for node in item.functions:
        method = node.symbol = FunctionSymbol(node.name.text, node, [], NIL, owner, server)
        if method.name in members:
            first = members[method.name][0].declaration.name.span
            r.report("E1003", node.name.span, f"`{method.path}` is defined twice", help="rename one of them", first=first)
            continue
        members[method.name] = [method]
        server.methods.append(method)
    return server


def visit_mcp(r: Resolver, item: ast.Mcp) -> None:
    """Names in fields, parameters and results."""
    with r.body(None):
        for entry in item.entries:
            visit_field(r, entry.key.text, entry.value)
    for node in item.functions:
        function(r, node)
        for parameter in node.parameters:
            if parameter.binding is not None:
                parameter.binding.read = True  # parameters of a signature may go unused (L-4.7.1)
