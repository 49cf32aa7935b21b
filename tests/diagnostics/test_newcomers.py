"""Programs as newcomers from other languages write them, with what the compiler tells them (O-9.12): text by text, so that
every change of a message is seen. `--bless` writes the texts anew. Each text names the way out."""

from __future__ import annotations

from pathlib import Path

import pytest
from concerto.compiler.diagnostics import render_text
from concerto.compiler.pipeline import check_source

PROGRAMS = sorted((Path(__file__).parent / "programs").glob("*.conc"))


def rendered(path: Path) -> str:
    result = check_source(path.read_bytes(), path.name)
    return render_text(result.diagnostics, result.sources)


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_what_the_compiler_says(path: Path, bless: bool) -> None:
    text, golden = rendered(path), path.with_suffix(".txt")
    if bless:
        golden.write_text(text, encoding="utf-8")
    assert text == golden.read_text(encoding="utf-8")


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_every_message_names_the_way_out(path: Path) -> None:
    found = check_source(path.read_bytes(), path.name).diagnostics.ordered()
    assert found
    assert [f"{d.code}: {d.message}" for d in found if not d.help and d.code not in ("W0004",)] == []
