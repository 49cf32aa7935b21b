"""Short passages to search: the clauses of `docs/spec/`, and the paragraphs of `docs/guide/`.

Hands on `passages`. They are cut from the files as these are now; nothing of them is kept twice. The name of a passage is that of
its clause, or its file and heading with a number; a question names a clause, or all passages under a heading.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

DOCS = Path(__file__).resolve().parent.parent.parent / "docs"
CLAUSE = re.compile(r"(?:- |\| )?\*\*([A-Z]-[\d.]+)\*\*")
HEADING = re.compile(r"#+ (.*)")
FEWEST = 8
"""Words of a passage; a shorter one goes with the next one under its heading."""


def passages() -> dict[str, str]:
    """Texts by name, in the order of the documents."""
    found: dict[str, str] = {}
    for path in sorted(DOCS.glob("spec/*.md")) + sorted(DOCS.glob("guide/*.md")):
        for name, text in _of_file(path):
            found[name] = f"{found[name]}\n{text}" if name in found else text
    return found


def is_answer(name: str, answer: str) -> bool:
    """Whether a passage is what a question asks for."""
    return name == answer or name.startswith(f"{answer} ")


def _of_file(path: Path) -> Iterator[tuple[str, str]]:
    heading, number, kept = "", 0, ""
    for block in _blocks(path.read_text(encoding="utf-8")):
        clause, title = CLAUSE.match(block), HEADING.match(block)
        if title:
            heading, number, kept = title[1], 0, ""
        elif clause:
            kept = ""
            yield clause[1], f"{heading}\n{block}"
        else:
            kept = f"{kept}\n{block}".strip()
            if len(kept.split()) >= FEWEST:
                number += 1
                yield f"{path.name}: {heading} {number}", f"{heading}\n{kept}"
                kept = ""


def _blocks(text: str) -> Iterator[str]:
    """Paragraphs, tables and listings; each clause, each heading and each row of a table of clauses by itself."""
    block: list[str] = []
    listing = False
    for line in text.splitlines():
        begins = not listing and (CLAUSE.match(line) or HEADING.match(line) or not line.strip())
        if line.startswith("```"):
            listing = not listing
        if begins and block:
            yield "\n".join(block)
            block = []
        if line.strip():
            block.append(line)
        if not listing and HEADING.match(line):
            yield "\n".join(block)
            block = []
    if block:
        yield "\n".join(block)
