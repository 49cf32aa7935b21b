"""The token filter (language.md, Appendix A): one pass that makes the grammar LALR(1).

Retags tokens by their context, splits `??` and `>=`, and inserts BLKEND where a block-like statement ends. Context is
a stack of frames, one per open bracket. Hands a new `TokenList` to the parser.
Must not know: the grammar's productions, the tree. It reports nothing: a wrong program gets tokens that do not parse.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

from .. import operators
from ..diagnostics import Diagnostics, Related
from ..source import INTEGER_DIVISION, Source, Span
from .lexer import CLAUSE_WORDS, DECLARING_WORDS, END, HARD_KEYWORDS, SOFT_WORDS, TIER_WORDS, TokenList, words

# ----------------------------------------------------------------
# Bracket matching before anything else looks at the tokens.
#
# Reports unbalanced brackets (E0102) and deep nesting (E0114), repairs the list so that every later phase sees balanced
# brackets, and hands on the partner of each bracket. A string with holes counts as one bracket.

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


# ----------------------------------------------------------------
# Looks ahead over the spelling of types: does `<` open type arguments (L-2.5.4), where does a type end.
#
# One pass without recursion; every answer found on the way is remembered, so that all scans of a file together are linear.


class TypeScanner:
    """Scans raw tokens (`<` is LT, `>` is GT or the head of GE)."""

    def __init__(self, tokens: TokenList) -> None:
        self.types = tokens.types
        self.values = tokens.values
        self.closes: dict[int, int] = {}  # row of `<` -> row of its `>`, -1 if it compares

    def closing(self, row: int) -> int:
        """The row of the `>` (or `>=`) that closes the list opened by the `<` at `row`; -1 if it is no type list."""
        if row not in self.closes:
            _Scan(self).run(row, whole_list=True)
        return self.closes[row]

    def type_end(self, row: int) -> int:
        """The row after the type that begins at `row`; -1 if none does."""
        return _Scan(self).run(row, whole_list=False)


class _Scan:
    """One scan. `open` holds the rows of open `<` and `(`; `expecting`: a type must or may come next."""

    def __init__(self, scanner: TypeScanner) -> None:
        self.scanner = scanner
        self.open: list[int] = []
        self.expecting = True
        self.optional = False  # a closer may come instead: after an opener or a comma
        self.in_bound = [False]
        self.function_params: set[int] = set()  # rows of `(` after `fn`
        self.after_params = False  # just behind `fn (…)`
        self.path_end = False  # the previous token ends a path, so `<` may follow

    def run(self, row: int, whole_list: bool) -> int:
        at = row
        if whole_list:
            self.push(row)
            at = row + 1
        while True:
            step = self.operand(at) if self.expecting else self.after(at, whole_list)
            if step < 0:
                self.fail(at)
                return -1
            if step == 0:
                return at
            at += step
            if whole_list and not self.open:
                return at

    def fail(self, at: int) -> None:
        """Every list still open breaks at the same row, except that `>=` would close the innermost one alone."""
        broken = self.open[:-1] if self.scanner.types[at] == "GE" and len(self.open) > 1 else self.open
        for row in broken:
            if self.scanner.types[row] == "LT":
                self.scanner.closes[row] = -1

    def push(self, row: int) -> int:
        self.open.append(row)
        self.in_bound.append(False)
        self.expecting = self.optional = True
        return 1

    def close(self, row: int) -> int:
        opener = self.open.pop()
        self.in_bound.pop()
        self.expecting = self.path_end = False
        self.after_params = opener in self.function_params
        if self.scanner.types[opener] == "LT":
            self.scanner.closes[opener] = row
        return 1

    def operand(self, at: int) -> int:
        """Consumes the beginning of a type; gives how many rows, -1 if none begins here."""
        types = self.scanner.types
        kind = types[at]
        if kind == "IDENT":
            return self.path(at)
        if kind == "STRING":
            self.expecting = self.path_end = self.after_params = False
            return 1
        if kind == "LPAREN":
            return self.push(at)
        if kind == "FN" and types[at + 1] == "LPAREN":
            self.function_params.add(at + 1)
            return 1 + self.push(at + 1)
        if self.optional and self.open and self.closes_here(kind):
            return self.close(at)
        return -1

    def path(self, at: int) -> int:
        types, end = self.scanner.types, at
        while types[end + 1] == "COLONCOLON" and types[end + 2] == "IDENT":
            end += 2
        last = str(self.scanner.values[end])
        if not last[:1].isupper():
            return -1
        self.expecting = self.after_params = False
        self.path_end = True
        return end - at + 1

    def after(self, at: int, whole_list: bool) -> int:
        """Consumes what follows a complete type; 0 where a lone type ends, -1 where a list breaks."""
        kind = self.scanner.types[at]
        path_end, after_params = self.path_end, self.after_params
        self.path_end = self.after_params = False
        if kind == "LT" and path_end:
            return self.push(at)
        if kind == "QUESTION":
            return 1
        if kind == "ARROW" and after_params:
            return self.expect(optional=False)
        if kind == "PIPE":
            return self.expect(optional=False)
        if not self.open:
            return 0
        if self.closes_here(kind):
            return self.close(at)
        if kind == "COMMA":
            self.in_bound[-1] = False
            return self.expect(optional=True)
        if kind == "COLON" and path_end and not self.in_bound[-1]:
            self.in_bound[-1] = True
            return self.expect(optional=False)
        if kind == "PLUS" and self.in_bound[-1]:
            return self.expect(optional=False)
        return -1

    def expect(self, optional: bool) -> int:
        self.expecting, self.optional = True, optional
        return 1

    def closes_here(self, kind: str) -> bool:
        opener = self.scanner.types[self.open[-1]]
        if opener == "LPAREN":
            return kind == "RPAREN"
        # `>=` closes only the outermost list: `= …` must follow it.
        return kind == "GT" or (kind == "GE" and len(self.open) == 1)


# ----------------------------------------------------------------
# What the token filter looks up, and the state it keeps for each open bracket.

# After one of these an operand is complete (Appendix A), unless a statement has just begun.
OPERAND_END = words(
    "IDENT INT FLOAT STRING ISTR_END TRUE FALSE NIL SELF RPAREN RBRACKET RBRACE QUESTION TUPIDX TGT DOTAWAIT "
    "RANGE_FROM RANGE_FULL"
)
# L-2.4.2: a block-like statement goes on before these.
CONTINUES = words(
    "RBRACE RPAREN RBRACKET COMMA SEMI DOT QUESTION ELSE CATCH $end ISTR_MID ISTR_END AS RANGE RANGEEQ PIPEGT"
).union(operators.ASSIGNING, [row.token for row in operators.OPERATORS if not row.begins])
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


# ----------------------------------------------------------------

def filter_tokens(balanced: Balanced) -> TokenList:
    """The tokens the grammar reads."""
    return _Filter(balanced).run()


class _Filter(FilterState):
    def run(self) -> TokenList:
        raw, out = self.raw, self.out
        values, starts, ends = raw.values, raw.starts, raw.ends
        add_type, add_value, add_start, add_end = out.types.append, out.values.append, out.starts.append, out.ends.append
        handlers = _HANDLERS
        for row, kind in enumerate(self.types):
            handler = handlers.get(kind)
            if handler is None:
                self.fresh = False
                new = kind
            else:
                tag = handler(self, row, kind)
                if tag is None:  # the handler has emitted the token itself
                    continue
                self.fresh = False
                new = tag
            self.previous = new
            add_type(new)
            add_value(values[row])
            add_start(starts[row])
            add_end(ends[row])
        return out

    # ------------------------------------------------------------ words (rule 1)

    def word(self, row: int, kind: str) -> str | None:
        """A name, unless L-1.3.3 makes it a keyword."""
        if self.previous == "DOT" or self.previous == "COLONCOLON":
            return "IDENT"
        following = self.types[row + 1]
        text = self.raw.values[row]
        if following == "COLON":
            return self.key(text)
        if text in SOFT_WORDS:
            return self.soft_word(row, str(text), following)
        return "IDENT"

    def key(self, text: object) -> str:
        frame = self.frame
        if frame.in_closure:  # a parameter with its type
            return "IDENT"
        return "CFGKEY" if frame.kind == "config" or (frame.kind == "tool" and text == "description") else "IDENT"

    def keyword(self, row: int, kind: str) -> str | None:
        """A hard keyword: a plain name where L-1.3.5 says so, else by its own rule."""
        if self.previous == "DOT":
            return "DOTAWAIT" if kind == "AWAIT" else "IDENT"
        if self.previous == "COLONCOLON":
            return "IDENT"
        following = self.types[row + 1]
        if kind in KEEP_MEANING:
            if kind == "SELF" and (following == "COLONCOLON" or self.in_use):
                return "IDENT"
            return kind
        if following == "COLON":
            return self.key(self.raw.values[row])
        if following == "QUESTION" and self.frame.kind == "fields" and self.types[row + 2] == "COLON":
            return "IDENT"
        rule = _KEYWORD_RULES.get(kind)
        return rule(self, row, kind) if rule else kind

    def soft_word(self, row: int, text: str, following: str) -> str:
        frame = self.frame
        if frame.headers and frame.headers[-1] == "parallel":
            return "K_LIMIT" if text == "limit" and not self.operand_expected() else "IDENT"
        if text in DECLARING_WORDS and following == "IDENT" and frame.kind != "config":
            return self.declaring_word(row, text)
        if text in CLAUSE_WORDS and following == "IDENT" and frame.pending == "fn":
            return "K_" + text.upper()
        if text in TIER_WORDS and following == "LBRACE" and frame.kind == "context":
            frame.pending = "tier"
            return "K_" + text.upper()
        if text == "listen" and following in ("IDENT", "SELF"):
            self.note_form()
            frame.headers.append("listen")
            return "K_LISTEN"
        if text == "spawn" and following in ("IDENT", "SELF", "ASYNC"):
            return "K_SPAWN"
        if text == "parallel" and following == "FOR":
            self.note_form()
            return "K_PARALLEL"
        return "IDENT"

    def declaring_word(self, row: int, text: str) -> str:
        expression_stage = text == "stage" and self.types[row + 2] == "EQ"
        if text not in NO_BODY_WORDS and not expression_stage:
            self.frame.pending = text
        return "K_" + text.upper()

    # ------------------------------------------------------------ keywords (rules 4, 5, 6, 8)

    def item_keyword(self, row: int, kind: str) -> str:
        if kind != "IMPL" or self.frame.pending != "tool":
            self.frame.pending = kind.lower()
        return kind

    def fn_keyword(self, row: int, kind: str) -> str:
        if self.types[row + 1] != "LPAREN":
            self.frame.pending = "fn"
            return "FN"
        if self.previous in ("ARROW", "AS"):
            return "FNTYPE"
        after = self.partner[row + 1] + 1
        if self.types[after] == "ARROW":
            after = self.scanner.type_end(after + 1)
        if after < 0 or self.types[after] != "LBRACE":
            return "FNTYPE"
        self.frame.pending = "fnexpr"
        return "FNEXPR"

    def async_keyword(self, row: int, kind: str) -> str:
        return "ASYNCBLK" if self.types[row + 1] == "LBRACE" else "ASYNC"

    def use_keyword(self, row: int, kind: str) -> str:
        self.in_use = True
        return kind

    def header_keyword(self, row: int, kind: str) -> str:
        frame = self.frame
        if kind == "IF" and frame.kind == "match" and not frame.in_body and "guard" not in frame.headers:
            frame.headers.append("guard")
        else:
            self.note_form()
            frame.headers.append(kind.lower())
        return kind

    def for_keyword(self, row: int, kind: str) -> str:
        frame = self.frame
        if frame.pending != "impl":
            self.note_form()
            frame.headers.append("parallel pattern" if self.previous == "K_PARALLEL" else "for pattern")
        return kind

    def in_keyword(self, row: int, kind: str) -> str:
        headers = self.frame.headers
        if headers and headers[-1].endswith(" pattern"):
            headers[-1] = headers[-1][: -len(" pattern")]
        return kind

    def form_keyword(self, row: int, kind: str) -> str:
        self.note_form()
        return kind

    def return_keyword(self, row: int, kind: str) -> str:
        return "RETURN_V" if self.types[row + 1] in NO_OPERAND else kind

    def break_keyword(self, row: int, kind: str) -> str:
        after = row + 2 if self.types[row + 1] == "LABEL" else row + 1
        return "BREAK_V" if self.types[after] in NO_OPERAND else kind

    def label(self, row: int, kind: str) -> str:
        if self.types[row + 1] != "COLON":
            return "LABEL"
        self.note_form()
        return "LABELDEF"

    # ------------------------------------------------------------ operators (rules 3, 7, 9)

    def less(self, row: int, kind: str) -> str:
        if self.previous not in ("IDENT", "IMPL"):
            return "LT"
        close = self.scanner.closing(row)
        frame = self.frame
        if close < 0:
            return "LT"
        declared = frame.pending is not None or frame.in_type or frame.kind == "generic" or self.behind_as()
        if not declared and self.types[close] != "GE" and self.types[close + 1] not in AFTER_TYPE_LIST:
            return "LT"
        self.push(Frame("generic", close_at=close))
        return "TLT"

    def behind_as(self) -> bool:
        """Whether the name just emitted, perhaps a path, stands behind `as`."""
        types = self.out.types
        at = len(types) - 2
        while at > 0 and types[at] == "COLONCOLON":
            at -= 2
        return at >= 0 and types[at] == "AS"

    def greater(self, row: int, kind: str) -> str | None:
        if self.frame.close_at != row:
            return kind
        self.pop()
        if kind == "GT":
            return "TGT"
        start = self.raw.starts[row]
        self.emit_part("TGT", row, start, start + 1)
        self.frame.in_type = False
        self.emit_part("EQ", row, start + 1, start + 2)
        return None

    def question_pair(self, row: int, kind: str) -> str | None:
        if self.types[row + 1] not in QUESTIONS_BEFORE:
            return kind
        start = self.raw.starts[row]
        self.emit_part("QUESTION", row, start, start + 1)
        self.emit_part("QUESTION", row, start + 1, start + 2)
        return None

    def integer(self, row: int, kind: str) -> str:
        return "TUPIDX" if self.previous == "DOT" else kind

    def range(self, row: int, kind: str) -> str:
        has_left = not self.operand_expected()
        has_right = not self.range_ends(row + 1)
        if has_left:
            return kind if has_right or kind == "RANGEEQ" else "RANGE_FROM"
        if kind == "RANGEEQ":
            return "RANGE_TOEQ"
        return "RANGE_TO" if has_right else "RANGE_FULL"

    def range_ends(self, row: int) -> bool:
        following = self.types[row]
        if following == "LBRACE":
            return self.open_header() is not None
        if following == "IF":
            return self.frame.kind == "match" and not self.frame.in_body
        return following in NO_RANGE_END

    def pipe(self, row: int, kind: str) -> str:
        frame = self.frame
        if frame.in_closure:
            frame.in_closure = False
            return "CPIPE"
        if self.operand_expected():
            frame.in_closure = True
            return "CPIPE"
        return kind

    def pipes(self, row: int, kind: str) -> str:
        return "CPIPE2" if self.operand_expected() else kind

    def arrow(self, row: int, kind: str) -> str:
        if self.previous == "CPIPE" or self.previous == "CPIPE2":
            self.frame.pending = "closure"
        return kind

    def fat_arrow(self, row: int, kind: str) -> str:
        frame = self.frame
        if frame.headers and frame.headers[-1] == "guard":
            frame.headers.pop()
        if frame.kind == "match":
            frame.in_body = True
            frame.form = False
        return kind

    def colon(self, row: int, kind: str) -> str:
        if self.frame.kind in KEYED_FRAMES:
            self.frame.in_type = True
        return kind

    def equals(self, row: int, kind: str) -> str:
        self.frame.in_type = False
        return kind

    def comma(self, row: int, kind: str) -> str:
        frame = self.frame
        frame.in_type = frame.in_body = frame.form = False
        return kind

    def semicolon(self, row: int, kind: str) -> None:
        self.emit(kind, row)
        frame = self.frame
        frame.pending = None
        frame.headers.clear()
        frame.form = frame.in_closure = self.in_use = False
        self.fresh = frame.kind in STATEMENT_FRAMES

    # ------------------------------------------------------------ brackets (rules 2, 10)

    def open_plain(self, row: int, kind: str) -> str:
        self.push(Frame("paren"))
        return kind

    def close_plain(self, row: int, kind: str) -> str:
        self.close_generics()
        self.pop()
        return kind

    def close_generics(self) -> None:
        """Type lists were found closed beforehand, so none is open here unless brackets were repaired."""
        while self.frame.kind == "generic":
            self.pop()

    def next_hole(self, row: int, kind: str) -> str:
        self.close_plain(row, kind)
        return self.open_plain(row, kind)

    def open_brace(self, row: int, kind: str) -> None:
        frame = self.frame
        expected = self.operand_expected()
        header = self.open_header()
        if frame.pending is not None:
            item, frame.pending = frame.pending, None
            new, tag = Frame(FRAME_OF_ITEM[item], item not in PART_OF_EXPRESSION), "LBRACE"
        elif header is not None and not expected:
            frame.headers.pop()
            new, tag = Frame("match" if header in ("match", "listen") else "block"), "LBRACE"
        elif frame.kind == "variants" and self.previous == "IDENT":
            new, tag = Frame("fields"), "LBRACE"
        elif self.previous == "COLONCOLON":
            new, tag = Frame("paren"), "LBRACE"  # a group of `use`
        elif not self.fresh and self.previous in ("IDENT", "TGT"):
            new, tag = Frame("struct"), "SLBRACE"
        elif self.previous not in BLOCK_AFTER and expected and self.begins_map(row):
            new, tag = Frame("map"), "MLBRACE"
        else:
            self.note_form()
            new, tag = Frame("block"), "LBRACE"
        self.emit(tag, row)
        self.push(new)
        self.fresh = new.kind in STATEMENT_FRAMES

    def begins_map(self, row: int) -> bool:
        """L-2.5.3."""
        first = self.types[row + 1]
        if first == "RBRACE":
            return not self.fresh and self.previous in EMPTY_MAP_AFTER
        if first == "LPAREN" or first == "ISTR_START":
            return self.types[self.partner[row + 1] + 1] == "COLON"
        key = row + 2 if first == "MINUS" else row + 1
        return self.types[key] in MAP_KEY_TOKENS and self.types[key + 1] == "COLON"

    def close_brace(self, row: int, kind: str) -> None:
        self.close_generics()
        self.emit(kind, row)
        closed = self.pop()
        frame = self.frame
        if closed.is_item:
            frame.form = False
            self.fresh = frame.kind in STATEMENT_FRAMES
        elif frame.form and not frame.headers and frame.pending is None:
            self.end_form(row)

    def end_form(self, row: int) -> None:
        """The block-like form of this frame may be complete (L-2.4.2)."""
        frame, following = self.frame, self.types[row + 1]
        if following == "ELSE" or following == "CATCH":
            return
        frame.form = False
        if following in CONTINUES:
            return
        end = self.raw.ends[row]
        self.emit_part("BLKEND", row, end, end)
        frame.in_body = False
        self.fresh = frame.kind in STATEMENT_FRAMES


_Handler = Callable[[_Filter, int, str], str | None]

_KEYWORD_RULES: dict[str, _Handler] = {
    **dict.fromkeys(("STRUCT", "ENUM", "TRAIT", "IMPL", "MOD", "CATCH"), _Filter.item_keyword),
    **dict.fromkeys(("IF", "WHILE", "MATCH"), _Filter.header_keyword),
    **dict.fromkeys(("LOOP", "TRY"), _Filter.form_keyword),
    "FN": _Filter.fn_keyword,
    "ASYNC": _Filter.async_keyword,
    "USE": _Filter.use_keyword,
    "FOR": _Filter.for_keyword,
    "IN": _Filter.in_keyword,
    "RETURN": _Filter.return_keyword,
    "BREAK": _Filter.break_keyword,
}

_HANDLERS: dict[str, _Handler] = {
    **dict.fromkeys(HARD_KEYWORDS.values(), _Filter.keyword),
    **dict.fromkeys(("LPAREN", "LBRACKET", "ISTR_START"), _Filter.open_plain),
    **dict.fromkeys(("RPAREN", "RBRACKET", "ISTR_END"), _Filter.close_plain),
    **dict.fromkeys(("GT", "GE"), _Filter.greater),
    **dict.fromkeys(("RANGE", "RANGEEQ"), _Filter.range),
    "IDENT": _Filter.word,
    "INT": _Filter.integer,
    "LABEL": _Filter.label,
    "ISTR_MID": _Filter.next_hole,
    "LT": _Filter.less,
    "QQ": _Filter.question_pair,
    "PIPE": _Filter.pipe,
    "OROR": _Filter.pipes,
    "ARROW": _Filter.arrow,
    "FATARROW": _Filter.fat_arrow,
    "COLON": _Filter.colon,
    "EQ": _Filter.equals,
    "COMMA": _Filter.comma,
    "SEMI": _Filter.semicolon,
    "LBRACE": _Filter.open_brace,
    "RBRACE": _Filter.close_brace,
}
