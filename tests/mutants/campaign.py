"""Plants one-line changes in copies of the product, and looks which the suite or the tests find (C-12.7).

`verdict` runs some of the programs that come to the change, then tests, then more of the programs, and ends at the first that
fails. A change that many programs and tests come to is not given to all of them, so what it says of survivors is an upper bound.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from conformance import suite
from conformance.records import Program
from conformance.runner import GOOD, Outcome, Plan, run_all

from .changes import ROOT, Change
from .fork_server import PIPES, UNFIT
from .planting import WRITES_THE_LOOP, Planting
from .reach_map import SILENCE, Reached

FIRST = 24  # programs that run before the tests
PROGRAMS = 200  # at most, of those that come to a change
SECONDS_OF_TESTS = 10.0  # at most, of the tests that come to a change, as long as they took with probes
SECONDS = 40 + 4 * SECONDS_OF_TESTS  # after which these tests hang


class Verdict(NamedTuple):
    change: Change
    by: str
    """The program or test that found it; empty: it survived."""
    reached: int
    """How many programs and tests come to the change."""


class Tests:
    """A process of pytest in a copy of the tree, which forks for each change (`fork_server.py`)."""

    def __init__(self, planting: Planting) -> None:
        self.planting = planting
        requests, self._requests = os.pipe()
        self._answers, answers = os.pipe()
        environment = {**planting.environment, PIPES: f"{requests} {answers}"}
        command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "tests.mutants.fork_server", "-p", "no:cacheprovider"]
        with (planting.tree.parent / "tests.log").open("w") as log:
            self._process = subprocess.Popen(
                command, cwd=planting.tree, env=environment, stdout=log, stderr=log, pass_fds=(requests, answers)
            )
        os.close(requests)
        os.close(answers)
        self._lines = os.fdopen(self._answers)
        self._lines.readline()  # when all is imported

    def first_that_fails(self, change: Change | None, names: list[str], seconds: float) -> str:
        """The first test that fails, or in which `seconds` passed; nothing if none; `UNFIT`."""
        file, old = (change.file, (ROOT / change.file).read_text()) if change else ("", "")
        request = {"file": file, "old": old, "tests": names, "seconds": seconds}
        os.write(self._requests, json.dumps(request).encode() + b"\n")
        return str(json.loads(self._lines.readline()))

    def close(self) -> None:
        os.close(self._requests)
        self._process.wait()
        self._lines.close()


class Campaign:
    """What the verdicts of one run have in common."""

    def __init__(self, changes: list[Change], reached: Reached, folder: Path) -> None:
        self.changes = changes
        self.reached = reached
        self.programs = {program.ident: program for program in suite.load()[0]}
        self.breadth = Counter(name for row in reached.tests for name, _ in row)
        self.unsteady: set[str] = set()  # tests that have failed without a change
        self.planting = Planting(folder)
        self.planting.precompile()
        self.tests = Tests(self.planting)

    def verdict(self, number: int) -> Verdict:
        change, names = self.changes[number], self.reached.programs[number]
        count = len(names) + len(self.tests_of(number))
        chosen = random.Random(number).sample(names, min(PROGRAMS, len(names)))
        with self.planting.planted(change) as why:
            by = why or self._by_programs(chosen[:FIRST])
        by = by or self._by_tests(number)
        if not by:
            with self.planting.planted(change):
                by = self._by_programs(chosen[FIRST:])
        return Verdict(change, by, count)

    def _by_programs(self, names: list[str]) -> str:
        return first_that_fails([self.programs[name] for name in names], self.planting)

    def _by_tests(self, number: int) -> str:
        """In forks, and what an import comes to also in a process that imports the changed tree."""
        change = self.changes[number]
        by = UNFIT
        if change.file not in WRITES_THE_LOOP:
            by = self._first(number, lambda names: self.tests.first_that_fails(change, names, SECONDS))
        if by == UNFIT or (not by and number in self.reached.at_import):
            by = self._first(number, lambda names: alone(self.planting, names, SECONDS))
        return by

    def _first(self, number: int, ask: Callable[[list[str]], str]) -> str:
        """A test that fails without the change too, as one may in a fork, or on a busy machine, is left out from then on."""
        names = self.chosen(number)
        while names:
            with self.planting.planted(self.changes[number]):
                by = ask(names)
            if "::" not in by:  # nothing fails, or all of them do
                return "" if by and alone(self.planting, names, SECONDS) else by
            if not self.tests.first_that_fails(None, [by], SECONDS):
                return by
            self.unsteady.add(by)
            names.remove(by)
        return ""

    def chosen(self, number: int) -> list[str]:
        """Tests that come to the change: cheap ones first, and those that come to few of the other changes."""
        total, names = 0.0, []
        for name, seconds in sorted(self.tests_of(number), key=lambda row: (row[1] + 0.002) * self.breadth[row[0]]):
            total += seconds
            if total > SECONDS_OF_TESTS:
                break
            if name not in self.unsteady:
                names.append(name)
        return names

    def tests_of(self, number: int) -> list[tuple[str, float]]:
        """Those that come to the change while they run, or all where only an import does."""
        imported = self.reached.all_tests if number in self.reached.at_import else []
        return self.reached.tests[number] or imported

    def close(self) -> None:
        self.tests.close()


def alone(planting: Planting, names: list[str], seconds: float) -> str:
    """The first of the tests or files that fails in a process that imports the copy as it is now, or nothing.

    What fails before the first test, or does not end in `seconds`, has a name too.
    """
    if not names:
        return ""  # pytest would run all tests
    listed = planting.tree.parent / "tests.txt"
    listed.write_text("\n".join(names))
    command = ("-m", "pytest", "-x", "-q", "-n", "0", "-rfE", "--tb=no", "-p", "no:cacheprovider", f"@{listed}")
    try:
        done = planting.run(*command, timeout=seconds)
    except subprocess.TimeoutExpired:
        return "no end of the tests"
    for line in done.stdout.splitlines():
        if line.startswith(("FAILED ", "ERROR ")):
            return line.split(" ", 1)[1].split(" - ")[0]
    return "" if done.returncode in (0, 5) else "the collection of tests"


class _Found(Exception):
    """Ends a run of programs at the first that fails."""


def first_that_fails(programs: list[Program], planting: Planting) -> str:
    """The name of a program that fails in the copy as it is now, or nothing."""
    failed: list[str] = []

    def done(outcome: Outcome) -> None:
        if outcome.outcome not in GOOD:
            failed.append(outcome.program.ident)
            raise _Found

    with suppress(_Found):
        run_all(programs, Plan(planting.command("conformance/drivers/concerto.py"), silence=SILENCE), 1, done)
    return failed[0] if failed else ""
