"""What a table that is none says of its way out (L-7.12.1)."""

from __future__ import annotations

import random
import tracemalloc

import pytest
from concerto.vm.builtins import csv
from concerto.vm.builtins.csv import format_maps, parse
from concerto.vm.panics import Panic
from concerto.vm.values import Array, Err, Map, debug
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


def test_python_reads_a_table_as_it_is_read_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python's reader takes what it means the same by; of the rest the slow one says what is wrong."""
    chance = random.Random(17)
    signs = ["a", "b", ",", ";", '"', '""', '"a"', "\n", "\r", "\r\n", "a,b\n", " ", "\0", "\ufeff", "\x0b", "\u2028", "\t"]
    cases = [("".join(chance.choices(signs, k=chance.randrange(12))), chance.choice(",; \t\0")) for _ in range(4_000)]
    cases += [(f'a,b\n1,"{"x" * size}"\n' * 3, ",") for size in (131_071, 131_072, 131_073, 300_000)]
    cases += [("a,b\n" + '"1\n2",3\n' * 60_000, ","), ("a\n" + "1\r" * 200_000, ","), ("a,b\n" + '1,"2\r\n"\r\n' * 40_000, ",")]
    found = [debug(function(*case)) for case in cases for function in (csv.parse, csv.parse_rows)]
    quick = [bool(csv._Reader(*case).quick_rows()) for case in cases]
    assert 1_000 < sum(quick) < len(cases) - 1_000
    monkeypatch.setattr(csv._Reader, "quick_rows", lambda self: [])
    assert found == [debug(function(*case)) for case in cases for function in (csv.parse, csv.parse_rows)]
