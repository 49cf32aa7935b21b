"""Source text and positions.

A `Source` is one file's text and its line index; a `Span` is a half-open range of code points in one file.
Hands on positions to every later phase; knows nothing of tokens or trees.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import NamedTuple

_new = tuple.__new__


class Span(NamedTuple):
    """Half-open range `[start, end)` of code-point offsets in the file called `file`."""

    file: str
    start: int
    end: int

    def to(self, other: Span) -> Span:
        """The span from the start of this one to the end of `other`."""
        return Span(self.file, self.start, other.end)


class Position(NamedTuple):
    """Line and column, both from 1, in code points."""

    line: int
    column: int


class Source:
    """One source file: its display name (relative, as the user wrote it), its text, and where lines begin."""

    __slots__ = ("name", "text", "line_starts")

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self.text = text
        self.line_starts = _line_starts(text)

    def position(self, offset: int) -> Position:
        starts = self.line_starts
        line = bisect_right(starts, offset)
        return _new(Position, (line, offset - starts[line - 1] + 1))

    def line_text(self, line: int) -> str:
        """Text of a line (from 1) without its line end."""
        start = self.line_starts[line - 1]
        end = self.line_starts[line] if line < len(self.line_starts) else len(self.text)
        return self.text[start:end].rstrip("\r\n")


def _line_starts(text: str) -> list[int]:
    # CR LF is one line end because only LF begins a new line; a lone CR is white space (L-1.1.3).
    starts = [0]
    at = text.find("\n")
    while at >= 0:
        starts.append(at + 1)
        at = text.find("\n", at + 1)
    return starts
