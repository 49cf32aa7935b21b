"""What a model is sent by mistake: the text of an Option, a `T?` or a Result in a hole of its prompt (L-3.3.15).

Hands on `check_prompt` and `keep_text`. Must not know: which calls take prompts; whoever makes text a prompt asks here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import ast
from ..symbols import Local
from ..types import BOOL, FLOAT, INT, STRING, Nilable, Type
from .relations import generic

if TYPE_CHECKING:
    from .context import Checker

DEFAULTS = {STRING: '""', INT: "0", FLOAT: "0.0", BOOL: "false"}


def keep_text(c: Checker, node: ast.Let) -> None:
    """Remembers the text that an immutable variable is, so that its holes are found where it becomes a prompt."""
    pattern = node.pattern
    if isinstance(pattern, ast.BindPattern) and isinstance(pattern.binding, Local) and not pattern.binding.mutable:
        if node.value is not None and node.value.type == STRING:
            c.texts[pattern.binding] = node.value


def check_prompt(c: Checker, text: ast.Expr) -> None:
    """W0016 for each hole of the text that may hold no value, or a value in the clothes of its Option or Result."""
    pending, seen = [text], {text}
    while pending:
        match node := pending.pop():
            case ast.GroupExpr():
                pending.append(node.inner)
            case ast.Binary(operator="+"):
                pending += [node.right, node.left]
            case ast.PathExpr() if isinstance(node.binding, Local) and (kept := c.texts.get(node.binding)) not in (None, *seen):
                pending.append(kept)
                seen.add(kept)
            case ast.Interpolation():
                for part in node.parts:
                    _hole(c, part)


def _hole(c: Checker, part: ast.Expr) -> None:
    type_ = part.type
    written = c.text(part)[1:-1]
    if isinstance(type_, Nilable):
        sent, help = "`nil`", _default(written, type_.inner)
    elif inside := generic(type_, "Option"):
        sent, help = "`Some(…)` or `None`", _default(written, inside[0])
    elif generic(type_, "Result"):
        sent, help = "`Ok(…)` or the text of an error", f"write `${{{written}?}}`, or `match` before"
    else:
        return
    c.report("W0016", part.span, f"the model may read {sent} here: {c.text(part)} is `{type_}`", help=help)


def _default(written: str, inside: Type) -> str:
    default = DEFAULTS.get(inside)
    if default is None:
        return "take the value out before: `match`, or `??` with a default"
    return f"give a default: `${{{written} ?? {default}}}`"
