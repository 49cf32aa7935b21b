"""Strings that look as if they had holes: `"Hi {name}"` where `name` is a variable (L-4.7.12, L-1.5.7).

Doubled braces, which templates take, raw strings and names of nothing visible are text and stay silent.
"""

from __future__ import annotations

import re

from .. import ast
from ..source import Span
from ..symbols import ConstSymbol, Local
from .names import find
from .state import Handler, Resolver

_BRACED = re.compile(r"(?<![{$])\{([A-Za-z_][A-Za-z0-9_]*)(?:\.[A-Za-z0-9_]+)*\}(?!\})")


def string(r: Resolver, node: ast.StringLiteral) -> None:
    source = r.project.sources.get(node.span.file)
    if "{" not in node.value or source is None:
        return
    written = source.text[node.span.start : node.span.end]
    if written.startswith("r#"):
        return
    for found in _BRACED.finditer(written):
        span = Span(node.span.file, node.span.start + found.start(), node.span.start + found.end())
        name = ast.Ident(span=span, text=found[1])
        if isinstance(find(r, name), (Local, ConstSymbol)):
            message = f"`{found[0]}` is text, the value of `{name.text}` is not put in"
            r.report("W0012", span, message, help=f"write `${found[0]}`")


HANDLERS: dict[type[ast.Node], Handler] = {ast.StringLiteral: string}
