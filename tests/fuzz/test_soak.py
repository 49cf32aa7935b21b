"""The long runs: figures add up, a failure is told and fails the whole (C-13.5)."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from . import campaign_sources, soak
from .campaign import Campaign, Figures


def steady(seed: int, cases: int) -> Figures:
    return {"tried": cases, "max seconds": 0.5, "of": "parts"}


def broken(seed: int, cases: int) -> Figures:
    raise AssertionError("case 7 of them")


def confused(seed: int, cases: int) -> Figures:
    raise ValueError("the fuzzer itself")


def rows(page: str) -> list[str]:
    return [line for line in page.splitlines() if line.startswith("| ") and not line.startswith("| what")]


def test_a_soak_writes_its_figures_and_tells_of_failures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    good = Campaign("steady", "C-13.5", 1, 25, steady, part=10)
    monkeypatch.setattr(soak, "PAGE", tmp_path / "soak.md")
    monkeypatch.setattr(soak, "all_campaigns", lambda: [good])
    assert soak.main([]) == 0
    page = soak.PAGE.read_text(encoding="utf-8")
    assert "| steady | C-13.5 | 25 of 25 |" in page and "tried 25; max seconds 0.5; of parts" in page
    campaigns = [Campaign("broken", "C-13.5", 1, 5, broken), Campaign("confused", "C-13.5", 1, 5, confused), good]
    monkeypatch.setattr(soak, "all_campaigns", lambda: campaigns)
    assert soak.main([]) == 1
    page = soak.PAGE.read_text(encoding="utf-8")
    assert "FAILED seed" in page and "case 7 of them" in page and "ValueError: the fuzzer itself" in page
    assert [row.split(" | ")[0] for row in rows(page)] == ["| broken", "| confused", "| steady"]
    before = page
    assert soak.main(["--share", "0.1"]) == 1 and soak.PAGE.read_text(encoding="utf-8") == before


def test_a_campaign_that_runs_alone_replaces_its_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = (Campaign(name, "C-13.5", 1, 25, steady) for name in ("first", "second"))
    monkeypatch.setattr(soak, "PAGE", tmp_path / "soak.md")
    monkeypatch.setattr(soak, "all_campaigns", lambda: [first, second])
    monkeypatch.setattr(soak, "where", lambda: "commit 1, idle")
    assert soak.main([]) == 0
    monkeypatch.setattr(soak, "where", lambda: "commit 2, busy")
    monkeypatch.setenv("CONCERTO_FUZZ_SEED", "7")
    assert soak.main(["--only", "first"]) == 0
    one, other = rows(soak.PAGE.read_text(encoding="utf-8"))
    assert one.startswith("| first ") and "| 7 |" in one and one.endswith("| commit 2, busy |")
    assert other.startswith("| second ") and other.endswith("| commit 1, idle |")
    monkeypatch.setattr(soak, "all_campaigns", lambda: [first, second, first._replace(name="first of others")])
    ran: list[str] = []
    monkeypatch.setattr(soak, "soaked", lambda campaign, share: ran.append(campaign.name) or ("", True))
    assert soak.main(["--only", "first", "--share", "0.1"]) == soak.main(["--only", "irs", "--share", "0.1"]) == 0
    assert ran == ["first", "first", "first of others"]
    monkeypatch.undo()
    monkeypatch.setattr(soak, "PAGE", tmp_path / "soak.md")
    monkeypatch.setattr(soak, "where", lambda: "commit 2, busy")
    monkeypatch.setattr(soak, "all_campaigns", lambda: [second])
    assert soak.main(["--only", "nothing"]) == 0 and soak.main([]) == 0
    assert [row.split(" | ")[0] for row in rows(soak.PAGE.read_text(encoding="utf-8"))] == ["| second"]


def test_a_row_says_its_commit_and_whether_the_machine_was_idle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.getloadavg", lambda: (0.0, 0.0, 0.0))
    assert soak.where().endswith(", idle")
    monkeypatch.setattr("os.getloadavg", lambda: (99.0, 0.0, 0.0))
    said = soak.where()
    assert said.endswith("busy, load 99")
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=soak.ROOT, capture_output=True, text=True, check=False).stdout.strip()
    assert head[:7] in said or not head


def test_the_row_of_hostile_sources_says_the_ratio_that_is_promised() -> None:
    """G-5.7"""
    assert f"beside {campaign_sources.SLACK} s" in campaign_sources.RATIO_SHOWN
    figures = campaign_sources.run(7, 2)
    assert 0.0 <= float(figures[campaign_sources.RATIO_SHOWN]) <= campaign_sources.RATIO
