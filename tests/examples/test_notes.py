"""Questions about a folder of notes: what the program prints, which notes it reads again in a later run, and its tests."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from ..command import EXAMPLES, Ended, concerto

ANSWER = """\
Yes, within 30 days, if it was ridden less than 50 kilometres and its papers are there.
  returns.md, Bicycles
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "notes"
    shutil.copytree(EXAMPLES / "notes", made, ignore=shutil.ignore_patterns(".concerto"))
    return made


def asked(folder: Path) -> Ended:
    run = concerto("run", "--offline-script", "main.conc", cwd=folder)
    assert run.code == 0, run.err
    return run


def test_an_answer_names_its_sources_and_a_later_run_reads_what_changed(folder: Path) -> None:
    names = sorted(path.name for path in (folder / "notes").iterdir())
    assert asked(folder).out == "".join(f"({name} has changed)\n" for name in names) + ANSWER
    assert asked(folder).out == ANSWER
    with (folder / "notes" / "expenses.md").open("a") as note:
        note.write("\nNor flowers.\n")
    (folder / "notes" / "closing.md").unlink()
    assert asked(folder).out == "(expenses.md has changed)\n(closing.md has changed)\n" + ANSWER


def test_a_source_that_is_not_in_the_notes_is_refused(folder: Path) -> None:
    (folder / "notes" / "returns.md").unlink()
    program = (folder / "main.conc").read_text()
    (reply,) = [line for line in program.splitlines() if line.startswith("// reply: ")]
    (folder / "script.conc").write_text(f"{reply}\n{reply}\n")
    run = concerto("run", "--offline-script", "script.conc", cwd=folder)
    assert run.code == 1 and "Not among the passages: returns.md, Bicycles" in run.err


def test_a_search_finds_the_heading_that_a_question_is_about(folder: Path) -> None:
    """Offline vectors know no meanings, so that words decide: those of the questions stand in the notes."""
    questions = {
        "What is the price of a large service?": "workshop.md, Prices",
        "How much may a bed for the night cost?": "expenses.md, What is paid",
        "Who hands out the keys?": "first-week.md, Keys",
        "What does error E071 mean?": "workshop.md, Electric bicycles",
    }
    for question, source in questions.items():
        file, _, heading = source.partition(", ")
        line = f'// reply: text {{"answer": "See there.", "citations": [{{"file": "{file}", "heading": "{heading}"}}]}}\n'
        (folder / "script.conc").write_text(line)
        run = concerto("run", "--offline-script", "script.conc", "--", question, cwd=folder)
        assert run.code == 0 and run.out.endswith(f"See there.\n  {source}\n"), (question, run.err)


def test_its_tests_pass(folder: Path) -> None:
    run = concerto("test", "--offline", cwd=folder)
    assert run.code == 0 and "6 passed, 0 failed" in run.out, run.out
