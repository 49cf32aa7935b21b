"""Which programs of the suite and which tests reach the places of changes.

`Reach` watches the lines of this process. `reach_driver` and `reach_plugin` are the two that use it, in processes of their own;
what they find goes through a file of JSON lines, one for each program or test.
"""

from __future__ import annotations

import ast
import bisect
import json
import os
import sys
import threading
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from .changes import ROOT, Change

PLACES = "MUTANTS_PLACES"  # the file of what is looked for
REACHED = "MUTANTS_REACHED"  # the file of what was reached, to be appended to


def lines_of(change: Change) -> tuple[int, int]:
    """First and last line of the statement that the change is in, or of its head, if others stand in it."""
    text = (ROOT / change.file).read_text(encoding="utf-8")
    best = (change.line, change.line)
    start = 0
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.stmt) and start <= node.lineno <= change.line <= (node.end_lineno or 0):
            body = getattr(node, "body", None)
            last = max(body[0].lineno - 1, node.lineno) if body else node.end_lineno or node.lineno
            if change.line <= last:
                start, best = node.lineno, (node.lineno, last)
    return best


def places_of(changes: list[Change]) -> dict[str, list[tuple[int, int, int]]]:
    """By file the first line, the last line and the number of each change."""
    places: dict[str, list[tuple[int, int, int]]] = {}
    for number, change in enumerate(changes):
        places.setdefault(change.file, []).append((*lines_of(change), number))
    return places


class Reach:
    """The numbers of the changes whose statement was executed since the last `taken`."""

    def __init__(self, root: Path, places: dict[str, list[tuple[int, int, int]]]) -> None:
        self.by_file = {str(root / file): rows for file, rows in places.items()}
        self.codes: dict[CodeType, dict[int, list[int]] | None] = {}
        self.seen: set[int] = set()

    def start(self) -> None:
        threading.settrace(self.entered)
        sys.settrace(self.entered)

    def taken(self) -> list[int]:
        seen, self.seen = sorted(self.seen), set()
        return seen

    def _lines(self, code: CodeType) -> dict[int, list[int]] | None:
        rows = self.by_file.get(code.co_filename)
        if rows is None:
            return None
        own = sorted({line for _, _, line in code.co_lines() if line is not None})
        lines: dict[int, list[int]] = {}
        for first, last, number in rows:
            for line in own[bisect.bisect_left(own, first) : bisect.bisect_right(own, last)]:
                lines.setdefault(line, []).append(number)
        return lines or None

    def entered(self, frame: FrameType, event: str, argument: object) -> Any:
        code = frame.f_code
        try:
            lines = self.codes[code]
        except KeyError:
            lines = self.codes[code] = self._lines(code)
        if lines is None:
            return None
        if code.co_firstlineno in lines:
            self.seen.update(lines[code.co_firstlineno])

        def line(frame: FrameType, event: str, argument: object) -> Any:
            if event == "line" and frame.f_lineno in lines:
                self.seen.update(lines[frame.f_lineno])
            return line

        return line


def from_environment() -> Reach:
    wanted = json.loads(Path(os.environ[PLACES]).read_text())
    return Reach(ROOT, {file: [tuple(row) for row in rows] for file, rows in wanted.items()})


def note(name: str, reached: list[int], seconds: float = 0.0) -> None:
    """Appends one line to the file: a program or test, the numbers of the changes, and how long it took while it was watched."""
    with open(os.environ[REACHED], "a", encoding="utf-8") as out:
        out.write(json.dumps([name, reached, round(seconds, 3)]) + "\n")
