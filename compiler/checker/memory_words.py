"""Words of memory steps and of methods of memories, which name nothing else in a program (M-2.3).

Hands on `known_word`. Must not know: which words there are, where they may stand.
"""

from __future__ import annotations

from .. import ast
from ..resolver.memory import is_word
from ..resolver.spelling import did_you_mean, listed
from .context import Checker


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
