"""Tests and mocks (O-8.1 to O-8.14)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

MODEL = "model M { provider: offline } memory log: Memory = Memory::new(); "
MAIN = " fn main() {}"

CASES = [
    ("", '@test("a") @expect_fail("b") fn f() { "x".parse_int()?; }' + MAIN),
    ("", '@test fn f() { mock M { tool_calls: [], response: { text: "a", tokens_in: 1 } } }' + MAIN),
    ("", '@test fn f() { let a: Any = "x"; mock M { response: a } let g = || { mock M { error: "auth" } }; g(); }' + MAIN),
    ("E4070", "@test fn «f(a: Int) { emit(\"x\", a); }" + MAIN),
    ("E4070", "@test fn «f() -> Int { 1 }" + MAIN),
    ("E4070", "@test fn «f<T>() { }" + MAIN),
    ("E4071", "«@expect_fail fn f() { }" + MAIN),
    ("E4009", "struct S { a: Int } impl S { «@test fn f(self) { } }" + MAIN),
    ("E4009", "@test(«3) fn f() { }" + MAIN),
    ("E4072", "fn f() { «mock M { response: \"a\" } }" + MAIN),
    ("E4072", "@test fn f() { mock «log { response: \"a\" } }" + MAIN),
    ("E4072", "@test fn f() { mock «nothing { response: \"a\" } }" + MAIN),
    ("E4073", "@test fn f() { } fn g() { «f(); }" + MAIN),
    ("E4073", "@test fn f() { } fn g() { let h = «f; h(); }" + MAIN),
    ("E4001", '@test fn f() { mock M { «answer: "a" } }' + MAIN),
    ("E4001", '@test fn f() { mock M { response: "a", «error: "b" } }' + MAIN),
    ("E4001", '@test fn f() { mock M { response: "a", «response: "b" } }' + MAIN),
    ("E4002", "@test fn f() { mock «M { } }" + MAIN),
    ("E4004", "@test fn f() { mock M { response: «1 } }" + MAIN),
    ("E4004", '@test fn f() { mock M { responses: «"a" } }' + MAIN),
    ("E4004", "@test fn f() { mock M { error: «1 } }" + MAIN),
]


@pytest.mark.parametrize(("code", "text"), CASES)
def test_tests_and_mocks(snippet: Callable[[str], Any], code: str, text: str) -> None:
    found = snippet(MODEL + text)
    assert found.found == [(code, *place) for place in found.marked]
