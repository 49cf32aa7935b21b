"""The command line of the benches: which rows, how thoroughly, and where the result goes.

Exit code 1 when a program emits something else than its twin; with `--check` also when a target of a clause is missed, which
else is a figure, not a failure.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from . import baseline, interpreters, pairs, plot, report, unseen
from .execution import Failed
from .figures import MISSED, WRONG, Figure
from .operations import OPERATIONS
from .progress import Progress
from .sampling import FULL, QUICK, Plan

PROGRAMS = (pairs.EACH, pairs.EACH_OF_BOTH)
Bench = Callable[[Plan], list[Figure]]


def main(arguments: Sequence[str]) -> int:
    options = parser().parse_args(arguments)
    benches = selected(options.names)
    if options.list:
        print("\n".join(benches))
        return 0
    if options.check and options.quick:
        raise SystemExit("benches: --check asserts what was measured; --quick measures nothing")
    if options.python:
        return on_all(options)
    figures = measured(benches, QUICK if options.quick else FULL)
    show(figures)
    if options.json:
        write_json(figures, options.json)
    if options.plot:
        write_plot(figures, options.plot)
    wrong = any(figure.wrong for figure in figures)
    missed = [figure for figure in figures if figure.verdict == MISSED] if options.check else []
    for figure in missed:
        print(f"MISSED  {report.target_text(figure.target)}: {figure.name}, {report.number(figure.judged or 0.0)}")
    if options.baseline and not wrong:
        baseline.write([figure for figure in figures if not unseen.is_row(figure)])
    return 1 if wrong or missed else 0


def on_all(options: argparse.Namespace) -> int:
    """The same rows on each interpreter of `--python`."""
    if options.baseline or options.plot:
        raise SystemExit("benches: --baseline and --plot take the figures of one interpreter, without --python")
    found = interpreters.reports(options.python, [*options.names, *(["--quick"] if options.quick else [])])
    print("\n".join(interpreters.table(found)))
    if options.json:
        write(options.json, json.dumps(found, indent=2, ensure_ascii=False) + "\n")
    return 1 if any(figure["verdict"] == WRONG for report in found for figure in report["figures"]) else 0


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(prog="benches/run.py", description="Programs with Python twins, and operations (V-8).")
    made.add_argument("names", nargs="*", metavar="NAME", help="rows to run; default all but `unseen`, a group of its own")
    made.add_argument("--quick", action="store_true", help="small sizes and three samples: a look, not a measurement")
    made.add_argument("--json", metavar="FILE", help="write the figures as JSON")
    made.add_argument("--baseline", action="store_true", help="keep the figures in benches/baseline.json")
    made.add_argument("--plot", metavar="FILE", help="write the programs' ratios as an SVG bar chart")
    made.add_argument("--python", action="append", metavar="PATH", help="on this interpreter; may be repeated to compare several")
    made.add_argument("--check", action="store_true", help="a missed target is a failure (not with --quick: no measurement)")
    made.add_argument("--list", action="store_true", help="print the names and stop")
    return made


def selected(names: Sequence[str]) -> dict[str, Bench]:
    every: dict[str, Bench] = {name: program_bench(name) for name in pairs.names()}
    every |= OPERATIONS
    if not names:
        return every
    group = {name: partial(unseen.measure, name) for name in unseen.names()}
    wanted = {*names, *(group if unseen.GROUP in names else ())} - {unseen.GROUP}
    every |= group
    unknown = sorted(wanted - every.keys())
    if unknown:
        raise SystemExit(f"benches: no bench named {', '.join(unknown)}; --list shows all")
    return {name: bench for name, bench in every.items() if name in wanted}


def program_bench(name: str) -> Bench:
    return lambda plan: pairs.measure(name, plan)


def measured(benches: dict[str, Bench], plan: Plan) -> list[Figure]:
    progress = Progress(sys.stderr, len(benches))
    found: list[Figure] = []
    for name, bench in benches.items():
        progress.step(name)
        try:
            found += bench(plan)
        except Failed as error:
            found.append(Figure(name, 0.0, "", note=str(error), wrong=True))
    progress.clear()
    return [*with_mean(found), *unseen.summary(found)]


def with_mean(figures: list[Figure]) -> list[Figure]:
    """The geometric means over all programs stand after them, by tier; over some of them they would tell nothing."""
    found: list[Figure] = []
    for form, target, mean in pairs.TIERS.values():
        programs = [figure for figure in figures if figure.target is target and not figure.wrong]
        found += programs
        if len(programs) == len(pairs.names()):
            found.append(report.mean_of(programs, form.format("geometric mean"), mean))
    return [*found, *[figure for figure in figures if figure.target not in PROGRAMS or figure.wrong]]


def show(figures: list[Figure]) -> None:
    print("\n".join(report.table(figures, baseline.read())))
    print()
    print("\n".join(report.notes([figure for figure in figures if figure.target not in PROGRAMS])))


def write_json(figures: list[Figure], file: str) -> None:
    content = {"python": platform.python_version(), "figures": [figure.as_json() for figure in figures]}
    write(file, json.dumps(content, indent=2, ensure_ascii=False) + "\n")


def write_plot(figures: list[Figure], file: str) -> None:
    title = "Concerto on both tiers: time over that of the same program in Python (smaller is better)"
    write(file, plot.svg([f for f in figures if f.target is pairs.EACH_OF_BOTH], title))


def write(file: str, text: str) -> None:
    Path(file).parent.mkdir(parents=True, exist_ok=True)
    Path(file).write_text(text, encoding="utf-8")
