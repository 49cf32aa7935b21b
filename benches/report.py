"""Figures as a table, against the baseline where there is one.

Hands on lines of text. Must not know: how figures were measured.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .figures import Figure, Target, geometric_mean
from .pairs import MEAN

HEAD = ("row", "target", "figure", "", "ratio", "±", "change", "verdict")


def table(figures: Sequence[Figure], baseline: Mapping[str, float]) -> list[str]:
    """Head, one line a figure, columns aligned."""
    rows = [HEAD, *(cells(figure, baseline) for figure in figures)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(HEAD))]
    left = {0, 1, 3, 7}
    lines = []
    for row in rows:
        aligned = (
            text.ljust(width) if i in left else text.rjust(width) for i, (text, width) in enumerate(zip(row, widths, strict=True))
        )
        lines.append("  ".join(aligned).rstrip())
    return lines


def cells(figure: Figure, baseline: Mapping[str, float]) -> tuple[str, ...]:
    if figure.wrong:
        return (figure.name, target_text(figure.target), "", "", "", "", "", figure.verdict)
    return (
        figure.name,
        target_text(figure.target),
        number(figure.value),
        figure.unit,
        "" if figure.ratio is None else number(figure.ratio),
        f"{figure.spread / 2:.0%}" if figure.spread else "",
        change(figure, baseline),
        figure.verdict,
    )


def target_text(target: Target | None) -> str:
    if target is None:
        return ""
    what = "ratio " if target.on_ratio else ""
    return f"{target.clause} {what}{'≥' if target.least else '≤'} {target.limit:,g}"


def change(figure: Figure, baseline: Mapping[str, float]) -> str:
    """How much more than in the baseline, of the ratio where there is one."""
    before = baseline.get(figure.name)
    return f"{figure.comparable / before - 1:+.0%}" if before else ""


def number(value: float) -> str:
    """Three significant digits, thousands in groups."""
    if value == 0:
        return "0"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.2f}" if abs(value) >= 10 else f"{value:.3g}"


def mean_of(figures: Sequence[Figure], name: str = "geometric mean", target: Target = MEAN) -> Figure:
    """The row of the geometric mean of the ratios."""
    ratios = [figure.ratio for figure in figures if figure.ratio is not None]
    mean = geometric_mean(ratios)
    return Figure(name, mean, "×", target, ratio=mean, note=f"of {len(ratios)} programs")


def notes(figures: Sequence[Figure]) -> list[str]:
    width = max((len(figure.name) for figure in figures if figure.note), default=0)
    return [f"{figure.name.ljust(width)}  {figure.note}" for figure in figures if figure.note]
