"""The fenced `concerto` blocks of the specification as programs (C-2.6): each has to be readable, `// run` blocks also run.

Knows Markdown fences, not what the blocks mean.
"""

from __future__ import annotations

import re
from pathlib import Path

from .program import parse_block
from .records import Program

_OPEN = re.compile(r"^```concerto\s*$")


def read_blocks(folder: Path) -> list[Program]:
    """One program per block, named after document and line: `docs/spec/language.md:120`."""
    return [program for path in sorted(folder.glob("*.md")) for program in blocks_of(path.read_text("utf-8"), path)]


def blocks_of(text: str, path: Path) -> list[Program]:
    found: list[Program] = []
    lines = text.splitlines(keepends=True)
    start = -1
    for number, line in enumerate(lines):
        if start < 0 and _OPEN.match(line):
            start = number + 1
        elif start >= 0 and line.startswith("```"):
            ident = f"docs/spec/{path.name}:{start + 1}"
            found.append(parse_block("".join(lines[start:number]), ident, str(path), start))
            start = -1
    return found
