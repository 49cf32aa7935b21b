"""The text inside string literals: escapes, and the trimming of multi-line strings.

Works on the source text of the pieces between holes; hands decoded text to the lexer.
Must not know: tokens, where a literal ends.
"""

from __future__ import annotations

import re
from collections.abc import Callable

# Called with code, start and end within the piece, message, help.
Report = Callable[[str, int, int, str, str], None]

_ESCAPE = re.compile(r"\\(?:u\{([^}\"'\n]*)\}|(u)|(.)|$)", re.DOTALL)
_SIMPLE = {"\\": "\\", '"': '"', "'": "'", "n": "\n", "r": "\r", "t": "\t", "0": "\0", "$": "$"}
_HEX = re.compile(r"[0-9A-Fa-f]{1,6}\Z")
RAW_FORM = 'a raw string is `r#"…"#`'
LEGAL_ESCAPES = rf"legal escapes are \\ \" \' \n \r \t \0 \$ \u{{…}}; {RAW_FORM}"


def decode_escapes(text: str, report: Report) -> str:
    """Text with its escapes replaced (L-1.5.6); a bad escape is reported and left out."""
    if "\\" not in text:
        return text

    def replace(found: re.Match[str]) -> str:
        digits, bare_u, char = found.groups()
        if char in _SIMPLE:
            return _SIMPLE[char]
        if digits is None and bare_u is None:
            report("E0007", found.start(), found.end(), f"unknown escape `{_shown(found[0])}`", LEGAL_ESCAPES)
            return ""
        return _scalar(digits or "", found, report)

    return _ESCAPE.sub(replace, text)


def _scalar(digits: str, found: re.Match[str], report: Report) -> str:
    value = int(digits, 16) if _HEX.match(digits) else -1
    if 0 <= value <= 0x10FFFF and not 0xD800 <= value <= 0xDFFF:
        return chr(value)
    what = f"malformed `\\u{{}}` escape: `{digits}` is no Unicode scalar value"
    report("E0008", found.start(), found.end(), what, r"write `\u{1F600}`: 1 to 6 hexadecimal digits in braces")
    return ""


def _shown(escape: str) -> str:
    return escape.replace("\n", "⏎").replace("\r", "")


_OPENING_LINE = re.compile(r"[ \t]*\n")
_CLOSING_LINE = re.compile(r"\n([ \t]*)\Z")


def trim_pieces(pieces: list[str]) -> list[str]:
    """The literal pieces of one multi-line string, trimmed by L-1.5.8, escapes still in place.

    A hole stands between each piece and the next. Trimming comes before escapes because only line ends that are
    written in the source begin a literal line.
    """
    pieces = [piece.replace("\r\n", "\n") for piece in pieces]
    opening = _OPENING_LINE.match(pieces[0])
    if opening:
        # The line end stays for now: it tells that the first literal line begins at a line start.
        pieces[0] = pieces[0][opening.end() - 1 :]
    closing = _CLOSING_LINE.search(pieces[-1])
    if closing:
        margin = len(closing[1])
        pieces[-1] = pieces[-1][: closing.start() + 1]
        pieces = [_cut_margin(piece, margin, at == len(pieces) - 1) for at, piece in enumerate(pieces)]
        pieces[-1] = pieces[-1][:-1]
    if opening and pieces[0].startswith("\n"):
        pieces[0] = pieces[0][1:]
    return pieces


def _cut_margin(piece: str, margin: int, is_last: bool) -> str:
    lines = piece.split("\n")
    for at in range(1, len(lines)):
        line = lines[at]
        # The last line of a piece runs on into a hole, so it is no blank line.
        runs_on = at == len(lines) - 1 and not is_last
        blanks = len(line) - len(line.lstrip(" \t"))
        lines[at] = "" if blanks == len(line) and not runs_on else line[min(blanks, margin) :]
    return "\n".join(lines)
