"""Names and strings of a program never become text that Python runs, in translated code either (G-2.22)."""

from __future__ import annotations

import keyword
import re

import pytest
from concerto.vm.jit.library import NAMES
from concerto.vm.jit.tier import Translation

from .tiers import loaded

HOSTILE = ['__import__(\\"os\\")', "{os.system}", '\\");raise SystemExit(\\"', "\\n    raise SystemExit\\n", "\\u{1}7\\u{2}'''"]
SOURCE = """
struct Import__ { raise1: String, exec: Int }
enum Lambda { None1(String), Other }
fn __getattr__(eval: String) -> String { "TEXT" + "TEXT ${eval} TEXT" }
fn system(count: Int, table: Map<String, String>) -> String {
    let mut found = "TEXT";
    for i in 0..count {
        let it = Import__ { raise1: "TEXT", exec: i };
        found = found + "${i} TEXT ${it.raise1}" + (table.get("TEXT") ?? "TEXT");
        match Lambda::None1("TEXT") { Lambda::None1(x) => { found += x; } Lambda::Other => {} }
    }
    if found == "TEXT" { __getattr__("TEXT") } else { found }
}
fn main() { emit("TEXT", system(3, {"TEXT": "TEXT"})); }
"""
OWN = re.compile(r"(fn|FN|u|l|s|t|c|v|k|j|e|a|b|m|new|K|C|B|f)\d+(_\d+)*")
WORDS = {"items", "shared", "decl", "variant", "value", "function", "cells", "payload", "get", "append", "surely", "pop", "cost",
         "message", "argc", "family", "fields", "__length_hint__"}  # fmt: skip
GLOBALS = {"S", "KEEP", "Q", "M", "L", "F", "LOW", "MACHINE", "d", "g", "n", "r", "w", "x"}
BUILT_IN = {"len", "str", "int", "type", "iter", "range", "next", "float"}


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("metered", [True, False])
def test_only_words_of_the_translator_and_numbers(text: str, metered: bool) -> None:
    program = loaded(SOURCE.replace("TEXT", text))
    translation = Translation(program)
    translated = 0
    for number in range(len(program.codes)):
        part = translation.whole(number, metered)
        if part is None:
            continue
        translated += 1
        source = re.sub(r"f'(\{\w+\})+'|'(\+|-|\*)'|fields = \{\}", "", part.source)
        assert not re.search(r"['\"\\\\{}]", source), source
        known = {*NAMES, *WORDS, *GLOBALS, *BUILT_IN, *keyword.kwlist, "AttributeError", "append", "join"}
        strange = [word for word in re.findall(r"[^\W\d]\w*", source) if word not in known and not OWN.fullmatch(word)]
        assert not strange
    assert translated >= 2
