"""The token filter (language.md, Appendix A): one pass that makes the grammar LALR(1).

Retags tokens by their context, splits `??` and `>=`, and inserts BLKEND where a block-like statement ends. Context is
a stack of frames, one per open bracket. Hands a new `TokenList` to the parser.
Must not know: the grammar's productions, the tree. It reports nothing: a wrong program gets tokens that do not parse.
"""

from __future__ import annotations

from collections.abc import Callable

from . import frames
from .brackets import Balanced
from .frames import FilterState, Frame
from .tokens import CLAUSE_WORDS, DECLARING_WORDS, HARD_KEYWORDS, SOFT_WORDS, TIER_WORDS, TokenList


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
        if kind in frames.KEEP_MEANING:
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
        if text not in frames.NO_BODY_WORDS and not expression_stage:
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
        return "RETURN_V" if self.types[row + 1] in frames.NO_OPERAND else kind

    def break_keyword(self, row: int, kind: str) -> str:
        after = row + 2 if self.types[row + 1] == "LABEL" else row + 1
        return "BREAK_V" if self.types[after] in frames.NO_OPERAND else kind

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
        if not declared and self.types[close] != "GE" and self.types[close + 1] not in frames.AFTER_TYPE_LIST:
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
        if self.types[row + 1] not in frames.QUESTIONS_BEFORE:
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
        return following in frames.NO_RANGE_END

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
        if self.frame.kind in frames.KEYED_FRAMES:
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
        self.fresh = frame.kind in frames.STATEMENT_FRAMES

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
            new, tag = Frame(frames.FRAME_OF_ITEM[item], item not in frames.PART_OF_EXPRESSION), "LBRACE"
        elif header is not None and not expected:
            frame.headers.pop()
            new, tag = Frame("match" if header in ("match", "listen") else "block"), "LBRACE"
        elif frame.kind == "variants" and self.previous == "IDENT":
            new, tag = Frame("fields"), "LBRACE"
        elif self.previous == "COLONCOLON":
            new, tag = Frame("paren"), "LBRACE"  # a group of `use`
        elif not self.fresh and self.previous in ("IDENT", "TGT"):
            new, tag = Frame("struct"), "SLBRACE"
        elif self.previous not in frames.BLOCK_AFTER and expected and self.begins_map(row):
            new, tag = Frame("map"), "MLBRACE"
        else:
            self.note_form()
            new, tag = Frame("block"), "LBRACE"
        self.emit(tag, row)
        self.push(new)
        self.fresh = new.kind in frames.STATEMENT_FRAMES

    def begins_map(self, row: int) -> bool:
        """L-2.5.3."""
        first = self.types[row + 1]
        if first == "RBRACE":
            return not self.fresh and self.previous in frames.EMPTY_MAP_AFTER
        if first == "LPAREN" or first == "ISTR_START":
            return self.types[self.partner[row + 1] + 1] == "COLON"
        key = row + 2 if first == "MINUS" else row + 1
        return self.types[key] in frames.MAP_KEY_TOKENS and self.types[key + 1] == "COLON"

    def close_brace(self, row: int, kind: str) -> None:
        self.close_generics()
        self.emit(kind, row)
        closed = self.pop()
        frame = self.frame
        if closed.is_item:
            frame.form = False
            self.fresh = frame.kind in frames.STATEMENT_FRAMES
        elif frame.form and not frame.headers and frame.pending is None:
            self.end_form(row)

    def end_form(self, row: int) -> None:
        """The block-like form of this frame may be complete (L-2.4.2)."""
        frame, following = self.frame, self.types[row + 1]
        if following == "ELSE" or following == "CATCH":
            return
        frame.form = False
        if following in frames.CONTINUES:
            return
        end = self.raw.ends[row]
        self.emit_part("BLKEND", row, end, end)
        frame.in_body = False
        self.fresh = frame.kind in frames.STATEMENT_FRAMES


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
