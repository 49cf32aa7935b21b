"""The rows `unseen`: programs of everyday kinds that nobody tuned for, each beside its twin, on both tiers.

They stand in programs/unseen and twins/unseen and are taken and checked as other programs are (`pairs.py`). They have no target
and no place in the baseline: they say what a program costs that no bench knows. One with a line `// growth: also at twice the
size` has a second row, which compares how its time grows with how that of its twin does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from . import pairs
from .figures import Figure, geometric_mean
from .sampling import Plan, interleave, ratio

GROUP = "unseen"
GROWTH = "// growth: also at twice the size\n"
_GROWTH_ROW = "{}, growth"


def names() -> list[str]:
    """The rows of the group, `unseen/NAME` each."""
    return [f"{GROUP}/{path.stem}" for path in sorted((pairs.HERE / "programs" / GROUP).glob("*.conc"))]


def is_row(figure: Figure) -> bool:
    """Whether a figure belongs to the group, its summary included."""
    return figure.name.startswith(GROUP)


def measure(name: str, plan: Plan) -> list[Figure]:
    """The ratio of a program to its twin and, where it asks for that, of their growth. Raises WrongOutput if they disagree."""
    pair = pairs.pair(name)
    figures = [replace(pair.measure(name, plan, "both"), target=None, note="")]
    if GROWTH in pair.source:
        figures.append(growth(name, pair, plan))
    return figures


def growth(name: str, pair: pairs.Pair, plan: Plan) -> Figure:
    """What twice the size multiplies the program's time by; the ratio divides that by what it multiplies the twin's by."""
    size = pair.quick if plan.quick else pair.full
    programs = [pair.check(n, "both") for n in (size, 2 * size)]
    twins = [partial(pair.twin_output, n) for n in (size, 2 * size)]
    small, large, twin_small, twin_large = interleave([*(program.run for program in programs), *twins], plan)
    factor, twin_factor = ratio(large, small), ratio(twin_large, twin_small)
    spread = max(samples.spread for samples in (small, large, twin_small, twin_large))
    return Figure(_GROWTH_ROW.format(name), factor, "×", ratio=factor / twin_factor, spread=spread)


def summary(figures: Sequence[Figure]) -> list[Figure]:
    """The geometric mean and the worst ratio, once every program of the group has one; growth does not count."""
    programs = {figure.name: figure.ratio for figure in figures if figure.name in names() and figure.ratio is not None}
    if list(programs) != names():
        return []
    mean = geometric_mean(programs.values())
    worst = max(programs, key=lambda name: programs[name])
    return [
        Figure(f"{GROUP}, geometric mean", mean, "×", ratio=mean, note=f"of {len(programs)} programs"),
        Figure(f"{GROUP}, worst", programs[worst], "×", ratio=programs[worst], note=worst),
    ]
