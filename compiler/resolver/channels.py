"""Channels: `channel approve: Decision -> Bool;` to the function that asks the host (O-5.36).

Hands on `function_of_channel` and `bind_to_predeclared` to `items`, and `emit_of` to the check of channels
(`checker/questions.py`). The function is
`fn approve(payload: Decision) -> Result<Bool, EmitError> { await emit<Decision>("approve", payload) }`, without an answer
`fn told(payload: Step) { emit<Step>("told", payload) }`, so that checker and code generation know only functions. Nothing is
reported here: types and name of a channel are the checker's, and asking the host, who started the program, is the runtime's.
"""

from __future__ import annotations

from ..symbols import BuiltinSymbol, ErrorFamilySymbol
from ..syntax import ast

PAYLOAD = "payload"


def function_of_channel(node: ast.Channel) -> ast.Function:
    """Return the function that a channel is called by, with the name, decorators, visibility and documentation of the channel.
    The type of the payload stands in it twice, as two trees."""
    span = node.name.span
    payload = ast.Ident(node.payload.span, PAYLOAD)
    parameter = ast.Parameter(node.payload.span, payload, node.payload)
    callee = ast.PathExpr(span, [ast.Ident(span, "emit")], [ast.copy_tree(node.payload)])
    arguments = [ast.Argument(span, None, ast.StringLiteral(span, node.name.text))]
    arguments.append(ast.Argument(span, None, ast.PathExpr(span, [payload])))
    call: ast.Expr = ast.Call(span, callee, arguments)
    result = None
    if node.answer is not None:
        call = ast.Await(span, call, postfix=False)
        error = ast.NamedType(span, [ast.Ident(span, "EmitError")], None)
        result = ast.NamedType(node.answer.span, [ast.Ident(span, "Result")], [node.answer, error])
    return ast.Function(
        node.span, node.name, is_async=False, type_parameters=[], parameters=[parameter], result=result, clauses=[], by=None,
        body=ast.Block(span, [], call), decorators=node.decorators, public=node.public, doc=node.doc,
    )  # fmt: skip


def emit_of(function: ast.Function) -> ast.Call:
    """Return the call of `emit` in the function of a channel. The function must be one of `function_of_channel`."""
    assert function.body is not None
    call = function.body.result
    call = call.operand if isinstance(call, ast.Await) else call
    assert isinstance(call, ast.Call)
    return call


def bind_to_predeclared(function: ast.Function) -> None:
    """Let the names that nobody wrote denote what is predeclared, also where the program has others of these names. The function
    of a channel must have been resolved, which binds them first."""
    callee, result = emit_of(function).callee, function.result
    assert isinstance(callee, ast.PathExpr)
    callee.binding = BuiltinSymbol("emit")
    if isinstance(result, ast.NamedType) and result.arguments is not None:
        result.binding = BuiltinSymbol("Result")
        error = result.arguments[1]
        assert isinstance(error, ast.NamedType)
        error.binding = ErrorFamilySymbol("EmitError")
