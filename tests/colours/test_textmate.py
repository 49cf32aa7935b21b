"""The TextMate grammar as editors run it, against the compiler's lexer (O-9.55): npm's vscode-textmate and vscode-oniguruma."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from concerto.colours.classes import CLASSES, pieces

from ..suite_sources import suite_sources

HERE = Path(__file__).parent
GRAMMAR = HERE.parents[1] / "editors" / "vscode" / "syntaxes" / "concerto.tmLanguage.json"
GUESSES = {"type": "name", "function": "name"}  # of names: the lexer knows no more than that they are names

pytestmark = pytest.mark.skipif(
    shutil.which("node") is None or not (HERE / "node_modules").is_dir(), reason="needs node and npm (make servers)"
)

Token = tuple[int, int, list[str]]


def tokenized(texts: list[str]) -> list[list[Token]]:
    done = subprocess.run(
        ["node", str(HERE / "tokenize.mjs"), str(GRAMMAR)], input=json.dumps(texts), capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    found: list[list[Token]] = json.loads(done.stdout)
    return found


def class_of(scopes: list[str]) -> str:
    """The row of the table whose scope the innermost scope goes on with."""
    for scope in reversed(scopes):
        rows = [row for row in CLASSES.values() if f"{scope}.".startswith(f"{row.scope}.")]
        if rows:
            return max(rows, key=lambda row: len(row.scope)).name
    return "none"


def by_unit(text: str, tokens: list[Token]) -> list[str]:
    """The class of each UTF-16 unit."""
    found = ["none"] * sum(1 + (character > "\uffff") for character in text)
    for start, end, scopes in tokens:
        found[start:end] = [class_of(scopes)] * (end - start)
    return found


def differences(text: str, tokens: list[Token]) -> list[str]:
    """Where the grammar and the lexer disagree."""
    coloured = by_unit(text, tokens)
    units = [0]
    for character in text:
        units.append(units[-1] + (2 if character > "\uffff" else 1))
    found = []
    for piece in pieces(text):
        wanted = GUESSES.get(piece.class_, piece.class_)
        for at in range(piece.start, piece.end):
            if text[at].isspace():
                continue
            came = coloured[units[at]]
            if GUESSES.get(came, came) != wanted:
                found.append(f"{text[:at].count(chr(10)) + 1}: {text[piece.start:piece.end]!r}: {came}, not {wanted}")
                break
    return found


def test_hard_places() -> None:
    text = (HERE / "hard.conc").read_text(encoding="utf-8")
    assert differences(text, tokenized([text])[0]) == []


def test_the_grammar_shows_what_no_token_begins_with() -> None:
    """It can tell: a character and an escape that the lexer refuses have an error scope, and nothing else has."""
    text = 'let a = b & c; let s = "\\q";'
    marked = [text[start:end] for start, end, scopes in tokenized([text])[0] if class_of(scopes) == "error"]
    assert marked == ["&", "\\q"]


def test_programs_of_the_repository() -> None:
    folders = [HERE.parents[1] / name for name in ("examples", "benches")]
    texts = [path.read_text(encoding="utf-8") for folder in folders for path in sorted(folder.rglob("*.conc"))]
    assert len(texts) > 40
    assert [found for text, tokens in zip(texts, tokenized(texts), strict=True) for found in differences(text, tokens)] == []


def test_every_program_of_the_suite() -> None:
    texts = list(suite_sources().values())
    wrong = []
    for (name, text), tokens in zip(suite_sources().items(), tokenized(texts), strict=True):
        wrong += [f"{name}:{line}" for line in differences(text, tokens)]
    assert not wrong, "\n".join([f"{len(wrong)} differences", *wrong[:40]])
