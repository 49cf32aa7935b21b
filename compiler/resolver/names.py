"""What a name or the module part of a path denotes: locals, imports, items, modules, predeclared names (L-8.2, L-8.3).

Hands on `find` (a value), `find_item` (a type or the head of a path), `walk` (the module part of a path), `trait_item` (a path
through a trait), `imported_symbol` and their helpers to the other files of this folder; `outermost`, the scope of what is
predeclared, to `program` and the language server; TYPES, LIBRARY_TYPES and STORES, the predeclared types, to the checker, the
first two to `paths` too; LIBRARY to `library`; and TOOL_NAMES to `incremental` and the language server. A new predeclared type is
a row of TYPES; one whose checked form is no type by its name alone has a row in `checker/types.py` too. `r` is the state of the
resolution: what is wrong is reported to it, and nothing is raised for a wrong program. What types and enums offer is asked of
`Resolver.associated`, since `paths` imports this file; which impl or method a call means is the checker's.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ...vm.builtins import ASSOCIATED, FUNCTIONS
from ...vm.builtins.modules import STD_MODULES, STD_TYPES, std_module
from ...vm.values.errors import FAMILIES
from ..hints.names import PATHS, WITHOUT_USE, did_you_mean, library_help, offers_help
from ..libraries import HEAD
from ..symbols import (
    BuiltinSymbol,
    EnumSymbol,
    ErrorFamilySymbol,
    ImplSymbol,
    Local,
    ModuleSymbol,
    StdFunctionSymbol,
    StdModuleSymbol,
    Symbol,
    TraitItemSymbol,
    TraitSymbol,
    TypeParameterSymbol,
)
from ..syntax import ast
from .state import AmbiguousSymbol, ErroneousSymbol, Import, Resolver, Scope, sees

LIBRARY = "std"  # the file that the text of the library stands in
TOOL_NAMES = ("FileTool", "HttpTool", "ShellTool")


def find(r: Resolver, name: ast.Ident) -> Symbol | None:
    """Return what a name denotes as a value; None if nothing, which is not reported. A name that two globs offer is reported
    (E1008) and gives an ErroneousSymbol, as does one for which too many globs have to be searched (E0114); one whose declaration
    could not be understood gives it too. An import that is looked up first here is resolved, with its reports."""
    return _unambiguous(r, _look_up(r, name.text, local=True), name)


def find_item(r: Resolver, name: ast.Ident) -> Symbol | None:
    """Return what a name denotes as a type or head of a path, as `find` does: locals do not hide those."""
    return _unambiguous(r, _look_up(r, name.text, local=False), name)


def _unambiguous(r: Resolver, symbol: Symbol | None, name: ast.Ident) -> Symbol | None:
    if not isinstance(symbol, AmbiguousSymbol):
        return symbol
    modules = " and ".join(f"`{module}`" for module in symbol.modules)
    r.report("E1008", name.span, f"`{name.text}` is offered by {modules}", help="import one of them by name")
    return ErroneousSymbol(name.text)


def _look_up(r: Resolver, name: str, *, local: bool) -> Symbol | None:
    """Look a name up from the innermost scope outwards. In an open scope the name may stand where the parser gave up."""
    is_open = False
    at: Scope | None = r.scope
    while at is not None:
        scope, at = at, at.parent
        symbol = scope.names.get(name)
        # A local of a function around a declared function is not visible in it: the search goes on outwards.
        if symbol is not None and (not isinstance(symbol, Local) or (local and sees(r.function, symbol))):
            return symbol
        if name in scope.imports or scope.globs:
            symbol = _from_imports(r, scope, name)
            if symbol is not None:
                return symbol
        is_open = is_open or scope.open
    return ErroneousSymbol(name) if is_open else None


def _from_imports(r: Resolver, scope: Scope, name: str) -> Symbol | None:
    """Return what the imports of one scope bring in under a name; an import by name wins over `*` (L-8.2.2)."""
    if name in scope.imports:
        symbol = imported_symbol(r, scope.imports[name])
        if symbol is not None:
            r.use(scope.imports[name])
            return symbol
    return _from_globs(r, name, scope.globs)


MOST_GLOBS = 128  # imports by `*` that are searched for one name: re-exports can make every search as long as the program


class _Way(NamedTuple):
    """How a name is reached: by an import by `*`, in the module that another one led to."""

    glob: Import
    before: _Way | None

    def begin(self, r: Resolver) -> Import:
        """Return the first import of the way, and mark all imports of it as used."""
        at: _Way | None = self
        first = self.glob
        while at is not None:
            first = at.glob
            r.use(first)
            at = at.before
        return first


def _from_globs(r: Resolver, name: str, globs: list[Import]) -> Symbol | None:
    """Return what `use a::*;` offers under a name, also through modules that re-export by `*`.

    A breadth-first search in which each module is asked once, however many ways lead to it. Of two different symbols the answer
    is an AmbiguousSymbol that names the imports where the ways part.
    """
    if len(globs) > MOST_GLOBS:
        return _too_many_globs(r, name, globs[0])
    offers: dict[Symbol, _Way] = {}
    searched: set[Symbol] = set()
    waiting = deque([_Way(glob, None) for glob in globs])
    steps = 0
    while waiting:
        way = waiting.popleft()
        steps += 1
        if steps > MOST_GLOBS:
            return _too_many_globs(r, name, globs[0])
        owner = imported_symbol(r, way.glob)
        if owner is None or owner in searched:
            continue
        searched.add(owner)
        symbol, further = _public_item(r, owner, name)
        waiting.extend([_Way(glob, way) for glob in further])
        if symbol is None:
            continue
        first = way.begin(r)
        if not any(_same(symbol, other) for other in offers):
            offers[symbol] = way if first is way.glob else _Way(way.glob, _Way(first, None))
    if len(offers) > 1:
        firsts = [way.begin(r) for way in offers.values()]
        parting = firsts if len({id(glob) for glob in firsts}) > 1 else [way.glob for way in offers.values()]
        return AmbiguousSymbol(name, modules=[str(glob.symbol) for glob in parting])
    return next(iter(offers), None)


def _too_many_globs(r: Resolver, name: str, glob: Import) -> Symbol:
    r.report(
        "E0114", glob.name.span, f"more than {MOST_GLOBS} imports by `*` lead on from here",
        help="import the names that are needed",
    )  # fmt: skip
    return ErroneousSymbol(name)


def _same(a: Symbol, b: Symbol) -> bool:
    """Return whether two symbols denote the same: by identity, but those that each look-up makes anew by what they name."""
    return a is b or (type(a) is type(b) and _named(a) is not None and _named(a) == _named(b))


def _named(symbol: Symbol) -> tuple[object, ...] | None:
    """Return what tells a symbol from others of its class, None for one that is made once."""
    match symbol:
        case BuiltinSymbol() | StdModuleSymbol() | ErroneousSymbol():
            return (symbol.name,)
        case StdFunctionSymbol():
            return symbol.module, symbol.name
        case ErrorFamilySymbol():
            return symbol.name, symbol.variant
        case TraitItemSymbol():
            return symbol.name, symbol.trait, symbol.of_type, *symbol.impls
    return None


def _public_item(r: Resolver, owner: Symbol, name: str) -> tuple[Symbol | None, list[Import]]:
    """Return what `owner::*` offers under a name: public items, variants (L-8.2.1); and the imports by `*` that it re-exports,
    which are searched where it has nothing of that name."""
    if isinstance(owner, ModuleSymbol):
        symbol, public, further = _own_member(r, owner, name)
        return (symbol if public else None), further
    if isinstance(owner, EnumSymbol):
        at = ast.Ident(span=owner.declaration.name.span, text=name)
        return (r.associated(r, owner, at) if name in owner.variants else None), []
    if isinstance(owner, StdModuleSymbol):
        return _std_symbol(r, owner, name), []
    return None, []


# Members of modules.


def _own_member(r: Resolver, module: ModuleSymbol, name: str) -> tuple[Symbol | None, bool, list[Import]]:
    """Return what a module itself has under a name and whether it is public; if it has nothing, its re-exports by `*`."""
    scope = r.spaces[module]
    if name in scope.names:
        return scope.names[name], name in scope.public, []
    if name in scope.imports:
        symbol = imported_symbol(r, scope.imports[name])
        if symbol is not None:
            r.use(scope.imports[name])
            return symbol, scope.imports[name].public, []
    further = [glob for glob in scope.globs if glob.public]
    if module in r.rooted and name in r.rooted[module].names and not further:
        return r.rooted[module].names[name], True, []
    return (ErroneousSymbol(name), True, []) if scope.open and not further else (None, False, further)


def _member(r: Resolver, module: ModuleSymbol, name: str) -> tuple[Symbol | None, bool]:
    """Return a member of a module and whether it is public; modules of the project root are members of the root."""
    own, public, _ = _own_member(r, module, name)
    if own is not None:
        return own, public
    scope = r.spaces[module]
    if (module, name) in r.asking:  # an import by `*` led back here
        return None, False
    r.asking.add((module, name))
    try:
        # Public re-exports first: what others may see counts more than what only this module imports.
        for public in (True, False):
            symbol = _from_globs(r, name, [glob for glob in scope.globs if glob.public == public])
            if symbol is not None:
                return symbol, public
    finally:
        r.asking.discard((module, name))
    if module in r.rooted and name in r.rooted[module].names:
        return r.rooted[module].names[name], True
    return (ErroneousSymbol(name), True) if scope.open else (None, False)


def names_of(r: Resolver, module: ModuleSymbol) -> Iterator[str]:
    """Yield the names in a module, those that it declares or imports by name, for suggestions; a name may come twice."""
    yield from r.spaces[module].names
    yield from r.spaces[module].imports
    if module in r.rooted:
        yield from r.rooted[module].names


def _std_symbol(r: Resolver, module: StdModuleSymbol, name: str) -> Symbol | None:
    if not module.name:
        return StdModuleSymbol(name) if name in STD_MODULES or name == "tools" else None
    if module.name == "tools":
        return r.library_tool(r, name)
    if name in STD_TYPES.get(module.name, ()):
        return r.outermost.names.get(name) or BuiltinSymbol(name)
    if name not in std_module(module.name):
        return None
    return StdFunctionSymbol(name, module.name)


def _std_names(module: StdModuleSymbol) -> tuple[str, ...]:
    if module.name == "tools":
        return TOOL_NAMES
    return (*std_module(module.name), *STD_TYPES.get(module.name, ())) if module.name else (*STD_MODULES, "tools")


# Paths.


class Walked(NamedTuple):
    """Where the module part of a path leads: a symbol (None or an ErroneousSymbol after a report), the segments after it, and the
    last module the path goes through."""

    symbol: Symbol | None
    rest: list[ast.Ident]
    through: ModuleSymbol | None


def walk(r: Resolver, path: list[ast.Ident]) -> Walked:
    """Follow a path through modules to the first symbol that is no module, or to its end; report an unknown name (E1004), a
    private one (E1005), one that two globs offer (E1008) or that too many have to be searched for (E0114), and a library that two
    distributions declare (E1012)."""
    owner, rest = _head(r, path)
    through: ModuleSymbol | None = None
    while rest and isinstance(owner, (ModuleSymbol, StdModuleSymbol)):
        name, *rest = rest
        if isinstance(owner, ModuleSymbol):
            through = owner
            owner = _through(r, owner, name, path)
        else:
            owner = _library(r, owner, name, path)
    return Walked(owner, rest, through)


def _head(r: Resolver, path: list[ast.Ident]) -> tuple[Symbol | None, list[ast.Ident]]:
    head, *rest = path
    if head.text == "crate" and rest:
        return r.at.root, rest
    if head.text == "std" and rest:
        return StdModuleSymbol(""), rest
    if head.text in ("self", "super") and rest:
        return _relative(r, path)
    symbol = find_item(r, head)
    if symbol is None and head.text == HEAD and rest:
        return _installed(r, path), rest[1:]
    return symbol if symbol is not None else report_unresolved(r, path, head, _heads(r)), rest


def _installed(r: Resolver, path: list[ast.Ident]) -> Symbol | None:
    """Return the root module of the library that a path `lib::NAME…` begins with; None after a report: E1004 where there is none
    of that name, E1012 where two distributions declare it (P-3.1)."""
    name = path[1]
    module = r.libraries.get(name.text)
    if module is not None:
        return module
    missing = r.project.missing.get(name.text)
    if missing is not None:
        r.report(missing.code, name.span, missing.message, help=missing.help)
    else:  # the file declares a `lib` elsewhere, so that no library was looked for
        help = f"another item of this file is called `{HEAD}`: rename it"
        r.report("E1004", name.span, f"unresolved path `{path_text(path)}`: unknown `{name.text}`", help=help)
    return None


def _relative(r: Resolver, path: list[ast.Ident]) -> tuple[Symbol | None, list[ast.Ident]]:
    """Return the module that `self` and any number of `super` lead to, and the segments after them (L-8.3)."""
    at: ModuleSymbol = r.at
    rest = path[1:] if path[0].text == "self" else path
    while len(rest) > 1 and rest[0].text == "super":
        if at.home is None:
            r.report(
                "E1004", rest[0].span, f"unresolved path `{path_text(path)}`: `super` leads out of the project root",
                help="use one `super` less, or `crate::…`",
            )
            return None, rest
        at, rest = at.home, rest[1:]
    return at, rest


def _through(r: Resolver, owner: ModuleSymbol, name: ast.Ident, path: list[ast.Ident]) -> Symbol | None:
    symbol, public = _member(r, owner, name.text)
    symbol = _unambiguous(r, symbol, name)
    if symbol is None:
        return report_unresolved(r, path, name, names_of(r, owner))
    if not public and not r.at.is_inside(owner):
        message = f"`{name.text}` is private in module `{owner}`"
        help = f"declare it `pub` in `{owner}`"
        if owner.root is not r.at.root:
            help = f"the library `{owner.root.library}` keeps it for itself: use what it declares `pub`"
        r.report("E1005", name.span, message, help=help)
        return ErroneousSymbol(name.text)
    return symbol


def _library(r: Resolver, owner: StdModuleSymbol, name: ast.Ident, path: list[ast.Ident]) -> Symbol | None:
    if owner.name == "tools" and name.span.file == LIBRARY and name.text in std_module("tools"):
        return StdFunctionSymbol(name.text, owner.name)
    symbol = _std_symbol(r, owner, name.text)
    if symbol is not None:
        return symbol
    return report_unresolved(r, path, name, _std_names(owner), offers_help(owner.name, name.text))


def _heads(r: Resolver) -> Iterator[str]:
    return (text for text, symbol in r.scope.visible(r.function) if not isinstance(symbol, Local))


def report_unresolved(
    r: Resolver, path: list[ast.Ident], unknown: ast.Ident, candidates: Iterable[str], alternative: str | None = None
) -> Symbol | None:
    """Report E1004 with the best help: a path of other languages, the nearest of `candidates`, `alternative`, or the files that a
    module would stand in. Return None, so that a caller can return it. `unknown` is the segment of `path` that names nothing."""
    help = did_you_mean(unknown.text, [name for name in candidates if name != "self"])
    tried = f"tried `{unknown.text}.conc` and `{unknown.text}/mod.conc` in the project root"
    elsewhere = PATHS.get(path_text(path)) or (WITHOUT_USE.get(path[-1].text) if unknown is path[-1] else None)
    if elsewhere is not None:
        help = elsewhere
    elif unknown is path[0]:
        help = (library_help(unknown.text, path[1].text) if len(path) > 1 else None) or help or _undeclared_type(path) or tried
    elif path[0].text == "crate" and unknown is path[1] and len(path) > 2:
        help = help or tried
    else:
        help = help or alternative or f"declare `{unknown.text}` there"
    r.report("E1004", unknown.span, f"unresolved path `{path_text(path)}`: unknown `{unknown.text}`", help=help)
    return None


def _undeclared_type(path: list[ast.Ident]) -> str | None:
    """Return the help for `Wish::Refund` of which nothing is declared."""
    head, last = path[0].text, path[-1].text
    if len(path) != 2 or not head[:1].isupper() or not last[:1].isupper():
        return None
    return f"declare `enum {head} {{ {last}, … }}`; a string union holds texts: `\"{last.lower()}\"`"


def path_text(path: list[ast.Ident]) -> str:
    """Return a path as the source has it, `a::b`."""
    return "::".join(segment.text for segment in path)


# Imports.


def imported_symbol(r: Resolver, import_: Import) -> Symbol | None:
    """Return what a `use` brings in, or for `*` what its path leads to; resolved at the first look-up. None while that is under
    way: `use a::a;` means another `a` at its head. A path that leads nowhere is reported and gives an ErroneousSymbol, as do a
    `*` of what is no module (E1004) and an import behind a chain of more than LONGEST_CHAIN (E0114)."""
    if import_.state == "new":
        import_.state = "busy"
        r.chain += 1
        with r.inside(import_.module, import_.scope):
            if r.chain <= LONGEST_CHAIN:
                import_.symbol = _import_target(r, import_)
            else:
                _report_long_chain(r, import_)
        r.chain -= 1
        import_.state = "done"
        if import_.symbol is None:
            import_.symbol = ErroneousSymbol(import_.name.text)
            import_.used = True
            import_.scope.open = import_.scope.open or import_.name.text == "*"
    return import_.symbol


LONGEST_CHAIN = 64  # of imports that each name what another one brings in


def _report_long_chain(r: Resolver, import_: Import) -> None:
    r.report(
        "E0114", import_.name.span, f"the imports behind this one go on for more than {LONGEST_CHAIN} modules",
        help="name the module that declares what is meant",
    )


def _import_target(r: Resolver, import_: Import) -> Symbol | None:
    symbol, rest, through = walk(r, import_.path)
    source = symbol if isinstance(symbol, ModuleSymbol) else through
    if source is not None and source is not import_.module:
        # For the order of initialisation and for circles between files.
        r.edges.setdefault(import_.module, {}).setdefault(source, import_.path[0].span.to(import_.path[-1].span))
    for name in rest:
        if symbol is None or isinstance(symbol, ErroneousSymbol):
            return symbol
        symbol = r.associated(r, symbol, name)
    if symbol is not None and import_.name.text == "*" and not _has_members(symbol):
        r.report(
            "E1004", import_.path[-1].span, f"`{path_text(import_.path)}` is no module: it offers nothing to `*`",
            help="name it without `::*`",
        )
        return None
    return symbol


def _has_members(symbol: Symbol) -> bool:
    return isinstance(symbol, (ModuleSymbol, StdModuleSymbol, EnumSymbol, ErroneousSymbol))


# The outermost scope: built-in functions, constructors and types (L-1.3.7).

# Type names and their numbers of type arguments (L-3.1).
TYPES: dict[str, int] = {
    **dict.fromkeys(("Int", "Float", "String", "Bool", "Nil", "Any", "Range", "Bytes"), 0),
    "Array": 1, "Map": 2, "Option": 1, "Result": 2, "Schema": 1, "Task": 1, "Set": 1, "Queue": 1, "Stack": 1,
    **dict.fromkeys(("Prompt", "Response", "Message", "ToolCall", "Emit", "Entry", "Turn", "Fact", "Provenance"), 0),
    **dict.fromkeys(("Learned", "Dominant", "Observed", "Citation"), 0),
    **dict.fromkeys(("ModelRef", "ModelBuilder", "SchemaRef", "Memory", "MemoryRef", "ToolRef", "AgentRef", "Agent"), 0),
    **dict.fromkeys(("KeyedMemory", "McpRef", "McpResource", "McpPrompt", "Stream", "Chunk"), 0),
    "TypedStream": 1, "ItemStream": 1, "Partial": 1,
    **dict.fromkeys(("HashMapRef", "Ledger", "LedgerRef", "LedgerQuery", "LedgerEntry"), 0), "HashMap": 2,
    "EmbedderRef": 0, "Index": 1,
    "PipelineRef": 0,
}

# Types that are reached through their module of the library only (L-7).
LIBRARY_TYPES = dict.fromkeys(
    ("HttpResponse", "RegexMatch", "ModelUsage", "BudgetLeft", "Url", "DateTime", "Media", "Passage"), 0
)

# Associated functions of memories, and the types that have `new` (`of` for an Index) as their only one.
MEMORY_CONSTRUCTORS = ("new", "from", "of")
STORES = ("HashMap", "HashMapRef", "Ledger", "LedgerRef", "Index")


def outermost() -> Scope:
    """Return a new scope of everything predeclared: types, built-in functions and error families."""
    scope = Scope(None)
    names: dict[str, Symbol] = {name: BuiltinSymbol(name) for name in (*TYPES, *FUNCTIONS)}
    names.update((name, ErrorFamilySymbol(name)) for name in FAMILIES)
    scope.names = names
    return scope


def associated_functions(owner: str) -> list[str]:
    """Return the names of the associated functions of a predeclared type (L-6.9), an empty list for one without any and for
    another name."""
    if owner in ("Memory", "MemoryRef"):
        return list(MEMORY_CONSTRUCTORS)
    if owner in STORES:
        return ["of" if owner == "Index" else "new"]
    return [name for receiver, name in ASSOCIATED if receiver == owner]


# Paths through traits: `X::m`, `T::m` by an impl, `T::X::m` (L-3.10.3).


def trait_item(r: Resolver, owner: Symbol, name: ast.Ident) -> Symbol | None:
    """Return what `owner::name` names by way of traits: `X::m`, `T::m`, the `T::X` of `T::X::m`; None if nothing. E1010 where the
    owner is a trait without such a method, with None, and where it does not implement the trait of that name, with an
    ErroneousSymbol. Which impl a call means, the checker finds by its types."""
    match owner:
        case TraitSymbol():
            return TraitItemSymbol(name.text, owner) if name.text in owner.methods else _unknown(r, owner, name)
        case TraitItemSymbol(trait=TraitSymbol() as trait) if not owner.name:
            known = name.text in trait.methods
            return TraitItemSymbol(name.text, trait, owner.impls, True) if known else _unknown(r, trait, name)
        case TypeParameterSymbol():
            return _of_bounds(r, owner, name)
    offering = _impls_with(r, owner, name.text)
    if offering:
        return TraitItemSymbol(name.text, None, offering, True)
    named = find_item(r, name) if name.text[:1].isupper() else None
    if not isinstance(named, TraitSymbol):
        return None
    impls = _impls_with(r, owner, named)
    if impls:
        return TraitItemSymbol("", named, impls, True)
    message, help = f"`{owner.name}` does not implement `{named.name}`", f"write `impl {named.name} for {owner.name} {{ … }}`"
    r.report("E1010", name.span, message, help=help)
    return ErroneousSymbol(name.text)


def _impls_with(r: Resolver, owner: Symbol, wanted: str | TraitSymbol) -> list[ImplSymbol]:
    """Return the impls of a type whose trait is the one that is wanted, or has a method of that name. It is the same list
    each time until the type gets another impl: it must not be changed."""
    impls = r.module.trait_impls.get(owner, [])
    count, found = r.impls_with.get((owner, wanted), (0, []))
    if count != len(impls):
        traits = [(impl, impl.trait) for impl in impls if isinstance(impl.trait, TraitSymbol)]
        found = [impl for impl, trait in traits if (wanted in trait.methods if isinstance(wanted, str) else wanted is trait)]
        r.impls_with[owner, wanted] = len(impls), found
    return found


def _unknown(r: Resolver, trait: TraitSymbol, name: ast.Ident) -> Symbol | None:
    help = did_you_mean(name.text, trait.methods)
    r.report("E1010", name.span, f"trait `{trait.name}` has no method `{name.text}`", help=help)
    return None


def _of_bounds(r: Resolver, owner: TypeParameterSymbol, name: ast.Ident) -> Symbol | None:
    """Return the method that a bound of T offers: `T::m(x)` of a bounded T, and `Self::m(x)` in a trait."""
    bounds = [bound.binding for bound in owner.declaration.bounds if isinstance(bound, ast.NamedType)]
    if owner.name == "Self":
        bounds += [symbol for symbol in r.module.traits if symbol.self_parameter is owner]
    offering = [trait for trait in bounds if isinstance(trait, TraitSymbol) and name.text in trait.methods]
    return TraitItemSymbol(name.text, offering[0]) if offering else None


def members_through_traits(r: Resolver, owner: Symbol) -> list[str]:
    """Return the names of the methods that the impls of traits give a type, for suggestions; a name may come twice."""
    impls: list[ImplSymbol] = r.module.trait_impls.get(owner, [])
    return [name for impl in impls if isinstance(impl.trait, TraitSymbol) for name in impl.trait.methods]
