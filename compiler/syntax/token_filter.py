"""The token filter (language.md, Appendix A): one pass that makes the grammar LALR(1).

Hands on `filter_tokens`, which returns the list that the parser reads, to `parse` and the colours, and `QUESTIONS_BEFORE` to the
formatter. It changes the type of a token by its context (a soft word to a keyword, `<` to TLT, `{` to MLBRACE or SLBRACE), splits
`??` and `>=`, and inserts BLKEND where a block-like statement ends. Context is a stack of `Frame`s, one for each open bracket.
The filter reports nothing: from a wrong program it makes tokens that do not parse. A new rule is a method of `_Filter` with a row
of `_HANDLERS` or `_KEYWORD_RULES`.
"""

from __future__ import annotations

from collections.abc import Callable

from .. import operators
from .brackets import Balanced
from .lexer import CLAUSE_WORDS, DECLARING_WORDS, HARD_KEYWORDS, SOFT_WORDS, TIER_WORDS, TokenList, words
from .type_scanner import TypeScanner

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
# Behind `return` or `break` no operand begins with these, behind `..` none with those of NO_RANGE_END.
NO_OPERAND = words("SEMI RBRACE COMMA RPAREN RBRACKET $end ISTR_MID ISTR_END")
NO_RANGE_END = NO_OPERAND | {"FATARROW", "PIPE", "EQ", "COLON"}
# Before these `??` is two `?` (L-1.7.2).
QUESTIONS_BEFORE = words("SEMI RPAREN COMMA RBRACE RBRACKET DOT QUESTION QQ $end ISTR_MID ISTR_END")
# L-2.5.3: behind these `{}` is a map; behind those of BLOCK_AFTER `{` opens a block; with MAP_KEY_TOKENS and `:` a map begins.
EMPTY_MAP_AFTER = words("EQ LPAREN COMMA COLON LBRACKET RETURN QQ PIPEGT EQEQ NE")
BLOCK_AFTER = frozenset(("ELSE", "TRY", "LOOP", "ASYNCBLK"))
MAP_KEY_TOKENS = frozenset(("STRING", "INT", "FLOAT", "IDENT", *HARD_KEYWORDS.values()))
# Keywords that mean the same before `:` (L-1.3.5).
KEEP_MEANING = frozenset(("TRUE", "FALSE", "NIL", "SELF"))

# What a pending item's `{` opens.
FRAME_OF_ITEM = {
    "struct": "fields", "schema": "fields", "tier": "fields", "enum": "variants", "trait": "items", "impl": "items",
    "pipeline": "items", "mod": "items", "fn": "block", "stage": "block", "catch": "block", "fnexpr": "block",
    "closure": "block", "model": "config", "agent": "config", "connect": "config", "mock": "config", "mcp": "config",
    "tool": "tool", "context": "context", "memory": "config", "channel": "block", "embedder": "config", "extern": "items",
}  # fmt: skip
PART_OF_EXPRESSION = frozenset(("catch", "fnexpr", "closure"))
STATEMENT_FRAMES = frozenset(("block", "items"))
KEYED_FRAMES = frozenset(("fields", "tool"))
# Words of declarations that have no body in braces.
NO_BODY_WORDS = frozenset(("type", "hashmap", "ledger", "index"))
# A header's `{` opens its body while one of these is on top.
BODY_HEADERS = frozenset(("if", "while", "match", "for", "parallel", "listen"))


class Frame:
    """What the filter knows inside one open bracket. `kind` is what the bracket holds: items, the statements of a block, fields,
    variants, the keys of a config, tool or context, arms of a match, a struct literal, a map, a paren (any other bracket), or
    generic: type arguments."""

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
    """Where the filter is: the tokens written so far (`out`), the type of the last of them (`previous`), the open frames, and
    what the next token may be; `in_use`: it stands in an import. `raw`, `types` and `partner` are those of the balanced list."""

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
        """Write the token of `row` with the type `kind`."""
        self.emit_part(kind, self.raw.values[row], self.raw.starts[row], self.raw.ends[row])

    def emit_part(self, kind: str, value: str | int | float, start: int, end: int) -> None:
        """Write a token of the type `kind` that covers the characters from `start` to `end`, a part of a raw token."""
        self.previous = kind
        self.fresh = False
        self.out.add(kind, value, start, end)

    def operand_expected(self) -> bool:
        """Return whether an operand may begin with the next token: at the start of a statement, or behind an operator."""
        return self.fresh or self.previous not in OPERAND_END

    def push(self, frame: Frame) -> None:
        """Begin a frame, which is the innermost one then."""
        self.frames.append(frame)
        self.frame = frame

    def pop(self) -> Frame:
        """End the innermost frame and return it."""
        closed = self.frames.pop()
        self.frame = self.frames[-1]
        return closed

    def open_header(self) -> str | None:
        """Return the innermost header keyword of this frame whose body may open now, or None."""
        headers = self.frame.headers
        return headers[-1] if headers and headers[-1] in BODY_HEADERS else None

    def note_form(self) -> None:
        """Note that the current statement or match arm begins with a block-like form, which may end it (L-2.4.2)."""
        frame = self.frame
        if self.fresh or (self.previous == "FATARROW" and frame.kind == "match"):
            frame.form = True


def filter_tokens(balanced: Balanced) -> TokenList:
    """Return the tokens that the grammar reads, whose types are TERMINALS of the lexer or END, with the comments and
    documentation of the raw list, which itself stays as it is. Nothing is reported or raised."""
    return _Filter(balanced).run()


class _Filter(FilterState):
    """One method per rule of Appendix A. A method gets the row and the type of a raw token and returns the new type, or
    None after it has written the token itself."""

    def run(self) -> TokenList:
        """Return the filtered tokens. A token without a handler keeps its type."""
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
        """Return IDENT, CFGKEY or, where L-1.3.3 makes the name a keyword, its K_ type."""
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
        """Return the type of a name before `:`: a key of a configuration, or a plain name."""
        frame = self.frame
        if frame.in_closure:  # a parameter with its type
            return "IDENT"
        return "CFGKEY" if frame.kind == "config" or (frame.kind == "tool" and text == "description") else "IDENT"

    def keyword(self, row: int, kind: str) -> str | None:
        """Return IDENT where L-1.3.5 makes a hard keyword a plain name, else what the keyword's own rule returns."""
        if self.previous == "DOT":
            # Behind a dot every keyword but `await` is a plain name (L-1.3.5).
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
        """Return the K_ type of a soft word where L-1.3.3 makes it a keyword, else IDENT. `following` is the type of the
        next raw token."""
        frame = self.frame
        # Between the items of `parallel for` and its body only `limit` is a word.
        if frame.headers and frame.headers[-1] == "parallel":
            return "K_LIMIT" if text == "limit" and not self.operand_expected() else "IDENT"
        if text in DECLARING_WORDS and following == "IDENT" and frame.kind != "config":
            return self.declaring_word(row, text)
        names = ("IDENT", "SELF") if text == "by" else ("IDENT",)
        if text in CLAUSE_WORDS and following in names and frame.pending == "fn":
            return "K_" + text.upper()
        if text in TIER_WORDS and following == "LBRACE" and frame.kind == "context":
            frame.pending = "tier"
            return "K_" + text.upper()
        if text == "listen" and following in ("IDENT", "SELF"):
            self.note_form()
            frame.headers.append("listen")
            return "K_LISTEN"
        # `spawn (f)()` stays a call of something named spawn: the word is soft.
        if text == "spawn" and following in ("IDENT", "SELF", "ASYNC"):
            return "K_SPAWN"
        if text == "parallel" and following == "FOR":
            self.note_form()
            return "K_PARALLEL"
        return "IDENT"

    def declaring_word(self, row: int, text: str) -> str:
        """Return the K_ type of a word that declares an item, and note that a body may follow."""
        expression_stage = text == "stage" and self.types[row + 2] == "EQ"
        if text not in NO_BODY_WORDS and not expression_stage:
            self.frame.pending = text
        return "K_" + text.upper()

    # ------------------------------------------------------------ keywords (rules 4, 5, 6, 8)

    def item_keyword(self, row: int, kind: str) -> str:
        """Note that the body of an item follows; the `impl` of `tool T impl X` has none of its own."""
        if kind != "IMPL" or self.frame.pending != "tool":
            self.frame.pending = kind.lower()
        return kind

    def fn_keyword(self, row: int, kind: str) -> str:
        """Return FN for a function with a name, FNTYPE for a function type, FNEXPR for a function expression. Of the last
        two only the expression has a body."""
        if self.types[row + 1] != "LPAREN":
            self.frame.pending = "fn"
            return "FN"
        if self.previous in ("ARROW", "AS"):
            return "FNTYPE"
        # A function type and a function expression differ only behind their parameters and result.
        after = self.partner[row + 1] + 1
        if self.types[after] == "ARROW":
            after = self.scanner.type_end(after + 1)
        if after < 0 or self.types[after] != "LBRACE":
            return "FNTYPE"
        self.frame.pending = "fnexpr"
        return "FNEXPR"

    def async_keyword(self, row: int, kind: str) -> str:
        """Tell an `async` block (ASYNCBLK) from the `async` of a function."""
        return "ASYNCBLK" if self.types[row + 1] == "LBRACE" else "ASYNC"

    def use_keyword(self, row: int, kind: str) -> str:
        """Note that an import begins, in which `self` is a plain name."""
        self.in_use = True
        return kind

    def header_keyword(self, row: int, kind: str) -> str:
        """Open the header of `if`, `while` or `match`; `if` in a match arm before `=>` is a guard."""
        frame = self.frame
        if kind == "IF" and frame.kind == "match" and not frame.in_body and "guard" not in frame.headers:
            frame.headers.append("guard")
        else:
            self.note_form()
            frame.headers.append(kind.lower())
        return kind

    def for_keyword(self, row: int, kind: str) -> str:
        """Open the pattern of a loop; the `for` of `impl Trait for T` opens none."""
        frame = self.frame
        if frame.pending != "impl":
            self.note_form()
            frame.headers.append("parallel pattern" if self.previous == "K_PARALLEL" else "for pattern")
        return kind

    def in_keyword(self, row: int, kind: str) -> str:
        """End the pattern of a loop: what follows is its header."""
        headers = self.frame.headers
        if headers and headers[-1].endswith(" pattern"):
            headers[-1] = headers[-1][: -len(" pattern")]
        return kind

    def form_keyword(self, row: int, kind: str) -> str:
        """Note the block-like form that `loop` or `try` begins."""
        self.note_form()
        return kind

    def return_keyword(self, row: int, kind: str) -> str:
        """Return RETURN_V where no operand follows."""
        return "RETURN_V" if self.types[row + 1] in NO_OPERAND else kind

    def break_keyword(self, row: int, kind: str) -> str:
        """Return BREAK_V where no operand follows, behind a label too."""
        after = row + 2 if self.types[row + 1] == "LABEL" else row + 1
        return "BREAK_V" if self.types[after] in NO_OPERAND else kind

    def label(self, row: int, kind: str) -> str:
        """Return LABELDEF for a label before a loop, LABEL behind break or continue."""
        if self.types[row + 1] != "COLON":
            return "LABEL"
        self.note_form()
        return "LABELDEF"

    # ------------------------------------------------------------ operators (rules 3, 7, 9)

    def less(self, row: int, kind: str) -> str:
        """Return TLT where `<` opens type arguments (L-2.5.4), LT where it compares."""
        # Type arguments stand behind a name only, and behind `impl` its parameters.
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
        """Return whether the name just written, perhaps a path, stands behind `as`."""
        types = self.out.types
        at = len(types) - 2
        # A path is IDENT (COLONCOLON IDENT)*, so its first name stands at an even distance.
        while at > 0 and types[at] == "COLONCOLON":
            at -= 2
        return at >= 0 and types[at] == "AS"

    def greater(self, row: int, kind: str) -> str | None:
        """Return TGT for the `>` that closes type arguments; split a `>=` that closes them into TGT and EQ."""
        if self.frame.close_at != row:
            return kind
        self.pop()
        if kind == "GT":
            return "TGT"
        # The `>=` of `let x: Array<Int>= …` is two tokens of the grammar.
        start = self.raw.starts[row]
        self.emit_part("TGT", ">", start, start + 1)
        self.emit_part(self.equals(row, "EQ"), "=", start + 1, start + 2)
        return None

    def question_pair(self, row: int, kind: str) -> str | None:
        """Split `??` into two QUESTION where no operand follows; else it is the operator."""
        if self.types[row + 1] not in QUESTIONS_BEFORE:
            return kind
        start = self.raw.starts[row]
        self.emit_part("QUESTION", "?", start, start + 1)
        self.emit_part("QUESTION", "?", start + 1, start + 2)
        return None

    def integer(self, row: int, kind: str) -> str:
        """Return TUPIDX for a number behind a dot."""
        return "TUPIDX" if self.previous == "DOT" else kind

    def range(self, row: int, kind: str) -> str:
        """Return the type of `..` or `..=` by the sides that are there."""
        has_left = not self.operand_expected()
        has_right = not self.range_ends(row + 1)
        if has_left:
            return kind if has_right or kind == "RANGEEQ" else "RANGE_FROM"
        if kind == "RANGEEQ":
            return "RANGE_TOEQ"
        return "RANGE_TO" if has_right else "RANGE_FULL"

    def range_ends(self, row: int) -> bool:
        """Return whether the token at `row` cannot begin the right side of a range."""
        following = self.types[row]
        if following == "LBRACE":
            return self.open_header() is not None
        if following == "IF":
            return self.frame.kind == "match" and not self.frame.in_body
        return following in NO_RANGE_END

    def pipe(self, row: int, kind: str) -> str:
        """Return CPIPE at both ends of a closure's parameters, PIPE between alternatives."""
        frame = self.frame
        if frame.in_closure:
            frame.in_closure = False
            return "CPIPE"
        if self.operand_expected():
            frame.in_closure = True
            return "CPIPE"
        return kind

    def pipes(self, row: int, kind: str) -> str:
        """Return CPIPE2 where `||` is an empty list of parameters."""
        return "CPIPE2" if self.operand_expected() else kind

    def arrow(self, row: int, kind: str) -> str:
        """Note that the body of a closure with a result type follows. Behind the payload of a channel, ANSWERS."""
        if self.frame.pending == "channel":
            self.frame.pending = None
            return "ANSWERS"  # its payload may end in the type of a function without result
        if self.previous == "CPIPE" or self.previous == "CPIPE2":
            self.frame.pending = "closure"
        return kind

    def fat_arrow(self, row: int, kind: str) -> str:
        """End the pattern and guard of a match arm: its body follows."""
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
        """End a type; a memory with a value has no block."""
        self.frame.in_type = False
        if self.frame.pending == "memory":
            self.frame.pending = None
        return kind

    def comma(self, row: int, kind: str) -> str:
        """End an arm, a field or an entry."""
        frame = self.frame
        # A comma ends whatever the frame was in the middle of.
        frame.in_type = frame.in_body = frame.form = False
        return kind

    def semicolon(self, row: int, kind: str) -> None:
        """End a statement: headers and items that never got a body are forgotten."""
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
        """Drop the frames of type lists. Their ends are known beforehand, so one is open here only after a repair of
        brackets."""
        while self.frame.kind == "generic":
            self.pop()

    def next_hole(self, row: int, kind: str) -> str:
        """End one hole of a string and begin the next."""
        self.close_plain(row, kind)
        return self.open_plain(row, kind)

    def open_brace(self, row: int, kind: str) -> None:
        """Decide what `{` opens (rule 2): the body of the pending item or header, fields, a group of `use`, a struct
        literal, a map or a block."""
        frame = self.frame
        expected = self.operand_expected()
        header = self.open_header()
        if frame.pending is not None:
            item, frame.pending = frame.pending, None
            new, tag = Frame(FRAME_OF_ITEM[item], item not in PART_OF_EXPRESSION), "LBRACE"
        # `if x {` opens the body only where the condition is complete: `if {` begins a map or a block.
        elif header is not None and not expected:
            frame.headers.pop()
            new, tag = Frame("match" if header in ("match", "listen") else "block"), "LBRACE"
        elif frame.kind == "variants" and self.previous == "IDENT":
            new, tag = Frame("fields"), "LBRACE"
        elif self.previous == "COLONCOLON":
            new, tag = Frame("paren"), "LBRACE"  # a group of `use`
        # A name that begins a statement is followed by a block, never by a struct literal.
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
        """Return whether the `{` at `row`, where an operand may stand, begins a map and no block (L-2.5.3)."""
        first = self.types[row + 1]
        if first == "RBRACE":
            return not self.fresh and self.previous in EMPTY_MAP_AFTER
        if first == "LPAREN" or first == "ISTR_START":
            return self.types[self.partner[row + 1] + 1] == "COLON"
        key = row + 2 if first == "MINUS" else row + 1
        return self.types[key] in MAP_KEY_TOKENS and self.types[key + 1] == "COLON"

    def close_brace(self, row: int, kind: str) -> None:
        """Close a brace; behind the body of an item, or behind a block-like form, a statement begins."""
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
        """Write BLKEND if the block-like form of this frame is complete (L-2.4.2)."""
        frame, following = self.frame, self.types[row + 1]
        if following == "ELSE" or following == "CATCH":
            return
        frame.form = False
        if following in CONTINUES:
            return
        end = self.raw.ends[row]
        self.emit_part("BLKEND", "", end, end)
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
