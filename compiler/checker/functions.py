"""Bodies: functions, closures and `return` (L-3.8, L-3.2.5), stages of pipelines (O-6), tasks and what is async (L-9).

Hands on `declare_signature`, `check_function`, `declare_pipeline` and `check_pipeline` to `declaration_checks`, the first also to
`mcp`; `task_body` to `models`, `pipeline_type` to `expressions`, `race` to `calls`, and RULES and TASK_RULES, the rules of these
forms, to `program`. Each body has a `Target` (see `state`): it collects what leaves the body, and from that follows the type of
one whose result is not written. What leaves by `?` and `throw` is in `propagation`. A new kind of task is a row of NAMES, and of
`control.TASKS`. `c` is the state of the check: mistakes are reported to it by a code (E…; W… for a warning), and not raised.
ERRONEOUS is the type of what was reported, which suits every place. Statements and expressions inside bodies have files of their
own.
"""

from __future__ import annotations

from ..symbols import FunctionSymbol, PipelineSymbol, StageSymbol, TraitSymbol
from ..syntax import ast
from ..types import (
    ANY,
    ERROR,
    FLOAT,
    INT,
    NEVER,
    NIL,
    OPEN,
    Function,
    Generic,
    Nilable,
    Open,
    Tuple,
    Type,
    array,
    pipeline,
    result,
)
from .assignment import check_assignments
from .context_declarations import check_clauses
from .control import element_type
from .decorators import check_decorators, check_parts
from .impls import in_impl
from .json_shapes import awaited_emit
from .lets import close_lets
from .patterns import bind_irrefutable
from .propagation import check_conversion, report_cannot_leave, report_outside
from .questions import ask_model
from .relations import ERRONEOUS, close, generic, gives_nothing, is_complete, join_errors
from .state import DISCARD, FREE, Checker, Expected, ExpressionRule, LoopFrame, Target
from .types import written_type


def declare_signature(c: Checker, symbol: FunctionSymbol) -> None:
    """Set the types of parameters and result of a function, before any body is checked. E2005 for a parameter without a type,
    E2008 for a required one after an optional one, E1013 for a `main` of another form."""
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
        # The first optional one is kept, which the message names.
        optional = parameter if parameter.default is not None else optional
    if symbol.name == "main" and symbol.owner is None and node.scope is not None:
        _check_main(c, symbol)


def parameter_type(c: Checker, parameter: ast.Parameter) -> Type:
    """Return the written type of a parameter; ERRONEOUS after a report if there is none (E2005)."""
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
    """Check the body of a declared function or method, and the defaults of its parameters; one without body, of a trait, has
    these alone, and one of an MCP server, whose defaults are checked with it, is left out. A type in it that nests too deeply is
    reported (E0114)."""
    node = symbol.declaration
    scope = node.scope
    if scope is None or (node.body is None and (node.omitted is not None or not isinstance(symbol.owner, TraitSymbol))):
        return
    accepts_all = symbol.result == NIL and (symbol is c.main or symbol.is_test)  # L-3.12.5
    target = Target("function", scope, f"`{symbol.path}`", symbol.result, accepts_all, symbol.is_test)
    with in_impl(c, symbol):
        try:
            check_body(c, symbol, target)
        except RecursionError:  # of a walk over a type; trees are walked by levels
            c.report_too_large(node.name.span)


def check_body(c: Checker, symbol: FunctionSymbol, target: Target) -> None:
    """Check the defaults and the body, if there is one, of a function, which `return` and errors leave as `target` says, and set
    what codegen asks of its scope."""
    node = symbol.declaration
    outer, c.targets, c.loops = (c.targets, c.loops), [target], []
    for parameter, type_ in zip(node.parameters, symbol.parameters, strict=True):
        if parameter.default is not None:
            c.targets.append(Target("default", result=ERRONEOUS))  # it is computed before the body, which errors would leave
            c.value(parameter.default, Expected(type_, place=f"parameter `{parameter.name.text}`"))
            c.targets.pop()
        if parameter.binding is not None:
            parameter.binding.type = type_
    if node.body is not None:
        check_clauses(c, symbol)
        if node.by is not None:
            ask_model(c, symbol)
        if symbol.extern is None:
            body(c, node.body, symbol.result, node.name)
    close_lets(c)
    record_scope(target)
    c.targets, c.loops = outer


def body(c: Checker, node: ast.Expr, wanted: Type, place: ast.Node) -> Type:
    """Check a body whose result `wanted` is known: its tail is converted to it, or discarded where the result is Nil (L-3.8.4).
    Return the type that the body then has, ERRONEOUS after a report (E2023). `place` is where a missing value is reported
    (E2022)."""
    # A body of a function without result gives nothing: its last value is thrown away, as after `;`.
    if wanted == NIL:
        c.infer(node, DISCARD)
        return NIL
    if not isinstance(node, ast.Block):
        return c.value(node, Expected(wanted, "E2023", ends=True))
    expected = Expected(wanted, "E2023", ends=True)
    actual = c.infer(node, expected)
    # Only `Result<Nil, E>` may fall off its end (L-3.8.4).
    if node.result is None and actual == NIL and not gives_nothing(wanted):
        return c.report_missing_value(place, wanted, node) if wanted is not ERRONEOUS else wanted
    return c.coerce(node, actual, expected)


def record_scope(target: Target) -> None:
    """Set what codegen asks of the scope of a finished function: its result, and how errors and None leave it."""
    scope = target.scope
    if scope is None:
        return
    scope.result = target.result
    scope.returns_option = target.fails_with is None and generic(target.result, "Option") is not None
    # Codegen wraps and unwraps by these marks, without asking types again.
    fallible = target.accepts_all or target.fails_with is not None or generic(target.result, "Result") is not None
    scope.returns_nilable = target.fails_with is None and isinstance(target.result, Nilable)
    scope.propagates = fallible or scope.returns_option or scope.returns_nilable


def return_(c: Checker, node: ast.Return, expected: Expected) -> Type:
    """Return `never`. The value goes to the result of the function around, converted to it if that is known (E2023; E2022 for a
    missing one); report a `return` outside of functions (E3012) or out of a task (E4050)."""
    target = c.function_target
    if target.leads_nowhere:
        report_outside(c, node, "return", target)
    elif target.kind == "task":
        c.report("E4050", node.span, f"`return` cannot leave {target.name}", help="its value is its last expression")
    # The result of a closure without annotation is known only at its end: the values are collected until then.
    wanted = target.result
    if wanted is None:
        type_ = NIL if node.value is None else c.infer(node.value)
        target.returns.append((node.value or node, type_))
    elif node.value is not None:
        c.value(node.value, Expected(wanted, "E2023", ends=True))
    elif gives_nothing(wanted):
        node.value = ast.NilLiteral(span=node.span)
        c.value(node.value, Expected(wanted, "E2023", ends=True))
    elif wanted not in (NIL, ANY):
        c.report_missing_value(node, wanted)
    return NEVER


# Closures.


def closure(c: Checker, node: ast.Closure, expected: Expected) -> Type:
    """Return the function type of a closure, ERRONEOUS after a report of another number of parameters than is expected (E2006, or
    E4024 where the place has that code). Parameters without type take those that are expected, else Any; so does the result where
    the expected one is known in full, else it is the join of what the body gives (L-3.2.5). In the form of a function
    (`function_form`) a parameter without type is reported (E2005), and a result that is not written is Nil."""
    place = expected.type.inner if isinstance(expected.type, Nilable) else expected.type
    wanted = place if isinstance(place, Function) else None
    if wanted is not None and len(wanted.parameters) != len(node.parameters):
        count = len(node.parameters)
        c.report(
            expected.code if expected.code == "E4024" else "E2006", node.span,
            f"expected a function of {len(wanted.parameters)} parameter(s), the closure has {count}",
            help=f"write `|{', '.join('abcdefgh'[:len(wanted.parameters)])}| …`; `_` stands for those not needed",
        )  # fmt: skip
        wanted = None
        mismatched = True
    else:
        mismatched = False
    parameters = _closure_parameters(c, node, wanted)
    declared = _closure_result(c, node, wanted)
    target = Target("closure", node.scope, "the closure", declared)
    # `break` in a closure does not leave a loop around it.
    loops, c.loops = c.loops, []
    c.targets.append(target)
    type_ = body(c, node.body, declared, node) if declared is not None else c.infer(node.body, _expected_result(wanted))
    c.targets.pop()
    c.loops = loops
    if declared is None:
        target.result = _inferred_result(c, node, target, type_)
    record_scope(target)
    _mark_propagating(target)
    return ERRONEOUS if mismatched else Function(parameters, target.result or ANY)


def _closure_parameters(c: Checker, node: ast.Closure, wanted: Function | None) -> tuple[Type, ...]:
    types: list[Type] = []
    check_parts(c, node.parameters, "parameter of a closure")
    for position, parameter in enumerate(node.parameters):
        if parameter.type is not None:
            type_ = written_type(c, parameter.type)
        elif node.function_form:
            type_ = parameter_type(c, parameter)
        else:
            expected = wanted.parameters[position] if wanted is not None else ANY
            # A parameter must have a type before the body is checked, so what is still open becomes Any.
            type_ = ANY if isinstance(expected, Open) else close(expected)
        if parameter.binding is not None:
            parameter.binding.type = type_
        if parameter.pattern is not None:
            bind_irrefutable(c, parameter.pattern, type_)
        types.append(type_)
    return tuple(types)


def _closure_result(c: Checker, node: ast.Closure, wanted: Function | None) -> Type | None:
    """Return the declared result, else a complete expected one, else None: it is then inferred from the body."""
    if node.result is not None:
        return written_type(c, node.result)
    if node.function_form:
        return NIL
    if wanted is not None and is_complete(wanted.result):
        return wanted.result
    return None


def _expected_result(wanted: Function | None) -> Expected:
    return FREE if wanted is None or isinstance(wanted.result, Open) else Expected(wanted.result, "E2023", ends=True)


def _inferred_result(c: Checker, node: ast.Closure, target: Target, tail: Type) -> Type:
    """Return the join of the tail and the values of `return` (L-3.2.5); with `?` inside it must be a Result or an Option
    (L-3.12.8)."""
    ends = [(node.body, tail), *target.returns]
    joined = c.join_branches([(end, type_) for end, type_ in ends if isinstance(end, ast.Expr)])
    if not target.raised or joined is ERRONEOUS:
        return joined
    sides = generic(joined, "Result")
    target.result = joined
    if (generic(joined, "Option") or isinstance(joined, Nilable)) and all(raised.type == NIL for raised in target.raised):
        return joined
    if not sides:
        for raised in target.raised:
            report_cannot_leave(c, raised, target)
        return joined
    return errors_convert(c, target, joined)


def errors_convert(c: Checker, target: Target, joined: Type) -> Type:
    """Return the type of a body that gives the Result `joined`: its error side is the one that is known, to which the errors
    that leave are converted, or else what they have in common."""
    sides = generic(joined, "Result")
    assert sides
    target.result = joined
    # `?` on None raises nil, which has no error type of its own.
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


def _mark_propagating(target: Target) -> None:
    if target.scope is not None and target.raised:
        target.scope.propagates = True


RULES: dict[type[ast.Expr], ExpressionRule] = {
    ast.Closure: closure,
    ast.Return: return_,
}


# Pipelines: stages, what they pass on, contracts between them (O-6.17 to O-6.23).


def declare_pipeline(c: Checker, symbol: PipelineSymbol) -> None:
    """Set what is written of a pipeline: its signature and those of its stages; report a default of the input (E4032), a
    stage with another number of parameters than one, with a default, or without a result (E4033, E4030), and a parameter without
    a type (E2005)."""
    node = symbol.declaration
    for stage in symbol.stages:
        if stage.stage.value is None:
            _declare_stage(c, stage)
    if node.parameter is not None:
        symbol.input = parameter_type(c, node.parameter)
        if node.parameter.default is not None:
            c.report("E4032", node.parameter.span, f"the input of pipeline `{symbol.name}` has a default", help="remove it")
    else:
        # Without a signature the first stage says what goes in.
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
    """Return the type of what a stage passes on: of a Result its value (O-6.19)."""
    sides = generic(type_, "Result")
    return sides[0] if sides else type_


def pipeline_type(c: Checker, symbol: PipelineSymbol) -> Type:
    """Return the type of a pipeline as a value, with its input and its output, of which `.run` makes a Result; without a written
    output its last stage is checked first (O-6.23), and an output that depends on itself is reported (E2040)."""
    assert symbol.input is not None
    if symbol.output is not None:
        return pipeline(symbol.input, symbol.output)
    return pipeline(symbol.input, _last_output(c, symbol))


def _last_output(c: Checker, symbol: PipelineSymbol) -> Type:
    if not symbol.stages:
        return symbol.input or ANY
    last = symbol.stages[-1]
    _check_stage(c, last)
    # The output is asked for while the last stage is being checked: it runs its own pipeline.
    if last.state == "busy" and last.stage.value is not None:
        name = symbol.declaration.name
        message = f"the output of pipeline `{symbol.name}` depends on itself"
        symbol.output = c.report("E2040", name.span, message, help=f"write `pipeline {symbol.name}(…) -> T {{ … }}`")
        return symbol.output
    return last.effective


# Stages.


def _check_stage(c: Checker, stage: StageSymbol) -> None:
    """Check the body of a stage once: in its turn, or earlier where a use of the pipeline needs its type."""
    if stage.state != "new":
        return
    stage.state = "busy"
    outer = c.targets, c.loops, c.self_type, c.deferring
    # A stage may be checked in the middle of another body: that body's state is put aside.
    c.targets, c.loops, c.self_type, c.deferring = [], [], None, False
    try:
        (_check_declared if stage.stage.value is None else _infer_expression)(c, stage)
        if c.deferring:
            check_assignments(c, stage)
    except RecursionError:  # of a walk over a type
        c.report_too_large(stage.declaration.name.span)
    c.targets, c.loops, c.self_type, c.deferring = outer
    stage.state = "done"


def _check_declared(c: Checker, stage: StageSymbol) -> None:
    """Check a stage with a body; one `-> T` behaves as `-> Result<T, Error>` (L-3.12.5)."""
    node = stage.declaration
    if len(stage.parameters) != len(node.parameters):
        return
    wraps = generic(stage.result, "Result") is None
    target = Target("function", node.scope, f"`{stage.path}`", stage.result)
    # Errors leave the stage as Error, which the pipeline returns.
    target.fails_with = ERROR if wraps else None
    check_body(c, stage, target)
    node.scope.wraps = wraps


def _infer_expression(c: Checker, stage: StageSymbol) -> None:
    """Infer the type of a stage `stage x = …;`, which sees the input of the pipeline and the values of all stages before it
    (O-6.18)."""
    node = stage.declaration
    assert node.body is not None
    before = stage.pipeline.stages[: stage.pipeline.stages.index(stage)]
    for earlier in before:
        _check_stage(c, earlier)
    stage.parameters = [stage.pipeline.input or ANY, *(earlier.effective for earlier in before)]
    for parameter, type_ in zip(node.parameters, stage.parameters, strict=True):
        parameter.binding.type = type_
    target = Target("function", node.scope, f"`{stage.path}`", fails_with=ERROR)
    c.targets = [target]
    tail = c.infer(node.body)
    ends = [(end, end_type) for end, end_type in [(node.body, tail), *target.returns] if isinstance(end, ast.Expr)]
    joined = c.join_branches(ends)
    stage.result = ANY if joined == NEVER else close(joined)
    stage.effective = effective(stage.result)
    target.result = stage.result
    record_scope(target)
    node.scope.wraps = generic(stage.result, "Result") is None


# Contracts.


def check_pipeline(c: Checker, symbol: PipelineSymbol) -> None:
    """Check a pipeline: its stages, that each takes what the one before passes on (E4031), and its signature (E4032); warn of one
    without stages (W0402). Set its output if that is not written, and report one that depends on itself (E2040)."""
    node = symbol.declaration
    check_decorators(c, node.decorators, "pipeline")
    check_parts(c, [] if node.parameter is None else [node.parameter], "parameter of a pipeline")
    for stage in symbol.stages:
        check_parts(c, stage.stage.parameters, "parameter of a stage")
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
        # An expression stage takes whatever the stages before it gave.
        if stage.stage.value is None and not assignable(before.effective, stage.parameters[0]):
            c.report(
                "E4031", _parameter_or_name(stage).span,
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
                "E4032", node.parameter.span, message, first=_parameter_or_name(first).span, note="the first stage",
                help="declare both with the same type",
            )
    output = stages[-1].effective if stages else symbol.input
    if node.result is not None and not assignable(output, symbol.output):
        what = "its last stage" if stages else "its input"
        message = f"pipeline `{symbol.name}` gives `{symbol.output}`, but {what} is `{output}`"
        help = f"write `-> {effective(symbol.output)}`: `.run` makes the Result" if generic(symbol.output, "Result") else None
        c.report("E4032", node.result.span, message, help=help)


def _parameter_or_name(stage: StageSymbol) -> ast.Node:
    return stage.stage.parameters[0] if stage.stage.parameters else stage.stage.name


def assignable(source: Type, target: Type) -> bool:
    """Return whether a value of type `source` may be passed on as `target` (O-6.22): equal; either is Any; Int to Float; Array
    and Map by their parts. This is less than `convert` allows, as the run converts only Ints to Floats between stages."""
    if source == target or ANY in (source, target) or (source, target) == (INT, FLOAT):
        return True
    for name in ("Array", "Map"):
        inside, other = generic(source, name), generic(target, name)
        if inside and other:
            return all(map(assignable, inside, other))
    return False


# Tasks and what is async: `await`, `race`, `parallel for`, `spawn`, `async` blocks (L-9, O-6.1 to O-6.11). Each operand is typed
# as a body of its own, whose errors make it a Result (L-3.12.8).

# What messages call each kind of task.
NAMES = {
    "await": "an operand of `await`", "race": "an operand of `race`", "spawn": "a task", "parallel": "the body of `parallel for`",
    "async": "the `async` block", "listen": "a handler of `listen`",
}  # fmt: skip


def task_body(c: Checker, task: ast.TaskBody, element: Type | None = None, expected: Expected = FREE) -> Type:
    """Return the type of what the body of a task gives, a Result where errors leave it, and set `task.type` to it. `element` is
    the type that the pattern of a parallel loop binds; `expected` guides the tail."""
    target = Target("async" if task.kind == "async" else "task", task.scope, NAMES[task.kind])
    # A frame that `break` and `continue` must not pass: they are reported there (E4050).
    barrier = LoopFrame(task.kind, None)
    c.targets.append(target)
    outer, c.loops = c.loops, [] if task.kind == "async" else [*c.loops, barrier]
    if task.pattern is not None and element is not None:
        bind_irrefutable(c, task.pattern, element)
    # a tail may be the value or the Result of it, so that only other types guide it
    tail = c.infer(task.body, FREE if generic(expected.type, "Result") else expected)
    c.loops = outer
    c.targets.pop()
    target.result = _task_result(c, task, target, tail)
    record_scope(target)
    task.type = target.result
    return target.result


def _task_result(c: Checker, task: ast.TaskBody, target: Target, tail: Type) -> Type:
    """Return the join of the tail and the values of `return`; where errors leave, a Result of it, into whose Ok the body's
    value is wrapped unless it is a Result already."""
    ends = [(end, type_) for end, type_ in [(task.body, tail), *target.returns] if isinstance(end, ast.Expr)]
    joined = c.join_branches(ends)
    if not target.raised or joined is ERRONEOUS:
        return joined
    if generic(joined, "Result"):
        return errors_convert(c, target, joined)
    # Each end of the body is wrapped in Ok by codegen.
    task.scope.wraps = True
    return result(NIL if joined == NEVER else joined, join_errors([raised.type for raised in target.raised]))


def warn_of_inner_marks(c: Checker, node: ast.Expr, tasks: list[ast.TaskBody], form: str) -> None:
    """Warn of a `?` that ends an operand: it leaves that operand only, whose value is the Result it was before (W0014). `form`
    is the help where the construct is too long to be repeated."""
    useless = [(task, last) for task in tasks if (last := _ends_in_question_mark(task.body)) is not None]
    for task, last in useless:
        message = f"this `?` ends {NAMES[task.kind]} only, whose value stays a Result"
        help = f"let one `?` behind the whole do it: `{_with_one_mark(c, node, [mark for _, mark in useless]) or form}`"
        c.report("W0014", last.span, message, help=help)


def _ends_in_question_mark(body: ast.Expr) -> ast.Propagate | None:
    """Return the `?` over a Result that an operand ends with."""
    while isinstance(body, ast.GroupExpr) or (isinstance(body, ast.Block) and not body.statements and body.result is not None):
        body = body.inner if isinstance(body, ast.GroupExpr) else body.result  # type: ignore[assignment]
    return body if isinstance(body, ast.Propagate) and generic(body.operand.type, "Result") else None


def _with_one_mark(c: Checker, node: ast.Expr, marks: list[ast.Propagate]) -> str | None:
    """Return the construct with one `?` behind it in place of those inside; None where that would be long."""
    text, start = c.sources[node.span.file].text, node.span.start
    ends = [start, *(mark.span.end for mark in marks)]
    parts = [text[a : b - 1] for a, b in zip(ends, ends[1:], strict=False)]
    written = " ".join("".join([*parts, text[ends[-1] : node.span.end]]).split())
    if len(written) > LONGEST_HELP:
        return None
    return f"{written}?" if isinstance(node, ast.Call) else f"({written})?"


LONGEST_HELP = 90  # characters of a construct that a help repeats


def value_type(type_: Type) -> Type:
    """Return the type of the value of a body: Nil for one that never ends."""
    return NIL if type_ == NEVER else type_


# The rules of these forms.

AT_START = "await it in a function: `fn main() { … }`"


def await_(c: Checker, node: ast.Await, expected: Expected) -> Type:
    """Return the type of `await x`: T of a Task<T>, the answer of an emit, a tuple of what its operands give, else the type of x;
    E3016 outside of every function. Warns of an array literal, whose elements do not run at once (W0405), and of a `?` at the end
    of an operand (W0014)."""
    if c.function_target.kind == "none":
        c.report("E3016", node.span, "`await` outside a function", help=AT_START)
    if node.tasks is not None:
        c.concurrent.append(node.tasks)
        types = [value_type(task_body(c, task)) for task in node.tasks]
        warn_of_inner_marks(c, node, node.tasks, "(await (f(), g()))?")
        return Tuple(tuple(types))
    # `await emit(…)` is no task: the host answers.
    answer = awaited_emit(c, node.operand, expected)
    if answer is not None:
        return answer
    _warn_one_array(c, node.operand, "await (f(), g())")
    type_ = c.infer(node.operand, expected)
    inside = generic(type_, "Task")
    return inside[0] if inside else type_


def async_block(c: Checker, node: ast.AsyncBlock, expected: Expected) -> Type:
    """Return the type of what the block gives, a Result where errors leave it."""
    return task_body(c, node.task, expected=expected)


def race(c: Checker, node: ast.Call, callee: ast.PathExpr, expected: Expected) -> Type:
    """Return the type of `race(a, b)`: the join of the operands (L-9.2.2); ERRONEOUS after a report (E2006, E2007, E2016, E2021).
    Warns as `await_` (W0405, W0014)."""
    named = next((argument.name for argument in node.arguments if argument.name is not None), None)
    if named is not None:
        return c.report("E2007", named.span, f"`race` takes no named argument `{named.text}`", help="give it by position")
    if node.tasks is None:
        return c.report("E2016", callee.span, "`race` takes its operands itself", help="write `race(a, b)`")
    if not node.tasks:
        return c.report("E2006", callee.span, "`race` takes one operand or more, none given", help="write `race(f(), g())`")
    c.concurrent.append(node.tasks)
    if len(node.arguments) == 1:
        _warn_one_array(c, node.arguments[0].value, "race(f(), g())")
    type_ = c.join_branches([(task, task_body(c, task, expected=expected)) for task in node.tasks])
    warn_of_inner_marks(c, node, node.tasks, "race(f(), g())?")
    return type_


def _warn_one_array(c: Checker, operand: ast.Expr, form: str) -> None:
    """Warn of an array literal where operands are meant: its elements are computed one after the other (W0405, L-9.2.5)."""
    if isinstance(operand, ast.ArrayExpr) and operand.items:
        message = "the elements of an array are computed one after the other"
        c.report("W0405", operand.span, message, help=f"write `{form}` to run them concurrently")


def parallel_for(c: Checker, node: ast.ParallelFor, expected: Expected) -> Type:
    """Return the type of `parallel for`: an Array of what its body gives, in the order of the elements. E2015 for what cannot be
    iterated, E2009 and E4004 for a limit that is no Int of at least 1; warns as `await_` of a `?` (W0014)."""
    element = element_type(c, node.iterable, c.narrowed(node.iterable, c.infer(node.iterable)))
    if node.limit is not None:
        c.value(node.limit, Expected(INT, "E2009", "the limit"))
        if isinstance(node.limit, ast.IntLiteral) and node.limit.value < 1:
            help = "leave `limit` out for the bound of the host"
            c.report("E4004", node.limit.span, "the limit is an Int of at least 1", help=help)
    wanted = generic(expected.type, "Array") if expected.used else None
    element_result = value_type(task_body(c, node.task, element, expected.of(wanted[0]) if wanted else FREE))
    warn_of_inner_marks(c, node, [node.task], "(parallel for x in xs { f(x) })?")
    return array(element_result)


def spawn(c: Checker, node: ast.Spawn, expected: Expected) -> Type:
    """Return the type of `spawn f(x)`: a Task of what the call gives; E2045 for any other operand. A callee that is no name, the
    receiver and the arguments are typed as code around the task, since they are evaluated before it starts (L-9.2.4)."""
    operand = node.operand
    if not isinstance(operand, (ast.Call, ast.MethodCall, ast.AsyncBlock)):
        type_ = c.infer(operand)
        help = "write `spawn async { … }`"
        if isinstance(operand, ast.Propagate):
            help = "`spawn f(x)`, then `.await?`"
        elif isinstance(operand, ast.PathExpr) and isinstance(type_, Function):
            help = f"call it: `spawn {c.text(operand).strip('`')}({'…' if type_.parameters else ''})`"
        return c.report("E2045", operand.span, "`spawn` takes a call or an `async` block", help=help)
    if not isinstance(operand, ast.AsyncBlock):
        # A copy, since the list changes while the body of the task is checked.
        around = (list(c.targets), c.loops)
        c.outside.update((argument.value, around) for argument in operand.arguments)
        before = operand.receiver if isinstance(operand, ast.MethodCall) else operand.callee
        if not isinstance(before, ast.PathExpr):
            c.outside[before] = around
    return Generic("Task", (value_type(task_body(c, node.task)),))


TASK_RULES: dict[type[ast.Expr], ExpressionRule] = {
    ast.Await: await_,
    ast.AsyncBlock: async_block,
    ast.ParallelFor: parallel_for,
    ast.Spawn: spawn,
}
