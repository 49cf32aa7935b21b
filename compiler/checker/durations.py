"""Times in calls of built-ins, written as constants with their units (O-0.12): `sleep("2s")`, `emit(…, timeout: "30s")`.

Hands on `read_durations` to `arguments.call_row`, which calls it before it matches arguments, `number_literal` to `config` and
`models`, and TIMED to `json_shapes`. A further parameter that takes a duration is a row of TIMED; which fields of declarations
take durations is said by their rows (`vm/declaration_fields.py`), and what a text means as a duration by `milliseconds` there. A
time that is computed is a number under the parameter's own name, such as `timeout_ms`, and is left as it is. `c` is the state of
the check: mistakes are reported to it by a code (E…; W… for a warning), and not raised.
"""

from __future__ import annotations

from typing import NamedTuple

from ...vm.builtins import Row
from ...vm.declaration_fields import milliseconds
from ..symbols import ConstSymbol
from ..syntax import ast
from ..types import FLOAT, INT
from .state import Checker


class Timed(NamedTuple):
    """A parameter of a row that is a time. `own`: its name; it takes milliseconds, or seconds if `seconds` is true. `plain`: the
    name under which a call writes it as a duration with a unit; where that is `own`, or empty, the duration stands under
    `own`."""

    own: str
    plain: str
    seconds: bool = False


# By the module of a built-in, "" for none, and its name.
TIMED = {
    ("time", "sleep"): Timed("ms", ""),
    ("http", "request"): Timed("timeout_ms", "timeout"),
    ("", "ask"): Timed("timeout_ms", "timeout"),
    ("", "with"): Timed("timeout", "timeout", seconds=True),
}


def read_durations(c: Checker, row: Row, arguments: list[ast.Argument]) -> None:
    """Change `arguments` in place: a duration becomes the number that the row takes, under the name of its parameter; a row
    without an entry in TIMED leaves them as they are. Report what is no constant duration (E4004), and a time under two names, of
    which the second is removed (E2007)."""
    timed = TIMED.get((row.module, row.name))
    if timed is None:
        return
    names = [parameter.name for parameter in row.parameters]
    earlier: tuple[ast.Argument, str] | None = None
    for position, argument in enumerate(arguments):
        written = argument.name.text if argument.name is not None else names[position] if position < len(names) else ""
        if written not in (timed.own, timed.plain):
            continue
        if earlier is not None and earlier[1] != written and argument.name is not None:
            message, help = f"`{written}` and `{earlier[1]}` say the same", f"keep one of them: `{earlier[1]}`"
            c.report("E2007", argument.name.span, message, help=help, first=earlier[0].span)
            arguments.remove(argument)
            return
        if written == timed.plain != timed.own and argument.name is not None:
            constant = _constant(argument.value)
            argument.value = _number(c, timed, argument.value, constant if isinstance(constant, str) else None)
            argument.name = ast.Ident(span=argument.name.span, text=timed.own)
        elif timed.plain in ("", timed.own) and isinstance(_constant(argument.value), str):
            argument.value = _number(c, timed, argument.value, _constant(argument.value))
        earlier = argument, written


def _number(c: Checker, timed: Timed, value: ast.Expr, constant: object) -> ast.Expr:
    """Return the literal of a constant duration; after a report one of 1, so that nothing else is reported of it."""
    zero = constant in ("0ms", "0s") and not timed.seconds
    ms = 0 if zero else milliseconds(constant)
    if ms is None:
        number = "" if timed.seconds or not timed.plain else f"; a number of milliseconds is `{timed.own}: …`"
        what = f"`{timed.plain}` is a constant text with its unit" if constant is None else f'"{constant}" is no duration'
        c.report("E4004", value.span, what, help=f'it is a number and a unit: `"500ms"`, `"30s"`, `"1.5h"`{number}')
        ms = 1
    return number_literal(value, ms / 1000 if timed.seconds else ms)


def _constant(value: ast.Expr) -> object:
    value = ast.ungrouped(value)
    if isinstance(value, (ast.StringLiteral, ast.IntLiteral, ast.FloatLiteral)):
        return value.value
    return value.binding.value if isinstance(value, ast.PathExpr) and isinstance(value.binding, ConstSymbol) else None


def number_literal(written: ast.Expr, value: object) -> ast.Expr:
    """Return the literal of an int or float `value`, typed, at the place of the text or constant `written` that says it."""
    if isinstance(value, int):
        literal: ast.Expr = ast.IntLiteral(span=written.span, value=value)
        literal.type = INT
        return literal
    assert isinstance(value, float)
    literal = ast.FloatLiteral(span=written.span, value=value)
    literal.type = FLOAT
    return literal
