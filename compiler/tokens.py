"""Tokens: their names, their spelling in messages, and the list the lexer and the filter hand on.

The list is kept as parallel columns because a token object per token would double the cost of lexing.
Must not know: how text becomes tokens, what the grammar does with them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from .ast import Comment

END = "$end"


def words(text: str) -> frozenset[str]:
    """The words of a text: how the tables below and in other modules are written."""
    return frozenset(text.split())


HARD_KEYWORDS = {
    word: word.upper()
    for word in sorted(
        words(
            "let mut const fn struct enum trait impl pub use mod if else match for while loop break continue return in as "
            "try catch throw async await true false nil self"
        )
    )
}

# L-1.3.3; the filter decides where each is a keyword.
DECLARING_WORDS = words("type model tool agent pipeline stage schema hashmap ledger memory context mcp connect mock")
CLAUSE_WORDS = words("needs reads")
TIER_WORDS = words("persistent session ephemeral")
SOFT_WORDS = DECLARING_WORDS | CLAUSE_WORDS | TIER_WORDS | words("listen spawn parallel limit")

# L-1.7.1; the filter retags `..`, `..=`, `|`, `||`, `<`, `>`, `{`.
OPERATORS = {
    "..=": "RANGEEQ", "**": "POW", "==": "EQEQ", "!=": "NE", "<=": "LE", ">=": "GE", "&&": "ANDAND", "||": "OROR",
    "|>": "PIPEGT", "??": "QQ", "..": "RANGE", "->": "ARROW", "=>": "FATARROW", "::": "COLONCOLON", "+=": "PLUSEQ",
    "-=": "MINUSEQ", "*=": "STAREQ", "/=": "SLASHEQ", "%=": "PERCENTEQ", "+": "PLUS", "-": "MINUS", "*": "STAR",
    "/": "SLASH", "%": "PERCENT", "<": "LT", ">": "GT", "!": "NOT", "=": "EQ", ".": "DOT", "|": "PIPE",
    "?": "QUESTION", "@": "AT", "(": "LPAREN", ")": "RPAREN", "{": "LBRACE", "}": "RBRACE", "[": "LBRACKET",
    "]": "RBRACKET", ",": "COMMA", ";": "SEMI", ":": "COLON",
}  # fmt: skip

# Every type the filter can hand to the grammar.
TERMINALS = tuple(
    sorted(
        {"IDENT", "INT", "FLOAT", "STRING", "ISTR_START", "ISTR_MID", "ISTR_END", "TUPIDX", "DOTAWAIT", "CFGKEY"}
        | {"LABEL", "LABELDEF", "BLKEND", "TLT", "TGT", "MLBRACE", "SLBRACE", "CPIPE", "CPIPE2", "FNEXPR", "FNTYPE"}
        | {"ASYNCBLK", "RETURN_V", "BREAK_V", "RANGE_FROM", "RANGE_TO", "RANGE_TOEQ", "RANGE_FULL"}
        | set(HARD_KEYWORDS.values())
        | set(OPERATORS.values())
        | {"K_" + word.upper() for word in SOFT_WORDS}
    )
)


class Token(NamedTuple):
    """One row of a `TokenList`."""

    type: str
    value: str | int | float
    start: int
    end: int


class TokenList:
    """Columns of tokens, ended by a row of type END; comments; documentation by the offset of the token it precedes."""

    __slots__ = ("types", "values", "starts", "ends", "comments", "docs")

    def __init__(self) -> None:
        self.types: list[str] = []
        self.values: list[str | int | float] = []
        self.starts: list[int] = []
        self.ends: list[int] = []
        self.comments: list[Comment] = []
        self.docs: dict[int, str] = {}

    def add(self, kind: str, value: str | int | float, start: int, end: int) -> None:
        self.types.append(kind)
        self.values.append(value)
        self.starts.append(start)
        self.ends.append(end)

    def __len__(self) -> int:
        return len(self.types)

    def __iter__(self) -> Iterator[Token]:
        return map(Token, self.types, self.values, self.starts, self.ends)


_SPELLING = {name: text for text, name in OPERATORS.items()}
_SPELLING.update({name: word for word, name in HARD_KEYWORDS.items()})
_SPELLING.update({"K_" + word.upper(): word for word in SOFT_WORDS})
_SPELLING.update(
    TLT="<", TGT=">", MLBRACE="{", SLBRACE="{", CPIPE="|", CPIPE2="||", FNEXPR="fn", FNTYPE="fn", ASYNCBLK="async",
    RETURN_V="return", BREAK_V="break", RANGE_FROM="..", RANGE_TO="..", RANGE_TOEQ="..=", RANGE_FULL="..",
    DOTAWAIT="await",
)  # fmt: skip
_DESCRIPTION = {
    "IDENT": "a name", "CFGKEY": "a field name", "INT": "a number", "FLOAT": "a number", "STRING": "a string",
    "ISTR_START": "a string", "ISTR_MID": "the end of `${ }`", "ISTR_END": "the end of `${ }`",
    "TUPIDX": "a tuple index", "LABEL": "a label", "LABELDEF": "a label", "BLKEND": "the end of the statement",
    END: "the end of the file",
}  # fmt: skip


def describe(kind: str) -> str:
    """How a message names a kind of token that it expects: `` `;` `` or `a name`."""
    return _DESCRIPTION.get(kind) or f"`{_SPELLING[kind]}`"


def describe_found(kind: str, text: str) -> str:
    """How a message names a token that stands in the source as `text`."""
    if kind == END:
        return "the end of the file"
    if kind in ("STRING", "ISTR_START"):
        return "a string"
    if kind in ("ISTR_MID", "ISTR_END"):
        return "the end of `${ }`"
    shown = text if len(text) <= 40 else text[:39] + "…"
    if kind in ("IDENT", "CFGKEY"):
        return f"name `{shown}`"
    return f"`{shown}`"
