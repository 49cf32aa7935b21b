"""The types of `let` without annotation that are known later, or never (L-3.2.2, L-3.2.8).

Hands on `close_lets` to `functions` and `outside`, which close the types of the variables in `c.open_lets` at the end of a body,
and to `control`, which fills the list, what closes and describes one initialiser. `c` is the state of the check, to which
mistakes are reported.
"""

from __future__ import annotations

from ..syntax import ast
from ..types import ANY, OPEN, Nominal, Type
from .relations import ERRONEOUS, close, generic, is_complete
from .state import Checker


def close_lets(c: Checker) -> None:
    """Close, at the end of a body, the types of the variables in `c.open_lets`, report those whose type no use has said (E2004),
    and empty the list."""
    for node, local in c.open_lets:
        if local.type.is_open:
            local.type = closed_type(c, node, local.type)
    c.open_lets.clear()


def closed_type(c: Checker, node: ast.Let, type_: Type) -> Type:
    """Return the type of an initialiser, open sides of Results closed; any other open side is reported (E2004, L-3.2.2)."""
    closed = close_results(type_)
    if is_complete(closed):
        return closed
    annotation = str(close(type_)).replace("Any", "…")
    c.report(
        "E2004", node.pattern.span, f"the type of {described(node.pattern)} is not known",
        help=f"annotate it: `let {name_of(node.pattern)}: {annotation} = …;`",
    )  # fmt: skip
    return ERRONEOUS


def close_results(type_: Type) -> Type:
    """Return the type with Any for the open side of `Ok(x)` or `Err(e)`, or of a generic enum of which another side is known
    (L-3.2.2)."""
    if isinstance(type_, Nominal) and type_.kind == "enum" and not all(side == OPEN for side in type_.arguments):
        return type_.of(tuple([ANY if side == OPEN else close_results(side) for side in type_.arguments]))
    sides = generic(type_, "Result")
    if not sides:
        return type_
    value, error = (ANY if side == OPEN else close_results(side) for side in sides)
    return type(type_)("Result", (value, error))  # type: ignore[call-arg]


def name_of(pattern: ast.Pattern) -> str:
    """Return the name of a variable for a help, `…` for a pattern that takes a value apart."""
    return pattern.name.text if isinstance(pattern, ast.BindPattern) else "…"


def described(pattern: ast.Pattern) -> str:
    """Return what a message calls the variable, or the pattern that takes a value apart."""
    return f"`{pattern.name.text}`" if isinstance(pattern, ast.BindPattern) else "the pattern"
