"""The tokens around a syntax error, as messages and helps look at them.

Hands on `ErrorPlace`. Must not know: wording, how parsing goes on.
"""

from __future__ import annotations

from ..source import Source
from ..tokens import describe_found
from .driver import Machine


class ErrorPlace:
    """The tokens around a syntax error, as help texts look at them."""

    def __init__(self, machine: Machine, source: Source) -> None:
        self.tokens = machine.tokens
        self.source = source
        row = machine.row
        if self.tokens.types[row] == "BLKEND":
            row += 1
        self.row = row

    def kind(self, ahead: int = 0) -> str:
        at = min(self.row + ahead, len(self.tokens) - 1)
        return self.tokens.types[at]

    def before(self, count: int) -> str:
        return self.tokens.types[self.row - count] if self.row >= count else ""

    def text(self, ahead: int = 0) -> str:
        at = min(self.row + ahead, len(self.tokens) - 1)
        return self.source.text[self.tokens.starts[at] : self.tokens.ends[at]]

    def word_before(self) -> str:
        return str(self.tokens.values[self.row - 1]) if self.before(1) == "IDENT" else ""

    def adjacent(self, first: int, second: int) -> bool:
        """Whether two rows, counted from the error, touch in the source."""
        return self.row + first >= 0 and self.tokens.ends[self.row + first] == self.tokens.starts[self.row + second]

    def comment_before(self) -> str:
        """The text of the comment that ends the line of the token before, if the error is on a later line."""
        between = self.source.text[self.tokens.ends[self.row - 1] : self.tokens.starts[self.row]] if self.row else ""
        rest, newline, _ = between.partition("\n")
        return rest.strip() if newline and rest.lstrip().startswith("//") else ""

    def range(self) -> tuple[int, int]:
        return self.tokens.starts[self.row], self.tokens.ends[self.row]

    def found(self) -> str:
        start, end = self.range()
        return describe_found(self.kind(), self.source.text[start:end])

    def line(self, ahead: int = 0) -> int:
        row = self.row + ahead
        offset = self.tokens.starts[row] if ahead >= 0 else self.tokens.ends[row]
        return self.source.position(offset).line
