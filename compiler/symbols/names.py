"""Modules, scopes and variables; what the language and its library declare. Must not know: items of programs."""

from __future__ import annotations

from dataclasses import dataclass, field

from .. import ast
from ..types import Type


@dataclass(eq=False, slots=True)
class Symbol:
    """`home`: the module that declares it, None for predeclared and local names."""

    name: str
    home: ModuleSymbol | None = field(default=None, kw_only=True)


@dataclass(eq=False, slots=True)
class ModuleSymbol(Symbol):
    """A module of the program (L-8.1); `home` is the module around it, None for the root. `file` holds its text; `rank` is
    its place in the order of initialisation (L-5.14.1)."""

    file: str
    rank: int = 0

    @property
    def path(self) -> tuple[str, ...]:
        """Its names from the root, without the root's own."""
        return () if self.home is None else (*self.home.path, self.name)

    def is_inside(self, other: ModuleSymbol) -> bool:
        """Whether this is `other` or a submodule of it, to any depth: it then sees what is private there (L-8.4.1)."""
        at: ModuleSymbol | None = self
        while at is not None and at is not other:
            at = at.home
        return at is not None

    def __str__(self) -> str:
        return "::".join(self.path) or self.name


@dataclass(eq=False, slots=True)
class StdModuleSymbol(Symbol):
    """`std::name`; the library itself has the name ``."""


@dataclass(eq=False, slots=True)
class StdFunctionSymbol(Symbol):
    """The function `std::module::name`: a row of vm/builtins/registry."""

    module: str


@dataclass(eq=False, slots=True)
class FunctionScope:
    """One function body (function, closure, stage …): its locals live here. `parent` is the enclosing one for closures.
    `propagates`: `?` or throw may leave it; `returns_option`: then None leaves as None (L-3.12.4). `copies`: it runs as a task,
    on copies of what it captures (O-6.8); `spawns`: it starts tasks that end before it does (O-6.14); `wraps`: its ends are
    wrapped in Ok (L-3.12.8)."""

    parent: FunctionScope | None
    result: Type | None = None
    returns_option: bool = False
    propagates: bool = False
    copies: bool = False
    spawns: bool = False
    wraps: bool = False
    locals: list[Local] = field(default_factory=list)
    slots: dict[tuple[str, str], ast.SlotRef] = field(default_factory=dict)  # of its clauses, by names of memory and slot


@dataclass(eq=False, slots=True)
class Local(Symbol):
    """A variable, parameter, pattern or catch name. `captured`: some closure reads or writes it, so it lives in a cell."""

    type: Type
    mutable: bool
    scope: FunctionScope
    captured: bool = False
    declared_at: ast.Node | None = None
    read: bool = False  # for W0001
    changed: bool = False  # assigned again or written through, for W0011
    deferred: bool = False  # declared by a `let` without initialiser (L-3.13.3)
    learned: bool = False  # its type is that of its first use (L-3.2.8)


@dataclass(eq=False, slots=True)
class TypeParameterSymbol(Symbol):
    """`T` of a generic declaration; `type` is what it is inside."""

    declaration: ast.TypeParameter
    type: Type


@dataclass(eq=False, slots=True)
class BuiltinSymbol(Symbol):
    """A predeclared function, constructor or type name (print, Some, Memory …), not shadowed."""


@dataclass(eq=False, slots=True)
class ErrorFamilySymbol(Symbol):
    """A built-in error family as a path head; `variant` None for `F::new` and plain F."""

    variant: str | None = None
