"""`std::text::chunks` (O-1.242 to O-1.244): its laws on texts of any kind, and a slow reading that it agrees with."""

from __future__ import annotations

import re
from typing import Any

import pytest
from concerto.vm.builtins import std_row
from concerto.vm.builtins.passages import WAYS, cuts
from concerto.vm.panics import Panic
from concerto.vm.values import Array
from concerto.vm.values.limits import with_strings_of
from hypothesis import example, given, settings
from hypothesis import strategies as st

BLANKS = re.compile(r"[\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+")
PIECES = [
    *("a", "b", "Ab ", "c. ", "D! ", " ", "\n", "\n\n", "\r\n", "\t", "\u3000", "\u2029", "。", "！）", "…", '?" ', "x.y"),
    *("中文", "Dr. ", "J. ", "1. ", "12. ", "# ", "## ", "\n# X\n", "\n### Y ##\n", "\n###### Z\n", "```\n", "\n~~~~\n", "| a |"),
    *("\n|---|\n", "- ", "\n* item ", "*bold.* Then ", "longer words of prose. "),
]  # fmt: skip
TEXTS = st.lists(st.sampled_from(PIECES), max_size=50).map("".join) | st.text(max_size=80)
SIZES = st.tuples(st.integers(1, 50), st.integers(0, 49)).map(lambda pair: (pair[0], pair[1] % pair[0]))
DAYS = settings(max_examples=400, deadline=None)


def without_blanks(text: str) -> str:
    return BLANKS.sub("", text)


@DAYS
@given(TEXTS, SIZES, st.sampled_from(WAYS))
def test_passages_are_the_text_but_blanks(text: str, sizes: tuple[int, int], by: str) -> None:
    found = list(cuts(text, sizes[0], 0, by))
    assert without_blanks("".join(text[start:end] for start, end, _ in found)) == without_blanks(text)


@DAYS
@given(TEXTS, SIZES, st.sampled_from(WAYS))
@example("aa bb cc dd", (8, 7), "sentence")
def test_a_passage_is_no_longer_than_its_size_and_repeats_no_more_than_its_overlap(
    text: str, sizes: tuple[int, int], by: str
) -> None:
    size, overlap = sizes
    last_start, last_end = -1, 0
    for start, end, _ in cuts(text, size, overlap, by):
        assert 0 < end - start <= size
        assert not BLANKS.match(text[start]) and not BLANKS.match(text[end - 1])
        assert last_start < start and last_end < end
        assert last_end - start <= overlap
        assert BLANKS.sub("", text[last_end : max(start, last_end)]) == ""
        last_start, last_end = start, end
    assert BLANKS.sub("", text[last_end:]) == ""


# ----------------------------------------------------------------
# The clauses read once more, without thought of time: `unit_ends` says what ends where, `slow` looks for the largest unit.

TOP, WORD, CHARACTER = 20, 1, 0
BLOCK, SENTENCE, BEHIND_HEADING, LINE = 10, 5, 4, 3
SHORT = "mr|mrs|ms|dr|prof|sr|jr|st|vs|fig|eq|vol|pp|cf|approx|ca|bzw|hr|fr|mme"
HEADING = re.compile(r" {0,3}(#{1,6})(?=[ \t\r]|$)(.*)", re.DOTALL)


def stripped_end(text: str, at: int) -> int:
    while at and BLANKS.match(text[at - 1]):
        at -= 1
    return at


def first_ink(text: str, at: int) -> int:
    while at < len(text) and BLANKS.match(text[at]):
        at += 1
    return at


def sentences(prose: str) -> list[int]:
    ends = []
    for found in re.finditer("([.!?…؟۔।॥։。！？｡።។။]+)[\"'”’»›)\\]}*_`）］」』】〉》]*", prose):
        before, behind = prose[: found.start()], prose[found.end() :]
        if found[1][-1] not in "。！？｡።។။":
            if behind and not BLANKS.match(behind[0]) or BLANKS.sub("", behind)[:1].islower():
                continue
            word = re.search(r"[^\W\d_]*$", before)[0]  # type: ignore[index]
            if found[1] == "." and (re.fullmatch(SHORT, word.lower()) or (len(word) == 1 and word.lower() != word.upper())):
                continue
            if found[1] == "." and re.fullmatch(r"[ \t]*[0-9]+[ \t]*", before.rpartition("\n")[2]):
                continue
        ends.append(found.end())
    return ends


def kinds_of(lines: list[str]) -> list[str]:
    """A letter for each line: heading, prose, item, first and further line of something verbatim, empty."""
    kinds, fence, table = [], "", False
    for number, line in enumerate(lines):
        opening = re.match(r" {0,3}(`{3,}|~{3,})", line)
        below = lines[number + 1] if number + 1 < len(lines) else ""
        table = table and without_blanks(line) != ""
        if not without_blanks(line):
            kind = " "
        elif fence:
            kind = "v"
            if opening and opening[1].startswith(fence) and re.fullmatch(r"[ \t\r]*", line[opening.end() :]):
                fence = ""
        elif HEADING.match(line):
            kind, table = "h", False
        elif opening and (opening[1][0] == "~" or "`" not in line[opening.end() :]):
            kind, fence, table = "V", opening[1], False
        elif table:
            kind = "v"
        elif "|" in line and re.fullmatch(r"[|:\- \t\r]+", below) and "|" in below and "-" in below:
            kind, table = "V", True
        else:
            kind = "i" if re.match(r"[ \t]*([-*+]|[0-9]{1,9}[.)])[ \t]", line) else "p"
        kinds.append(kind)
    return kinds


def unit_ends(text: str, by: str) -> tuple[dict[int, int], list[tuple[int, int, str]], list[int]]:
    """The rank of each end; the headings, where each begins, its level and text; the ends of what is verbatim."""
    lines = text[: stripped_end(text, len(text))].split("\n")
    kinds = kinds_of(lines) if by == "markdown" else ["p" if without_blanks(line) else " " for line in lines]
    starts = [sum(len(line) + 1 for line in lines[:number]) for number in range(len(lines))]
    ends: dict[int, int] = {}
    headings, verbatim = [], []
    prose = -1
    last = ""
    for number, kind in enumerate(kinds):
        if kind == " ":
            continue
        start, end = starts[number], stripped_end(text, starts[number])
        is_gap = number > 0 and kinds[number - 1] == " "
        rank = -1
        if last and kind == "v":
            rank = LINE
        elif last == "h":
            rank = BEHIND_HEADING
        elif last and kind == "h":
            rank = 18 - len(HEADING.match(lines[number])[1])  # type: ignore[index]
        elif last and (is_gap or kind == "V" or last in "vV"):
            rank = SENTENCE if by == "sentence" else BLOCK
        elif last and kind == "i":
            rank = SENTENCE
        if last in ("v", "V") and kind != "v":
            verbatim.append(end)
        if rank >= 0:
            if prose >= 0:
                ends.update({prose + at: SENTENCE for at in sentences(text[prose:end])})
                prose = -1
            ends[end] = rank
        if kind == "h":
            marks, rest = HEADING.match(lines[number]).groups()  # type: ignore[union-attr]
            title = BLANKS.sub(lambda m: m[0] if m.start() > 0 and m.end() < len(m.string) else "", rest)
            closed = re.fullmatch(r"(|.*?[ \t])#+", title, re.DOTALL)
            title = closed[1] if closed else title
            headings.append((first_ink(text, start), len(marks), title[: stripped_end(title, len(title))][:200]))
        elif kind in "pi" and prose < 0:
            prose = first_ink(text, start)
        last = kind
    if prose >= 0:
        ends.update({prose + at: SENTENCE for at in sentences(text[prose : stripped_end(text, len(text))])})
    return ends, headings, verbatim


def path_at(headings: list[tuple[int, int, str]], at: int) -> list[tuple[int, int, str]]:
    path: list[tuple[int, int, str]] = []
    for heading in headings:
        if heading[0] <= at:
            path = [above for above in path if above[1] < heading[1]] + [heading]
    return path


def slow(text: str, size: int, overlap: int, by: str) -> list[tuple[int, int, tuple[str, ...]]]:
    whole = stripped_end(text, len(text))
    ends, headings, verbatim = unit_ends(text, by)
    found: list[tuple[int, int, tuple[str, ...]]] = []
    at = first_ink(text, 0)
    while at < whole:
        path = path_at(headings, at)
        over = [stripped_end(text, h[0]) for h in headings if path and h[0] > at and h[1] <= path[-1][1]]
        section = min([whole, *over])

        def rank(end: int, section: int = section) -> int:
            is_word = end < len(text) and bool(BLANKS.match(text[end])) and not BLANKS.match(text[end - 1])
            return TOP if end == section else ends.get(end, WORD if is_word else CHARACTER)

        reached = range(at + 1, min(at + size, section) + 1)
        best = max(map(rank, reached))
        wanted = [end for end in reached if rank(end) == best]
        start = at
        if found and overlap:
            least = [found[-1][0] + 1, found[-1][1] - overlap, wanted[0] - size, *(h[0] for h in path[-1:])]
            least += [end for end in verbatim if end <= at]
            possible = range(max(least), found[-1][1])
            units = [first for end in sorted(ends) if (first := first_ink(text, end)) in possible]
            words = [p for p in possible if BLANKS.match(text[p - 1]) and not BLANKS.match(text[p])]
            start = [*units, *words, at][0]
        end = max(end for end in wanted if end <= start + size)
        found.append((start, end, tuple(title for _, _, title in path)))
        at = first_ink(text, end)
    return found


@DAYS
@given(TEXTS, SIZES, st.sampled_from(WAYS))
@example("# A\n# B\n## C\nText one. Text two.\n\n## D\nMore.", (20, 9), "markdown")
def test_a_slow_reading_of_the_clauses_cuts_alike(text: str, sizes: tuple[int, int], by: str) -> None:
    assert list(cuts(text, *sizes, by)) == slow(text, *sizes, by)


# ----------------------------------------------------------------
# The row.


def chunks(*arguments: Any) -> Any:
    row = std_row("text", "chunks")
    assert row is not None
    return row.body(*arguments)


def test_passages_together_are_no_longer_than_a_string() -> None:
    long = "abc " * 1000
    assert len(with_strings_of(8000, lambda: chunks(long, 100, 40, "sentence")).items) > 40
    with pytest.raises(Panic) as panic:
        with_strings_of(5000, lambda: chunks(long, 100, 50, "sentence"))
    assert panic.value.code == "P103"


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("a", 0, 0, "sentence"), "P013"), (("a", 2, 2, "sentence"), "P013"), (("a", 2, -1, "sentence"), "P013"),
        (("a", 2, 0, "words"), "P007"), ((1, 2, 0, "sentence"), "P007"), (("a", 2.0, 0, "sentence"), "P007"),
    ],
)  # fmt: skip
def test_what_is_no_size_overlap_or_word(arguments: tuple[Any, ...], code: str) -> None:
    with pytest.raises(Panic) as panic:
        chunks(*arguments)
    assert panic.value.code == code


def test_a_heading_is_repeated_up_to_200_characters() -> None:
    (passage,) = chunks(f"# {'x' * 300}\na", 400, 0, "markdown").items
    assert type(passage.f2) is Array and passage.f2.items == ["x" * 200]
