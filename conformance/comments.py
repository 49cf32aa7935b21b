"""Finds the line comments of a source text, so that expectations inside string literals stay text (C-3.1).

Hands on `line_comments`, which gives `Comment`s, `split_expectations` and `without_comments_and_strings` to `program.py`. It
knows the lexical shapes that can hide `//`: strings with holes, raw and multi-line strings, block comments, labels. It is no
lexer: no text raises, and a one-line string that is not closed ends at its line.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_RAW = re.compile(r'r(#+)"')
_LABEL = re.compile(r"'[A-Za-z_]\w*")
_LOOP = re.compile(r"[ \t]*:(?!:)\s*(?:for|while|loop)\b")
_COLON = re.compile(r"[ \t]*:(?!:)")
_WORD = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True)
class Comment:
    """A `//` comment: its line, from 1; its text after the slashes; `alone` says that nothing but blanks stands before it."""

    line: int
    text: str
    alone: bool


class _Scanner:
    """One walk over a text, which collects its comments. Every method but `label` takes an offset, scans what begins there, and
    returns the offset behind it. `word` is the last word of the code, which tells a label behind `break` from a string."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.comments: list[Comment] = []
        self.word = ""

    def code(self, at: int, hole: bool) -> int:
        """Scan code up to the end of the text, or, of a hole, to its own closing brace."""
        text, depth = self.text, 0
        while at < len(text):
            char = text[at]
            if text.startswith("//", at):
                at = self.comment(at)
            elif text.startswith("/*", at):
                at = self.block(at)
            elif char in "\"'" or (char == "r" and _RAW.match(text, at)):
                at = self.string(at)
            elif hole and char in "{}":
                depth += 1 if char == "{" else -1
                at += 1
                if depth < 0:
                    return at
            else:
                at = self.plain(at)
        return at

    def plain(self, at: int) -> int:
        word = _WORD.match(self.text, at)
        if word:
            self.word = word.group()
            return word.end()
        if not self.text[at].isspace():
            self.word = ""
        return at + 1

    def comment(self, at: int) -> int:
        text = self.text
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        start = text.rfind("\n", 0, at) + 1
        alone = not text[start:at].lstrip("\ufeff").strip()
        body = text[at + 2 : end].rstrip("\r")
        if not body.startswith("/"):
            self.comments.append(Comment(text.count("\n", 0, at) + 1, body, alone))
        return end

    def block(self, at: int) -> int:
        depth, text = 0, self.text
        while at < len(text):
            if text.startswith("/*", at):
                depth, at = depth + 1, at + 2
            elif text.startswith("*/", at):
                depth, at = depth - 1, at + 2
                if depth == 0:
                    return at
            else:
                at += 1
        return at

    def string(self, at: int) -> int:
        text = self.text
        raw = _RAW.match(text, at)
        if raw:
            end = text.find('"' + raw.group(1), raw.end())
            return len(text) if end < 0 else end + 1 + len(raw.group(1))
        if text.startswith('"""', at):
            return self.inside(at + 3, '"""')
        if text[at] == "'" and self.label(at):
            return at + 1
        return self.inside(at + 1, text[at])

    def inside(self, at: int, end: str) -> int:
        text = self.text
        while at < len(text):
            if text.startswith(end, at):
                return at + len(end)
            if text[at] == "\n" and len(end) == 1:
                return at
            if text[at] == "\\":
                at += 2
            elif text.startswith("${", at):
                at = self.code(at + 2, True)
            else:
                at += 1
        return at

    def label(self, at: int) -> bool:
        """Return whether a label stands at the quote at `at`, and no string (L-1.6.1)."""
        name = _LABEL.match(self.text, at)
        if not name:
            return False
        rest = self.text[name.end() :]
        line = rest.split("\n", 1)[0]
        if self.word in ("break", "continue"):
            return not rest.startswith("'")
        return bool(_LOOP.match(rest)) or bool(_COLON.match(line) and "'" not in line)


def line_comments(text: str) -> list[Comment]:
    """Return the `//` comments of a text in order of position. Documentation comments and a `#!` line are left out."""
    scanner = _Scanner(text)
    at = text.find("\n") if text.lstrip("\ufeff").startswith("#!") else 0
    scanner.code(max(at, 0), False)
    return scanner.comments


def without_comments_and_strings(text: str) -> str:
    """Return the code alone, in which declared names can be looked for; each string becomes an empty one."""
    text = re.sub(r'r(#+)".*?"\1|"""(?:\\.|[^\\])*?"""|"(?:\\.|[^"\\\n])*"', '""', text, flags=re.S)
    return re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.S)


def split_expectations(text: str) -> list[str]:
    """Return the parts of the text of one comment, without blanks around them: each further `//` after a blank, outside of
    quotes, begins another expectation (C-5.1)."""
    parts, start, quoted, at = [], 0, False, 0
    while at < len(text):
        if quoted and text[at] == "\\":
            at += 2
            continue
        if text[at] == '"':
            quoted = not quoted
        elif not quoted and text.startswith("//", at) and at and text[at - 1].isspace():
            parts.append(text[start:at])
            start = at + 2
            at += 1
        at += 1
    parts.append(text[start:])
    return [part.strip() for part in parts]
