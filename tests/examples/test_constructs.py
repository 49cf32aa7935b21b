"""The example of each construct runs and passes its own tests, without network or keys."""

from __future__ import annotations

from pathlib import Path

import pytest
from concerto.cli.main import main

ROOT = Path(__file__).resolve().parent.parent.parent / "examples"
TESTED = sorted(path for path in ROOT.rglob("*.conc") if "@test" in path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", TESTED, ids=lambda path: str(path.relative_to(ROOT)))
def test_its_tests_pass(path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(path.parent)
    code = main(["test", path.name, "--offline"])
    printed = capsys.readouterr().out
    assert (code, "test result: ok." in printed, " 0 passed" in printed) == (0, True, False), printed


@pytest.mark.parametrize("path", [p for p in TESTED if p.parent == ROOT], ids=lambda path: path.stem)
def test_it_runs(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", str(path), "--offline"]) == 0
    assert "[emit:" in capsys.readouterr().out
