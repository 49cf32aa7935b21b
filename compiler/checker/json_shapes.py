"""Types at the border of a program: which have a JSON shape (`json::parse_as<T>`, L-7.1.2), what `emit` takes and what answers it
(O-5.23 to O-5.35), and how large the JSON forms of schemas may be (O-2.11, G-5.13).

Hands on `without_shape` to `questions` and `context_declarations`; `check_size` to all that declares or asks for what a model
fills in (`declaration_checks`, `schema_calls`, `tool_arguments`, `stores`, `mcp`); `parse_as_call` and `emit` to `calls`,
`awaited_emit` to `await` (`functions`), `answer_in` to what takes an answer out of its Result; and COLLECTIONS, the generic
built-in types of plain data, to `stores` and `externs`, which gets `shape_parts` too. A scalar or generic built-in type has a
JSON shape by standing in SCALARS or COLLECTIONS, a tuple, `T?` or declared type by its parts, a union of Strings always. Which
types a schema may have is stricter, and said by `schemas.without_json`. `c` is the state of the check: mistakes are reported to
it by a code (E…; W… for a warning), and not raised. ERRONEOUS is the type of what was reported, which suits every place. No JSON
is read or written here: that is for the run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...vm.builtins import FUNCTIONS, Row
from ...vm.builtins.modules import STD_PREFIX
from ..decisions import BuiltinCall, CheckAny
from ..source import Span
from ..symbols import BuiltinSymbol, EnumSymbol, StdFunctionSymbol, StructSymbol, VariantSymbol
from ..syntax import ast
from ..types import ANY, BOOL, BYTES, FLOAT, INT, NIL, RANGE, STRING, Generic, Nilable, Nominal, Tuple, Type, Union, error, result
from .arguments import call_row, infer_all
from .durations import TIMED
from .relations import ERRONEOUS, MISMATCH, convert, generic, is_complete, reads_resource
from .state import FORM_FIELDS, FREE, Checker, Expected
from .types import parts_in, written_type

if TYPE_CHECKING:
    from collections.abc import Iterable


SCALARS = (STRING, INT, FLOAT, BOOL, NIL, ANY, RANGE, BYTES)
COLLECTIONS = ("Array", "Map", "Option", "Result", "Set", "Queue", "Stack")


def parse_as_call(
    c: Checker, node: ast.Call, callee: ast.PathExpr, symbol: StdFunctionSymbol, row: Row, expected: Expected
) -> Type:
    """Return the type of `json::parse_as<T>(s)`, where T is written or expected by the place (L-3.2.6), and set `node.target`;
    ERRONEOUS after a report: E2044 for a T without JSON shape, E2029 for one that nothing says, E2028 for more than one, and
    what `call_row` reports of the argument."""
    written = callee.type_arguments or []
    if len(written) > 1:
        infer_all(c, node.arguments)
        return c.report(
            "E2028", callee.span, f"`{symbol.name}` takes 1 type argument, {len(written)} given",
            help=f"write `{symbol.name}<T>(…)`",
        )
    wanted = written_type(c, written[0]) if written else _type_of_place(expected)
    if wanted is None:
        infer_all(c, node.arguments)
        return c.report("E2029", callee.span, "the type argument `T` is not known", help="write `parse_as<T>(…)`")
    type_, matched = call_row(c, row, None, node.arguments, callee.span, expected, {"T": wanted})
    offending = without_shape(c, wanted)
    if offending is not None and offending is not ERRONEOUS:
        place = written[0].span if written else callee.span
        return c.report("E2044", place, f"`{offending}` has no JSON shape", help="parse into `Any`, or a struct of plain data")
    if matched is None:
        return ERRONEOUS
    module = STD_PREFIX + symbol.module
    node.target = BuiltinCall(matched.values, matched.order, module, symbol.name, type_arguments=(wanted,))
    return type_


def _type_of_place(expected: Expected) -> Type | None:
    wanted = expected.type
    return wanted.arguments[0] if isinstance(wanted, Generic) and wanted.name == "Result" else None


def without_shape(c: Checker, type_: Type) -> Type | None:
    """Return a part of a type, or the type itself, that no JSON value stands for; None if it has a JSON shape. The walk has a
    list of its own, as types may contain themselves."""
    todo: list[Type] = [type_]
    seen: set[Type] = set()
    inside = not type_.has_parameters  # in a generic function a parameter of its own is no data
    while todo:
        at = todo.pop()
        # Of a declared type its parameters are no parts, but what stands for them, which are its arguments.
        if at in seen or at in SCALARS or isinstance(at, Union) or (inside and at.has_parameters and _is_parameter(at)):
            continue
        seen.add(at)
        if isinstance(at, Generic) and at.name in COLLECTIONS:
            todo.extend(at.arguments)
        elif isinstance(at, Tuple):
            todo.extend(at.items)
        elif isinstance(at, Nilable):
            todo.append(at.inner)
        elif isinstance(at, Nominal) and at.kind in ("struct", "schema", "enum", "record"):
            todo.extend(shape_parts(c, at))
        else:
            return at
    return None


def _is_parameter(type_: Type) -> bool:
    return isinstance(type_, Nominal) and type_.kind == "parameter"


def shape_parts(c: Checker, type_: Nominal) -> list[Type]:
    """Return the types of the parts of a declared type, and its type arguments."""
    symbol = c.declared(type_)
    if isinstance(symbol, EnumSymbol):
        parts = [part for member in symbol.members for _, part, _, _ in member.fields]
    elif isinstance(symbol, StructSymbol):
        parts = [part for _, part, _, _ in symbol.fields]
    else:
        parts = []
    # type parameters of the declaration are Any at run time (L-3.1.22); what they stand for is an argument
    return [*type_.arguments, *(part for part in parts if not (isinstance(part, Nominal) and part.kind == "parameter"))]


# `emit` in its forms (O-5.23 to O-5.27): one-way, typed, and awaited with the host's answer.

# The row that a call of `emit` directly under `await` is checked by; codegen knows the call by the name of the row.
AWAITED = Row(
    "", "ask(channel: String, payload: Any = nil, timeout_ms: Int? = nil) -> Result<Any, EmitError>", clause="O-5.25",
    kind="special",
)  # fmt: skip


def emit(c: Checker, node: ast.Call, callee: ast.PathExpr, expected: Expected) -> Type:
    """Return the type of `emit(channel, payload)` or `emit<T>(…)`, which nobody answers (O-5.23, O-5.24), and set
    `node.target`; ERRONEOUS after a report that leaves none (E2006, E2007, E2028). A payload of another type than a written T
    is reported too (E4080), and arguments of wrong types (E2009)."""
    timed = TIMED["", AWAITED.name]
    timeout = _named_argument(node, timed.own) or _named_argument(node, timed.plain)
    if timeout is not None:
        infer_all(c, node.arguments)
        help = f"write `await emit(…, {timeout.text}: …)`"
        return c.report("E2007", timeout.span, f"only an awaited `emit` takes `{timeout.text}`", help=help)
    return _check_emit(c, node, callee, FUNCTIONS["emit"], expected)


def awaited_emit(c: Checker, operand: ast.Expr, expected: Expected) -> Type | None:
    """Return the type of `await operand` if the operand is a call of `emit`, ERRONEOUS after a report that leaves none (E2006,
    E2007, E2028, E4080); None for any other operand. Where the place says the type of the answer, the runtime makes an Err of
    any other (O-5.35)."""
    call = _emit_in(operand)
    if call is None:
        return None
    assert isinstance(call.callee, ast.PathExpr)
    type_ = _check_emit(c, call, call.callee, AWAITED, Expected())
    wanted = generic(expected.type, "Result")
    if wanted and isinstance(call.target, BuiltinCall) and wanted[0] != ANY and is_complete(wanted[0]):
        call.target.answer = wanted[0]
        type_ = result(wanted[0], error("EmitError"))
    # Brackets around the call have its type too.
    while operand is not call:
        assert isinstance(operand, ast.GroupExpr)
        operand.type, operand = type_, operand.inner
    call.type = type_
    return type_


def answer_in(node: ast.Expr, expected: Expected) -> Expected:
    """Return what is expected of `node` where the inside of its Result has to be of the expected type: the Result of that for an
    awaited emit and a resource of an MCP server (O-4.50), FREE for every other expression."""
    node = ast.ungrouped(node)
    if expected.type is None or not (_awaits_emit(node) or reads_resource(node)):
        return FREE
    return expected.of(result(expected.type, ANY))


def _awaits_emit(node: ast.Expr) -> bool:
    return isinstance(node, ast.Await) and node.tasks is None and _emit_in(node.operand) is not None


def _emit_in(operand: ast.Expr) -> ast.Call | None:
    call = ast.ungrouped(operand)
    if not isinstance(call, ast.Call) or not isinstance(call.callee, ast.PathExpr):
        return None
    binding = call.callee.binding
    return call if isinstance(binding, BuiltinSymbol) and binding.name == "emit" else None


def _of_answer(wanted: Type) -> str:
    """Return the help for a T that was meant for the answer to an emit; `emit<T>` is the type of what is sent (O-5.24)."""
    return f"an answer has its type from its place: `let x: {wanted} = await emit(channel, payload)?;`"


def _named_argument(node: ast.Call, name: str) -> ast.Ident | None:
    return next((a.name for a in node.arguments if a.name is not None and a.name.text == name), None)


def _check_emit(c: Checker, node: ast.Call, callee: ast.PathExpr, row: Row, expected: Expected) -> Type:
    written = callee.type_arguments
    if written is None:
        return _check_by_row(c, node, callee, row, expected, ())
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
            help=f"write `emit<T>(channel, payload)`; {_of_answer(wanted)}",
        )
    actual = c.infer(payload, Expected(wanted, "E4080", "the payload"))
    if row is AWAITED and convert(actual, wanted) is MISMATCH:
        message = f"expected `{wanted}` for the payload, found `{actual}`"
        return c.report("E4080", payload.span, message, help=f"T is the type of the payload; {_of_answer(wanted)}")
    c.coerce(payload, actual, Expected(wanted, "E4080", "the payload"))
    coercion = payload.coercion
    type_ = _check_by_row(c, node, callee, row, expected, (wanted,))
    payload.coercion = None if isinstance(coercion, CheckAny) else coercion  # `emit<T>` itself checks it, for P415
    return type_


def _check_by_row(
    c: Checker, node: ast.Call, callee: ast.PathExpr, row: Row, expected: Expected, types: tuple[Type, ...]
) -> Type:
    known = {"T": types[0]} if types else None
    type_, matched = call_row(c, row, None, node.arguments, callee.span, expected, known)
    if matched is None:
        return ERRONEOUS
    node.target = BuiltinCall(matched.values, matched.order, "", row.name, type_arguments=types)
    return type_


# How large a JSON form is when it is written out: a schema that stands in two fields stands in an image, and in every request,
# twice (O-2.11, G-5.13).

DEEPEST = 96  # levels of JSON; an image has room for 128
Size = tuple[int, int]  # fields, levels


def check_size(c: Checker, type_: Type, place: Span) -> None:
    """Subtract the fields of the JSON form of a type from `c.form_room`. Report at `place` a form that nests too deep, or with
    which those of the program are too large together (E0114); once in a program."""
    # The room is used up, which was reported.
    if c.form_room < 0:
        return
    fields, levels = _size(c, type_, set())
    c.form_room -= fields
    if levels > DEEPEST:
        c.form_room = -1  # one report is enough
        message = f"the JSON form of `{type_}` nests more than {DEEPEST} levels deep"
        c.report("E0114", place, message, help="let an inner schema be a String that holds JSON, or make it flatter")
    elif c.form_room < 0:
        message = f"with `{type_}` the schemas of the program have more than {FORM_FIELDS:,} fields, each nested one written out"
        c.report("E0114", place, message, help="name what is nested by an id, or let it be a String that holds JSON")


def _size(c: Checker, type_: Type, around: set[Type]) -> Size:
    """Return the fields and levels of the JSON form of a type; a type inside itself counts as one reference. `around` are the
    types on the way, and those of declared types are cached."""
    if isinstance(type_, Generic):
        fields, levels = _size_of_parts(_size(c, argument, around) for argument in type_.arguments)
        return fields, levels + (2 if type_.name == "Option" else 1)
    symbol = c.declared(type_) if isinstance(type_, Nominal) else None
    # A type inside itself is written as a reference, which counts as one field.
    if not isinstance(symbol, (StructSymbol, EnumSymbol)) or type_ in around or len(around) > DEEPEST:
        return 1, 1
    known = c.form_sizes.get(type_)
    if known is None:
        around.add(type_)
        owners: list[StructSymbol | VariantSymbol] = [*symbol.members] if isinstance(symbol, EnumSymbol) else [symbol]
        parts = [part for owner in owners for _, part, _, _ in parts_in(c, owner, type_)]
        fields, levels = _size_of_parts(_size(c, part, around) for part in parts)
        around.discard(type_)
        known = c.form_sizes[type_] = min(fields + 1, 2 * FORM_FIELDS + c.form_room), levels + 3
    return known


def _size_of_parts(sizes: Iterable[Size]) -> Size:
    """Return the size of parts side by side: their fields together, the levels of the deepest."""
    fields, levels = 0, 0
    for more, deep in sizes:
        fields, levels = fields + more, max(levels, deep)
    return fields, levels
