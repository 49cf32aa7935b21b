"""One file as a whole."""

from __future__ import annotations

from dataclasses import dataclass

from .declarations import TopLevel
from .nodes import Item, Node


@dataclass(slots=True, kw_only=True, eq=False)
class ErrorItem(Item):
    """Stands where recovery gave up on an item."""


@dataclass(slots=True, kw_only=True, eq=False)
class Comment(Node):
    """Trivia: `//…`, `/*…*/`, `///…`, `#!…` as written, `text` without its line end. `own_line`: nothing but blanks before it."""

    text: str
    own_line: bool


@dataclass(slots=True, kw_only=True, eq=False)
class Program(Node):
    """One file: its items and initialisation statements in source order, and every comment in source order."""

    items: list[TopLevel]
    comments: list[Comment]
