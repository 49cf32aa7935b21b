"""The report over a folder of CSV files: what it prints, what it writes, and that its tests leave nothing behind."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from ..command import EXAMPLES, concerto

TABLE = """\
Chur, station          42.13
Bern                   97.50
Basel               1,320.49
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "report"
    shutil.copytree(EXAMPLES / "report", made)
    return made


def test_it_prints_a_table_and_writes_a_file(folder: Path) -> None:
    run = concerto("run", cwd=folder)
    assert run.code == 0 and run.out.startswith(TABLE), run.err
    (written,) = (folder / "reports").iterdir()
    assert f"written to reports/{written.name}\n" == run.out.removeprefix(TABLE)
    assert written.read_text() == 'shop,total\n"Chur, station",42.13\nBern,97.50\nBasel,1320.49\n'


def test_a_wrong_file_is_named_with_its_place(folder: Path) -> None:
    (folder / "sales" / "march.csv").write_text('date,shop,amount\n2030-03-01,"Bern,1\n')
    run = concerto("run", cwd=folder)
    assert run.code == 1 and "march.csv: a quote that is not closed at line 2, column 12" in run.err


def test_its_tests_leave_nothing_behind(folder: Path) -> None:
    before = sorted(folder.rglob("*"))
    run = concerto("test", cwd=folder)
    assert run.code == 0 and "3 passed, 0 failed" in run.out, run.out
    assert sorted(folder.rglob("*")) == before
