"""Formatting keeps the tree and the comments, and formatting twice changes nothing: over every program there is."""

from __future__ import annotations

import random

import pytest
from concerto.compiler.format import FAMILIES, first_difference
from concerto.compiler.format.printer import PRINTERS
from concerto.compiler.syntax import ast
from hypothesis import given, settings
from hypothesis import strategies as st

from .laws import broken_law, canonical, formatted, tree
from .programs import PROGRAMS, corpus, respelled


def test_the_corpus_is_nearly_the_whole_repository() -> None:
    """What does not parse is left out of it: little may."""
    assert len(corpus()) > 1600


@pytest.mark.parametrize("name", corpus())
def test_programs_of_the_repository(name: str) -> None:
    assert broken_law(corpus()[name]) is None


@pytest.mark.parametrize("name", corpus())
def test_programs_with_other_white_space_and_comments(name: str) -> None:
    text = respelled(corpus()[name], random.Random(name))
    assert tree(text) is not None
    assert broken_law(text) is None, text


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(sorted(corpus())), st.randoms(use_true_random=False))
def test_some_programs_in_more_spellings(name: str, chance: random.Random) -> None:
    assert broken_law(respelled(corpus()[name], chance)) is None


@settings(max_examples=200, deadline=None)
@given(PROGRAMS)
def test_made_up_programs(text: str) -> None:
    assert tree(text) is not None, "the generator makes programs that parse"
    assert broken_law(text) is None


@settings(max_examples=60, deadline=None)
@given(PROGRAMS, st.randoms(use_true_random=False))
def test_made_up_programs_with_other_white_space_and_comments(text: str, chance: random.Random) -> None:
    assert broken_law(respelled(text, chance)) is None


def test_white_space_does_not_matter_where_no_brace_stands() -> None:
    one = canonical("fn f(a: Int, b: Int) -> Int { g(a, [b, 2], (1, 2)) + h() }")
    assert canonical("fn f ( a : Int ,\n b\n:\nInt )\n->Int{g(\na,[\nb,2\n],(1,2))\n+\nh()}") == one


def test_a_text_with_errors_has_no_canonical_form() -> None:
    assert formatted("fn f( {") is None
    assert formatted('fn f() { "open }') is None


def test_every_node_has_its_printer() -> None:
    assert FAMILIES
    written_by_others = {
        ast.Node, ast.Ident, ast.Expr, ast.Stmt, ast.Item, ast.Pattern, ast.TypeExpr, ast.FieldInit, ast.FieldPattern,
        ast.CatchClause, ast.SlotRef, ast.Comment, ast.ErrorExpr, ast.ErrorItem,
        ast.TaskBody,
    }  # fmt: skip
    nodes = {kind for kind in vars(ast).values() if isinstance(kind, type) and issubclass(kind, ast.Node)}
    assert nodes - set(PRINTERS) == written_by_others


# ---------------------------------------------------------------- the comparison itself


@pytest.mark.parametrize(
    ("one", "other", "words"),
    [
        ("const A: Int = 1;", "const A: Int = 2;", "items[0].value.value: 1 and 2"),
        ("const A: Int = 1;", "const A: Int = 1.0;", "items[0].value: IntLiteral and FloatLiteral"),
        ("const A: Int = 1;", "pub const A: Int = 1;", "items[0].public: False and True"),
        ("const A: Int = 1;", "/// doc\nconst A: Int = 1;", "items[0].doc: NoneType and str"),
        ("fn f() { a; }", "fn f() { a; b }", "items[0].body.result: NoneType and PathExpr"),
        ("fn f() { a |> b(1) }", "fn f() { a |> b(2) }", "items[0].body.result.applied.arguments[1].value.value: 1 and 2"),
        ("fn f(a: Int) { }", "fn f(a: Int, b: Int) { }", "items[0].parameters: 1 and 2 of them"),
        ("const A: Int = 1; const B: Int = 1;", "const A: Int = 2; const B: Int = 2;", "items[0].value.value: 1 and 2"),
        ("fn f(a: Int) { g(1, 2) }", "fn f(b: Int) { g(3, 4) }", "items[0].parameters[0].name.text: 'a' and 'b'"),
        ("fn f() { a  }", "fn  f ( ) { // c\n a }", None),
    ],
)
def test_trees_are_compared_apart_from_positions(one: str, other: str, words: str | None) -> None:
    left, right = tree(one), tree(other)
    assert left is not None and right is not None
    assert first_difference(left, right) == words
