"""Source text to syntax tree: the phases lexing and parsing of L-4.1.2.

`parse` never raises and never hangs, whatever the text; where it gives up it leaves ErrorItem and ErrorExpr behind.
Must not know: names, types, other files.
"""

from __future__ import annotations

from ..diagnostics import Diagnostics
from ..source import Source, Span
from . import ast
from .errors import Recovery
from .layout import MAX_NESTING, balance, filter_tokens
from .lexer import TokenList, lex
from .parser import Machine, check_depth
from .rules import Context

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
    context = Context(source.name, diagnostics, tokens.docs)
    machine = Machine(filter_tokens(balanced), context)
    recovery = None
    while not machine.run():
        recovery = recovery or Recovery(machine, source, diagnostics, balanced.broken_at)
        if not recovery.run():
            break
    items = machine.values[1] if len(machine.values) > 1 and isinstance(machine.values[1], list) else []
    program = _program(source, tokens, items)
    if recovery is None and balanced.broken_at is None:
        report_misplaced(context)
        report_doubled(context, source)
        if machine.highest > MAX_NESTING and not balanced.too_deep:
            check_depth(program, diagnostics)
    return program


def report_doubled(context: Context, source: Source) -> None:
    """`--`, which reads as two minuses and was meant as something else (L-2.6.8)."""
    for start in context.minuses:
        if start and source.text[start - 1] == "-":
            help = "there is no `--`; write `x -= 1`, or `- -x`"
            context.error("E0101", Span(source.name, start - 1, start + 1), "unexpected `--`", help)


def report_misplaced(context: Context) -> None:
    """What actions found and no surrounding construct allowed (L-2.6)."""
    for number in context.int_limits.values():
        context.int_out_of_range(number.span, number.value)
    for rest in context.rests.values():
        context.error("E3008", rest.span, "`..` stands only among the elements of an array pattern", "write `[first, .., last]`")
    for parameter in context.selves.values():
        message = "`self` is legal only as the first parameter of a method"
        context.error("E1009", parameter.span, message, "move the function into an `impl` block")
    for function in context.bodyless.values():
        message = f"function `{function.name.text}` has no body"
        context.error("E0106", function.name.span, message, "write `{ … }`; only traits and mcp servers have `;`")


def _program(source: Source, tokens: TokenList, items: list[ast.TopLevel]) -> ast.Program:
    return ast.Program(span=Span(source.name, 0, len(source.text)), items=items, comments=tokens.comments)
