"""guarantees.md G-5.2 and language.md L-2.6.7: sizes that are legal, sizes that are refused, and input made to hurt."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from concerto.compiler.diagnostics import Diagnostics
from concerto.compiler.pipeline import compile_source
from concerto.compiler.source import Source
from concerto.compiler.syntax import ast
from concerto.compiler.syntax.parse import parse
from concerto.compiler.syntax.semantic_actions import Context

Codes = Callable[[str], list[str]]


def wrong(text: str) -> list[str]:
    diagnostics = Diagnostics()
    parse(Source("t", f"fn f() {{ let x = {text}; }}"), diagnostics)
    return [d.code for d in diagnostics.found]


@pytest.mark.parametrize(
    "text",
    ["+".join(["a"] * 10_000), " && ".join(["a"] * 10_000), " ?? ".join(["a"] * 10_000), "a" + " |> f()" * 5_000,
     "a" + " as T" * 10_000, "[" + "a, " * 10_000 + "]", '"' + "${a}" * 5_000 + '"'],
)  # fmt: skip
def test_chains_and_lists_of_any_length(text: str) -> None:
    assert wrong(text) == []


def test_a_tree_of_a_long_pipe_has_each_node_once() -> None:
    program = parse(Source("t", "fn f() { a" + " |> f()" * 200 + "; }"), Diagnostics())
    pending: list[ast.Node] = [program]
    count = 0
    while pending:
        count += 1
        pending.extend(pending.pop().children())
    assert count < 2000


@pytest.mark.parametrize(
    ("before", "inside", "after", "levels"),
    [
        ("(", "a", ")", 254), ("[", "a", "]", 254), ("f(", "a", ")", 254), ("!", "a", "", 254), ("- ", "a", "", 254),
        ("|x| ", "a", "", 254), ("if a { ", "b", " }", 254), ("{", "a;", "}", 254),
        ('"${', "a", '}"', 254), ("a = ", "b", "", 254), ("a ** ", "b", "", 254), ("", "a", ".b()", 256),
        ("match a { _ => ", "b", " }", 254), ("await ", "a", "", 254), ("return ", "a", "", 254),
    ],
)  # fmt: skip
def test_nesting_limit(before: str, inside: str, after: str, levels: int) -> None:
    assert wrong(before * levels + inside + after * levels) == []
    assert wrong(before * 258 + inside + after * 258) == ["E0114"]


def test_types_nest_at_most_256_deep() -> None:
    assert wrong("a as " + "A<" * 250 + "B" + ">" * 250) == []
    assert wrong("a as " + "A<" * 258 + "B" + ">" * 258) == ["E0114"]


@pytest.mark.parametrize("inside", ["", "mod b;"])
def test_modules_that_nest_too_deep_are_told(inside: str) -> None:
    text = "mod a {" * 3000 + inside + "}" * 3000
    found = compile_source(text.encode(), "main.conc").diagnostics.found
    assert [d.code for d in found] == ["E0114"]


def test_else_if_does_not_nest() -> None:
    assert wrong("if a { }" + " else if b { }" * 5_000) == []
    assert wrong("if a { }" + " else if b { }" * 5_000 + " else { " + "(" * 257 + "a" + ")" * 257 + " }") == ["E0114"]


@pytest.mark.parametrize(
    "text",
    ["(" * 20_000, "{" * 20_000, "}" * 20_000, "([{" * 7_000, "A<" * 20_000, "A<B," * 10_000, "fn(" * 7_000, "fn() -> " * 5_000,
     "|x| " * 10_000, "!" * 20_000, "a." * 10_000, "'a " * 5_000, '"${' * 5_000, "/*" * 10_000, "1 " * 5_000, "$" * 5_000,
     "if a {} else " * 5_000 + "1", "@" * 5_000, "x @ " * 5_000, "\0" * 100, "\ud800", "match a { " * 2_000, "..=" * 3_000],
)  # fmt: skip
def test_hostile_input_ends_in_diagnostics(text: str) -> None:
    assert wrong(text) != []


def test_parses_may_run_side_by_side(sample: str) -> None:
    results: list[int] = []

    def work() -> None:
        diagnostics = Diagnostics()
        program = parse(Source("t", sample), diagnostics)
        results.append(len(program.items) if not diagnostics.found else -1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(results)) == 1 and results[0] > 20


@pytest.mark.parametrize(
    "text",
    ["([)//\n" * 30_000, "([)" * 20_000 + "//" + "x" * 1_000_000, ("/*" + "x" * 200 + "*/") * 50_000,
     ("'" + "a" * 25 + ": ") * 200_000, '"' + ("\\u{" + "x" * 50) * 40_000 + '"'],
    ids=["brackets", "brackets before a comment", "comments of a line", "labels of a line", "escapes of a string"],
)  # fmt: skip
def test_lexing_and_matching_take_linear_time(text: str) -> None:
    started = time.process_time()
    parse(Source("t", text), Diagnostics())
    assert time.process_time() - started < 8, "the time grows faster than the text"


def test_what_is_remembered_by_the_id_of_a_node_keeps_that_node(monkeypatch: pytest.MonkeyPatch) -> None:
    """A later node that got the `id` of one which is gone would pass for it."""
    made: list[Context] = []

    class Kept(Context):
        def __init__(self, *given: Any) -> None:
            super().__init__(*given)
            made.append(self)

    monkeypatch.setattr("concerto.compiler.syntax.parse.Context", Kept)
    parse(Source("t", "struct S { pub a: Int } pub fn f() { a.b.c(1).d(2)?[3]; }"), Diagnostics())
    (context,) = made
    kinds = {type(node) for _, node in context.depths.values()}
    assert kinds >= {ast.FieldAccess, ast.MethodCall, ast.Index}
    assert {type(node) for _, node in context.pubs.values()} == {ast.Field, ast.Function}
    for held in (context.depths, context.pubs):
        assert all(number == id(node) for number, (_, node) in held.items())
