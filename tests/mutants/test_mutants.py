"""The tool that plants changes: what a seed draws is Python, and the same each time; programs find what they can see (C-12.7)."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

from conformance import suite

from . import __main__ as command
from . import changes as drawing
from .__main__ import EQUIVALENT, key_of, page, reasons
from .campaign import Planting, Reached, Verdict, verdict
from .changes import ROOT, changes_of, drawn
from .reach import NAME, Reach, probe


def test_a_seed_draws_the_same_changes_each_of_which_is_python() -> None:
    changes = drawn(11, 60)
    assert changes == drawn(11, 60) != drawn(12, 60)
    assert len({(change.file, change.line) for change in changes}) == 60
    for change in changes:
        before = (ROOT / change.file).read_text(encoding="utf-8")
        assert ast.dump(ast.parse(change.source())) != ast.dump(ast.parse(before)), change


def test_places_are_bytes_of_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drawing, "ROOT", tmp_path)
    file = tmp_path / "a.py"
    file.write_text('def f(a, b):\n    "é"\n    return ("ü", a < b)\n', encoding="utf-8")
    (operator,) = [change for change in changes_of(file) if change.old == "<"]
    assert operator.source() == 'def f(a, b):\n    "é"\n    return ("ü", a <= b)\n'


def test_probes_tell_the_statements_that_were_executed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drawing, "ROOT", tmp_path)
    file = tmp_path / "a.py"
    branches = "    if a > 1:\n        return (\n            a + 1\n        )\n    elif a < -3:\n        a *= 2\n"
    file.write_text(f"def f(a):\n{branches}    return a - 1\n")
    changes = [change for change in changes_of(file) if change.old in (">", "<", "+", "-")]
    probe(changes, tmp_path)
    space: dict[str, object] = {}
    exec(compile(file.read_text(), str(file), "exec"), space)
    monkeypatch.setattr(sys, NAME, None, raising=False)
    reach = Reach()
    reached = []
    for value in (0, 2):
        space["f"](value)  # type: ignore[operator]
        reached.append({changes[number].old for number in reach.taken()})
    assert reached == [{">", "<", "-"}, {">", "<", "+"}]


def test_a_program_finds_a_change_that_it_can_see(tmp_path: Path) -> None:
    change = next(change for change in changes_of(ROOT / "vm" / "builtins" / "strings.py") if change.new == "None")
    programs = {program.ident: program for program in suite.load()[0] if program.ident.startswith("strings/")}
    planting = Planting(tmp_path)
    found = verdict(change, 0, Reached([list(programs)], [[]]), planting, programs)
    assert found.by in programs
    assert (planting.tree / change.file).read_text() == (ROOT / change.file).read_text(), "the copy is as it was"


def test_tests_that_cannot_be_collected_find_a_change(tmp_path: Path) -> None:
    """What pytest says without a test's name counts too, and is not asked again without the change."""
    planting = Planting(tmp_path)
    test = planting.tree / "tests" / "test_seen.py"
    test.write_text("from concerto.vm.values.limits import to_int\n\nassert to_int(2.0) == 2\n\n\ndef test_it(): pass\n")
    changes = changes_of(ROOT / "vm" / "values" / "limits.py")
    change = next(one for one in changes if one.old.startswith("INT_MIN if") and one.new == "None")
    found = verdict(change, 0, Reached([[]], [[("tests/test_seen.py", 0.1)]]), planting, {})
    assert found.by


def test_the_page_names_survivors_and_what_cannot_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    one, two = drawn(3, 2)
    monkeypatch.setattr(command, "reasons", lambda: {key_of(two): "the same number"})
    text = page(3, [Verdict(one, "", 5), Verdict(two, "", 6)], 60)
    assert "**0 of 1, 0.0%**; nobody can see 1 more" in text
    assert f"- `{one.where}`" in text and "5 programs and tests come here" in text and ": the same number" in text


def test_every_reason_is_of_a_change_that_can_be_made() -> None:
    possible = {key_of(change) for path in {row[0] for row in reasons()} for change in changes_of(ROOT / path)}
    assert EQUIVALENT.exists()
    assert set(reasons()) <= possible, "a line of equivalent.txt is of a place that is gone"
