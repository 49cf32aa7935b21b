"""Python text in the making: a tree of statements, printed with a table from line to place in the bytecode."""

from __future__ import annotations

from .flow import Unshaped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Union

    Statement = Union[str, "Line", "Branch", "Loop"]  # noqa: UP007 - classes of this module, named before they are there

MARK, END = "\x01", "\x02"
KEEP, KEPT = "\x03", "\x04"
DEEPEST = 80  # levels of indentation; CPython has room for 100
LOOPS = 18  # nested loops; CPython has room for 20 blocks


def mark(site: int) -> str:
    return f"{MARK}{site}{END}"


def keeping(name: str) -> str:
    """Begins an expression in parentheses whose value a variable keeps, if that is read."""
    return f"{KEEP}{name}{KEPT}"


class Line:
    """A statement that is decided upon later; None: there is none."""

    __slots__ = ("text",)

    def __init__(self) -> None:
        self.text: str | None = None


class Store(Line):
    """The assignment of a local that may turn out to be read nowhere."""

    __slots__ = ("slot",)

    def __init__(self, slot: int, text: str) -> None:
        self.slot = slot
        self.text = f"l{slot} = {text}"


class Branch:
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
    """`lines` of the text, `places`: site by line number. `read`: which variables that keep a value are read."""

    def __init__(self, read: set[str]) -> None:
        self.read = read
        self.lines: list[str] = []
        self.places: dict[int, int] = {}

    def line(self, indent: int, text: str) -> None:
        if KEEP in text:
            beginning, *kept = text.split(KEEP)
            for part in kept:
                name, _, rest = part.partition(KEPT)
                beginning += f"{name} := {rest}" if name in self.read else rest
            text = beginning
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
    """The assignments that are decided upon later; `texts` gets all that is read."""
    found: list[Store] = []
    for statement in statements:
        if isinstance(statement, str):
            texts.append(statement)
        elif isinstance(statement, Store):
            found.append(statement)
            texts.append(str(statement.text).partition(" = ")[2])
        elif isinstance(statement, Line):
            texts.append(statement.text or "")
        elif isinstance(statement, Branch):
            texts.append(statement.condition)
            found += stores(statement.yes, texts) + stores(statement.no, texts)
        else:
            texts.append(statement.head)
            found += stores(statement.body, texts) + stores(statement.otherwise, texts)
    return found


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
    """The text of a function, and site by line."""
    printer = Printer(read)
    printer.line(0, head)
    printer.block(1, statements, 0)
    return "\n".join(printer.lines) + "\n", printer.places
