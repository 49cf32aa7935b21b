"""Matches the brackets of a token list before anything else looks at it.

Hands on `balance`, whose `Balanced` the token filter reads, to `parse` and the colours; and `MAX_NESTING`, the deepest nesting of
brackets, also to `parse`, the LR machine and the checker. Unbalanced brackets (E0102) and deep nesting (E0114) are reported here,
and the list is repaired, so that every later phase sees balanced brackets. A string with holes counts as one bracket, from
ISTR_START to ISTR_END. What a bracket opens is for the token filter. Nothing is raised here. A new kind of bracket is a row of
`_CLOSES` and `_TEXT`, and a word in the sets of brackets of `errors.py` and `error_place.py`.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from typing import NamedTuple

from ..diagnostics import Diagnostics, Related
from ..source import INTEGER_DIVISION, Source, Span
from .lexer import END, TokenList

MAX_NESTING = 256

_CLOSES = {"RPAREN": "LPAREN", "RBRACKET": "LBRACKET", "RBRACE": "LBRACE", "ISTR_END": "ISTR_START"}
_OPENS = frozenset(_CLOSES.values())
_CLOSER_OF = {opener: closer for closer, opener in _CLOSES.items()}
_TEXT = {
    "LPAREN": "(", "RPAREN": ")", "LBRACKET": "[", "RBRACKET": "]", "LBRACE": "{", "RBRACE": "}",
    "ISTR_START": "${", "ISTR_END": "}",
}  # fmt: skip


class Balanced(NamedTuple):
    """A token list whose brackets balance. `partner[i]` is the row (the index of a token) of the bracket that belongs to row i,
    -1 for other tokens; `broken_at` is the character offset of the first bracket that is reported as left open or as closing
    nothing (what was inserted for it may stand far behind), None where there is none; `too_deep` says that E0114 has been
    reported."""

    tokens: TokenList
    partner: list[int]
    broken_at: int | None
    too_deep: bool


def balance(tokens: TokenList, source: Source, diagnostics: Diagnostics) -> Balanced:
    """Return the tokens with balanced brackets. Repairs are reported as E0102, those at one place once; the first bracket deeper
    than MAX_NESTING is reported as E0114. `tokens`, whose last row must be END, itself stays as it is."""
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
    """Return the partner of each row, or None if the brackets do not balance; and the row of the first bracket that is too
    deep."""
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
        # The kinds of `open`, counted: a stray closer is recognised without a walk down the stack.
        self.open_kinds: Counter[str] = Counter()
        self.broken_at: int | None = None
        self.hidden_in: dict[int, set[str]] = {}  # by number of the comment

    def run(self) -> TokenList:
        """Return the repaired copy of the tokens; `broken_at` is set afterwards."""
        types = self.tokens.types
        for row, kind in enumerate(types):
            if kind in _OPENS:
                self.open.append(row)
                self.open_kinds[kind] += 1
            elif kind in _CLOSES or kind == "ISTR_MID":
                opener = _CLOSES.get(kind, "ISTR_START")
                # Nothing of its kind is open: dropping it does less harm than closing others.
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
        """Insert the closers that are missing before the closer at `row`; only the innermost is reported."""
        first = True
        while self.tokens.types[self.open[-1]] != opener:
            if first:
                self.report_mismatch(self.open[-1], row)
                first = False
            self.insert_closer(row)

    def close_at_end(self, row: int) -> None:
        """Insert the closers that are missing at the end of the file; only the innermost is reported."""
        if self.open:
            # The innermost is the likeliest to have been forgotten; the others would follow from it.
            self.report_unclosed(self.open[-1])
        while self.open:
            self.insert_closer(row)

    def pop(self) -> str:
        kind = self.tokens.types[self.open.pop()]
        self.open_kinds[kind] -= 1
        return kind

    def insert_closer(self, row: int) -> None:
        """Insert the closer of the innermost open bracket, with no width, before the token at `row`."""
        kind = _CLOSER_OF[self.pop()]
        at = self.tokens.starts[row]
        self.out.add(kind, "" if kind == "ISTR_END" else _TEXT[kind], at, at)

    def span(self, row: int) -> Span:
        return Span(self.source.name, self.tokens.starts[row], self.tokens.ends[row])

    def name(self, row: int) -> str:
        return _TEXT.get(self.tokens.types[row], "}")

    def report(self, span: Span, message: str, related: tuple[Related, ...] = (), help: str | None = None) -> None:
        self.diagnostics.report("E0102", span, message, related=related, help=help)

    def report_mismatch(self, opener: int, closer: int) -> None:
        """Report a closer that does not belong to the innermost open bracket."""
        self.note_break(self.tokens.starts[opener])
        where = self.source.position(self.tokens.starts[opener])
        missing = _TEXT[_CLOSER_OF[self.tokens.types[opener]]]
        self.report(
            self.span(closer),
            f"`{self.name(closer)}` does not close `{self.name(opener)}` of {where.line}:{where.column}",
            (Related(self.span(opener), f"`{self.name(opener)}` is opened here"),),
            self.hidden_by_comment(opener, missing) or f"`{missing}` is missing before `{self.name(closer)}`",
        )

    def hidden_by_comment(self, opener: int, missing: str) -> str | None:
        """Return the help for `(a // b)`, where the rest of the line is a comment that holds the bracket; None otherwise."""
        start = self.tokens.ends[opener]
        lines = self.source.line_starts
        line = self.source.position(start).line
        end = lines[line] if line < len(lines) else len(self.source.text)
        # A comment by `//` is the last of its line.
        number = bisect_left(self.tokens.comments, end, key=lambda comment: comment.span.start) - 1
        if number < 0 or self.tokens.comments[number].span.start < start or missing not in self.hidden(number):
            return None
        return f"`//` begins a comment that hides the `{missing}`; {INTEGER_DIVISION}"

    def hidden(self, number: int) -> set[str]:
        """Return the brackets in a comment by `//`, each comment searched once; none for another comment."""
        if number not in self.hidden_in:
            text = self.tokens.comments[number].text
            self.hidden_in[number] = set(_TEXT.values()).intersection(text) if text.startswith("//") else set()
        return self.hidden_in[number]

    def report_stray(self, closer: int) -> None:
        """Report a closing bracket that no open one waits for."""
        self.note_break(self.tokens.starts[closer])
        missing = _TEXT[_CLOSES.get(self.tokens.types[closer], "ISTR_START")]
        self.report(
            self.span(closer), f"`{self.name(closer)}` has no `{missing}` to close",
            help=f"drop it, or open it with `{missing}`",
        )

    def report_unclosed(self, opener: int) -> None:
        """Report an opening bracket that the end of the file leaves open."""
        self.note_break(self.tokens.starts[opener])
        missing = _TEXT[_CLOSER_OF[self.tokens.types[opener]]]
        self.report(
            self.span(opener), f"`{self.name(opener)}` is never closed by `{missing}`",
            help=self.hidden_by_comment(opener, missing) or self.place_of_closer(opener, missing),
        )

    def place_of_closer(self, opener: int, missing: str) -> str:
        """Return the help for a missing bracket; in `fn main( {` it was forgotten before the block."""
        before_block = missing == ")" and self.tokens.types[opener + 1] == "LBRACE"
        return f"add `{missing}` before the `{{`" if before_block else f"add `{missing}`"

    def note_break(self, offset: int) -> None:
        """Remember the first offset of a bracket that is reported as left open or as closing nothing."""
        if self.broken_at is None or offset < self.broken_at:
            self.broken_at = offset
