"""What a name or the module part of a path denotes: locals, imports, items, modules, predeclared names (L-8.2, L-8.3).

Hands on `find`, `find_item`, `walk` and `imported`. Must not know: the forms that hold names; what types and enums offer is
asked of `Resolver.associated`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ...vm.builtins import ASSOCIATED, FUNCTIONS
from ...vm.builtins.modules import STD_MODULES, STD_TYPES, std_module
from ...vm.values.errors import FAMILIES
from ..hints.names import PATHS, WITHOUT_USE, did_you_mean, library_help, offers_help
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
    VariantSymbol,
)
from ..syntax import ast
from .state import AmbiguousSymbol, ErroneousSymbol, Import, Resolver, Scope, sees

LIBRARY = "std"  # the file that the text of the library stands in
TOOL_NAMES = ("FileTool", "HttpTool", "ShellTool")

# ---------------------------------------------------------------- single names


def find(r: Resolver, name: ast.Ident) -> Symbol | None:
    """What a name denotes as a value; None if nothing."""
    return _checked(r, _find(r, name.text, local=True), name)


def find_item(r: Resolver, name: ast.Ident) -> Symbol | None:
    """What a name denotes as a type or head of a path: locals do not hide those."""
    return _checked(r, _find(r, name.text, local=False), name)


def _checked(r: Resolver, symbol: Symbol | None, name: ast.Ident) -> Symbol | None:
    if not isinstance(symbol, AmbiguousSymbol):
        return symbol
    offered = " and ".join(f"`{module}`" for module in symbol.modules)
    r.report("E1008", name.span, f"`{name.text}` is offered by {offered}", help="import one of them by name")
    return ErroneousSymbol(name.text)


def _find(r: Resolver, name: str, *, local: bool) -> Symbol | None:
    is_open = False
    at: Scope | None = r.scope
    while at is not None:
        scope, at = at, at.parent
        symbol = scope.names.get(name)
        if symbol is not None and (not isinstance(symbol, Local) or (local and sees(r.function, symbol))):
            return symbol
        if name in scope.imports or scope.globs:
            symbol = _brought(r, scope, name)
            if symbol is not None:
                return symbol
        is_open = is_open or scope.open
    return ErroneousSymbol(name) if is_open else None


def _brought(r: Resolver, scope: Scope, name: str) -> Symbol | None:
    """What the imports of one scope make of a name; by name wins over `*` (L-8.2.2)."""
    if name in scope.imports:
        found = imported(r, scope.imports[name])
        if found is not None:
            scope.imports[name].used = True
            return found
    return _from_globs(r, name, scope.globs)


MOST_GLOBS = 128  # that one name is looked for behind


class _Way(NamedTuple):
    """How a name is reached: by an import by `*`, in the module that another one led to."""

    glob: Import
    before: _Way | None

    def begin(self) -> Import:
        """The first import of the way; all of them are used."""
        at: _Way | None = self
        first = self.glob
        while at is not None:
            first = at.glob
            first.used = True
            at = at.before
        return first


def _from_globs(r: Resolver, name: str, globs: list[Import]) -> Symbol | None:
    """What `use a::*;` offers under a name, also through modules that re-export by `*`: each module is asked once, however many
    ways lead to it."""
    if len(globs) > MOST_GLOBS:
        return _too_many_globs(r, name, globs[0])
    offers: dict[Symbol, _Way] = {}
    asked: set[Symbol] = set()
    waiting = deque([_Way(glob, None) for glob in globs])
    looked = 0
    while waiting:
        way = waiting.popleft()
        looked += 1
        if looked > MOST_GLOBS:
            return _too_many_globs(r, name, globs[0])
        owner = imported(r, way.glob)
        if owner is None or owner in asked:
            continue
        asked.add(owner)
        found, further = _offered(r, owner, name)
        waiting.extend([_Way(glob, way) for glob in further])
        if found is None:
            continue
        first = way.begin()
        if not any(_same(found, other) for other in offers):
            offers[found] = way if first is way.glob else _Way(way.glob, _Way(first, None))
    if len(offers) > 1:
        firsts = [way.begin() for way in offers.values()]
        led = firsts if len({id(glob) for glob in firsts}) > 1 else [way.glob for way in offers.values()]
        return AmbiguousSymbol(name, modules=[str(glob.symbol) for glob in led])
    return next(iter(offers), None)


def _too_many_globs(r: Resolver, name: str, glob: Import) -> Symbol:
    r.report(
        "E0114", glob.name.span, f"more than {MOST_GLOBS} imports by `*` lead on from here",
        help="import the names that are needed",
    )  # fmt: skip
    return ErroneousSymbol(name)


def _same(a: Symbol, b: Symbol) -> bool:
    """Symbols of variants and of library functions are made anew whenever somebody asks."""
    if isinstance(a, VariantSymbol) and isinstance(b, VariantSymbol):
        return a.enum is b.enum and a.name == b.name
    if isinstance(a, StdFunctionSymbol) and isinstance(b, StdFunctionSymbol):
        return (a.module, a.name) == (b.module, b.name)
    return a is b


def _offered(r: Resolver, owner: Symbol, name: str) -> tuple[Symbol | None, list[Import]]:
    """What `owner::*` offers under a name: public items, variants (L-8.2.1); and the imports by `*` that it hands on, which are
    asked where it has nothing of that name."""
    if isinstance(owner, ModuleSymbol):
        found, public, further = _own_member(r, owner, name)
        return (found if public else None), further
    if isinstance(owner, EnumSymbol):
        at = ast.Ident(span=owner.declaration.name.span, text=name)
        return (r.associated(r, owner, at) if name in owner.variants else None), []
    if isinstance(owner, StdModuleSymbol):
        return _std_symbol(r, owner, name), []
    return None, []


# ---------------------------------------------------------------- members of modules


def _own_member(r: Resolver, module: ModuleSymbol, name: str) -> tuple[Symbol | None, bool, list[Import]]:
    """What a module itself has under a name and whether it is public; without, the imports by `*` that it hands on."""
    scope = r.spaces[module]
    if name in scope.names:
        return scope.names[name], name in scope.public, []
    if name in scope.imports:
        found = imported(r, scope.imports[name])
        if found is not None:
            scope.imports[name].used = True
            return found, scope.imports[name].public, []
    further = [glob for glob in scope.globs if glob.public]
    if module is r.root and name in r.rooted.names and not further:
        return r.rooted.names[name], True, []
    return (ErroneousSymbol(name), True, []) if scope.open and not further else (None, False, further)


def _member(r: Resolver, module: ModuleSymbol, name: str) -> tuple[Symbol | None, bool]:
    """A name of a module and whether it is public; modules of the project root are members of the root."""
    own, public, _ = _own_member(r, module, name)
    if own is not None:
        return own, public
    scope = r.spaces[module]
    if (module, name) in r.asking:  # globs that lead back here
        return None, False
    r.asking.add((module, name))
    try:
        for public in (True, False):
            found = _from_globs(r, name, [glob for glob in scope.globs if glob.public == public])
            if found is not None:
                return found, public
    finally:
        r.asking.discard((module, name))
    if module is r.root and name in r.rooted.names:
        return r.rooted.names[name], True
    return (ErroneousSymbol(name), True) if scope.open else (None, False)


def names_of(r: Resolver, module: ModuleSymbol) -> Iterator[str]:
    """What a module offers, for suggestions."""
    yield from r.spaces[module].names
    yield from r.spaces[module].imports
    if module is r.root:
        yield from r.rooted.names


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


# ---------------------------------------------------------------- paths


class Walked(NamedTuple):
    """Where the module part of a path leads: a symbol (None after a report), the segments after it, and the last module the
    path goes through."""

    symbol: Symbol | None
    rest: list[ast.Ident]
    through: ModuleSymbol | None


def walk(r: Resolver, path: list[ast.Ident]) -> Walked:
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
        return r.root, rest
    if head.text == "std" and rest:
        return StdModuleSymbol(""), rest
    if head.text in ("self", "super") and rest:
        return _relative(r, path)
    found = find_item(r, head)
    return found if found is not None else unresolved(r, path, head, _heads(r)), rest


def _relative(r: Resolver, path: list[ast.Ident]) -> tuple[Symbol | None, list[ast.Ident]]:
    """`self` this module, `super` its parent, repeatable."""
    at: ModuleSymbol = r.at
    rest = path[1:] if path[0].text == "self" else path
    while len(rest) > 1 and rest[0].text == "super":
        if at.home is None:
            r.report(
                "E1004", rest[0].span, f"unresolved path `{written(path)}`: `super` leads out of the project root",
                help="use one `super` less, or `crate::…`",
            )
            return None, rest
        at, rest = at.home, rest[1:]
    return at, rest


def _through(r: Resolver, owner: ModuleSymbol, name: ast.Ident, path: list[ast.Ident]) -> Symbol | None:
    found, public = _member(r, owner, name.text)
    found = _checked(r, found, name)
    if found is None:
        return unresolved(r, path, name, names_of(r, owner))
    if not public and not r.at.is_inside(owner):
        message = f"`{name.text}` is private in module `{owner}`"
        r.report("E1005", name.span, message, help=f"declare it `pub` in `{owner}`")
        return ErroneousSymbol(name.text)
    return found


def _library(r: Resolver, owner: StdModuleSymbol, name: ast.Ident, path: list[ast.Ident]) -> Symbol | None:
    if owner.name == "tools" and name.span.file == LIBRARY and name.text in std_module("tools"):
        return StdFunctionSymbol(name.text, owner.name)
    found = _std_symbol(r, owner, name.text)
    if found is not None:
        return found
    return unresolved(r, path, name, _std_names(owner), offers_help(owner.name, name.text))


def _heads(r: Resolver) -> Iterator[str]:
    return (text for text, symbol in r.scope.visible(r.function) if not isinstance(symbol, Local))


def unresolved(
    r: Resolver, path: list[ast.Ident], unknown: ast.Ident, candidates: Iterable[str], offered: str | None = None
) -> Symbol | None:
    """E1004 with the nearest name, what is `offered` instead, or the files that a module would stand in."""
    help = did_you_mean(unknown.text, [name for name in candidates if name != "self"])
    tried = f"tried `{unknown.text}.conc` and `{unknown.text}/mod.conc` in the project root"
    elsewhere = PATHS.get(written(path)) or (WITHOUT_USE.get(path[-1].text) if unknown is path[-1] else None)
    if elsewhere is not None:
        help = elsewhere
    elif unknown is path[0]:
        help = (library_help(unknown.text, path[1].text) if len(path) > 1 else None) or help or _undeclared_type(path) or tried
    elif path[0].text == "crate" and unknown is path[1] and len(path) > 2:
        help = help or tried
    else:
        help = help or offered or f"declare `{unknown.text}` there"
    r.report("E1004", unknown.span, f"unresolved path `{written(path)}`: unknown `{unknown.text}`", help=help)
    return None


def _undeclared_type(path: list[ast.Ident]) -> str | None:
    """For `Wish::Refund` of which nothing is declared."""
    head, last = path[0].text, path[-1].text
    if len(path) != 2 or not head[:1].isupper() or not last[:1].isupper():
        return None
    return f"declare `enum {head} {{ {last}, … }}`; a string union holds texts: `\"{last.lower()}\"`"


def written(path: list[ast.Ident]) -> str:
    return "::".join(segment.text for segment in path)


# ---------------------------------------------------------------- imports


def imported(r: Resolver, one: Import) -> Symbol | None:
    """What a `use` brings in, or for `*` what its path leads to; resolved when it is first asked for. None while that is
    under way: `use a::a;` means another `a` at its head."""
    if one.state == "new":
        one.state = "busy"
        r.chain += 1
        with r.inside(one.module, one.scope):
            if r.chain <= LONGEST_CHAIN:
                one.symbol = _target(r, one)
            else:
                _too_far(r, one)
        r.chain -= 1
        one.state = "done"
        if one.symbol is None:
            one.symbol = ErroneousSymbol(one.name.text)
            one.used = True
            one.scope.open = one.scope.open or one.name.text == "*"
    return one.symbol


LONGEST_CHAIN = 64  # of imports that each name what another one brings in


def _too_far(r: Resolver, one: Import) -> None:
    r.report(
        "E0114", one.name.span, f"the imports behind this one go on for more than {LONGEST_CHAIN} modules",
        help="name the module that declares what is meant",
    )


def _target(r: Resolver, one: Import) -> Symbol | None:
    found, rest, through = walk(r, one.path)
    source = found if isinstance(found, ModuleSymbol) else through
    if source is not None and source is not one.module:
        r.edges.setdefault(one.module, {}).setdefault(source, one.path[0].span.to(one.path[-1].span))
    for name in rest:
        if found is None or isinstance(found, ErroneousSymbol):
            return found
        found = r.associated(r, found, name)
    if found is not None and one.name.text == "*" and not _has_members(found):
        r.report(
            "E1004", one.path[-1].span, f"`{written(one.path)}` is no module: it offers nothing to `*`",
            help="name it without `::*`",
        )
        return None
    return found


def _has_members(symbol: Symbol) -> bool:
    return isinstance(symbol, (ModuleSymbol, StdModuleSymbol, EnumSymbol, ErroneousSymbol))


# ----------------------------------------------------------------
# The outermost scope: built-in functions, constructors and types (L-1.3.7).
#
# Hands on `outermost`, the type table and what is associated with them.

# Type names and their numbers of type arguments (L-3.1).
TYPES: dict[str, int] = {
    **dict.fromkeys(("Int", "Float", "String", "Bool", "Nil", "Any", "Range", "Bytes"), 0),
    "Array": 1, "Map": 2, "Option": 1, "Result": 2, "Schema": 1, "Task": 1, "Set": 1, "Queue": 1, "Stack": 1,
    **dict.fromkeys(("Prompt", "Response", "Message", "ToolCall", "Emit", "Entry", "Turn", "Fact", "Provenance"), 0),
    **dict.fromkeys(("Learned", "Dominant", "Observed"), 0),
    **dict.fromkeys(("ModelRef", "ModelBuilder", "SchemaRef", "Memory", "MemoryRef", "ToolRef", "AgentRef", "Agent"), 0),
    **dict.fromkeys(("KeyedMemory", "McpRef", "Stream", "Chunk"), 0),
    **dict.fromkeys(("HashMapRef", "Ledger", "LedgerRef", "LedgerQuery", "LedgerEntry"), 0), "HashMap": 2,
    "PipelineRef": 0,
}

# Types that are reached through their module of the library only (L-7).
LIBRARY_TYPES = {"HttpResponse": 0, "RegexMatch": 0, "ModelUsage": 0, "BudgetLeft": 0, "Url": 0, "DateTime": 0}

MEMORY_CONSTRUCTORS = ("new", "from", "of")
STORES = ("HashMap", "HashMapRef", "Ledger", "LedgerRef")


def outermost() -> Scope:
    """A scope of everything predeclared."""
    scope = Scope(None)
    names: dict[str, Symbol] = {name: BuiltinSymbol(name) for name in (*TYPES, *FUNCTIONS)}
    names.update((name, ErrorFamilySymbol(name)) for name in FAMILIES)
    scope.names = names
    return scope


def associated(owner: str) -> list[str]:
    """The associated functions of a predeclared type (L-6.9)."""
    if owner in ("Memory", "MemoryRef"):
        return list(MEMORY_CONSTRUCTORS)
    if owner in STORES:
        return ["new"]
    return [name for receiver, name in ASSOCIATED if receiver == owner]


# ----------------------------------------------------------------
# Paths through traits: `X::m`, `T::m` by an impl, `T::X::m` (L-3.10.3).
#
# Hands on `trait_item`, `members_through_traits`.


def trait_item(r: Resolver, owner: Symbol, name: ast.Ident) -> Symbol | None:
    """What `owner::name` names by way of traits: `X::m`, `T::m`, the `T::X` of `T::X::m`; None if nothing."""
    match owner:
        case TraitSymbol():
            return TraitItemSymbol(name.text, owner) if name.text in owner.methods else _unknown(r, owner, name)
        case TraitItemSymbol(trait=TraitSymbol() as trait) if not owner.name:
            known = name.text in trait.methods
            return TraitItemSymbol(name.text, trait, owner.impls, True) if known else _unknown(r, trait, name)
        case TypeParameterSymbol():
            return _of_bounds(r, owner, name)
    impls = r.module.trait_impls.get(owner, [])
    offering = [impl for impl in impls if isinstance(impl.trait, TraitSymbol) and name.text in impl.trait.methods]
    if offering:
        return TraitItemSymbol(name.text, None, offering, True)
    named = find_item(r, name) if name.text[:1].isupper() else None
    if isinstance(named, TraitSymbol):
        return TraitItemSymbol("", named, [impl for impl in impls if impl.trait is named], True)
    return None


def _unknown(r: Resolver, trait: TraitSymbol, name: ast.Ident) -> Symbol | None:
    help = did_you_mean(name.text, trait.methods)
    r.report("E1010", name.span, f"trait `{trait.name}` has no method `{name.text}`", help=help)
    return None


def _of_bounds(r: Resolver, owner: TypeParameterSymbol, name: ast.Ident) -> Symbol | None:
    """`T::m(x)` of a bounded T, and `Self::m(x)` in a trait."""
    bounds = [bound.binding for bound in owner.declaration.bounds if isinstance(bound, ast.NamedType)]
    if owner.name == "Self":
        bounds += [symbol for symbol in r.module.traits if symbol.self_parameter is owner]
    offering = [trait for trait in bounds if isinstance(trait, TraitSymbol) and name.text in trait.methods]
    return TraitItemSymbol(name.text, offering[0]) if offering else None


def members_through_traits(r: Resolver, owner: Symbol) -> list[str]:
    """For suggestions."""
    impls: list[ImplSymbol] = r.module.trait_impls.get(owner, [])
    return [name for impl in impls if isinstance(impl.trait, TraitSymbol) for name in impl.trait.methods]
