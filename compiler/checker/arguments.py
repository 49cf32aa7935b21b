"""Arguments to parameters: positions, names, defaults (L-3.8.1).

Hands on `match_arguments` and `Matched`. Must not know: what is called.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .. import ast
from ..resolver.everyday import ARGUMENTS
from ..resolver.spelling import did_you_mean
from ..source import Span
from .context import Checker
from .signatures import Formal


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
