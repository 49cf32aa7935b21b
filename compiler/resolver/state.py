"""The state of one resolution: the scope chain, the function being resolved, and what has been found.

Hands on `Resolver`, `Module`. Must not know: the forms of the language; the tables of its sibling modules do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from .. import ast
from ..diagnostics import Diagnostics, Related
from ..nesting import Nesting
from ..source import Span
from ..symbols import ConnectionSymbol, FunctionScope, Local, Symbol
from ..types import ANY
from .everyday import NAMES
from .scopes import Scope
from .spelling import did_you_mean


@dataclass(slots=True)
class Module:
    """What one file declares, nested items included, in source order."""

    symbols: list[Symbol] = field(default_factory=list)
    inits: list[ast.InitStatement] = field(default_factory=list)
    connections: dict[str, ConnectionSymbol] = field(default_factory=dict)
    locals: list[Local] = field(default_factory=list)
    main: Symbol | None = None
    places: dict[Symbol, Span] = field(default_factory=dict)

    def add(self, symbol: Symbol, place: Span) -> None:
        self.symbols.append(symbol)
        self.places[symbol] = place

    def sort(self) -> None:
        """Nested items are met late; afterwards all stand in source order."""
        self.symbols.sort(key=lambda symbol: self.places[symbol].start)


# A handler visits a node and may hand back one child to go on with, so that long left spines need no recursion.
Handler = Callable[["Resolver", Any], "ast.Node | None"]


class Resolver:
    __slots__ = ("diagnostics", "handlers", "module", "scope", "function", "nesting")

    def __init__(self, diagnostics: Diagnostics, outermost: Scope, handlers: dict[type[ast.Node], Handler]) -> None:
        self.diagnostics = diagnostics
        self.handlers = handlers
        self.module = Module()
        self.scope = outermost
        self.function: FunctionScope | None = None
        self.nesting = Nesting()

    def visit(self, node: ast.Node | None) -> None:
        if node is not None:
            self.nesting.call(self._walk, node)

    def _walk(self, start: ast.Node) -> None:
        node: ast.Node | None = start
        while node is not None:
            handler = self.handlers.get(type(node))
            if handler is not None:
                node = handler(self, node)
                continue
            for child in node.children():
                self.visit(child)
            return

    @contextmanager
    def block(self) -> Iterator[Scope]:
        """A scope inside the present one."""
        outer = self.scope
        self.scope = Scope(outer)
        try:
            yield self.scope
        finally:
            self.scope = outer

    @contextmanager
    def body(self, parent: FunctionScope | None) -> Iterator[FunctionScope]:
        """A function body with its own locals; `parent` is set for closures."""
        outer = self.function
        self.function = FunctionScope(parent)
        try:
            with self.block():
                yield self.function
        finally:
            self.function = outer

    def declare(self, name: str, place: ast.Node, mutable: bool = False) -> Local:
        """A new local, visible from here on in the present scope."""
        assert self.function is not None
        local = Local(name, ANY, mutable, self.function, declared_at=place)
        self.function.locals.append(local)
        self.module.locals.append(local)
        self.scope.names[name] = local
        return local

    def find(self, name: str) -> Symbol | None:
        return self.scope.find(name, self.function)

    def unknown_name(
        self, name: ast.Ident, code: str = "E1001", what: str = "name", offered: Callable[[Symbol], bool] | None = None
    ) -> None:
        """`offered` tells which visible symbols make sense where the name stands."""
        visible = self.scope.visible(self.function)
        candidates = (text for text, found in visible if offered is None or offered(found))
        known = NAMES.get(name.text)
        self.report(code, name.span, f"undefined {what} `{name.text}`", help=known or did_you_mean(name.text, candidates))

    def report(
        self, code: str, span: Span, message: str, *, help: str | None = None, first: Span | None = None
    ) -> None:
        """`first` is the place an earlier declaration stands."""
        related = () if first is None else (Related(first, "first defined here"),)
        self.diagnostics.report(code, span, message, help=help, related=related)

    def unbuilt(self, span: Span, name: str) -> None:
        self.diagnostics.report("E4999", span, f"not built yet: {name}")
