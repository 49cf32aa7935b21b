"""The rows of the standard library are complete, consistent and readable (V-2.8, language.md 7)."""

from __future__ import annotations

import subprocess
import sys

import pytest
from concerto.compiler.diagnostics import Diagnostics
from concerto.compiler.source import Source
from concerto.compiler.syntax.parse import parse
from concerto.vm.builtins import REQUIRED, STD_MODULES, STD_TYPES, Row, std_module, std_row
from concerto.vm.builtins.modules import ARITY, row_of, takes_receiver
from concerto.vm.builtins.signatures import EMPTY_MAP
from concerto.vm.values import FAMILIES, RECORDS

ROWS = [row for module in STD_MODULES for row in std_module(module).values()]
IDS = [f"{row.module}::{row.name}" for row in ROWS]
NAMES = {
    "budget": "left", "call": "context", "usage": "last spent since of",
    "collections": "", "crypto": "sha256 md5 uuid random_bytes",
    "csv": "parse parse_rows format format_rows",
    "date": "of from_ms now parse to_ms in_zone add difference_ms days_between is_before weekday day_of_year week format",
    "encoding": "to_base64 from_base64 to_base64url from_base64url to_hex from_hex",
    "io": "read_line read_all read_bytes script",
    "url": "parse build join encode decode query parse_query query_map",
    "env": "get has require all args",
    "fmt": "format pad_left pad_right truncate indent debug number",
    "fs": "read_file write_file append_file remove_file exists list_dir file_size "
    "read_bytes write_bytes make_dir remove_dir temp_dir",
    "http": "get delete post put request",
    "json": "parse parse_as value_as stringify stringify_pretty is_valid", "log": "debug info warn error",
    "math": "abs min max clamp pow floor ceil round sqrt random random_int",
    "media": "image audio document bytes link",
    "prompt": "template from_file count_tokens",
    "regex": "is_match find find_all captures replace",
    "string": "len trim trim_start trim_end to_upper to_lower contains starts_with ends_with split replace substring repeat "
    "reverse parse_int parse_float join",
    "text": "chunks", "time": "now now_ms sleep measure",
}  # fmt: skip
PERMISSIONS = {
    "http": {"net"}, "io": {""}, "env": {"env", ""}, "fs": {"fs:read", "fs:write"},
    "media": {"fs:read", ""},
}  # fmt: skip
EFFECTS = {"usage", "budget", "call", "clock", "date", "env", "file", "http", "io", "log", "random", "sleep"}


def test_modules_offer_what_the_language_lists() -> None:
    assert {module: set(std_module(module)) for module in STD_MODULES} == {m: set(n.split()) for m, n in NAMES.items()}
    assert std_module("nope") == {} and std_row("nope", "abs") is None and std_row("math", "nope") is None


def test_every_clause_has_a_row() -> None:
    last = {1: 5, 3: 4, 4: 3, 5: 3, 6: 3, 7: 3, 8: 2, 10: 4, 11: 3, 12: 4, 13: 6, 14: 3, 15: 8, 16: 4, 17: 1, 18: 1}
    expected = {f"L-7.{part}.{n}" for part, count in last.items() for n in range(1, count + 1)}
    expected |= {"L-7.2.1", "L-7.2.2", "L-7.3.6", "L-7.3.7", "L-7.3.8", "L-7.5.5", *(f"L-7.9.{n}" for n in (2, 3, 4, 5))}
    expected |= {"O-1.206", "O-1.207", "O-1.208"}  # std::media
    expected |= {"O-1.242"}  # std::text
    assert expected == {row.clause for row in ROWS}


@pytest.mark.parametrize("row", ROWS, ids=IDS)
def test_a_row_is_whole(row: Row) -> None:
    assert row.doc.endswith(".") and "\n" not in row.doc
    assert row.signature.name == row.name
    assert (row.body is not None) == (row.kind == "python")
    assert (row.prepare is not None) == (row.kind == "effect") == (row.effect in EFFECTS)
    assert bool(row.source) == (row.kind == "prelude")
    optional = [p.optional for p in row.parameters]
    assert optional == sorted(optional)
    assert row.permission in PERMISSIONS.get(row.module, {""})


@pytest.mark.parametrize("row", ROWS, ids=IDS)
def test_failing_functions_name_a_family(row: Row) -> None:
    if row.result[0] == "result":
        assert row.result[2][0] == "error" and row.result[2][1] in FAMILIES


def test_the_image_names_a_function_by_module_and_name() -> None:
    assert row_of("std::math", "abs") is std_row("math", "abs")
    assert row_of("std::math", "random") is None, "an effect has no body to call"
    assert row_of("std::math", "to_string") is None and row_of("std::nope", "abs") is None
    assert ARITY["std::math", "clamp"] == 3 and not takes_receiver("std::math", "to_string")
    assert ("std::regex", "find") in ARITY and ("std::regex", "nope") not in ARITY


def test_types_of_modules_exist() -> None:
    assert {name for names in STD_TYPES.values() for name in names} - set(RECORDS) == {"Set", "Queue", "Stack"}
    assert set(STD_TYPES) <= set(STD_MODULES)


def test_an_empty_map_is_a_default_that_nobody_can_change() -> None:
    row = std_row("http", "get")
    assert row is not None and row.defaults == (REQUIRED, EMPTY_MAP)
    assert EMPTY_MAP.shared and EMPTY_MAP.items == {}


@pytest.mark.parametrize("row", [r for r in ROWS if r.kind == "prelude"], ids=lambda row: row.name)
def test_functions_written_in_the_language_parse(row: Row) -> None:
    parameters = ", ".join(f"{p.name}: Any" for p in row.parameters)
    diagnostics = Diagnostics()
    parse(Source("std", f"fn function({parameters}) -> Any {{ {row.source} }}"), diagnostics)
    assert [(found.code, found.message) for found in diagnostics.ordered()] == []


def test_the_library_is_loaded_when_it_is_named() -> None:
    program = (
        "import sys, concerto.vm.builtins as b\n"
        "late = ('csv', 'date', 'formats', 'json', 'regex', 'url')\n"
        "print([m for m in late if f'concerto.vm.builtins.{m}' in sys.modules])\n"
        "b.std_row('csv', 'parse')\n"
        "print([m for m in late if f'concerto.vm.builtins.{m}' in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["[]", "['csv']"]
