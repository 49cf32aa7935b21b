"""Modules and imports: which modules a program has, what each `use` brings in, in which order they come (L-8.1, L-8.2, L-5.14.1).

Hands on `declare_module` and `declare_imports` to `items`; `new_module`, `file_module`, `resolve_imports`, `order_modules` and
`warn_unused_imports` to `program`. A new form of `use` is a case of `_paths_of`; what one import brings in is looked up by
`names`. Which files there are `project` has found: nothing is read here. `r` is the state of the resolution, to which what is
wrong is reported. Graph walks here are loops with a stack of their own: a program may have more modules in a row than Python has
frames.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from ..project import module_files
from ..source import Span
from ..symbols import ModuleSymbol, Symbol
from ..syntax import ast
from .names import imported_symbol, path_text
from .state import ErroneousSymbol, Import, Resolver, Scope


def new_module(r: Resolver, module: ModuleSymbol) -> ModuleSymbol:
    """Give a module its scope, append it to the modules of the program, and return it; its items are declared later, by
    `program`. The root module of a library is entered into `Resolver.rooted` before."""
    r.spaces[module] = Scope(r.rooted[module.root])
    r.module.modules.append(module)
    return module


def file_module(r: Resolver, file: str, name: str, home: ModuleSymbol) -> ModuleSymbol:
    """Return the module of a file, made at the first call for it, with this `name` and inside of `home`; the first `mod` line
    that names the file decides where in the tree of modules it stands."""
    if file not in r.by_file:
        # A file is one module, also if two `mod` lines name it.
        r.by_file[file] = new_module(r, ModuleSymbol(name, file, home=home))
        r.undeclared.append((r.by_file[file], r.project.trees[file].items))
    return r.by_file[file]


def declare_module(r: Resolver, item: ast.Module) -> Symbol:
    """Return the symbol of `mod name;` or `mod name { … }`. Reports E1004 where there is no file, and returns an ErroneousSymbol
    then; E1007 for modules that declare each other."""
    name = item.name.text
    if item.items is not None:
        inline = new_module(r, ModuleSymbol(name, r.at.file, home=r.at))
        r.undeclared.append((inline, item.items))
        return inline
    file = r.project.declared.get(item.name.span)
    if file is None:
        _no_file(r, item.name)
        return ErroneousSymbol(name)
    module = file_module(r, file, name, r.at)
    if r.at.is_inside(module):
        circle = " -> ".join([str(module), *(str(m) for m in _modules_between(r.at, module)), str(module)])
        r.report(
            "E1007", item.name.span, f"the modules declare each other in a circle: `{circle}`",
            help="remove one of the `mod` lines",
        )
    return module


def _no_file(r: Resolver, name: ast.Ident) -> None:
    """Report E1004, unless the file exists and was rejected: that has been reported."""
    if not any(place == name.span for _, place, _, _ in r.project.rejected):
        first, second = module_files(name.span.file.rpartition("/")[0], name.text)
        message = f"unresolved module `{name.text}`: there is no such file"
        r.report("E1004", name.span, message, help=f"tried `{first}` and `{second}`")


def _modules_between(module: ModuleSymbol, top: ModuleSymbol) -> list[ModuleSymbol]:
    chain: list[ModuleSymbol] = []
    while module is not top and module.home is not None:
        chain.insert(0, module)
        module = module.home
    return chain


# Imports.


def declare_imports(r: Resolver, item: ast.Use) -> None:
    """Add the imports of one `use` to the present scope; none is looked up yet."""
    for path, tree in _paths_of([], item.tree):
        name = tree.alias or path[-1]
        if tree.glob:
            name = ast.Ident(span=item.tree.span, text="*")
        import_ = Import(name, path, r.scope, r.at, item.public)
        r.imports.append(import_)
        if tree.glob:
            r.scope.globs.append(import_)
        else:
            r.scope.imports.setdefault(name.text, import_)


def _paths_of(prefix: list[ast.Ident], tree: ast.UseTree) -> Iterator[tuple[list[ast.Ident], ast.UseTree]]:
    """Yield each tree of a group with its whole path; `self` in a group is the path before the group (L-8.2)."""
    path = [*prefix, *tree.path]
    if tree.group is not None:
        for part in tree.group:
            yield from _paths_of(path, part)
        return
    # `use a::{self, b}` brings in `a` itself.
    if prefix and len(tree.path) == 1 and tree.path[0].text == "self":
        path = prefix
    yield path, tree


def resolve_imports(r: Resolver) -> None:
    """Look up the imports that no name has needed yet, and report names that are imported twice or declared as well (E1003).
    What is wrong with the path of an import is reported where it is looked up (`names.imported_symbol`)."""
    for import_ in r.imports:
        symbol = imported_symbol(r, import_)
        name = import_.name.text
        if name == "*" or isinstance(symbol, ErroneousSymbol):
            continue
        declared = import_.scope.names.get(name)
        earlier = import_.scope.imports[name]
        if declared is not None and declared is not symbol:
            _report_twice(r, import_, r.module.places.get(declared))
        elif earlier is not import_ and earlier.symbol is not symbol:
            _report_twice(r, import_, earlier.name.span)


def _report_twice(r: Resolver, import_: Import, first: Span | None) -> None:
    import_.used = True
    help = "rename one of them by `as`"
    r.report("E1003", import_.name.span, f"`{import_.name.text}` is defined twice", help=help, first=first)


def warn_unused_imports(r: Resolver) -> None:
    """Warn of imports that no name of their scope needed (W0002); a re-export is for others."""
    if r.diagnostics.has_errors:
        return  # the parts that were not understood may use them
    for import_ in r.imports:
        if not import_.used and not import_.public:
            what = f"{path_text(import_.path)}::*" if import_.name.text == "*" else import_.name.text
            r.report("W0002", import_.name.span, f"unused import `{what}`", help=f"remove `{what}` from its `use`")


# The order of initialisation.


def order_modules(r: Resolver) -> None:
    """Rank modules so that each comes after those it imports (L-5.14.1), submodules before the module around them where imports
    leave the choice; report circles (E1007). To be called when all imports are looked up, those of blocks too: the look-up notes
    in `Resolver.edges` which modules a module imports. A path written in full counts for neither order nor circles."""
    _report_circles(r)
    inner: dict[ModuleSymbol, list[ModuleSymbol]] = {}
    for module in r.module.modules:
        if module.home is not None:
            inner.setdefault(module.home, []).append(module)
    # Two walks: the first gives the order that submodules would like, the second keeps it where imports allow.
    wished = _postorder([r.root, *r.libraries.values()], {m: [*r.edges.get(m, ()), *inner.get(m, ())] for m in r.module.modules})
    ordered = _postorder(wished, {m: list(r.edges.get(m, ())) for m in r.module.modules})
    for rank, module in enumerate(ordered):
        module.rank = rank
    r.module.modules = ordered


def _postorder(starts: list[ModuleSymbol], below: dict[ModuleSymbol, list[ModuleSymbol]]) -> list[ModuleSymbol]:
    """Return all that `starts` lead to, each after what it leads to itself: a depth-first walk in postorder."""
    done: list[ModuleSymbol] = []
    seen: set[ModuleSymbol] = set()
    for start in starts:
        if start in seen:
            continue
        seen.add(start)
        path, todo = [start], [iter(below[start])]
        while path:
            following = next(todo[-1], None)
            if following is None:
                done.append(path.pop())
                todo.pop()
            elif following not in seen:
                seen.add(following)
                path.append(following)
                todo.append(iter(below[following]))
    return done


def _report_circles(r: Resolver) -> None:
    """Report circles of imports between files; modules of one file may import each other (L-8.1.3).

    The first walk reports the circles that it meets. One that it does not meet, since its modules were done before, is left in a
    strongly connected component: there a shortest circle is searched.
    """
    done: set[ModuleSymbol] = set()
    reported: set[ModuleSymbol] = set()
    for start in r.module.modules:
        if start in done:
            continue
        path = {start: iter(r.edges.get(start, ()))}  # in the order of the walk
        while path:
            at, todo = next(reversed(path.items()))
            following = next(todo, None)
            if following is None:
                path.popitem()
                done.add(at)
            elif following in path:
                members = list(path)
                circle = members[members.index(following) :]
                if len({module.file for module in circle}) > 1:
                    _report_circle(r, circle)
                    reported.update(circle)
            elif following not in done:
                path[following] = iter(r.edges.get(following, ()))
    for component in _components(r):
        if len({module.file for module in component}) > 1 and not reported & component:
            _report_circle(r, _circle_of_files(r, component))


def _components(r: Resolver) -> Iterator[set[ModuleSymbol]]:
    """Yield the strongly connected components of more than one module (Kosaraju: a postorder, then a walk against the arrows)."""
    order = _postorder(r.module.modules, {m: list(r.edges.get(m, ())) for m in r.module.modules})
    above: dict[ModuleSymbol, list[ModuleSymbol]] = {m: [] for m in r.module.modules}
    for module, imports in r.edges.items():
        for other in imports:
            above[other].append(module)
    seen: set[ModuleSymbol] = set()
    for start in reversed(order):
        component: set[ModuleSymbol] = set()
        waiting = [start]
        while waiting:
            module = waiting.pop()
            if module not in seen:
                seen.add(module)
                component.add(module)
                waiting.extend(above[module])
        if len(component) > 1:
            yield component


def _circle_of_files(r: Resolver, component: set[ModuleSymbol]) -> list[ModuleSymbol]:
    """Return the shortest circle through an import from one file to another, by a breadth-first search."""
    imports = [(a, b) for a in r.module.modules if a in component for b in r.edges.get(a, ()) if b in component]
    start, goal = next((a, b) for a, b in imports if a.file != b.file)
    came_from: dict[ModuleSymbol, ModuleSymbol] = {goal: goal}
    waiting = deque([goal])
    while start not in came_from:
        at = waiting.popleft()
        for following in r.edges.get(at, ()):
            if following in component and following not in came_from:
                came_from[following] = at
                waiting.append(following)
    circle = [start]
    while circle[-1] is not goal:
        circle.append(came_from[circle[-1]])
    circle.reverse()
    return circle


CIRCLE_SHOWN = 20  # modules of a circle that a message names


def _report_circle(r: Resolver, circle: list[ModuleSymbol]) -> None:
    shown = [str(module) for module in [*circle, circle[0]]]
    if len(shown) > CIRCLE_SHOWN:
        shown[CIRCLE_SHOWN // 2 : -CIRCLE_SHOWN // 2] = ["…"]
    names = " -> ".join(shown)
    place = r.edges[circle[-1]][circle[0]]
    r.report(
        "E1007", place, f"the modules import each other in a circle: `{names}`",
        help="write the path in full where it is used, or move what they share into a third module",
    )  # fmt: skip
