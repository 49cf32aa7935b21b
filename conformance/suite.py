"""Where the suite's files lie, and how they become one list of programs: program files, images, known failures.

Hands on `load` and `known_failures` to `command` and `concerto conformance`, the former also to `clauses` and
`tools/gen_memory_map.py`, `select` to `command`, `suite` to `clauses`, and ROOT to whoever looks for a file of the suite.
In the repository programs are files; in a wheel they are the archive `programs.zip`, which `tools/packing.py` writes (C-9.5).
What is done with the programs is not known here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from .images import read_image
from .program import read_file
from .records import Program, SuiteError

ROOT = Path(__file__).resolve().parent
TESTS = ROOT / "tests"
ARCHIVE = ROOT / "programs.zip"
_KNOWN = re.compile(r"(\S+)\s+(#\d+.*)$")


def home() -> Traversable:
    """Return what holds the folders of programs: the folder of the suite, or the archive of an installed wheel."""
    if TESTS.is_dir():
        return ROOT
    from zipfile import Path as ZipPath

    return ZipPath(ARCHIVE)


def load(root: Traversable | None = None) -> tuple[list[Program], list[str]]:
    """Return all programs below a root, by default `home`, program files before images and each in order of path, and a line for
    each file that cannot be read."""
    programs: list[Program] = []
    errors: list[str] = []
    root = root or home()
    files = dict(_files(root / "tests"))
    for name, file in files.items():
        if name.endswith(".conc"):
            beside = files.get(f"{name.removesuffix('.conc')}.expect.json")
            _collect(lambda file=file, name=name, beside=beside: read_file(file, name, beside), programs, errors)
    for name, file in _files(root / "images"):
        if name.endswith(".json"):
            _collect(lambda file=file: [read_image(file)], programs, errors)
    return programs, errors


def _files(folder: Traversable, parent: str = "") -> Iterator[tuple[str, Traversable]]:
    """Yield the files below a folder with their paths from there, in order of path; none where there is no such folder. Folders
    `_files` hold what programs read."""
    inside = sorted(folder.iterdir(), key=lambda entry: entry.name) if folder.is_dir() else ()
    for entry in inside:
        if not entry.is_dir():
            yield parent + entry.name, entry
        elif entry.name != "_files":
            yield from _files(entry, f"{parent}{entry.name}/")


def _collect(read: Any, programs: list[Program], errors: list[str]) -> None:
    try:
        programs += read()
    except SuiteError as error:
        errors.append(str(error))


def select(programs: list[Program], prefixes: list[str], levels: list[int]) -> list[Program]:
    """Return the programs whose ident begins with one of the prefixes (all if none) and that are of one of the levels (all if
    none). A prefix may also be written as a path of the repository; one with `#`, or with `:` as those of blocks
    have, is a whole ident."""
    wanted = [_ident(prefix) for prefix in prefixes]
    return [
        program
        for program in programs
        if (not wanted or any(_under(program.ident, prefix) for prefix in wanted))
        and (not levels or program.level in levels)
    ]


def _ident(prefix: str) -> str:
    for start in (f"{ROOT}/tests/", f"{ROOT}/", "conformance/tests/", "conformance/", "tests/"):
        prefix = prefix.removeprefix(start)
    return prefix


def _under(ident: str, prefix: str) -> bool:
    """Return whether an ident begins with a prefix; `a.conc#1` is that chunk alone, not also `a.conc#10`, and `a.md:1` that
    block."""
    return ident == prefix if "#" in prefix or ":" in prefix else ident.startswith(prefix)


def suite() -> dict[str, Any]:
    """Return the content of SUITE.json."""
    data: dict[str, Any] = json.loads((ROOT / "SUITE.json").read_text(encoding="utf-8"))
    return data


def known_failures(driver: str, root: Traversable | None = None) -> dict[str, str]:
    """Return by ident the issue of each known failure, from `expected-fail/<driver>.txt` below a root, by default `home`; none if
    there is no such file. Raise SuiteError for a line without an issue number."""
    path = (root or home()) / "expected-fail" / f"{driver}.txt"
    known: dict[str, str] = {}
    if not path.is_file():
        return known
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        match = _KNOWN.match(line)
        if not match:
            raise SuiteError(str(path), number, "a program and an issue number: lexing/a.conc #12")
        known[match[1]] = match[2]
    return known
