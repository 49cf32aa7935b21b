"""Where sentences end, in scripts with and without blanks (O-1.243).

Hands on `sentence_ends`, and what finds white space in long texts (`ink_from`, `ink_before`, `blank_from`), to `passages.py`.
Offsets are code points of the text; ink is any character but white space. What ends the run may come out of each
(`values/metering.py`). Nothing is cut here.
"""

from __future__ import annotations

import re

from ..values.arithmetic import WHITE_SPACE
from ..values.metering import BLOCK, look, paced

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_BLANK = re.compile(f"[{WHITE_SPACE}]")
_INK = re.compile(f"[^{WHITE_SPACE}]")
# Marks that end a sentence where white space follows, and those of scripts that write none.
SPACED, UNSPACED = ".!?…؟۔।॥։", "。！？｡።။។"
CLOSING = "\"'”’»›)]}*_`）］」』】〉》"
_MARK = re.compile(f"[{SPACED}{UNSPACED}]")
_END = re.compile(f"([{SPACED}{UNSPACED}]+)[{re.escape(CLOSING)}]*")
ABBREVIATIONS = frozenset(
    (
        "mr", "mrs", "ms", "dr", "prof", "sr", "jr", "st", "vs", "fig", "eq", "vol", "pp", "cf", "approx", "ca", "bzw", "hr",
        "fr", "mme",
    )
)  # fmt: skip
LONGEST_ABBREVIATION = max(map(len, ABBREVIATIONS))
LONGEST_NUMBER = 16  # characters of a line up to the point behind its number


def ink_from(text: str, at: int, end: int) -> int:
    """Return where the first ink from `at` on stands; `end` if there is none before it."""
    return _first(_INK, text, at, end)


def blank_from(text: str, at: int, end: int) -> int:
    """Return where the first white space from `at` on stands; `end` if there is none before it."""
    return _first(_BLANK, text, at, end)


def _first(sign: re.Pattern[str], text: str, at: int, end: int) -> int:
    while at < end:
        found = sign.search(text, at, min(at + BLOCK, end))
        if found is not None:
            return found.start()
        look()
        at += BLOCK
    return end


def ink_before(text: str, end: int) -> int:
    """Return the end of the last ink before `end`; 0 if there is none."""
    size = 16
    while end > 0:
        block = text[max(0, end - size) : end]
        rest = block.rstrip(WHITE_SPACE)
        end -= len(block) - len(rest)
        if rest:
            return end
        look()
        size = min(2 * size, BLOCK)
    return 0


def sentence_ends(text: str, start: int, end: int) -> Iterator[int]:
    """Yield the ends of sentences in the part of the text from `start` to `end`, in order, each behind closing quotes and
    brackets. The end of the part is none of them unless a mark stands there."""
    for found in paced(_marks(text, start, end)):
        if text[found.end(1) - 1] in UNSPACED or _is_end(text, start, found, end):
            yield found.end()


def _marks(text: str, start: int, end: int) -> Iterator[re.Match[str]]:
    """Yield each run of marks, with what closes behind it."""
    at = start
    while at < end:
        mark = _MARK.search(text, at, min(at + BLOCK, end))
        if mark is None:
            look()
            at += BLOCK
            continue
        found = _END.match(text, mark.start(), end)
        assert found is not None
        at = found.end()
        yield found


def _is_end(text: str, start: int, found: re.Match[str], end: int) -> bool:
    """Return whether marks of a script with blanks end a sentence."""
    at = found.end()
    if at < end and text[at] not in WHITE_SPACE:
        return False
    following = ink_from(text, at, end)
    if following < end and text[following].islower():
        return False
    return found.group(1) != "." or not _is_of_word(text, start, found.start())


def _is_of_word(text: str, start: int, point: int) -> bool:
    """Return whether a point stands behind an initial, an abbreviation, or the number that begins a line."""
    at = point
    while at > start and point - at <= LONGEST_ABBREVIATION and text[at - 1].isalpha():
        at -= 1
    word = text[at:point].lower()
    if word:
        return word in ABBREVIATIONS or (len(word) == 1 and text[at] != text[at].swapcase())
    before = text[max(start, point - LONGEST_NUMBER) : point]
    line = before.rpartition("\n")[2]
    begins = len(line) < len(before) or point - LONGEST_NUMBER <= start
    return begins and line.strip(" \t").isdecimal()
