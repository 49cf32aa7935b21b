"""Source text to syntax tree: the phases lexing and parsing of L-4.1.2.

`parse` never raises and never hangs, whatever the text; where it gives up it leaves ErrorItem and ErrorExpr behind.
Must not know: names, types, other files.
"""

from __future__ import annotations

from . import ast
from .brackets import balance
from .diagnostics import Diagnostics
from .filter import filter_tokens
from .grammar.driver import Machine
from .grammar.rules import Context
from .lexer import lex
from .source import Source, Span
from .tokens import TokenList

MAX_BYTES = 8 * 1024 * 1024


def decode_source(name: str, data: bytes, diagnostics: Diagnostics) -> Source | None:
    """The text of a file (L-1.1.1); None if it is no UTF-8 or too large (G-5.2)."""
    if len(data) > MAX_BYTES:
        message = f"the file has {len(data)} bytes, more than {MAX_BYTES}"
        diagnostics.report("E0114", Span(name, 0, 0), message, help="split the file up")
        return None
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        before = len(data[: error.start].decode("utf-8"))
        message = f"invalid UTF-8 at byte offset {error.start}"
        diagnostics.report("E0001", Span(name, before, before + 1), message, help="save the file as UTF-8")
        return None
    return Source(name, text.removeprefix("\ufeff"))


def parse(source: Source, diagnostics: Diagnostics) -> ast.Program:
    """The tree of a file. After a lexical error it holds comments only (L-4.1.2)."""
    before = len(diagnostics.found)
    tokens = lex(source, diagnostics)
    if any(found.is_error for found in diagnostics.found[before:]):
        return _program(source, tokens, [])
    return parse_tokens(source, tokens, diagnostics)


def parse_tokens(source: Source, tokens: TokenList, diagnostics: Diagnostics) -> ast.Program:
    """The tree of a lexed file."""
    balanced = balance(tokens, source, diagnostics)
    filtered = filter_tokens(balanced)
    context = Context(source.name, diagnostics, tokens.docs)
    machine = Machine(filtered, context)
    if not machine.run():
        i = machine.row
        raise SyntaxError(f"{source.position(filtered.starts[i])} {filtered.types[max(0,i-4):i]} >{filtered.types[i]}< {source.text[filtered.starts[i]-20:filtered.ends[i]]!r} ")
    return _program(source, tokens, machine.values[1])


def _program(source: Source, tokens: TokenList, items: list[ast.TopLevel]) -> ast.Program:
    return ast.Program(span=Span(source.name, 0, len(source.text)), items=items, comments=tokens.comments)
