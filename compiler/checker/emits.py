"""`emit` in its forms (O-5.23 to O-5.27): one-way, typed, and awaited with the host's answer.

Hands on `emit` for calls, `awaited_emit` for the operand of an `await`, `answer_in` for what takes an answer out of its
Result. Must not know: other awaited values.
"""

from __future__ import annotations

from ...vm.builtins import FUNCTIONS, Row
from .. import ast
from ..decisions import BuiltinCall, CheckAny
from ..symbols import BuiltinSymbol
from ..types import ANY, Type, error, result
from .arguments import infer_all
from .builtins import call_row
from .context import FREE, Checker, Expected
from .relations import ERRONEOUS, MISMATCH, convert, generic, is_complete
from .types import written_type

# What a call of `emit` is directly under `await`; codegen knows the target by this name.
AWAITED = Row(
    "", "ask(channel: String, payload: Any = nil, timeout_ms: Int? = nil) -> Result<Any, EmitError>", clause="O-5.25",
    kind="special",
)  # fmt: skip


def emit(c: Checker, node: ast.Call, callee: ast.PathExpr, expected: Expected) -> Type:
    """`emit(channel, payload)`, `emit<T>(…)` (O-5.23, O-5.24)."""
    timeout = _named(node, "timeout_ms")
    if timeout is not None:
        infer_all(c, node.arguments)
        help = "write `await emit(…, timeout_ms: …)`"
        return c.report("E2007", timeout.span, "only an awaited `emit` takes `timeout_ms`", help=help)
    return _call(c, node, callee, FUNCTIONS["emit"], expected)


def awaited_emit(c: Checker, operand: ast.Expr, expected: Expected) -> Type | None:
    """The type of `await operand` if the operand is a call of `emit`, else None. Where the place says what the answer is, another
    one is an Err (O-5.35)."""
    call = _emit_in(operand)
    if call is None:
        return None
    assert isinstance(call.callee, ast.PathExpr)
    found = _call(c, call, call.callee, AWAITED, Expected())
    wanted = generic(expected.type, "Result")
    if wanted and isinstance(call.target, BuiltinCall) and wanted[0] != ANY and is_complete(wanted[0]):
        call.target.answer = wanted[0]
        found = result(wanted[0], error("EmitError"))
    while operand is not call:
        assert isinstance(operand, ast.GroupExpr)
        operand.type, operand = found, operand.inner
    call.type = found
    return found


def answer_in(node: ast.Expr, expected: Expected) -> Expected:
    """What is expected of `node` where what is inside its Result has to be of a type: awaited emits look at it."""
    while isinstance(node, ast.GroupExpr):
        node = node.inner
    if expected.type is None or not isinstance(node, ast.Await) or node.tasks is not None or _emit_in(node.operand) is None:
        return FREE
    return expected.of(result(expected.type, ANY))


def _emit_in(operand: ast.Expr) -> ast.Call | None:
    call = operand
    while isinstance(call, ast.GroupExpr):
        call = call.inner
    if not isinstance(call, ast.Call) or not isinstance(call.callee, ast.PathExpr):
        return None
    binding = call.callee.binding
    return call if isinstance(binding, BuiltinSymbol) and binding.name == "emit" else None


def of_answer(wanted: Type) -> str:
    """How the answer to an emit gets a type: `emit<T>` is the type of what is sent (O-5.24)."""
    return f"an answer has its type from its place: `let x: {wanted} = await emit(channel, payload)?;`"


def _named(node: ast.Call, name: str) -> ast.Ident | None:
    return next((a.name for a in node.arguments if a.name is not None and a.name.text == name), None)


def _call(c: Checker, node: ast.Call, callee: ast.PathExpr, row: Row, expected: Expected) -> Type:
    written = callee.type_arguments
    if written is None:
        return _row(c, node, callee, row, expected, ())
    if len(written) != 1:
        infer_all(c, node.arguments)
        return c.report(
            "E2028", callee.span, f"`emit` takes 1 type argument, {len(written)} given",
            help="write `emit<T>(channel, payload)`",
        )
    wanted = written_type(c, written[0])
    payload = next((a.value for a in node.arguments if a.name is not None and a.name.text == "payload"), None)
    if payload is None and len(node.arguments) > 1 and node.arguments[1].name is None:
        payload = node.arguments[1].value
    if payload is None:
        infer_all(c, node.arguments)
        return c.report(
            "E2006", callee.span, "`emit<T>` takes 2 arguments: missing `payload`",
            help=f"write `emit<T>(channel, payload)`; {of_answer(wanted)}",
        )
    found = c.infer(payload, Expected(wanted, "E4080", "the payload"))
    if row is AWAITED and convert(found, wanted) is MISMATCH:
        message = f"expected `{wanted}` for the payload, found `{found}`"
        return c.report("E4080", payload.span, message, help=f"T is the type of the payload; {of_answer(wanted)}")
    c.coerce(payload, found, Expected(wanted, "E4080", "the payload"))
    coercion = payload.coercion
    result = _row(c, node, callee, row, expected, (wanted,))
    payload.coercion = None if isinstance(coercion, CheckAny) else coercion  # its own instruction checks it, for P415
    return result


def _row(
    c: Checker, node: ast.Call, callee: ast.PathExpr, row: Row, expected: Expected, types: tuple[Type, ...]
) -> Type:
    given = {"T": types[0]} if types else None
    found, matched = call_row(c, row, None, node.arguments, callee.span, expected, given)
    if matched is None:
        return ERRONEOUS
    node.target = BuiltinCall(matched.values, matched.order, "", row.name, type_arguments=types)
    return found
