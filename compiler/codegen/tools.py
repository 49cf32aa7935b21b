"""Tools for the image: what a model is told of each method, and the state at the start (O-4.4, O-4.8 to O-4.10, O-10.11)."""

from __future__ import annotations

from ...vm import schema as lowering
from ...vm.bytecode import image as im
from .. import symbols
from .generator import Generator
from .module import Module
from .schemas import Shapes


def tool_entry(module: Module, tool: symbols.ToolSymbol) -> im.Tool:
    methods = []
    for method, arguments in tool.arguments.items():
        shape = Shapes(module.declared).arguments(arguments)
        text = f"{tool.description}\n\n{tool.texts[method]}"
        form = lowering.arguments_form(shape)
        row = [method.name, module.functions[method], tool.wire_name(method), text, shape, form]
        methods.append([*row, tool.guards.get(method.name), tool.effects.get(method)])
    return im.Tool(module.names[tool], tool.description, module.pool.type(tool.state.type), methods)


def initial_state(g: Generator, tool: symbols.ToolSymbol) -> None:
    """Makes the state of a tool and hands it to the host."""
    module = g.module
    for index in range(len(tool.state.fields)):
        g.emitter.emit("CALL", module.field_defaults[tool.state][index], 0)
    g.emitter.emit("STRUCT", module.pool.type(tool.state.type), len(tool.state.fields))
    g.emitter.emit("CONFIGURE", module.pool.constant(im.K_CONFIG, ["tools", module.tools[tool], "state"]))
