"""Source text and positions.

A `Source` is one file's text and its line index; a `Span` is a half-open range of code points in one file.
Hands on positions to every later phase; knows nothing of tokens or trees.
"""

from __future__ import annotations

import re
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


# ----------------------------------------------------------------
# Characters that begin no token, and what was meant by them: the helps of E0002 (L-4.2.2).
#
# Hands on `character_help`, `INTEGER_DIVISION` for `//`, and for letters outside ASCII `is_letter`, `end_of_name` and
# `NAME_HELP`.

_CHARACTER_HELP = {
    "&": "write `&&` for logical and; the language has no bit operators and no references",
    "“": 'use straight quotes: "…"',
    "”": 'use straight quotes: "…"',
    "‘": "use straight quotes: '…'",
    "’": "use straight quotes: '…'",
    "^": "the language has no bit operators; `**` is the power",
    "~": "the language has no bit operators; `!` is logical not",
    "`": "a string stands in `\"`; over several lines in `\"\"\"`",
    "#": 'a comment begins with `//`, a raw string with `r#"`',
    "$": "`$` stands in strings only: `\"${x}\"`",
    "\u00a0": "write a plain space",
}
INTEGER_DIVISION = "`/` of two Ints is integer division"
NAME_HELP = "names are ASCII letters, digits and `_`"
_OTHER_HELP = "drop it; such characters stand in strings and comments only"
# Attributes of Rust, by their first word.
_ATTRIBUTE = re.compile(r"#!?\[\s*([A-Za-z_]*)")
_ATTRIBUTE_HELP = {
    "derive": "there are no derives: `==`, copies and the text of `${x}` come by themselves; drop the line",
    "test": "a test is a function with `@test(\"…\")` before it",
}
_NO_ATTRIBUTES = "there are no attributes; decorators are written `@name`"

_REFERENCE = re.compile(r'&(?:\'\w+\s+)?(mut\s+)?([A-Za-z_]\w*|[\["])')
_TYPES = {"Vec": "Array<…>", "HashMap": "Map<…>"}
_NAME = re.compile(r"[A-Za-z_][\w.]*")
_TEMPLATE = re.compile(r"`([^`\n]{0,80})`")


def is_letter(char: str) -> bool:
    """Whether a name of some language holds it, accents that follow their letter included."""
    return ("a" + char).isidentifier()


def end_of_name(text: str, start: int) -> int:
    """Where a name with a letter outside ASCII at `start` ends."""
    end = start
    while end < len(text) and is_letter(text[end]):
        end += 1
    return end


def character_help(text: str, start: int) -> str:
    attribute = _ATTRIBUTE.match(text, start)
    if attribute is not None:
        return _ATTRIBUTE_HELP.get(attribute[1], _NO_ATTRIBUTES)
    if text[start] == "&":
        return _of_a_reference(text, start)
    if text[start] == "`":
        return _of_a_template(text, start)
    return _CHARACTER_HELP.get(text[start], _OTHER_HELP)


def _of_a_reference(text: str, start: int) -> str:
    """`&self`, `&mut self`, `&str`, `&x`: a reference elsewhere; between operands an operator of bits."""
    found = _REFERENCE.match(text, start)
    if found is None or (start and text[start - 1] in " \t" and text[:start].rstrip()[-1:] in ")]0123456789"):
        return _CHARACTER_HELP["&"]
    mutable, name = found[1], found[2]
    if name == "self":
        return f"write `{'mut ' if mutable else ''}self`"
    if name == "str":
        return "there are no references: write `String`"
    if name in ("[", '"'):
        return "there are no references, values are copied: leave out the `&`"
    whole = _NAME.match(text, found.start(2))
    shown = _TYPES.get(name) or (whole[0] if whole is not None else name)
    changed = "; what a function changes it gives back as its result" if mutable else ""
    return f"there are no references, values are copied: write `{shown}`{changed}"


def _of_a_template(text: str, start: int) -> str:
    """`` `…${x}` ``."""
    found = _TEMPLATE.match(text, start)
    if found is None or '"' in found[1]:
        return _CHARACTER_HELP["`"]
    raw = "\\" in found[1]
    return f'write `r#"{found[1]}"#`' if raw else f'write `"{found[1]}"`: every string may hold `${{ }}`'


def end_of_character(text: str, start: int) -> int:
    """Where what a wrong character begins ends, as far as nothing more need be said of it."""
    found = _TEMPLATE.match(text, start) if text[start] == "`" else _REFERENCE.match(text, start) if text[start] == "&" else None
    if found is None:
        return start + 1
    return found.end() if text[start] == "`" else found.start(2)
