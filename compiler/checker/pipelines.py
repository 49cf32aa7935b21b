"""Pipelines: stages, what they hand on, contracts between them (O-6.17 to O-6.23).

Hands on `declare_pipeline`, `check_pipeline` and `pipeline_type`, which types the stages it needs on demand. Must not know: how
a pipeline runs.
"""

from __future__ import annotations

from .. import ast
from ..symbols import PipelineSymbol, StageSymbol
from ..types import ANY, ERROR, FLOAT, INT, NEVER, Type, pipeline
from .assignment import check_assignments
from .context import Checker, Target
from .decorators import check_decorators
from .functions import check_body, parameter_type, record
from .relations import ERRONEOUS, close, generic
from .types import written_type

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
