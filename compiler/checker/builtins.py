"""Calls of built-in functions and methods: one signature table, type arguments inferred (L-3.2.6, L-6).

Hands on `call_row` for any row of the table, `function_value`, `kind_of`. Must not know: where a call is written.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...vm.builtins import ASSOCIATED, FUNCTIONS, Row, lookup
from .. import ast
from ..resolver import everyday
from ..source import Span
from ..types import ANY, NIL, Function, Generic, Nilable, Nominal, Simple, Tuple, Type
from .arguments import Matched, infer_all, match_arguments
from .context import Checker, Expected
from .relations import close, generic, is_complete, widen
from .signatures import Bindings, Formal, signature_of, substitute, unify


def kind_of(type_: Type) -> str:
    """The receiver kind under which the table lists the methods of a type; `Any` for those that share its rows only."""
    type_ = widen(type_)
    match type_:
        case Simple() | Generic():
            return type_.name
        case Tuple():
            return "Tuple"
        case Function():
            return "Function"
        case Nominal(kind="record"):
            return type_.name
        case Nominal():
            return {"error": "Error", "enum": "Enum", "model": "ModelRef", "tool": "ToolRef"}.get(type_.kind, type_.kind)
    return "Any"


def everyday_method(type_: Type, name: str) -> str | None:
    """The help for a method called as in other languages, None if the table has nothing that the type offers."""
    kind = kind_of(type_)
    known = next((m for m in everyday.METHODS.get(name, ()) if lookup(kind, m) is not None), None)
    if known is not None:
        return f"use `{known}()`"
    if kind == "HashMap" and name in ("entries", "items", "iter"):
        return "write `for (k, v) in h { … }`, or `h.query(|_k, _v| true)` for a Map"
    if name in everyday.COPIES:
        return "leave it out: a value is copied where it is assigned or passed"
    if kind == "Error" and name in ("Error", "getMessage", "what", "description"):
        return "use the field `message`"
    if kind == "Memory" and name.partition("_")[0] in ("on", "listen", "subscribe"):
        return everyday.EVENT_OF_A_MEMORY
    if kind == "Response" and lookup("String", name) is not None:
        return f"ask its text: `.text.{name}(…)`"
    if kind not in ("Array", "Map", "Range", "String", "Int", "Float"):
        return None
    return everyday.FORMS.get(name, "").replace("{name}", name) or None


# Forms compiled into instructions that can be values nevertheless.
INSTRUCTIONS = ("print", "println", "emit", "flush_emits")


def function_value(c: Checker, node: ast.PathExpr, name: str) -> Type | None:
    """The type of a built-in function or `T::name` that is not called; None for names of types."""
    owner, _, member = name.rpartition("::")
    row = ASSOCIATED.get((owner, member)) if owner else FUNCTIONS.get(member)
    return None if row is None else value_of_row(c, node, row)


def value_of_row(c: Checker, node: ast.PathExpr, row: Row) -> Type:
    """A function value takes values, by position: what a form of the compiler or a type argument is for cannot be one."""
    if (row.kind == "special" and (row.module or row.name not in INSTRUCTIONS)) or row.takes_schema:
        help = f"call it in a closure: `|x| {row.name}(x)`"
        return c.report("E2010", node.span, f"`{row.name}` is no function value", help=help)
    signature = signature_of(row)
    return Function(tuple(close(p.type) for p in signature.parameters), close(signature.result))


def call_row(
    c: Checker,
    row: Row,
    receiver: Type | None,
    arguments: list[ast.Argument],
    span: Span,
    expected: Expected,
    given: Bindings | None = None,
) -> tuple[Type, Matched | None]:
    """Types the arguments of a call of `row`; gives its result and who fills which parameter, None after a report."""
    signature = signature_of(row)
    bindings: Bindings = dict(given or {})
    if signature.receiver is not None and receiver is not None:
        unify(signature.receiver, receiver, bindings)
    matched = match_arguments(c, row.name, signature.parameters, arguments, span)
    if matched is None:
        infer_all(c, arguments)
        return ANY, None
    hints = hints_of(signature.result, expected)
    infer_arguments(c, signature.parameters, matched, bindings, hints)
    for name, hint in hints.items():
        bindings.setdefault(name, hint)
    return substitute(signature.result, bindings), matched


def hints_of(result: Type, expected: Expected) -> Bindings:
    """What the expected type says about the type parameters of the result."""
    hints: Bindings = {}
    wanted = expected.type
    while _is_wrapped(wanted) and not _is_wrapped(result):
        wanted = wanted.inner if isinstance(wanted, Nilable) else wanted.arguments[0]  # type: ignore[union-attr]
    if wanted is not None and wanted != ANY:
        unify(result, wanted, hints)
    return hints


def _is_wrapped(type_: Type | None) -> bool:
    """Whether a plain value converts to it by being wrapped (L-3.3.5, L-3.3.6)."""
    return isinstance(type_, Nilable) or generic(type_, "Option") is not None


def infer_arguments(
    c: Checker, formals: Sequence[Formal], matched: Matched, bindings: Bindings, hints: Bindings
) -> None:
    """Types each argument against its parameter, binding type parameters on the way, then converts all."""
    variadic = bool(formals) and formals[-1].variadic
    pairs = [(formals[0] if variadic else formals[i], value) for i, value in enumerate(matched.values)]
    pending: list[tuple[Formal, ast.Expr, Type]] = []
    for formal, value in pairs:
        if value is None:
            unify(formal.type, NIL, bindings)
            continue
        wanted = substitute(formal.type, {**hints, **bindings})
        found = c.infer(value, Expected(wanted, "E2009", f"parameter `{formal.name}`"))
        unify(formal.type, found, bindings, hints)
        pending.append((formal, value, found))
    for formal, value, found in pending:
        wanted = substitute(formal.type, bindings)
        if is_complete(wanted):
            c.coerce(value, found, Expected(wanted, "E2009", f"parameter `{formal.name}`"))
