"""The fenced `concerto` blocks of the specification as programs (C-2.6): each must be readable, and `// run` blocks also run.

Hands on `read_blocks` to `command`. Only Markdown fences are known here; what a block expects is read by
`program.parse_block`.
"""

from __future__ import annotations

import re
from pathlib import Path

from .program import parse_block
from .records import Program, SuiteError

_OPEN = re.compile(r"^```concerto\s*$")


def read_blocks(folder: Path) -> tuple[list[Program], list[str]]:
    """Return one program for each block of the `*.md` files of a folder, in the order of the files, and a line for each block or
    file that cannot be read. A program is named after the document and the line of its first line of code:
    `docs/spec/language.md:120`."""
    programs: list[Program] = []
    errors: list[str] = []
    for path in sorted(folder.glob("*.md")):
        try:
            text = path.read_text("utf-8")
        except (OSError, ValueError) as error:
            errors.append(f"{path}: {error}")
            continue
        found, wrong = blocks_of(text, path)
        programs, errors = programs + found, errors + wrong
    return programs, errors


def blocks_of(text: str, path: Path) -> tuple[list[Program], list[str]]:
    """Return the programs of the blocks in `text`, the content of the document at `path`, and a line for each that is wrong. A
    block that is not closed is left out."""
    programs: list[Program] = []
    errors: list[str] = []
    lines = text.splitlines(keepends=True)
    start = -1
    for number, line in enumerate(lines):
        if start < 0 and _OPEN.match(line):
            start = number + 1
        elif start >= 0 and line.startswith("```"):
            ident = f"docs/spec/{path.name}:{start + 1}"
            try:
                programs.append(parse_block("".join(lines[start:number]), ident, str(path), start))
            except SuiteError as error:
                errors.append(str(error))
            start = -1
    return programs, errors
