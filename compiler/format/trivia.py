"""What stands between two tokens: comments, and whether blank lines separate them.

The layout depends on comments only through the three kinds below, and a comment is written so that it keeps its kind and
the tokens it stands between. That is why formatting twice changes nothing. Must not know: how anything is laid out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..ast import Comment

INLINE = "inline"  # a token or another comment follows on its last line
TRAILING = "trailing"  # at the end of a line that something else begins
OWN_LINE = "own line"

_CLOSERS = (")", "]", "}")


class Trivia(NamedTuple):
    text: str
    kind: str
    blank_before: bool  # a blank line stands between it and what precedes it

    @property
    def is_doc(self) -> bool:
        return self.text.startswith("///") and not self.text.startswith("////")


class TriviaReader:
    """The comments of a file, handed out gap by gap."""

    __slots__ = ("text", "comments", "at", "next_start")

    def __init__(self, text: str, comments: Sequence[Comment]) -> None:
        self.text = text
        self.comments = comments
        self.at = 0
        self.next_start = 0
        self.skip(0)

    def skip(self, end: int) -> None:
        """Leaves out the comments that begin before `end`: they are part of a string."""
        comments, at = self.comments, self.at
        while at < len(comments) and comments[at].span.start < end:
            at += 1
        self.at = at
        self.next_start = comments[at].span.start if at < len(comments) else len(self.text) + 1

    def between(self, start: int, end: int) -> list[Trivia]:
        """The comments of the gap from one offset to another."""
        first = self.at
        self.skip(end)
        found = self.comments[first : self.at]
        trivia, previous_end = [], start
        for at, comment in enumerate(found):
            following = found[at + 1].span.start if at + 1 < len(found) else end
            trivia.append(self._trivia(comment, previous_end, following))
            previous_end = comment.span.end
        return trivia

    def _trivia(self, comment: Comment, previous_end: int, following: int) -> Trivia:
        blank = self.blank_between(previous_end, comment.span.start)
        text = comment.text
        if not text.startswith("///"):  # blanks at the end of a documentation line belong to the documentation
            text = text.rstrip()
        ends_line = text.startswith(("//", "#!")) or "\n" in self.text[comment.span.end : following]
        if comment.own_line and self.text[following : following + 1] in _CLOSERS:
            ends_line = True
        if not ends_line and following < len(self.text):
            return Trivia(text, INLINE, blank)
        return Trivia(text, OWN_LINE if comment.own_line else TRAILING, blank)

    def blank_between(self, start: int, end: int) -> bool:
        return self.text.count("\n", start, end) > 1
