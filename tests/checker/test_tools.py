"""What the checker says about tools: one program per code and form (O-4.1 to O-4.10, O-1.42, O-3.25)."""

from __future__ import annotations

from typing import Any

import pytest

MAIN = " fn main() {}"
TOOL = 'tool T {{ description: "d", {} }}'.format

REFUSED = [
    ("tool T { }", "E4002"),
    (TOOL('description: "e"'), "E4001"),
    (TOOL("n: Int,"), "E4002"),
    (TOOL("pub fn m(self) { }"), "E4010"),
    (TOOL('@describe("a") pub fn m(self, x: Int) { print(x); }'), "E4011"),
    (TOOL('@describe("a") @param("y", "t") pub fn m(self) { }'), "E4011"),
    (TOOL('@describe("a") @param("x") pub fn m(self, x: Int) { print(x); }'), "E4009"),
    (TOOL('@describe("a") pub fn m(self, @param("x", "t") x: Int) { print(x); }'), "E4009"),
    (TOOL('@describe("a") @param("x", "t") pub fn m(self, x: (Int, Int)) { print(x); }'), "E4020"),
    (TOOL('@describe("a") @param("x", "t") pub fn m(self, x: Int = f()) { print(x); }') + " fn f() -> Int { 1 }", "E4023"),
    (TOOL(f'@describe("a") pub fn {"m" * 62}(self) {{ }}'), "E4013"),
    (TOOL('@describe("a") pub fn m(self) { }') + " model M { provider: offline, tools: [M] }", "E4004"),
    ('model M { provider: offline } fn f() { M.with_tools(["x"]); }', "E4040"),
]


@pytest.mark.parametrize(("text", "code"), REFUSED)
def test_refused(text: str, code: str, snippet: Any) -> None:
    found = snippet(text + MAIN).diagnostics
    assert code in {d.code for d in found}
    assert {d.code for d in found} <= {code, "E4011"}


def test_a_tool_without_methods_is_one(snippet: Any) -> None:
    assert not snippet(TOOL("") + MAIN).diagnostics


def test_a_method_name_of_every_value_is_that_one(snippet: Any) -> None:
    """`to_string` is a method of handles too; a tool's own goes by its path."""
    assert not snippet(TOOL('@describe("a") pub fn m(self) { }') + " fn main() { print(T.to_string()); T::m(); }").diagnostics
