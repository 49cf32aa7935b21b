"""Plants one-line changes in copies of the product, and looks which the suite or the tests find (C-12.7).

`Planting` is a copy of the tree with one change at a time. `verdict` runs the programs that reach the change, then the tests, and
stops at the first that fails.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from conformance import suite
from conformance.records import Program
from conformance.runner import GOOD, Outcome, Plan, run_all

from .changes import ROOT, Change
from .reach import REACHED, probe

FIRST = 24  # programs in the first batch, drawn from all that reach a change
SILENCE = 20.0  # seconds without an answer after which a changed program hangs
SECONDS_OF_TESTS = 60.0  # watched time of the tests that one change is given to
WRITES_THE_LOOP = ("vm/interp/ops.py", "vm/interp/template.py", "vm/bytecode/opcodes.py")


class Reached(NamedTuple):
    """By change the programs, and the tests with their seconds, that come to its statement."""

    programs: list[list[str]]
    tests: list[list[tuple[str, float]]]


class Verdict(NamedTuple):
    change: Change
    by: str
    """The program or test that found it; empty: it survived."""
    reached: int


def python_in(tree: Path) -> dict[str, str]:
    return {
        **os.environ, "PYTHONPATH": str(tree / ".types"), "XDG_CACHE_HOME": str(tree.parent / "cache"),
        "PYTHONDONTWRITEBYTECODE": "1",
    }  # fmt: skip


# ---------------------------------------------------------------- who reaches what


def reached(changes: list[Change], folder: Path, tell: Callable[[str], None]) -> Reached:
    """Runs the suite and all tests once in a copy with probes; kept in `folder` for the same changes, programs and tests."""
    kept = folder / "reached.json"
    key = [_digest(("conformance/tests", "conformance/images", "tests")), *(list(change) for change in changes)]
    if kept.exists() and (held := json.loads(kept.read_text()))["changes"] == key:
        tests = [[(name, seconds) for name, seconds in row] for row in held["tests"]]
        return Reached(held["programs"], tests)
    found = Reached([[] for _ in changes], [[] for _ in changes])
    probed = Planting(folder / "probed")
    probe(changes, probed.tree)
    tell("the suite with probes")
    _programs(changes, found, folder, probed)
    tell("the tests with probes")
    _tests(found, folder, probed)
    kept.write_text(json.dumps({"changes": key, "programs": found.programs, "tests": found.tests}))
    return found


def _digest(folders: tuple[str, ...]) -> str:
    """Of all files in the folders that git knows."""
    listed = subprocess.run(["git", "ls-files", *folders], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    digest = hashlib.sha256()
    for name in listed.splitlines():
        digest.update(name.encode() + b"\0" + (ROOT / name).read_bytes())
    return digest.hexdigest()


def _rows(file: Path) -> list[tuple[str, list[int], float]]:
    return [tuple(json.loads(line)) for line in file.read_text().splitlines()] if file.exists() else []


def _programs(changes: list[Change], found: Reached, folder: Path, probed: Planting) -> None:
    out = folder / "programs.jsonl"
    out.unlink(missing_ok=True)
    os.environ[REACHED] = str(out)
    programs = suite.load()[0]
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
        for number in {number for name, numbers, _ in rows if name for number in numbers}:
            found.programs[number].append(outcome.program.ident)

    plan = Plan(probed.command("tests/mutants/reach_driver.py"), silence=SILENCE)
    run_all(programs, plan, 1, done)
    # Bodies of opcodes run in the generated loop, which has no probes.
    inlined = {number for number, change in enumerate(changes) if change.file in WRITES_THE_LOOP}
    for number in everywhere | inlined:
        found.programs[number] = [program.ident for program in programs]


def _tests(found: Reached, folder: Path, probed: Planting) -> None:
    out = folder / "tests.jsonl"
    out.unlink(missing_ok=True)
    environment = {**python_in(probed.tree), REACHED: str(out)}
    command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "-p", "tests.mutants.reach_plugin", "-p", "no:cacheprovider"]
    with (folder / "tests.log").open("w") as log:
        subprocess.run(command, cwd=probed.tree, env=environment, stdout=log, stderr=log, check=False)
    rows = _rows(out)
    everywhere = {number for name, numbers, _ in rows if not name for number in numbers}
    for name, numbers, seconds in rows:
        for number in everywhere | set(numbers) if name else ():
            found.tests[number].append((name, seconds))


# ---------------------------------------------------------------- one change at a time


class Planting:
    """A copy of the tree, whose `.types` shows processes the package `concerto`."""

    def __init__(self, folder: Path) -> None:
        self.tree = folder / "tree"
        shutil.rmtree(folder, ignore_errors=True)
        listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
        for name in listed.splitlines():
            target = self.tree / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target, follow_symlinks=False)
        for modules in ("tests/servers/node_modules", "tests/colours/node_modules", "editors/vscode/node_modules"):
            if (ROOT / modules).exists():
                (self.tree / modules).symlink_to(ROOT / modules)

    def run(self, *words: str, timeout: float) -> subprocess.CompletedProcess[str]:
        command, environment = [sys.executable, *words], python_in(self.tree)
        return subprocess.run(
            command, cwd=self.tree, env=environment, capture_output=True, text=True, timeout=timeout, check=False
        )

    def command(self, script: str) -> list[str]:
        """What starts a script of the copy, in the environment of the copy."""
        environment = [f"{name}={value}" for name, value in python_in(self.tree).items() if value != os.environ.get(name)]
        return ["env", *environment, sys.executable, str(self.tree / script)]

    @contextmanager
    def planted(self, change: Change) -> Iterator[str]:
        """Gives why the changed tree cannot be made, or nothing."""
        file = self.tree / change.file
        whole = file.read_bytes()
        loop = self.tree / "vm" / "generated" / "loop.py"
        made = loop.read_bytes()
        file.write_text(change.source(), encoding="utf-8")
        try:
            why = ""
            if change.file in WRITES_THE_LOOP and self.run("tools/gen_loop.py", timeout=120).returncode:
                why = "the generator of the loop"
            yield why
        finally:
            file.write_bytes(whole)
            loop.write_bytes(made)


class _Found(Exception):
    """Ends a run of programs at the first that fails."""


def verdict(change: Change, number: int, found: Reached, planting: Planting, programs: dict[str, Program]) -> Verdict:
    names, tests = found.programs[number], found.tests[number]
    count = len(names) + len(tests)
    with planting.planted(change) as why:
        if why:
            return Verdict(change, why, count)
        if names:
            first = random.Random(number).sample(names, min(FIRST, len(names)))
            rest = [name for name in names if name not in set(first)]
            for batch in (first, rest):
                if by := _by_programs([programs[name] for name in batch], planting):
                    return Verdict(change, by, count)
        by = _by_tests(sorted(tests, key=lambda row: row[1]), planting)
    if "::" in by and planting.run("-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", by, timeout=300).returncode:
        by = ""  # it fails without the change too
    return Verdict(change, by, count)


def _by_programs(programs: list[Program], planting: Planting) -> str:
    command = planting.command("conformance/drivers/concerto.py")
    failed: list[str] = []

    def done(outcome: Outcome) -> None:
        if outcome.outcome not in GOOD:
            failed.append(outcome.program.ident)
            raise _Found

    with suppress(_Found):
        run_all(programs, Plan(command, silence=SILENCE), 1, done)
    return failed[0] if failed else ""


def _by_tests(tests: list[tuple[str, float]], planting: Planting) -> str:
    chosen: list[str] = []
    total = 0.0
    for name, seconds in tests:
        total += seconds
        if total > SECONDS_OF_TESTS:
            break
        chosen.append(name)
    if not chosen:
        return ""
    listed = planting.tree.parent / "tests.txt"
    listed.write_text("\n".join(chosen))
    command = ("-m", "pytest", "-x", "-q", "-rfE", "--tb=no", "-p", "no:cacheprovider", f"@{listed}")
    try:
        done = planting.run(*command, timeout=4 * SECONDS_OF_TESTS)
    except subprocess.TimeoutExpired:
        return "no end of the tests"
    for line in done.stdout.splitlines():
        if line.startswith(("FAILED ", "ERROR ")):
            return line.split(" ", 1)[1].split(" - ")[0]
    return "" if done.returncode in (0, 5) else "the collection of tests"
