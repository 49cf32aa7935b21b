"""The lexer for Pygments, found by its entry point, against the compiler's tokens (O-9.55)."""

from __future__ import annotations

import subprocess
import sys

import pytest
from concerto.colours.classes import CLASS_OF_SIGN, CLASS_OF_WORD, CLASSES, pieces
from concerto.compiler.diagnostics import Diagnostics
from concerto.compiler.source import Source
from concerto.compiler.syntax.lexer import HARD_KEYWORDS, OPERATORS, SOFT_WORDS, lex
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("pygments")

from pygments.lexer import Lexer
from pygments.lexers import get_lexer_by_name, get_lexer_for_filename
from pygments.token import Comment, Error, Keyword, Name, Number, Operator, Punctuation, String, _TokenType

from ..suite_sources import suite_sources

# What a token of the lexer may look like; a string with holes is more than one thing.
TYPES: dict[str, tuple[_TokenType, ...]] = {
    "INT": (Number,), "FLOAT": (Number,), **dict.fromkeys(("STRING", "ISTR_START", "ISTR_MID", "ISTR_END"), (String,)),
    "LABEL": (Name.Label,), "AT": (Name.Decorator,), "IDENT": (Name, Keyword),  # soft words
    **dict.fromkeys(HARD_KEYWORDS.values(), (Keyword, Name)),  # names behind a dot
}  # fmt: skip


@pytest.fixture(scope="module")
def lexer() -> Lexer:
    found = get_lexer_by_name("concerto", stripnl=False, ensurenl=False)
    assert get_lexer_for_filename("a.conc").name == found.name == "Concerto"
    return found


def test_every_program_of_the_suite(lexer: Lexer) -> None:
    wrong = []
    for name, text in suite_sources().items():
        came = list(lexer.get_tokens_unprocessed(text))
        assert "".join(part for _, _, part in came) == text, name
        assert all(text.startswith(part, at) for at, _, part in came), name
        types = [type_ for _, type_, part in came for _ in part]
        wrong += [f"{name}: {part!r}" for _, type_, part in came if type_ in Error]
        tokens = lex(Source("", text), Diagnostics())
        for token in tokens:
            allowed = TYPES.get(token.type, (Operator, Punctuation))
            if not all(any(type_ in one for one in allowed) for type_ in types[token.start : token.end]):
                wrong.append(f"{name}: {text[token.start : token.end]!r}")
        wrong += [f"{name}: {c.text!r}" for c in tokens.comments if not {types[c.span.start]} & {Comment, String.Doc}]
    assert not wrong, "\n".join(wrong[:20])


def test_what_is_no_token_is_marked(lexer: Lexer) -> None:
    assert [part for _, type_, part in lexer.get_tokens_unprocessed("let a = b & c #;") if type_ in Error] == ["&", "#"]


def test_kinds(lexer: Lexer) -> None:
    text = '/// d\nmodel M { model: r#"x"# } fn f() { let model = "a\\n${x.model}"; }'
    came = [(part, type_) for _, type_, part in lexer.get_tokens_unprocessed(text) if part.strip()]
    assert [type_ for part, type_ in came if part == "model"] == [Keyword.Declaration, Name, Name, Name]
    assert dict(came)["/// d"] is String.Doc and dict(came)['r#"x"#'] is String
    assert dict(came)["\\n"] is String.Escape and dict(came)["${"] is String.Interpol and dict(came)["f"] is Name.Function


def test_the_table_knows_every_word_and_sign() -> None:
    assert set(CLASS_OF_WORD) == set(HARD_KEYWORDS) | SOFT_WORDS and set(CLASS_OF_SIGN) == set(OPERATORS)
    assert {*CLASS_OF_WORD.values(), *CLASS_OF_SIGN.values()} <= set(CLASSES)


@given(st.text(alphabet="ab1.'\"\\${}()<>|/*#r@:;& \n\té\U0001f600", max_size=60))
def test_any_text_has_pieces(text: str) -> None:
    """Every character that is no white space is in exactly one piece, whatever is wrong with the text."""
    reached = 0
    for piece in pieces(text):
        assert reached <= piece.start < piece.end
        assert not text[reached : piece.start].strip()
        reached = piece.end
    assert not text[reached:].strip()


def test_nothing_else_imports_pygments() -> None:
    """Its import costs only who asks for it."""
    modules = "concerto.cli.main, concerto.colours.classes, concerto.colours.textmate"
    program = f"import sys, {modules}; print('pygments' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stdout == "False\n"
