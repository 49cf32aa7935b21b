"""The same rows on several versions of Python: each interpreter measures them in a process of its own, one after the other.

An interpreter needs the libraries that compile and run (`pip install msgpack ply==3.11`). A row's ratio compares with the twin on
the same interpreter. Hands on lines of text and records for JSON. Must not know: how anything is measured.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .figures import MISSED, WRONG
from .report import number

ROOT = Path(__file__).resolve().parent.parent
Report = dict[str, Any]


def reports(pythons: Sequence[str], words: Sequence[str]) -> list[Report]:
    """What `--json` writes, of each interpreter."""
    return [_report(python, words) for python in pythons]


def _report(python: str, words: Sequence[str]) -> Report:
    environ = {**os.environ, "PYTHONPATH": str(ROOT / ".types")}
    with tempfile.TemporaryDirectory(prefix="concerto-bench-") as folder:
        file = Path(folder, "figures.json")
        command = [python, str(ROOT / "benches" / "run.py"), *words, "--json", str(file)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False, env=environ)
        except OSError as error:
            raise SystemExit(f"benches: {python}: {error.strerror}") from None
        if not file.exists():
            said = done.stderr.strip().splitlines() or ["no figures"]
            raise SystemExit(f"benches: {python}: {said[-1]}")
        found: Report = json.loads(file.read_text(encoding="utf-8"))
    return found


def table(found: Sequence[Report]) -> list[str]:
    """A line a row, a column an interpreter: what the target is about, ratio or figure; `!` where a target is missed."""
    names = list(dict.fromkeys(figure["name"] for report in found for figure in report["figures"]))
    by_name = [{figure["name"]: figure for figure in report["figures"]} for report in found]
    rows = [("row", "target", *(report["python"] for report in found))]
    for name in names:
        figures = [figures.get(name) for figures in by_name]
        rows.append((name, _target(next(figure for figure in figures if figure)), *map(_cell, figures)))
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return ["  ".join(_aligned(row, widths)).rstrip() for row in rows]


def _aligned(row: Sequence[str], widths: Sequence[int]) -> list[str]:
    return [text.ljust(width) if i < 2 else text.rjust(width) for i, (text, width) in enumerate(zip(row, widths, strict=True))]


def _target(figure: Report) -> str:
    return "" if figure["clause"] is None else f"{figure['clause']} {figure['limit']:,g}"


def _cell(figure: Report | None) -> str:
    if figure is None:
        return ""
    if figure["verdict"] == WRONG:
        return WRONG
    shown = f"{number(figure['ratio'])} ×" if figure["on_ratio"] else f"{number(figure['value'])} {figure['unit']}"
    return shown + (" !" if figure["verdict"] == MISSED else "  ")
