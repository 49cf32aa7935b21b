"""Survivors of an earlier run, planted in today's tree before what they did not meet: programs and tests of files that were
written since, and tests that name the changed file."""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path

from conformance import suite
from conformance.records import Program

from .campaign import alone, first_that_fails
from .changes import ROOT, Change, changes_in, changes_of
from .planting import Planting
from .reach_map import LEFT_OUT

GONE = "the code is gone"
SECONDS = 900.0  # for these tests


def again(survivors: Iterable[Change], commit: str, folder: Path) -> Iterator[tuple[Change, str]]:
    """Yield what finds each survivor of the run of that commit today: a program, a test, or nothing if it is alive."""
    since = {name for name in _git("diff", "--name-only", commit).splitlines() if (ROOT / name).exists()}
    programs = [one for one in suite.load()[0] if _file_of(one.ident) in since]
    files = [name for name in _git("ls-files", "tests/*test_*.py").splitlines() if not name.startswith(LEFT_OUT)]
    texts = {name: (ROOT / name).read_text(encoding="utf-8") for name in files}
    before = set(_git("ls-tree", "-r", "--name-only", commit, "tests/").splitlines())
    tests: list[str] = []
    for name in sorted(since & texts.keys()):
        tests += written_since(name, texts[name], _git("show", f"{commit}:{name}") if name in before else "")
    planting = Planting(folder)
    planting.precompile()
    for survivor in survivors:
        names = naming(survivor.file)
        ready = [name for name, text in texts.items() if names.search(text)]
        by = GONE
        for change in places_today(survivor, _git("show", f"{commit}:{survivor.file}")):
            with planting.planted(change) as why:
                by = why or first_that_fails(programs, planting) or alone(planting, tests, SECONDS)
                by = by or alone(planting, ready, SECONDS)
            if by and not why and _fails_unchanged(by, planting, programs, [*tests, *ready]):
                by = ""
            if not by:
                break
        yield survivor, by


def _fails_unchanged(by: str, planting: Planting, programs: list[Program], tests: list[str]) -> bool:
    """Return whether what found a change fails in the copy as it is too. What fails before the first test has no name there, so
    all tests are asked."""
    asked = [one for one in programs if one.ident == by]
    if asked:
        return bool(first_that_fails(asked, planting))
    return bool(alone(planting, [by] if "::" in by else tests, SECONDS))


def written_since(file: str, text: str, old: str) -> list[str]:
    """The tests of a file that had the text `old`: those whose own text is another, or all if what stands around them is."""

    def parts(source: str) -> tuple[set[str], dict[str, str]]:
        nodes = ast.parse(source).body
        functions = [
            node for node in nodes if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name[:5] == "test_"
        ]
        return {ast.dump(node) for node in nodes if node not in functions}, {node.name: ast.dump(node) for node in functions}

    around, tests = parts(text)
    around_before, before = parts(old)
    imports = {ast.dump(node) for node in ast.parse(text).body if isinstance(node, (ast.Import, ast.ImportFrom))}
    if around - imports - around_before:
        return [file]
    return [f"{file}::{name}" for name, body in tests.items() if before.get(name) != body]


def naming(file: str) -> re.Pattern[str]:
    """What the text of a test has that imports from the module."""
    path = Path(file)
    return re.compile(rf"\b{path.parent.name}(\.| import ([\w, ]*\b)?){path.stem}\b")


def _git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout


def _file_of(program: str) -> str:
    """The path of the file that the program of that name stands in."""
    file = program.partition("#")[0]
    return f"conformance/{file}" if file.startswith("images/") else f"conformance/tests/{file}"


def places_today(change: Change, text: str) -> list[Change]:
    """The change of a file that had that text in today's tree; all of the same words in its function if it is not clear which."""
    path = ROOT / change.file
    before, today = (
        [one for one in some if one.key == change.key]
        for some in (changes_in(change.file, text), changes_of(path) if path.exists() else [])
    )
    return [today[before.index(change)]] if len(before) == len(today) else today
