"""Reads the clauses of `docs/spec/*.md`: ids, documents, kinds, text hashes (C-10.1, C-10.2).

Hands on to `clauses.py` the `Clause`s by `read_clauses`, `stray_musts`, `order` and the form of an ID.

A clause is defined where its id stands in bold at the start of a paragraph, list item or table row. Tables whose header names a
chapter (`| V-1 |`) number their rows: the row `1.1` is the clause V-1.1. The text of a clause runs to the next clause, heading or
blank line outside a fence.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

ID = r"[LOMVGCS]-\d+(?:\.\d+)+"
_DEFINITION = re.compile(rf"^(?:[-*] |\| *)?\*\*({ID})\*\*")
_CHAPTER = re.compile(r"^\| *([LOMVGCS])-\d+ *\|")
_ROW = re.compile(r"^\| *(\d+\.\d+) *\|")
_MAY = re.compile(r"\bmay differ\b|\bimplementation-defined\b|\bRecommended\b|\bTargets?(?: \w+)?:|\(target\)")
_FENCE = re.compile(r"^\s*```")
_HEADING = re.compile(r"^#")
_MUST = re.compile(r"\bmust\b")


@dataclass(frozen=True)
class Clause:
    """One clause: its id, the name of its document, the line on which it begins, from 1, and its text."""

    ident: str
    document: str
    line: int
    text: str

    @property
    def kind(self) -> str:
        """`may` where the text itself leaves the outcome open or states a target; else `must`."""
        return "may" if _MAY.search(self.text) else "must"

    @property
    def hash(self) -> str:
        """The first 16 hexadecimal digits of the SHA-256 of the text, in which all white space counts as one blank."""
        return hashlib.sha256(" ".join(self.text.split()).encode()).hexdigest()[:16]


def read_clauses(folder: Path) -> list[Clause]:
    """Return all clauses of all documents of a folder, in order; an id that is defined twice appears twice."""
    return [clause for path in sorted(folder.glob("*.md")) for clause in clauses_of(path.read_text("utf-8"), path.name)]


def clauses_of(text: str, document: str) -> list[Clause]:
    """Return the clauses in the text of one document, in order."""
    clauses: list[Clause] = []
    start, ident, body = 0, "", list[str]()
    for number, line, defined, ends in _lines(text):
        if ident and (defined or ends):
            clauses.append(Clause(ident, document, start, "\n".join(body)))
            ident = ""
        if defined:
            start, ident, body = number, defined, []
        body.append(line)
    if ident:
        clauses.append(Clause(ident, document, start, "\n".join(body)))
    return clauses


def _lines(text: str) -> list[tuple[int, str, str, bool]]:
    """Return for each line its number from 1, the line, the id that it defines or "", and whether it ends a clause."""
    rows = []
    fenced, letter, lines = False, "", text.splitlines()
    for number, line in enumerate(lines, 1):
        if _FENCE.match(line):
            fenced = not fenced
        chapter = _CHAPTER.match(line)
        if chapter:
            letter = chapter.group(1)
        if not line.startswith("|"):
            letter = ""
        defined = "" if fenced else _defined(line, letter)
        last = not line.strip() and not _fence_follows(lines, number)
        rows.append((number, line, defined, not fenced and (last or bool(_HEADING.match(line)))))
    return rows


def _defined(line: str, letter: str) -> str:
    match = _DEFINITION.match(line)
    if match:
        return match.group(1)
    row = _ROW.match(line)
    return f"{letter}-{row.group(1)}" if row and letter else ""


def _fence_follows(lines: list[str], number: int) -> bool:
    """Return whether a fence or an indented line stands behind line `number`: a blank line before it does not end a clause."""
    following = lines[number] if number < len(lines) else ""
    return bool(_FENCE.match(following)) or following.startswith("  ")


def stray_musts(folder: Path) -> list[str]:
    """Return a complaint for each line that says `must` outside of any clause, fence and heading (C-10.2)."""
    complaints = []
    for path in sorted(folder.glob("*.md")):
        text = path.read_text("utf-8")
        inside = {
            clause.line + offset
            for clause in clauses_of(text, path.name)
            for offset in range(clause.text.count("\n") + 1)
        }
        fenced = False
        for number, line in enumerate(text.splitlines(), 1):
            fenced ^= bool(_FENCE.match(line))
            if not fenced and number not in inside and not _HEADING.match(line) and _MUST.search(line):
                complaints.append(f"{path.name}:{number}: says must outside any clause")
    return complaints


def order(ident: str) -> list[object]:
    """Return the sort key of an id: letter, then numbers."""
    letter, _, numbers = ident.partition("-")
    return [letter, *map(int, numbers.split("."))]
