"""`concerto compile --emit-tokens` and `--emit-ast`: what the front end makes of a source. The output is for people who work on
the language; its form is not promised.

Hands on `dump` to `concerto compile`. One source is read alone: neither are its imports loaded nor is anything checked, and no
image is made. The form of a line of tokens is in `token_lines`, that of a node in `tree_lines`.
"""

from __future__ import annotations

import sys
from typing import Any

from ..compiler.diagnostics import Diagnostics, render_text
from ..compiler.source import Source
from ..compiler.syntax import ast
from ..compiler.syntax.lexer import TokenList, lex
from ..compiler.syntax.parse import decode_source, parse
from . import exits
from .terminal import use_colour


def dump(name: str, data: bytes, *, tokens: bool) -> int:
    """Print the tokens of one source, or its tree if it parses; diagnostics go to stderr. Return 0, or 65 when there are errors:
    for tokens, those of decoding and of the lexer. `name` is what the diagnostics call the source."""
    diagnostics = Diagnostics()
    source = decode_source(name, data, diagnostics)
    if source is not None and tokens:
        for line in token_lines(lex(source, diagnostics), source):
            print(line)
    elif source is not None:
        tree = parse(source, diagnostics)
        if not diagnostics.has_errors:
            print("\n".join(tree_lines(tree)))
    if diagnostics.found:
        sys.stderr.write(render_text(diagnostics, {} if source is None else {name: source}, colour=use_colour(sys.stderr)))
    return exits.COMPILE_ERRORS if diagnostics.has_errors else exits.OK


def tree_lines(node: ast.Node) -> list[str]:
    """Return one line for each node, with its span (0-based offsets in characters) and its parts that are no nodes, and children
    indented. The walk is a loop, since chains may be deep."""
    lines = []
    pending: list[tuple[int, str, Any]] = [(0, "", node)]
    while pending:
        depth, label, value = pending.pop()
        head = "  " * depth + (f"{label}: " if label else "")
        if isinstance(value, ast.Node):
            plain, inner = _parts(value)
            lines.append(f"{head}{type(value).__name__} {value.span.start}..{value.span.end}{plain}")
            pending.extend((depth + 1, name, part) for name, part in reversed(inner))
        elif isinstance(value, list):
            pending.extend((depth, f"{label}[{i}]", part) for i, part in reversed(list(enumerate(value))))
    return lines


def _parts(node: ast.Node) -> tuple[str, list[tuple[str, Any]]]:
    plain, inner = "", []
    for name in ast.written_names(type(node)):
        value = getattr(node, name)
        if name == "span" or value is None or value == []:
            continue
        if isinstance(value, (ast.Node, list)):
            inner.append((name, value))
        else:
            plain += f" {name}={value!r}"
    return plain, inner


def token_lines(tokens: TokenList, source: Source) -> list[str]:
    """Return `LINE:COLUMN TYPE value` for each token; both count from 1."""
    lines = []
    rows = zip(tokens.types, tokens.values, tokens.starts, strict=True)
    for kind, value, start in rows:
        line, column = source.position(min(start, len(source.text)))
        lines.append(f"{line}:{column} {kind} {value!r}")
    return lines
