"""What a table that is none says of its way out (L-7.12.1)."""

from __future__ import annotations

import pytest
from concerto.vm.builtins.csv import parse
from concerto.vm.values import Err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a;b\n1;2,5\n", "2 fields in a table of 1; its header holds ';', which `separator:` may name at line 2, column 1"),
        ("a\tb\n1\t2,5\n", "2 fields in a table of 1; its header holds '\\t', which `separator:` may name at line 2, column 1"),
        ("a\n1,2\n", "2 fields in a table of 1 at line 2, column 1"),
        ("a,b;c\n1\n", "1 field in a table of 2 at line 2, column 1"),
    ],
)
def test_another_separator_is_told(text: str, message: str) -> None:
    found = parse(text, ",")
    assert isinstance(found, Err) and found.value.message == message
