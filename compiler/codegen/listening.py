"""Code for `listen`: the parts of the call, then its handlers as closures that the host calls (O-7.11, O-7.35)."""

from __future__ import annotations

from ...vm.bytecode import image as im
from .. import ast, decisions, symbols
from .. import types as t
from .functions import enter, finish
from .generator import Generator, static_type, value_of
from .schemas import schema_number
from .statements import returned
from .tasks import leave


@value_of(ast.Listen)
def listen(g: Generator, node: ast.Listen) -> None:
    """`Agent::listen(agent, schema, prompt, retry_message, handlers)`; a handler is (type, closure, schema or nil)."""
    e = g.emitter
    call = node.operand
    while isinstance(call, ast.GroupExpr):
        call = call.inner
    assert isinstance(call, ast.MethodCall) and isinstance(call.target, decisions.BuiltinCall)
    g.value(call.receiver)
    _schema(g, call.target.schema, call.target.type_arguments)
    arguments = [*call.target.arguments, None]
    for argument in arguments[:2]:
        if argument is None:
            e.emit("NIL")
        else:
            g.bound(argument)
    for handler in node.handlers:
        e.emit("CONST", g.module.pool.string(str(handler.pattern.value)))  # type: ignore[attr-defined]
        e.emit("CLOSURE", _handler(g, handler))
        _schema(g, handler.schema, () if handler.schema is None else (handler.schema.type,))
        e.emit("TUPLE", 3, 3)
    e.emit("ARRAY", len(node.handlers), len(node.handlers))
    g.at(call.name.span)
    e.emit("CALL_HOST", g.module.pool.builtin("Agent", "listen"), 5)


def _schema(g: Generator, schema: symbols.StructSymbol | None, arguments: tuple[t.Type, ...]) -> None:
    if schema is None:
        g.emitter.emit("NIL")
    else:
        g.emitter.emit("SCHEMA", schema_number(g.module, schema, arguments[0]))


def _handler(g: Generator, node: ast.ListenHandler) -> int:
    """The number of its function: a body of its own, whose errors make it a Result."""
    closure, task = node.body, node.task
    assert isinstance(closure, ast.Closure)
    number = g.module.pool.reserve_function()
    inner = Generator(g.module, task.scope, parent=g)
    inner.at(closure.span)
    enter(inner, closure.parameters)
    start = len(inner.emitter.code)
    returned(inner, task.body)
    leave(inner, task, start)
    params: list[list[int | str | None]] = [["message", g.module.pool.type(t.ANY), None]]
    result = static_type(task)
    finish(inner, number, "handler", params, g.module.pool.type(result if result is not None else t.ANY), im.F_CLOSURE)
    return number
