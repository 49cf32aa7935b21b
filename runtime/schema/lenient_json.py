"""JSON in the spellings that models write, rewritten as JSON (O-2.55), in time linear in the text.

Hands on the JSON text of a bracket pair, which the reader of JSON then reads or refuses: brackets, colons and values are never
made up, so what is missing stays missing. Must not know: prose, schemas.

`re` is loaded with the first text.
"""

from __future__ import annotations

from .json_text import MAX_DEPTH, MAX_NODES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from re import Match, Pattern

SPACE = " \t\r\n"
MAX_PIECES = 6 * MAX_NODES  # a node has fewer
CLOSING = {"{": "}", "[": "]"}

# White space of other kinds: what Unicode counts as such, and what takes no room.
_ODD_SPACE = r"[^\S \t\r\n]|[\u200b\u200c\u200d\u2060\ufeff]"
_PLAIN_STRING = r'"(?:[^"\\\x00-\x1f]++|\\["\\/bfnrtu])*+"'
_WORD_ENDS = r"(?![\w$.+-])"
_PLAIN_NUMBER = rf"-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?+(?:[eE][+-]?[0-9]++)?+{_WORD_ENDS}"
# What is JSON already, between brackets. A comma is taken with what it separates only where no bracket or oddity follows.
_PLAIN = rf'[ \t\r\n:]++|{_PLAIN_STRING}|{_PLAIN_NUMBER}|(?:true|false|null){_WORD_ENDS}|,(?=[ \t\r\n]*+["0-9\-\[{{])'
_DIGITS = r"[0-9]++(?:_[0-9]++)*+"
_NUMBER = rf"[+-]?(?:(?:0(?![0-9_])|(?!0){_DIGITS})(?:\.{_DIGITS})?+|\.{_DIGITS})(?:[eE][+-]?[0-9]++)?+{_WORD_ENDS}"
# What a string begins with, what it cannot hold unless escaped, what it ends with.
_QUOTED = (
    ('"', '"', '"'), ("'", "'", "'"), ("“", "“”", "”"), ("„", "„“”", "“”"), ("”", "“”", "”"), ("‘", "‘’", "’"), ("’", "‘’", "’"),
)  # fmt: skip
STRINGS = "|".join(rf"{begin}(?:[^{not_in}\\]++|\\.)*+[{end}]" for begin, not_in, end in _QUOTED)
_STEP = rf"""
    (?P<plain>(?:{_PLAIN})*+)
    (?: (?P<open>[{{\[])
      | (?P<close>,?+[\ \t\r\n]*+[}}\]])
      | (?P<comma>,)
      | (?P<string>{STRINGS})
      | (?P<literal>(?:True|False|None){_WORD_ENDS})
      | (?P<key>(?:[^\W\d]|\$)[\w$-]*+(?=(?:\s|{_ODD_SPACE})*+:))
      | (?P<number>{_NUMBER})
      | (?P<space>(?:{_ODD_SPACE})++)
      | (?P<line>//|\#(?=[\ \t\r\n]))
      | (?P<block>/\*)
    )?+
"""
_LINE_END = r"[\r\n]|\Z"
# A comment that begins like this stands for values that were left out.
_ELISION = r"[ \t]*(?:\.\.\.|…)"
_IN_STRING = r'\\[\'"‘’“”„]|\\.|["\x00-\x1f]'
_LITERALS = {"True": "true", "False": "false", "None": "null"}


class Rewritten:
    """`json`: the pair as JSON, of which `end` is behind it; where that is None, the text cannot be read from `end` on, where the
    brackets `open` are open."""

    __slots__ = ("end", "json", "open")

    def __init__(self, end: int, json: str | None, open_brackets: list[str]) -> None:
        self.end = end
        self.json = json
        self.open = open_brackets


class LenientReader:
    """Reads the pairs of one text. In all it takes time linear in the text, if no place is asked for twice."""

    __slots__ = ("text", "_patterns", "_last_block_end")

    def __init__(self, text: str) -> None:
        self.text = text
        self._patterns = _compiled()
        self._last_block_end = text.rfind("*/")

    def rewritten(self, start: int) -> Rewritten:
        """The pair whose opening bracket stands at `start`."""
        rewriting = _Rewriting(self._patterns.in_string)
        at = start
        while True:
            mark = self._patterns.step.match(self.text, at)
            assert mark is not None  # it may be empty
            at = mark.end("plain")
            kind = mark.lastgroup or ""
            if not rewriting.plain(mark["plain"]):
                break
            if kind == "line" or kind == "block":
                comment_end = self._comment_end(mark.end(), kind)
                if comment_end is None:
                    break
                at = comment_end
            elif rewriting.odd(kind, mark[kind]):
                at = mark.end()
                if not rewriting.open:
                    return Rewritten(at, " ".join(rewriting.pieces), [])
            else:
                break
            if len(rewriting.pieces) > MAX_PIECES:
                break
        return Rewritten(at, None, rewriting.open)

    def _comment_end(self, at: int, kind: str) -> int | None:
        """None where it has no end, or stands for values that were left out."""
        if self._patterns.elision.match(self.text, at):
            return None
        if kind == "line":
            end = self._patterns.line_end.search(self.text, at)
            assert end is not None
            return end.start()
        return self.text.index("*/", at) + 2 if at <= self._last_block_end else None


class _Rewriting:
    """The JSON text of a pair as far as it is read. Methods give False where nothing readable can come of it."""

    __slots__ = ("pieces", "open", "comma", "empty", "_in_string")

    def __init__(self, in_string: Pattern[str]) -> None:
        self._in_string = in_string
        self.pieces: list[str] = []
        self.open: list[str] = []
        self.comma = False  # one is due before the next value
        self.empty = False  # the innermost pair has nothing yet

    def plain(self, text: str) -> bool:
        rest = text.lstrip(SPACE)
        if not rest:
            return True
        if rest[0] == ",":
            if not self._stray_comma():
                return False
            rest = rest[1:]
        self._add(rest)
        return True

    def odd(self, kind: str, text: str) -> bool:
        if kind == "open":
            if len(self.open) == MAX_DEPTH:
                return False
            self._add(text)
            self.open.append(text)
            self.empty = True
        elif kind == "close":
            return self._close(text)
        elif kind == "comma":
            return self._stray_comma()
        elif kind == "string":
            self._add(f'"{self._in_string.sub(_as_json, text[1:-1])}"')
        elif kind == "key":
            self._add(f'"{text}"')
        elif kind == "literal":
            self._add(_LITERALS[text])
        elif kind == "number":
            self._add(_number(text))
        return kind != "plain"

    def _close(self, text: str) -> bool:
        """With the comma before it, if any."""
        if CLOSING[self.open[-1]] != text[-1] or (text[0] == "," and not self.empty and not self._stray_comma()):
            return False
        self.open.pop()
        self.comma = self.empty = False
        self.pieces.append(text[-1])
        return True

    def _stray_comma(self) -> bool:
        """One more comma. Between the values of a list a second one may stand for a value that was lost."""
        if self.empty or self.comma:
            return self.open[-1] == "{"
        self.comma = True
        return True

    def _add(self, piece: str) -> None:
        if self.comma:
            self.pieces.append(",")
        self.pieces.append(piece)
        self.comma = self.empty = False


def _number(text: str) -> str:
    plain = text.lstrip("+").replace("_", "")
    return plain.replace(".", "0.", 1) if plain.lstrip("-")[0] == "." else plain


def _as_json(mark: Match[str]) -> str:
    """A character that JSON writes in another way within a string."""
    text = mark.group()
    if text == '"' or text == '\\"':
        return '\\"'
    if len(text) == 2:
        return text[1] if text[1] in "'‘’“”„" else text
    return f"\\u{ord(text):04x}"


class _Patterns:
    __slots__ = ("step", "line_end", "elision", "in_string")

    def __init__(self) -> None:
        import re

        self.step = re.compile(_STEP, re.DOTALL | re.VERBOSE)
        self.line_end = re.compile(_LINE_END)
        self.elision = re.compile(_ELISION)
        self.in_string = re.compile(_IN_STRING, re.DOTALL)


_patterns: _Patterns | None = None


def _compiled() -> _Patterns:
    global _patterns
    if _patterns is None:
        _patterns = _Patterns()
    return _patterns
