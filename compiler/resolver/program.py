"""Name resolution: what every name of a program denotes.

Hands on `resolve` and `unused_locals` to `checker/program.py`. `resolve` fills `binding`, `scope`, `symbol` and the other fields
of the tree that say what a name denotes, marks captured locals, and returns a `Module`: all symbols in order. `unused_locals`
gives the warnings that need the checker's marks. Types stay empty here: the checker fills them. No file is read, and nothing is
raised for a wrong program. Which handler resolves which form of the tree is in the tables of `expressions`, `paths` and
`patterns`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from ..diagnostics import Diagnostic, Diagnostics
from ..libraries import library_path
from ..project import Project
from ..source import Source, Span
from ..symbols import FunctionSymbol, Local, ModuleSymbol
from ..syntax import ast
from . import expressions, paths, patterns
from .items import declare_impls, declare_items, predeclare, visit_items
from .library import declare_library, declare_progress, declare_reply, enum_parse, library_tool
from .modules import file_module, new_module, order_modules, resolve_imports, warn_unused_imports
from .names import outermost
from .state import Module, Resolver, Scope

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..incremental import Reuse

HANDLERS = {
    **paths.HANDLERS, **patterns.HANDLERS, **expressions.HANDLERS, **expressions.TASK_HANDLERS, **expressions.BRACES_HANDLERS,
}  # fmt: skip


def resolve(project: Project, diagnostics: Diagnostics, reuse: Reuse | None = None) -> Module:
    """Resolve all names of a program, whose files must all have trees; return what it declares. Report E1001 to E1005, E1007 to
    E1012 and E1014, E0114 for imports that lead on too far, the modules that could not be read, unused imports (W0002), what
    `items`, `memories` and `memory_blocks` report of declarations, and what the handlers of single forms find. `reuse` says which
    bodies are left out, and notes which imports each file uses.

    The order matters: every item has its symbol before an import is looked up, every method belongs to its type before a body is
    resolved, every alias its type too, and imports inside blocks are known only after the bodies.
    """
    r = Resolver(diagnostics, outermost(), HANDLERS, paths.associated_item, library_tool, enum_parse, project)
    for code, span, message, help in project.rejected:
        r.report(code, span, message, help=help)
    predeclare(r)
    declare_library(r)
    declare_reply(r)
    declare_progress(r)
    bodies = _declare(r)
    if reuse is not None:
        _count_imports(r, reuse)
    resolve_imports(r)
    for module in r.module.modules:
        with r.inside(module, r.spaces[module]):
            declare_impls(r, bodies[module])
    for is_alias in (True, False):  # what a path through an alias leads to is known before the paths
        for module in r.module.modules:
            with r.inside(module, r.spaces[module]):
                visit_items(r, [item for item in bodies[module] if isinstance(item, ast.TypeAlias) is is_alias])
    resolve_imports(r)  # those of blocks, which the bodies have added
    order_modules(r)
    warn_unused_imports(r)
    r.module.sort()
    main = r.spaces[r.root].names.get("main")
    r.module.main = main if isinstance(main, FunctionSymbol) else None
    return r.module


def _declare(r: Resolver) -> dict[ModuleSymbol, Sequence[ast.TopLevel]]:
    """Give every module and every item of a module its symbol; return the items by module."""
    bodies: dict[ModuleSymbol, Sequence[ast.TopLevel]] = {}
    project = r.project
    _declare_below(r, r.root, project.main, project.roots, bodies)
    for name, loaded in sorted(project.libraries.items()):
        root = ModuleSymbol(name, loaded.root or library_path(name, "mod.conc"), library=name)
        r.libraries[name] = root
        r.rooted[root] = Scope(r.outermost)
        _declare_below(r, root, loaded.root, loaded.roots, bodies)
    return bodies


def _declare_below(
    r: Resolver, root: ModuleSymbol, file: str | None, roots: Mapping[str, str],
    bodies: dict[ModuleSymbol, Sequence[ast.TopLevel]],
) -> None:  # fmt: skip
    """Give the modules below a root module their symbols and add their items to `bodies`. `file` is that of the root, None for a
    library without one; `roots` are the files of modules beside it by their names."""
    new_module(r, root)
    r.undeclared.append((root, () if file is None else r.project.trees[file].items))
    if file is not None:
        r.by_file[file] = root
    # In order of their names, so that messages and images do not depend on the file system.
    waiting = sorted(roots.items())
    rooted = r.rooted[root].names
    while r.undeclared or waiting:
        if r.undeclared:
            module, items = r.undeclared.pop(0)
            bodies[module] = items
            with r.inside(module, r.spaces[module]):
                declare_items(r, items)
        else:
            name, beside = waiting.pop(0)
            rooted[name] = file_module(r, beside, name, root)
    for name, symbol in r.spaces[root].names.items():
        if isinstance(symbol, ModuleSymbol):
            # Modules that the root declares are reached from every module, as files of the root are.
            rooted.setdefault(name, symbol)


def _count_imports(r: Resolver, reuse: Reuse) -> None:
    """Give the imports of modules their keys, and mark those that the omitted bodies use."""
    r.reuse = reuse
    numbers: dict[str, int] = {}
    used = {key for record in reuse.records.values() if record is not None for key in record.imports}
    for import_ in r.imports:
        file = import_.module.file
        number = numbers[file] = numbers.get(file, 0) + 1
        key = r.import_keys[import_] = (file, number)
        import_.used = import_.used or key in used


def unused_locals(module: Module, found: Sequence[Diagnostic], sources: dict[str, Source]) -> Iterator[Diagnostic]:
    """Yield the warnings of locals that nothing reads (W0001) and of `mut` that nothing needs (W0011), by the marks of the
    checker, which are complete where there is no error. `sources` are the files by name; `found` are the diagnostics of all
    passes: a name that W0010 was reported for is left out. `self` gets neither, a name that begins with `_` no W0001, and one
    that gets W0001 no W0011."""
    shadowing = {diagnostic.span for diagnostic in found if diagnostic.code == "W0010"}
    holes: dict[str, dict[str, int]] = {}
    for local in module.locals:
        place = local.declared_at
        if place is None or local.name == "self":
            continue
        span = _name_span(place, local)
        # W0010 said that the name is probably a variant.
        if span in shadowing:
            continue
        if not local.read and not local.name.startswith("_"):
            if span.file not in holes:
                holes[span.file] = _holes(sources[span.file].text)
            # A `{name}` behind the declaration is most likely a hole that was meant to read it.
            in_string = holes[span.file].get(local.name, 0) >= span.end
            help = f"write `${{{local.name}}}` in the string: a hole has a `$`" if in_string else None
            help = help or f"write `_{local.name}` if that is meant"
            yield Diagnostic("W0001", f"unused variable `{local.name}`", span, help=help)
        elif local.mutable and not local.changed:
            yield Diagnostic("W0011", f"`{local.name}` need not be `mut`", span, help="remove `mut`")


_HOLE = re.compile(r'\\.|["\n]|(?<!\$)\{(\w+)')


def _holes(text: str) -> dict[str, int]:
    """Return the words behind a `{` in strings, as strings of other languages have holes, with the last offset of each."""
    words: dict[str, int] = {}
    quoted = False
    for match in _HOLE.finditer(text):
        if match[1] is None:
            quoted = (not quoted if match[0] == '"' else quoted) and match[0] != "\n"
        elif quoted:
            words[match[1]] = match.start()
    return words


def _name_span(place: ast.Node, local: Local) -> Span:
    name = getattr(place, "name", None)
    return name.span if isinstance(name, ast.Ident) else place.span
