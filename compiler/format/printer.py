"""The printer: walks the tree and the tokens in step and turns both into layout operations.

A gap is what stands between two tokens: blanks, line ends and comments. Hands on `Printer` and `prints`, with which the modules
of the families register what writes their nodes: which tokens follow, and where a line may end. Every token of the source is
written exactly once and in order, so the result has the same tree; only separating commas come and go. Comments are written in
the gap where they stand. Hands on to the package `Printer`, OutOfStep, and `same_tokens` and `first_difference`, with which the
result is checked; to the families the gaps KEEP, APART and JOIN, and COMMA_IF_BROKEN. How a kind of node is written is not known
here.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, TypeVar

from ..source import Source
from ..syntax import ast
from ..syntax.ast import Comment, Nesting
from ..syntax.lexer import TokenList
from .layout import BLANK, DEDENT, END, HARD, INDENT, LINE, SOFT, Begin, Break, IfBroken, Operation, Remark

# Comments between two tokens. The layout depends on them only through the three kinds below, and a comment is written so
# that it keeps its kind and the tokens it stands between: that is why formatting twice changes nothing.

INLINE = "inline"  # a token or another comment follows on its last line
TRAILING = "trailing"  # at the end of a line that something else begins
OWN_LINE = "own line"

_CLOSERS = (")", "]", "}")


class Trivia(NamedTuple):
    """A comment as the layout sees it: its text, one of the three kinds, and whether a blank line stands between it and
    what precedes it."""

    text: str
    kind: str
    blank_before: bool

    @property
    def is_doc(self) -> bool:
        """Return whether the comment may be documentation of what follows."""
        return self.kind == OWN_LINE and _has_form_of_doc(self.text)

    def text_on_own_line(self) -> str:
        """Return the text for a line of its own; `///` behind code is `//` there, since it is no documentation (L-1.2.2)."""
        return self.text[1:] if self.kind != OWN_LINE and _has_form_of_doc(self.text) else self.text


def _has_form_of_doc(text: str) -> bool:
    return text.startswith("///") and not text.startswith("////")


class TriviaReader:
    """The comments of a file, handed out gap by gap."""

    __slots__ = ("text", "comments", "at", "next_start")

    def __init__(self, text: str, comments: Sequence[Comment]) -> None:
        self.text = text
        self.comments = comments
        self.at = 0
        self.next_start = 0
        self.skip(0)

    def skip(self, end: int) -> None:
        """Leave out the comments that begin before the offset `end`: they are part of a string."""
        comments, at = self.comments, self.at
        while at < len(comments) and comments[at].span.start < end:
            at += 1
        self.at = at
        self.next_start = comments[at].span.start if at < len(comments) else len(self.text) + 1

    def between(self, start: int, end: int) -> list[Trivia]:
        """Return the comments of the gap from one offset to another; they are not handed out again."""
        first = self.at
        self.skip(end)
        comments = self.comments[first : self.at]
        trivia, previous_end = [], start
        for at, comment in enumerate(comments):
            following = comments[at + 1].span.start if at + 1 < len(comments) else end
            trivia.append(self._trivia(comment, previous_end, following))
            previous_end = comment.span.end
        return trivia

    def _trivia(self, comment: Comment, previous_end: int, following: int) -> Trivia:
        blank = self.blank_between(previous_end, comment.span.start)
        text = comment.text
        if not text.startswith("///"):  # blanks at the end of a documentation line belong to the documentation
            text = text.rstrip()
        ends_line = text.startswith(("//", "#!")) or "\n" in self.text[comment.span.end : following]
        if comment.own_line and self.text[following : following + 1] in _CLOSERS:
            ends_line = True
        if not ends_line and following < len(self.text):
            return Trivia(text, INLINE, blank)
        return Trivia(text, OWN_LINE if comment.own_line else TRAILING, blank)

    def blank_between(self, start: int, end: int) -> bool:
        """Return whether a blank line stands between two offsets."""
        return self.text.count("\n", start, end) > 1


# Gaps that the layout engine need not know, since they become others where they are used.
KEEP = Break(newlines=1)  # a line end, and a blank line if the source has one
APART = Break(newlines=2)  # one blank line, before or after the comments as the source has it
JOIN = Break(" ")  # a blank; if a comment ends the line here, the next line is not indented further

COMMA_IF_BROKEN = IfBroken(",")
_LINE_END = re.compile(r"[ \t\r\f]*\n")

Show = Callable[..., int | None]
T = TypeVar("T")
S = TypeVar("S", bound=Show)

# By class of node, what writes it; filled when the families are imported.
PRINTERS: dict[type[ast.Node], Show] = {}


def prints(*kinds: type[ast.Node]) -> Callable[[S], S]:
    """Return a decorator that registers what writes nodes of these kinds: a function of printer and node.

    The function writes every token of its node, in order, with the methods of the printer. It returns a place in
    `Printer.operations`: the one behind the bracket of the node's last list, if the node may stand open at the end of an
    argument list (`f(a, |x| {`), or else 0 or nothing.
    """

    def register(show: S) -> S:
        for kind in kinds:
            PRINTERS[kind] = show
        return show

    return register


class OutOfStep(Exception):
    """Tree and tokens disagree: a defect of the formatter. Nothing has been written."""


class Printer:
    """The printing of one source. A family's functions call its methods in the order of the tokens; `pending` is what goes
    into the next gap. Methods that write a token raise OutOfStep where another one stands in the source, but for commas, which
    come and go. `operations` is what was written so far; `previous_end` is where the token written last ends, `trivia` hands out
    the comments. Offsets are characters of the source."""

    def __init__(self, source: Source, tokens: TokenList) -> None:
        self.text = source.text
        self.types = tokens.types
        self.starts = tokens.starts
        self.ends = tokens.ends
        self.trivia = TriviaReader(source.text, tokens.comments)
        self.operations: list[Operation] = []
        self.row = 0  # the token of the source that is written next
        self.used = 0  # columns of the token at `self.row` that are written already: `>=` and `??` may be two tokens
        self.previous_end = 0
        self.pending: Break | str | None = None  # what goes into the next gap
        self.closing = False  # the next gap ends an indentation
        self.in_last_call = 0  # the place in `operations` behind the `(` of the call written last
        self.carried: list[Trivia] = []  # comments moved behind a separator
        self.nesting = Nesting()

    # ------------------------------------------------------------ nodes

    def node(self, node: ast.Node) -> int:
        """Write a node. Return the place in `operations` that `prints` describes, or 0. KeyError for a class of node that no
        family has registered."""
        return self.nesting.call(PRINTERS[type(node)], self, node) or 0

    # ------------------------------------------------------------ tokens

    def token(self, expected: str) -> None:
        """Write the next token, which has to be this one; else raise OutOfStep."""
        self.gap()
        start = self.starts[self.row] + self.used
        if not self.text.startswith(expected, start):
            raise OutOfStep(f"`{expected}` is not what stands at offset {start}")
        self.operations.append(expected)
        self.advance(start + len(expected))

    def advance(self, end: int) -> None:
        """Go on behind the offset `end`, which may lie within a token."""
        self.previous_end = end
        # `>=` and `??` may be two tokens of the grammar but are one of the lexer.
        if end < self.ends[self.row]:
            self.used = end - self.starts[self.row]
        else:
            self.row += 1
            self.used = 0

    def name(self, node: ast.Ident) -> None:
        """Write a name; raise OutOfStep if another token stands there."""
        if self.starts[self.row] != node.span.start:
            raise OutOfStep(f"name `{node.text}` is not what stands at offset {self.starts[self.row]}")
        self.token(self.text[node.span.start : node.span.end])

    def verbatim(self, node: ast.Node) -> None:
        """Write the source text of a node, such as a string, with all that is in it. Raise OutOfStep if it does not begin at the
        next token."""
        self.gap()
        start, end = node.span.start, node.span.end
        if self.starts[self.row] != start:
            raise OutOfStep(f"{type(node).__name__} does not begin at offset {self.starts[self.row]}")
        self.operations.append(self.text[start:end])
        # The tokens of a string's holes lie inside it and are written with it.
        while self.starts[self.row] < end:
            self.row += 1
        self.trivia.skip(end)
        self.previous_end = end

    def spaced(self, text: str) -> None:
        """Write a token between blanks."""
        self.pending = " "
        self.token(text)
        self.pending = " "

    def next_is(self, text: str) -> bool:
        """Return whether the next token begins with this text."""
        return self.text.startswith(text, self.starts[self.row] + self.used)

    def next_start(self) -> int:
        """Return the offset at which the next token begins, also where a part of it is written already."""
        return self.starts[self.row]

    # ------------------------------------------------------------ gaps

    def gap(self) -> None:
        """Write what belongs between the last token and the next one. A second call changes nothing."""
        start = self.starts[self.row]
        if self.carried or self.trivia.next_start < start:
            comments = self.carried + self.trivia.between(self.previous_end, start)
            self.carried = []
            self.gap_with(comments, start)
        else:
            pending = self.pending
            if self.closing:
                self.operations.append(DEDENT)
            if pending is KEEP:
                # Several blank lines become one.
                pending = BLANK if self.trivia.blank_between(self.previous_end, start) else HARD
            if pending is not None:
                self.operations.append(" " if pending is JOIN else pending)
        self.pending = None
        self.closing = False

    def gap_with(self, comments: Sequence[Trivia], next_start: int) -> None:
        """Write a gap with these comments; the next token begins at the offset `next_start`."""
        Gap(self.operations, self.pending, self.closing).write(
            comments, self.trivia.blank_between(self.gap_end(), next_start)
        )

    def gap_end(self) -> int:
        """Return the offset at which the last comment handed out, or the last token written, ends: the later of both."""
        last = self.trivia.at - 1
        end = self.trivia.comments[last].span.end if last >= 0 else 0
        return max(end, self.previous_end)

    # ------------------------------------------------------------ separators

    def separator(self, text: str, written: str | IfBroken | None) -> None:
        """Read the `,` or `;`, which is `text`, that may stand next in the source, and write `written` in its place (nothing for
        None), also where the source has none. Comments before it go behind it, but for those in the middle of a line and, where
        one has the form of documentation, all of them."""
        operations = self.operations
        if not self.next_is(text):
            if written is not None:
                if operations[-3:] == ["?", " ", "?"]:
                    del operations[-2]  # the blank kept `? ?` from being `??`, which no operand follows any more
                operations.append(written)
            return
        start = self.starts[self.row]
        if self.trivia.next_start < start:
            comments = self.trivia.between(self.previous_end, start)
            if written is not None and any(comment.is_doc for comment in comments):
                # moved behind the separator it would document what follows
                Gap(operations, None, False).write(comments, False)
            else:
                inline = 0
                # Comments in the middle of a line stay before the separator, where they were.
                while inline < len(comments) and comments[inline].kind == INLINE and written is not None:
                    operations.append(" " + comments[inline].text)
                    inline += 1
                self.carried = comments[inline:]
        if written is not None:
            operations.append(written)
        self.advance(start + len(text))

    def comma(self) -> None:
        """Write a comma, whether the source has one or not."""
        self.separator(",", ",")

    def next_item(self) -> None:
        """Write the comma between two items; a line may end behind it."""
        self.comma()
        self.pending = LINE

    def semicolon(self) -> None:
        """Write the `;` that has to follow. Raise OutOfStep if it does not."""
        if not self.next_is(";"):
            raise OutOfStep(f"`;` is not what stands at offset {self.next_start()}")
        self.separator(";", ";")

    # ------------------------------------------------------------ groups

    def begin(self, *, filled: bool = False) -> Begin:
        """Begin a group with the next token; return it for `end`. A `filled` one ends only the lines that are full."""
        self.gap()
        group = Begin(len(self.operations), filled)
        self.operations.append(group)
        return group

    def end(self, group: Begin) -> None:
        """End a group behind the last token."""
        group.end = len(self.operations)
        self.operations.append(END)

    def begin_here(self) -> Begin:
        """Begin a group behind the last token, so that the next gap belongs to it; return it for `end`."""
        group = Begin(len(self.operations), False)
        self.operations.append(group)
        return group

    def indent(self) -> None:
        """Begin an indentation at the next line end."""
        self.operations.append(INDENT)

    def dedent(self) -> None:
        """End the indentation that `indent` began."""
        self.operations.append(DEDENT)

    # ------------------------------------------------------------ brackets

    def bracketed(
        self, opening: str, items: Sequence[T], closing: str, show: Callable[[T], int | None],
        last: str | IfBroken = COMMA_IF_BROKEN,
    ) -> int:  # fmt: skip
        """Write a list on one line, or with one line for each item; `show` writes an item, `last` stands behind the last
        one. Return the place in `operations` behind the opening bracket, 0 for an empty list without a comment."""
        self.token(opening)
        inside = len(self.operations)
        # Empty brackets stay together, unless a comment stands in them.
        if not items and not self.comment_follows():
            self.token(closing)
            return 0
        group = self.begin_inside()
        self.listed(items, show, SOFT, LINE, last)
        self.close(SOFT, closing, group)
        return inside

    def begin_inside(self) -> Begin:
        """Begin a group behind an opening bracket, with its indentation; return it for `close`."""
        group = Begin(len(self.operations), False)
        self.operations += (group, INDENT)
        return group

    def listed(
        self, items: Sequence[T], show: Callable[[T], int | None], first: Break, between: Break, last: str | IfBroken
    ) -> int:
        """Write items with commas, each by `show`: `first` is the gap before them, `between` the one behind each comma, `last`
        what stands behind the last item. Return what `show` returned for the last one, or 0."""
        self.pending = first
        count = len(items)
        hug_row: int | None = 0
        for at, item in enumerate(items, 1):
            hug_row = show(item)
            if at < count:
                self.comma()
                self.pending = between
        if items:
            self.separator(",", last)
        return hug_row or 0

    def close(self, gap: Break, closing: str, group: Begin | None) -> None:
        """Write a closing bracket behind `gap`, where the indentation ends, and end its group, None for none."""
        self.pending, self.closing = gap, True
        self.token(closing)
        if group is not None:
            self.end(group)

    def comment_follows(self) -> bool:
        """Return whether a comment stands before the next token."""
        return bool(self.carried) or self.trivia.next_start < self.starts[self.row]

    # ------------------------------------------------------------ braces

    def opens_line(self, brace: int) -> bool:
        """Return whether the `{` at this offset ends its line: such a body stays expanded, whatever its width."""
        return _LINE_END.match(self.text, brace + 1) is not None

    def braced(self, members: Sequence[T], show: Callable[[T], int | None], *, expanded: bool = False) -> int:
        """Write a body whose members have commas behind them, written by `show`; one that is `expanded`, here or in the source,
        has a line for each. Return the place in `operations` behind `{`, 0 for an empty body without a comment."""
        expanded = expanded or self.opens_line(self.next_start())
        self.token("{")
        inside = len(self.operations)
        if not members and not self.comment_follows():
            self.token("}")
            return 0
        group = self.begin_inside()
        # Expanded bodies keep the blank lines that the source has.
        first, between = (HARD, KEEP) if expanded else (LINE, LINE)
        self.listed(members, show, first, between, COMMA_IF_BROKEN)
        self.close(first, "}", group)
        return inside

    def expanded(self, members: Sequence[T], show: Callable[[T], object], gap: Callable[[T, T], Break]) -> None:
        """Write a body with members on lines of their own, which end themselves; `gap` returns what stands between two of
        them."""
        self.token("{")
        if not members and not self.comment_follows():
            self.token("}")
            return
        self.indent()
        self.pending = HARD
        for at, member in enumerate(members):
            if at:
                self.pending = gap(members[at - 1], member)
            show(member)
        self.close(HARD, "}", None)


class Gap:
    """The writing of one gap that may hold comments, at the end of `operations`. `pending` is what belongs into it, None for
    nothing; `closing`: an indentation ends in it."""

    def __init__(self, operations: list[Operation], pending: Break | str | None, closing: bool) -> None:
        self.operations = operations
        self.closing = closing
        self.pending = pending
        self.is_break = isinstance(pending, Break) and pending is not JOIN
        self.in_body = pending in (KEEP, APART, HARD)  # between members that have lines of their own
        self.continued = False  # a line has ended where none should: what follows is indented further
        self.has_ended_line = False  # in this gap
        self.ended = False  # the last comment ends its line
        self.inline = False  # the last comment needs a blank behind it

    def write(self, comments: Sequence[Trivia], blank_at_end: bool) -> None:
        """Write the comments. `blank_at_end`: a blank line stands between the last of them and the next token."""
        apart = self.pending is APART and not blank_at_end and not any(comment.blank_before for comment in comments)
        behind_doc = False
        for comment in comments:
            if comment.kind == INLINE:
                self.write_inline(comment, apart)
            elif comment.kind == TRAILING and not self.ended:
                # a block comment counts for the width here too, since it does so where something follows it
                text = " " + comment.text
                self.operations.append(text if comment.text.startswith("/*") else Remark(text))
                self.ended = True
            else:
                # Lines in front of a blank one are no part of the documentation behind it: together they would be.
                cut = behind_doc and comment.is_doc and comment.blank_before
                self.line_end(comment.blank_before or apart and not self.has_ended_line, always=cut)
                self.operations.append(Remark(comment.text_on_own_line()))
                self.ended, self.inline = True, False
            behind_doc = comment.is_doc
        self.finish(blank_at_end or apart and not self.has_ended_line)

    def write_inline(self, comment: Trivia, apart: bool) -> None:
        """Write a comment that something follows on its line."""
        operations = self.operations
        if self.ended:
            self.line_end(comment.blank_before)
            operations.append(comment.text)
        elif self.is_break and not self.closing and not self.inline:
            if self.in_body:
                self.line_end(comment.blank_before or apart)
            else:
                operations.append(self.pending)  # type: ignore[arg-type]
            operations.append(comment.text)
        else:
            operations.append(" " + comment.text)
        self.ended, self.inline = False, True

    def line_end(self, blank: bool, always: bool = False) -> None:
        """End the line before a comment or before the next token, with a blank line if `blank` and the place keeps such lines, or
        `always`."""
        first = not self.has_ended_line
        self.has_ended_line = True
        if not self.operations:
            return  # the file begins here
        if first and not self.is_break and self.pending is not JOIN:
            self.operations.append(INDENT)
            self.continued = True
        # No blank line directly behind an opening brace.
        keeps = self.in_body and not (first and self.pending is HARD)
        self.operations.append(BLANK if always or (blank and keeps) else HARD)

    def finish(self, blank: bool) -> None:
        """Write what stands between the last comment and the next token."""
        if self.closing:
            self.operations.append(DEDENT)
        if self.ended:
            self.line_end(blank and not self.closing)
        elif self.closing:
            if self.pending is not None:
                self.operations.append(self.pending)
        elif self.inline:
            self.operations.append(" ")
        if self.continued:
            self.operations.append(DEDENT)


# Whether two texts are the same program: equal in everything except where it stands in the file.

# Operators that stand for two where the grammar wants two (L-1.7.2), or are written for two (`| |`).
_HALVES = {"OROR": ("PIPE", "PIPE"), "QQ": ("QUESTION", "QUESTION"), "GE": ("GT", "EQ")}


def same_tokens(left: TokenList, right: TokenList, *, in_any_order: bool = False) -> bool:
    """Return whether two texts have the same tokens, commas apart; `in_any_order`: each as many times, in whichever order."""
    kind = Counter if in_any_order else list
    return kind(_essential(left)) == kind(_essential(right))


def _essential(tokens: TokenList) -> Iterator[tuple[str, str | int | float]]:
    for kind, value in zip(tokens.types, tokens.values, strict=True):
        if kind in _HALVES:
            yield from ((half, "") for half in _HALVES[kind])
        elif kind != "COMMA":
            yield kind, value if kind in ("IDENT", "INT", "FLOAT", "STRING", "LABEL") else ""


# Where a pair of values stands: what holds it, and its name in there. The words are made only for a difference.
_Place = tuple["_Place | None", str]


def first_difference(left: ast.Program, right: ast.Program) -> str | None:
    """Return the first place where the items of two programs differ, in words; None if they are equal. Positions are not
    compared."""
    pending: list[tuple[_Place, object, object]] = [((None, "items"), left.items, right.items)]
    while pending:
        place, one, other = pending.pop()
        if isinstance(one, list) and isinstance(other, list):
            if len(one) != len(other):
                return f"{_words(place)}: {len(one)} and {len(other)} of them"
            parts = [((place, f"[{at}]"), *pair) for at, pair in enumerate(zip(one, other, strict=True))]
            pending.extend(reversed(parts))  # the last one added is looked at next
        elif type(one) is not type(other):
            return f"{_words(place)}: {type(one).__name__} and {type(other).__name__}"
        elif isinstance(one, ast.Node):
            # Fields of annotations are left out: they are empty after parsing.
            names = reversed(_names(type(one)))
            pending.extend(((place, f".{name}"), getattr(one, name), getattr(other, name)) for name in names)
        elif one != other:
            return f"{_words(place)}: {one!r} and {other!r}"
    return None


def _words(place: _Place | None) -> str:
    names = []
    while place is not None:
        place, name = place
        names.append(name)
    return "".join(reversed(names))


def _names(kind: type[ast.Node]) -> tuple[str, ...]:
    """Return the fields that say what a node is: no positions, nothing that a later phase adds. `Pipe.left` stands in
    `applied`."""
    names = _NAMES.get(kind)
    if names is None:
        names = _NAMES[kind] = tuple(name for name in ast.written_names(kind) if name != "span")
    return names


_NAMES: dict[type[ast.Node], tuple[str, ...]] = {}
