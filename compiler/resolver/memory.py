"""The initialiser of a memory: the capitalised words among the arguments of its steps are no names (M-2.6).

Must not know: which steps and words there are.
"""

from __future__ import annotations

from .. import ast
from .state import Resolver

WORD_STEPS = ("roles", "pin", "redact", "on_failure", "on_conflict")
WORD_ARGUMENTS = ("inject", "role", "every", "refresh_on")


def memory_chain(r: Resolver, value: ast.Expr) -> None:
    while isinstance(value, ast.MethodCall):
        for type_ in value.type_arguments or ():
            r.visit(type_)
        for argument in value.arguments if value.name.text != "per" else ():  # the names of key parts name nothing
            _argument(r, argument, value.name.text)
        value = value.receiver
    r.visit(value)


def _argument(r: Resolver, argument: ast.Argument, step: str) -> None:
    takes_words = step in WORD_STEPS if argument.name is None else argument.name.text in WORD_ARGUMENTS
    value = argument.value
    items = value.items if isinstance(value, ast.ArrayExpr) else [value]
    if takes_words and all(is_word(item) for item in items):
        return
    r.visit(value)


def is_word(value: ast.Expr) -> bool:
    """A bare capitalised name."""
    return isinstance(value, ast.PathExpr) and len(value.segments) == 1 and value.segments[0].text[:1].isupper()
