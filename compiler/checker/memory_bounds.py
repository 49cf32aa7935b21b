"""Bounds in the steps of memories: constants, what a run computes, functions of the key (M-2.5, M-2.14 to M-2.17); and
the words of steps (M-2.3).

Hands on `bound` and `known_word` to the other files of memories, `check_key_functions` to `memory`. Which types a bound that a
run computes may have is COMPUTED, the type of a function of the key OF_KEY. A bound says how many messages, turns or tokens a
step keeps or shows, as 20 in `.retain(20)`. `c` is the state of the check: mistakes are reported to it by a code (E…; W… for a
warning), and not raised. Whether one bound suits another is checked in `memory_steps` and `memory`; that computing one asks
nobody, in `memory_effects`.
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
    """Return the bound that is written: an Int of at least 1, a ComputedBound, or a BoundFunction, which `c.step_functions` then
    has too; FAILED after a report (E4004 for anything else). `what` names the bound in messages; `in_body`: the chain makes a
    memory value, which takes no function (E4520)."""
    if isinstance(value, ast.Closure) or (isinstance(value, ast.PathExpr) and isinstance(value.binding, FunctionSymbol)):
        return _function(c, value, what, in_body)
    type_ = c.value(value, FREE) if in_body else at_module_level(c, value, FREE)
    if type_ is ERRONEOUS:
        return FAILED
    if type_ not in COMPUTED:
        c.report("E4004", value.span, f"{what} is an Int of at least 1", help="write a number, such as `20`")
        return FAILED
    if type_ != INT:
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
    function = BoundFunction(value)
    c.step_functions.append(function)
    return function


def check_key_functions(c: Checker, symbol: MemorySymbol) -> None:
    """Report E4520 for a function of the key in a memory that has no key (M-2.17)."""
    values = [value for step in (symbol.steps or {}).values() for value in step.values()]
    for value in values:
        if isinstance(value, BoundFunction) and not symbol.keys:
            message = f"`{symbol.name}` has no key that a function of it could be given"
            c.report("E4520", value.value.span, message, help="add `.per(tenant)`, or write the number: `limit()`")


def known_word(c: Checker, what: str, words: tuple[str, ...], value: ast.Expr) -> str | None:
    """Return the word that is written, if it is one of `words`; None after a report (E4502). `what` is the step, argument or
    method that takes it, for the message. Words name nothing else in a program (M-2.3)."""
    text = _word_of(value)
    if text in words:
        return text
    help = did_you_mean(text or "", words) or listed("words", words, len(words), like=text or "")
    message = f"`{what}` has no word `{text}`" if text else f"`{what}` takes one of its words"
    c.report("E4502", value.span, message, help=help)
    return None


def _word_of(value: ast.Expr) -> str | None:
    if isinstance(value, ast.StringLiteral):
        return value.value
    return value.segments[0].text if isinstance(value, ast.PathExpr) and is_word(value) else None
