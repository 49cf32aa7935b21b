"""What the token filter looks up, and the state it keeps for each open bracket.

Must not know: the order in which the rules apply.
"""

from __future__ import annotations

from .brackets import Balanced
from .tokens import HARD_KEYWORDS, TokenList, words
from .typelists import TypeScanner

# After one of these an operand is complete (Appendix A), unless a statement has just begun.
OPERAND_END = words(
    "IDENT INT FLOAT STRING ISTR_END TRUE FALSE NIL SELF RPAREN RBRACKET RBRACE QUESTION TUPIDX TGT DOTAWAIT "
    "RANGE_FROM RANGE_FULL"
)
# L-2.4.2: a block-like statement goes on before these.
CONTINUES = words(
    "RBRACE RPAREN RBRACKET COMMA SEMI DOT QUESTION ELSE CATCH $end ISTR_MID ISTR_END POW STAR SLASH PERCENT PLUS "
    "AS RANGE RANGEEQ LT GT LE GE EQEQ NE ANDAND QQ PIPEGT EQ PLUSEQ MINUSEQ STAREQ SLASHEQ PERCENTEQ"
)
# L-2.5.4: what may follow `>` of a type argument list; a hole's end counts as the end.
AFTER_TYPE_LIST = words(
    "LPAREN LBRACE COMMA RPAREN GT EQ SEMI RBRACKET PIPE COLONCOLON FOR RBRACE FATARROW QUESTION DOT $end "
    "ISTR_MID ISTR_END"
)
NO_OPERAND = words("SEMI RBRACE COMMA RPAREN RBRACKET $end ISTR_MID ISTR_END")
NO_RANGE_END = NO_OPERAND | {"FATARROW", "PIPE", "EQ", "COLON"}
QUESTIONS_BEFORE = words("SEMI RPAREN COMMA RBRACE RBRACKET DOT QUESTION QQ $end ISTR_MID ISTR_END")
EMPTY_MAP_AFTER = words("EQ LPAREN COMMA COLON LBRACKET RETURN QQ PIPEGT EQEQ NE")
BLOCK_AFTER = frozenset(("ELSE", "TRY", "LOOP", "ASYNCBLK"))
MAP_KEY_TOKENS = frozenset(("STRING", "INT", "FLOAT", "IDENT", *HARD_KEYWORDS.values()))
KEEP_MEANING = frozenset(("TRUE", "FALSE", "NIL", "SELF"))

# What a pending item's `{` opens.
FRAME_OF_ITEM = {
    "struct": "fields", "schema": "fields", "tier": "fields", "enum": "variants", "trait": "items", "impl": "items",
    "pipeline": "items", "mod": "items", "fn": "block", "stage": "block", "catch": "block", "fnexpr": "block",
    "closure": "block", "model": "config", "agent": "config", "connect": "config", "mock": "config", "mcp": "config",
    "tool": "tool", "context": "context",
}  # fmt: skip
PART_OF_EXPRESSION = frozenset(("catch", "fnexpr", "closure"))
STATEMENT_FRAMES = frozenset(("block", "items"))
KEYED_FRAMES = frozenset(("fields", "tool"))
NO_BODY_WORDS = frozenset(("type", "hashmap", "ledger", "memory"))
# A header's `{` opens its body while one of these is on top.
BODY_HEADERS = frozenset(("if", "while", "match", "for", "parallel", "listen"))


class Frame:
    """State of one open bracket."""

    __slots__ = ("kind", "is_item", "headers", "pending", "form", "in_body", "in_type", "in_closure", "close_at")

    def __init__(self, kind: str, is_item: bool = False, close_at: int = -1) -> None:
        self.kind = kind
        self.is_item = is_item  # its `}` ends an item, so a statement begins after it
        self.headers: list[str] = []  # header keywords whose body is not yet open
        self.pending: str | None = None  # item keyword whose body is not yet open
        self.form = False  # the current statement or arm body begins with a block-like form
        self.in_body = False  # match frame: behind `=>`
        self.in_type = False  # keyed frame: between `:` and `=` or `,`
        self.in_closure = False  # between the two `|` of a closure
        self.close_at = close_at  # generic frame: row of its `>`


class FilterState:
    """Where the filter is: what it has emitted, the open frames, and what the next token may be."""

    def __init__(self, balanced: Balanced) -> None:
        self.raw = balanced.tokens
        self.types = balanced.tokens.types
        self.partner = balanced.partner
        self.scanner = TypeScanner(balanced.tokens)
        self.out = TokenList()
        self.out.comments, self.out.docs = self.raw.comments, self.raw.docs
        self.frames = [Frame("items")]
        self.frame = self.frames[0]
        self.fresh = True  # a statement begins with the next token
        self.previous = "SEMI"
        self.in_use = False

    def emit(self, kind: str, row: int) -> None:
        self.emit_part(kind, row, self.raw.starts[row], self.raw.ends[row])

    def emit_part(self, kind: str, row: int, start: int, end: int) -> None:
        self.previous = kind
        self.fresh = False
        self.out.add(kind, self.raw.values[row], start, end)

    def operand_expected(self) -> bool:
        return self.fresh or self.previous not in OPERAND_END

    def push(self, frame: Frame) -> None:
        self.frames.append(frame)
        self.frame = frame

    def pop(self) -> Frame:
        closed = self.frames.pop()
        self.frame = self.frames[-1]
        return closed

    def open_header(self) -> str | None:
        """The innermost header of this frame whose body may open now."""
        headers = self.frame.headers
        return headers[-1] if headers and headers[-1] in BODY_HEADERS else None

    def note_form(self) -> None:
        frame = self.frame
        if self.fresh or (self.previous == "FATARROW" and frame.kind == "match"):
            frame.form = True
