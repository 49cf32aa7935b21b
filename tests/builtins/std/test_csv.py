"""What a table that is none says of its way out (L-7.12.1)."""

from __future__ import annotations

import tracemalloc

import pytest
from concerto.vm.builtins.csv import format_maps, parse
from concerto.vm.panics import Panic
from concerto.vm.values import Array, Err, Map
from concerto.vm.values.limits import LONGEST_STRING


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


def test_a_table_that_is_too_long_is_not_made_first() -> None:
    maps = Array([Map({f"key {number}": number}) for number in range(30_000)])  # 900 million fields
    tracemalloc.start()
    try:
        with pytest.raises(Panic) as raised:
            format_maps(maps, ",")
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert raised.value.code == "P103"
    assert most < LONGEST_STRING
