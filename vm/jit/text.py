"""Python text: a tree of statements, and its printer, which also gives the places in the bytecode of its lines.

A text may contain marks that are no Python. That of a site begins a line of its own, whose place in the bytecode it says.
That of a variable stands before an expression in parentheses, and becomes an assignment in it if something reads the
variable.
"""

from __future__ import annotations

from .flow import Unshaped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Union

    Statement = Union[str, "Line", "Branch", "Loop"]  # noqa: UP007 - classes of this module, named before they are there

MARK, END = "\x01", "\x02"
KEEP, KEEP_END = "\x03", "\x04"
DEEPEST = 80  # levels of indentation; CPython has room for 100
LOOPS = 18  # nested loops; CPython has room for 20 blocks


def mark(site: int) -> str:
    """What begins the line that stands for a site, given by its number among the sites of the translation."""
    return f"{MARK}{site}{END}"


def keep(name: str) -> str:
    """What begins an expression in parentheses whose value a variable keeps, if that is read."""
    return f"{KEEP}{name}{KEEP_END}"


class Line:
    """A statement whose text is decided upon later; while it is None there is no statement."""

    __slots__ = ("text",)

    def __init__(self) -> None:
        self.text: str | None = None


class Store(Line):
    """The assignment of a local that nothing may turn out to read."""

    __slots__ = ("slot",)

    def __init__(self, slot: int, text: str) -> None:
        self.slot = slot
        self.text = f"l{slot} = {text}"


class Branch:
    """An `if`, with the statements of either path."""

    __slots__ = ("condition", "yes", "no")

    def __init__(self, condition: str) -> None:
        self.condition = condition
        self.yes: list[Statement] = []
        self.no: list[Statement] = []


class Loop:
    """`head` is the line of a loop, or `try:`; `otherwise` runs when a `for` comes to its end, or stands under `tail`."""

    __slots__ = ("head", "tail", "body", "otherwise")

    def __init__(self, head: str, tail: str = "else:") -> None:
        self.head = head
        self.tail = tail
        self.body: list[Statement] = []
        self.otherwise: list[Statement] = []


class Printer:
    """`lines`: the text so far. `places`: the number of the site by line number. `read`: the variables that keep a value and are
    read."""

    def __init__(self, read: set[str]) -> None:
        self.read = read
        self.lines: list[str] = []
        self.places: dict[int, int] = {}

    def line(self, indent: int, text: str) -> None:
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
            self.places[len(self.lines)] = int(site)

    def block(self, indent: int, statements: list[Statement], loops: int) -> None:
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


def stores(statements: list[Statement], texts: list[str]) -> list[Store]:
    """The assignments in a tree that are decided upon later; all texts that may read a variable are added to `texts`."""
    undecided: list[Store] = []
    for statement in statements:
        if isinstance(statement, str):
            texts.append(statement)
        elif isinstance(statement, Store):
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
    return [statement for statement in statements if not (isinstance(statement, Line) and statement.text is None)]


def ends(statements: list[Statement]) -> bool:
    """Whether control never falls out of these statements."""
    last = printable(statements)[-1:]
    if not last:
        return False
    if isinstance(last[0], str):
        return last[0].lstrip(MARK + END + "0123456789").startswith(("return ", "raise ", "continue", "break"))
    return isinstance(last[0], Branch) and ends(last[0].yes) and ends(last[0].no)


def printed(head: str, statements: list[Statement], read: set[str]) -> tuple[str, dict[int, int]]:
    """The text of a function with the line `head`, and the number of the site by line number."""
    printer = Printer(read)
    printer.line(0, head)
    printer.block(1, statements, 0)
    return "\n".join(printer.lines) + "\n", printer.places
