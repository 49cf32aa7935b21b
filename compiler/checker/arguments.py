"""Arguments to parameters: positions, names, defaults (L-3.8.1), and calls of rows of the table of built-ins (L-6).

Hands on to the rules of all that is called, of operators and of memories `match_arguments` and `Matched` (which argument goes to
which parameter), `infer_all` (the types of arguments without parameters), `call_row` for any built-in, `kind_of`, under which the
table lists the methods of a type, and `everyday_method`; to `types` `Matched`, `infer_arguments` (the types of arguments, and the
type arguments of the callee), `hints_of` and `is_wrapped_or_not`; to `expressions` and `calls` `function_value` and
`value_of_row` for built-ins that are not called. The language server asks `kind_of` too. What a call is decided to be stands in
`calls` and `methods`.

In all of it a formal is a parameter of anything callable, a row an entry of the table of built-ins. `c` is the state of the
check: mistakes are reported to it by a code (E…; W… for a warning), and not raised. ERRONEOUS is the type of what was reported,
which suits every place. A further help for calls as other languages write them is an entry of `_COUNTED`, or of the tables in
`hints/names`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...vm.builtins import ASSOCIATED, FUNCTIONS, Row, lookup
from ..hints import names
from ..hints.names import ARGUMENTS, did_you_mean
from ..source import Span
from ..syntax import ast
from ..types import ANY, NIL, Function, Generic, Nilable, Nominal, Parameter, Simple, Tuple, Type
from .durations import read_durations
from .relations import close, generic, is_complete, widen
from .signatures import Bindings, Formal, signature_of, substitute, unify
from .state import Checker, Expected


@dataclass(slots=True)
class Matched:
    """Which argument goes to which parameter. `values`: for each parameter its argument, None where the default applies, or of a
    variadic callee all its arguments, perhaps none; `order`: the indexes into `values` in the order of the source."""

    values: list[ast.Expr | None]
    order: list[int]


def match_arguments(
    c: Checker, callee: str, formals: Sequence[Formal], arguments: list[ast.Argument], span: Span
) -> Matched | None:
    """Return which argument goes to which parameter; None after a report (E2006 for a wrong number, E2007 for a wrong name): the
    caller then types them by `infer_all`. `callee` is its name in messages, `span` its place; no argument is typed here."""
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
        # A parameter may be given by position and by name: the second one is the mistake.
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


# The help for a method with as many arguments as it takes in other languages.
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
    """Return the help for a call by `|>`, told by an argument that stands before its function."""
    piped = bool(arguments) and arguments[0].value.span.end <= callee.start
    return "the value before `|>` is the first argument" if piped else None


def signature_help(formals: Sequence[Formal]) -> str:
    """Return a help that lists the parameters as a declaration writes them."""
    parts = ", ".join(f"{f.name}: {f.type}{'' if f.required else ' = …'}" for f in formals)
    return f"it takes `({parts})`" if parts else "it takes no arguments: `()`"


def _count(formals: Sequence[Formal]) -> str:
    most = len(formals)
    least = sum(1 for f in formals if f.required)
    number = str(most) if least == most else f"{least} to {most}"
    return f"{number} argument{'' if most == 1 else 's'}"


def infer_all(c: Checker, arguments: list[ast.Argument]) -> None:
    """Type arguments that go to no known parameter, so that what is wrong inside them is reported."""
    for argument in arguments:
        c.infer(argument.value)


# Calls of built-in functions and methods: one signature table, type arguments inferred (L-3.2.6, L-6).


def kind_of(type_: Type) -> str:
    """Return the kind under which the table lists the methods of a type, as `Array` or `ModelRef`. Declared types without rows of
    their own give the word of their kind, as `struct`, and the remaining types, as `T?`, give `Any`: `lookup` then finds only the
    methods of every value."""
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
    """Return the help, for a report of an unknown method `name`, that says how it is written here; None if the type has nothing
    of the kind."""
    kind = kind_of(type_)
    known = next((m for m in names.METHODS.get(name, ()) if lookup(kind, m) is not None), None)
    if known is not None:
        return f"use `{known}()`"
    if kind == "HashMap" and name in ("items", "iter"):
        return "write `for (k, v) in h { … }`, `h.entries()`, or `h.merge({})` for a Map"
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


# Rows that are compiled into instructions of their own (`codegen/module.py` has them) and can be function values nevertheless.
INSTRUCTIONS = ("print", "println", "emit", "flush_emits")


def function_value(c: Checker, node: ast.PathExpr, name: str) -> Type | None:
    """Return the type of a built-in function or `T::name` that is not called; None for a name that is no built-in function, such
    as that of a type. ERRONEOUS after a report, as `value_of_row`."""
    owner, _, member = name.rpartition("::")
    row = ASSOCIATED.get((owner, member)) if owner else FUNCTIONS.get(member)
    return None if row is None else value_of_row(c, node, row)


def value_of_row(c: Checker, node: ast.PathExpr, row: Row) -> Type:
    """Return the type of a built-in as a function value; ERRONEOUS after a report (E2010) for one that only the compiler can
    call, or that needs a type argument."""
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
    known: Bindings | None = None,
) -> tuple[Type, Matched | None]:
    """Type the arguments of a call of `row`. Return the type of its result and which argument goes to which parameter; Any and
    None where they do not go to its parameters, which has been reported. Arguments of wrong types are reported (E2009) and
    matched all the same. `arguments` is changed: a duration becomes a number (`read_durations`). `receiver` is the type of the
    value before the dot, None without one. `known` binds type parameters that are written, as `T` of `execute_with_schema<T>`; it
    is not changed."""
    signature = signature_of(row)
    bindings: Bindings = dict(known or {})
    if signature.receiver is not None and receiver is not None:
        unify(signature.receiver, receiver, bindings)
    read_durations(c, row, arguments)
    matched = match_arguments(c, row.name, signature.parameters, arguments, span)
    if matched is None:
        infer_all(c, arguments)
        return ANY, None
    hints = hints_of(signature.result, expected)
    infer_arguments(c, signature.parameters, matched, bindings, hints, guides=not is_wrapped_or_not(signature.result, expected))
    # Hints come last: what an argument says counts more than what the place expects.
    for name, hint in hints.items():
        bindings.setdefault(name, hint)
    return substitute(signature.result, bindings), matched


def hints_of(result: Type, expected: Expected) -> Bindings:
    """Return what the expected type says about the type parameters of the result, types by names; empty where it says nothing. A
    value that will be wrapped is compared with what is inside the wrapper."""
    hints: Bindings = {}
    wanted = expected.type
    # At the end of a function a `Set<T>` is wrapped in Ok; a bare T may be the Result itself.
    wraps = expected.ends and not (generic(result, "Result") or isinstance(result, Parameter))
    if wraps and isinstance(wanted, Generic) and wanted.name == "Result":
        wanted = wanted.arguments[0]
    while _is_wrapped(wanted) and not _is_wrapped(result):
        wanted = wanted.inner if isinstance(wanted, Nilable) else wanted.arguments[0]  # type: ignore[union-attr]
    if wanted is not None and wanted != ANY:
        unify(result, wanted, hints)
    return hints


def is_wrapped_or_not(result: Type, expected: Expected) -> bool:
    """Return whether the value of a call is either the Result that its function ends with or is wrapped in one, which only the
    arguments tell: then the expected type guides them only where they are Results, and says what they leave open."""
    return (expected.ends or expected.guess) and isinstance(result, Parameter) and generic(expected.type, "Result") is not None


def _is_wrapped(type_: Type | None) -> bool:
    """Return whether a plain value converts to the type by being wrapped (L-3.3.5, L-3.3.6)."""
    return isinstance(type_, Nilable) or generic(type_, "Option") is not None


def infer_arguments(
    c: Checker, formals: Sequence[Formal], matched: Matched, bindings: Bindings, hints: Bindings, guides: bool = True
) -> None:
    """Type each argument against its parameter, adding what type parameters are to `bindings` on the way, then convert those
    whose parameter has a complete type by then; what does not convert is reported (E2009). `hints` are types by the names of type
    parameters, as `hints_of` gives them, which guide the arguments; unless `guides` is true they are a guess. A parameter that is
    left out counts as nil.

    Two passes, since a later argument may bind what an earlier one left open.
    """
    variadic = bool(formals) and formals[-1].variadic
    pairs = [(formals[0] if variadic else formals[i], value) for i, value in enumerate(matched.values)]
    pending: list[tuple[Formal, ast.Expr, Type]] = []
    for formal, value in pairs:
        if value is None:
            # A built-in parameter that is left out counts as nil.
            unify(formal.type, NIL, bindings)
            continue
        wanted = substitute(formal.type, {**hints, **bindings})
        guess = not (guides or is_complete(substitute(formal.type, bindings)))
        actual = c.infer(value, Expected(wanted, "E2009", f"parameter `{formal.name}`", guess=guess))
        unify(formal.type, actual, bindings, hints)
        if not guides and actual.is_open:  # what is no Result, such as `None` or `[]`, is wrapped in the one that is expected
            wrapped = {name: parts[0] for name, hint in hints.items() if (parts := generic(hint, "Result")) is not None}
            unify(formal.type, actual, bindings, wrapped)
        pending.append((formal, value, actual))
    for formal, value, actual in pending:
        wanted = substitute(formal.type, bindings)
        # What is still open was bound by no argument: the caller reports it, or it stays Any.
        if is_complete(wanted):
            c.coerce(value, actual, Expected(wanted, "E2009", f"parameter `{formal.name}`"))
