"""Programs that grow entry by entry: what `concerto repl` compiles (O-9.20).

Hands on to `cli/repl.py` `Transcript`, whose `compile` returns an `Entry` and whose `accept` makes it part of the program;
FUNCTION, the name of the function to call; and `needs_more` and `completed` for the prompt. An entry is items, or statements
with perhaps a final expression. Items join the program of all later entries; statements become the body of a function that
takes the variables of earlier entries and returns all of them. Positions are those of the transcript: each entry begins at the
line its prompt shows. Running an entry and talking to a terminal are for `cli/repl.py`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from .diagnostics import Diagnostic, Diagnostics
from .pipeline import Compilation, compile_source
from .source import Source, Span
from .symbols import Local
from .syntax import ast
from .syntax.lexer import lex
from .syntax.parse import parse
from .types import NEVER, NIL, Type

FILE = "repl"
FUNCTION = "entry"
VALUE = "value_of_the_entry"
HEAD = "fn f() {"  # around statements, so that the grammar takes them
NEEDS_MORE = ("E0102", "E0003", "E0005", "E0006")  # an open bracket, string or comment
UNUSED = ("W0001", "W0002", "W0011")  # a later entry may use it
# These give nil, and read as statements rather than as values.
STATEMENTS = (ast.For, ast.While, ast.Loop, ast.Assign)


@dataclass(slots=True)
class Variable:
    """A variable of an earlier entry; `type` as source writes it."""

    name: str
    type: str
    mutable: bool


@dataclass(slots=True)
class Piece:
    """An accepted item: the words that tell it from others, and the character offsets at which it stands in the transcript."""

    key: str
    start: int
    end: int


@dataclass(slots=True)
class Entry:
    """One compiled entry. `compilation.image` is None after errors; `diagnostics` and `sources` have the positions of the
    transcript. The function of an entry of `statements` returns `Ok([value, *variables])`; `type` is the type of its value,
    None when it has none to show."""

    compilation: Compilation
    diagnostics: list[Diagnostic]
    sources: dict[str, Source]
    statements: bool
    type: Type | None = None
    variables: list[Variable] = field(default_factory=list)


@dataclass(slots=True)
class Insertion:
    """Text of the compiler in front of what the user wrote at `offset` of the entry."""

    offset: int
    text: str


class Transcript:
    """All entries so far, and of them the items and variables that later ones see."""

    def __init__(self) -> None:
        self.pieces: list[Piece] = []
        self.variables: list[Variable] = []
        self.text = ""
        self._inserted: dict[int, list[tuple[int, int]]] = {}

    def compile(self, text: str) -> Entry:
        """Return the program that runs this entry, or its errors. Nothing is accepted yet, and nothing is raised for a wrong
        entry."""
        items = self._items(text)
        if items is not None:
            return self._entry(self._without(items), text, [])
        broken = self._syntax(text)
        if broken is not None:
            return broken
        insertions, tail = self._around(text)
        return self._statements(text, insertions, tail)

    def accept(self, text: str, entry: Entry) -> list[str]:
        """Make an entry that was compiled from `text` without errors part of the transcript. Return the names of variables that
        it forgets, since their type was declared anew."""
        forgotten: list[str] = []
        if entry.statements:
            self.variables = entry.variables
        else:
            items = self._items(text) or []
            words = {piece.key.rpartition(" ")[2] for piece in items}
            forgotten = [v.name for v in self.variables if words & set(_words(v.type))]
            self.variables = [v for v in self.variables if v.name not in forgotten]
            self.pieces = [*self._without(items), *items]
        self.skip(text)
        return forgotten

    def skip(self, text: str) -> None:
        """Go on behind an entry, accepted or not: its lines are counted."""
        self.text += text + "\n"

    @property
    def line(self) -> int:
        """The line, from 1, at which the next entry begins."""
        return self.text.count("\n") + 1

    def position(self, line: int, column: int) -> tuple[int, int]:
        """Return the line and column, both from 1, at which the user sees a position of the compiled text: the column without
        the text of the compiler before it."""
        return line, column - sum(min(length, max(0, column - at)) for at, length in self._inserted.get(line, ()))

    def _items(self, text: str) -> list[Piece] | None:
        """Return the items of an entry, or None when it is not a list of items."""
        tree = parse(Source(FILE, text), Diagnostics())
        items = [item for item in tree.items if isinstance(item, ast.Item) and not isinstance(item, ast.ErrorItem)]
        if not items or len(items) < len(tree.items):
            return None
        at = len(self.text)
        return [Piece(_key(item, text), at + item.span.start, at + item.span.end) for item in items]

    def _without(self, items: list[Piece]) -> list[Piece]:
        keys = {piece.key for piece in items}
        return [piece for piece in self.pieces if piece.key not in keys]

    def _syntax(self, text: str) -> Entry | None:
        """Return an entry with the syntax errors of statements, or None if there are none. Errors of brackets are looked
        for without any text of the compiler, the others inside a plain function."""
        alone = self._entry([], text, [])
        unbalanced = [error for error in alone.diagnostics if error.code in NEEDS_MORE]
        if unbalanced:
            return replace(alone, diagnostics=unbalanced, statements=True)
        around = [Insertion(0, f"fn {FUNCTION}() {{ "), Insertion(len(text), "\n}")]
        # Errors that only the real head of the function would cause must not show.
        entry = self._entry([], text, around)
        return replace(entry, statements=True) if entry.compilation.checked is None else None

    def _around(self, text: str) -> tuple[list[Insertion], ast.Expr | None]:
        """Return the text to insert around statements (the head of their function, and what keeps the value of the final
        expression) and that expression, or None."""
        parameters = ", ".join(f"{v.name}: {v.type}" for v in self.variables)
        changeable = "".join(f"let mut {v.name} = {v.name}; " for v in self.variables if v.mutable)
        head = f"async fn {FUNCTION}({parameters}) -> Result<Array<Any>, Error> {{ {changeable}"
        tree = parse(Source(FILE, f"{HEAD}{text}\n}}"), Diagnostics())
        function = tree.items[0] if tree.items else None
        tail = function.body.result if isinstance(function, ast.Function) and function.body is not None else None
        insertions = [Insertion(0, head)]
        if tail is not None:
            start, end = (at - len(HEAD) for at in (tail.span.start, tail.span.end))
            is_value = not isinstance(tail, STATEMENTS)
            insertions += [Insertion(start, f"let {VALUE} = ")] * is_value + [Insertion(end, ";")]
            tail = tail if is_value else None
        return insertions, tail

    def _statements(self, text: str, insertions: list[Insertion], tail: ast.Expr | None) -> Entry:
        """Compile twice: the first time yields the variables and their types, the second time the function returns their
        values."""
        first = self._entry(self.pieces, text, [*insertions, Insertion(len(text), "\n Ok([]) }")])
        body = _body(first.compilation)
        if body is None or first.compilation.diagnostics.has_errors:
            return replace(first, statements=True)
        new = _variables(body)
        # The name of the final expression's value is the compiler's own.
        value = new.pop(VALUE, None)
        variables = [*(v for v in self.variables if v.name not in new), *map(_variable, new.values())]
        names = ", ".join([VALUE if tail is not None else "nil", *(v.name for v in variables)])
        entry = self._entry(self.pieces, text, [*insertions, Insertion(len(text), f"\n Ok([{names}]) }}")])
        shown_type = None if value is None or value.type in (NIL, NEVER) else value.type
        return replace(entry, statements=True, type=shown_type, variables=variables)

    def _entry(self, pieces: list[Piece], text: str, insertions: list[Insertion]) -> Entry:
        before = _only(pieces, self.text)
        self._remember(text, insertions)
        source = before + _with(text, insertions)
        compilation = compile_source(source.encode("utf-8", "surrogatepass"), FILE)
        plain = Source(FILE, before + text + "\n")
        back = _Back(len(before), insertions, len(before) + len(text))
        mapped = [back.diagnostic(d) for d in compilation.diagnostics.ordered() if d.code not in UNUSED]
        visible = [d for d in mapped if d.is_error or d.span.start < d.span.end]  # warnings of inserted text point nowhere
        return Entry(compilation, visible, {FILE: plain}, False)

    def _remember(self, text: str, insertions: list[Insertion]) -> None:
        """Keep the columns at which inserted text stands in the compiled lines, for positions of panics."""
        for at in range(self.line, self.line + text.count("\n") + 1):
            self._inserted.pop(at, None)
        shift: dict[int, int] = {}
        for insertion in insertions:
            line = self.line + text.count("\n", 0, insertion.offset)
            column = insertion.offset - (text.rfind("\n", 0, insertion.offset) + 1) + 1 + shift.get(line, 0)
            self._inserted.setdefault(line, []).append((column, len(insertion.text)))
            shift[line] = shift.get(line, 0) + len(insertion.text)


class _Back:
    """Maps offsets of the compiled text to those of the transcript."""

    def __init__(self, start: int, insertions: list[Insertion], end: int) -> None:
        self.start = start
        self.insertions = insertions
        self.end = end

    def offset(self, at: int) -> int:
        """Return the offset in the transcript for one in the compiled text; inserted text becomes the place where it was
        inserted."""
        moved = 0
        for insertion in self.insertions:
            begins = self.start + insertion.offset + moved
            # Offsets behind an insertion move back by its length, those inside it to its beginning.
            if at >= begins:
                moved += min(len(insertion.text), at - begins)
        return min(at - moved, self.end)

    def span(self, span: Span) -> Span:
        return Span(span.file, self.offset(span.start), self.offset(span.end))

    def diagnostic(self, original: Diagnostic) -> Diagnostic:
        related = tuple(replace(other, span=self.span(other.span)) for other in original.related)
        span = self.span(original.span)
        # the bracket that closes our function is nothing the user wrote
        message = original.message.replace(f"`{VALUE}`", "the value")
        if span.start == self.end:
            message = message.replace("unexpected `}`", "unexpected end of the entry")
        help = None if original.help is None else original.help.replace(VALUE, "x")
        return replace(original, message=message, help=help, span=span, related=related)


def needs_more(text: str) -> bool:
    """Return whether the user is still typing: something opened in the text is not closed, or its end is the first place
    where something is missing."""
    errors = _syntax_errors(f"{HEAD}{text}\n}}")
    if any(d.code in NEEDS_MORE for d in errors):
        return True
    return bool(errors) and errors[0].span.start > len(HEAD) + len(text) and completed(text) == text


def completed(text: str) -> str:
    """Return the text with the `;` that alone is missing at its end, or the text itself."""
    if not text.strip() or not _syntax_errors(f"{HEAD}{text}\n}}") or not _syntax_errors(text):
        return text
    # The last token but END, so that a comment behind it stays behind the `;`.
    last = lex(Source(FILE, text), Diagnostics()).ends[-2:]
    end = last[0] if len(last) == 2 else len(text)
    longer = f"{text[:end]};{text[end:]}"
    return text if _syntax_errors(f"{HEAD}{longer}\n}}") and _syntax_errors(longer) else longer


def _syntax_errors(source: str) -> list[Diagnostic]:
    diagnostics = Diagnostics()
    parse(Source(FILE, source), diagnostics)
    return diagnostics.ordered()


def _body(compilation: Compilation) -> ast.Block | None:
    items = compilation.tree.items if compilation.tree is not None else []
    last = items[-1] if items else None
    return last.body if isinstance(last, ast.Function) else None


def _variables(body: ast.Block) -> dict[str, Local]:
    """Return the variables that the statements of a body declare; of one name the last counts."""
    variables: dict[str, Local] = {}
    for statement in body.statements:
        if isinstance(statement, ast.Let):
            for pattern in _patterns(statement.pattern):
                if isinstance(pattern, ast.BindPattern) and pattern.binding is not None and pattern.constant is None:
                    variables.pop(pattern.name.text, None)
                    variables[pattern.name.text] = pattern.binding
    return variables


def _variable(local: Local) -> Variable:
    return Variable(local.name, _type_as_source(local.type), local.mutable)


def _patterns(node: ast.Node) -> list[ast.Node]:
    return [node, *(inner for child in node.children() for inner in _patterns(child))]


def _type_as_source(type_: Type) -> str:
    """Return a type as source writes it; what nothing has determined yet may become anything."""
    return str(type_).replace("_", "Any") if "_" in _words(str(type_)) else str(type_)


def _words(type_text: str) -> list[str]:
    return "".join(c if c.isalnum() or c == "_" else " " for c in type_text).split()


def _key(item: ast.Item, text: str) -> str:
    """Return what a later item must share to take this one's place: its name, or of an impl or import its whole head."""
    name = getattr(item, "name", None)
    if isinstance(name, ast.Ident):
        return f"name {name.text}"
    return " ".join(text[item.span.start : item.span.end].partition("{")[0].split())


def _only(pieces: list[Piece], text: str) -> str:
    """Return the accepted items where they stand, and white space instead of all else, so that offsets stay."""
    parts, at = [], 0
    for piece in sorted(pieces, key=lambda piece: piece.start):
        # White space keeps lines and columns of what stays.
        parts += [_blank(text[at : piece.start]), text[piece.start : piece.end]]
        at = piece.end
    return "".join([*parts, _blank(text[at:])])


def _blank(text: str) -> str:
    return "\n".join(" " * len(line) for line in text.split("\n"))


def _with(text: str, insertions: list[Insertion]) -> str:
    parts, at = [], 0
    for insertion in insertions:
        parts += [text[at : insertion.offset], insertion.text]
        at = insertion.offset
    return "".join([*parts, text[at:]])
