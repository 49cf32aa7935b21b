"""Python text: a tree of statements, and its printer, which also gives the places in the bytecode of its lines.

Hands on the classes of statements (`Line`, `Store`, `Spare`, `Branch`, `Compound`) and their type `Statement` to the emitter, its
families, `branches`, `loops`, `control` and `functions`; `mark` to the emitter, its two signs MARK and END to `branches`, `keep`
to the families; `printed` and `stores` to `functions`. The text is compiled in `tier.py`; what it says is
decided by who makes the statements, and only how it is laid out here.

A text may contain marks that are no Python. That of a site begins a line of its own, whose place in the bytecode it says.
That of a variable stands before an expression in parentheses, and becomes an assignment in it if something reads the
variable.
"""

from __future__ import annotations

from .flow import Unshaped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Union

    Statement = Union[str, "Line", "Branch", "Compound"]  # noqa: UP007 - classes of this module, named before they are there
    # A str is a line of Python without indentation, which may contain marks.

MARK, END = "\x01", "\x02"
KEEP, KEEP_END = "\x03", "\x04"
DEEPEST = 80  # levels of indentation; CPython has room for 100
LOOPS = 18  # nested loops and `try`; CPython has room for 20 blocks


def mark(site: int) -> str:
    """Return the text that begins a line which stands for a site; `site` is the site's number in the translation."""
    return f"{MARK}{site}{END}"


def keep(name: str) -> str:
    """Return the text behind an opening parenthesis by which the variable `name` keeps the value of the expression in the
    parentheses, if anything reads the variable."""
    return f"{KEEP}{name}{KEEP_END}"


class Line:
    """A statement whose text is set when what follows it has been translated; with the text None it is left out."""

    __slots__ = ("text",)

    def __init__(self) -> None:
        self.text: str | None = None


class Store(Line):
    """The assignment of the local `slot`. It is left out (`text` becomes None) when it turns out that nothing reads the local.
    `payload`: of what is read out of an enum value, that, which part it is, and how many there are."""

    __slots__ = ("slot", "payload")

    def __init__(self, slot: int, text: str, payload: tuple[str, int, int] | None = None) -> None:
        self.slot = slot
        self.text = f"l{slot} = {text}"
        self.payload = payload


class Spare(Line):
    """The assignment of the temporary `name` by an expression that does nothing but build a value. It is left out when it turns
    out that nothing reads the variable."""

    __slots__ = ("name",)

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self.text = f"{name} = {text}"


class Branch:
    """An `if` of the expression `condition`, with the statements of either path, `yes` and `no`."""

    __slots__ = ("condition", "yes", "no")

    def __init__(self, condition: str) -> None:
        self.condition = condition
        self.yes: list[Statement] = []
        self.no: list[Statement] = []


class Compound:
    """A `for`, `while` or `try`: the line `head`, such as `while True:`, over the statements `body`; if `otherwise` has
    statements, the line `tail` over them: `else:` of a loop, which runs when the loop was not left by `break`, or `except …:`."""

    __slots__ = ("head", "tail", "body", "otherwise")

    def __init__(self, head: str, tail: str = "else:") -> None:
        self.head = head
        self.tail = tail
        self.body: list[Statement] = []
        self.otherwise: list[Statement] = []


class Printer:
    """The printer of one function. `read`: the variables of `keep` that something reads. `lines`: the lines so far;
    `site_of_line`: the number of the site that a line stands for, by the number of the line, from 1."""

    def __init__(self, read: set[str]) -> None:
        self.read = read
        self.lines: list[str] = []
        self.site_of_line: dict[int, int] = {}

    def line(self, indent: int, text: str) -> None:
        """Append a statement, indented by `indent` blanks, with its marks resolved. Where marks of sites stand within it, it
        becomes several lines: each site needs a line number of its own, and Python lets a line end within parentheses."""
        if KEEP in text:
            text, *parts = text.split(KEEP)
            for part in parts:
                name, _, rest = part.partition(KEEP_END)
                text += f"{name} := {rest}" if name in self.read else rest
        first, *marked = text.split(MARK)
        if first or not marked:
            self.lines.append(" " * indent + first)
        for position, part in enumerate(marked):
            site, _, rest = part.partition(END)
            self.lines.append((" " * indent if position == 0 and not first else "") + rest)
            self.site_of_line[len(self.lines)] = int(site)

    def block(self, indent: int, statements: list[Statement], loops: int) -> None:
        """Append the statements of a block, `pass` for none. `loops` is how many `for`, `while` and `try` are around it. Raises
        Unshaped for a block that is nested more deeply than CPython compiles."""
        if indent > DEEPEST or loops > LOOPS:
            raise Unshaped("nested too deeply")
        before = len(self.lines)
        for statement in statements:
            if isinstance(statement, str):
                self.line(indent, statement)
            elif isinstance(statement, Line):
                if statement.text is not None:
                    self.line(indent, statement.text)
            elif isinstance(statement, Branch):
                self.branch(indent, statement, loops)
            else:
                self.line(indent, statement.head)
                self.block(indent + 1, statement.body, loops + 1)
                if printable(statement.otherwise):
                    self.line(indent, statement.tail)
                    self.block(indent + 1, statement.otherwise, loops + 1)
        if len(self.lines) == before:
            self.line(indent, "pass")

    def branch(self, indent: int, branch: Branch, loops: int) -> None:
        """Append an `if`: with `elif` for an `if` that is all of the other path, and without `else` where no path before falls
        through, so that long chains stay flat. Raises as `block`."""
        word, ending = "if", True
        while True:
            yes, no, condition = branch.yes, branch.no, branch.condition
            if not printable(yes) and printable(no):
                yes, no, condition = no, yes, f"not {condition}"
            self.line(indent, f"{word} {condition}:")
            self.block(indent + 1, yes, loops)
            no = printable(no)
            ending = ending and ends(yes)
            if not no:
                return
            if len(no) == 1 and isinstance(no[0], Branch):
                branch, word = no[0], "elif"
                continue
            if ending:
                self.block(indent, no, loops)
                return
            self.line(indent, "else:")
            self.block(indent + 1, no, loops)
            return


def stores(statements: list[Statement], texts: list[str]) -> list[Store | Spare]:
    """Return the `Store`s and `Spare`s of a tree, in order; append to `texts` every text that may read a variable."""
    undecided: list[Store | Spare] = []
    for statement in statements:
        if isinstance(statement, str):
            texts.append(statement)
        elif isinstance(statement, (Store, Spare)):
            undecided.append(statement)
            texts.append(str(statement.text).partition(" = ")[2])
        elif isinstance(statement, Line):
            texts.append(statement.text or "")
        elif isinstance(statement, Branch):
            texts.append(statement.condition)
            undecided += stores(statement.yes, texts) + stores(statement.no, texts)
        else:
            texts.append(statement.head)
            undecided += stores(statement.body, texts) + stores(statement.otherwise, texts)
    return undecided


def printable(statements: list[Statement]) -> list[Statement]:
    """Return the statements without those that are left out."""
    return [statement for statement in statements if not (isinstance(statement, Line) and statement.text is None)]


def ends(statements: list[Statement]) -> bool:
    """Return whether control surely never goes on behind these statements; of a `for`, `while` or `try` in last place that is not
    looked for."""
    last = printable(statements)[-1:]
    if not last:
        return False
    if isinstance(last[0], str):
        return last[0].lstrip(MARK + END + "0123456789").startswith(("return ", "raise ", "continue", "break"))
    return isinstance(last[0], Branch) and ends(last[0].yes) and ends(last[0].no)


def printed(head: str, statements: list[Statement], read: set[str]) -> tuple[str, dict[int, int]]:
    """Return the text of a function with the line `head`, and the numbers of its sites by line number, from 1. `read`: the
    variables of `keep` that something reads. Raises Unshaped for statements that are nested more deeply than CPython compiles."""
    printer = Printer(read)
    printer.line(0, head)
    printer.block(1, statements, 0)
    return "\n".join(printer.lines) + "\n", printer.site_of_line
