"""Bracket matching before anything else looks at the tokens.

Reports unbalanced brackets (E0102) and deep nesting (E0114), repairs the list so that every later phase sees balanced
brackets, and hands on the partner of each bracket. A string with holes counts as one bracket.
Must not know: what a bracket means.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from .characters import INTEGER_DIVISION
from .diagnostics import Diagnostics, Related
from .source import Source, Span
from .tokens import END, TokenList

MAX_NESTING = 256

_CLOSES = {"RPAREN": "LPAREN", "RBRACKET": "LBRACKET", "RBRACE": "LBRACE", "ISTR_END": "ISTR_START"}
_OPENS = frozenset(_CLOSES.values())
_CLOSER_OF = {opener: closer for closer, opener in _CLOSES.items()}
_TEXT = {
    "LPAREN": "(", "RPAREN": ")", "LBRACKET": "[", "RBRACKET": "]", "LBRACE": "{", "RBRACE": "}",
    "ISTR_START": "${", "ISTR_END": "}",
}  # fmt: skip


class Balanced(NamedTuple):
    """`partner[i]` is the row of the other bracket, -1 for other tokens. `broken_at`: offset of the first repair."""

    tokens: TokenList
    partner: list[int]
    broken_at: int | None
    too_deep: bool


def balance(tokens: TokenList, source: Source, diagnostics: Diagnostics) -> Balanced:
    partner, deep = _match(tokens)
    broken_at = None
    if partner is None:
        repair = _Repair(tokens, source, diagnostics)
        tokens, broken_at = repair.run(), repair.broken_at
        partner, deep = _match(tokens)
        assert partner is not None
    if deep is not None:
        span = Span(source.name, tokens.starts[deep], tokens.ends[deep])
        diagnostics.report(
            "E0114", span, f"brackets nest deeper than {MAX_NESTING}", help="split the expression or the block up"
        )
    return Balanced(tokens, partner, broken_at, deep is not None)


def _match(tokens: TokenList) -> tuple[list[int] | None, int | None]:
    """The partners, or None if brackets do not balance; and the first bracket that is too deep."""
    partner = [-1] * len(tokens)
    open_rows: list[int] = []
    deep = None
    types = tokens.types
    for row, kind in enumerate(types):
        if kind in _OPENS:
            open_rows.append(row)
            if len(open_rows) > MAX_NESTING and deep is None:
                deep = row
        elif kind in _CLOSES:
            if not open_rows or types[open_rows[-1]] != _CLOSES[kind]:
                return None, deep
            other = open_rows.pop()
            partner[other], partner[row] = row, other
        elif kind == "ISTR_MID" and (not open_rows or types[open_rows[-1]] != "ISTR_START"):
            return None, deep
    return (None if open_rows else partner), deep


class _Repair:
    """Drops closing brackets that close nothing, inserts the missing ones, and reports each."""

    def __init__(self, tokens: TokenList, source: Source, diagnostics: Diagnostics) -> None:
        self.tokens = tokens
        self.source = source
        self.diagnostics = diagnostics
        self.out = TokenList()
        self.out.comments, self.out.docs = tokens.comments, tokens.docs
        self.open: list[int] = []  # rows of `tokens`
        self.open_kinds: Counter[str] = Counter()
        self.broken_at: int | None = None

    def run(self) -> TokenList:
        types = self.tokens.types
        for row, kind in enumerate(types):
            if kind in _OPENS:
                self.open.append(row)
                self.open_kinds[kind] += 1
            elif kind in _CLOSES or kind == "ISTR_MID":
                opener = _CLOSES.get(kind, "ISTR_START")
                if not self.open_kinds[opener]:
                    self.report_stray(row)
                    continue
                self.close_until(opener, row)
                if kind != "ISTR_MID":
                    self.pop()
            elif kind == END:
                self.close_at_end(row)
            self.copy(row)
        return self.out

    def copy(self, row: int) -> None:
        tokens = self.tokens
        self.out.add(tokens.types[row], tokens.values[row], tokens.starts[row], tokens.ends[row])

    def close_until(self, opener: str, row: int) -> None:
        """Inserts the closers that are missing before the closer at `row`."""
        first = True
        while self.tokens.types[self.open[-1]] != opener:
            if first:
                self.report_mismatch(self.open[-1], row)
                first = False
            self.insert_closer(row)

    def close_at_end(self, row: int) -> None:
        if self.open:
            self.report_unclosed(self.open[-1])
        while self.open:
            self.insert_closer(row)

    def pop(self) -> str:
        kind = self.tokens.types[self.open.pop()]
        self.open_kinds[kind] -= 1
        return kind

    def insert_closer(self, row: int) -> None:
        kind = _CLOSER_OF[self.pop()]
        at = self.tokens.starts[row]
        self.out.add(kind, "" if kind == "ISTR_END" else _TEXT[kind], at, at)

    # ------------------------------------------------------------ messages

    def span(self, row: int) -> Span:
        return Span(self.source.name, self.tokens.starts[row], self.tokens.ends[row])

    def name(self, row: int) -> str:
        return _TEXT.get(self.tokens.types[row], "}")

    def report(self, span: Span, message: str, related: tuple[Related, ...] = (), help: str | None = None) -> None:
        self.diagnostics.report("E0102", span, message, related=related, help=help)

    def report_mismatch(self, opener: int, closer: int) -> None:
        self.note_break(self.tokens.starts[opener])
        where = self.source.position(self.tokens.starts[opener])
        wanted = _TEXT[_CLOSER_OF[self.tokens.types[opener]]]
        self.report(
            self.span(closer),
            f"`{self.name(closer)}` does not close `{self.name(opener)}` of {where.line}:{where.column}",
            (Related(self.span(opener), f"`{self.name(opener)}` is opened here"),),
            self.hidden_by_comment(opener, wanted) or f"`{wanted}` is missing before `{self.name(closer)}`",
        )

    def hidden_by_comment(self, opener: int, wanted: str) -> str | None:
        """For `(a // b)`, where the rest of the line is a comment."""
        start = self.tokens.ends[opener]
        end = self.source.text.find("\n", start) % (len(self.source.text) + 1)
        hiding = (c for c in self.tokens.comments if start <= c.span.start < end and c.text.startswith("//"))
        if not any(wanted in comment.text for comment in hiding):
            return None
        return f"`//` begins a comment that hides the `{wanted}`; {INTEGER_DIVISION}"

    def report_stray(self, closer: int) -> None:
        self.note_break(self.tokens.starts[closer])
        wanted = _TEXT[_CLOSES.get(self.tokens.types[closer], "ISTR_START")]
        self.report(
            self.span(closer), f"`{self.name(closer)}` has no `{wanted}` to close",
            help=f"drop it, or open it with `{wanted}`",
        )

    def report_unclosed(self, opener: int) -> None:
        self.note_break(self.tokens.starts[opener])
        wanted = _TEXT[_CLOSER_OF[self.tokens.types[opener]]]
        self.report(
            self.span(opener), f"`{self.name(opener)}` is never closed by `{wanted}`",
            help=self.hidden_by_comment(opener, wanted) or self.place_of_closer(opener, wanted),
        )

    def place_of_closer(self, opener: int, wanted: str) -> str:
        """`fn main( {`: the bracket was forgotten before the block."""
        before_block = wanted == ")" and self.tokens.types[opener + 1] == "LBRACE"
        return f"add `{wanted}` before the `{{`" if before_block else f"add `{wanted}`"

    def note_break(self, offset: int) -> None:
        if self.broken_at is None or offset < self.broken_at:
            self.broken_at = offset
