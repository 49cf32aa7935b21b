"""Clauses of the specification against programs, the table of hashes, `elsewhere.txt` (C-10)."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from conformance import clauses, suite
from conformance.records import ExpectedEmit, Program
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


def test_every_clause_is_shown_or_has_a_reason() -> None:
    found = clauses_of("- **L-1.1.1** a\n- **L-11.1.1** b\n- **O-1.1** Target: 5\n", "a.md")
    assert len(clauses.required(found, set(), {})) == 3  # targets too
    assert clauses.required(found, {"L-1.1.1"}, {"O-1.1": "why."}) == [
        "L-11.1.1 is covered by nothing; docs/spec/unbuilt.md gives no reason"
    ]
    assert clauses.required(found, {"L-1.1.1", "L-11.1.1"}, {"O-1.1": "why."}) == []


def test_a_reason_is_a_sentence(tmp_path: Path) -> None:
    listed = tmp_path / "unbuilt.md"
    listed.write_text("# x\n\n| Why | Clause |\n|---|---|\n| Not built. | G-1.1 |\n|  | G-1.2 |\n| Twice. | G-1.1 |\n")
    reasons, broken = clauses.unbuilt(listed)
    assert reasons == {"G-1.1": "Not built."}
    assert [line.partition(": ")[0] for line in broken] == ["unbuilt.md:6", "unbuilt.md:7"]


def test_what_is_said_not_to_be_shown_is_named_by_nobody() -> None:
    program = Program("a.conc#1", "a.conc", "L-1.1.1", ("G-1.1",))
    shown = {"G-1.2": "tests/a.py::test_b"}
    found = clauses.claimed_unbuilt([program], shown, {"G-1.1": "Not built.", "G-1.2": "Nor this.", "G-1.3": "Nor that."})
    assert [line.partition(",")[0] for line in found] == ["a.conc: names G-1.1", "tests/a.py::test_b: names G-1.2"]


def program(named: int, emits: int) -> Program:
    expected = [ExpectedEmit((("out", "1"),), None, 1)] * emits
    return Program("a.conc#1", "a.conc", "L-1.1.1", tuple(f"L-1.1.{n}" for n in range(2, named + 1)), emits=expected)


def test_a_name_alone_claims_little() -> None:
    assert clauses.claims([program(4, 1), program(6, 2), program(7, 3)]) == []
    assert len(clauses.claims([program(5, 1)])) == 1
    assert len(clauses.claims([program(8, 9)])) == 1


def test_only_passing_programs_count(tmp_path: Path) -> None:
    results = tmp_path / "results.json"
    programs, _ = suite.load()
    passing, drifting = programs[0], programs[1]
    results.write_text(json.dumps({passing.ident: "pass", drifting.ident: "drift"}))
    assert clauses._passed(programs, str(results)) == [passing]


def test_elsewhere_names_tests_that_exist(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clauses, "PROJECT", tmp_path)
    (tmp_path / "benches").mkdir()
    (tmp_path / "test_a.py").write_text("def test_one():\n    assert f()\ndef test_empty():\n    pass\ndef other():\n    f()\n")
    (tmp_path / "benches" / "b.py").write_text("LIMIT = Target('V-1.1', 5)\ndef row(plan):\n    return [f(LIMIT)]\n")
    listed = tmp_path / "elsewhere.txt"
    good = ["G-1.1\ttest_a.py::test_one", "V-1.1\tbenches/b.py::row"]
    bad = ["G-1.2\ttest_a.py::test_two", "G-1.3\ttest_b.py::test_one", "G-1.4 x", "G-1.5\ttest_a.py",
           "G-1.6\ttest_a.py::test_empty", "G-1.7\ttest_a.py::other",
           "V-1.2\tbenches/b.py::row", "V-1.1\tbenches/b.py::none"]  # fmt: skip
    listed.write_text("\n".join(["# comment", *good, *bad]))
    shown, broken = clauses.elsewhere(listed)
    assert shown == {"G-1.1": "test_a.py::test_one", "V-1.1": "benches/b.py::row"}
    assert len(broken) == len(bad)


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
