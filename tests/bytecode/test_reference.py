"""The reference page follows the table (V-2.1)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from concerto.vm.bytecode.opcodes import OPCODES

ROOT = Path(__file__).resolve().parents[2]


def generate(*arguments: str) -> subprocess.CompletedProcess[str]:
    tool = ROOT / "tools" / "gen_reference.py"
    return subprocess.run([sys.executable, tool, *arguments], capture_output=True, text=True, check=False)


def test_the_committed_page_is_fresh() -> None:
    assert generate("--check").returncode == 0


def test_a_stale_page_is_noticed(tmp_path: Path) -> None:
    assert generate("--check", "--target", str(tmp_path)).returncode == 1
    assert generate("--target", str(tmp_path)).returncode == 0
    page = tmp_path / "opcodes.md"
    text = page.read_text(encoding="utf-8")
    assert all(f"| `{op.name}` |" in text for op in OPCODES)
    page.write_text(text.replace("LOAD_OWN", "LOAD_OWNED"), encoding="utf-8")
    stale = generate("--check", "--target", str(tmp_path))
    assert stale.returncode == 1 and "opcodes.md is stale" in stale.stderr
