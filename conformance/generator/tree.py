"""The shape of a generated program: text with expressions and blocks inside, so that a part can be cut out or replaced.

Hands on to the generator and to `reduce` the nodes `Expr`, `Stmt` and `Block`, `walk`, `children`, and the texts `program_text`
and `type_text`. A `Type` is a tuple: its name, then its arguments, as in `("Map", STRING, INT)`; that of a function is `("Fn",
(parameters, …), result)`, that of a declared type `("Struct", name)` or `("Enum", name)`. How programs are made or judged is not
known here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

Type = tuple[Any, ...]

INT, FLOAT, STRING, BOOL, NIL, ANY = ("Int",), ("Float",), ("String",), ("Bool",), ("Nil",), ("Any",)


class Expr:
    """An expression of a type; `parts` are texts, expressions and blocks. `open`: it may need its type to be expected where it
    stands."""

    def __init__(self, type_: Type, *parts: Any) -> None:
        self.type, self.parts = type_, list(parts)
        self.open = False  # it may need its type to be expected where it stands


class Stmt:
    """A statement, an item or a match arm. `required`: it must not be cut out."""

    def __init__(self, *parts: Any, required: bool = False) -> None:
        self.parts, self.required = list(parts), required


class Block:
    """Statements between braces, and the expression they end in."""

    def __init__(self, statements: list[Stmt], result: Expr | None = None) -> None:
        self.statements, self.result = statements, result


Node = Expr | Stmt | Block


def children(node: Node) -> Iterator[Node]:
    """Yield the nodes directly inside a node; texts are none."""
    parts: list[Any] = [*node.statements, node.result] if isinstance(node, Block) else node.parts
    for part in parts:
        if isinstance(part, (Expr, Stmt, Block)):
            yield part


def walk(node: Node) -> Iterator[Node]:
    """Yield a node and all nodes inside it, outer ones first."""
    yield node
    for child in children(node):
        yield from walk(child)


def text(node: Any, indent: int = 0) -> str:
    """Return the program text of a node or text; every statement of a block stands on a line of its own, `indent` levels deep."""
    if isinstance(node, str):
        return node
    if isinstance(node, Block):
        rows: list[Any] = [*node.statements, *([] if node.result is None else [node.result])]
        if not rows:
            return "{ }"
        inner = "".join("    " * (indent + 1) + text(row, indent + 1) + "\n" for row in rows)
        return "{\n" + inner + "    " * indent + "}"
    return "".join(text(part, indent) for part in node.parts)


def program_text(items: list[Stmt]) -> str:
    """Return the text of a program, which ends with a line end."""
    return "".join(text(item) + "\n" for item in items)


def type_text(t: Type) -> str:
    """Return a type as it is written in a program."""
    head = t[0]
    if head == "Tuple":
        return "(" + ", ".join(map(type_text, t[1:])) + (",)" if len(t) == 2 else ")")
    if head == "Nilable":
        return type_text(t[1]) + "?"
    if head == "Fn":
        return f"fn({', '.join(map(type_text, t[1]))}) -> {type_text(t[2])}"
    if head in ("Struct", "Enum"):
        return str(t[1])
    return head + (f"<{', '.join(map(type_text, t[1:]))}>" if len(t) > 1 else "")
