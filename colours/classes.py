"""The one table of colour classes, and the pieces of a text with the class of each, as the compiler's lexer and filter see them.

Hands on `CLASSES` and `pieces` to the Pygments lexer and to the language server (`lsp/semantic.py`), and to `textmate` the table
with the groups of words and signs (CLASS_OF_SIGN, DECLARING, ESCAPE …). Any text has pieces: what the lexer refuses is of the
class `error`. A new colour is a row of `CLASSES`, and a word gets its class from `CLASS_OF_WORD`. How a class looks is not known
here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from ..compiler.diagnostics import Diagnostics
from ..compiler.source import Source
from ..compiler.syntax.brackets import balance
from ..compiler.syntax.lexer import (
    CLAUSE_WORDS,
    DECLARING_WORDS,
    END,
    HARD_KEYWORDS,
    OPERATORS,
    SOFT_WORDS,
    TIER_WORDS,
    TokenList,
    lex,
    words,
)
from ..compiler.syntax.token_filter import filter_tokens


class Class(NamedTuple):
    """A row: `scope` is the scope of TextMate without the language, `pygments` the name of the token type of Pygments, `semantic`
    the token type of the language server protocol, empty where the protocol has none."""

    name: str
    scope: str
    pygments: str
    semantic: str


CLASSES = {
    row.name: row
    for row in (
        Class("control", "keyword.control", "Keyword", "keyword"),
        Class("declaring", "storage.type", "Keyword.Declaration", "keyword"),
        Class("modifier", "storage.modifier", "Keyword.Declaration", "keyword"),
        Class("constant", "constant.language", "Keyword.Constant", "keyword"),
        Class("self", "variable.language", "Name.Builtin.Pseudo", "keyword"),
        Class("number", "constant.numeric", "Number", "number"),
        Class("string", "string.quoted", "String", "string"),
        Class("escape", "constant.character.escape", "String.Escape", "string"),
        Class("hole", "punctuation.section.embedded", "String.Interpol", "operator"),
        Class("label", "entity.name.label", "Name.Label", "label"),
        Class("comment", "comment", "Comment", "comment"),
        Class("documentation", "comment.line.documentation", "String.Doc", "comment"),
        Class("operator", "keyword.operator", "Operator", "operator"),
        Class("punctuation", "punctuation", "Punctuation", ""),
        Class("decorator", "entity.name.function.decorator", "Name.Decorator", "decorator"),
        Class("type", "entity.name.type", "Name.Class", "type"),
        Class("function", "entity.name.function", "Name.Function", "function"),
        Class("name", "variable.other", "Name", "variable"),
        Class("error", "invalid.illegal", "Error", ""),
    )
}

# The words of the language by class; a word that is in no group is `control`.
MODIFIERS = words("mut pub async")
CONSTANTS = words("true false nil")
DECLARING = words("let const fn struct enum trait impl use mod") | DECLARING_WORDS
CLASS_OF_WORD = {
    **dict.fromkeys(frozenset(HARD_KEYWORDS) | SOFT_WORDS, "control"),  # what the rows below do not say otherwise
    **dict.fromkeys(MODIFIERS | CLAUSE_WORDS | TIER_WORDS, "modifier"), **dict.fromkeys(CONSTANTS, "constant"),
    **dict.fromkeys(DECLARING, "declaring"), "self": "self",
}  # fmt: skip

PUNCTUATION = words("( ) { } [ ] , ; : :: .")
CLASS_OF_SIGN = {sign: "punctuation" if sign in PUNCTUATION else "decorator" if sign == "@" else "operator" for sign in OPERATORS}

_STRINGS = words("STRING ISTR_START ISTR_MID ISTR_END")
_NAMES = words("IDENT CFGKEY")
ESCAPE = r"""\\(?:[\\"'nrt0$]|u\{[0-9A-Fa-f]{1,6}\})"""
_ESCAPE = re.compile(ESCAPE)


class Piece(NamedTuple):
    """A part of a text by its offsets in code points, from 0, the end not included. `class_` is a name in CLASSES; `kind` is the
    grammar's name of the token, empty for comments and for what the lexer refuses."""

    start: int
    end: int
    class_: str
    kind: str


def pieces(text: str) -> Iterator[Piece]:
    """Yield the pieces of a text from its beginning to its end; white space between them is left out. No text raises."""
    source = Source("", text)
    tokens = lex(source, Diagnostics())
    kinds = _filtered(tokens, source)
    rows = [Piece(c.span.start, c.span.end, _class_of_comment(c.text), "") for c in tokens.comments]
    for at, token in enumerate(tokens):
        if token.type != END and token.end > token.start:
            rows += _of_token(text, tokens, at, kinds.get(token.start, token.type))
    reached = 0
    for piece in sorted(rows):
        yield from _refused(text, reached, piece.start)
        yield piece
        reached = piece.end
    yield from _refused(text, reached, len(text))


def _filtered(tokens: TokenList, source: Source) -> dict[int, str]:
    """Return the kind that the grammar sees in each token, by the offset of the token; in a text with errors the brackets are
    balanced first."""
    kinds: dict[int, str] = {}
    for token in filter_tokens(balance(tokens, source, Diagnostics())):
        if token.end > token.start:
            kinds.setdefault(token.start, token.type)
    return kinds


def _class_of_comment(text: str) -> str:
    return "documentation" if text.startswith("///") and not text.startswith("////") else "comment"


def _of_token(text: str, tokens: TokenList, at: int, kind: str) -> Iterator[Piece]:
    start, end = tokens.starts[at], tokens.ends[at]
    if kind in _STRINGS:
        yield from _of_string(text, start, end, kind)
    elif kind in _NAMES:
        yield Piece(start, end, _class_of_name(text, tokens, at), kind)
    else:
        yield Piece(start, end, _class_of(kind, text[start:end]), kind)


def _class_of(kind: str, text: str) -> str:
    if kind in ("LABEL", "LABELDEF"):
        return "label"
    if kind in ("INT", "FLOAT", "TUPIDX"):
        return "number"
    return CLASS_OF_WORD.get(text) or CLASS_OF_SIGN.get(text, "operator")


def _class_of_name(text: str, tokens: TokenList, at: int) -> str:
    """Return the class of a name. Its neighbours and its first letter decide, as they do for a reader."""
    if at and tokens.types[at - 1] == "AT":
        return "decorator"
    name = text[tokens.starts[at] : tokens.ends[at]]
    if name[0].isupper():
        return "type"
    called = tokens.types[at + 1] == "LPAREN" or (at > 0 and tokens.types[at - 1] == "FN")
    return "function" if called else "name"


def _of_string(text: str, start: int, end: int, kind: str) -> Iterator[Piece]:
    """Yield the literal text of a string, its escapes, and the signs that open and close a hole."""
    stop = end - 2 if kind in ("ISTR_START", "ISTR_MID") else end
    if kind in ("ISTR_MID", "ISTR_END"):
        yield Piece(start, start + 1, "hole", kind)
        start += 1
    if not text.startswith("r#", start):
        for match in _ESCAPE.finditer(text, start, stop):
            if match.start() > start:
                yield Piece(start, match.start(), "string", kind)
            yield Piece(match.start(), match.end(), "escape", kind)
            start = match.end()
    if stop > start:
        yield Piece(start, stop, "string", kind)
    if stop < end:
        yield Piece(stop, end, "hole", kind)


def _refused(text: str, start: int, end: int) -> Iterator[Piece]:
    """Yield as errors the characters between two offsets that are no white space: no token holds them."""
    for match in re.compile(r"\S+").finditer(text, start, end):
        yield Piece(match.start(), match.end(), "error", "")
