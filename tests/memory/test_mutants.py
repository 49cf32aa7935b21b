"""Every law fails when the code breaks it (section 12), and every mutant that the specification lists is among ours."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from . import finding
from .mutants import MUTANTS, NOT_BUILT

SPEC = Path(__file__).resolve().parents[2] / "docs" / "spec" / "memory.md"
ALL = [(law, name) for law, of_law in MUTANTS.items() for name in of_law]
CHECKS = sorted(
    {mutant.check for of_law in MUTANTS.values() for mutant in of_law.values() if "machine" not in mutant.check.__name__},
    key=lambda check: check.__name__,
)  # the machines have tests of their own


def listed():
    """Law and mutant of the table of section 12."""
    rows = re.findall(r"^\| \*\*(M-12\.\d+)\*\* \|.*\| (.+) \|$", SPEC.read_text(encoding="utf-8"), re.MULTILINE)
    return {(law, name) for law, names in rows for name in names.split("; ") if name != "any of the above"}


def test_the_table_of_the_specification_is_complete():
    assert len(listed()) > 50
    assert sorted(listed() - set(ALL) - set(NOT_BUILT)) == []
    assert sorted(set(NOT_BUILT) & set(ALL)) == []


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_the_code_as_it_is_passes(check, tmp_path):
    check(finding.folders(tmp_path))


@pytest.mark.parametrize(("law", "name"), ALL)
def test_mutant_is_found(law, name, tmp_path):
    mutant = MUTANTS[law][name]
    with mutant.planted(), pytest.raises((Exception, pytest.fail.Exception)):
        mutant.check(finding.folders(tmp_path))
