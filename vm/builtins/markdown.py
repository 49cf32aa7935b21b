"""What the lines of a Markdown text are: headings, code blocks, tables, items of lists, prose (O-1.244).

Hands on `Lines`, with the words that it knows lines by (HEADING, ITEM, INSIDE, and the groups PROSE and VERBATIM), to
`passages.py`. It knows just what a cut has to know: headings of `#`, code between fences, tables with a line of `|` and `-` below
their first. Everything else is prose. Nothing is cut here. Offsets are code points of the text.
"""

from __future__ import annotations

import re

from ..values.arithmetic import WHITE_SPACE

# The kinds of lines: a heading, prose, prose that begins an item of a list, the line that opens a code block, the header of a
# table, and a further line of either of these two.
HEADING, TEXT, ITEM, CODE, TABLE, INSIDE = "heading", "text", "item", "code", "table", "inside"
PROSE = (TEXT, ITEM)
VERBATIM = (CODE, TABLE, INSIDE)

LONGEST_HEADING = 200  # characters of its text: each passage under it repeats them

_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t\r]|$)")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_ITEM = re.compile(r"[ \t]*(?:[-*+]|[0-9]{1,9}[.)])[ \t]")
_BELOW_HEADER = re.compile(r"[|:\- \t\r]+")
_NOTHING = re.compile(r"[ \t\r]*")


class Lines:
    """The lines of a text up to `end`, asked for in order; `level`, from 1 to 6, and `title`, cut to LONGEST_HEADING characters,
    are those of the heading that was the last, 0 and "" before the first."""

    def __init__(self, text: str, end: int) -> None:
        self.level = 0
        self.title = ""
        self._text = text
        self._end = end
        self._fence = ""  # of the code block that has not ended
        self._in_table = False

    def kind(self, start: int, ink: int, end: int) -> str:
        """Return what the line from `start` to `end`, its line end not included, is: one of the words above, "" for a line
        without ink; INSIDE is each further line of a code block or table. `ink` is where its first character stands that is no
        white space, `end` if there is none. Lines are asked for once each, from first to last."""
        text = self._text
        if ink == end:
            self._in_table = False
            return ""
        if self._fence:
            if self._closes(start, end):
                self._fence = ""
            return INSIDE
        heading = _HEADING.match(text, start, end)
        if heading is not None:
            self._in_table = False
            self.level, self.title = len(heading.group(1)), _title(text[heading.end(1) : end])
            return HEADING
        fence = _FENCE.match(text, start, end)
        if fence is not None and (fence.group(1)[0] == "~" or text.find("`", fence.end(), end) < 0):
            self._in_table = False
            self._fence = fence.group(1)
            return CODE
        if self._in_table:
            return INSIDE
        if text.find("|", ink, end) >= 0 and self._begins_table(end + 1):
            self._in_table = True
            return TABLE
        return ITEM if _ITEM.match(text, start, end) is not None else TEXT

    def _closes(self, start: int, end: int) -> bool:
        fence = _FENCE.match(self._text, start, end)
        if fence is None or not fence.group(1).startswith(self._fence):
            return False
        return _NOTHING.fullmatch(self._text, fence.end(), end) is not None

    def _begins_table(self, start: int) -> bool:
        """Return whether the line from here on is the one below the header of a table."""
        text = self._text
        end = text.find("\n", start, self._end)
        end = self._end if end < 0 else end
        if _BELOW_HEADER.fullmatch(text, start, end) is None:
            return False
        return text.find("-", start, end) >= 0 and text.find("|", start, end) >= 0


def _title(rest: str) -> str:
    """Return the text of a heading, without the `#` that may close it."""
    title = rest.strip(WHITE_SPACE)
    opened = title.rstrip("#")
    if not opened or opened[-1] in " \t":
        title = opened.rstrip(WHITE_SPACE)
    return title[:LONGEST_HEADING]
