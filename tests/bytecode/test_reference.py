"""The reference page follows the table (V-2.1)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from concerto.compiler.pipeline import check_source
from concerto.vm.builtins import METHODS
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


def test_not_built_says_what_the_checker_says() -> None:
    """The page marks a method of models or memories exactly when a call of it is E4999."""
    page = (ROOT / "docs" / "generated" / "builtins.md").read_text(encoding="utf-8")
    for receiver, value, some in (("ModelRef", "M", "with_context"), ("Memory", "m", "fork")):
        section = page.partition(f"## `{receiver}`")[2].partition("\n## ")[0]
        names = [name for kind, name in METHODS if kind == receiver]
        assert some in names
        for name in names:
            marked = any(line.startswith(f"| `{name}") and "(not built yet)" in line for line in section.splitlines())
            assert (name, marked) == (name, _refused(f"{value}.{name}(1)"))


def _refused(call: str) -> bool:
    declared = "memory m: Memory = Memory::new();\nmodel M { provider: offline }\n"
    found = check_source(f"{declared}fn main() {{ {call}; }}\n".encode(), "a.conc").diagnostics.found
    return any(d.code == "E4999" for d in found)
