"""Lexical scopes (L-5.4): what a name denotes where it stands.

Hands on `Scope`, `Import`, `ErroneousSymbol`. Must not know: trees other than names and places of declarations, types.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .. import ast
from ..symbols import FunctionScope, Local, ModuleSymbol, Symbol


@dataclass(eq=False, slots=True)
class ErroneousSymbol(Symbol):
    """A name whose declaration was reported, or may stand where the parser gave up: what uses it is silent."""


@dataclass(eq=False, slots=True)
class AmbiguousSymbol(Symbol):
    """A name that several globs offer (E1008); `modules` are those that offer it."""

    modules: list[str]


@dataclass(eq=False, slots=True)
class Import:
    """One name that a `use` brings into `scope`, or with name `*` all that its path offers. `symbol` is filled when somebody
    asks for the name first; `state` is then `busy`, afterwards `done`."""

    name: ast.Ident
    path: list[ast.Ident]
    scope: Scope
    module: ModuleSymbol
    public: bool
    state: str = "new"
    symbol: Symbol | None = None
    used: bool = False


class Scope:
    """Names of one block, function head or module; `public`: those that `pub` opens to other modules. `open` scopes also
    offer names nobody listed (a glob import that failed)."""

    __slots__ = ("parent", "names", "imports", "globs", "public", "open")

    def __init__(self, parent: Scope | None) -> None:
        self.parent = parent
        self.names: dict[str, Symbol] = {}
        self.imports: dict[str, Import] = {}
        self.globs: list[Import] = []
        self.public: set[str] = set()
        self.open = False

    def visible(self, function: FunctionScope | None) -> Iterator[tuple[str, Symbol]]:
        """Every visible name, innermost first."""
        scope: Scope | None = self
        while scope is not None:
            for name, symbol in scope.names.items():
                if not isinstance(symbol, Local) or sees(function, symbol):
                    yield name, symbol
            for name, imported in scope.imports.items():
                if imported.symbol is not None:
                    yield name, imported.symbol
            scope = scope.parent


def sees(function: FunctionScope | None, local: Local) -> bool:
    """Whether code of `function` may use `local`: its own, or one of a function around a closure."""
    at = function
    while at is not None:
        if at is local.scope:
            return True
        at = at.parent
    return False
