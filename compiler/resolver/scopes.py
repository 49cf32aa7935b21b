"""Lexical scopes (L-5.4): what a name denotes where it stands.

Hands on `Scope`, `UnbuiltSymbol`. Must not know: trees other than as places of declarations, types.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..symbols import FunctionScope, Local, Symbol


@dataclass(eq=False, slots=True)
class UnbuiltSymbol(Symbol):
    """A name declared by a construct that this compiler parses but does not compile; it has type Any everywhere. `reported`:
    E4999 stands at that construct, so uses of the name are silent."""

    reported: bool = True


class Scope:
    """Names of one block, function head or module. `open` scopes also offer names nobody listed (a glob import)."""

    __slots__ = ("parent", "names", "open")

    def __init__(self, parent: Scope | None) -> None:
        self.parent = parent
        self.names: dict[str, Symbol] = {}
        self.open = False

    def chain(self) -> Iterator[Scope]:
        scope: Scope | None = self
        while scope is not None:
            yield scope
            scope = scope.parent

    def find(self, name: str, function: FunctionScope | None) -> Symbol | None:
        """What `name` denotes inside `function`; locals of functions around an item are invisible (L-2.4.5)."""
        scope: Scope | None = self
        while scope is not None:
            symbol = scope.names.get(name)
            if symbol is not None and (not isinstance(symbol, Local) or sees(function, symbol)):
                return symbol
            scope = scope.parent
        return UnbuiltSymbol(name) if any(s.open for s in self.chain()) else None

    def find_item(self, name: str) -> Symbol | None:
        """What `name` denotes as a type: locals do not hide types."""
        for scope in self.chain():
            symbol = scope.names.get(name)
            if symbol is not None and not isinstance(symbol, Local):
                return symbol
        return UnbuiltSymbol(name) if any(s.open for s in self.chain()) else None

    def visible(self, function: FunctionScope | None) -> Iterator[tuple[str, Symbol]]:
        """Every visible name, innermost first."""
        for scope in self.chain():
            for name, symbol in scope.names.items():
                if not isinstance(symbol, Local) or sees(function, symbol):
                    yield name, symbol


def sees(function: FunctionScope | None, local: Local) -> bool:
    """Whether code of `function` may use `local`: its own, or one of a function around a closure."""
    at = function
    while at is not None:
        if at is local.scope:
            return True
        at = at.parent
    return False
