"""The long runs: figures add up, a failure is told and fails the whole (C-13.5)."""

from __future__ import annotations

from pathlib import Path

import pytest

from . import soak
from .campaign import Campaign, Figures


def steady(seed: int, cases: int) -> Figures:
    return {"tried": cases, "max seconds": 0.5, "of": "parts"}


def broken(seed: int, cases: int) -> Figures:
    raise AssertionError("case 7 of them")


def test_a_soak_writes_its_figures_and_tells_of_failures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    good = Campaign("steady", "C-13.5", 1, 25, steady, part=10)
    monkeypatch.setattr(soak, "PAGE", tmp_path / "soak.md")
    monkeypatch.setattr(soak, "all_campaigns", lambda: [good])
    assert soak.main([]) == 0
    page = soak.PAGE.read_text(encoding="utf-8")
    assert "| steady | C-13.5 | 25 of 25 |" in page and "tried 25; max seconds 0.5; of parts" in page
    monkeypatch.setattr(soak, "all_campaigns", lambda: [Campaign("broken", "C-13.5", 1, 5, broken), good])
    assert soak.main([]) == 1
    page = soak.PAGE.read_text(encoding="utf-8")
    assert "FAILED seed" in page and "case 7 of them" in page and "| steady |" in page
    before = page
    assert soak.main(["--share", "0.1"]) == 1 and soak.PAGE.read_text(encoding="utf-8") == before
