"""One file as a whole."""

from __future__ import annotations

from .declarations import TopLevel
from .nodes import Item, Node, node


@node
class ErrorItem(Item):
    """Stands where recovery gave up on an item."""


@node
class Comment(Node):
    """Trivia: `//…`, `/*…*/`, `///…`, `#!…` as written, `text` without its line end. `own_line`: nothing but blanks before it."""

    text: str
    own_line: bool


@node
class Program(Node):
    """One file: its items and initialisation statements in source order, and every comment in source order."""

    items: list[TopLevel]
    comments: list[Comment]
