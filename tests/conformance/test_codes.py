"""Every code of the tables is provoked by a program of the suite: diagnostics, panics, refusals of images.

The lists below hold what no program can provoke and why; a listed code that a program does provoke fails, so they only shrink.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from concerto.compiler.diagnostics import CODES
from concerto.vm.bytecode.rules import LOADING, RULES
from concerto.vm.panics import PANICS

from conformance import suite

ROOT = Path(__file__).resolve().parents[2]

# Codes of constructs that are not built yet; each leaves the list with its construct.
UNBUILT: dict[str, str] = {
    "replay": "P406",
}

# Codes that only a host or a manifest provokes, or that the outcome of a test leaves out, with the test that sees them.
BUDGETS = "tests/runtime/test_budgets.py"
SIGNATURES = "tests/cli/test_python_functions.py"
ELSEWHERE = {
    "E1012": "tests/libraries/test_installed.py::test_two_distributions_with_one_name",
    "V005": "tests/bytecode/test_codec.py::test_order_of_checks",
    **dict.fromkeys(("P401", "P402", "P403"), f"{BUDGETS}::test_where_no_result_carries_it_a_spent_budget_is_a_panic"),
    "E4514": "tests/cli/test_memories.py::test_a_manifest_that_says_no_memory",
    "P414": "tests/runtime/test_mocks.py::test_the_code_of_a_mock_without_a_reply",
    "P418": "tests/api/test_python_functions.py::test_a_function_is_not_called_when_its_call_is_over",
    **dict.fromkeys(("W0407", "W0408", "W0409"), f"{SIGNATURES}::test_misfits_are_warnings_at_the_declaration"),
}


def provoked() -> set[str]:
    programs, errors = suite.load()
    assert not errors
    codes: set[str] = set()
    for program in programs:
        codes.update(form.code for expected in program.diagnostics for form in expected.either)
        codes.update(code for code, _ in (program.panic.either if program.panic else ()))
        if program.reject:
            codes.add(program.reject[0])
    return codes


def test_every_code_is_provoked_by_a_program() -> None:
    known = {*CODES, *PANICS, *LOADING, *RULES}
    listed = {code for codes in UNBUILT.values() for code in codes.split()}
    found = provoked()
    assert not found - known, "codes without a row in a table"
    assert sorted(known - found - listed - set(ELSEWHERE)) == [], "no program provokes these"
    assert sorted((listed | set(ELSEWHERE)) & found) == [], "a program provokes these: take them off the list"
    assert not (listed | set(ELSEWHERE)) - known, "listed codes that no table has"


@pytest.mark.parametrize("code", ELSEWHERE)
def test_the_named_test_expects_the_code(code: str) -> None:
    path, _, name = ELSEWHERE[code].partition("::")
    text = (ROOT / path).read_text(encoding="utf-8")
    assert f"def {name}(" in text and code in text
