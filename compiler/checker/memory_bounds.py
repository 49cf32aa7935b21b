"""Bounds in the steps of memories: constants, what a run computes, functions of the key (M-2.5, M-2.14 to M-2.17).

Hands on `bound`, and the checks of what such an expression does. Must not know: which steps have bounds.
"""

from __future__ import annotations

from typing import Any

from ..hints.names import did_you_mean, listed
from ..resolver.memories import is_word
from ..symbols import BoundFunction, ComputedBound, FunctionSymbol, MemorySymbol
from ..syntax import ast
from ..types import ANY, INT, STRING, Function, Nilable, map_
from .constants import NotConstant
from .declarations import FAILED, at_module_level, constant_value
from .relations import ERRONEOUS
from .state import FREE, Checker, Expected

OF_KEY = Function((map_(STRING, ANY),), Nilable(INT))
COMPUTED = (INT, Nilable(INT), ANY)


def bound(c: Checker, value: ast.Expr, what: str, *, in_body: bool) -> Any:
    """An Int of at least 1, a ComputedBound or a BoundFunction; FAILED after a report. `in_body`: the chain makes a value."""
    if isinstance(value, ast.Closure) or (isinstance(value, ast.PathExpr) and isinstance(value.binding, FunctionSymbol)):
        return _function(c, value, what, in_body)
    found = c.value(value, FREE) if in_body else at_module_level(c, value, FREE)
    if found is ERRONEOUS:
        return FAILED
    if found not in COMPUTED:
        c.report("E4004", value.span, f"{what} is an Int of at least 1", help="write a number, such as `20`")
        return FAILED
    if found != INT:
        return ComputedBound(value)
    try:
        count = constant_value(c, value)
    except NotConstant:
        return ComputedBound(value)
    if count is FAILED:
        return FAILED
    if not isinstance(count, int) or count < 1:
        c.report("E4004", value.span, f"{what} is an Int of at least 1", help="write a number, such as `20`")
        return FAILED
    return count


def _function(c: Checker, value: ast.Expr, what: str, in_body: bool) -> Any:
    if in_body:
        message = f"{what} cannot be a function: a memory value has no key"
        c.report("E4520", value.span, message, help="give the number, such as `limit(tenant)`")
        return FAILED
    if at_module_level(c, value, Expected(OF_KEY)) is ERRONEOUS:
        return FAILED
    made = BoundFunction(value)
    c.step_functions.append(made)
    return made


def check_key_functions(c: Checker, symbol: MemorySymbol) -> None:
    """E4520: a function of the key, of a memory that has none (M-2.17)."""
    said = [value for step in (symbol.steps or {}).values() for value in step.values()]
    for value in said:
        if isinstance(value, BoundFunction) and not symbol.keys:
            message = f"`{symbol.name}` has no key that a function of it could be given"
            c.report("E4520", value.value.span, message, help="add `.per(tenant)`, or write the number: `limit()`")


# ----------------------------------------------------------------
# Words of memory steps and of methods of memories, which name nothing else in a program (M-2.3).
#
# Hands on `known_word`.


def known_word(c: Checker, what: str, words: tuple[str, ...], value: ast.Expr) -> str | None:
    """The word that stands there, if `what` has it; None after a report."""
    text = _written(value)
    if text in words:
        return text
    help = did_you_mean(text or "", words) or listed("words", words, len(words), like=text or "")
    message = f"`{what}` has no word `{text}`" if text else f"`{what}` takes one of its words"
    c.report("E4502", value.span, message, help=help)
    return None


def _written(value: ast.Expr) -> str | None:
    if isinstance(value, ast.StringLiteral):
        return value.value if value.word else None
    return value.segments[0].text if isinstance(value, ast.PathExpr) and is_word(value) else None
