"""Diagnostics as data: the record, the collector that every phase reports to, the table of codes, and how they are
rendered.

Hands on `Diagnostic`, `Diagnostics` and `Related` to all phases and to the other rooms, `CODES` to the driver of the
conformance suite, to tests and tools, `render_text` to the command line, the API and the notebook, `render_json` to the first
two, `render_lines` to the command line. A new diagnostic needs a row in `_ROWS` (`CONTRIBUTING.md` has the recipe). Panics of
running programs have their codes elsewhere: they belong to the machine. Nothing is raised here; what becomes of a program with
errors is decided by those who collected them.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from .source import Position, Source, Span, visible


@dataclass(frozen=True, slots=True)
class Related:
    """A second place that explains the first, and in `message` how."""

    span: Span
    message: str


# Reported by the parser, of forms that it understood: a pipe into no call, a stray `..`, `self` outside of methods (L-4.1.2).
LEAVES_A_TREE = frozenset(("E1009", "E2016", "E3008"))


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One message about a place of a source. `message` says what is wrong there, `help` what to write instead; the code
    stands in `CODES`."""

    code: str
    message: str
    span: Span
    related: tuple[Related, ...] = ()
    help: str | None = None

    @property
    def is_error(self) -> bool:
        """Return whether it is an error, and no warning: its code begins with E."""
        return self.code.startswith("E")

    @property
    def leaves_a_tree(self) -> bool:
        """Return whether the tree is whole in spite of this error of the parser. Other errors of the parser keep the phases
        behind it from starting."""
        return self.code in LEAVES_A_TREE


@dataclass(slots=True)
class Diagnostics:
    """Collects what the phases report, in that order; identical diagnostics are kept once (L-4.1.3)."""

    found: list[Diagnostic] = field(default_factory=list)
    _known: set[Diagnostic] = field(default_factory=set, repr=False)
    _errors: dict[str, list[int]] = field(default_factory=dict, repr=False)  # where they begin, by file, in order

    def report(
        self, code: str, span: Span, message: str, *, help: str | None = None, related: tuple[Related, ...] = ()
    ) -> None:
        """Add a diagnostic made of these parts. `code` is a row of `CODES`. `help`: what to write instead, None for nothing;
        `related`: further places."""
        self.add(Diagnostic(code, message, span, related, help))

    def add(self, diagnostic: Diagnostic) -> None:
        """Add a diagnostic, unless an equal one has been added before."""
        # A phase may come to the same place on two ways.
        if diagnostic not in self._known:
            self._known.add(diagnostic)
            self.found.append(diagnostic)
            if diagnostic.is_error:
                # Kept in order, so that `has_errors_in` is a binary search.
                insort(self._errors.setdefault(diagnostic.span.file, []), diagnostic.span.start)

    @property
    def has_errors(self) -> bool:
        """Return whether an error has been added."""
        return bool(self._errors)

    @property
    def leave_trees(self) -> bool:
        """Return whether the next phase can look at the trees: there are no errors, or only such as leave the trees whole."""
        return not self._errors or all(diagnostic.leaves_a_tree for diagnostic in self.found if diagnostic.is_error)

    def has_errors_in(self, span: Span) -> bool:
        """Return whether some error begins inside the span, whose end is not included."""
        starts = self._errors.get(span.file, [])
        at = bisect_left(starts, span.start)
        return at < len(starts) and starts[at] < span.end

    def ordered(self) -> list[Diagnostic]:
        """Return all diagnostics by file, position and code (L-4.1.2)."""
        return sorted(self.found, key=lambda d: (d.span.file, d.span.start, d.span.end, d.code))


# The table of codes: language.md section 4, orchestration.md section 11, memory.md section 2.

# In the order in which a program meets them: syntax, names, types, the flow of control, declarations.
STAGES = ("parse", "names", "types", "flow", "declare")


class Code(NamedTuple):
    """A row of the table: the stage that reports the code (C-5.3), and what it means in general words. Messages name the
    particulars."""

    code: str
    stage: str
    title: str


_ROWS = """
E0001 parse    the source is not valid UTF-8
E0002 parse    unexpected character
E0003 parse    unterminated string
E0004 parse    line end in a one-line string
E0005 parse    unterminated raw string
E0006 parse    unterminated block comment
E0007 parse    unknown escape
E0008 parse    malformed `\\u{}` escape
E0009 parse    malformed number
E0010 parse    number literal out of range
E0011 parse    empty `${}`
E0012 parse    `r#` without a quote
E0101 parse    unexpected token
E0102 parse    unbalanced bracket
E0104 parse    the left side of an assignment is not a place
E0105 parse    `pub` where it means nothing
E0106 parse    function body missing or not allowed
E0107 parse    declaration not legal here
E0108 parse    positional argument after a named one
E0109 parse    malformed `listen` handler
E0114 parse    nesting deeper than 256, or another source limit exceeded
E1001 names    undefined name
E1002 names    undefined type
E1003 names    duplicate definition
E1004 names    unresolved import or path
E1005 names    private item used
E1006 names    private field or method used
E1007 names    modules import each other in a circle
E1008 names    name offered by two globs
E1009 names    `self` or `Self` out of place
E1010 names    unknown variant or associated item
E1011 names    both `x.conc` and `x/mod.conc` exist
E1012 names    two distributions declare a library
E1013 names    `main` is missing or has the wrong signature
E1014 names    type name begins with a lower-case letter
E2001 types    type mismatch
E2002 types    wrong operand types
E2003 types    condition is not Bool
E2004 types    type annotation needed
E2005 types    parameter, field, constant or store without a type
E2006 types    wrong number of arguments
E2007 types    unknown or repeated named argument
E2008 types    required parameter after a default
E2009 types    wrong argument type
E2010 types    unknown field
E2011 types    unknown method
E2012 types    fields missing in a literal
E2013 types    unknown or repeated field in a literal
E2014 types    field declared twice
E2015 types    `for` over a value that cannot be iterated
E2016 types    not callable, or a bad pipe operand
E2017 types    not indexable, or a wrong index
E2018 types    elements of different types
E2019 types    key type not usable
E2020 types    constant key twice in a literal
E2021 types    branches or arms of different types
E2022 types    no value on some path
E2023 types    wrong type of the returned value
E2024 types    impossible cast
E2025 types    trait method missing, extra or different
E2026 types    bound not satisfied
E2027 types    two traits offer the method
E2028 types    wrong number of type arguments
E2029 types    type argument cannot be inferred
E2030 types    duplicate impl or method
E2031 types    impl target not allowed
E2032 types    constant is not constant, or circular
E2033 types    evaluation of a constant fails
E2034 types    assignment to an immutable binding or a constant
E2035 types    change through an immutable binding
E2036 types    change of `self` in a `self` method
E2037 types    use before assignment
E2038 types    second assignment of a deferred `let`
E2039 types    union of types that are not strings
E2040 types    circular type
E2041 types    `?` on a type that cannot fail
E2042 types    error type does not convert
E2043 types    left side of `??` cannot be absent
E2044 types    type without a JSON shape
E2045 types    `spawn` of neither a call nor an `async` block
E2046 types    comparison that the types decide
E3001 flow     match is not exhaustive
E3002 flow     pattern may fail where it must not
E3003 flow     pattern cannot match the type
E3004 flow     alternatives bind different names or types
E3005 flow     name bound twice in a pattern
E3006 flow     struct pattern lacks fields
E3007 flow     empty range pattern or mixed bounds
E3008 flow     `..` misplaced or repeated
E3009 flow     `break` or `continue` outside a loop
E3010 flow     unknown label
E3011 flow     label before something that is no loop
E3012 flow     `return` or `throw` outside a function
E3013 flow     `throw` where no error can leave
E3014 flow     `?` where it cannot propagate
E3015 flow     error type cannot leave the `try`
E3016 flow     `await` outside a function
E4001 declare  unknown field, key, argument or decorator, or one given twice
E4002 declare  required field missing
E4003 declare  unknown connection, model, tool, server, agent or memory
E4004 declare  value of wrong type, range or set, or bound not constant
E4005 declare  secret not written as `env("NAME")`
E4006 declare  field not carried by this provider or API
E4007 declare  model without id
E4008 declare  reserved method name in the impl of a model
E4009 declare  decorator misplaced, repeated or with wrong arguments
E4010 declare  tool method without description
E4011 declare  `@param` missing, doubled or unknown
E4013 declare  tool name too long or not unique
E4020 declare  type without JSON form, or direct required cycle
E4021 declare  duplicate schema field
E4022 declare  type argument is not a schema
E4023 declare  default not constant or not assignable
E4024 declare  wrong validator signature
E4030 declare  stage without return type
E4031 declare  neighbouring stages do not fit
E4032 declare  pipeline signature does not fit
E4033 declare  stage without exactly one parameter
E4034 declare  function by a model of another form
E4035 declare  Option, `T?` or Result in the prompt of a function
E4036 declare  two channels of one name
E4040 declare  argument is no memory, tool or server
E4041 declare  method not available on this handle
E4042 declare  unknown message role
E4043 declare  models fall back in a circle
E4044 declare  items of what is no field that is an Array
E4050 declare  control transfer out of a task or handler
E4060 declare  `listen` key doubled or reserved
E4070 declare  test with parameters and no cases, with self or return type
E4071 declare  `@expect_fail` without `@test`
E4072 declare  mock outside a test or of a wrong target
E4073 declare  call of a test
E4080 declare  payload does not fit the emit type
E4501 declare  no memory chain, or a memory chain or method out of place
E4502 declare  unknown memory step, field, argument or word
E4503 declare  memory step or field given twice
E4504 declare  memory bounds that contradict each other
E4505 declare  keyed memory used without its key, or with wrong key names
E4506 declare  `needs` or `reads` out of place
E4507 declare  persistence without a store, or a step or method that a derived view or the store lacks
E4508 declare  unknown store, context, embedder or summariser
E4509 declare  memory closure with effects
E4510 declare  memory attached by a model or agent it does not allow
E4519 declare  bound of a memory that asks a model, a tool or a memory
E4520 declare  bound as a function of the key, of a memory without keys
E4521 declare  step that a memory value cannot have
E4522 declare  function of a step of a memory value that uses a variable around it
E4515 declare  change of a slot, or of an entry of a hashmap, with effects
E4516 declare  one stored memory of two
E4517 declare  one stored slot or field of two
E4518 declare  key part without constant value for older keys
E4511 declare  view of itself, or of a view that shows no messages of a log
E4512 declare  view of only its summary without one, or with steps for messages
E4513 declare  text around a summary without one place for it
E4514 declare  default summary of the manifest that nobody makes
E4528 declare  two functions that give the shown messages
E4529 declare  function that no view or event of a memory can call
E4530 declare  `refresh` of a memory whose turns nobody else comes between
E4531 declare  `refresh` beside a function that gives the shown messages
E4523 declare  permission of facts that nothing can come under
E4524 declare  change of a slot without `mut`
E4525 declare  topic of the runtime that it does not observe, or that a program observes
W0001 names    unused variable
W0002 names    unused import
W0003 types    unused Result
W0004 flow     unreachable arm
W0005 flow     unreachable code
W0006 types    change of a temporary is lost
W0010 flow     pattern name equal to a variant
W0011 types    unused `mut`
W0012 names    variable in braces that is text
W0013 types    built-in method of a Map without a call
W0014 types    `?` that ends a concurrent operand only
W0015 types    error family that what is thrown does not belong to
W0016 types    Option, `T?` or Result in a prompt
W0017 types    Err that becomes the value of a `try`
W0018 types    unmarked throw in a `try`
W0020 types    error that becomes its message
W0021 declare  model written as an agent
W0022 types    type in quotes
W0023 types    places of a format in `println`
W0024 types    `let` of a change that gives nothing
W0025 types    parameter of a closure that is Any
W0401 declare  server or agent without configuration
W0402 declare  pipeline without stages
W0404 declare  assignment to a copied variable in a task
W0405 types    array where concurrent operands are meant
W0406 declare  scripted error that is nearly a known kind
W0407 declare  function of Python that cannot be imported
W0408 declare  arguments that a function of Python does not take
W0409 declare  annotation in Python that the declared type never fits
W0451 declare  system message in a bounded memory can be evicted
W0452 declare  one memory in two concurrent operands
W0453 declare  decay that archives nothing
W0454 declare  summary that is never made
W0455 declare  observation that no rule sees
W0456 declare  window of messages that pinned ones can fill
W0457 declare  summary that is given the whole log each time
W0458 declare  `needs` of a slot that is never without value
"""

CODES: dict[str, Code] = {row.split(None, 1)[0]: Code(*row.split(None, 2)) for row in _ROWS.strip().splitlines()}


# Rendering for people and for tools (O-9.12). Text: `FILE:LINE:COL: error[CODE]: MESSAGE`, the source line with carets,
# related places, help. JSON: a list of plain dictionaries.

MAX_PRINTED = 100  # diagnostics
MAX_LINE = 200  # characters; longer source lines are shown as a window around the carets

_COLOURS = {"error": "\x1b[1;31m", "warning": "\x1b[1;33m", "help": "\x1b[1;32m", "note": "\x1b[1;36m"}
_RESET = "\x1b[0m"
_NOWHERE = Position(1, 1)

Sources = Mapping[str, Source]
Named = Callable[[str], str]


def render_text(
    diagnostics: Diagnostics | Iterable[Diagnostic], sources: Sources, *, colour: bool = False, named: Named = str
) -> str:
    """Return all diagnostics as text, each line with its line end: at most MAX_PRINTED diagnostics, then the number of the rest
    (L-4.1.4). A Diagnostics is put in the order of `ordered`, anything else keeps its own. `sources` are the files by name, for
    the quoted lines; a file that is not among them has none, and stands at 1:1. `named` returns what a reader calls a file;
    `colour` adds escape sequences of terminals."""
    ordered = _ordered(diagnostics)
    renderer = _Renderer(sources, colour, named)
    lines: list[str] = []
    for diagnostic in ordered[:MAX_PRINTED]:
        lines.extend(renderer.diagnostic(diagnostic))
    # A program with thousands of errors has one cause, which is among the first.
    rest = len(ordered) - MAX_PRINTED
    if rest > 0:
        lines.append(f"… and {rest} more")
    return "".join(line + "\n" for line in lines)


def render_lines(diagnostics: Iterable[Diagnostic], sources: Sources, *, named: Named = str) -> list[str]:
    """Return the first line of each, without its line end: place, code and message. `sources` and `named` are as in
    `render_text`."""
    renderer = _Renderer(sources, False, named)
    return [next(iter(renderer.diagnostic(diagnostic))) for diagnostic in diagnostics]


def render_json(
    diagnostics: Diagnostics | Iterable[Diagnostic], sources: Sources, *, named: Named = str
) -> list[dict[str, Any]]:
    """Return all diagnostics as plain dictionaries for `--json`, in the order of `render_text`. Lines and columns are counted
    from 1, in code points; the end is the place behind the last character. Each has code, severity ("error" or "warning"),
    message, file, line, column, end_line, end_column, related (places with a message) and help, a text or None. `sources` and
    `named` are as in `render_text`."""
    return [_as_dict(diagnostic, sources, named) for diagnostic in _ordered(diagnostics)]


def _ordered(diagnostics: Diagnostics | Iterable[Diagnostic]) -> list[Diagnostic]:
    return diagnostics.ordered() if isinstance(diagnostics, Diagnostics) else list(diagnostics)


def _severity(diagnostic: Diagnostic) -> str:
    return "error" if diagnostic.is_error else "warning"


def _place(span: Span, sources: Sources) -> tuple[Position, Position]:
    source = sources.get(span.file)
    if source is None:  # a file that could not be read has no text to point into
        return _NOWHERE, _NOWHERE
    return source.position(span.start), source.position(span.end)


def _as_dict(diagnostic: Diagnostic, sources: Sources, named: Named) -> dict[str, Any]:
    return {
        "code": diagnostic.code,
        "severity": _severity(diagnostic),
        "message": diagnostic.message,
        **_where(diagnostic.span, sources, named),
        "related": [{"message": other.message, **_where(other.span, sources, named)} for other in diagnostic.related],
        "help": diagnostic.help,
    }


def _where(span: Span, sources: Sources, named: Named) -> dict[str, Any]:
    start, end = _place(span, sources)
    return {
        "file": named(span.file), "line": start.line, "column": start.column,
        "end_line": end.line, "end_column": end.column,
    }  # fmt: skip


class _Renderer:
    """Writes diagnostics as text lines, without line ends, in the colours of a terminal if asked to."""

    def __init__(self, sources: Sources, colour: bool, named: Named) -> None:
        self.sources = sources
        self.colour = colour
        self.named = named

    def paint(self, text: str, what: str) -> str:
        return f"{_COLOURS[what]}{text}{_RESET}" if self.colour else text

    def diagnostic(self, diagnostic: Diagnostic) -> list[str]:
        """Return the lines of one diagnostic: head, excerpt, related places, help."""
        start, _ = _place(diagnostic.span, self.sources)
        severity = _severity(diagnostic)
        label = self.paint(f"{severity}[{diagnostic.code}]", severity)
        lines = [f"{self.named(diagnostic.span.file)}:{start.line}:{start.column}: {label}: {visible(diagnostic.message)}"]
        lines.extend(self.excerpt(diagnostic.span, severity))
        for other in diagnostic.related:
            lines.extend(self.related(other))
        if diagnostic.help is not None:
            lines.append(f"  {self.paint('help', 'help')}: {visible(diagnostic.help)}")
        return lines

    def related(self, other: Related) -> list[str]:
        start, _ = _place(other.span, self.sources)
        place = f"{self.named(other.span.file)}:{start.line}:{start.column}"
        head = f"  {self.paint('note', 'note')}: {place}: {visible(other.message)}"
        return [head, *self.excerpt(other.span, "note")]

    def excerpt(self, span: Span, what: str) -> list[str]:
        """Return the first line of the span, and carets under what the span covers of it."""
        source = self.sources.get(span.file)
        if source is None:
            return []
        start, end = source.position(span.start), source.position(span.end)
        text = source.line_text(start.line)
        first = start.column - 1
        last = end.column - 1 if end.line == start.line else len(text)
        shift = 0
        if len(text) > MAX_LINE:
            # A quarter of the window stands before the carets.
            shift = max(0, min(first - MAX_LINE // 4, len(text) - MAX_LINE))
            text = _window(text, shift)
        first, last = first - shift, min(last - shift, len(text))
        number = str(start.line)
        # Tabs stay tabs, so that the carets stand below what they mark.
        under = "".join("\t" if char == "\t" else " " for char in text[:first])
        carets = self.paint("^" * max(1, last - first), what)
        return [f"  {number} | {_printable(text)}", f"  {' ' * len(number)} | {under}{carets}"]


def _window(text: str, shift: int) -> str:
    """Return MAX_LINE characters of a long line from the offset `shift` on, with `…` where there is more."""
    part = text[shift : shift + MAX_LINE]
    part = f"…{part[1:]}" if shift else part
    return f"{part[:-1]}…" if shift + MAX_LINE < len(text) else part


def _printable(text: str) -> str:
    """Return the text without control characters, which must not reach a terminal."""
    return "".join(char if char == "\t" or char.isprintable() else "\ufffd" for char in text)
