"""Arguments to parameters: positions, names, defaults (L-3.8.1).

Hands on `match_arguments` and `Matched`. Must not know: what is called.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...vm.builtins import ASSOCIATED, FUNCTIONS, Row, lookup
from ..hints import names
from ..hints.names import ARGUMENTS, did_you_mean
from ..source import Span
from ..syntax import ast
from ..types import ANY, NIL, Function, Generic, Nilable, Nominal, Simple, Tuple, Type
from .relations import close, generic, is_complete, widen
from .signatures import Bindings, Formal, signature_of, substitute, unify
from .state import Checker, Expected


@dataclass(slots=True)
class Matched:
    """`values`: per parameter its argument, None where the default applies (further arguments of a variadic parameter
    follow); `order`: indexes of `values` as written."""

    values: list[ast.Expr | None]
    order: list[int]


def match_arguments(
    c: Checker, callee: str, formals: Sequence[Formal], arguments: list[ast.Argument], span: Span
) -> Matched | None:
    """None after a report; the arguments are then still to be typed by `infer_all`."""
    if formals and formals[-1].variadic:
        return _match_variadic(c, callee, formals, arguments)
    positions = {formal.name: i for i, formal in enumerate(formals)}
    matched = Matched([None] * len(formals), [])
    sound = True
    for position, argument in enumerate(arguments):
        index = positions.get(argument.name.text) if argument.name is not None else position
        if index is None or index >= len(formals):
            sound = False
            if argument.name is not None:
                _unknown(c, callee, argument.name, formals)
            continue
        before = matched.values[index]
        if before is not None:
            sound = False
            message = f"`{callee}` gets `{formals[index].name}` twice"
            c.report("E2007", argument.span, message, first=before.span, help=_piped_help(arguments, span))
            continue
        matched.values[index] = argument.value
        matched.order.append(index)
    return matched if _check_count(c, callee, formals, arguments, matched, span) and sound else None


def _unknown(c: Checker, callee: str, name: ast.Ident, formals: Sequence[Formal]) -> None:
    variadic = bool(formals) and formals[-1].variadic
    known = f"leave `{name.text}:` out: arguments of `{callee}` have no names" if variadic else signature_help(formals)
    help = ARGUMENTS.get((callee, name.text)) or did_you_mean(name.text, [formal.name for formal in formals]) or known
    c.report("E2007", name.span, f"`{callee}` has no parameter `{name.text}`", help=help)


def _match_variadic(
    c: Checker, callee: str, formals: Sequence[Formal], arguments: list[ast.Argument]
) -> Matched | None:
    named = next((a.name for a in arguments if a.name is not None), None)
    if named is not None:
        _unknown(c, callee, named, formals)
        return None
    return Matched([a.value for a in arguments], list(range(len(arguments))))


def _check_count(
    c: Checker, callee: str, formals: Sequence[Formal], arguments: list[ast.Argument], matched: Matched, span: Span
) -> bool:
    positional = sum(1 for a in arguments if a.name is None)
    missing = [f.name for f, v in zip(formals, matched.values, strict=True) if v is None and f.required]
    if positional > len(formals):
        message = f"`{callee}` takes {_count(formals)}, {len(arguments)} given"
        help = _piped_help(arguments, span) or _counted_help(c, callee, arguments) or signature_help(formals)
        c.report("E2006", span, message, help=help)
        return False
    unknown = len(arguments) - len(matched.order)
    if missing and not unknown:
        names = ", ".join(f"`{name}`" for name in missing)
        message = f"`{callee}` takes {_count(formals)}, {len(arguments)} given: missing {names}"
        help = _piped_help(arguments, span) or _counted_help(c, callee, arguments) or signature_help(formals)
        c.report("E2006", span, message, help=help)
    return not missing


# What is meant by so many arguments of a method, which elsewhere takes them.
_COUNTED = {
    ("append", 1): "write `.append(role, text)`; a Message goes in by `.append_all([{a}])`",
    ("get", 2): "write `.get({a}) ?? {b}`",
    ("split", 0): 'write `.split(" ")`',
    ("split", 2): "it splits everywhere: write `.split({a})`",
    ("substring", 1): "write `text[{a}..]`, or give the end too: `.substring({a}, text.len())`",
    ("execute", 2): 'write `.execute({b})`; the first is the `system_prompt` of the model: `model M { …, system_prompt: {a} }`',
}


def _counted_help(c: Checker, callee: str, arguments: list[ast.Argument]) -> str | None:
    help = _COUNTED.get((callee, len(arguments)))
    texts = [c.text(argument.value)[1:-1] for argument in arguments]
    return help and help.replace("{a}", texts[0] if texts else "").replace("{b}", texts[-1] if texts else "")


def _piped_help(arguments: list[ast.Argument], callee: Span) -> str | None:
    """The left side of `|>` is an argument that stands before its function."""
    piped = bool(arguments) and arguments[0].value.span.end <= callee.start
    return "the value before `|>` is the first argument" if piped else None


def signature_help(formals: Sequence[Formal]) -> str:
    """The parameters, as their declaration says them."""
    parts = ", ".join(f"{f.name}: {f.type}{'' if f.required else ' = …'}" for f in formals)
    return f"it takes `({parts})`" if parts else "it takes no arguments: `()`"


def _count(formals: Sequence[Formal]) -> str:
    most = len(formals)
    least = sum(1 for f in formals if f.required)
    number = str(most) if least == most else f"{least} to {most}"
    return f"{number} argument{'' if most == 1 else 's'}"


def infer_all(c: Checker, arguments: list[ast.Argument]) -> None:
    """Types arguments nothing is known about."""
    for argument in arguments:
        c.infer(argument.value)


# ----------------------------------------------------------------
# Calls of built-in functions and methods: one signature table, type arguments inferred (L-3.2.6, L-6).
#
# Hands on `call_row` for any row of the table, `function_value`, `kind_of`.


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
    known = next((m for m in names.METHODS.get(name, ()) if lookup(kind, m) is not None), None)
    if known is not None:
        return f"use `{known}()`"
    if kind == "HashMap" and name in ("entries", "items", "iter"):
        return "write `for (k, v) in h { … }`, or `h.query(|_k, _v| true)` for a Map"
    if name in names.COPIES:
        return "leave it out: a value is copied where it is assigned or passed"
    if kind == "Error" and name in ("Error", "getMessage", "what", "description"):
        return "use the field `message`"
    if kind == "Memory" and name.partition("_")[0] in ("on", "listen", "subscribe"):
        return names.EVENT_OF_A_MEMORY
    if kind == "Response" and lookup("String", name) is not None:
        return f"ask its text: `.text.{name}(…)`"
    if kind not in ("Array", "Map", "Range", "String", "Int", "Float"):
        return None
    return names.FORMS.get(name, "").replace("{name}", name) or None


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
