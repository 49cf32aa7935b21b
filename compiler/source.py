"""Source text and positions, and the helps for characters that begin no token.

Hands on `Source`, one file's text with its line index, `Span` and `Position` to every later phase, `Source` and `Span` also to
the language server and the notebook, `Source` to the commands that read source text and to `colours/`; all offsets are in code
points, from 0. Hands on `quoted`, which writes a text into a message as source has it, to the types and the checker, and
`visible`, which makes it fit for a terminal, to the diagnostics and to the command line. Also hands on to the lexer
`character_help` and `end_of_character`, and for letters outside ASCII `is_letter`, `end_of_name` and `NAME_HELP`; and
INTEGER_DIVISION, a help, to `syntax/brackets.py` and `syntax/errors.py`. Knows nothing of tokens or trees, and does no I/O. A
new help for a character is a row of `_CHARACTER_HELP`.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import NamedTuple

_new = tuple.__new__
_ESCAPES = {"\\": r"\\", '"': r"\"", "\n": r"\n", "\r": r"\r", "\t": r"\t", "\0": r"\0"}


def quoted(text: str) -> str:
    """Return the String literal that denotes the text; what cannot be seen in it is escaped (L-1.5.6)."""
    if not text.isprintable() or '"' in text or "\\" in text:
        text = "".join([_ESCAPES.get(char) or visible(char) for char in text])
    return '"' + text.replace("${", r"\${") + '"'


def visible(text: str) -> str:
    """Return the text with the escapes of a String literal for characters that cannot be printed, which must not reach a
    terminal."""
    if text.isprintable():
        return text
    return "".join([char if char.isprintable() else f"\\u{{{ord(char):x}}}" for char in text])


class Span(NamedTuple):
    """Half-open range `[start, end)` of code-point offsets in the file called `file`."""

    file: str
    start: int
    end: int

    def to(self, other: Span) -> Span:
        """Return the span from the start of this one to the end of `other`, which must be of the same file."""
        return Span(self.file, self.start, other.end)


class Position(NamedTuple):
    """A line and a column, both from 1, in code points."""

    line: int
    column: int


class Source:
    """One source file: its name as messages show it (for files of a program relative to the project root), its text, and the
    offsets at which lines begin."""

    __slots__ = ("name", "text", "line_starts")

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self.text = text
        self.line_starts = _line_starts(text)

    def position(self, offset: int) -> Position:
        """Return the line and column, both from 1, of an offset, which must not be negative; an offset behind the text counts as
        on its last line."""
        starts = self.line_starts
        line = bisect_right(starts, offset)
        return _new(Position, (line, offset - starts[line - 1] + 1))

    def line_text(self, line: int) -> str:
        """Return the text of a line, counted from 1, without its line end and a CR before it; IndexError for a line behind the
        last."""
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


# Characters that begin no token, and what was meant by them: the helps of E0002.

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
    """Return whether a name of some human language may hold the character behind its first letter: a letter, a digit, `_`, or an
    accent that follows its letter."""
    return ("a" + char).isidentifier()


def end_of_name(text: str, start: int) -> int:
    """Return the offset at which a name with a letter outside ASCII at `start` ends."""
    end = start
    while end < len(text) and is_letter(text[end]):
        end += 1
    return end


def character_help(text: str, start: int) -> str:
    """Return the help for the character at `start`, which begins no token (E0002, L-4.2.2). IndexError for an offset behind the
    text."""
    attribute = _ATTRIBUTE.match(text, start)
    if attribute is not None:
        return _ATTRIBUTE_HELP.get(attribute[1], _NO_ATTRIBUTES)
    if text[start] == "&":
        return _of_a_reference(text, start)
    if text[start] == "`":
        return _of_a_template(text, start)
    return _CHARACTER_HELP.get(text[start], _OTHER_HELP)


def _of_a_reference(text: str, start: int) -> str:
    """Return the help for `&self`, `&mut self`, `&str` or `&x`, a reference in other languages; between operands `&` is an
    operator of bits there."""
    reference = _REFERENCE.match(text, start)
    # Behind an operand and a blank `&` was meant as the operator.
    if reference is None or (start and text[start - 1] in " \t" and text[:start].rstrip()[-1:] in ")]0123456789"):
        return _CHARACTER_HELP["&"]
    mutable, name = reference[1], reference[2]
    if name == "self":
        return f"write `{'mut ' if mutable else ''}self`"
    if name == "str":
        return "there are no references: write `String`"
    if name in ("[", '"'):
        return "there are no references, values are copied: leave out the `&`"
    whole = _NAME.match(text, reference.start(2))
    spelled = _TYPES.get(name) or (whole[0] if whole is not None else name)
    changed = "; what a function changes it gives back as its result" if mutable else ""
    return f"there are no references, values are copied: write `{spelled}`{changed}"


def _of_a_template(text: str, start: int) -> str:
    """Return the help for `` `…${x}` ``, a string of JavaScript."""
    template = _TEMPLATE.match(text, start)
    if template is None or '"' in template[1]:
        return _CHARACTER_HELP["`"]
    raw = "\\" in template[1]
    return f'write `r#"{template[1]}"#`' if raw else f'write `"{template[1]}"`: every string may hold `${{ }}`'


def end_of_character(text: str, start: int) -> int:
    """Return the offset behind a wrong character and what it begins, as far as one message is enough for all of it: a whole
    string between backquotes, the `&` or `&mut` of a reference; behind the character alone for any other. IndexError for an
    offset behind the text."""
    form = _TEMPLATE.match(text, start) if text[start] == "`" else _REFERENCE.match(text, start) if text[start] == "&" else None
    if form is None:
        return start + 1
    return form.end() if text[start] == "`" else form.start(2)
