"""Tasks and what is async: `await`, `race`, `parallel for`, `spawn`, `async` blocks (L-9, O-6.1 to O-6.11).

Each operand is typed as a body of its own, whose errors make it a Result (L-3.12.8). Hands on `race` and the rules of these
forms. Must not know: how tasks are started.
"""

from __future__ import annotations

from .. import ast
from ..types import INT, NEVER, NIL, Function, Generic, Tuple, Type, array, result
from .context import FREE, Checker, Expected, ExpressionRule, LoopFrame, Target
from .control import element_type
from .emits import awaited_emit
from .functions import errors_convert, record
from .patterns import bind_irrefutable
from .relations import ERRONEOUS, generic, join_errors

NAMES = {
    "await": "an operand of `await`", "race": "an operand of `race`", "spawn": "a task", "parallel": "the body of `parallel for`",
    "async": "the `async` block", "listen": "a handler of `listen`",
}  # fmt: skip


def body(c: Checker, task: ast.TaskBody, element: Type | None = None, expected: Expected = FREE) -> Type:
    """The type of what a body gives."""
    target = Target("async" if task.kind == "async" else "task", task.scope, NAMES[task.kind], asynchronous=True)
    barrier = LoopFrame(task.kind, None)
    c.targets.append(target)
    outer, c.loops = c.loops, [] if task.kind == "async" else [*c.loops, barrier]
    if task.pattern is not None and element is not None:
        bind_irrefutable(c, task.pattern, element)
    # a tail may be the value or the Result of it, so that only other types guide it
    made = c.infer(task.body, FREE if generic(expected.type, "Result") else expected)
    c.loops = outer
    c.targets.pop()
    target.result = _result(c, task, target, made)
    record(target)
    task.type = target.result
    return target.result


def _result(c: Checker, task: ast.TaskBody, target: Target, made: Type) -> Type:
    """The join of tail and returns; where errors leave it is a Result, whose ends are wrapped in Ok unless they are one."""
    ends = [(end, found) for end, found in [(task.body, made), *target.returns] if isinstance(end, ast.Expr)]
    joined = c.join_branches(ends)
    if not target.raised or joined is ERRONEOUS:
        return joined
    if generic(joined, "Result"):
        return errors_convert(c, target, joined)
    task.scope.wraps = True
    return result(NIL if joined == NEVER else joined, join_errors([raised.type for raised in target.raised]))


def ends_in_vain(c: Checker, node: ast.Expr, tasks: list[ast.TaskBody], form: str) -> None:
    """W0014: the `?` that ends an operand leaves that operand only, whose value is the Result it was before."""
    vain = [(task, last) for task in tasks if (last := _ends_in_question_mark(task.body)) is not None]
    for task, last in vain:
        message = f"this `?` ends {NAMES[task.kind]} only, whose value stays a Result"
        help = f"write `?` behind the whole: `{_moved(c, node, [mark for _, mark in vain]) or form}`"
        c.report("W0014", last.span, message, help=help)


def _ends_in_question_mark(body: ast.Expr) -> ast.Propagate | None:
    """The `?` over a Result that is all an operand does last."""
    while isinstance(body, ast.GroupExpr) or (isinstance(body, ast.Block) and not body.statements and body.result is not None):
        body = body.inner if isinstance(body, ast.GroupExpr) else body.result  # type: ignore[assignment]
    return body if isinstance(body, ast.Propagate) and generic(body.operand.type, "Result") else None


def _moved(c: Checker, node: ast.Expr, marks: list[ast.Propagate]) -> str | None:
    """The construct with one `?` behind it in place of those inside; None where that would be long."""
    text, start = c.sources[node.span.file].text, node.span.start
    ends = [start, *(mark.span.end for mark in marks)]
    parts = [text[a : b - 1] for a, b in zip(ends, ends[1:], strict=False)]
    written = " ".join("".join([*parts, text[ends[-1] : node.span.end]]).split())
    if len(written) > LONGEST_HELP:
        return None
    return f"{written}?" if isinstance(node, ast.Call) else f"({written})?"


LONGEST_HELP = 90  # characters of a construct that a help repeats


def value_type(type_: Type) -> Type:
    """The type of a place for a value of a body that may not end."""
    return NIL if type_ == NEVER else type_


# ---------------------------------------------------------------- forms

AT_START = "await it in a function: `fn main() { … }`"


def await_(c: Checker, node: ast.Await, expected: Expected) -> Type:
    if not any(target.asynchronous for target in c.targets):
        name = c.function_target.name.strip("`")
        help = f"declare it `async`: `async fn {name}`" if c.function_target.kind != "none" else AT_START
        c.report("E3016", node.span, "`await` outside async code", help=help)
    if node.tasks is not None:
        c.concurrent.append(node.tasks)
        types = [value_type(body(c, task)) for task in node.tasks]
        ends_in_vain(c, node, node.tasks, "(await (f(), g()))?")
        return Tuple(tuple(types))
    answer = awaited_emit(c, node.operand, expected)
    if answer is not None:
        return answer
    _one_array(c, node.operand, "await (f(), g())")
    found = c.infer(node.operand, expected)
    inside = generic(found, "Task")
    return inside[0] if inside else found


def async_block(c: Checker, node: ast.AsyncBlock, expected: Expected) -> Type:
    return body(c, node.task, expected=expected)


def race(c: Checker, node: ast.Call, callee: ast.PathExpr, expected: Expected) -> Type:
    """`race(a, b)`: the join of the operands (L-9.2.2)."""
    named = next((argument.name for argument in node.arguments if argument.name is not None), None)
    if named is not None:
        return c.report("E2007", named.span, f"`race` takes no named argument `{named.text}`", help="give it by position")
    if node.tasks is None:
        return c.report("E2016", callee.span, "`race` takes its operands itself", help="write `race(a, b)`")
    if not node.tasks:
        return c.report("E2006", callee.span, "`race` takes one operand or more, none given", help="write `race(f(), g())`")
    c.concurrent.append(node.tasks)
    if len(node.arguments) == 1:
        _one_array(c, node.arguments[0].value, "race(f(), g())")
    found = c.join_branches([(task, body(c, task, expected=expected)) for task in node.tasks])
    ends_in_vain(c, node, node.tasks, "race(f(), g())?")
    return found


def _one_array(c: Checker, operand: ast.Expr, form: str) -> None:
    """W0405: an array literal where operands are meant; its elements are computed one after the other (L-9.2.5)."""
    if isinstance(operand, ast.ArrayExpr) and operand.items:
        message = "the elements of an array are computed one after the other"
        c.report("W0405", operand.span, message, help=f"write `{form}` to run them concurrently")


def parallel_for(c: Checker, node: ast.ParallelFor, expected: Expected) -> Type:
    element = element_type(c, node.iterable, c.infer(node.iterable))
    if node.limit is not None:
        c.value(node.limit, Expected(INT, "E2009", "the limit"))
        if isinstance(node.limit, ast.IntLiteral) and node.limit.value < 1:
            help = "leave `limit` out for the bound of the host"
            c.report("E4004", node.limit.span, "the limit is an Int of at least 1", help=help)
    wanted = generic(expected.type, "Array") if expected.used else None
    made = value_type(body(c, node.task, element, expected.of(wanted[0]) if wanted else FREE))
    ends_in_vain(c, node, [node.task], "(parallel for x in xs { f(x) })?")
    return array(made)


def spawn(c: Checker, node: ast.Spawn, expected: Expected) -> Type:
    """Callee, receiver and arguments belong to the code around it: they are evaluated before the task starts (L-9.2.4)."""
    operand = node.operand
    if not isinstance(operand, (ast.Call, ast.MethodCall, ast.AsyncBlock)):
        found = c.infer(operand)
        help = "write `spawn async { … }`"
        if isinstance(operand, ast.Propagate):
            help = "`spawn f(x)`, then `.await?`"
        elif isinstance(operand, ast.PathExpr) and isinstance(found, Function):
            help = f"call it: `spawn {c.text(operand).strip('`')}({'…' if found.parameters else ''})`"
        return c.report("E2045", operand.span, "`spawn` takes a call or an `async` block", help=help)
    if not isinstance(operand, ast.AsyncBlock):
        around = (list(c.targets), c.loops)
        c.outside.update((argument.value, around) for argument in operand.arguments)
        if isinstance(operand, ast.Call) and not isinstance(operand.callee, ast.PathExpr):
            c.outside[operand.callee] = around
    return Generic("Task", (value_type(body(c, node.task)),))


RULES: dict[type[ast.Expr], ExpressionRule] = {
    ast.Await: await_,
    ast.AsyncBlock: async_block,
    ast.ParallelFor: parallel_for,
    ast.Spawn: spawn,
}
