"""Source text to syntax tree: the phases lexing and parsing of L-4.1.2, from bytes to `ast.Program`.

Hands on `decode_source`, `parse_tokens` and MAX_BYTES to `project`, which loads the files of a program, the first two also to the
formatter, and `decode_source` to `cli/dump.py`; `parse` to all who have a text at hand: `incremental`, the resolver and codegen
for texts of the library, the REPL, the language server and `cli/dump.py`. None of them ever raises or hangs, whatever the text;
where the text is wrong the tree may hold `ErrorItem` and `ErrorExpr`. Only one file is looked at: names and other files belong to
later phases.
"""

from __future__ import annotations

from ..diagnostics import Diagnostics
from ..source import Source, Span
from . import ast
from .brackets import MAX_NESTING, balance
from .errors import Recovery
from .lexer import TokenList, lex
from .lr_machine import Machine, check_depth
from .semantic_actions import Context
from .token_filter import filter_tokens

MAX_BYTES = 8 * 1024 * 1024  # of one source file


def decode_source(name: str, data: bytes, diagnostics: Diagnostics) -> Source | None:
    """Return the text of a file without its byte order mark (L-1.1.1). `name` is the file as positions show it. Return None
    after reporting E0001 for bytes that are no UTF-8, or E0114 for more than MAX_BYTES bytes (G-5.2)."""
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
    """Lex and parse a file; return its tree. After a lexical error the tree has no items, only the comments (L-4.1.2)."""
    before = len(diagnostics.found)
    tokens = lex(source, diagnostics)
    if any(diagnostic.is_error for diagnostic in diagnostics.found[before:]):
        return _program(source, tokens, [])
    return parse_tokens(source, tokens, diagnostics)


def parse_tokens(source: Source, tokens: TokenList, diagnostics: Diagnostics) -> ast.Program:
    """Parse the tokens of `lex`, which must be those of `source` and without lexical errors; return the tree of what could be
    read. Errors of brackets and of syntax are reported; forms out of place, `--` and too deep trees only where there is none of
    these."""
    balanced = balance(tokens, source, diagnostics)
    context = Context(source.name, diagnostics, tokens.docs)
    machine = Machine(filter_tokens(balanced), context)
    recovery = None
    while not machine.run():
        recovery = recovery or Recovery(machine, source, diagnostics, balanced.broken_at)
        if not recovery.run():
            break
    # The stack below holds the start state's empty value; above it stands what has been reduced to the list of items.
    items = machine.values[1] if len(machine.values) > 1 and isinstance(machine.values[1], list) else []
    program = _program(source, tokens, items)
    # After a repair these checks would report what only the repair has made.
    if recovery is None and balanced.broken_at is None:
        _report_misplaced(context)
        _report_doubled(context, source)
        # A walk over the whole tree is needed only when the parser's stack shows that the tree may be too deep.
        if machine.highest > MAX_NESTING and not balanced.too_deep:
            check_depth(program, diagnostics)
    return program


def _report_doubled(context: Context, source: Source) -> None:
    """Report `--`, which reads as two minus signs and was meant as something else (L-2.6.8, E0101)."""
    for start in context.minuses:
        if start and source.text[start - 1] == "-":
            help = "there is no `--`; write `x -= 1`, or `- -x`"
            context.error("E0101", Span(source.name, start - 1, start + 1), "unexpected `--`", help)


def _report_misplaced(context: Context) -> None:
    """Report what the semantic actions left over: forms that no surrounding construct allowed (L-2.6): E0010, E3008, E1009 and
    E0106."""
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
