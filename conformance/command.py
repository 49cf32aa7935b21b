"""What `run.py` does with its arguments (C-9.1, C-9.4).

Hands on `main` to `run.py`. It runs the suite or the test of the runner, prints through `report.py`, and gives the exit status. A
new flag is a line of `arguments`; how programs are run is for `runner.py`.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

from . import blocks, report, selftest, suite
from .protocol import Driver, DriverError, Json
from .records import Program, SuiteError
from .runner import GOOD, Outcome, Plan, run_all, two_orders

_USAGE = 2


def arguments(argv: list[str]) -> argparse.Namespace:
    """Return the options in the words behind the command's name. Argparse ends `--help` and wrong options with SystemExit."""
    parser = argparse.ArgumentParser("conformance/run.py", description="Run the conformance suite through a driver.")
    parser.add_argument("prefix", nargs="*", help="run only programs whose path begins so (lexing/, lexing/a.conc#2)")
    parser.add_argument("--driver", required=True, metavar="CMD", help="the command that starts the driver")
    parser.add_argument("--level", type=int, action="append", default=[], help="only this level; may be repeated")
    parser.add_argument("--route", action="append", default=[], help="only this route; may be repeated")
    parser.add_argument("--jobs", type=int, default=2, help="driver processes at a time (default 2)")
    parser.add_argument("--max-ms", type=float, help="a program slower than this fails the run")
    parser.add_argument("--results", metavar="FILE", help="write {program: outcome} as JSON")
    parser.add_argument("--self-test", action="store_true", help="test the runner: null driver and mutants (C-9.4)")
    parser.add_argument("--spec", metavar="DIR", help="add the concerto blocks of DIR/*.md (C-2.6)")
    parser.add_argument("--two-orders", action="store_true", help="run 100 programs in two orders (C-8.7)")
    return parser.parse_args(argv)


def main(argv: list[str]) -> int:
    """Run what the words ask for, and return the exit status: 0 if all is good; 1 if a program fails, the suite itself has errors
    or a driver does not end well; 2 if there is no program to run, `--spec` names no folder, the driver does not start or lacks a
    route, or the list of known failures is wrong."""
    options = arguments(argv)
    programs, errors = suite.load()
    if options.spec:
        if not Path(options.spec).is_dir():
            report.complain(f"no folder: {options.spec}")
            return _USAGE
        readable, wrong = blocks.read_blocks(Path(options.spec))
        programs, errors = programs + readable, errors + wrong
    for error in errors:
        report.complain(f"suite error: {error}")
    programs = suite.select(programs, options.prefix, options.level)
    if not programs:
        report.complain("no program of that path and level")
        return _USAGE
    try:
        hello = _hello(options.driver)
        plan = Plan(options.driver, tuple(options.route), suite.known_failures(str(hello["name"])))
    except (DriverError, SuiteError) as error:
        report.complain(str(error))
        return _USAGE
    if unknown := set(options.route) - set(hello["routes"]):
        report.complain(f"the driver does not offer the route {', '.join(sorted(unknown))}")
        return _USAGE
    good = _work(options, programs, plan, hello)
    return 0 if good and not errors else 1


def _hello(command: str) -> Json:
    driver = Driver(command)
    driver.close()
    return driver.hello


def _work(options: argparse.Namespace, programs: list[Program], plan: Plan, hello: Json) -> bool:
    if options.self_test:
        return selftest.run(programs, plan, options.jobs, hello)
    if options.two_orders:
        different = two_orders(programs, plan)
        for ident in different:
            print(f"depends on the order of programs: {ident}")
        print(f"{len(different)} of {min(100, len(programs))} programs depend on their order")
        return not different
    return _suite(options, programs, plan)


def _suite(options: argparse.Namespace, programs: list[Program], plan: Plan) -> bool:
    start = time.perf_counter()
    progress = report.Progress(len(programs), sys.stderr)
    outcomes, complaints = run_all(programs, plan, options.jobs, progress)
    progress.clear()
    for outcome in outcomes:
        if outcome.outcome not in GOOD:
            report.print_failure(outcome, options.driver, options.spec)
    for complaint in complaints:
        print(f"CRASH  {complaint}")
    report.print_slowest(outcomes)
    if options.results:
        results = {outcome.program.ident: outcome.outcome for outcome in outcomes}
        Path(options.results).write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    print(report.summary(outcomes, time.perf_counter() - start))
    in_time = _in_time(outcomes, options.max_ms)
    return in_time and not complaints and all(outcome.outcome in GOOD for outcome in outcomes)


def _in_time(outcomes: list[Outcome], max_ms: float | None) -> bool:
    slow = [o for o in outcomes if max_ms is not None and o.seconds * 1000 > max_ms]
    for outcome in slow:
        print(f"over {max_ms:.0f} ms: {outcome.program.ident} took {outcome.seconds * 1000:.0f} ms")
    return not slow
