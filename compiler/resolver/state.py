"""The state of one resolution: scopes, the function being resolved, and the symbols declared so far.

Hands on `Resolver`, which every handler of this folder takes as `r`, and the type `Handler`; `Module`, the result that the
checker takes; `Scope`, `sees`, `Import` and `AmbiguousSymbol` to `names`, `modules` and `program`; and `ErroneousSymbol` to this
folder and the checker. Nothing is resolved here by itself, and types stay empty: the checker fills them. What a form of the
language does with names is in the tables of handlers of `expressions`, `paths` and `patterns`, which `program` puts together: a
new form needs a handler there and nothing here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ...vm.record import field, record
from ..diagnostics import Diagnostics, Related
from ..hints.names import did_you_mean, everyday_name, library_help, patient
from ..project import Project
from ..source import Span
from ..symbols import (
    EnumSymbol,
    FunctionScope,
    FunctionSymbol,
    ImplSymbol,
    Local,
    ModuleSymbol,
    StructSymbol,
    Symbol,
    TraitSymbol,
)
from ..syntax import ast
from ..syntax.ast import Nesting
from ..types import ANY, LIBRARY_RECORDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..incremental import ImportKey, Reuse

# Lexical scopes (L-5.4): what a name denotes where it stands.


@record
class ErroneousSymbol(Symbol):
    """A name whose declaration was reported, or may stand where the parser gave up: its uses are not reported again."""


@record
class AmbiguousSymbol(Symbol):
    """A name that several globs offer (E1008); `modules` are the names of those that offer it."""

    modules: list[str]


@record
class Import:
    """One name that a `use` of `module` brings into `scope`, or with name `*` all that its path offers; `public` where it is a
    re-export, `used` once the name was needed. `symbol` is filled when the name is first looked up (`names.imported_symbol`);
    `state` is `busy` meanwhile, so that a circle ends, and `done` afterwards."""

    name: ast.Ident
    path: list[ast.Ident]
    scope: Scope
    module: ModuleSymbol
    public: bool
    state: str = "new"
    symbol: Symbol | None = None
    used: bool = False


class Scope:
    """Names of one block, function head or module, inside of `parent`, None for the scope of what is predeclared: declared ones
    in `names`, imported ones in `imports`, imports by `*` in `globs`. `public`: the declared ones that `pub` opens to other
    modules. `open` scopes also offer names nobody listed (of a glob import that failed, or of an item that the parser could not
    read)."""

    __slots__ = ("parent", "names", "imports", "globs", "public", "open")

    def __init__(self, parent: Scope | None) -> None:
        self.parent = parent
        self.names: dict[str, Symbol] = {}
        self.imports: dict[str, Import] = {}
        self.globs: list[Import] = []
        self.public: set[str] = set()
        self.open = False

    def visible(self, function: FunctionScope | None) -> Iterator[tuple[str, Symbol]]:
        """Yield every name that code of `function` sees here, innermost first; an import only if it was looked up, and nothing of
        imports by `*`. A name that an inner one hides comes again."""
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
    """Return whether code of `function` may use `local`: its own, or one of a function around a closure (L-2.4.5)."""
    at = function
    while at is not None:
        if at is local.scope:
            return True
        at = at.parent
    return False


# The last help for an unknown name, by what was looked for.
DECLARE = {
    "name": "declare it first, or import it with `use`",
    "type": "declare it with `struct`, `enum` or `schema`",
    "model": "declare a `model` of that name, or import it with `use`",
    "tool": "declare a `tool`, `mcp` or `memory` of that name, or import it with `use`",
    "memory": "declare a `memory`, `hashmap` or `ledger` of that name, or import it with `use`",
}
LONGEST = 40  # characters of the program that a help repeats
_DOTTED = re.compile(r"\s*\.\s*(\w+)")


@record
class Module:
    """What a program declares, nested items included, in the order of its modules, in each in source order. `members`: methods
    and associated functions by the type they belong to and their name. `trait_impls`: impls of traits by what their target names.
    `traits`: those of the program and the predeclared ones. `inits`: the initialisation statements with their modules. `locals`:
    the variables of all functions, but for those that only the compiler names. `main`: the function `main` of the root, or None.
    `places`: where the name of each symbol is written. `decorated`: decorators where none may stand, and what they stand on.
    `reply`: the schema around replies that are no objects, None where no model is asked for one. `progress`: the enum of the
    fields of a reply that arrives, None where none does."""

    symbols: list[Symbol] = field(factory=list)
    inits: list[tuple[ModuleSymbol, ast.InitStatement]] = field(factory=list)
    modules: list[ModuleSymbol] = field(factory=list)
    locals: list[Local] = field(factory=list)
    impls: list[ImplSymbol] = field(factory=list)
    members: dict[Symbol, dict[str, list[FunctionSymbol]]] = field(factory=dict)
    trait_impls: dict[Symbol, list[ImplSymbol]] = field(factory=dict)
    traits: list[TraitSymbol] = field(factory=list)
    main: Symbol | None = None
    places: dict[Symbol, Span] = field(factory=dict)
    decorated: list[tuple[list[ast.Decorator], str]] = field(factory=list)
    reply: StructSymbol | None = None
    progress: EnumSymbol | None = None

    def add(self, symbol: Symbol, place: Span) -> None:
        """Append a symbol; `place` is where its name is written, of a memory value the whole chain: `sort` orders by it."""
        self.symbols.append(symbol)
        self.places[symbol] = place

    def members_of(self, owner: Symbol) -> dict[str, list[FunctionSymbol]]:
        """Return the methods and associated functions of a type by name, those of traits not among them."""
        return self.members.get(owner, {})

    def sort(self) -> None:
        """Put symbols and initialisers into the order of their modules, then of the source: nested items were added late."""
        self.symbols.sort(key=lambda symbol: (_rank(symbol), self.places[symbol].start))
        self.inits.sort(key=lambda init: (init[0].rank, init[1].span.start))


def _rank(symbol: Symbol) -> int:
    return symbol.home.rank if symbol.home is not None else 0


# A handler visits a node and may return one child to go on with, so that long left spines need no recursion.
Handler = Callable[["Resolver", Any], "ast.Node | None"]


class Block:
    """A scope that lasts for one `with`; `contextmanager` would cost three times as much, and every block of a program has
    one."""

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
    """What is known at one moment of the walk over a program. `at` is the module, `scope` the innermost scope and `function` the
    function whose names are being resolved; None outside of functions. `module` is the result so far. `handlers` has by class of
    node what resolves it, `diagnostics` gets the reports."""

    __slots__ = (
        "diagnostics", "handlers", "module", "at", "root", "project", "spaces", "by_file", "imports", "edges", "outermost",
        "rooted", "libraries",
        "scope", "function", "nesting", "type_keys", "type_numbers", "variants", "parameters", "associated", "asking",
        "undeclared", "library", "library_tool", "enum_parse", "stages", "chain",
        "body_name", "memory_counts", "reuse", "import_keys", "impls_with",
    )  # fmt: skip

    def __init__(
        self,
        diagnostics: Diagnostics,
        outermost: Scope,
        handlers: dict[type[ast.Node], Handler],
        associated: Callable[[Resolver, Symbol, ast.Ident], Symbol | None],
        library_tool: Callable[[Resolver, str], Symbol | None],
        enum_parse: Callable[[Resolver, EnumSymbol], Symbol | None],
        project: Project,
    ) -> None:
        self.diagnostics = diagnostics
        self.handlers = handlers
        # Functions of siblings that import this file, handed in so that imports make no circle:
        self.associated = associated  # what a type offers under a name
        self.library_tool = library_tool  # what `std::tools` offers under a name
        self.enum_parse = enum_parse  # `E::parse` of an enum
        self.library: dict[str, Symbol] = {}  # the tools of `std::tools` that were declared so far
        self.stages: list[str] = []  # of the pipeline being resolved, those before the present one
        self.chain = 0  # imports that wait for each other now
        self.asking: set[tuple[ModuleSymbol, str]] = set()  # names being looked for behind the globs of a module
        self.project = project
        self.module = Module()
        stem = project.main.rpartition("/")[2].removesuffix(".conc")
        self.root = self.at = ModuleSymbol(stem, project.main)  # `at`: the module whose names are being resolved
        self.spaces: dict[ModuleSymbol, Scope] = {}  # the names of each module
        self.by_file: dict[str, ModuleSymbol] = {}  # the modules that are files
        self.imports: list[Import] = []  # all of the program, in the order in which they were met
        self.undeclared: list[tuple[ModuleSymbol, Sequence[ast.TopLevel]]] = []  # modules whose items have no symbols yet
        self.edges: dict[ModuleSymbol, dict[ModuleSymbol, Span]] = {}  # which modules each imports, and where first
        # Of a type, those of a trait or with a method of a name, and how many it had at that time (`names.trait_item`).
        self.impls_with: dict[tuple[Symbol, str | TraitSymbol], tuple[int, list[ImplSymbol]]] = {}
        self.type_numbers: dict[str, int] = {}  # the last one that `type_key` has tried, by the path of a type
        # The machine tells declared types from its own by these.
        self.type_keys = {*outermost.names, *(record.name for record in LIBRARY_RECORDS)}
        self.variants: set[str] = set()  # names of the variants of all enums
        self.parameters = 0  # type parameters so far, for `parameter_key`
        self.outermost = outermost
        # By root module, that of the program and those of libraries: the modules beside it, which need no `mod`.
        self.rooted = {self.root: Scope(outermost)}
        self.libraries: dict[str, ModuleSymbol] = {}  # their root modules, by name
        self.scope = self.rooted[self.root]
        self.function: FunctionScope | None = None
        self.nesting = Nesting()  # through which a walk goes down
        self.body_name = "memory"  # name of the declared function around
        self.memory_counts: dict[str, int] = {}  # memory values so far, by the function that makes them
        self.reuse: Reuse | None = None  # of a check with a cache
        self.import_keys: dict[Import, ImportKey] = {}  # then of the imports outside of blocks

    def visit(self, node: ast.Node | None) -> None:
        """Resolve the names in a node and in what stands inside it, by the handlers; None is passed over."""
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
        """Return a `with` block whose scope is inside the present one."""
        return Block(self)

    @contextmanager
    def body(self, parent: FunctionScope | None) -> Iterator[FunctionScope]:
        """Open a function body with its own locals; `parent` is the function around a closure, None for declared functions."""
        outer = self.function
        self.function = FunctionScope(parent)
        try:
            with self.block():
                yield self.function
        finally:
            self.function = outer

    def declare(self, name: str, place: ast.Node, mutable: bool = False) -> Local:
        """Return a new local of the present function, visible from here on in the present scope; it hides an earlier one of its
        name (L-5.4). There must be a function: AssertionError otherwise."""
        assert self.function is not None
        local = Local(name, ANY, mutable, self.function, declared_at=place)
        self.function.locals.append(local)
        self.module.locals.append(local)
        self.scope.names[name] = local
        return local

    @contextmanager
    def inside(self, module: ModuleSymbol, scope: Scope) -> Iterator[None]:
        """Resolve names as they do in `scope` of `module`, outside of any function, until the `with` ends."""
        outer = self.at, self.scope, self.function
        self.at, self.scope, self.function = module, scope, None
        try:
            yield
        finally:
            self.at, self.scope, self.function = outer

    def use(self, import_: Import) -> None:
        """Mark an import as used by the module whose names are being resolved."""
        import_.used = True
        key = self.import_keys.get(import_)
        if key is not None and self.reuse is not None:
            self.reuse.imports.setdefault(self.at.file, set()).add(key)

    def memory_name(self) -> str:
        """Return the name of the next memory value: the function that makes it and a number from 1, as `main#2` (M-2.18); outside
        of functions `memory#1`."""
        number = self.memory_counts[self.body_name] = self.memory_counts.get(self.body_name, 0) + 1
        return f"{self.body_name}#{number}"

    def type_key(self, name: str) -> str:
        """Return what tells a declared type from others of its name (`Nominal.key`): "" for the first, unless something
        predeclared has the name; else its path with that of its module, `a::T`, with a number where that is taken too,
        `a::T#2`."""
        key = name
        path = "::".join((*self.at.path, name))
        while key in self.type_keys:
            number = self.type_numbers[path] = self.type_numbers.get(path, 0) + 1
            key = f"{path}#{number}" if number > 1 else path
        self.type_keys.add(key)
        return "" if key == name else key

    def parameter_key(self, name: str) -> str:
        """Return what tells a type parameter from others of its name: the name with a number."""
        self.parameters += 1
        return f"{name}#{self.parameters}"

    def unknown_name(
        self, name: ast.Ident, code: str = "E1001", what: str = "name", suits: Callable[[Symbol], bool] | None = None
    ) -> None:
        """Report a name that denotes nothing, with the best of the helps. `suits` tells which visible symbols make sense where
        the name stands; `what` is a key of DECLARE, KeyError otherwise where no better help is found."""
        # Looking for near names takes a walk over all of them: after many reports a program gets the short help.
        if not patient():
            self.report(code, name.span, f"undefined {what} `{name.text}`", help=everyday_name(name.text) or DECLARE[what])
            return
        visible = self.scope.visible(self.function)
        candidates = (text for text, symbol in visible if suits is None or suits(symbol))
        help = self._stage(name.text) or self.elsewhere(name.text) or self.as_variant(name.text) or self._library(name)
        help = help or everyday_name(name.text) or did_you_mean(name.text, candidates) or DECLARE[what]
        self.report(code, name.span, f"undefined {what} `{name.text}`", help=help)

    def nearest_name(self, name: str) -> str | None:
        """Return a help that names the variable spelt most like `name`, or None."""
        return did_you_mean(name, [text for text, symbol in self.scope.visible(self.function) if isinstance(symbol, Local)])

    def text(self, node: ast.Node) -> str:
        """Return a node as it is written if it has at most LONGEST characters on one line, else `…`."""
        written = self.project.sources[node.span.file].text[node.span.start : node.span.end]
        return written if len(written) <= LONGEST and "\n" not in written else "…"

    def _stage(self, name: str) -> str | None:
        """Return the help for a stage with parameters that names an earlier one: it sees the value of the one before it only
        (O-6.18)."""
        return f"only `stage x = …;` sees `{name}`; hand its value on" if name in self.stages else None

    def _library(self, name: ast.Ident) -> str | None:
        """Return the help for `json.parse(x)` and `Math.max(a, b)`: the module of the library, and the member that follows."""
        text = self.project.sources[name.span.file].text
        dotted = _DOTTED.match(text, name.span.end)
        if dotted is not None and name.text == "std":
            further = _DOTTED.match(text, dotted.end())
            return f"a path is written with `::`: `std::{dotted[1]}{'::' + further[1] if further else ''}`"
        return library_help(name.text, dotted[1]) if dotted is not None else None

    def elsewhere(self, name: str) -> str | None:
        """Return a help with the `use` that would bring in a public item of that name from another module, or None."""
        for module, scope in self.spaces.items():
            if name in scope.public and module is not self.at and self._can_reach(module):
                root = () if module.root.library and module.root is not self.at.root else ("crate",)
                path = module.path if root == () else module.path[2 * bool(module.root.library) :]
                return f"add `use {'::'.join((*root, *path, name))};`"
        return None

    def _can_reach(self, module: ModuleSymbol) -> bool:
        """Whether a path from here leads to a module: each one on the way is `pub`, or this module is inside the one around it. A
        library does not see the program, nor other libraries that it does not name."""
        if module.root is not self.at.root and (self.at.root.library or not module.root.library):
            return False
        while module.home is not None:
            around = module.home
            is_file = around in self.rooted and module.name in self.rooted[around].names  # a file beside the root is open to all
            if not is_file and module.name not in self.spaces[around].public and not self.at.is_inside(around):
                return False
            module = around
        return True

    def as_variant(self, name: str) -> str | None:
        """Return a help with the path of a variant of that name, if exactly one visible enum has it, else None."""
        if name not in self.variants:
            return None  # a walk over all names costs too much for each that is unknown
        visible = self.scope.visible(self.function)
        enums = [text for text, symbol in visible if isinstance(symbol, EnumSymbol) and name in symbol.variants]
        return f"write `{enums[0]}::{name}`" if len(enums) == 1 else None

    def report(
        self, code: str, span: Span, message: str, *, help: str | None = None, first: Span | None = None
    ) -> None:
        """Report a diagnostic; `code` is one of the table of `diagnostics.py`, `first` is the place of an earlier declaration of
        the same name."""
        related = () if first is None else (Related(first, "first defined here"),)
        self.diagnostics.report(code, span, message, help=help, related=related)
