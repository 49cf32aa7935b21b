"""Distributions on a path of their own, as pip leaves them: a package and its metadata (P-3.1)."""

from __future__ import annotations

from pathlib import Path


def install(site: Path, distribution: str, version: str, points: str, files: dict[str, str | bytes]) -> Path:
    """Write a distribution into a folder; `points` are the lines of the group `concerto.modules`, `files` are by path."""
    info = site / f"{distribution.replace('-', '_')}-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: {version}\n", encoding="utf-8")
    (info / "entry_points.txt").write_text(f"[concerto.modules]\n{points}\n", encoding="utf-8")
    for name, content in files.items():
        path = site / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return site
