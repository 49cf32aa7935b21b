"""Programs that grow entry by entry: what `concerto repl` compiles (O-9.20).

Hands on to `cli/dialogue.py` and the prompt (`cli/repl.py`) `Transcript`, whose `compile` returns an `Entry` and whose `accept`
makes it part of the program; to the first also FUNCTION, the name of the function to call, `parts_of` and `completed`, to the
prompt `needs_more`; to the notebook `Entry` and FILE. An entry is items, or statements with perhaps a final expression. Items
join the program of all later entries; statements become the body of a function that takes the variables of earlier entries and
returns all of them. Items among statements are local to that function, and join the later entries as others do. Variables keep
the types that the checker found for them, which need no spelling (`KnownType`). Positions are those of the transcript: each entry
begins at the line its prompt shows. Running an entry is for `cli/dialogue.py`, talking to a terminal for `cli/repl.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from .checker.relations import close
from .diagnostics import Diagnostic, Diagnostics
from .installed import installed_library
from .pipeline import Compilation, compile_source
from .project import ParsedFile, parse_file
from .source import Source, Span
from .symbols import KnownType, Local
from .syntax import ast
from .syntax.lexer import lex
from .syntax.parse import parse
from .types import NEVER, NIL, Function, Generic, Nilable, Nominal, Tuple, Type

FILE = "repl"  # the name that positions show
FUNCTION = "entry"
VALUE = "value_of_the_entry"  # the variable that keeps the value of the final expression
PIECE = "piece_of_the_value"  # of a stream, which is shown as its text comes
STREAM = "Stream"
HEAD = "fn f() {"  # around statements, so that the grammar takes them
# Codes of diagnostics.
NEEDS_MORE = ("E0102", "E0003", "E0005", "E0006")  # an open bracket, string or comment
UNUSED = ("W0001", "W0002", "W0011")  # a later entry may use it
# These give nil, and read as statements rather than as values.
STATEMENTS = (ast.For, ast.While, ast.Loop, ast.Assign)


@dataclass(slots=True)
class Variable:
    """A variable of an earlier entry."""

    name: str
    type: Type
    mutable: bool


@dataclass(slots=True)
class Piece:
    """An accepted item: the words that tell it from others, and the character offsets at which it stands in the transcript."""

    key: str
    start: int
    end: int


@dataclass(slots=True)
class Entry:
    """One compiled entry: the result of `Transcript.compile`. `compilation.image` is None after errors; `diagnostics` and
    `sources` have the positions of the transcript. The function of an entry of `statements` takes `parameters`, variables of
    earlier entries, and returns `Ok([value, *variables])`, where `variables` are all that later entries have; `type` is the type
    of its value, None when it has none to show. After errors these three may be empty. `items` are those that later entries
    see."""

    compilation: Compilation
    diagnostics: list[Diagnostic]
    sources: dict[str, Source]
    statements: bool
    type: Type | None = None
    parameters: list[Variable] = field(default_factory=list)
    variables: list[Variable] = field(default_factory=list)
    items: list[Piece] = field(default_factory=list)


@dataclass(slots=True)
class Insertion:
    """Text of the compiler in front of what the user wrote at `offset` of the entry."""

    offset: int
    text: str


class Transcript:
    """All entries so far, accepted or not (`text`, each with a line end behind it), and of them the items (`pieces`) and
    `variables` that later ones see."""

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
            return replace(self._entry(self._without(items), text, []), items=items)
        broken = self._syntax(text)
        if broken is not None:
            return broken
        source = f"{HEAD}{text}\n}}"
        body = _last_body(parse(Source(FILE, source), Diagnostics()))
        assert body is not None, "errors of syntax have been looked for"
        local = [statement.item for statement in body.statements if isinstance(statement, ast.ItemStmt)]
        items = self._pieces(local, source, len(HEAD))
        parameters = self._remaining(items, text)
        insertions, tail = _around(body.result, parameters)
        return replace(self._statements(text, insertions, tail, parameters, self._without(items)), items=items)

    def accept(self, text: str, entry: Entry) -> list[str]:
        """Make an entry that was compiled from `text` without errors part of the transcript. Return the names of variables that
        it forgets, since their type was declared anew."""
        remaining = self._remaining(entry.items, text)
        forgotten = [variable.name for variable in self.variables if variable not in remaining]
        self.variables = entry.variables if entry.statements else remaining
        self.pieces = [*self._without(entry.items), *entry.items]
        self.skip(text)
        return forgotten

    def skip(self, text: str) -> None:
        """Go on behind an entry, accepted or not: its lines are counted."""
        self.text += text + "\n"

    @property
    def line(self) -> int:
        """Return the line, from 1, at which the next entry begins."""
        return self.text.count("\n") + 1

    def position(self, line: int, column: int) -> tuple[int, int]:
        """Return the line and column, both from 1, at which the user sees a position of the compiled text: the column without
        the text of the compiler before it."""
        return line, column - sum(min(length, max(0, column - at)) for at, length in self._inserted.get(line, ()))

    def _items(self, text: str) -> list[Piece] | None:
        """Return the items of an entry, or None when it is not a list of items."""
        tree = parse(Source(FILE, text), Diagnostics())
        items = [item for item in tree.items if isinstance(item, ast.Item) and not isinstance(item, ast.ErrorItem)]
        return None if not items or len(items) < len(tree.items) else self._pieces(items, text, 0)

    def _pieces(self, items: Sequence[ast.Item], source: str, begins: int) -> list[Piece]:
        """Return items as they will stand in the transcript; they are parsed from `source`, in which the entry begins at an
        offset."""
        at = len(self.text) - begins
        return [Piece(_key(item, source), at + item.span.start, at + item.span.end) for item in items]

    def _remaining(self, items: list[Piece], text: str) -> list[Variable]:
        """Return the variables whose types stay when the items of an entry are declared."""
        keys = {piece.key for piece in items}
        told = self.text + text
        declared: set[str] = set()
        for piece in [*items, *(piece for piece in self.pieces if piece.key in keys)]:
            declared |= _declared(parse(Source(FILE, told[piece.start : piece.end]), Diagnostics()).items)
        return [variable for variable in self.variables if declared.isdisjoint(_named(variable.type))]

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

    def _statements(
        self, text: str, insertions: list[Insertion], tail: ast.Expr | None, parameters: list[Variable], pieces: list[Piece]
    ) -> Entry:
        """Compile twice: the first time yields the variables and their types, the second time the function returns their
        values."""
        first = self._entry(pieces, text, [*insertions, Insertion(len(text), "\n Ok([]) }")], parameters)
        body = _last_body(first.compilation.tree)
        if body is None or first.compilation.diagnostics.has_errors:
            return replace(first, statements=True)
        new = _variables(body)
        # The name of the final expression's value is the compiler's own.
        value = new.pop(VALUE, None)
        variables = [*(v for v in parameters if v.name not in new), *map(_variable, new.values())]
        is_stream = value is not None and str(value.type) == STREAM
        if is_stream:
            insertions[-1].text += f" for {PIECE} in {VALUE} {{ print({PIECE}.text); }} println();"
        names = ", ".join([VALUE if tail is not None and not is_stream else "nil", *(v.name for v in variables)])
        entry = self._entry(pieces, text, [*insertions, Insertion(len(text), f"\n Ok([{names}]) }}")], parameters)
        shown_type = None if value is None or value.type in (NIL, NEVER) or is_stream else value.type
        return replace(entry, statements=True, type=shown_type, parameters=parameters, variables=variables)

    def _entry(
        self, pieces: list[Piece], text: str, insertions: list[Insertion], parameters: Sequence[Variable] = ()
    ) -> Entry:
        before = _only(pieces, self.text)
        self._remember(text, insertions)
        source = before + _with(text, insertions)

        def parse_entry(name: str, data: bytes, with_heads: bool = True) -> ParsedFile:
            return _with_types(parse_file(name, data, with_heads), parameters)

        data = source.encode("utf-8", "surrogatepass")
        compilation = compile_source(data, FILE, parse=parse_entry, find_library=installed_library)
        plain = Source(FILE, before + text + "\n")
        back = _Back(len(before), insertions, len(before) + len(text))
        mapped = [back.diagnostic(d) for d in compilation.diagnostics.ordered() if d.code not in UNUSED]
        # Warnings of inserted text point nowhere, those of earlier entries have been shown with them.
        visible = [d for d in mapped if d.is_error or len(before) <= d.span.start < d.span.end]
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


def _around(tail: ast.Expr | None, parameters: list[Variable]) -> tuple[list[Insertion], ast.Expr | None]:
    """Return the text to insert around statements (the head of their function, and what keeps the value of the final expression
    `tail`) and that expression, None where it has no value."""
    listed = ", ".join(f"{v.name}: Any" for v in parameters)
    changeable = "".join(f"let mut {v.name} = {v.name}; " for v in parameters if v.mutable)
    insertions = [Insertion(0, f"async fn {FUNCTION}({listed}) -> Result<Array<Any>, Error> {{ {changeable}")]
    if tail is not None:
        start, end = (at - len(HEAD) for at in (tail.span.start, tail.span.end))
        is_value = not isinstance(tail, STATEMENTS)
        insertions += [Insertion(start, f"let {VALUE} = ")] * is_value + [Insertion(end, ";")]
        tail = tail if is_value else None
    return insertions, tail


def _with_types(parsed: ParsedFile, parameters: Sequence[Variable]) -> ParsedFile:
    """Give the parameters of the function of an entry, which stands last, their types."""
    items = parsed.tree.items if parsed.tree is not None else []
    if parameters and items and isinstance(items[-1], ast.Function):
        for parameter, variable in zip(items[-1].parameters, parameters, strict=True):
            assert parameter.type is not None
            parameter.type = KnownType(parameter.type.span, variable.type)
    return parsed


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
    """Return whether the user is still typing: something opened in the text is not closed, or its end is the first place where
    something is missing and no `;` alone would do."""
    source = f"{HEAD}{text}\n}}"
    errors = _syntax_errors(source)
    # A bracket that closes nothing, of which no other place is told, is mended by no further line.
    if any(d.code == "E0102" and not d.related and source[d.span.start] in ")]}" for d in errors):
        return False
    if any(d.code in NEEDS_MORE for d in errors):
        return True
    return bool(errors) and errors[0].span.start > len(HEAD) + len(text) and completed(text) == text


def parts_of(text: str) -> list[str]:
    """Return the entries of a text that begins with items and goes on with statements, two of them: some items stand at module
    level alone. A text of one kind, and one with errors of syntax, is one entry."""
    errors = _syntax_errors(text)
    at = errors[0].span.start if errors else 0
    # Of `f(1);` it is the bracket that no item has.
    for end in (at, text.rfind("\n", 0, at) + 1):
        items = text[:end].rstrip()
        rest = text[len(items) :].removeprefix("\n")  # the line end that the transcript adds
        if items and rest.strip() and not _syntax_errors(items) and not _syntax_errors(f"{HEAD}{completed(rest)}\n}}"):
            return [items, rest] if parse(Source(FILE, items), Diagnostics()).items else [text]
    return [text]


def completed(text: str) -> str:
    """Return the text with the `;` that alone is missing at its end, or the text itself: a blank one, one that is right, and one
    that `;` does not mend."""
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


def _last_body(tree: ast.Program | None) -> ast.Block | None:
    """Return the body of the function that stands last, None where none does."""
    last = tree.items[-1] if tree is not None and tree.items else None
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
    # What nothing has determined yet may become anything.
    return Variable(local.name, close(local.type), local.mutable)


def _patterns(node: ast.Node) -> list[ast.Node]:
    return [node, *(inner for child in node.children() for inner in _patterns(child))]


def _named(type_: Type) -> set[str]:
    """Return the names of the declared types in a type."""
    names: set[str] = set()
    todo = [type_]
    while todo:
        match todo.pop():
            case Nominal(name=name, arguments=parts):
                names.add(name)
                todo += parts
            case Generic(arguments=parts) | Tuple(items=parts):
                todo += parts
            case Nilable(inner=inner):
                todo.append(inner)
            case Function(parameters=parts, result=result):
                todo += (*parts, result)
    return names


def _declared(items: Iterable[ast.Node]) -> set[str]:
    """Return the names that items declare, also inside of modules."""
    names: set[str] = set()
    todo = [*items]
    while todo:
        item = todo.pop()
        name = getattr(item, "name", None)
        if isinstance(name, ast.Ident):
            names.add(name.text)
        if isinstance(item, ast.Module):
            todo += item.items or ()
    return names


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
