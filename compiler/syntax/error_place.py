"""The tokens around a syntax error, as messages and helps look at them.

Hands on `ErrorPlace` to `errors` and to the syntax hints, and to these ELIDED and LONGEST. Rows are counted from the error: 0
is the wrong token, -1 the one before, 1 the next. How the wrong token is named is here (`described`, by `describe_found` of
`lexer.py`), and the message for what stands behind a field name (`behind_key`); all others are worded by whoever asks. Nothing
here decides how parsing goes on.
"""

from __future__ import annotations

from ..source import Source, Span
from .lexer import describe_found, words
from .lr_machine import Machine

OPENS = words("LPAREN LBRACKET LBRACE MLBRACE SLBRACE ISTR_START")
CLOSES = words("RPAREN RBRACKET RBRACE ISTR_END")
# What an operand stands behind.
BEFORE_OPERANDS = words(
    "SEMI COMMA EQ PLUSEQ RETURN RETURN_V LET MUT FATARROW COLON IF WHILE FOR IN MATCH THROW BLKEND ANDAND OROR QQ NOT ELSE"
)
LOOKED_AT = 60  # tokens to each side, so that a help never takes time that grows with the file
FURTHEST = 2000  # tokens back that are looked at for an open bracket
LONGEST = 60  # characters of the program that a help repeats
ELIDED = "…"


class ErrorPlace:
    """The place where the parser, `machine`, stopped in the tokens of `source`; `row` is the wrong token. A BLKEND that the
    filter inserted is skipped: the user never wrote it."""

    def __init__(self, machine: Machine, source: Source) -> None:
        self.tokens = machine.tokens
        self.source = source
        row = machine.row
        if self.tokens.types[row] == "BLKEND":
            row += 1
        self.row = row

    def kind(self, ahead: int = 0) -> str:
        """Return the type of the token `ahead` rows from the error (before it for a negative number): that of the last token
        beyond the end, an empty text before the first."""
        at = min(self.row + ahead, len(self.tokens) - 1)
        return self.tokens.types[at] if at >= 0 else ""

    def before(self, count: int) -> str:
        """Return the type of the token `count` rows before the error, or an empty text."""
        return self.tokens.types[self.row - count] if self.row >= count else ""

    def text(self, ahead: int = 0) -> str:
        """Return how the token `ahead` rows from the error is written in the source, an empty text before the first and at the
        end of the file."""
        at = min(self.row + ahead, len(self.tokens) - 1)
        if at < 0:
            return ""
        return self.source.text[self.tokens.starts[at] : self.tokens.ends[at]]

    def word_before(self) -> str:
        """Return the name directly before the error, or an empty text."""
        return str(self.tokens.values[self.row - 1]) if self.before(1) == "IDENT" else ""

    def adjacent(self, first: int, second: int) -> bool:
        """Return whether two rows, counted from the error, touch in the source; False where the first row is before the tokens.
        IndexError for a row behind the last token."""
        return self.row + first >= 0 and self.tokens.ends[self.row + first] == self.tokens.starts[self.row + second]

    def comment_before(self) -> str:
        """Return the `//` comment that ends the line of the token before, if the error is on a later line; else an empty text."""
        between = self.source.text[self.tokens.ends[self.row - 1] : self.tokens.starts[self.row]] if self.row else ""
        rest, newline, _ = between.partition("\n")
        return rest.strip() if newline and rest.lstrip().startswith("//") else ""

    def range(self) -> tuple[int, int]:
        """Return the character offsets at which the wrong token begins and ends; the second is behind its last character."""
        return self.tokens.starts[self.row], self.tokens.ends[self.row]

    def key_without_colon(self) -> bool:
        """Return whether a name stands here that an `=`, a name, `[` or a literal (but `nil` and a string with holes) follows."""
        return self.kind() == "IDENT" and self.kind(1) in ("EQ", "IDENT", "STRING", "INT", "FLOAT", "TRUE", "FALSE", "LBRACKET")

    def behind_key(self, file: str, expected: str = "") -> tuple[Span, str]:
        """Return the span of the token behind a field name, which itself is right, and the message that tells what was
        expected there: `expected`, by default a colon."""
        row = self.row + 1
        start, end = self.tokens.starts[row], self.tokens.ends[row]
        description = describe_found(self.kind(1), self.source.text[start:end]).removeprefix("a ").removeprefix("the ")
        expected = expected or f"`:` behind the field name `{self.text()}`"
        return Span(file, start, end), f"unexpected {description}: expected {expected}"

    def described(self) -> str:
        """Return how a message names the wrong token: `` `;` ``, `a string`."""
        start, end = self.range()
        return describe_found(self.kind(), self.source.text[start:end])

    def line(self, ahead: int = 0) -> int:
        """Return the line, from 1, on which a token begins; for a token before the error the line on which it ends. IndexError
        for a row behind the last token."""
        row = self.row + ahead
        offset = self.tokens.starts[row] if ahead >= 0 else self.tokens.ends[row]
        return self.source.position(offset).line

    def begin(self, stops: frozenset[str] = BEFORE_OPERANDS) -> int:
        """Return the row, counted from the error, at which the operand before the error begins: behind the nearest of `stops`, or
        inside the open bracket; else the first token, or LOOKED_AT tokens back."""
        depth = 0
        for at in range(-1, -min(self.row, LOOKED_AT) - 1, -1):
            kind = self.kind(at)
            if kind in CLOSES:
                depth += 1
            elif kind in OPENS:
                depth -= 1
            if depth < 0 or (depth == 0 and kind in stops):
                return at + 1
        return -min(self.row, LOOKED_AT)

    def end(self, ahead: int, stops: frozenset[str] = frozenset(("SEMI", "COMMA"))) -> int:
        """Return the row, counted from the error, of the last token of what begins at row `ahead`: before the nearest of `stops`
        or a bracket that it does not open, before a BLKEND, at the end of the line or file, or after LOOKED_AT tokens. That is
        `ahead - 1` if nothing begins there."""
        depth = 0
        at = ahead
        while at - ahead < LOOKED_AT and self.row + at < len(self.tokens) - 1:
            kind = self.kind(at)
            if kind in CLOSES:
                depth -= 1
            ends = depth == 0 and (kind in stops or (at > ahead and self.line(at) > self.line(at - 1)))
            if depth < 0 or ends or kind == "BLKEND":
                break
            if kind in OPENS:
                depth += 1
            at += 1
        return at - 1

    def written(self, first: int, last: int) -> str:
        """Return the source from one row to another if it is at most LONGEST characters on one line and not blank; else `…`, also
        where `last` is before `first`."""
        if last < first or self.row + first < 0:
            return ELIDED
        end = self.tokens.ends[min(self.row + last, len(self.tokens) - 1)]
        text = self.source.text[self.tokens.starts[self.row + first] : end]
        return ELIDED if len(text) > LONGEST or "\n" in text or not text.strip() else text

    def rest(self, ahead: int = 0, *stops: str) -> str:
        """Return the source from row `ahead` up to `;`, `,` or one of `stops`, as `end` finds it and `written` shows it."""
        return self.written(ahead, self.end(ahead, frozenset((*stops, "SEMI", "COMMA"))))

    def in_brackets(self) -> bool:
        """Return whether some bracket is open before the error, as far as FURTHEST tokens tell."""
        depth = 0
        for at in range(-1, -min(self.row, FURTHEST) - 1, -1):
            kind = self.kind(at)
            depth += (kind in CLOSES) - (kind in OPENS)
            if depth < 0:
                return True
        return False

    def line_text(self) -> str:
        """Return the whole line on which the error begins, without its line end."""
        start, text = self.range()[0], self.source.text
        end = text.find("\n", start)
        return text[text.rfind("\n", 0, start) + 1 : end if end >= 0 else len(text)].removesuffix("\r")
