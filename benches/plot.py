"""A bar chart of ratios as SVG, on a logarithmic scale, with the limit as a line.

Hands on the text of the picture. Must not know: how ratios come about.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from .figures import MISSED, Figure

WIDTH, LABELS, NUMBERS, BAR, GAP, TOP, BOTTOM = 760, 150, 60, 18, 6, 56, 34
INK, MUTED, MET_COLOR, MISSED_COLOR, GRID = "#1f2328", "#59636e", "#3b7dd8", "#d1793b", "#d8dee4"
TICKS = (1, 2, 5, 10, 20, 50, 100, 200)


def svg(figures: Sequence[Figure], title: str) -> str:
    """The figures that have a ratio, largest last; `title` stands above."""
    shown = sorted((f for f in figures if f.ratio is not None), key=lambda f: f.ratio or 0)
    if not shown:
        raise ValueError("no figure has a ratio to plot")
    height = TOP + len(shown) * (BAR + GAP) + BOTTOM
    largest = max(f.ratio or 1 for f in shown)
    limits = {f.target.limit for f in shown if f.target is not None and f.target.on_ratio}
    scale = _Scale(max([largest, *limits]))
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        f'font-family="system-ui, sans-serif" font-size="12" role="img" aria-label="{escape(title, quote=True)}">',
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
        f'<text x="12" y="24" font-size="14" font-weight="600" fill="{INK}">{escape(title)}</text>',
        *_grid(scale, height),
    ]
    for row, figure in enumerate(shown):
        lines += _bar(figure, TOP + row * (BAR + GAP), scale)
    for limit in sorted(limits):
        lines += _limit(scale.x(limit), limit, height)
    return "\n".join([*lines, "</svg>"]) + "\n"


class _Scale:
    def __init__(self, largest: float) -> None:
        self.largest = max(largest * 1.1, 2.0)

    def x(self, ratio: float) -> float:
        """Ratios below 1 stand at the left edge."""
        part = math.log(max(ratio, 1.0)) / math.log(self.largest)
        return LABELS + part * (WIDTH - LABELS - NUMBERS)


def _grid(scale: _Scale, height: int) -> list[str]:
    lines = []
    for tick in TICKS:
        if tick <= scale.largest:
            x = scale.x(tick)
            lines.append(f'<line x1="{x:.1f}" y1="{TOP - 8}" x2="{x:.1f}" y2="{height - BOTTOM + 4}" stroke="{GRID}"/>')
            lines.append(f'<text x="{x:.1f}" y="{height - 12}" text-anchor="middle" fill="{MUTED}">{tick}×</text>')
    return lines


def _bar(figure: Figure, y: int, scale: _Scale) -> list[str]:
    assert figure.ratio is not None
    color = MISSED_COLOR if figure.verdict == MISSED else MET_COLOR
    end = max(scale.x(figure.ratio), LABELS + 1)
    middle = y + BAR - 5
    return [
        f'<text x="{LABELS - 8}" y="{middle}" text-anchor="end" fill="{INK}">{escape(figure.name)}</text>',
        f'<rect x="{LABELS}" y="{y}" width="{end - LABELS:.1f}" height="{BAR}" rx="2" fill="{color}"/>',
        f'<text x="{end + 6:.1f}" y="{middle}" fill="{INK}">{figure.ratio:.1f}</text>',
    ]


def _limit(x: float, limit: float, height: int) -> list[str]:
    return [
        f'<line x1="{x:.1f}" y1="{TOP - 12}" x2="{x:.1f}" y2="{height - BOTTOM + 4}" stroke="{MISSED_COLOR}" '
        'stroke-dasharray="4 3"/>',
        f'<text x="{x:.1f}" y="{TOP - 16}" text-anchor="middle" fill="{MISSED_COLOR}">target {limit:g}</text>',
    ]
