"""Writes docs/generated/memory-systems.md: the capability map of five memory systems (chapter 13 of docs/spec/memory.md), every
row with the conformance programs or tests that show it.

`--check` writes nothing and fails if the page is stale. No program is run: which of them show a row is read off the clauses that
they name.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT)]

from conformance import suite  # noqa: E402
from conformance.clauses import elsewhere  # noqa: E402

TARGET = ROOT / "docs" / "generated" / "memory-systems.md"
SPEC = ROOT / "docs" / "spec" / "memory.md"
ROW = re.compile(r"\| \*\*(M-13\.\d+)\*\* \| (.+?) \| (.+) \|$")
SYSTEM = re.compile(r"\| \| \*\*(.+?)\*\* \| \|$")
SHOWN_AT_MOST = 3

HEAD = """\
# What five memory systems can do, and the program that shows it here

Written by `tools/gen_memory_map.py` from chapter 13 of `docs/spec/memory.md` and the programs under `conformance/tests`;
`make gen` renews it. Each program is a few lines long and runs by itself: `concerto conformance --filter M-13.4` runs those of a
row.
[The guide](../guide/memory.md) explains the constructs.
"""


def capabilities() -> list[tuple[str, list[tuple[str, str, str]]]]:
    """Return for each system, in the order of the chapter, its rows: clause, capability, construct."""
    chapter = SPEC.read_text(encoding="utf-8").partition("## 13. ")[2].partition("\n## ")[0]
    systems: list[tuple[str, list[tuple[str, str, str]]]] = []
    for line in chapter.splitlines():
        if system := SYSTEM.match(line):
            systems.append((system[1], []))
        elif row := ROW.match(line):
            systems[-1][1].append((row[1], row[2], row[3]))
    return systems


def shown_by() -> dict[str, list[str]]:
    """Return by clause the paths of the files that show it, from the root of the project; those that are about it come first.
    Raise SystemExit for errors of the suite."""
    programs, errors = suite.load()
    if errors:
        raise SystemExit("\n".join(errors))
    about: dict[str, list[str]] = {}
    beside: dict[str, list[str]] = {}
    for program in programs:
        path = Path(program.path).resolve().relative_to(ROOT).as_posix()
        about.setdefault(program.clause, []).append(path)
        for clause in program.also:
            beside.setdefault(clause, []).append(path)
    for clause, test in elsewhere(suite.ROOT / "elsewhere.txt")[0].items():
        beside.setdefault(clause, []).append(test)
    clauses = {*about, *beside}
    return {clause: list(dict.fromkeys(about.get(clause, []) + beside.get(clause, []))) for clause in clauses}


def page() -> str:
    """Return the text of the page. Raise SystemExit for a clause that nothing shows."""
    by, systems = shown_by(), capabilities()
    parts = [HEAD]
    head = ["| Clause | Capability | Construct | Shown by |", "|---|---|---|---|"]
    for system, of_system in systems:
        lines = [_line(*row, by.get(row[0], [])) for row in of_system]
        parts.append("\n".join([f"## {system}\n", *head, *lines, ""]))
    return "\n".join(parts)


def _line(clause: str, capability: str, construct: str, files: list[str]) -> str:
    if not files:
        raise SystemExit(f"{clause} is shown by no program and no test")
    return f"| {clause} | {capability} | {construct} | {', '.join(map(_link, files[:SHOWN_AT_MOST]))} |"


def _link(file: str) -> str:
    path, _, test = file.partition("::")
    return f"[{test or Path(path).stem}](../../{path})"


def main(arguments: list[str]) -> int:
    """Write the page if it has changed, or with `--check` only say so; return the exit status, 1 for a stale page that is
    checked. Raise SystemExit as `page` and `shown_by`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="fail if the page is stale, write nothing")
    text, options = page(), parser.parse_args(arguments)
    if TARGET.exists() and TARGET.read_text(encoding="utf-8") == text:
        return 0
    if options.check:
        print("docs/generated/memory-systems.md is stale: run make gen", file=sys.stderr)
        return 1
    TARGET.write_text(text, encoding="utf-8")
    print("wrote docs/generated/memory-systems.md")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
