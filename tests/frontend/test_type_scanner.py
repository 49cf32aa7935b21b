"""The scanner of types: what it remembers of one scan answers as a scan of its own would, and all scans together are linear."""

from __future__ import annotations

import random
from typing import Any

import pytest
from concerto.compiler.diagnostics import Diagnostics
from concerto.compiler.source import Source
from concerto.compiler.syntax import type_scanner
from concerto.compiler.syntax.brackets import balance
from concerto.compiler.syntax.lexer import TokenList, lex
from concerto.compiler.syntax.token_filter import filter_tokens
from concerto.compiler.syntax.type_scanner import TypeScanner

PIECES = (
    "A", "a::B", "b", "A<", "A<", "B>", ">", ">=", "(", ")", "fn(", "fn() ->", "-> A", ",", ":", "+", "|", "?", '"w"', "1", "=",
)  # fmt: skip


def tokens_of(text: str) -> TokenList:
    return lex(Source("t", text), Diagnostics())


def test_what_is_remembered_is_what_a_scan_of_its_own_finds() -> None:
    rng = random.Random(7)
    for _ in range(20_000):
        tokens = tokens_of(" ".join(rng.choices(PIECES, k=rng.randrange(3, 16))))
        questions = [(kind, row) for row, kind in enumerate(tokens.types[:-1])]
        if rng.random() < 0.5:
            rng.shuffle(questions)
        shared = TypeScanner(tokens)
        for kind, row in questions:
            alone = TypeScanner(tokens)
            assert shared.type_end(row) == alone.type_end(row), (tokens.types, row)
            if kind == "LT":
                assert shared.closing(row) == alone.closing(row), (tokens.types, row)


@pytest.mark.parametrize(
    "piece",
    ["fn() -> A | ", "fn() -> Array<", "fn() -> (", "fn() -> A<B>= | ", "A<fn() -> B | ", "fn() -> (fn() -> A<", "fn() -> A, ",
     "fn() -> A<fn() -> A<B>= | ", "x<fn(A<B>) -> A<B>= ", "fn(fn() -> A | A, A) -> ", "fn(A) -> fn() -> "],
)  # fmt: skip
def test_scans_of_a_file_together_are_linear(piece: str, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = 0
    operand, after = type_scanner._Scan.operand, type_scanner._Scan.after

    def counted(step: Any) -> Any:
        def count(*arguments: Any) -> int:
            nonlocal steps
            steps += 1
            return int(step(*arguments))
        return count

    monkeypatch.setattr(type_scanner._Scan, "operand", counted(operand))
    monkeypatch.setattr(type_scanner._Scan, "after", counted(after))
    source, diagnostics = Source("t", "type T = " + piece * 3_000 + "A;"), Diagnostics()
    tokens = lex(source, diagnostics)
    filter_tokens(balance(tokens, source, diagnostics))
    assert steps <= 4 * len(tokens.types)
