"""The figures of durable runs as tables of the guide and as a chart.

Hands on `page`, `tables` and `svg`, made of what stands in docs/generated/durable-peers.json. Must not know: how it was measured.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from html import escape
from typing import Any

from ..plot import GRID, INK, MET_COLOR, MISSED_COLOR, MUTED

Json = Mapping[str, Any]
BASE = "bare"
WIDTH, LABELS, BAR, GAP, TOP, PANEL, SPACE = 760, 96, 16, 8, 66, 200, 16


def page(figures: Json) -> list[str]:
    machine = figures["machine"]
    if machine is None:
        return ["Nothing was measured yet.", "", *tables(figures)]
    return [f"{machine['date']}, {machine['cores']} cores, load {machine['load']}", "", *tables(figures)]


def tables(figures: Json) -> list[str]:
    return [*kills_table(figures["variants"]), "", *steps_table(figures["steps"])]


def kills_table(variants: Json) -> list[str]:
    head = ("", "Lines", "Model calls repeated: had gone on", "answered", "in flight", "Charges in doubt", "charged twice",
            "Wrong results", "Kills in runs", "Next call after")  # fmt: skip
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    for variant in variants.values():
        kills = variant["kills"]
        cells = [variant["title"], str(variant["lines"])]
        if kills is None:
            cells += ["not measured", *[""] * (len(head) - 3)]
        else:
            model, waited = kills["model"], kills["waited"]
            cells += [str(model["gone on"] + model["no kill"]), str(model["answered"]), str(model["in flight"])]
            cells += [str(sum(kills["bank"].values())), str(kills["double_charges"]), str(kills["wrong"])]
            cells += [f"{kills['kills']} in {kills['runs']}", f"{waited['median']:.1f} s" if waited else ""]
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def steps_table(steps: Json) -> list[str]:
    head = (
        "A step",
        "Wall: median",
        "in the best round",
        "Computing: process",
        "service",
        "More than the SDK: wall",
        "computing",
    )
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    for name, step in steps.items():
        cells = [step["title"], _ms(step["wall"]["median"]), _ms(step["wall"]["best_round"]), _ms(step["process"]["least"])]
        cells.append(_ms(step["service"]["least"]) if step["service"]["median"] else "")
        if name == BASE or BASE not in steps:
            cells += ["", ""]
        else:
            cells += [_ms(overhead_wall(steps, name)), _ms(overhead_computing(steps, name))]
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def overhead_wall(steps: Json, name: str) -> float:
    """Seconds that a step takes longer than a call of the SDK alone, each in its best round."""
    return float(steps[name]["wall"]["best_round"] - steps[BASE]["wall"]["best_round"])


def overhead_computing(steps: Json, name: str) -> float:
    """Seconds that process and service compute more than the SDK alone, each in its best round."""
    step = steps[name]
    return float(step["process"]["least"] + step["service"]["least"] - steps[BASE]["process"]["least"])


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:.1f} ms"


# ---------------------------------------------------------------- the chart


def svg(figures: Json) -> str:
    variants, steps = figures["variants"], figures["steps"]
    height = TOP + len(variants) * (BAR + GAP) + 16
    title = "The approval example: durable, in four ways"
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        f'font-family="system-ui, sans-serif" font-size="12" role="img" aria-label="{escape(title, quote=True)}">',
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
        f'<text x="12" y="24" font-size="14" font-weight="600" fill="{INK}">{escape(title)}</text>',
    ]
    for row, variant in enumerate(variants.values()):
        y = TOP + row * (BAR + GAP) + BAR - 4
        lines.append(f'<text x="{LABELS - 8}" y="{y}" text-anchor="end" fill="{INK}">{escape(variant["title"])}</text>')
    kills = {name: variant["kills"] for name, variant in variants.items()}
    panels: list[tuple[str, Callable[[str], float | None], Callable[[float], str]]] = [
        ("lines of user code", lambda name: variants[name]["lines"], lambda value: f"{value:.0f}"),
        ("model calls repeated, 100 kills", lambda name: repeated(kills[name]), lambda value: f"{value:.0f}"),
        ("a step more than the SDK alone", lambda name: overhead_wall(steps, name) if name in steps else None, _ms),
    ]
    for number, (name, value, text) in enumerate(panels):
        lines += _panel(LABELS + number * (PANEL + SPACE), name, {each: value(each) for each in variants}, text)
    return "\n".join([*lines, "</svg>"]) + "\n"


def repeated(kills: Json | None) -> int | None:
    """Model calls that came again, None where nobody was killed."""
    return None if kills is None else sum(kills["model"].values())


def _panel(x: int, title: str, values: Mapping[str, float | None], text: Callable[[float], str]) -> Iterator[str]:
    yield f'<text x="{x}" y="{TOP - 14}" fill="{MUTED}">{escape(title)}</text>'
    yield f'<line x1="{x}" y1="{TOP - 6}" x2="{x}" y2="{TOP + len(values) * (BAR + GAP)}" stroke="{GRID}"/>'
    largest = max([value for value in values.values() if value is not None], default=0.0) or 1.0
    for row, (name, value) in enumerate(values.items()):
        y = TOP + row * (BAR + GAP)
        width = 0.0 if value is None else max(value, 0.0) / largest * (PANEL - 56)
        color = MET_COLOR if name == "concerto" else MISSED_COLOR
        yield f'<rect x="{x}" y="{y}" width="{width:.1f}" height="{BAR}" fill="{color}"/>'
        shown = "not measured" if value is None else text(value)
        yield f'<text x="{x + width + 6:.1f}" y="{y + BAR - 4}" fill="{INK}">{shown}</text>'
