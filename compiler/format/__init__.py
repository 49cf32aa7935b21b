"""`concerto fmt`: the canonical layout of a source text (docs/spec/format.md).

Hands on `format_data` to the command line and `format_source` to the language server, which parse a text, print the tree and
the tokens in step, lay the result out, and return it; and `format_source`, `first_difference` and FAMILIES to tests. OutOfStep
of the printer, a defect of the formatter, passes through both. The families of constructs stand in modules of their own and
register themselves with the printer, which needs them imported. No file is touched, and what names mean is not known. Which
lines fit is decided in `layout`, where the width stands; how a construct is written is said in the module of its family.
"""

from __future__ import annotations

from typing import NamedTuple

from ..diagnostics import Diagnostics
from ..source import Source
from ..syntax.lexer import lex
from ..syntax.parse import decode_source, parse_tokens
from . import declarations, expressions, statements
from .field_order import in_order
from .layout import write
from .printer import OutOfStep, Printer, first_difference, same_tokens

__all__ = ["FAMILIES", "Formatted", "OutOfStep", "first_difference", "format_data", "format_source"]

# The modules whose import registers the printers.
FAMILIES = (declarations, expressions, statements)


class Formatted(NamedTuple):
    """The outcome for a file: its source, None if its bytes are no source text; its canonical text, None if it does not parse."""

    source: Source | None
    text: str | None


def format_data(name: str, data: bytes, diagnostics: Diagnostics) -> Formatted:
    """Return the source and the canonical text of a file of these bytes; `name` is that of the file. Where one is None, the
    diagnostics say why. Raise OutOfStep as `format_source`."""
    source = decode_source(name, data, diagnostics)
    return Formatted(source, None if source is None else format_source(source, diagnostics))


def format_source(source: Source, diagnostics: Diagnostics) -> str | None:
    """Return the canonical text of a source, or None after reporting why it does not parse, and for diagnostics that have errors
    already. Raise OutOfStep if the result would be another program: a defect of the formatter, in which case nothing may be
    written."""
    # Offsets of comments and tokens must belong to one text, so line ends are unified first.
    if "\r" in source.text:
        source = Source(source.name, source.text.replace("\r\n", "\n"))
    tokens = lex(source, diagnostics)
    if diagnostics.has_errors:
        return None
    program = parse_tokens(source, tokens, diagnostics)
    if diagnostics.has_errors:
        return None
    text_in_order = in_order(source.text, tokens, program)
    if text_in_order != source.text:
        source = Source(source.name, text_in_order)
        original, tokens = tokens, lex(source, diagnostics)
        if not same_tokens(tokens, original, in_any_order=True):
            raise OutOfStep("moving fields has changed the tokens")
        program = parse_tokens(source, tokens, diagnostics)
    printer = Printer(source, tokens)
    printer.node(program)
    text = write(printer.operations).rstrip("\n")
    text += "\n" if text else ""
    # The last check before anybody's file is written: the result is the same program.
    if not same_tokens(tokens, lex(Source(source.name, text), Diagnostics())):
        raise OutOfStep("the formatted text has other tokens")
    return text
