"""`concerto conformance`: verdicts on clauses from the programs shipped with the product (O-9.24)."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from concerto.conformance import suite

GOOD = '// clause: O-9.91\n// also: L-5.2.1\n// level: 1\nfn main() { emit("out", 1); }  // emit: out 1\n'
BAD = '// clause: O-9.92\n// level: 1\nfn main() { emit("out", 1); }  // emit: out 2\n'
FAR = '// clause: O-90.1\n// level: 1\nfn main() { emit("out", 1); }  // emit: out 1\n'
BEYOND = '// clause: O-9.93\n// level: 6\nfn main() { emit("out", 1); }  // emit: out 1\n'


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """A suite of these programs in place of the shipped one."""
    load = suite.load

    def write(*texts: str) -> None:
        (tmp_path / "suite" / "tests").mkdir(parents=True)
        for number, text in enumerate(texts):
            (tmp_path / "suite" / "tests" / f"p{number}.conc").write_text(text, encoding="utf-8")
        monkeypatch.setattr(suite, "load", lambda: load(tmp_path / "suite"))

    return write


def test_shipped_programs_pass(cli) -> None:
    ended = cli("conformance", "--filter", "O-10.1")
    assert (ended.code, ended.err) == (0, "")
    assert ended.out == "PASS O-10.1\n1 passed, 0 failed (2 programs)\n"


def test_a_clause_fails_with_the_program_and_its_reason(cli, programs) -> None:
    programs(GOOD, BAD)
    ended = cli("conformance")
    assert ended.code == 1
    passed, late, failed, summary = ended.out.splitlines()
    assert (passed, late) == ("PASS L-5.2.1", "PASS O-9.91")
    assert failed.startswith("FAIL O-9.92 -- p1.conc: line 3: expected ") and "out 2" in failed and "out 1" in failed
    assert summary == "2 passed, 1 failed (2 programs)"


def test_quiet_shows_failures_and_the_summary(cli, programs) -> None:
    programs(GOOD, BAD)
    assert [line[:4] for line in cli("conformance", "-q").out.splitlines()] == ["FAIL", "2 pa"]


def test_a_filter_is_a_clause_or_the_beginning_of_ids(cli, programs) -> None:
    programs(GOOD, BAD, FAR)
    assert cli("conformance", "--list").out == "L-5.2.1 1\nO-9.91 1\nO-9.92 1\nO-90.1 1\n"
    for wanted, listed in (("O-9", "O-9.91 1\nO-9.92 1\n"), ("O-9.91", "O-9.91 1\n"), ("L", "L-5.2.1 1\n")):
        assert cli("conformance", "--list", "--filter", wanted).out == listed
    assert cli("conformance", "--filter", "O-9.91").code == 0
    for unknown in ("O-9.9", "o-9", "X"):
        ended = cli("conformance", "--filter", unknown)
        assert (ended.code, ended.out) == (1, "") and f"names a clause {unknown}" in ended.err


def test_as_json(cli, programs) -> None:
    programs(GOOD, BAD)
    found = json.loads(cli("conformance", "--json", "--filter", "O").out)
    good, bad = found["clauses"]
    assert good == {"clause": "O-9.91", "passed": True, "reason": None, "programs": ["p0.conc"]}
    assert not bad["passed"] and bad["reason"].startswith("p1.conc: line 3: expected")
    assert found["summary"] == {"passed": 1, "failed": 1, "programs": 2}
    assert json.loads(cli("conformance", "--json", "--list").out)["clauses"][0] == {"clause": "L-5.2.1", "programs": 1}


def test_what_is_not_claimed_has_no_verdict(cli, programs) -> None:
    programs(GOOD, BEYOND)
    ended = cli("conformance")
    assert ended.code == 0 and "O-9.93" not in ended.out


def test_a_program_that_cannot_be_read_is_a_failure(cli, programs) -> None:
    programs(GOOD, "// clause: O-9.94\n// levle: 1\nfn main() {}\n")
    ended = cli("conformance")
    assert ended.code == 1 and "p1.conc:2: unknown key 'levle'" in ended.err
