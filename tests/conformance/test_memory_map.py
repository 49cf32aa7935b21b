"""The capability map of memories (chapter 13 of docs/spec/memory.md) follows the programs: its links cannot rot."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("gen_memory_map", ROOT / "tools" / "gen_memory_map.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_committed_page_is_fresh(tool: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    assert (tool.main(["--check"]), capsys.readouterr().err) == (0, "")


def test_a_stale_page_is_noticed(tool: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tool, "TARGET", tmp_path / "page.md")
    assert tool.main(["--check"]) == 1
    assert tool.main([]) == 0
    assert tool.main(["--check"]) == 0


def test_every_row_of_the_specification_is_there_and_linked(tool: ModuleType) -> None:
    text = tool.TARGET.read_text(encoding="utf-8")
    spec = set(re.findall(r"\*\*(M-13\.\d+)\*\*", tool.SPEC.read_text(encoding="utf-8")))
    rows = {line.split(" | ")[0].removeprefix("| "): line for line in text.splitlines() if line.startswith("| M-13.")}
    assert set(rows) == spec
    systems = ["Concerto", "selectools", "Anima", "Gumbee agent", "AshAgent", "Stored values"]
    assert [system for system, _ in tool.capabilities()] == systems
    for clause, row in rows.items():
        links = re.findall(r"\]\((\S+?)\)", row)
        assert links, clause
        assert [link for link in links if not (tool.TARGET.parent / link).is_file()] == []


def test_a_row_that_nothing_shows_is_refused(tool: ModuleType) -> None:
    with pytest.raises(SystemExit, match=r"M-13\.4 is shown by no program"):
        tool._line("M-13.4", "a", "b", [])
