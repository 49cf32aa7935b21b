"""The state of one resolution: the scope chain, the function being resolved, and what has been found.

Hands on `Resolver`, `Module`. Must not know: the forms of the language; the tables of its sibling modules do.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from ..diagnostics import Diagnostics, Related
from ..hints.names import did_you_mean, everyday_name, library_help, patient
from ..project import Project
from ..source import Span
from ..symbols import EnumSymbol, FunctionScope, FunctionSymbol, ImplSymbol, Local, ModuleSymbol, Symbol, TraitSymbol
from ..syntax import ast
from ..syntax.ast import Nesting
from ..types import ANY

# ----------------------------------------------------------------
# Lexical scopes (L-5.4): what a name denotes where it stands.
#
# Hands on `Scope`, `Import`, `ErroneousSymbol`.


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


# ----------------------------------------------------------------

DECLARE = {
    "name": "declare it first, or import it with `use`",
    "type": "declare it with `struct`, `enum` or `schema`",
    "tool": "declare a `tool`, `mcp` or `memory` of that name, or import it with `use`",
    "memory": "declare a `memory`, `hashmap` or `ledger` of that name, or import it with `use`",
}
LONGEST = 40  # letters of the program that a help repeats
_DOTTED = re.compile(r"\s*\.\s*(\w+)")


@dataclass(slots=True)
class Module:
    """What a program declares, nested items included, in the order of its modules, in each in source order. `members`: methods
    and associated functions by the type they belong to and their name. `trait_impls`: impls of traits by what their target names.
    `traits`: those of the program and the predeclared ones. `decorated`: decorators where none may stand, and what they stand
    on."""

    symbols: list[Symbol] = field(default_factory=list)
    inits: list[tuple[ModuleSymbol, ast.InitStatement]] = field(default_factory=list)
    modules: list[ModuleSymbol] = field(default_factory=list)
    locals: list[Local] = field(default_factory=list)
    impls: list[ImplSymbol] = field(default_factory=list)
    members: dict[Symbol, dict[str, list[FunctionSymbol]]] = field(default_factory=dict)
    trait_impls: dict[Symbol, list[ImplSymbol]] = field(default_factory=dict)
    traits: list[TraitSymbol] = field(default_factory=list)
    main: Symbol | None = None
    places: dict[Symbol, Span] = field(default_factory=dict)
    decorated: list[tuple[list[ast.Decorator], str]] = field(default_factory=list)

    def add(self, symbol: Symbol, place: Span) -> None:
        self.symbols.append(symbol)
        self.places[symbol] = place

    def members_of(self, owner: Symbol) -> dict[str, list[FunctionSymbol]]:
        return self.members.get(owner, {})

    def sort(self) -> None:
        """Nested items are met late; afterwards all stand in order."""
        self.symbols.sort(key=lambda symbol: (_rank(symbol), self.places[symbol].start))
        self.inits.sort(key=lambda init: (init[0].rank, init[1].span.start))


def _rank(symbol: Symbol) -> int:
    return symbol.home.rank if symbol.home is not None else 0


# A handler visits a node and may hand back one child to go on with, so that long left spines need no recursion.
Handler = Callable[["Resolver", Any], "ast.Node | None"]


class Block:
    """The scope of one `with`; a generator would cost three times as much, and every block has one."""

    __slots__ = ("resolver", "outer")

    def __init__(self, resolver: Resolver) -> None:
        self.resolver = resolver
        self.outer = resolver.scope

    def __enter__(self) -> Scope:
        self.resolver.scope = Scope(self.outer)
        return self.resolver.scope

    def __exit__(self, *problem: object) -> None:
        self.resolver.scope = self.outer


class Resolver:
    __slots__ = (
        "diagnostics", "handlers", "module", "at", "root", "project", "spaces", "by_file", "imports", "edges", "outermost",
        "rooted", "scope", "function", "nesting", "type_keys", "parameters", "associated", "asking",
        "undeclared", "library", "library_tool", "stages", "chain",
        "body_name", "made",
    )  # fmt: skip

    def __init__(
        self,
        diagnostics: Diagnostics,
        outermost: Scope,
        handlers: dict[type[ast.Node], Handler],
        associated: Callable[[Resolver, Symbol, ast.Ident], Symbol | None],
        library_tool: Callable[[Resolver, str], Symbol | None],
        project: Project,
    ) -> None:
        self.diagnostics = diagnostics
        self.handlers = handlers
        self.associated = associated  # what a type offers under a name
        self.library: dict[str, Symbol] = {}  # what was declared of it so far
        self.library_tool = library_tool  # what `std::tools` offers under a name
        self.stages: list[str] = []  # of the pipeline being resolved, those before the present one
        self.chain = 0  # imports that wait for each other now
        self.asking: set[tuple[ModuleSymbol, str]] = set()  # names being looked for behind the globs of a module
        self.project = project
        self.module = Module()
        stem = project.main.rpartition("/")[2].removesuffix(".conc")
        self.root = self.at = ModuleSymbol(stem, project.main)  # `at`: the module whose names are being resolved
        self.spaces: dict[ModuleSymbol, Scope] = {}
        self.by_file: dict[str, ModuleSymbol] = {}
        self.imports: list[Import] = []
        self.undeclared: list[tuple[ModuleSymbol, Sequence[ast.TopLevel]]] = []  # modules whose items have no symbols yet
        self.edges: dict[ModuleSymbol, dict[ModuleSymbol, Span]] = {}  # which modules each imports, and where first
        self.type_keys = set(outermost.names)  # the machine tells declared types from its own by these
        self.parameters = 0
        self.outermost = outermost
        self.rooted = Scope(outermost)  # the modules of the project root
        self.scope = self.rooted
        self.function: FunctionScope | None = None
        self.nesting = Nesting()
        self.body_name = "memory"  # the function around
        self.made: dict[str, int] = {}  # memory values by what they are called after

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

    def block(self) -> Block:
        """A scope inside the present one."""
        return Block(self)

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

    @contextmanager
    def inside(self, module: ModuleSymbol, scope: Scope) -> Iterator[None]:
        """Names resolve as they do in `scope` of `module`."""
        outer = self.at, self.scope, self.function
        self.at, self.scope, self.function = module, scope, None
        try:
            yield
        finally:
            self.at, self.scope, self.function = outer

    def memory_name(self) -> str:
        """What a memory value is called: after the function that makes it, and which one of it (M-2.18)."""
        number = self.made[self.body_name] = self.made.get(self.body_name, 0) + 1
        return f"{self.body_name}#{number}"

    def type_key(self, name: str) -> str:
        """What tells a declared type from others of its name (Nominal.key): nothing for the first one met, the path of the module
        for those after it, and a number in blocks."""
        key = name
        number = 1
        while key in self.type_keys:
            key = "::".join((*self.at.path, name)) + (f"#{number}" if number > 1 else "")
            number += 1
        self.type_keys.add(key)
        return "" if key == name else key

    def parameter_key(self, name: str) -> str:
        """What tells a type parameter from others of its name."""
        self.parameters += 1
        return f"{name}#{self.parameters}"

    def unknown_name(
        self, name: ast.Ident, code: str = "E1001", what: str = "name", offered: Callable[[Symbol], bool] | None = None
    ) -> None:
        """`offered` tells which visible symbols make sense where the name stands."""
        if not patient():
            self.report(code, name.span, f"undefined {what} `{name.text}`", help=everyday_name(name.text) or DECLARE[what])
            return
        visible = self.scope.visible(self.function)
        candidates = (text for text, found in visible if offered is None or offered(found))
        help = self._stage(name.text) or self.elsewhere(name.text) or self.as_variant(name.text) or self._library(name)
        help = help or everyday_name(name.text) or did_you_mean(name.text, candidates) or DECLARE[what]
        self.report(code, name.span, f"undefined {what} `{name.text}`", help=help)

    def nearest_name(self, name: str) -> str | None:
        """The variable that was meant by a name that is nearly so spelt."""
        return did_you_mean(name, [text for text, found in self.scope.visible(self.function) if isinstance(found, Local)])

    def text(self, node: ast.Node) -> str:
        """A node as it is written, if it is short and on one line."""
        written = self.project.sources[node.span.file].text[node.span.start : node.span.end]
        return written if len(written) <= LONGEST and "\n" not in written else "…"

    def _stage(self, name: str) -> str | None:
        """For a stage with parameters that asks for an earlier one: it sees the value of the one before it only (O-6.18)."""
        return f"only `stage x = …;` sees `{name}`; hand its value on" if name in self.stages else None

    def _library(self, name: ast.Ident) -> str | None:
        """For `json.parse(x)` and `Math.max(a, b)`: the module of the library, and the member that follows."""
        text = self.project.sources[name.span.file].text
        dotted = _DOTTED.match(text, name.span.end)
        if dotted is not None and name.text == "std":
            further = _DOTTED.match(text, dotted.end())
            return f"a path is written with `::`: `std::{dotted[1]}{'::' + further[1] if further else ''}`"
        return library_help(name.text, dotted[1]) if dotted is not None else None

    def elsewhere(self, name: str) -> str | None:
        """The `use` that would bring in a public item of that name from another module of the program."""
        for module, scope in self.spaces.items():
            if name in scope.public and module is not self.at:
                return f"add `use {'::'.join(('crate', *module.path, name))};`"
        return None

    def as_variant(self, name: str) -> str | None:
        """The path of a variant of that name, if one visible enum has it."""
        visible = self.scope.visible(self.function)
        enums = [text for text, found in visible if isinstance(found, EnumSymbol) and name in found.variants]
        return f"write `{enums[0]}::{name}`" if len(enums) == 1 else None

    def report(
        self, code: str, span: Span, message: str, *, help: str | None = None, first: Span | None = None
    ) -> None:
        """`first` is the place an earlier declaration stands."""
        related = () if first is None else (Related(first, "first defined here"),)
        self.diagnostics.report(code, span, message, help=help, related=related)
