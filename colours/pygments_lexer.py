"""A lexer for Pygments that colours with the compiler's own lexer.

Hands on to users `ConcertoLexer`, which Pygments finds by the entry point `pygments.lexers` of `pyproject.toml`. Only this module
imports `pygments`: whoever loads it has that library. The classes and their token types come from the table `CLASSES`; a new
colour is a row there, and no word of the language is known here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pygments.lexer import Lexer
from pygments.token import Whitespace, string_to_tokentype

from .classes import CLASSES, pieces

_TYPES = {row.name: string_to_tokentype(row.pygments) for row in CLASSES.values()}


class ConcertoLexer(Lexer):  # type: ignore[misc, unused-ignore]  # Pygments has no types where its stubs are not installed
    """The lexer: every character of a text is in one of its tokens, with the type that the table gives the class."""

    name = "Concerto"
    aliases = ["concerto", "conc"]
    filenames = ["*.conc"]
    mimetypes = ["text/x-concerto"]
    url = "https://concerto-lang.example"

    def get_tokens_unprocessed(self, text: str) -> Iterator[tuple[int, Any, str]]:
        """Yield offset, token type and text of each token, white space included, as Pygments asks for them."""
        reached = 0
        for piece in pieces(text):
            if piece.start > reached:
                yield reached, Whitespace, text[reached : piece.start]
            yield piece.start, _TYPES[piece.class_], text[piece.start : piece.end]
            reached = piece.end
        if reached < len(text):
            yield reached, Whitespace, text[reached:]
