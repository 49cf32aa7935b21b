"""Sources for Pygments: the compiler's own lexer, under the entry point `pygments.lexers`.

The only module that imports `pygments`, which whoever loads it has. Must not know: classes other than by the table.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pygments.lexer import Lexer
from pygments.token import Whitespace, string_to_tokentype

from .classes import CLASSES, pieces

_TYPES = {row.name: string_to_tokentype(row.pygments) for row in CLASSES.values()}


class ConcertoLexer(Lexer):  # type: ignore[misc, unused-ignore]  # Pygments has no types where its stubs are not installed
    """Every character of the text, with the type that the table gives its class."""

    name = "Concerto"
    aliases = ["concerto", "conc"]
    filenames = ["*.conc"]
    mimetypes = ["text/x-concerto"]
    url = "https://concerto-lang.example"

    def get_tokens_unprocessed(self, text: str) -> Iterator[tuple[int, Any, str]]:
        reached = 0
        for piece in pieces(text):
            if piece.start > reached:
                yield reached, Whitespace, text[reached : piece.start]
            yield piece.start, _TYPES[piece.class_], text[piece.start : piece.end]
            reached = piece.end
        if reached < len(text):
            yield reached, Whitespace, text[reached:]
