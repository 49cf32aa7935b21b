"""The bracket pairs of a text: where each ends and what it holds as JSON (O-2.40, O-2.55), in time linear in the text.

Hands on `Pair`. A pair that cannot be read ends where all ways of counting agree that it does, at the latest. Must not know: what
the texts around pairs mean.
"""

from __future__ import annotations

from .json_text import JsonRefused, parse_json
from .lenient_json import CLOSING, STRINGS, LenientReader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from re import Pattern
    from typing import Any

# To the next brace outside of strings. A pair with no other inside is passed over whole, since half of the braces of a long reply
# are theirs.
_NO_BRACE = r'[^"{}]++|"(?:[^"\\]++|\\.)*+"'
_TO_BRACE = rf"(?:{_NO_BRACE}|\{{(?:{_NO_BRACE})*+\}})*+([{{}}])"
_TO_BRACKET = r'(?:[^"{}\[\]]++|"(?:[^"\\]++|\\.)*+")*+[{}\[\]]'
_TO_BRACKET_PAST_ALL_STRINGS = rf"(?:[^\"'“”„‘’{{}}\[\]]++|(?<=\w)['’]|{STRINGS})*+[{{}}\[\]]"
_TO_ANY_BRACKET = r"[^{}\[\]]*+[{}\[\]]"
_OBJECT_BEGINS = r'\{[ \t\r\n]*+["}]'
# Everything up to a comma that has only white space before the next closing bracket, or to the end; and such a comma. Commas in
# strings mean nothing; a string without end goes to the end.
_UP_TO_TRAILING_COMMA = r'((?:[^",]++|"(?:[^"\\]++|\\.?)*+(?:"|\Z)|,(?![ \t\r\n]*+[}\]]))++),?|,'

COST_OF_A_FAILURE = 100  # in characters read
MAX_BRACKETS = 1_000_000  # looked at in what cannot be read; then nothing more is


class Pair:
    """`end` is behind it, None when it is never closed. `value` is None when it cannot be read; a `reason` says which bound it
    breaks, if it is not the grammar."""

    __slots__ = ("end", "value", "reason")

    def __init__(self, end: int | None, value: Any = None, reason: str = "") -> None:
        self.end = end
        self.value = value
        self.reason = reason


class BracketPairs:
    """The pairs of one text, asked for from left to right, each behind the one before."""

    __slots__ = ("text", "_patterns", "_reader", "_spent", "_brackets")

    def __init__(self, text: str) -> None:
        self.text = text
        self._patterns = _compiled()
        self._reader = LenientReader(text)
        self._spent = 0  # characters that the quick way looked at in vain
        self._brackets = 0  # looked at in what cannot be read

    def pair(self, start: int) -> Pair:
        """The pair whose opening bracket stands at `start`."""
        return self._plain_object(start) or self._any_pair(start)

    def _plain_object(self, start: int) -> Pair | None:
        """The quick way, for JSON that has commas before closing brackets at most. It never reads what the other would read in
        another way, and is left when it has cost as much as the text is long."""
        if self._spent > len(self.text) or not self._patterns.object_begins.match(self.text, start):
            return None
        end = self._closing_brace(start)
        if end is not None:
            piece = self.text[start:end]
            for attempt in (str, without_trailing_commas):
                try:
                    return Pair(end, parse_json(attempt(piece)))
                except JsonRefused:
                    continue
        self._spent += (end or len(self.text)) - start + COST_OF_A_FAILURE
        return None

    def _closing_brace(self, start: int) -> int | None:
        step = self._patterns.to_brace
        at, depth = start + 1, 1
        while depth:
            mark = step.match(self.text, at)
            if mark is None:
                return None
            depth += 1 if mark.group(1) == "{" else -1
            at = mark.end()
        return at

    def _any_pair(self, start: int) -> Pair:
        rewritten = self._reader.rewritten(start)
        if rewritten.json is None:
            return Pair(self._end_of_unreadable(rewritten.end, rewritten.open))
        try:
            return Pair(rewritten.end, parse_json(rewritten.json))
        except JsonRefused as refused:
            return Pair(rewritten.end, None, "" if refused.reason.startswith("unexpected") else refused.reason)

    def _end_of_unreadable(self, at: int, open_brackets: list[str]) -> int | None:
        """Where the brackets that are open at `at` are closed, counted without strings, with some and with all kinds of them: the
        last of the three, since what is unreadable cannot say which it has."""
        ends = [self._matching(pattern, at, open_brackets) for pattern in self._patterns.to_bracket]
        return None if None in ends else max(end for end in ends if end is not None)

    def _matching(self, pattern: Pattern[str], at: int, open_brackets: list[str]) -> int | None:
        """None where a bracket is missing or closes another kind."""
        still_open = list(open_brackets)
        while still_open:
            mark = pattern.match(self.text, at)
            self._brackets += 1
            if mark is None or self._brackets > MAX_BRACKETS:
                return None
            at = mark.end()
            bracket = self.text[at - 1]
            if bracket in CLOSING:
                still_open.append(bracket)
            elif CLOSING[still_open.pop()] != bracket:
                return None
        return at


def without_trailing_commas(text: str) -> str:
    """The text without commas before `}` or `]` that stand outside of strings."""
    return "".join(_compiled().trailing_comma.findall(text))


class _Patterns:
    __slots__ = ("to_brace", "to_bracket", "object_begins", "trailing_comma")

    def __init__(self) -> None:
        import re

        self.to_brace = re.compile(_TO_BRACE, re.DOTALL)
        patterns = (_TO_ANY_BRACKET, _TO_BRACKET, _TO_BRACKET_PAST_ALL_STRINGS)
        self.to_bracket = [re.compile(pattern, re.DOTALL) for pattern in patterns]
        self.object_begins = re.compile(_OBJECT_BEGINS)
        self.trailing_comma = re.compile(_UP_TO_TRAILING_COMMA, re.DOTALL)


_patterns: _Patterns | None = None


def _compiled() -> _Patterns:
    global _patterns
    if _patterns is None:
        _patterns = _Patterns()
    return _patterns
