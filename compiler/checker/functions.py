"""Function bodies, closures, return (L-3.8, L-3.2.5).

Hands on `declare_signature`, `check_function`, `check_body` and the rules of closures and `return`. Must not know: what calls do.
"""

from __future__ import annotations

from ..symbols import FunctionSymbol, PipelineSymbol, StageSymbol
from ..syntax import ast
from ..types import ANY, ERROR, FLOAT, INT, NEVER, NIL, OPEN, Function, Generic, Open, Tuple, Type, array, pipeline, result
from .assignment import check_assignments
from .context_declarations import check_clauses
from .control import element_type, settle_lets
from .declarations import in_impl
from .decorators import check_decorators
from .json_shapes import awaited_emit
from .patterns import bind_irrefutable
from .propagation import cannot_leave, check_conversion
from .relations import ERRONEOUS, close, generic, is_complete, join_errors
from .state import DISCARD, FREE, Checker, Expected, ExpressionRule, LoopFrame, Target
from .types import written_type


def declare_signature(c: Checker, symbol: FunctionSymbol) -> None:
    """Types of parameters and result, before any body is checked."""
    node = symbol.declaration
    with in_impl(c, symbol):
        symbol.parameters = [
            symbol.owner.target if p.is_self and symbol.owner is not None else parameter_type(c, p) for p in node.parameters
        ]
        symbol.result = NIL if node.result is None else written_type(c, node.result)
    optional: ast.Parameter | None = None
    for parameter in node.parameters:
        if parameter.default is None and optional is not None:
            message = f"`{parameter.name.text}` has no default but follows `{optional.name.text}`, which has one"
            c.report("E2008", parameter.name.span, message, help="put required parameters first")
        optional = parameter if parameter.default is not None else optional
    if symbol.name == "main" and symbol.owner is None and node.scope is not None:
        _check_main(c, symbol)


def parameter_type(c: Checker, parameter: ast.Parameter) -> Type:
    if parameter.type is not None:
        return written_type(c, parameter.type)
    name = parameter.name.text
    return c.report("E2005", parameter.name.span, f"parameter `{name}` has no type", help=f"write `{name}: T`")


def _check_main(c: Checker, symbol: FunctionSymbol) -> None:
    sides = generic(symbol.result, "Result")
    if symbol.parameters or not (symbol.result == NIL or (sides and sides[0] in (NIL, ANY))):
        written = str(Function(tuple(symbol.parameters), symbol.result))
        c.report(
            "E1013", symbol.declaration.name.span, f"`main` has the signature `{written}`",
            help="write `fn main() { }` or `fn main() -> Result<Nil, Error> { }`"
            + ("; the arguments are `std::env::args()`" if symbol.parameters else ""),
        )  # fmt: skip


def check_function(c: Checker, symbol: FunctionSymbol) -> None:
    node = symbol.declaration
    scope = node.scope
    if scope is None or node.body is None:
        return
    accepts_all = symbol.result == NIL and (symbol is c.main or symbol.is_test)  # L-3.12.5
    asynchronous = node.is_async or symbol.tool is not None or symbol is c.main or symbol.is_test
    target = Target("function", scope, f"`{symbol.path}`", symbol.result, accepts_all, asynchronous, symbol.is_test)
    with in_impl(c, symbol):
        try:
            check_body(c, symbol, target)
        except RecursionError:  # of a walk over a type; trees are walked by levels
            c.too_large(node.name.span)


def check_body(c: Checker, symbol: FunctionSymbol, target: Target) -> None:
    """The body of a function that `return` and errors leave as `target` says."""
    node = symbol.declaration
    assert node.body is not None
    outer, c.targets, c.loops = (c.targets, c.loops), [target], []
    for parameter, type_ in zip(node.parameters, symbol.parameters, strict=True):
        if parameter.default is not None:
            c.value(parameter.default, Expected(type_, place=f"parameter `{parameter.name.text}`"))
        if parameter.binding is not None:
            parameter.binding.type = type_
    check_clauses(c, symbol)
    body(c, node.body, symbol.result, node.name)
    settle_lets(c)
    record(target)
    c.targets, c.loops = outer


def body(c: Checker, node: ast.Expr, wanted: Type, place: ast.Node) -> Type:
    """A body with a known result: its tail is the result, or is discarded where the result is Nil (L-3.8.4)."""
    if wanted == NIL:
        c.infer(node, DISCARD)
        return NIL
    if not isinstance(node, ast.Block):
        return c.value(node, Expected(wanted, "E2023"))
    found = c.infer(node, Expected(wanted, "E2023"))
    if node.result is None and found == NIL:
        return c.missing_value(place, wanted, node) if wanted is not ERRONEOUS else wanted
    return c.coerce(node, found, Expected(wanted, "E2023"))


def record(target: Target) -> None:
    """What codegen asks of a finished function."""
    scope = target.scope
    if scope is None:
        return
    scope.result = target.result
    scope.returns_option = target.fails_with is None and generic(target.result, "Option") is not None
    fallible = target.accepts_all or target.fails_with is not None or generic(target.result, "Result") is not None
    scope.propagates = fallible or scope.returns_option


def return_(c: Checker, node: ast.Return, expected: Expected) -> Type:
    target = c.function_target
    if target.kind == "none":
        c.report("E3012", node.span, "`return` stands outside a function", help="move it into a function")
    elif target.kind == "task":
        c.report("E4050", node.span, f"`return` cannot leave {target.name}", help="its value is its last expression")
    wanted = target.result
    if wanted is None:
        found = NIL if node.value is None else c.infer(node.value)
        target.returns.append((node.value or node, found))
    elif node.value is not None:
        _return_value(c, node.value, wanted)
    elif wanted not in (NIL, ANY):
        c.missing_value(node, wanted)
    return NEVER


def _return_value(c: Checker, value: ast.Expr, wanted: Type) -> None:
    found = c.value(value, Expected(wanted, "E2023"))
    if wanted == ANY and found is ERRONEOUS:
        return


# ---------------------------------------------------------------- closures


def closure(c: Checker, node: ast.Closure, expected: Expected) -> Type:
    wanted = expected.type if isinstance(expected.type, Function) else None
    if wanted is not None and len(wanted.parameters) != len(node.parameters):
        count = len(node.parameters)
        c.report(
            expected.code if expected.code == "E4024" else "E2006", node.span,
            f"expected a function of {len(wanted.parameters)} parameter(s), the closure has {count}"
        , help=f"write `|{', '.join('abcdefgh'[:len(wanted.parameters)])}| …`; `_` stands for those not needed")
        wanted = None
        mismatched = True
    else:
        mismatched = False
    parameters = _closure_parameters(c, node, wanted)
    declared = _closure_result(c, node, wanted)
    target = Target("closure", node.scope, "the closure", declared)
    loops, c.loops = c.loops, []
    c.targets.append(target)
    made = body(c, node.body, declared, node) if declared is not None else c.infer(node.body, _hint(wanted))
    c.targets.pop()
    c.loops = loops
    if declared is None:
        target.result = _inferred_result(c, node, target, made)
    record(target)
    _mark_option(target)
    return ERRONEOUS if mismatched else Function(parameters, target.result or ANY)


def _closure_parameters(c: Checker, node: ast.Closure, wanted: Function | None) -> tuple[Type, ...]:
    types: list[Type] = []
    for position, parameter in enumerate(node.parameters):
        if parameter.type is not None:
            type_ = written_type(c, parameter.type)
        elif node.function_form:
            type_ = parameter_type(c, parameter)
        else:
            given = wanted.parameters[position] if wanted is not None else ANY
            type_ = ANY if isinstance(given, Open) else close(given)
        if parameter.binding is not None:
            parameter.binding.type = type_
        if parameter.pattern is not None:
            bind_irrefutable(c, parameter.pattern, type_)
        types.append(type_)
    return tuple(types)


def _closure_result(c: Checker, node: ast.Closure, wanted: Function | None) -> Type | None:
    """The declared result, else a complete expected one, else None: to be inferred."""
    if node.result is not None:
        return written_type(c, node.result)
    if node.function_form:
        return NIL
    if wanted is not None and is_complete(wanted.result):
        return wanted.result
    return None


def _hint(wanted: Function | None) -> Expected:
    return FREE if wanted is None or isinstance(wanted.result, Open) else Expected(wanted.result, "E2023")


def _inferred_result(c: Checker, node: ast.Closure, target: Target, made: Type) -> Type:
    """The join of tail and returns (L-3.2.5); with `?` inside it must be a Result or an Option (L-3.12.8)."""
    ends = [(node.body, made), *target.returns]
    joined = c.join_branches([(end, type_) for end, type_ in ends if isinstance(end, ast.Expr)])
    if not target.raised or joined is ERRONEOUS:
        return joined
    sides = generic(joined, "Result")
    target.result = joined
    if generic(joined, "Option") and all(raised.type == NIL for raised in target.raised):
        return joined
    if not sides:
        for raised in target.raised:
            cannot_leave(c, raised, target)
        return joined
    return errors_convert(c, target, joined)


def errors_convert(c: Checker, target: Target, joined: Type) -> Type:
    """The type of a body that gives a Result: the errors that leave it suit the error side."""
    sides = generic(joined, "Result")
    assert sides
    target.result = joined
    missing_as_error = [r.type if r.type != NIL else ANY for r in target.raised]
    if sides[1] == OPEN:
        return result(sides[0], join_errors(missing_as_error))
    for raised in target.raised:
        if raised.type != NIL:
            coercion = check_conversion(c, raised, sides[1])
            _convert_at(raised.node, coercion)
    return joined


def _convert_at(node: ast.Node, coercion: object) -> None:
    if isinstance(node, ast.Propagate):
        node.failure = coercion
    elif isinstance(node, ast.Throw) and coercion is not None:
        node.value.coercion = coercion


def _mark_option(target: Target) -> None:
    if target.scope is not None and target.raised:
        target.scope.propagates = True


RULES: dict[type[ast.Expr], ExpressionRule] = {
    ast.Closure: closure,
    ast.Return: return_,
}


# ----------------------------------------------------------------
# Pipelines: stages, what they hand on, contracts between them (O-6.17 to O-6.23).
#
# Hands on `declare_pipeline`, `check_pipeline` and `pipeline_type`, which types the stages it needs on demand.

# ---------------------------------------------------------------- types


def declare_pipeline(c: Checker, symbol: PipelineSymbol) -> None:
    """What is written: its signature and those of its stages."""
    node = symbol.declaration
    for stage in symbol.stages:
        if stage.stage.value is None:
            _declare_stage(c, stage)
    if node.parameter is not None:
        symbol.input = parameter_type(c, node.parameter)
        if node.parameter.default is not None:
            c.report("E4032", node.parameter.span, f"the input of pipeline `{symbol.name}` has a default", help="remove it")
    else:
        first = symbol.stages[0] if symbol.stages else None
        symbol.input = first.parameters[0] if first is not None and first.stage.value is None else ANY
    if node.result is not None:
        symbol.output = written_type(c, node.result)


def _declare_stage(c: Checker, stage: StageSymbol) -> None:
    node = stage.stage
    types = [parameter_type(c, parameter) for parameter in node.parameters]
    if len(types) != 1:
        help = f"write `stage {stage.name}(x: T) -> U {{ … }}`, or `stage {stage.name} = …;`"
        c.report("E4033", node.name.span, f"stage `{stage.name}` takes {len(types)} parameters; it takes exactly one", help=help)
    for parameter in node.parameters:
        if parameter.default is not None:
            c.report("E4033", parameter.span, "the parameter of a stage has a default", help="remove it: each run gives a value")
    stage.parameters = types or [ERRONEOUS]
    if node.result is None:
        help = "write `-> T`, the type of what goes on to the next stage"
        stage.result = c.report("E4030", node.name.span, f"stage `{stage.name}` has no return type", help=help)
    else:
        stage.result = written_type(c, node.result)
    stage.effective = effective(stage.result)


def effective(type_: Type) -> Type:
    """What goes on of a stage's value (O-6.19)."""
    sides = generic(type_, "Result")
    return sides[0] if sides else type_


def pipeline_type(c: Checker, symbol: PipelineSymbol) -> Type:
    """The handle type of a pipeline, with what `.run` takes and gives (O-6.23)."""
    assert symbol.input is not None
    if symbol.output is not None:
        return pipeline(symbol.input, symbol.output)
    return pipeline(symbol.input, _last_output(c, symbol))


def _last_output(c: Checker, symbol: PipelineSymbol) -> Type:
    if not symbol.stages:
        return symbol.input or ANY
    last = symbol.stages[-1]
    _check_stage(c, last)
    if last.state == "busy" and last.stage.value is not None:
        name = symbol.declaration.name
        message = f"the output of pipeline `{symbol.name}` depends on itself"
        symbol.output = c.report("E2040", name.span, message, help=f"write `pipeline {symbol.name}(…) -> T {{ … }}`")
        return symbol.output
    return last.effective


# ---------------------------------------------------------------- stages


def _check_stage(c: Checker, stage: StageSymbol) -> None:
    """Checks the body of a stage once, wherever its type is asked for."""
    if stage.state != "new":
        return
    stage.state = "busy"
    outer = c.targets, c.loops, c.self_type, c.deferring
    c.targets, c.loops, c.self_type, c.deferring = [], [], None, False
    try:
        (_check_declared if stage.stage.value is None else _infer_expression)(c, stage)
        if c.deferring:
            check_assignments(c, stage)
    except RecursionError:  # of a walk over a type
        c.too_large(stage.declaration.name.span)
    c.targets, c.loops, c.self_type, c.deferring = outer
    stage.state = "done"


def _check_declared(c: Checker, stage: StageSymbol) -> None:
    """A stage `-> T` behaves as `-> Result<T, Error>` (L-3.12.5)."""
    node = stage.declaration
    if len(stage.parameters) != len(node.parameters):
        return
    wraps = generic(stage.result, "Result") is None
    target = Target("function", node.scope, f"`{stage.path}`", stage.result, asynchronous=True)
    target.fails_with = ERROR if wraps else None
    check_body(c, stage, target)
    node.scope.wraps = wraps


def _infer_expression(c: Checker, stage: StageSymbol) -> None:
    """It sees the input of the pipeline and what all stages before it gave (O-6.18)."""
    node = stage.declaration
    assert node.body is not None
    before = stage.pipeline.stages[: stage.pipeline.stages.index(stage)]
    for earlier in before:
        _check_stage(c, earlier)
    stage.parameters = [stage.pipeline.input or ANY, *(earlier.effective for earlier in before)]
    for parameter, type_ in zip(node.parameters, stage.parameters, strict=True):
        parameter.binding.type = type_
    target = Target("function", node.scope, f"`{stage.path}`", asynchronous=True, fails_with=ERROR)
    c.targets = [target]
    made = c.infer(node.body)
    ends = [(end, found) for end, found in [(node.body, made), *target.returns] if isinstance(end, ast.Expr)]
    joined = c.join_branches(ends)
    stage.result = ANY if joined == NEVER else close(joined)
    stage.effective = effective(stage.result)
    target.result = stage.result
    record(target)
    node.scope.wraps = generic(stage.result, "Result") is None


# ---------------------------------------------------------------- contracts


def check_pipeline(c: Checker, symbol: PipelineSymbol) -> None:
    node = symbol.declaration
    check_decorators(c, node.decorators, "pipeline")
    for stage in symbol.stages:
        stage.decorators = check_decorators(c, stage.stage.decorators, "stage")
        _check_stage(c, stage)
    if not symbol.stages:
        c.report("W0402", node.name.span, f"pipeline `{symbol.name}` has no stages", help="it gives its input back")
    if symbol.output is None:
        symbol.output = _last_output(c, symbol)
    _check_neighbours(c, symbol)
    _check_signature(c, symbol)


def _check_neighbours(c: Checker, symbol: PipelineSymbol) -> None:
    for before, stage in zip(symbol.stages, symbol.stages[1:], strict=False):
        if stage.stage.value is None and not assignable(before.effective, stage.parameters[0]):
            c.report(
                "E4031", _place(stage).span,
                f"stage `{stage.name}` takes `{stage.parameters[0]}`, but stage `{before.name}` gives `{before.effective}`",
                first=before.stage.name.span, note="the stage before it",
                help="change one of the two types, or put a stage between",
            )  # fmt: skip


def _check_signature(c: Checker, symbol: PipelineSymbol) -> None:
    node, stages = symbol.declaration, symbol.stages
    assert symbol.input is not None and symbol.output is not None
    if node.parameter is not None and stages and stages[0].stage.value is None:
        first = stages[0]
        if not assignable(symbol.input, first.parameters[0]):
            message = f"pipeline `{symbol.name}` takes `{symbol.input}`, but its first stage takes `{first.parameters[0]}`"
            c.report(
                "E4032", node.parameter.span, message, first=_place(first).span, note="the first stage",
                help="declare both with the same type",
            )
    given = stages[-1].effective if stages else symbol.input
    if node.result is not None and not assignable(given, symbol.output):
        what = "its last stage" if stages else "its input"
        message = f"pipeline `{symbol.name}` gives `{symbol.output}`, but {what} is `{given}`"
        help = f"write `-> {effective(symbol.output)}`: `.run` makes the Result" if generic(symbol.output, "Result") else None
        c.report("E4032", node.result.span, message, help=help)


def _place(stage: StageSymbol) -> ast.Node:
    return stage.stage.parameters[0] if stage.stage.parameters else stage.stage.name


def assignable(found: Type, wanted: Type) -> bool:
    """O-6.22: equal; either Any; Int to Float; Array and Map covariant."""
    if found == wanted or ANY in (found, wanted) or (found, wanted) == (INT, FLOAT):
        return True
    for name in ("Array", "Map"):
        inside, asked = generic(found, name), generic(wanted, name)
        if inside and asked:
            return all(map(assignable, inside, asked))
    return False


# ----------------------------------------------------------------
# Tasks and what is async: `await`, `race`, `parallel for`, `spawn`, `async` blocks (L-9, O-6.1 to O-6.11).
#
# Each operand is typed as a body of its own, whose errors make it a Result (L-3.12.8). Hands on `race` and the rules of these
# forms.

NAMES = {
    "await": "an operand of `await`", "race": "an operand of `race`", "spawn": "a task", "parallel": "the body of `parallel for`",
    "async": "the `async` block", "listen": "a handler of `listen`",
}  # fmt: skip


def task_body(c: Checker, task: ast.TaskBody, element: Type | None = None, expected: Expected = FREE) -> Type:
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
        types = [value_type(task_body(c, task)) for task in node.tasks]
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
    return task_body(c, node.task, expected=expected)


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
    found = c.join_branches([(task, task_body(c, task, expected=expected)) for task in node.tasks])
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
    made = value_type(task_body(c, node.task, element, expected.of(wanted[0]) if wanted else FREE))
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
    return Generic("Task", (value_type(task_body(c, node.task)),))


TASK_RULES: dict[type[ast.Expr], ExpressionRule] = {
    ast.Await: await_,
    ast.AsyncBlock: async_block,
    ast.ParallelFor: parallel_for,
    ast.Spawn: spawn,
}
