"""Photos of receipts: what the program prints of the one beside it, what it says of a file that is none, and its tests."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from ..command import EXAMPLES, concerto


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "receipts"
    shutil.copytree(EXAMPLES / "receipts", made)
    return made


def test_a_photo_becomes_a_record(folder: Path) -> None:
    run = concerto("run", "--offline-script", "main.conc", cwd=folder)
    assert run.code == 0, run.err
    assert run.out == "<image cafe.png 4 kB>\n2030-02-03  Cafe Helvetia        17.60 CHF\n"


def test_a_file_that_is_no_picture_is_named(folder: Path) -> None:
    (folder / "photos" / "a.png").write_text("not a picture")
    run = concerto("run", "--offline", cwd=folder)
    assert run.code == 1 and "a.png: " in run.err and "PNG, JPEG, GIF or WebP" in run.err


def test_no_photo_is_read_that_the_manifest_does_not_grant(folder: Path) -> None:
    manifest = folder / "Concerto.toml"
    manifest.write_text(manifest.read_text().replace('"photos"', '"elsewhere"'))
    run = concerto("run", "--offline", cwd=folder)
    assert run.code != 0 and "photos" in run.err


def test_its_tests_pass(folder: Path) -> None:
    run = concerto("test", cwd=folder)
    assert run.code == 0 and "3 passed, 0 failed" in run.out, run.out
