"""Offsets in code points against lines and characters as editors count them.

Hands on `position_at` and `offset_at`. A character is a code unit of the agreed encoding, UTF-16 unless client and server
agreed on another. Lines end at LF, as in `Source`. Must not know: the protocol's records.
"""

from __future__ import annotations

from ..compiler.source import Source

UTF8, UTF16, UTF32 = "utf-8", "utf-16", "utf-32"


def units(text: str, encoding: str) -> int:
    """How many code units a text has."""
    if encoding == UTF8:
        return len(text.encode("utf-8", "replace"))
    if encoding == UTF32:
        return len(text)
    return len(text) + sum(character > "\uffff" for character in text)


def position_at(source: Source, offset: int, encoding: str) -> tuple[int, int]:
    """Line and character, both from 0."""
    offset = max(0, min(offset, len(source.text)))
    line = source.position(offset).line
    start = source.line_starts[line - 1]
    return line - 1, units(source.text[start:offset], encoding)


def offset_at(source: Source, line: int, character: int, encoding: str) -> int:
    """Where a position leads; behind the end of a line or text it is that end, inside a character its beginning."""
    if line >= len(source.line_starts):
        return len(source.text)
    start = source.line_starts[line]
    text = source.line_text(line + 1)
    seen = 0
    for at, one in enumerate(text):
        seen += units(one, encoding)
        if seen > character:
            return start + at
    return start + len(text)
