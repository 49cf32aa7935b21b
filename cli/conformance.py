"""`concerto conformance`: run the programs of the suite on this installation, and print a verdict for each clause (O-9.24).

Hands on `configure`, which describes the flags to a parser, and `execute`, which gets their values and returns the exit code,
to `main`. A clause is a numbered rule of the specification; its verdict is good if every program that names it passed; programs
that the driver does not claim count in none. How programs are read and run is the suite's own business (`conformance/`); it
knows the implementation as a driver process only.
"""

from __future__ import annotations

import os
import sys

from . import exits
from .terminal import BOLD_RED, GREEN, painted

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from ..conformance.records import Program
    from ..conformance.verdicts import Verdict


MOST_JOBS = 2  # processes of the driver at a time


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--filter", metavar="ID", help="only this clause and those below it (O-9, L-5.2)")
    parser.add_argument("--list", action="store_true", help="list the clauses and how many programs each has; run nothing")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of lines")


def execute(arguments: argparse.Namespace) -> int:
    """Run the programs of the clauses and print the verdicts, with `--quiet` those that failed, with `--json` always all;
    return 0 if all are good and the suite itself is in order, else 1. With `--list` nothing runs. Raise `Exit` (1) if no
    program names the clause."""
    from ..conformance import suite
    from ..conformance.verdicts import named

    programs, errors = suite.load()
    for error in errors:
        print(f"suite error: {error}", file=sys.stderr)
    programs = named(programs, arguments.filter)
    if not programs:
        raise exits.Exit(exits.FAILED, f"no program of the suite names a clause {arguments.filter}")
    if arguments.list:
        _list(programs, arguments)
        return exits.FAILED if errors else exits.OK
    results, complaints = _run(programs, arguments.filter)
    for complaint in complaints:
        print(complaint, file=sys.stderr)
    if arguments.json:
        _print_json(results, len(programs))
    else:
        _print(results, len(programs), failures_only=arguments.quiet)
    good = all(verdict.passed for verdict in results) and not errors and not complaints
    return exits.OK if good else exits.FAILED


def _list(programs: list[Program], arguments: argparse.Namespace) -> None:
    from ..conformance.verdicts import clauses_of

    counts = clauses_of(programs, arguments.filter)
    if arguments.json:
        import json

        print(json.dumps({"clauses": [{"clause": clause, "programs": count} for clause, count in counts.items()]}))
        return
    for clause, count in counts.items():
        print(f"{clause} {count}")


def _run(programs: list[Program], clause: str | None) -> tuple[list[Verdict], list[str]]:
    """Return the verdicts of the clauses and the complaints of the runner. Programs run in processes of the driver, at most
    MOST_JOBS at a time."""
    from ..conformance import report, runner, suite
    from ..conformance.verdicts import verdicts

    driver = [sys.executable, str(suite.ROOT / "drivers" / "concerto.py")]
    progress = report.Progress(len(programs), sys.stderr)
    plan = runner.Plan(driver, known=suite.known_failures("concerto"))
    outcomes, complaints = runner.run_all(programs, plan, min(MOST_JOBS, os.cpu_count() or 1), progress)
    progress.clear()
    return verdicts(outcomes, clause), complaints


def _print(results: list[Verdict], programs: int, *, failures_only: bool) -> None:
    for verdict in results:
        if not verdict.passed:
            print(f"{painted('FAIL', BOLD_RED, sys.stdout)} {verdict.clause} -- {verdict.reason}")
        elif not failures_only:
            print(f"{painted('PASS', GREEN, sys.stdout)} {verdict.clause}")
    passed = sum(verdict.passed for verdict in results)
    print(f"{passed} passed, {len(results) - passed} failed ({programs} programs)")


def _print_json(results: list[Verdict], programs: int) -> None:
    import json

    rows = [
        {"clause": v.clause, "passed": v.passed, "reason": v.reason or None, "programs": v.programs} for v in results
    ]
    passed = sum(verdict.passed for verdict in results)
    summary = {"passed": passed, "failed": len(results) - passed, "programs": programs}
    print(json.dumps({"clauses": rows, "summary": summary}, ensure_ascii=False))
