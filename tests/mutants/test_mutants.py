"""The tool that plants changes: what a seed draws is Python, and the same each time; programs find what they can see (C-12.7)."""

from __future__ import annotations

import ast
import importlib
import shutil
import sys
from pathlib import Path

import pytest

from conformance import suite

from . import __main__ as command
from . import changes as drawing
from . import mending
from .__main__ import Run, kept, page, reasons
from .campaign import Campaign, Verdict, alone, first_that_fails
from .changes import ROOT, changes_in, changes_of, drawn
from .fork_server import replaced
from .mending import places_today
from .planting import Planting
from .reach import NAME, Reach, probe
from .reach_map import Reached, by_change


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
    programs = [program for program in suite.load()[0] if program.ident.startswith("strings/")]
    planting = Planting(tmp_path)
    assert first_that_fails(programs[:3], planting) == ""
    with planting.planted(change) as why:
        assert why == ""
        assert first_that_fails(programs, planting).startswith("strings/")
    assert (planting.tree / change.file).read_text() == (ROOT / change.file).read_text(), "the copy is as it was"


def test_tests_that_cannot_be_collected_find_a_change(tmp_path: Path) -> None:
    """What pytest says without a test's name counts too."""
    planting = Planting(tmp_path)
    test = planting.tree / "tests" / "test_seen.py"
    test.write_text("from concerto.vm.values.limits import to_int\n\nassert to_int(2.0) == 2\n\n\ndef test_it(): pass\n")
    changes = changes_of(ROOT / "vm" / "values" / "limits.py")
    change = next(one for one in changes if one.old.startswith("INT_MIN if") and one.new == "None")
    assert alone(planting, ["tests/test_seen.py"], 60) == ""
    with planting.planted(change):
        assert alone(planting, ["tests/test_seen.py"], 60)


def test_a_fork_of_the_collected_tests_finds_a_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In tests of its own, so that nothing else is collected: one that sees the change, and one that fails without it too."""
    changes = [
        one for one in changes_of(ROOT / "vm" / "values" / "limits.py") if one.old.startswith("INT_MIN if") and one.new == "None"
    ]
    seen = "from concerto.vm.values.limits import to_int\n\n\ndef test_it():\n    assert to_int(2.0) == 2\n"
    monkeypatch.setattr(
        Planting, "precompile", lambda self: _only(self, {"test_broken": "def test_it(): assert 0\n", "test_seen": seen})
    )
    names = [(f"tests/{name}.py::test_it", seconds) for name, seconds in (("test_broken", 0.1), ("test_seen", 1))]
    campaign = Campaign(changes, Reached([[]], [names], [], names), tmp_path)
    assert campaign.verdict(0) == Verdict(changes[0], "tests/test_seen.py::test_it", 2)
    assert campaign.tests.first_that_fails(None, ["tests/test_seen.py::test_it"], 60) == ""
    campaign.close()


def _only(planting: Planting, texts: dict[str, str]) -> None:
    for path in planting.tree.joinpath("tests").iterdir():
        if path.is_dir() and path.name != "mutants":
            shutil.rmtree(path)
        elif path.name.startswith("test_"):
            path.unlink()
    for name, text in texts.items():
        planting.tree.joinpath("tests", f"{name}.py").write_text(text)


def test_functions_take_the_code_of_the_changed_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = "def outer(k):\n    def inner(a):\n        return a + k\n    return inner\n"
    (tmp_path / "module_to_change.py").write_text(old)
    monkeypatch.syspath_prepend(str(tmp_path))
    module = importlib.import_module("module_to_change")
    inner = module.outer(2)
    assert not replaced([inner], old, old.replace("a + k", "a"))  # it no longer closes over k
    assert replaced([inner, module.outer], old, old.replace("a + k", "a - k"))
    assert (inner(5), module.outer(1)(5)) == (3, 4)
    assert not replaced([inner], old, old.replace("inner", "other"))


def test_the_page_names_survivors_and_what_cannot_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    one, two, three = drawn(3, 3)
    monkeypatch.setattr(command, "reasons", lambda: {two.key: "the same number"})
    verdicts = [Verdict(one, "", 5), Verdict(two, "", 6), Verdict(three, "", 7)]
    text = page(Run(3, 9, "abc"), verdicts, 60, {three: "names/seen.conc"})
    assert "3 changes, of the 9 that the seed draws" in text and "nobody can see 1 more" in text
    assert "Found at first: 0 of 2, 0.0%" in text and "**1 of 2, 50.0%**" in text
    alive, since, same = text.split("\n## ")[1:]
    assert f"- `{one.where}`" in alive and alive.endswith("5 programs and tests come here\n")
    assert f"- `{three.where}`" in since and "; names/seen.conc" in since
    assert f"- `{two.where}`" in same and "; the same number" in same


def test_kept_verdicts_are_read_as_they_were_written(tmp_path: Path) -> None:
    file, run = tmp_path / "kept.jsonl", Run(3, 2, "abc")
    one, two = drawn(3, 2)
    command._write(file, [run._asdict(), [list(one), "a.conc", 4, 1.5]], "w")
    command._write(file, [[list(two), "", 0, 0.0]], "a")
    assert kept(file) == (run, [(Verdict(one, "a.conc", 4), 1.5), (Verdict(two, "", 0), 0.0)])


def test_the_map_keeps_what_a_test_comes_to_apart_from_what_imports_come_to() -> None:
    notes = [("", [1], 0.0), ("a", [0], 0.5), ("b", [], 0.25)]
    assert by_change(notes, 2) == ([[("a", 0.5)], []], [1], [("a", 0.5), ("b", 0.25)])


def test_a_survivor_is_where_its_words_stand_today(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drawing, "ROOT", tmp_path)
    monkeypatch.setattr(mending, "ROOT", tmp_path)
    old = "def f(a):\n    g(1)\n    g(1)\n    return a\n"
    second = [change for change in changes_in("a.py", old) if change.old == "1"][1]

    def today(text: str) -> list[int]:
        (tmp_path / "a.py").write_text(text)
        return [change.line for change in places_today(second, old)]

    assert today("\n" + old) == [4]
    assert today(old.replace("    return a", "    g(1)")) == [2, 3, 4], "which is not clear"
    assert today(old.replace("1", "2")) == []


def test_tests_that_were_written_since() -> None:
    old = "import a\nROWS = [1]\n\ndef test_a():\n    assert 1\n\ndef test_b():\n    assert 2\n"
    assert mending.written_since("f.py", old, old) == []
    changed = old.replace("assert 2", "assert 3").replace("import a", "import a, b") + "\ndef test_c():\n    assert 4\n"
    assert mending.written_since("f.py", changed, old) == ["f.py::test_b", "f.py::test_c"]
    assert mending.written_since("f.py", old.replace("[1]", "[2]"), old) == ["f.py"]
    assert mending.written_since("f.py", old, "") == ["f.py"]


def test_what_names_a_file() -> None:
    names = mending.naming("vm/jit/tier.py")
    assert names.search("from concerto.vm.jit.tier import Tier") and names.search("from concerto.vm.jit import loops, tier\n")
    assert not names.search("from concerto.vm.jit import loops\ntier = 1") and not names.search("vm.jit.tiers")


def test_every_reason_is_of_a_change_that_can_be_made() -> None:
    possible = {change.key for path in {row[0] for row in reasons()} for change in changes_of(ROOT / path)}
    assert set(reasons()) <= possible, "a line of equivalent.txt is of a place that is gone"
