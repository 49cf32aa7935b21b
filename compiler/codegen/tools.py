"""Tools for the image: what a model is told of each method, and the state at the start (O-4.4, O-4.8 to O-4.10, O-10.11); MCP
servers with their signatures (O-10.12)."""

from __future__ import annotations

from ...vm import schema as lowering
from ...vm.bytecode import image as im
from .. import symbols
from .generator import Generator
from .module import Module
from .schemas import Shapes
from .wanted import wanted_command, wanted_url


def tool_entry(module: Module, tool: symbols.ToolSymbol) -> im.Tool:
    methods = []
    for method, arguments in tool.arguments.items():
        shape = Shapes(module.declared).arguments(arguments)
        text = f"{tool.description}\n\n{tool.texts[method]}"
        form = lowering.arguments_form(shape)
        row = [method.name, module.functions[method], tool.wire_name(method), text, shape, form]
        methods.append([*row, tool.guards.get(method.name), tool.effects.get(method)])
    return im.Tool(module.names[tool], tool.description, module.pool.type(tool.state.type), methods)


def server_entry(module: Module, server: symbols.McpSymbol) -> im.Mcp:
    shapes = Shapes(module.declared)
    methods = []
    for method in server.methods:
        arguments, result = shapes.arguments(server.arguments[method]), shapes.arguments(server.results[method])
        methods.append([method.name, server.wire_name(method), server.texts.get(method), arguments, result])
    command, url = server.fields.get("command"), server.fields.get("url")
    if isinstance(command, str):
        module.wanted.add(wanted_command(command, server.fields.get("args")))
    if isinstance(url, str):
        module.wanted.add(wanted_url(url))
    return im.Mcp(module.names[server], server.fields, methods)


def initial_state(g: Generator, tool: symbols.ToolSymbol) -> None:
    """Makes the state of a tool and hands it to the host."""
    module = g.module
    for index in range(len(tool.state.fields)):
        g.emitter.emit("CALL", module.field_defaults[tool.state][index], 0)
    g.emitter.emit("STRUCT", module.pool.type(tool.state.type), len(tool.state.fields))
    g.emitter.emit("CONFIGURE", module.pool.constant(im.K_CONFIG, ["tools", module.tools[tool], "state"]))
