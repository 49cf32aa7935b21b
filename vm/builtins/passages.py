"""Where a long text is cut into passages (O-1.242): at ends of sections, paragraphs, sentences and words; inside of a word only
where one alone is longer than a passage may be.

Hands on `cuts` and WAYS to `text.py`. Offsets and lengths are code points; ink is any character but white space. The text is read
once into the ends of its units, in order and by rank; a passage then ends at the last end of the highest rank that it reaches.
The time is in proportion to the text and to what overlaps repeat. What ends the run may come out of here (`values/metering.py`).
Where sentences end is `sentences.py`, what a line of Markdown is `markdown.py`; arguments are checked by `text.py`.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right

from ..values.arithmetic import WHITE_SPACE
from ..values.metering import BLOCK, FEW, look, paced
from .markdown import HEADING, INSIDE, ITEM, PROSE, VERBATIM, Lines
from .sentences import blank_from, ink_before, ink_from, sentence_ends

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    Cut = tuple[int, int, tuple[str, ...]]  # start and end of a passage, and the headings above it, the outermost first

WAYS = SENTENCE, PARAGRAPH, MARKDOWN = "sentence", "paragraph", "markdown"

# Ranks of ends, the highest first: 0 to 5 stand before a heading of the level one above.
LEVELS = 6
BLOCKS, SENTENCES, BEHIND_HEADING, LINES = range(LEVELS, LEVELS + 4)
RANKS = LINES + 1


class Headings:
    """The headings of a Markdown text, by number in their order, from 0: `starts`, where each begins, and `sections`, the end of
    its section, those of deeper headings included, -1 before it is known. Positions are in characters."""

    def __init__(self) -> None:
        self.starts = array("q")
        self.sections = array("q")
        self._titles: list[str] = []
        self._levels = array("b")
        self._above = array("q")  # the heading above each, -1 for none
        self._open: list[int] = []  # those whose section has not ended

    def add(self, start: int, level: int, title: str, before: int) -> None:
        """Take the next heading; `before` is the end of the ink before it."""
        while self._open and self._levels[self._open[-1]] >= level:
            self.sections[self._open.pop()] = before
        self._above.append(self._open[-1] if self._open else -1)
        self._open.append(len(self.starts))
        self.starts.append(start)
        self.sections.append(-1)
        self._titles.append(title)
        self._levels.append(level)

    def close(self, end: int) -> None:
        """End all sections where the text ends."""
        for number in self._open:
            self.sections[number] = end

    def path(self, number: int) -> tuple[str, ...]:
        """Return the texts of a heading and those above it, the outermost first; () for the number -1, which stands for none."""
        titles = []
        while number >= 0:
            titles.append(self._titles[number])
            number = self._above[number]
        return tuple(reversed(titles))


class Units:
    """The ends of the units of a text in order, in characters, `ranks` by rank and `whole` all of them. `headings`: those of a
    Markdown text, else without any. `verbatim` has the ends of code blocks and tables that something follows, `end` is that of
    the ink."""

    def __init__(self, text: str, by: str) -> None:
        self.text = text
        self.end = ink_before(text, len(text))
        self.ranks = [array("q") for _ in range(RANKS)]
        self.whole = array("q")
        self.verbatim = array("q")
        self.headings = Headings()
        self._prose = -1  # where prose begins whose sentences have not been looked for
        if by == MARKDOWN:
            self._read_markdown()
        else:
            self._read_paragraphs(SENTENCES if by == SENTENCE else BLOCKS)
        self._end_prose(self.end)
        self.headings.close(self.end)

    def _add(self, rank: int, end: int) -> None:
        for ends in (self.ranks[rank], self.whole):
            if not ends or ends[-1] < end:
                ends.append(end)

    def _end_prose(self, end: int) -> None:
        if self._prose >= 0:
            for at in sentence_ends(self.text, self._prose, end):
                self._add(SENTENCES, at)
        self._prose = -1

    def _lines(self) -> Iterator[tuple[int, int, int]]:
        """Yield start, first ink and end of each line; the last two are equal in one without ink."""
        at = 0
        while at < self.end:
            end = self.text.find("\n", at, self.end)
            end = self.end if end < 0 else end
            yield at, ink_from(self.text, at, end), end
            at = end + 1

    def _read_paragraphs(self, rank: int) -> None:
        is_gap = False
        for start, ink, end in paced(self._lines(), FEW):
            if ink == end:
                is_gap = True
                continue
            if is_gap and self._prose >= 0:
                before = ink_before(self.text, start)
                self._end_prose(before)
                self._add(rank, before)
            is_gap = False
            if self._prose < 0:
                self._prose = ink

    def _read_markdown(self) -> None:
        lines = Lines(self.text, self.end)
        previous, is_gap = "", False
        for start, ink, end in paced(self._lines(), FEW):
            kind = lines.kind(start, ink, end)
            if not kind:
                is_gap = True
                continue
            before = ink_before(self.text, start) if previous else 0
            rank = _rank_between(previous, kind, lines.level, is_gap)
            if previous in VERBATIM and kind != INSIDE:
                self.verbatim.append(before)
            if rank is not None:
                self._end_prose(before)
                self._add(rank, before)
            if kind == HEADING:
                self.headings.add(ink, lines.level, lines.title, before)
            elif kind in PROSE and self._prose < 0:
                self._prose = ink
            previous, is_gap = kind, False


def _rank_between(previous: str, kind: str, level: int, is_gap: bool) -> int | None:
    """Return the rank of the end between two lines of Markdown, None where no unit ends. `level` is that of a heading."""
    if not previous:
        return None
    if kind == INSIDE:
        return LINES
    if previous == HEADING:
        return BEHIND_HEADING
    if kind == HEADING:
        return level - 1
    if is_gap or kind in VERBATIM or previous in VERBATIM:
        return BLOCKS
    return SENTENCES if kind == ITEM else None


def cuts(text: str, size: int, overlap: int, by: str) -> Iterator[Cut]:
    """Yield the passages of a text in order as (start, end, texts of the headings above it or at its beginning, the outermost
    first): of at most `size` characters, each repeating at most `overlap` < `size` of the end of the one before. `by` is a word
    of WAYS; headings are known by MARKDOWN only. The caller has checked `size`, which is at least 1, `overlap`, which is not
    negative, and `by`. White space at both ends of a passage is left out."""
    units = Units(text, by)
    headings = units.headings
    start, end = -1, 0
    at = ink_from(text, 0, units.end)  # of what no passage has yet
    while at < units.end:
        look()
        number = bisect_right(headings.starts, at) - 1
        section = units.end if number < 0 else headings.sections[number]
        ends, first = _reached(units, at, at + size, section)
        earliest = max(first - size, end - overlap, start + 1)
        if number >= 0:
            earliest = max(earliest, headings.starts[number])
        start = at if start < 0 or not overlap else _repeated_from(units, earliest, end, at)
        end = _last_end(text, ends, first, start + size)
        yield start, end, headings.path(number)
        at = ink_from(text, end, units.end)


def _reached(units: Units, at: int, limit: int, section: int) -> tuple[array[int] | None, int]:
    """Return the ends of the highest rank that has one behind `at` and up to the limit, and the first of those there; None for
    words and characters."""
    if section <= limit:
        return array("q", (section,)), section
    for ends in units.ranks:
        index = bisect_right(ends, at)
        if index < len(ends) and ends[index] <= limit:
            return ends, ends[index]
    blank = blank_from(units.text, at, limit + 1)
    return None, at + 1 if blank > limit else blank


def _last_end(text: str, ends: array[int] | None, first: int, limit: int) -> int:
    """Return the last end up to the limit, at or behind `first`; with None the last end of a word, or the limit inside of one."""
    if ends is not None:
        return ends[bisect_right(ends, limit) - 1]
    blank = _last_blank(text, first, limit + 1)
    return limit if blank < 0 else ink_before(text, blank)


def _last_blank(text: str, start: int, end: int) -> int:
    """Return where the last white space in a part of the text stands; -1 if there is none."""
    size = 64
    while end > start:
        begin = max(start, end - size)
        last = max(text.rfind(blank, begin, end) for blank in WHITE_SPACE)
        if last >= 0:
            return last
        look()
        end, size = begin, min(2 * size, BLOCK)
    return -1


def _repeated_from(units: Units, earliest: int, end: int, at: int) -> int:
    """Return where a passage begins that repeats what stands before `end`, from `earliest` on: at the first unit there, else at
    the first word; `at`, where its own text begins, if there is none."""
    passed = bisect_right(units.verbatim, at) - 1
    if passed >= 0:
        earliest = max(earliest, units.verbatim[passed])
    if earliest >= end:
        return at
    index = max(bisect_left(units.whole, earliest) - 1, 0)
    for before in units.whole[index : index + 2]:
        if before < end and earliest <= (begin := ink_from(units.text, before, units.end)) < end:
            return begin
    blank = blank_from(units.text, earliest - 1, end)
    begin = at if blank == end else ink_from(units.text, blank, units.end)
    return begin if begin < end else at
