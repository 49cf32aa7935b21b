"""The fenced `concerto` blocks of the specification as programs (C-2.6): each must be readable, and `// run` blocks also run.

Hands on `read_blocks` to `command`. Only Markdown fences are known here; what a block expects is read by
`program.parse_block`.
"""

from __future__ import annotations

import re
from pathlib import Path

from .program import parse_block
from .records import Program

_OPEN = re.compile(r"^```concerto\s*$")


def read_blocks(folder: Path) -> list[Program]:
    """Return one program for each block of the `*.md` files of a folder, in the order of the files. It is named after the
    document and the line of its first line of code: `docs/spec/language.md:120`. Raise SuiteError as `parse_block` does."""
    return [program for path in sorted(folder.glob("*.md")) for program in blocks_of(path.read_text("utf-8"), path)]


def blocks_of(text: str, path: Path) -> list[Program]:
    """Return the programs of the blocks in `text`, the content of the document at `path`. A block that is not closed is left out.
    Raise SuiteError as `parse_block` does."""
    programs: list[Program] = []
    lines = text.splitlines(keepends=True)
    start = -1
    for number, line in enumerate(lines):
        if start < 0 and _OPEN.match(line):
            start = number + 1
        elif start >= 0 and line.startswith("```"):
            ident = f"docs/spec/{path.name}:{start + 1}"
            programs.append(parse_block("".join(lines[start:number]), ident, str(path), start))
            start = -1
    return programs
