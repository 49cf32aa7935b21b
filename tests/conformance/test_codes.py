"""Every code of the tables is provoked by a program of the suite: diagnostics, panics, refusals of images.

The lists below hold what no program can provoke and why; a listed code that a program does provoke fails, so they only shrink.
"""

from __future__ import annotations

from concerto.compiler.codes import CODES
from concerto.vm.bytecode.rules import LOADING, RULES
from concerto.vm.panics import PANICS

from conformance import suite

# Codes of constructs that are not built yet; each leaves the list with its construct.
UNBUILT: dict[str, str] = {
    "async code, tasks": "W0452",
    "tests, mocks": "P414",
    "long-term memory": "P451",
    "permissions, replay": "P406",
    "what is not built yet": "E4999",
}

# Codes that only a host provokes, with the test that does.
ELSEWHERE = {"V005": "tests/bytecode/test_codec.py", "P402": "tests/runtime/test_budgets.py"}


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
