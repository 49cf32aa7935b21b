"""The raw lexer: source text to tokens, comments and documentation, by one master pattern.

Hands on `lex`, which returns a `TokenList`, to all that reads tokens: the other files of this folder, `project`, `incremental`,
the formatter, `cli/dump.py`, the colours, the REPL and the language server. Hands on the tables of token types, with their
wording in messages (`describe`, `describe_found`) and the sets of soft words (DECLARING_WORDS, CLAUSE_WORDS, TIER_WORDS), to this
folder, the colours and the language server; `HARD_KEYWORDS` also to `cli/library_project.py`; `words`, by which such sets are
written, to the hints too; INT_LIMIT, INT_HELP, RAW_FORM and END to this folder. A new sign that is no binary operator is a row of
`OPERATORS`, a new word one of `HARD_KEYWORDS` or `SOFT_WORDS`. Strings with holes become ISTR_START, the tokens of the hole,
ISTR_MID …, ISTR_END. Every lexical error is reported and lexing goes on at the next token boundary (L-4.1.3). A soft word is
always an IDENT here, and `{` is always LBRACE: what they mean by their context is for the token filter.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from math import inf
from typing import NamedTuple

from .. import operators
from ..diagnostics import Diagnostics
from ..source import NAME_HELP, Source, Span, character_help, end_of_character, end_of_name, is_letter
from .ast import Comment

# Escapes in string literals, and the trimming of multi-line strings. Both work on the pieces between holes.

# Called with code, start and end within the piece, message, help.
Report = Callable[[str, int, int, str, str], None]

_ESCAPE = re.compile(r"\\(?:u\{([^}\"'\n\\]*)\}|(u)|(.)|$)", re.DOTALL)
_SIMPLE = {"\\": "\\", '"': '"', "'": "'", "n": "\n", "r": "\r", "t": "\t", "0": "\0", "$": "$"}
_HEX = re.compile(r"[0-9A-Fa-f]{1,6}\Z")
RAW_FORM = 'a raw string is `r#"…"#`'
LEGAL_ESCAPES = rf"legal escapes are \\ \" \' \n \r \t \0 \$ \u{{…}}; {RAW_FORM}"


def decode_escapes(text: str, report: Report) -> str:
    """Return the text with its escapes replaced (L-1.5.6). A bad escape is reported (E0007, of `\\u` E0008) and left out; offsets
    of the report are within `text`."""
    if "\\" not in text:
        return text

    def replace(escape: re.Match[str]) -> str:
        digits, bare_u, char = escape.groups()
        if char in _SIMPLE:
            return _SIMPLE[char]
        if digits is None and bare_u is None:
            report("E0007", escape.start(), escape.end(), f"unknown escape `{_visible(escape[0])}`", LEGAL_ESCAPES)
            return ""
        return _scalar(digits or "", escape, report)

    return _ESCAPE.sub(replace, text)


def _scalar(digits: str, escape: re.Match[str], report: Report) -> str:
    r"""Return the character of `\u{digits}`, or an empty text after reporting E0008."""
    value = int(digits, 16) if _HEX.match(digits) else -1
    if 0 <= value <= 0x10FFFF and not 0xD800 <= value <= 0xDFFF:
        return chr(value)
    what = f"malformed `\\u{{}}` escape: `{digits}` is no Unicode scalar value"
    report("E0008", escape.start(), escape.end(), what, r"write `\u{1F600}`: 1 to 6 hexadecimal digits in braces")
    return ""


def _visible(escape: str) -> str:
    return escape.replace("\n", "⏎").replace("\r", "")


_OPENING_LINE = re.compile(r"[ \t]*\n")
_CLOSING_LINE = re.compile(r"\n([ \t]*)\Z")


def trim_pieces(pieces: list[str]) -> list[str]:
    """Return the literal pieces of one multi-line string, at least one, trimmed by L-1.5.8: as many, with escapes still in place.

    A hole stands between each piece and the next. Trimming comes before escapes because only line ends that are written in the
    source begin a literal line.
    """
    pieces = [piece.replace("\r\n", "\n") for piece in pieces]
    opening = _OPENING_LINE.match(pieces[0])
    if opening:
        # The line end stays for now: it tells that the first literal line begins at a line start.
        pieces[0] = pieces[0][opening.end() - 1 :]
    closing = _CLOSING_LINE.search(pieces[-1])
    if closing:
        margin = len(closing[1])
        pieces[-1] = pieces[-1][: closing.start() + 1]
        pieces = [_cut_margin(piece, margin, at == len(pieces) - 1) for at, piece in enumerate(pieces)]
        pieces[-1] = pieces[-1][:-1]
    if opening and pieces[0].startswith("\n"):
        pieces[0] = pieces[0][1:]
    return pieces


def _cut_margin(piece: str, margin: int, is_last: bool) -> str:
    """Remove up to `margin` blanks from each line that begins inside the piece."""
    lines = piece.split("\n")
    for at in range(1, len(lines)):
        line = lines[at]
        # The last line of a piece runs on into a hole, so it is no blank line.
        runs_on = at == len(lines) - 1 and not is_last
        blanks = len(line) - len(line.lstrip(" \t"))
        lines[at] = "" if blanks == len(line) and not runs_on else line[min(blanks, margin) :]
    return "\n".join(lines)


END = "$end"


def words(text: str) -> frozenset[str]:
    """Return the words of a text that blanks and line ends part: the tables below and in other modules are written so."""
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
DECLARING_WORDS = words(
    "type model tool agent pipeline stage schema hashmap ledger memory context mcp connect mock channel embedder index extern"
)
CLAUSE_WORDS = words("needs reads by")
TIER_WORDS = words("persistent session ephemeral")
SOFT_WORDS = DECLARING_WORDS | CLAUSE_WORDS | TIER_WORDS | words("listen spawn parallel limit")

# L-1.7.1; the filter retags `..`, `..=`, `|`, `||`, `<`, `>`, `{`.
OPERATORS = operators.SIGNS | {
    "..=": "RANGEEQ", "|>": "PIPEGT", "..": "RANGE", "->": "ARROW", "=>": "FATARROW", "::": "COLONCOLON", "!": "NOT", "=": "EQ",
    ".": "DOT", "|": "PIPE", "?": "QUESTION", "@": "AT", "(": "LPAREN", ")": "RPAREN", "{": "LBRACE", "}": "RBRACE",
    "[": "LBRACKET", "]": "RBRACKET", ",": "COMMA", ";": "SEMI", ":": "COLON",
}  # fmt: skip

# Every type the filter can hand to the grammar.
TERMINALS = tuple(
    sorted(
        {"IDENT", "INT", "FLOAT", "STRING", "ISTR_START", "ISTR_MID", "ISTR_END", "TUPIDX", "DOTAWAIT", "CFGKEY"}
        | {"LABEL", "LABELDEF", "BLKEND", "TLT", "TGT", "MLBRACE", "SLBRACE", "CPIPE", "CPIPE2", "FNEXPR", "FNTYPE", "ANSWERS"}
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
    """Tokens as parallel columns, since an object per token would double the cost of lexing. The last row is of type END; offsets
    are in characters. `values` are the numbers of INT and FLOAT, the decoded text of a string or of a piece of one, the name of a
    label, else the text of the token. `docs` is the documentation by the offset of the token that it precedes."""

    __slots__ = ("types", "values", "starts", "ends", "comments", "docs")

    def __init__(self) -> None:
        self.types: list[str] = []
        self.values: list[str | int | float] = []
        self.starts: list[int] = []
        self.ends: list[int] = []
        self.comments: list[Comment] = []
        self.docs: dict[int, str] = {}

    def add(self, kind: str, value: str | int | float, start: int, end: int) -> None:
        """Append a token that covers the characters from `start` to `end`."""
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
    DOTAWAIT="await", ANSWERS="->",
)  # fmt: skip
_DESCRIPTION = {
    "IDENT": "a name", "CFGKEY": "a field name", "INT": "a number", "FLOAT": "a number", "STRING": "a string",
    "ISTR_START": "a string", "ISTR_MID": "the end of `${ }`", "ISTR_END": "the end of `${ }`",
    "TUPIDX": "a tuple index", "LABEL": "a label", "LABELDEF": "a label", "BLKEND": "the end of the statement",
    END: "the end of the file",
}  # fmt: skip


def describe(kind: str) -> str:
    """Return how a message names a terminal that it expects: `` `;` `` or `a name`. KeyError for what is no terminal."""
    return _DESCRIPTION.get(kind) or f"`{_SPELLING[kind]}`"


def describe_found(kind: str, text: str) -> str:
    """Return how a message names a token that stands in the source as `text`, of which at most 40 characters are shown."""
    if kind == END:
        return "the end of the file"
    if kind in ("STRING", "ISTR_START"):
        return "a string"
    if kind in ("ISTR_MID", "ISTR_END"):
        return "the end of `${ }`"
    excerpt = text if len(text) <= 40 else text[:39] + "…"
    if kind in ("IDENT", "CFGKEY"):
        return f"name `{excerpt}`"
    return f"`{excerpt}`"


MAX_TOKENS = 1_000_000
INT_LIMIT = 2**63
LARGEST = sys.float_info.max
FLOAT_HELP = "write a smaller number; `1.0 / 0.0` is infinity"
INT_HELP = f"the largest Int is `{INT_LIMIT - 1}`; where a Float may stand, write `1e19`"

# What a sign by itself may not stand before: a number, or what makes it a comment.
_NOT_BEFORE = {".": "[0-9]", "/": "[/*]"}
_FREQUENT = "(.:=|?*&!/"  # the first characters of signs, the most frequent first


def _signs() -> str:
    """Return the texts of OPERATORS without braces as one pattern, by their first characters: those that go on alike share an
    alternative, and a longer text comes before a shorter one."""
    alike: dict[tuple[str, ...], str] = {}
    for first in dict.fromkeys(text[0] for text in OPERATORS if text not in "{}"):
        rests = sorted((text[1:] for text in OPERATORS if text[0] == first), key=len, reverse=True)
        behind = f"(?!{_NOT_BEFORE[first]})" if first in _NOT_BEFORE else ""
        key = tuple([re.escape(rest) or behind for rest in rests])
        alike[key] = alike.get(key, "") + first
    frequent = sorted(alike.items(), key=lambda item: min([_FREQUENT.find(first) % 99 for first in item[1]]))
    return "|".join([f"[{re.escape(firsts)}](?:{'|'.join(rests)})" for rests, firsts in frequent])


# The order of the groups is the order of frequency, except where a longer form must come first. `digit`: a number that may be
# many, and is not; `lexeme`: the words and the operators, which one table tells apart.
_MASTER = re.compile(
    r"""
    [ \t\r\n\f]*
    (?: (?P<raw> r(?=\#) )
      | (?P<lexeme> [A-Za-z_][A-Za-z0-9_]*
          | SIGNS )
      | (?P<plain> "(?!"")[^"\\$\n]*" )
      | (?P<line> //[^\n]* )
      | (?P<block> /\* )
      | (?P<brace> [{}] )
      | (?P<digit> (?:0|[1-9][0-9]{0,17}) (?![0-9A-Za-z_.]) )
      | (?P<index> \.(?=[0-9]) )
      | (?P<number> [0-9] )
      | (?P<quote> \"\"\"|"|' )
      | (?P<other> . )
    )?
    """.replace("SIGNS", _signs()),
    re.VERBOSE | re.DOTALL,
)
_LEXEME, _BRACE, _PLAIN, _DIGIT = (_MASTER.groupindex[name] for name in ("lexeme", "brace", "plain", "digit"))
_KINDS = {**HARD_KEYWORDS, **OPERATORS}
_DECIMAL = re.compile(r"[0-9][0-9_]*(\.[0-9][0-9_]*)?([eE][+-]?[0-9][0-9_]*)?")
_RADIX = re.compile(r"0(?:[xX][0-9A-Fa-f_]*|[oO][0-7_]*|[bB][01_]*)")
_TOUCHING = re.compile(r"[A-Za-z0-9_]+")
_DIGITS = re.compile(r"[0-9]+")
_HASHES = re.compile(r"#+")
_RAW_WORD = re.compile(r"(?<![A-Za-z0-9_])[rR]\Z")
_COMMENT_EDGE = re.compile(r"/\*|\*/")
_LABEL_NAME = re.compile(r"'([A-Za-z_][A-Za-z0-9_]*)")
_LABEL_TAIL = re.compile(r"[ \t]*:(?!:)")
_LOOP_WORD = re.compile(r"[ \t\r\n\f]*(?:for|while|loop)\b")
_DURATION = re.compile(r"[0-9]+(?:\.[0-9]+)?(?:ms|s|m|h|d)")
_SUFFIXED = re.compile(r"([0-9][0-9_.]{0,30}?)_?(?:[iu](?:8|16|32|64|128|size)|f32|f64|[nLlfFdDuU])")
_BIDI = re.compile("[\u202a-\u202e\u2066-\u2069]")
# What ends a run of literal text, by delimiter.
_TEXT_END = {
    '"': re.compile(r'["\n]|\$\{|\\.?', re.DOTALL),
    "'": re.compile(r"['\n]|\$\{|\\.?", re.DOTALL),
    '"""': re.compile(r'"""|\$\{|\\.?', re.DOTALL),
}


class _Open(NamedTuple):
    """A string whose hole is being lexed: its delimiter, where it began, its pieces so far, and the brace depth."""

    delimiter: str
    start: int
    pieces: list[tuple[int, int, int]]  # token row, start and end of the text
    outer_depth: int


def lex(source: Source, diagnostics: Diagnostics) -> TokenList:
    """Return all tokens of a file, ended by an END row. Errors are reported as E0002 to E0012, more than MAX_TOKENS tokens as
    E0114; nothing is raised. Comments and documentation stand in `comments` and `docs` of the list, and are no tokens."""
    return _Lexer(source, diagnostics).run()


class _Lexer:
    """One lexing. Each `lex_` method lexes the token that begins at an offset and returns the offset at which to go on."""

    def __init__(self, source: Source, diagnostics: Diagnostics) -> None:
        self.source = source
        self.text = source.text
        self.file = source.name
        self.diagnostics = diagnostics
        self.tokens = TokenList()
        self.open: list[_Open] = []
        self.depth = 0  # braces open since the innermost hole began
        self.doc_lines: list[str] = []
        self.doc_line = -1
        self.line = range(0)  # the line that `quote_follows` has searched, from where it was asked
        self.last_quote = -1  # in that line

    def error(self, code: str, start: int, end: int, message: str, help: str | None = None) -> None:
        self.diagnostics.report(code, Span(self.file, start, end), message, help=help)

    # ------------------------------------------------------------ main loop

    def run(self) -> TokenList:
        """Lex the whole text. The frequent kinds of tokens are handled in the loop, the others by a method each."""
        at = self.shebang()
        self.refuse_bidi()
        match, types, values = _MASTER.match, self.tokens.types, self.tokens.values
        starts, ends = self.tokens.starts, self.tokens.ends
        kinds, text, open_strings, doc_lines = _KINDS, self.text, self.open, self.doc_lines
        while True:
            token = match(text, at)
            assert token is not None  # the pattern matches the empty string
            group = token.lastindex
            if group == _LEXEME or (group == _BRACE and not open_strings):
                lexeme = token[group]
                types.append(kinds.get(lexeme, "IDENT"))
                values.append(lexeme)
            # A string on one line without escapes and holes, which most are, needs no further look.
            elif group == _PLAIN:
                lexeme = token[group]
                types.append("STRING")
                values.append(lexeme[1:-1])
            elif group == _DIGIT:
                lexeme = token[group]
                types.append("INT")
                values.append(int(lexeme))
            elif group is None:
                break
            else:
                # Leading blanks belong to the match, so the token begins where its group does.
                start = token.start(group)
                at = self.uncommon(token.lastgroup or "", start)
                # The method may have lexed a comment, which adds no token.
                if doc_lines and len(types) and starts[-1] >= start:
                    self.attach_doc(start)
                continue
            at = token.end()
            start = at - len(lexeme)
            starts.append(start)
            ends.append(at)
            if doc_lines:
                self.attach_doc(start)
        return self.finish()

    def uncommon(self, group: str, start: int) -> int:
        """Lex a token that is not among the frequent ones; return the offset at which to go on."""
        at: int = getattr(self, "lex_" + group)(start)
        return at

    def finish(self) -> TokenList:
        """Report strings that are still open, and add the END token."""
        if self.open:  # the outermost; what stands in its holes was never closed for that reason
            self.unterminated(self.open[0].delimiter, self.open[0].start)
        end = len(self.text)
        self.tokens.add(END, "", end, end)
        if len(self.tokens) > MAX_TOKENS:
            self.error("E0114", end, end, f"the file has more than {MAX_TOKENS} tokens", "split the file up")
        return self.tokens

    # ------------------------------------------------------------ characters, comments, documentation

    def shebang(self) -> int:
        """Skip a `#!` line at the start; return the offset behind it."""
        if not self.text.startswith("#!"):
            return 0
        return self.comment(0, self.line_end(0))

    def line_end(self, at: int) -> int:
        end = self.text.find("\n", at)
        return len(self.text) if end < 0 else end

    def refuse_bidi(self) -> None:
        """Report the control characters that would let a source read differently from what it does (E0002)."""
        for control in _BIDI.finditer(self.text):
            message = f"unexpected bidirectional control character U+{ord(control[0]):04X}"
            self.error("E0002", control.start(), control.end(), message, r"write it as `\u{…}` inside a string")

    def lex_other(self, start: int) -> int:
        """Report a character that begins no token (E0002); return the offset behind what it begins."""
        char = self.text[start]
        if not _BIDI.match(char):
            if is_letter(char):
                return self.foreign_letter(start)
            quoted = f"`{char}`" if char.isprintable() and not char.isspace() else f"U+{ord(char):04X}"
            self.error("E0002", start, start + 1, f"unexpected character {quoted}", character_help(self.text, start))
            end = end_of_character(self.text, start)
            if char == "`" and end > start + 1:
                self.tokens.add("STRING", self.text[start + 1 : end - 1], start, end)
            return end
        return start + 1

    def foreign_letter(self, start: int) -> int:
        """Report one error for a whole name, at the first letter that cannot stand in it; return the offset at which the
        name ends."""
        end = end_of_name(self.text, start)
        # `naïve`: the letters before have been read as a name already.
        touches = len(self.tokens) and self.tokens.ends[-1] == start and self.tokens.types[-1] == "IDENT"
        name = self.text[self.tokens.starts[-1] if touches else start : end]
        self.error("E0002", start, start + 1, f"unexpected character `{self.text[start]}` in the name `{name}`", NAME_HELP)
        return end

    def comment(self, start: int, end: int) -> int:
        """Keep the comment that covers the text from `start` to `end`; return `end`."""
        text = self.text[start:end].rstrip("\r")
        # The formatter keeps a comment on its line, or behind what it stood behind. What was lexed last ends at `after`; only
        # what lies behind it is looked at, since a line may have many comments.
        tokens, comments = self.tokens.ends, self.tokens.comments
        after = max(tokens[-1] if tokens else 0, comments[-1].span.end if comments else 0)
        line = self.text.rfind("\n", after, start)
        own_line = (line >= 0 or not after) and not self.text[max(line, after) : start].strip()
        span = Span(self.file, start, start + len(text))
        self.tokens.comments.append(Comment(span=span, text=text, own_line=own_line))
        return end

    def lex_line(self, start: int) -> int:
        """Lex a line comment; `///` is documentation of what follows."""
        end = self.comment(start, self.line_end(start))
        # Behind code on its line it would say something of what follows, though it is written about what stands before.
        own_line = self.tokens.comments[-1].own_line
        if own_line and self.text.startswith("///", start) and not self.text.startswith("////", start):
            line = self.source.position(start).line
            # Documentation is one block of lines; an empty line between ends it.
            if line != self.doc_line + 1:
                self.doc_lines.clear()
            text = self.text[start + 3 : end].rstrip("\r")
            self.doc_lines.append(text[1:] if text.startswith(" ") else text)
            self.doc_line = line
        return end

    def lex_block(self, start: int) -> int:
        """Lex a block comment, which may nest."""
        depth, at = 1, start + 2
        while depth:
            edge = _COMMENT_EDGE.search(self.text, at)
            if edge is None:
                where = self.source.position(start)
                message = f"unterminated block comment, opened at {where.line}:{where.column}"
                self.error("E0006", start, start + 2, message, "close it with `*/`")
                return self.comment(start, len(self.text))
            depth += 1 if edge[0] == "/*" else -1
            at = edge.end()
        return self.comment(start, at)

    def attach_doc(self, start: int) -> None:
        """Make the collected `///` lines the documentation of the token at `start`."""
        self.tokens.docs[start] = "\n".join(self.doc_lines)
        self.doc_lines.clear()

    # ------------------------------------------------------------ braces

    def lex_brace(self, start: int) -> int:
        """Lex a brace; `}` ends a hole when no brace is open inside it."""
        if self.text[start] == "{":
            self.depth += 1
            self.tokens.add("LBRACE", "{", start, start + 1)
        elif self.depth == 0 and self.open:
            return self.resume_string(start)
        else:
            self.depth = max(0, self.depth - 1)
            self.tokens.add("RBRACE", "}", start, start + 1)
        return start + 1

    # ------------------------------------------------------------ numbers

    def lex_index(self, start: int) -> int:
        """Lex `.` before a digit: only digits belong to the number after it, so that `t.0.1` is two accesses (L-1.4.5)."""
        self.tokens.add("DOT", ".", start, start + 1)
        digits = _DIGITS.match(self.text, start + 1)
        assert digits is not None
        return self.integer(digits[0], start + 1, digits.end(), 10)

    def lex_number(self, start: int) -> int:
        """Lex a number that is not a plain decimal Int."""
        prefixed = _RADIX.match(self.text, start)
        if prefixed:
            radix = {"x": 16, "o": 8, "b": 2}[prefixed[0][1].lower()]
            return self.integer(prefixed[0][2:], start, prefixed.end(), radix)
        decimal = _DECIMAL.match(self.text, start)
        assert decimal is not None
        if decimal[1] is None and decimal[2] is None:
            return self.integer(decimal[0], start, decimal.end(), 10)
        end = self.refuse_touching(start, decimal.end())
        value = float(decimal[0].replace("_", ""))
        if value == inf:
            literal = decimal[0] if len(decimal[0]) <= 40 else decimal[0][:39] + "…"
            message = f"float literal `{literal}` is out of range: the largest Float is {LARGEST}"
            self.error("E0010", start, end, message, FLOAT_HELP)
            value = 0.0
        self.tokens.add("FLOAT", value, start, end)
        return end

    def shortened(self, start: int, end: int) -> str:
        """Return the source between two offsets, at most 40 characters of it."""
        return self.text[start:end] if end - start <= 40 else self.text[start : start + 39] + "…"

    def integer(self, digits: str, start: int, end: int, radix: int) -> int:
        """Add an INT token for the digits between `start` and `end`; return the offset behind it and what touches it."""
        digits = digits.replace("_", "")
        full_end = self.refuse_touching(start, end)
        if not digits and full_end == end:
            message = f"malformed number `{self.text[start:end]}`: it has no digit"
            self.error("E0009", start, end, message, "write digits behind the prefix, such as `0x1F`")
        value = self.value_of(digits, radix) if full_end == end else 0
        # 2^63 may stand under unary minus; the grammar's actions know whether it does.
        if value > INT_LIMIT or (value == INT_LIMIT and radix != 10):
            literal = self.shortened(start, end)
            message = f"integer literal `{literal}` is out of range: the limit is {INT_LIMIT - 1}"
            self.error("E0010", start, end, message, INT_HELP)
            value = 0
        self.tokens.add("INT", value, start, full_end)
        return full_end

    def value_of(self, digits: str, radix: int) -> int:
        """Return the value of the digits, or something above INT_LIMIT for what is beyond every limit."""
        significant = digits.lstrip("0")
        if len(significant) > 64:  # beyond every limit; Python refuses to convert very long decimal texts
            return INT_LIMIT + 1
        return int(significant or "0", radix)

    def refuse_touching(self, start: int, end: int) -> int:
        """Report E0009 if letters or digits follow a number directly; return the offset behind them."""
        touching = _TOUCHING.match(self.text, end)
        if touching is None:
            return end
        text = self.text[start : touching.end()]
        message = f"malformed number `{text if len(text) <= 40 else text[:39] + '…'}`"
        suffixed = _SUFFIXED.fullmatch(text)
        help = f"write `{suffixed[1]}`" if suffixed is not None else "numbers are written `1_000`, `0x1F`, `1.5e3`"
        if _DURATION.fullmatch(text):
            help = f'a time with its unit is a text: `"{text}"`'
        self.error("E0009", start, touching.end(), message, help)
        return touching.end()

    # ------------------------------------------------------------ strings and labels

    def lex_raw(self, start: int) -> int:
        """Lex `r#"…"#`: no escapes, no holes, ended by as many `#`."""
        opening_hashes = _HASHES.match(self.text, start + 1)
        assert opening_hashes is not None
        hashes, at = opening_hashes[0], opening_hashes.end()
        if not self.text.startswith('"', at):
            form = f'a raw string is r{hashes}"…"{hashes}'
            self.error("E0012", start, at, f"`r{hashes}` is not followed by `\"`", form)
            return at
        # No escapes and no holes: the text ends at the first quote with as many `#`.
        end = self.text.find('"' + hashes, at + 1)
        if end < 0:
            message = f"unterminated raw string: `\"` and {len(hashes)} `#` needed to close it"
            self.error("E0005", start, at + 1, message, f'close it with `"{hashes}`')
            end = at = len(self.text)
        full_end = min(end + 1 + len(hashes), len(self.text))
        self.tokens.add("STRING", self.text[at + 1 : end].replace("\r\n", "\n"), start, full_end)
        return full_end

    def lex_quote(self, start: int) -> int:
        """Lex a label or the beginning of a string."""
        if self.text[start] == "'":
            label = self.label(start)
            if label:
                self.tokens.add("LABEL", label, start, start + 1 + len(label))
                return start + 1 + len(label)
        delimiter = '"""' if self.text.startswith('"""', start) else self.text[start]
        return self.string_text(_Open(delimiter, start, [], self.depth), start, start + len(delimiter))

    def label(self, start: int) -> str | None:
        """Return the name if `'` at `start` begins a label (L-1.6.1), None if it begins a string."""
        name = _LABEL_NAME.match(self.text, start)
        if name is None:
            return None
        end = name.end()
        types = self.tokens.types
        if types and types[-1] in ("BREAK", "CONTINUE") and not self.text.startswith("'", end):
            return name[1]
        colon = _LABEL_TAIL.match(self.text, end)
        if colon is None:
            return None
        # `'a: while` is a label for certain; else another `'` on the line makes it a string.
        if _LOOP_WORD.match(self.text, colon.end()):
            return name[1]
        return None if self.quote_follows(colon.end()) else name[1]

    def quote_follows(self, at: int) -> bool:
        """Return whether a `'` stands between `at` and the end of its line. A line is searched once, for its last one."""
        if not self.line.start <= at < self.line.stop:
            self.line = range(at, self.line_end(at) + 1)
            self.last_quote = self.text.rfind("'", at, self.line.stop)
        return self.last_quote >= at

    def string_text(self, string: _Open, token_start: int, at: int) -> int:
        """Lex literal text from the offset `at` to the closing delimiter or the next hole. `token_start` is where the token
        begins."""
        text, search, piece = self.text, _TEXT_END[string.delimiter].search, at
        while True:
            special = search(text, at)
            if special is None:
                if not self.open:
                    self.unterminated(string.delimiter, string.start)
                return self.close_string(string, token_start, piece, len(text), len(text))
            stop = special[0]
            if stop[0] == "\\" and stop != "\\\n":
                at = special.end()
            elif stop == "${":
                return self.open_hole(string, token_start, piece, special.start())
            elif stop == string.delimiter:
                return self.close_string(string, token_start, piece, special.start(), special.end())
            # A backslash before a line end is an escape, an unknown one, in a multi-line string only; elsewhere the line end
            # counts.
            elif stop[0] == "\\" and string.delimiter == '"""':
                at = special.end()
            else:
                end = special.start() + len(stop) - 1
                # from its opening quote, unless a hole of several lines lies between
                start = string.start if self.source.position(string.start).line == self.source.position(end).line else end
                help = 'close it, write `\\n`, or use `"""`'
                self.error("E0004", start, max(end, start + 1), "line end in a one-line string", help)
                text_end = special.start() - (text[special.start() - 1] == "\r")
                return self.close_string(string, token_start, piece, max(piece, text_end), end)

    def unterminated(self, delimiter: str, start: int) -> None:
        where = self.source.position(start)
        self.error(
            "E0003",
            start,
            start + len(delimiter),
            f"unterminated string, opened at {where.line}:{where.column}",
            f"close it with `{delimiter}`",
        )

    def open_hole(self, string: _Open, token_start: int, piece: int, end: int) -> int:
        """End the literal piece at `${` and begin the tokens of the hole."""
        row = len(self.tokens)
        self.tokens.add("ISTR_MID" if string.pieces else "ISTR_START", "", token_start, end + 2)
        string.pieces.append((row, piece, end))
        # Braces are counted anew in the hole, so that its own `}` is recognised.
        self.open.append(string._replace(outer_depth=self.depth))
        self.depth = 0
        return end + 2

    def resume_string(self, start: int) -> int:
        """Go on with the literal text behind the `}` of a hole."""
        string = self.open.pop()
        self.depth = string.outer_depth
        if len(self.tokens) == string.pieces[-1][0] + 1:
            hole = self.tokens.ends[-1] - 2
            self.error("E0011", hole, start + 1, "empty `${}`", r"write `\$` for a dollar sign")
        return self.string_text(string, start, start + 1)

    def close_string(self, string: _Open, token_start: int, piece: int, text_end: int, end: int) -> int:
        """Add the last token of a string, and give all its tokens their decoded text."""
        row = len(self.tokens)
        self.tokens.add("ISTR_END" if string.pieces else "STRING", "", token_start, end)
        string.pieces.append((row, piece, text_end))
        texts = [self.text[begin:stop] for _, begin, stop in string.pieces]
        if string.delimiter == '"""':
            self.check_escapes(string, texts)
            # Escapes were reported where they stand in the source; after trimming their places would be others.
            texts = [decode_escapes(text, _ignore) for text in trim_pieces(texts)]
        else:
            texts = self.check_escapes(string, texts)
        for (at, _, _), text in zip(string.pieces, texts, strict=True):
            self.tokens.values[at] = text
        return end

    def check_escapes(self, string: _Open, texts: list[str]) -> list[str]:
        """Return the decoded pieces; bad escapes are reported at their place in the source."""
        decoded = []
        # `r"…"` without `#` is written for a raw string, whose form the help then shows.
        raw = _RAW_WORD.search(self.text[max(0, string.start - 2) : string.start]) is not None
        for (_, begin, _), text in zip(string.pieces, texts, strict=True):

            def report(code: str, start: int, end: int, message: str, help: str, at: int = begin) -> None:
                self.error(code, at + start, at + end, message, RAW_FORM if raw and code == "E0007" else help)

            decoded.append(decode_escapes(text, report))
        return decoded


def _ignore(code: str, start: int, end: int, message: str, help: str) -> None:
    """Report nothing: escapes of multi-line strings were checked before trimming moved them."""
