"""The programs of `examples/from_rust` are written as for the Rust implementation: they run, and only hints are given."""

import pytest
from concerto.compiler.pipeline import check_source

from ..command import EXAMPLES, concerto

ANSWERS = {
    "assistant": "[emit:answer] offline: What is ownership?\n"
    "[emit:answers] offline: What is Rust? / offline: How does its borrow checker work?\n[emit:history_length] 4\n",
    "settings": '[emit:port] 8080\n[emit:failed] no port: not an Int: "http"\n',
    "triage": '[emit:rows] [{"ticket":"The export crashes","category":"bug","urgency":1},'
    '{"ticket":"Please add a dark mode","category":"bug","urgency":1}]\n',
}
HINTS = {"W0020", "W0021"}
PROGRAMS = sorted((EXAMPLES / "from_rust").glob("*.conc"))


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
@pytest.mark.parametrize("tier", ["interp", "both"])
def test_it_runs(path, tier, tmp_path):
    done = concerto("run", path, "--offline", "--tier", tier, cwd=tmp_path)
    assert (done.code, done.out) == (0, ANSWERS[path.stem])


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_its_tests_pass(path, tmp_path):
    assert concerto("test", path, cwd=tmp_path).code == 0


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_only_hints_are_given(path):
    found = check_source(path.read_bytes(), path.name).diagnostics.ordered()
    assert {one.code for one in found} <= HINTS
    assert all(one.help for one in found)
