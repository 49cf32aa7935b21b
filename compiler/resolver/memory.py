"""The initialiser of a memory: the capitalised words among the arguments of its steps are no names (M-2.6).

Must not know: which steps and words there are.
"""

from __future__ import annotations

from .. import ast
from .field_values import visit_step
from .names import find, find_item
from .state import Resolver

WORD_OF_METHOD = {"remember": "tier", "recall": "from", "neighbors": "direction"}
"""Methods of memories with the argument that takes words."""
WORD_STEPS = ("roles", "pin", "redact", "on_failure", "on_conflict")
WORD_ARGUMENTS = ("inject", "role", "every", "refresh_on", "from")


def memory_chain(r: Resolver, value: ast.Expr) -> None:
    while isinstance(value, ast.MethodCall):
        for type_ in value.type_arguments or ():
            r.visit(type_)
        if value.name.text == "context":
            _context(r, value)
        elif value.name.text != "per":  # the names of key parts name nothing
            for argument in value.arguments:
                _argument(r, argument, value.name.text)
        value = value.receiver
    r.visit(value)


def _context(r: Resolver, step: ast.MethodCall) -> None:
    """The name of a context is no value; the checker reports one that is missing (E4508)."""
    for argument in step.arguments:
        value = argument.value
        if isinstance(value, ast.PathExpr) and len(value.segments) == 1 and value.member is None:
            value.binding = find_item(r, value.segments[0])
        else:
            r.visit(value)


def _argument(r: Resolver, argument: ast.Argument, step: str) -> None:
    takes_words = step in WORD_STEPS if argument.name is None else argument.name.text in WORD_ARGUMENTS
    value = argument.value
    items = value.items if isinstance(value, ast.ArrayExpr) else [value]
    if step == "allow" and argument.name is not None and argument.name.text == "facts":
        for item in items:
            if not is_bare(item):  # the name of a slot, or a tier (M-10.35)
                r.visit(item)
        return
    if takes_words and all(is_word(item) for item in items):
        return
    visit_step(r, step if argument.name is None else "", value)


def tier_words(r: Resolver, method: str, argument: ast.Argument) -> None:
    """Capitalised words that nothing in scope has the name of become what they say (M-10.5)."""
    if argument.name is None or argument.name.text != WORD_OF_METHOD[method]:
        return
    value = argument.value
    if isinstance(value, ast.ArrayExpr):
        value.items = [_tier_word(r, item) for item in value.items]
    else:
        argument.value = _tier_word(r, value)


def _tier_word(r: Resolver, value: ast.Expr) -> ast.Expr:
    if not is_word(value) or not isinstance(value, ast.PathExpr) or find(r, value.segments[0]) is not None:
        return value
    return ast.StringLiteral(span=value.span, value=value.segments[0].text, word=True)


def is_word(value: ast.Expr) -> bool:
    """A bare capitalised name."""
    return isinstance(value, ast.PathExpr) and len(value.segments) == 1 and value.segments[0].text[:1].isupper()


def is_bare(value: ast.Expr) -> bool:
    return isinstance(value, ast.PathExpr) and len(value.segments) == 1 and value.member is None
