"""Built-ins written in the language: their text parses and touches nothing but `self` and the parameters (V-2.8)."""

from __future__ import annotations

import pytest
from concerto.compiler.diagnostics import Diagnostics
from concerto.compiler.source import Source
from concerto.compiler.syntax.parse import parse
from concerto.vm.builtins import METHODS, Row

PRELUDES = [row for row in METHODS.values() if row.kind == "prelude"]


@pytest.mark.parametrize("row", PRELUDES, ids=[repr(row) for row in PRELUDES])
def test_the_text_parses(row: Row) -> None:
    parameters = ", ".join(["this: Any", *(f"{p.name}: Any" for p in row.parameters)])
    text = f"fn method({parameters}) -> Any {{ {row.source.replace('self', 'this')} }}"
    diagnostics = Diagnostics()
    program = parse(Source("std", text), diagnostics)
    assert [(found.code, found.message) for found in diagnostics.ordered()] == []
    assert len(program.items) == 1
