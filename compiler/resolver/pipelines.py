"""Pipelines: each stage becomes a function of its own (O-6.17, O-6.18).

Must not know: types, what stages give each other.
"""

from __future__ import annotations

from ...vm.bytecode.limits import DEFAULT
from .. import ast
from ..symbols import Local, PipelineSymbol, StageSymbol
from ..types import ANY
from .functions import function
from .state import Resolver

NO_INPUT = "input"  # the parameter of an expression stage for an input that the pipeline gives no name


def visit_pipeline(r: Resolver, node: ast.Pipeline) -> None:
    """Runs in a scope of the item."""
    symbol = node.symbol
    assert isinstance(symbol, PipelineSymbol)
    if node.parameter is not None:
        r.visit(node.parameter.type)
        r.visit(node.parameter.default)
    r.visit(node.result)
    seen: dict[str, ast.Stage] = {}
    for stage in node.stages:
        if len(symbol.stages) >= DEFAULT.parameters:
            message = f"pipeline `{node.name.text}` has more than {DEFAULT.parameters} stages"
            r.report("E0114", stage.name.span, message, help="split it: a stage can run another pipeline")
            break
        name = stage.name.text
        if name in seen:
            r.report(
                "E1003", stage.name.span, f"stage `{name}` is defined twice", first=seen[name].name.span,
                help="rename one of them",
            )
        for decorator in stage.decorators:
            for argument in decorator.arguments:
                r.visit(argument.value)
        _stage(r, symbol, stage)
        seen.setdefault(name, stage)
        r.stages.append(name)
    r.stages = []


def _stage(r: Resolver, pipeline: PipelineSymbol, stage: ast.Stage) -> None:
    parameters = stage.parameters if stage.value is None else _seen_by_expression(pipeline)
    declaration = ast.Function(
        span=stage.span, name=stage.name, is_async=True, type_parameters=[], parameters=parameters, result=stage.result,
        clauses=[], body=stage.body or _body(stage),
    )  # fmt: skip
    symbol = StageSymbol(stage.name.text, declaration, [], ANY, pipeline=pipeline, stage=stage, home=pipeline.home)
    if stage.value is None:
        function(r, declaration)
    else:
        _expression_stage(r, declaration)
    pipeline.stages.append(symbol)


def _body(stage: ast.Stage) -> ast.Block:
    assert stage.value is not None
    return ast.Block(span=stage.value.span, statements=[], result=stage.value)


def _seen_by_expression(pipeline: PipelineSymbol) -> list[ast.Parameter]:
    """The input, then what each earlier stage gave."""
    given = pipeline.declaration.parameter
    span = pipeline.declaration.name.span
    names = [given.name if given is not None else ast.Ident(span=span, text=NO_INPUT)]
    names += [stage.stage.name for stage in pipeline.stages]
    return [ast.Parameter(span=name.span, name=name, type=None) for name in names]


def _expression_stage(r: Resolver, declaration: ast.Function) -> None:
    """Its parameters are no variables that somebody wrote there: none of them has to be used."""
    with r.body(None) as scope:
        declaration.scope = scope
        for parameter in declaration.parameters:
            local = Local(parameter.name.text, ANY, False, scope)
            scope.locals.append(local)
            parameter.binding = local
            r.scope.names[local.name] = local
        r.visit(declaration.body)
