"""The texts from each `{` to its matching brace, strings skipped (O-2.40 step 3), in time linear in the text.

Hands on the outermost pairs and those inside others. Must not know: what the texts mean.

`re` is loaded with the first text that is searched.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from re import Pattern

# A brace inside a string of another pair starts a reading of its own; texts need two at most, hostile ones many.
MAX_READINGS = 4
MAX_NESTED = 1000

# From outside a string to the next brace that is outside of one too. A pair with no other inside is passed over whole, since
# half of the braces of a long reply are theirs; where one turns out to have another inside it is read twice, not more often.
_NO_BRACE = r'[^"{}]++|"(?:[^"\\]++|\\.)*+"'
_TO_BRACE = rf"(?:{_NO_BRACE}|\{{(?:{_NO_BRACE})*+\}})*+([{{}}])"
# A backslash and what follows it, or one structural character.
_MARK = r'\\.|["{}]'

_patterns: tuple[Pattern[str], Pattern[str]] | None = None


class BracePairs:
    """The pairs of one text; what the careful way costs is paid only when the quick one fails, and once."""

    __slots__ = ("text", "_known")

    def __init__(self, text: str) -> None:
        self.text = text
        self._known: list[tuple[int, int, int]] | None = None

    def outermost(self) -> list[str]:
        """Pairs that stand in no other. Quotes in prose mean nothing: a string begins inside of a pair only."""
        text = self.text
        found: list[str] = []
        start = text.find("{")
        while start >= 0:
            end = _matching(text, start)
            if end is None:  # never closed: only the careful way can tell where to go on
                return [text[begin:end] for begin, end, _ in _outermost(self._spans())]
            found.append(text[start:end])
            start = text.find("{", end)
        return found

    def nested(self, max_height: int) -> list[str]:
        """Pairs that stand in another one, in order of their first brace; deeper ones than `max_height` left out."""
        outer = {begin for begin, _, _ in _outermost(self._spans())}
        spans = (span for span in self._spans() if span[2] <= max_height and span[0] not in outer)
        return [self.text[begin:end] for (begin, end, _), _ in zip(spans, range(MAX_NESTED), strict=False)]

    def _spans(self) -> list[tuple[int, int, int]]:
        if self._known is None:
            self._known = _spans(self.text)
        return self._known


def _matching(text: str, start: int) -> int | None:
    """Where the pair begun at `start` ends."""
    step = _compiled()[0]
    at, depth = start + 1, 1
    while depth:
        mark = step.match(text, at)
        if mark is None:
            return None
        depth += 1 if mark.group(1) == "{" else -1
        at = mark.end()
    return at


def _outermost(spans: list[tuple[int, int, int]]) -> Iterator[tuple[int, int, int]]:
    end_of_last = -1
    for span in spans:
        if span[0] >= end_of_last:
            end_of_last = span[1]
            yield span


def _spans(text: str) -> list[tuple[int, int, int]]:
    """Begin, end and height of every pair, in order of begin: one pass for all starts.

    A *reading* is a stack of open braces; it is outside or inside a string. Readings begun at different braces may
    disagree about what is a string, so both states are followed. A reading ends with its last brace.
    """
    found: list[tuple[int, int, int]] = []
    outside: list[_Reading] = []
    inside: list[_Reading] = []
    for match in _compiled()[1].finditer(text):
        mark = match.group()
        last = mark[-1]
        if mark == '"':
            outside, inside = inside, outside
        elif last == '"':  # escaped: it opens a string outside of one and means nothing inside of one
            outside, inside = [], (inside + outside)[:MAX_READINGS]
        elif last == "{":
            _open(outside, match.end() - 1)
        elif last == "}":
            _close(outside, match.end(), found)
    return sorted(found)


# Open braces as [position, height so far]; the position is -1 where another reading has noted it.
if TYPE_CHECKING:
    _Reading = list[list[int]]


def _open(readings: list[_Reading], at: int) -> None:
    if not readings:
        readings.append([[at, 1]])
        return
    for index, reading in enumerate(readings):
        reading.append([at if index == 0 else -1, 1])


def _close(readings: list[_Reading], end: int, found: list[tuple[int, int, int]]) -> None:
    for reading in readings[:]:
        begin, height = reading.pop()
        if begin >= 0:
            found.append((begin, end, height))
        if reading:
            reading[-1][1] = max(reading[-1][1], height + 1)
        else:
            readings.remove(reading)


def _compiled() -> tuple[Pattern[str], Pattern[str]]:
    global _patterns
    if _patterns is None:
        import re

        _patterns = (re.compile(_TO_BRACE, re.DOTALL), re.compile(_MARK, re.DOTALL))
    return _patterns
