"""What a model is sent by mistake: the text of an Option, a `T?` or a Result in a hole of its prompt (L-3.3.15).

Hands on `check_prompt`, `keep_text` and `text_as_prompt`. Must not know: which calls take prompts; who makes text one asks here.
"""

from __future__ import annotations

from .. import ast
from ..symbols import Local
from ..types import BOOL, FLOAT, INT, PROMPT, STRING, Nilable, Type
from .context import Checker
from .relations import generic, is_text

DEFAULTS: dict[Type, str] = {STRING: '""', INT: "0", FLOAT: "0.0", BOOL: "false"}


def keep_text(c: Checker, node: ast.Let) -> None:
    """Remembers the text that an immutable variable is, so that its holes are found where it becomes a prompt."""
    pattern = node.pattern
    local = pattern.binding if isinstance(pattern, ast.BindPattern) else None
    if isinstance(local, Local) and not local.mutable and node.value is not None and node.value.type == STRING:
        c.texts[local] = node.value


def text_as_prompt(c: Checker, node: ast.Expr, found: Type, wanted: Type) -> None:
    """Looks at text that went where a Prompt is expected."""
    if wanted == PROMPT and is_text(found):
        check_prompt(c, node)


def check_prompt(c: Checker, text: ast.Expr) -> None:
    """W0016 for each hole of the text that may hold no value, or a value in the clothes of its Option or Result."""
    pending, seen = [text], {text}
    while pending:
        match node := pending.pop():
            case ast.GroupExpr():
                pending.append(node.inner)
            case ast.Binary(operator="+"):
                pending += [node.right, node.left]
            case ast.PathExpr(binding=Local() as local) if local in c.texts and c.texts[local] not in seen:
                pending.append(c.texts[local])
                seen.add(c.texts[local])
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
