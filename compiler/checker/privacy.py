"""Private fields (L-8.4): usable in the module of their struct and its submodules.

Hands on `ModuleMap` and `private_fields`. Must not know: visibility of items, which is the resolver's.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence

from .. import ast
from ..loading import Project
from ..source import Span
from ..symbols import ModuleSymbol, StructSymbol


class ModuleMap:
    """Which module the text at a place belongs to."""

    __slots__ = ("files", "borders", "hidden")

    def __init__(self, project: Project, modules: Sequence[ModuleSymbol]) -> None:
        self.files = {module.file: module for module in modules if module.home is None or module.home.file != module.file}
        # of each file, by place: where another module begins, or goes on behind one that is written out in it
        self.borders = {file: list(_borders(tree.items, self.files.get(file))) for file, tree in project.trees.items()}
        self.hidden: dict[StructSymbol, frozenset[str]] = {}  # private fields, of structs that were asked for

    def at(self, place: Span) -> ModuleSymbol:
        """The innermost module around a place."""
        borders = self.borders[place.file]
        before = bisect_right(borders, place.start, key=lambda border: border[0])
        inner = borders[before - 1][1] if before else None
        return inner or self.files[place.file]


def _borders(items: Sequence[ast.TopLevel], around: ModuleSymbol | None) -> Iterator[tuple[int, ModuleSymbol | None]]:
    for item in items:
        if isinstance(item, ast.Module) and item.items is not None and isinstance(item.symbol, ModuleSymbol):
            yield item.span.start, item.symbol
            yield from _borders(item.items, item.symbol)
            yield item.span.end, around


def private_fields(modules: ModuleMap, symbol: StructSymbol, place: Span) -> frozenset[str]:
    """The fields of a struct that code at `place` may not name."""
    home = symbol.home
    if home is None or isinstance(symbol.declaration, ast.Schema):
        return frozenset()
    hidden = modules.hidden.get(symbol)
    if hidden is None:
        hidden = modules.hidden[symbol] = frozenset([field.name.text for field in symbol.declaration.fields if not field.public])
    return frozenset() if not hidden or modules.at(place).is_inside(home) else hidden
