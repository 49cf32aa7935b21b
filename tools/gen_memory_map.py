"""Writes docs/generated/memory-systems.md: the capability map of five memory systems (chapter 13 of docs/spec/memory.md), every
row with the conformance programs or tests that show it.

`--check` writes nothing and fails if the page is stale. Must not know: how a program is run.
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

UNBUILT = {
    "M-13.38": "context blocks",
    "M-13.43": "embeddings",
    "M-13.46": "learning rules",
    "M-13.47": "learning rules",
    "M-13.51": "`needs`",
    "M-13.52": "`reads`",
}
"""Rows whose construct is not built; a row is taken off by the program that shows it."""

MISSING = {"M-13.79": "`FactIndex`"}
"""What is not built of rows that programs show otherwise."""

HEAD = """\
# What five memory systems can do, and the program that shows it here

Written by `tools/gen_memory_map.py` from chapter 13 of `docs/spec/memory.md` and the programs under `conformance/tests`;
`make gen` renews it. Each program is a few lines long and runs by itself: `concerto conformance --filter M-13.4` runs those of a
row.
[The guide](../guide/memory.md) explains the constructs.

{shown} of {total} rows are built and shown.
"""


def capabilities() -> list[tuple[str, list[tuple[str, str, str]]]]:
    """System by system: clause, capability, construct."""
    chapter = SPEC.read_text(encoding="utf-8").partition("## 13. ")[2].partition("\n## ")[0]
    found: list[tuple[str, list[tuple[str, str, str]]]] = []
    for line in chapter.splitlines():
        if system := SYSTEM.match(line):
            found.append((system[1], []))
        elif row := ROW.match(line):
            found[-1][1].append((row[1], row[2], row[3]))
    return found


def shown_by() -> dict[str, list[str]]:
    """Clause to the files, from the root of the project, of which those that are about it come first."""
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
    by, systems = shown_by(), capabilities()
    rows = [row for _, of_system in systems for row in of_system]
    shown = sum(row[0] in by for row in rows)
    parts = [HEAD.format(shown=shown, total=len(rows))]
    head = ["| Clause | Capability | Construct | Shown by |", "|---|---|---|---|"]
    for system, of_system in systems:
        lines = [_line(*row, by.get(row[0], [])) for row in of_system]
        parts.append("\n".join([f"## {system}\n", *head, *lines, ""]))
    return "\n".join(parts)


def _line(clause: str, capability: str, construct: str, files: list[str]) -> str:
    if not files and clause not in UNBUILT:
        raise SystemExit(f"{clause} is shown by no program and not on the list of what is not built")
    shown = ", ".join(map(_link, files[:SHOWN_AT_MOST])) or f"**not built yet**: {UNBUILT[clause]}"
    note = f"; **not built yet**: {MISSING[clause]}" if clause in MISSING else ""
    return f"| {clause} | {capability} | {construct} | {shown}{note} |"


def _link(file: str) -> str:
    path, _, test = file.partition("::")
    return f"[{test or Path(path).stem}](../../{path})"


def main(arguments: list[str]) -> int:
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
