"""Code for tasks and async blocks: every body is a function, which the machine runs as a child task (O-6.2 to O-6.5)."""

from __future__ import annotations

from ...vm.bytecode import image as im
from .. import ast, decisions
from .. import types as t
from .functions import errors_leave, finish
from .generator import Generator, static_type, value_of
from .interference import changes_receiver
from .patterns import bind_irrefutable
from .statements import returned


def body(g: Generator, task: ast.TaskBody, name: str, given: list[ast.Expr] | None = None, flags: int = 0) -> int:
    """The number of the function of a body. Its parameters are the element of a `parallel for`, or `given`: expressions whose
    values the code around has evaluated."""
    number = g.module.pool.reserve_function()
    inner = Generator(g.module, task.scope, parent=g)
    inner.at(task.span)
    params = _enter(inner, task, given or [])
    start = len(inner.emitter.code)
    returned(inner, task.body)
    leave(inner, task, start)
    result = static_type(task)
    finish(inner, number, name, params, g.module.pool.type(result if result is not None else t.ANY), im.F_CLOSURE | flags)
    return number


def _enter(g: Generator, task: ast.TaskBody, given: list[ast.Expr]) -> list[list[int | str | None]]:
    e = g.emitter
    params: list[list[int | str | None]] = []
    if task.pattern is not None:
        params.append(["element", g.module.pool.type(task.pattern.type or t.ANY), None])
        slot = e.slot()
        e.emit("LOAD", slot)
        bind_irrefutable(g, task.pattern, task.pattern.type)
    for number, expr in enumerate(given):
        params.append([f"value{number}", g.module.pool.type(static_type(expr) or t.ANY), None])
        g.waiting[expr] = e.slot()
    return params


def leave(g: Generator, task: ast.TaskBody, start: int) -> None:
    """The end of a body whose code began at `start`."""
    if task.scope.wraps:
        g.emitter.emit("OK")
    if task.coercion is not None:
        g.coerce(task.coercion)
    g.leave()
    if task.scope.spawns:
        errors_leave(g, start)


def start(g: Generator, task: ast.TaskBody) -> None:
    """Start a body that takes nothing."""
    number = body(g, task, task.kind)
    g.at(task.span)
    g.emitter.emit("START", number, 0)


# ---------------------------------------------------------------- forms


@value_of(ast.Await)
def await_(g: Generator, node: ast.Await) -> None:
    if node.tasks is not None:
        for task in node.tasks:
            start(g, task)
        g.at(node.span)
        g.emitter.emit("AWAIT_ALL", len(node.tasks), len(node.tasks))
        return
    g.value(node.operand)
    found = static_type(node.operand)
    if found == t.ANY or (isinstance(found, t.Generic) and found.name == "Task"):
        g.at(node.span)
        g.emitter.emit("AWAIT")


def race(g: Generator, node: ast.Call) -> None:
    for task in node.tasks:
        start(g, task)
    g.at(node.span)
    g.emitter.emit("RACE", len(node.tasks), len(node.tasks))


@value_of(ast.AsyncBlock)
def async_block(g: Generator, node: ast.AsyncBlock) -> None:
    """It runs where it stands, in a frame of its own, which `return` leaves (L-9.1.3)."""
    g.emitter.emit("CLOSURE", body(g, node.task, "async"))
    g.emitter.emit("CALL_VALUE", 0, 0)


@value_of(ast.ParallelFor)
def parallel_for(g: Generator, node: ast.ParallelFor) -> None:
    g.bound(node.iterable)
    if node.limit is None:
        g.emitter.emit("NIL")
    else:
        g.value(node.limit)
    number = body(g, node.task, "parallel")
    g.at(node.span)
    g.emitter.emit("PARALLEL", number)


@value_of(ast.Spawn)
def spawn(g: Generator, node: ast.Spawn) -> None:
    """Callee, receiver and arguments first (L-9.2.4); then the call in a task. It is named after what it calls (L-5.1.18)."""
    given = _evaluated(node.operand) if isinstance(node.operand, (ast.Call, ast.MethodCall)) else []
    for expr in given:
        g.bound(expr)
    number = body(g, node.task, _called(node.operand), given, im.F_HIDDEN)
    g.at(node.span)
    g.emitter.emit("START", number, len(given))


def _evaluated(call: ast.Call | ast.MethodCall) -> list[ast.Expr]:
    """What is evaluated before the task starts. A receiver that is changed is a place in the task's copies."""
    given = [argument.value for argument in call.arguments]
    target = call.target
    if isinstance(call, ast.MethodCall):
        if not changes_receiver(call) and not _is_type(call.receiver):
            given.insert(0, call.receiver)
    elif isinstance(target, decisions.MethodTarget):
        given.remove(target.receiver)
    elif isinstance(target, decisions.ValueCall):
        given.insert(0, target.callee)
    return given


def _is_type(receiver: ast.Expr) -> bool:
    return receiver.type is None


def _called(operand: ast.Expr) -> str:
    if isinstance(operand, ast.MethodCall):
        return operand.name.text
    callee = operand.callee if isinstance(operand, ast.Call) else None
    while isinstance(callee, ast.GroupExpr):
        callee = callee.inner
    if isinstance(callee, ast.PathExpr):
        return callee.segments[-1].text
    return "async" if isinstance(operand, ast.AsyncBlock) else "closure"
