"""Whole texts: the examples of the documents, exact spans everywhere, and texts broken at random."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest
from concerto.compiler.diagnostics import Diagnostics
from concerto.compiler.source import Source
from concerto.compiler.syntax import ast
from concerto.compiler.syntax.parse import parse

SPEC = Path(__file__).resolve().parents[2] / "docs" / "spec"
FENCE = re.compile(r"^```concerto\n(.*?)^```", re.MULTILINE | re.DOTALL)


def spec_blocks() -> list[tuple[str, str]]:
    return [
        (f"{path.name}:{text.count(chr(10), 0, found.start()) + 2}", found[1])
        for path in sorted(SPEC.glob("*.md"))
        for text in [path.read_text(encoding="utf-8")]
        for found in FENCE.finditer(text)
    ]


@pytest.mark.parametrize(("name", "text"), spec_blocks())
def test_examples_of_the_documents_parse(name: str, text: str) -> None:
    diagnostics = Diagnostics()
    parse(Source(name, text), diagnostics)
    assert diagnostics.found == []


def test_every_construct_parses(sample: str) -> None:
    diagnostics = Diagnostics()
    program = parse(Source("t", sample), diagnostics)
    assert diagnostics.found == []
    seen = {type(node) for node, _ in walk(program)}
    concrete = {c for c in vars(ast).values() if isinstance(c, type) and issubclass(c, ast.Node)}
    abstract = {ast.Node, ast.TypeExpr, ast.Expr, ast.Pattern, ast.Stmt, ast.Item}
    assert concrete - abstract - seen == {ast.ErrorExpr, ast.ErrorItem, ast.TaskBody}


def walk(root: ast.Node) -> list[tuple[ast.Node, ast.Node]]:
    """Every node with its parent."""
    pairs = [(root, root)]
    for node, _ in pairs:
        pairs.extend((child, node) for child in node.children())
    return pairs


def test_spans_are_exact(sample: str) -> None:
    source = Source("t", sample)
    for node, parent in walk(parse(source, Diagnostics())):
        start, end = node.span.start, node.span.end
        text = sample[start:end]
        assert 0 <= start <= end <= len(sample)
        assert text == text.strip() or isinstance(node, ast.Program), (type(node), text)
        if isinstance(node, ast.Ident) and not text.startswith("'"):
            assert text == node.text or isinstance(parent, ast.Parameter)
        if not isinstance(parent, (ast.Pipe, ast.Call, ast.MethodCall, ast.Await, ast.Propagate)):
            # A pipe moves its left side into the call on its right.
            assert parent.span.start <= start and end <= parent.span.end, (type(parent), type(node), text)


def test_children_come_without_annotations(sample: str) -> None:
    assert all(isinstance(node, ast.Node) for node, _ in walk(parse(Source("t", sample), Diagnostics())))


WORDS = re.compile(r"\s+|\w+|[^\w\s]")


@pytest.mark.parametrize("seed", range(60))
def test_broken_texts_give_diagnostics_and_no_exception(sample: str, seed: int) -> None:
    rng = random.Random(seed)
    pieces = WORDS.findall(sample)
    vocabulary = [*pieces, "fn", "}", "{", ")", "(", '"', "${", "'", "match", "=>", "<", "|", "..", "\0", "é"]
    for _ in range(5):
        start = rng.randrange(len(pieces))
        text = pieces[start : start + rng.randrange(5, 400)]
        for _ in range(rng.randrange(1, 8)):
            at = rng.randrange(len(text) + 1)
            text[at : at + rng.choice((0, 1, 1, 5))] = rng.choices(vocabulary, k=rng.choice((0, 1, 1, 2)))
        diagnostics = Diagnostics()
        source = Source("t", "".join(text))
        program = parse(source, diagnostics)
        for found in diagnostics.found:
            assert 0 <= found.span.start <= found.span.end <= len(source.text)
        assert program.items or diagnostics.found or not source.text.strip() or program.comments
