"""Clauses of the specification against programs, the table of hashes, `elsewhere.txt` (C-10)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from conformance import clauses, suite
from conformance.specification import clauses_of, read_clauses, stray_musts

TEXT = """# Title

- **L-1.1.1** first, see L-9.9.9
  goes on
- **L-1.1.2** second
```
code with **L-7.7.7**
```

| Id | Rule |
|---|---|
| **O-2.1** | a row |

| V-1 | Room |
|---|---|
| 1.1 | `vm/` |

**C-1.1** a paragraph. Target: 5.
"""


def test_clauses_are_defined_where_their_id_opens() -> None:
    found = clauses_of(TEXT, "a.md")
    assert [c.ident for c in found] == ["L-1.1.1", "L-1.1.2", "O-2.1", "V-1.1", "C-1.1"]
    assert found[0].text.endswith("goes on") and "code with" in found[1].text
    assert [c.kind for c in found] == ["must"] * 4 + ["may"]


def test_a_hash_sees_words_and_not_line_breaks() -> None:
    one = clauses_of("- **L-1.1.1** a b\n", "a.md")[0]
    assert one.hash == clauses_of("- **L-1.1.1** a\n  b\n", "a.md")[0].hash
    assert one.hash != clauses_of("- **L-1.1.1** a c\n", "a.md")[0].hash


def test_musts_belong_into_clauses(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("It must not.\n\n- **L-1.1.1** it must\n  and must\n\n```\nmust\n```\n")
    assert stray_musts(tmp_path) == ["a.md:1: says must outside any clause"]


def test_changed_texts_are_found(tmp_path: Path) -> None:
    table = tmp_path / "clauses.jsonl"
    old = clauses_of("- **L-1.1.1** a\n- **L-1.1.2** b\n", "a.md")
    assert clauses.bless(old, table) and not clauses.bless(old, table)
    assert clauses.changed_texts(old, table) == []
    new = clauses_of("- **L-1.1.1** a\n- **L-1.1.2** c\n- **L-1.1.3** d\n", "a.md")
    broken = clauses.changed_texts(new, table)
    assert len(broken) == 2 and "L-1.1.2" in broken[0] and "L-1.1.3" in broken[1]


def test_required_prefixes_demand_their_clauses_only() -> None:
    found = clauses_of("- **L-1.1.1** a\n- **L-11.1.1** b\n- **O-1.1** c\n", "a.md")
    assert clauses.required(found, set(), ["L-1"]) == ["L-1.1.1 is covered by no program"]
    assert clauses.required(found, {"L-1.1.1"}, ["L-1"]) == []
    assert len(clauses.required(found, set(), ["L"])) == 2


def test_elsewhere_names_tests_that_exist(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clauses, "PROJECT", tmp_path)
    (tmp_path / "test_a.py").write_text("def test_one(): pass\n")
    listed = tmp_path / "elsewhere.txt"
    listed.write_text("# comment\nG-1.1\ttest_a.py::test_one\nG-1.2\ttest_a.py::test_two\nG-1.3\ttest_b.py\nG-1.4 x\n")
    shown, broken = clauses.elsewhere(listed)
    assert shown == {"G-1.1": "test_a.py::test_one"}
    assert len(broken) == 3


@pytest.mark.parametrize("words", [["coverage.py", "--list", "G-"], ["generate.py", "--print", "--count", "1"]])
def test_a_reader_that_goes_away_gets_no_traceback(words: list[str]) -> None:
    """`coverage.py --list G- | head -1`."""
    started = [sys.executable, str(suite.ROOT / words[0]), *words[1:]]
    process = subprocess.Popen(started, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=clauses.PROJECT)
    assert process.stdout is not None and process.stderr is not None
    process.stdout.close()
    errors = process.stderr.read()
    process.stderr.close()
    assert process.wait() == 1 and errors == ""


def test_the_suite_itself_is_sound() -> None:
    programs, errors = suite.load()
    assert errors == []
    assert len(programs) > 60
    assert clauses.print_lengths(programs) == []


def test_no_program_names_an_unknown_clause() -> None:
    defined = {clause.ident for clause in read_clauses(clauses.PROJECT / "docs" / "spec")}
    assert len(defined) > 1000
    programs, _ = suite.load()
    assert {ident for program in programs for ident in program.clauses} <= defined
