"""JSON from outside, under the bounds of the language (G-9.2), and JSON in the spellings that models write (O-2.55).

Hands on `parse_json` with its `JsonRefused`, `compact_json` and `digest` to everybody who reads or writes JSON, and
`LenientReader`, with what it knows of spellings (BYTE_ORDER_MARK, CLOSING, STRINGS, WHITE_SPACE), to `extraction.py`: it rewrites
a bracket pair as JSON, in time linear in the text, which `parse_json` then reads or refuses. Brackets, colons and values are
never made up, so what is missing stays missing. A spelling that models write gets its branch in `_STEP` and in `_Rewriting.odd`.
`re` is loaded with the first text that needs it.
"""

from __future__ import annotations

from ..access.secrets import clean_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from json import JSONDecoder
    from re import Match, Pattern
    from typing import Any, NoReturn


MAX_DEPTH = 64  # of arrays and objects in each other
MAX_NODES = 100_000  # values in one text
FLOAT_DIGITS = 309  # an integer with more digits is beyond Float
WHITE_SPACE = " \t\r\n"
BYTE_ORDER_MARK = "\ufeff"

_decoder: JSONDecoder | None = None


class JsonRefused(Exception):
    """A text that is no JSON, or beyond a bound; `reason` is the REASON of O-2.23."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def parse_json(text: str) -> Any:
    """Return the JSON value of a whole text, cleaned like all text from outside. Raises JsonRefused when it is none or beyond
    a bound: deeper than MAX_DEPTH or of more than MAX_NODES values, with duplicate keys, NaN, infinities or numbers beyond
    Float (G-9.2)."""
    from json import JSONDecodeError

    if len(text) > 2 * MAX_NODES:
        _check_marks(text)
    start = _skip_space(text, 0)
    try:
        value, end = _the_decoder().raw_decode(text, start)
    except JSONDecodeError as error:
        at = len(text) if error.msg.startswith("Unterminated string") else error.pos
        raise JsonRefused(_position_text(text, at)) from None
    except RecursionError:
        raise JsonRefused(f"nested deeper than {MAX_DEPTH}") from None
    end = _skip_space(text, end)
    if end < len(text):
        raise JsonRefused(f"text after the value at {_line_and_column(text, end)}")
    _check_size(value)
    # ASCII without `\u` escapes has nothing to clean.
    return clean_json(value) if "\\u" in text or not text.isascii() else value


def compact_json(value: Any) -> str:
    """Return JSON without white space, keys in their order, characters outside ASCII as they are (O-0.5). Raises ValueError
    for NaN or an infinity, TypeError for what is no plain data."""
    from json import dumps

    return dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def digest(value: Any) -> str:
    """Return the SHA-256 of a value's compact JSON with sorted keys, in hexadecimal (O-0.5). Raises as `compact_json`, and
    ValueError for a text with a lone surrogate."""
    from hashlib import sha256
    from json import dumps

    text = dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False, sort_keys=True)
    return sha256(text.encode()).hexdigest()


def _the_decoder() -> JSONDecoder:
    global _decoder
    if _decoder is None:
        from json import JSONDecoder

        _decoder = JSONDecoder(object_pairs_hook=_object, parse_constant=_constant, parse_float=_float, parse_int=_int)
    return _decoder


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):  # rare: only then keys are looked at one by one
        keys: set[str] = set()
        for key, _ in pairs:
            if key in keys:
                raise JsonRefused(f"duplicate key {compact_json(key)}")
            keys.add(key)
    return members


def _constant(name: str) -> NoReturn:
    raise JsonRefused(f"{name} is not a JSON value")


def _float(digits: str) -> float:
    value = float(digits)
    if value in (float("inf"), float("-inf")):
        raise JsonRefused("a number beyond Float")
    return value


def _int(digits: str) -> int:
    if len(digits) >= FLOAT_DIGITS:
        _float(digits)
    return int(digits)


def _check_marks(text: str) -> None:
    """Refuse a text with too many values before they are built: empty lists take twenty times the room of their text."""
    if _marks(text) > MAX_NODES:
        from re import DOTALL, sub

        # a string without end goes to the end: looking for its end from each quote in it would take quadratic time
        if _marks(sub(r'"(?:[^"\\]++|\\.?)*+"?', "", text, flags=DOTALL)) > MAX_NODES:
            raise JsonRefused(f"more than {MAX_NODES} values")


def _marks(text: str) -> int:
    """Count the characters that may precede a value: each value but the first comes after a comma, a bracket or a brace."""
    return text.count(",") + text.count("[") + text.count("{")


def _check_size(value: Any) -> None:
    """Check depth and number of values, level by level: recursion could run out of stack."""
    below: list[Any] = [value]
    nodes = 1
    for _ in range(MAX_DEPTH + 1):
        level = [item for item in below if type(item) is dict or type(item) is list]
        if not level:
            return
        below = [inner for item in level for inner in (item.values() if type(item) is dict else item)]
        nodes += len(below)
        if nodes > MAX_NODES:
            raise JsonRefused(f"more than {MAX_NODES} values")
    raise JsonRefused(f"nested deeper than {MAX_DEPTH}")


def _skip_space(text: str, at: int) -> int:
    size = len(text)
    while at < size and text[at] in WHITE_SPACE:
        at += 1
    return at


def _position_text(text: str, at: int) -> str:
    """Return where a text is wrong, in our words: those of the standard library differ between Python versions."""
    if at >= len(text.rstrip(WHITE_SPACE)):
        return "unexpected end of text"
    return f"unexpected text at {_line_and_column(text, at)}"


def _line_and_column(text: str, at: int) -> str:
    line_start = text.rfind("\n", 0, at) + 1
    return f"line {text.count(chr(10), 0, at) + 1}, column {at - line_start + 1}"


SPACE = " \t\r\n"
MAX_PIECES = 6 * MAX_NODES  # of a rewritten pair: a readable one has fewer for each of its values
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
    """A pair rewritten as JSON, and the offset `end`, in characters, behind it. When `json` is None, the text cannot be read from
    `end` on, where the brackets `open` are open."""

    __slots__ = ("end", "json", "open")

    def __init__(self, end: int, json: str | None, open_brackets: list[str]) -> None:
        self.end = end
        self.json = json
        self.open = open_brackets


class LenientReader:
    """Rewrites the pairs of one text. All together take time linear in the text, if no place is asked for twice."""

    __slots__ = ("text", "_patterns", "_last_block_end")

    def __init__(self, text: str) -> None:
        self.text = text
        self._patterns = _compiled()
        self._last_block_end = text.rfind("*/")

    def rewritten(self, start: int) -> Rewritten:
        """Rewrite the pair whose opening bracket stands at the offset `start`. The JSON need not be valid: `parse_json`
        decides."""
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
        """Return where a comment ends; None when it has no end, or stands for values that were left out (`// ...`)."""
        if self._patterns.elision.match(self.text, at):
            return None
        if kind == "line":
            end = self._patterns.line_end.search(self.text, at)
            assert end is not None
            return end.start()
        return self.text.index("*/", at) + 2 if at <= self._last_block_end else None


class _Rewriting:
    """The JSON text of a pair as far as it is read. Methods return False where no readable text can come of it."""

    __slots__ = ("pieces", "open", "comma", "empty", "_in_string")

    def __init__(self, in_string: Pattern[str]) -> None:
        self._in_string = in_string
        self.pieces: list[str] = []
        self.open: list[str] = []
        self.comma = False  # whether a comma is due before the next value
        self.empty = False  # whether the innermost pair has nothing in it yet

    def plain(self, text: str) -> bool:
        """Add text that is JSON already."""
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
        """Add one bracket, or one token that is spelled in a way JSON does not have."""
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
        """Add a closing bracket, without the comma that may stand before it."""
        if CLOSING[self.open[-1]] != text[-1] or (text[0] == "," and not self.empty and not self._stray_comma()):
            return False
        self.open.pop()
        self.comma = self.empty = False
        self.pieces.append(text[-1])
        return True

    def _stray_comma(self) -> bool:
        """Take a comma that no value follows at once. In an object it may be one too many; in a list a second one may stand for a
        value that was lost, so the list is not readable."""
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
    """Return a character of a string as JSON writes it."""
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
