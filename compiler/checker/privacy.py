"""Private fields (L-8.4): usable in the module of their struct and its submodules.

Hands on `ModuleMap` and `private_fields`. Must not know: visibility of items, which is the resolver's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .. import ast
from ..loading import Project
from ..source import Span
from ..symbols import ModuleSymbol, StructSymbol


class ModuleMap:
    """Which module the text at a place belongs to."""

    __slots__ = ("files", "inline")

    def __init__(self, project: Project, modules: Sequence[ModuleSymbol]) -> None:
        self.files = {module.file: module for module in modules if module.home is None or module.home.file != module.file}
        self.inline = {file: list(_inline(tree.items)) for file, tree in project.trees.items()}

    def at(self, place: Span) -> ModuleSymbol:
        """The innermost module around a place."""
        found = self.files[place.file]
        for span, module in self.inline[place.file]:
            if span.start <= place.start < span.end:
                found = module
        return found


def _inline(items: Sequence[ast.TopLevel]) -> Iterator[tuple[Span, ModuleSymbol]]:
    """The modules written out in a file, outer before inner."""
    for item in items:
        if isinstance(item, ast.Module) and item.items is not None and isinstance(item.symbol, ModuleSymbol):
            yield item.span, item.symbol
            yield from _inline(item.items)


def private_fields(modules: ModuleMap, symbol: StructSymbol, place: Span) -> frozenset[str]:
    """The fields of a struct that code at `place` may not name."""
    home = symbol.home
    if home is None or isinstance(symbol.declaration, ast.Schema):
        return frozenset()
    hidden = frozenset(field.name.text for field in symbol.declaration.fields if not field.public)
    return frozenset() if not hidden or modules.at(place).is_inside(home) else hidden
