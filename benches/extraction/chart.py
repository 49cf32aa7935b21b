"""The figures of the corpus as SVG and as a page: outcomes by class and reader, time by length.

Hands on texts. Must not know: how they were measured.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from ..plot import GRID, INK, MET_COLOR, MISSED_COLOR, MUTED
from .corpus import CLASSES

WIDTH, LABELS, NUMBERS, BAR, GAP, GROUP, TOP = 760, 170, 110, 14, 4, 26, 74
TITLES = {
    "A": "one clear reading",
    "B": "a likely reading",
    "G": "a guess: refusing is right",
    "R": "no answer: must be refused",
    "cut": "cut off: must be refused",
}

Counts = tuple[int, int, int]
Outcomes = Mapping[str, Mapping[str, Counts]]
"""By reader and class: right, refused, wrong."""
Times = Mapping[str, Mapping[int, float | None]]
"""By reader and length in bytes: seconds, None where the reader gives no value."""


def svg(outcomes: Outcomes) -> str:
    height = TOP + len(CLASSES) * (GROUP + len(outcomes) * (BAR + GAP)) + 8
    title = "Reading replies: right, refused and wrong values on the same rows"
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        f'font-family="system-ui, sans-serif" font-size="12" role="img" aria-label="{escape(title, quote=True)}">',
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
        f'<text x="12" y="24" font-size="14" font-weight="600" fill="{INK}">{escape(title)}</text>',
        *_legend(),
    ]
    y = TOP
    for cls in CLASSES:
        rows = sum(next(iter(outcomes.values()))[cls])
        lines.append(f'<text x="12" y="{y + 10}" font-weight="600" fill="{INK}">{cls}</text>')
        lines.append(f'<text x="42" y="{y + 10}" fill="{MUTED}">{escape(TITLES[cls])}, {rows} rows</text>')
        y += GROUP - 8
        for reader, counts in outcomes.items():
            lines += _bar(reader, counts[cls], y, cls)
            y += BAR + GAP
        y += 8
    return "\n".join([*lines, "</svg>"]) + "\n"


def _legend() -> list[str]:
    colors = (MET_COLOR, GRID, MISSED_COLOR)
    texts = ("right value, or rightly refused", "refused, though there is a reading", "wrong value")
    lines, x = [], 12
    for color, text in zip(colors, texts, strict=True):
        lines.append(f'<rect x="{x}" y="40" width="12" height="12" rx="2" fill="{color}"/>')
        lines.append(f'<text x="{x + 18}" y="50" fill="{MUTED}">{text}</text>')
        x += 42 + 6 * len(text)
    return lines


def _bar(reader: str, counts: Counts, y: int, cls: str) -> list[str]:
    right, refused, wrong = counts
    parts = ((right, MET_COLOR), (refused, GRID if cls in "AB" else MET_COLOR), (wrong, MISSED_COLOR))
    middle, scale = y + BAR - 3, (WIDTH - LABELS - NUMBERS) / max(sum(counts), 1)
    lines = [f'<text x="{LABELS - 8}" y="{middle}" text-anchor="end" fill="{INK}">{escape(reader)}</text>']
    x = float(LABELS)
    for count, color in parts:
        if count:
            lines.append(f'<rect x="{x:.1f}" y="{y}" width="{count * scale:.1f}" height="{BAR}" fill="{color}"/>')
        x += count * scale
    lines.append(f'<text x="{x + 6:.1f}" y="{middle}" fill="{INK}">{right}/{refused}/{wrong}</text>')
    return lines


# ---------------------------------------------------------------- the page


def page(outcomes: Outcomes, times: Mapping[str, Times], missing: Sequence[str]) -> str:
    return "\n".join([*HEAD, "", *table(outcomes), "", *_note(missing), *SPEED, *time_tables(times), ""])


HEAD = """\
# Reading replies

Written by `python -m benches.extraction --write`, which measures what is installed of `benches/extraction/requirements.txt`.

![outcomes](extraction.svg)

The corpus (`benches/extraction/*.jsonl`) is our own. Each row is a reply, a schema and the value that is right. Classes of
`hand.jsonl` are judged by hand, by those who wrote our reader; rows that it refuses stand there too. `rendered.jsonl` (class A)
and `cut.jsonl` are certain by construction. **A** has one clear reading, **B** a likely one; **G** needs a guess or has lost
something, so refusing is right; **R** has no answer in it; **cut** lost its end. Right / refused / **wrong**:
""".splitlines()

SPEED = """\
json_repair and jiter (with `partial_mode`) know no schema: their values go through the same validation as ours, with the exact
spelling of set members. jiter and pydantic read the whole text only, so they refuse what stands in prose or a fence. pydantic
converts scalars in its lax mode.

## Time

CPU time for a reply of 38 KB, twice and eight times that; `—`: it gives no value. Best of some samples.
""".splitlines()


def _note(missing: Sequence[str]) -> list[str]:
    return [f"Not installed: {', '.join(missing)}.", ""] if missing else []


def table(outcomes: Outcomes) -> list[str]:
    lines = ["| | " + " | ".join(outcomes) + " |", "|---" * (len(outcomes) + 1) + "|"]
    for cls in CLASSES:
        cells = [f"{counts[cls][0]}/{counts[cls][1]}/**{counts[cls][2]}**" for counts in outcomes.values()]
        lines.append(f"| {cls}: {TITLES[cls]} | " + " | ".join(cells) + " |")
    return lines


def time_tables(times: Mapping[str, Times]) -> list[str]:
    lines = []
    for title, by_reader in times.items():
        sizes = list(next(iter(by_reader.values())))
        head = [f"{size / 1000:,.0f} KB" for size in sizes]
        lines += ["", f"{title}:", "", "| | " + " | ".join([*head, "a byte, last over first"]) + " |"]
        lines.append("|---" * (len(sizes) + 2) + "|")
        for reader, seconds in by_reader.items():
            cells = [_milliseconds(seconds[size]) for size in sizes]
            first, last = seconds[sizes[0]], seconds[sizes[-1]]
            growth = f"{(last / sizes[-1]) / (first / sizes[0]):.2f} ×" if first and last else "—"
            lines.append(f"| {reader} | " + " | ".join([*cells, growth]) + " |")
    return lines


def _milliseconds(seconds: float | None) -> str:
    return "—" if seconds is None else f"{seconds * 1e3:,.1f} ms" if seconds < 1 else f"{seconds * 1e3:,.0f} ms"
