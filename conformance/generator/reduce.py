"""Makes a program smaller while it keeps showing the same difference (C-12.6).

Hands on `reduce` to `generate.py`. A `Change` alters the tree in place and returns the function that takes it back. A new way of
making a program smaller is a function that yields changes, which `reduce` tries.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from .tree import Block, Expr, Node, Stmt, Type, children, type_text, walk

SMALLEST = {"Int": "1", "Float": "1.5", "String": '"a"', "Bool": "true", "Enum": "E::A"}
OPEN = {"Map": "{}", "Array": "[]", "Nilable": "nil", "Option": "None"}


def reduce(items: list[Stmt], shows: Callable[[list[Stmt]], bool], budget: int = 1500) -> list[Stmt]:
    """Return the smallest items found within `budget` tries; `shows` tells whether items still show the difference. The
    expressions and blocks of `items` are changed in place, the list itself is not."""
    root = Block(items)
    left = budget

    def tried(change: Callable[[], Callable[[], None]]) -> bool:
        nonlocal left
        left -= 1
        undo = change()
        if left > 0 and shows(root.statements):
            return True
        undo()
        return False

    again = True
    while again and left > 0:
        again = False
        for change in list(_statements(root)):
            again |= tried(change)
        for change in list(_expressions(root)):
            again |= tried(change)
    return root.statements


Change = Callable[[], Callable[[], None]]


def _statements(root: Node) -> Iterator[Change]:
    """Yield the changes that cut halves of blocks, then single statements, the last ones first, and those that unpack a
    statement."""
    for node in reversed(list(walk(root))):
        if isinstance(node, Block):
            size = len(node.statements)
            while size > 1:
                size //= 2
                for start in range(len(node.statements) - size, -1, -size):
                    yield _cut(node, node.statements[start : start + size])
            for inner in [s for s in node.statements if not s.required]:
                yield from _lifted(node, inner)


def _cut(block: Block, removed: list[Stmt]) -> Change:
    def change() -> Callable[[], None]:
        before = block.statements
        block.statements = [s for s in before if s.required or all(s is not g for g in removed)]
        return lambda: setattr(block, "statements", before)

    return change


def _lifted(block: Block, outer: Stmt) -> Iterator[Change]:
    """Yield the changes that replace a compound statement by what stands in one of its blocks."""
    for inner in children(outer):
        if isinstance(inner, Block) and inner.statements:
            body = inner.statements

            def change(body: list[Stmt] = body) -> Callable[[], None]:
                before = block.statements
                block.statements = [n for s in before for n in (body if s is outer else [s])]
                return lambda: setattr(block, "statements", before)

            yield change


def _expressions(root: Node) -> Iterator[Change]:
    """Yield the changes that replace an expression by one of its type inside it, or by a smallest one."""
    for node in walk(root):
        if isinstance(node, Expr) and not (len(node.parts) == 1 and isinstance(node.parts[0], str)):
            inner = [
                n for n in walk(node) if isinstance(n, Expr) and n is not node and n.type == node.type and node.open >= n.open
            ]
            for other in inner[:4]:
                yield _parts(node, [other])
            if (small := _smallest(node.type)) is not None:
                yield _parts(node, [small])


def _parts(node: Expr, parts: list[str | Expr]) -> Change:
    def change() -> Callable[[], None]:
        before = node.parts
        node.parts = list(parts)
        return lambda: setattr(node, "parts", before)

    return change


def _smallest(t: Type) -> str | None:
    """Return a literal that has this type wherever it stands, None for a type without one."""
    if t[0] in OPEN:
        return f"({{ let z: {type_text(t)} = {OPEN[t[0]]}; z }})"
    return SMALLEST.get(t[0]) if t != ("Enum", "F") else "F::U"
