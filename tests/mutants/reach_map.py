"""The map of a campaign: which programs and tests come to which change, from one run of everything in a copy with probes."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from conformance import suite
from conformance.runner import GOOD, Outcome, Plan, run_all

from .changes import ROOT, Change
from .planting import WRITES_THE_LOOP, Planting
from .reach import REACHED, probe

SILENCE = 20.0  # seconds without an answer after which a program hangs
# Campaigns of the fuzzers draw a fresh seed each time; recipes and mutants work in copies of their own, which have no probes.
LEFT_OUT = ("tests/fuzz/test_campaigns.py", "tests/test_recipes.py", "tests/mutants")


Note = tuple[str, list[int], float]  # the name of a test, the numbers of the changes that it came to, its seconds


class Reached(NamedTuple):
    """By change the programs, and the tests with their seconds, that come to its statement while they run."""

    programs: list[list[str]]
    tests: list[list[tuple[str, float]]]
    at_import: list[int]
    """The changes that an import comes to, and so every test."""
    all_tests: list[tuple[str, float]]


def reached(changes: list[Change], folder: Path, tell: Callable[[str], None]) -> Reached:
    """Runs the suite and all tests once in a copy with probes; kept in `folder` for the same changes, programs and tests.

    A program that fails here is in no list. Of the tests those that read the text of the product do: a test that finds a change
    is asked without it later.
    """
    kept = folder / "reached.json"
    key = [_digest(("conformance/tests", "conformance/images", "tests")), *(list(change) for change in changes)]
    if kept.exists() and (held := json.loads(kept.read_text()))["changes"] == key:
        return Reached(held["programs"], *by_change(held["tests"], len(changes)))
    probed = Planting(folder / "probed")
    probe(changes, probed.tree)
    tell("the suite with probes")
    programs = _programs(changes, folder, probed)
    tell("the tests with probes")
    tests = _tests(folder, probed)
    kept.write_text(json.dumps({"changes": key, "programs": programs, "tests": tests}))
    return Reached(programs, *by_change(tests, len(changes)))


def _digest(folders: tuple[str, ...]) -> str:
    """Of all files in the folders that git knows, without those of this tool."""
    listed = subprocess.run(["git", "ls-files", *folders], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    digest = hashlib.sha256()
    for name in listed.splitlines():
        if not name.startswith("tests/mutants/"):
            digest.update(name.encode() + b"\0" + (ROOT / name).read_bytes())
    return digest.hexdigest()


def _programs(changes: list[Change], folder: Path, probed: Planting) -> list[list[str]]:
    out = folder / "programs.jsonl"
    out.unlink(missing_ok=True)
    os.environ[REACHED] = str(out)
    by_change: list[list[str]] = [[] for _ in changes]
    green: list[str] = []
    everywhere: set[int] = set()
    position = 0

    def done(outcome: Outcome) -> None:
        nonlocal position
        with out.open() as lines:
            lines.seek(position)
            rows = [json.loads(line) for line in lines]
            position = lines.tell()
        for name, numbers, _ in rows:
            if not name:
                everywhere.update(numbers)
        if outcome.outcome in GOOD:
            green.append(outcome.program.ident)
            for number in {number for name, numbers, _ in rows if name for number in numbers}:
                by_change[number].append(outcome.program.ident)

    run_all(suite.load()[0], Plan(probed.command("tests/mutants/reach_driver.py"), silence=SILENCE), 1, done)
    # Bodies of opcodes run in the generated loop, which has no probes.
    inlined = {number for number, change in enumerate(changes) if change.file in WRITES_THE_LOOP}
    for number in everywhere | inlined:
        by_change[number] = green
    return by_change


def _tests(folder: Path, probed: Planting) -> list[Note]:
    out = folder / "tests.jsonl"
    out.unlink(missing_ok=True)
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "tests.mutants.reach_plugin", "-p", "no:cacheprovider"]
    with (folder / "tests.log").open("w") as log:
        subprocess.run(
            [*command, *(f"--ignore={path}" for path in LEFT_OUT)],
            cwd=probed.tree, env={**probed.environment, REACHED: str(out)}, stdout=log, stderr=log, check=False,
        )  # fmt: skip
    return [json.loads(line) for line in out.read_text().splitlines()]


def by_change(notes: list[Note], count: int) -> tuple[list[list[tuple[str, float]]], list[int], list[tuple[str, float]]]:
    """From notes of what each test came to, in which those without a name are of imports: what `Reached` holds of tests."""
    tests: list[list[tuple[str, float]]] = [[] for _ in range(count)]
    for name, numbers, seconds in notes:
        for number in numbers if name else ():
            tests[number].append((name, seconds))
    at_import = sorted({number for name, numbers, _ in notes if not name for number in numbers})
    return tests, at_import, [(name, seconds) for name, _, seconds in notes if name]
