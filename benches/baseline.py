"""The kept figures of an earlier run, baseline.json, to tell what became slower.

Hands on numbers by row. Must not know: how they are shown.
"""

from __future__ import annotations

import json
import platform
from collections.abc import Sequence
from pathlib import Path

from .figures import Figure

FILE = Path(__file__).resolve().parent / "baseline.json"


def read(file: Path = FILE) -> dict[str, float]:
    """What each row compares with; empty without a baseline."""
    if not file.exists():
        return {}
    rows = json.loads(file.read_text(encoding="utf-8"))["rows"]
    return {name: float(row["comparable"]) for name, row in rows.items()}


def write(figures: Sequence[Figure], file: Path = FILE) -> None:
    """Rows that were not measured keep their old figures."""
    rows = json.loads(file.read_text(encoding="utf-8"))["rows"] if file.exists() else {}
    for figure in figures:
        rows[figure.name] = {"comparable": figure.comparable, "value": figure.value, "unit": figure.unit}
    content = {"python": platform.python_version(), "machine": platform.machine(), "rows": dict(sorted(rows.items()))}
    file.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
