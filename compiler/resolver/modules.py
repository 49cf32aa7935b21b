"""Modules and imports: which modules a program has, what each `use` brings in, in which order they come (L-8.1, L-8.2, L-5.14.1).

Hands on `declare_module`, `declare_imports`, `settle_imports`, `order_modules` and `warn_unused_imports`. Must not know:
the other items of a module.
"""

from __future__ import annotations

from collections.abc import Iterator

from .. import ast
from ..loading import module_files
from ..source import Span
from ..symbols import ModuleSymbol, Symbol
from .names import imported, written
from .scopes import ErroneousSymbol, Import, Scope
from .state import Resolver

# ---------------------------------------------------------------- modules


def new_module(r: Resolver, module: ModuleSymbol) -> ModuleSymbol:
    """Gives a module its scope; its items are declared when its turn comes."""
    r.spaces[module] = Scope(r.rooted)
    r.module.modules.append(module)
    return module


def file_module(r: Resolver, file: str, name: str, home: ModuleSymbol) -> ModuleSymbol:
    """The module of a file. Whoever names it first gives it its place."""
    if file not in r.by_file:
        r.by_file[file] = new_module(r, ModuleSymbol(name, file, home=home))
        r.undeclared.append((r.by_file[file], r.project.trees[file].items))
    return r.by_file[file]


def declare_module(r: Resolver, item: ast.Module) -> Symbol:
    """The symbol of `mod name;` or `mod name { … }`."""
    name = item.name.text
    if item.items is not None:
        inline = new_module(r, ModuleSymbol(name, r.at.file, home=r.at))
        r.undeclared.append((inline, item.items))
        return inline
    file = r.project.declared.get(item)
    if file is None:
        _no_file(r, item.name)
        return ErroneousSymbol(name)
    module = file_module(r, file, name, r.at)
    if r.at.is_inside(module):
        circle = " -> ".join([str(module), *(str(m) for m in _down_to(r.at, module)), str(module)])
        r.report(
            "E1007", item.name.span, f"the modules declare each other in a circle: `{circle}`",
            help="remove one of the `mod` lines",
        )
    return module


def _no_file(r: Resolver, name: ast.Ident) -> None:
    """E1004, unless the file is there and was rejected."""
    if not any(place == name.span for _, place, _, _ in r.project.rejected):
        first, second = module_files(name.span.file.rpartition("/")[0], name.text)
        message = f"unresolved module `{name.text}`: there is no such file"
        r.report("E1004", name.span, message, help=f"tried `{first}` and `{second}`")


def _down_to(module: ModuleSymbol, top: ModuleSymbol) -> list[ModuleSymbol]:
    chain: list[ModuleSymbol] = []
    while module is not top and module.home is not None:
        chain.insert(0, module)
        module = module.home
    return chain


# ---------------------------------------------------------------- imports


def declare_imports(r: Resolver, item: ast.Use) -> None:
    """The names one `use` brings into the present scope."""
    for path, tree in _leaves([], item.tree):
        name = tree.alias or path[-1]
        if tree.glob:
            name = ast.Ident(span=item.tree.span, text="*")
        one = Import(name, path, r.scope, r.at, item.public)
        r.imports.append(one)
        if tree.glob:
            r.scope.globs.append(one)
        else:
            r.scope.imports.setdefault(name.text, one)


def _leaves(prefix: list[ast.Ident], tree: ast.UseTree) -> Iterator[tuple[list[ast.Ident], ast.UseTree]]:
    """Each tree of a group with its whole path; `self` in a group is what the group hangs on."""
    path = [*prefix, *tree.path]
    if tree.group is not None:
        for part in tree.group:
            yield from _leaves(path, part)
        return
    if prefix and len(tree.path) == 1 and tree.path[0].text == "self":
        path = prefix
    yield path, tree


def settle_imports(r: Resolver) -> None:
    """Resolves what nobody asked for, and reports names that are imported twice or declared as well (E1003)."""
    for one in r.imports:
        found = imported(r, one)
        name = one.name.text
        if name == "*" or isinstance(found, ErroneousSymbol):
            continue
        declared = one.scope.names.get(name)
        earlier = one.scope.imports[name]
        if declared is not None and declared is not found:
            _twice(r, one, r.module.places.get(declared))
        elif earlier is not one and earlier.symbol is not found:
            _twice(r, one, earlier.name.span)


def _twice(r: Resolver, one: Import, first: Span | None) -> None:
    one.used = True
    help = "rename one of them by `as`"
    r.report("E1003", one.name.span, f"`{one.name.text}` is defined twice", help=help, first=first)


def warn_unused_imports(r: Resolver) -> None:
    """W0002 for what no name of its scope needed; a re-export is for others."""
    if r.diagnostics.has_errors:
        return  # what was not understood may use them
    for one in r.imports:
        if not one.used and not one.public:
            what = f"{written(one.path)}::*" if one.name.text == "*" else one.name.text
            r.report("W0002", one.name.span, f"unused import `{what}`", help="remove it")


# ---------------------------------------------------------------- order


def order_modules(r: Resolver) -> None:
    """Ranks modules so that each comes after those it imports (L-5.14.1), submodules before the module around them where imports
    leave the choice; circles are E1007."""
    _report_circles(r)
    wished: list[ModuleSymbol] = []
    inner: dict[ModuleSymbol, list[ModuleSymbol]] = {}
    for module in r.module.modules:
        if module.home is not None:
            inner.setdefault(module.home, []).append(module)
    _postorder(r.root, {m: [*r.edges.get(m, ()), *inner.get(m, ())] for m in r.module.modules}, wished)
    ordered: list[ModuleSymbol] = []
    for module in wished:
        _postorder(module, {m: list(r.edges.get(m, ())) for m in r.module.modules}, ordered)
    for rank, module in enumerate(ordered):
        module.rank = rank
    r.module.modules = ordered


def _postorder(
    start: ModuleSymbol, below: dict[ModuleSymbol, list[ModuleSymbol]], done: list[ModuleSymbol]
) -> None:
    """Appends to `done` all that `start` leads to and then `start`."""
    if start in done:
        return
    path, todo = [start], [list(below[start])]
    seen = {start, *done}
    while path:
        if not todo[-1]:
            done.append(path.pop())
            todo.pop()
            continue
        following = todo[-1].pop(0)
        if following not in seen:
            seen.add(following)
            path.append(following)
            todo.append(list(below[following]))


def _report_circles(r: Resolver) -> None:
    done: set[ModuleSymbol] = set()
    for start in r.module.modules:
        if start in done:
            continue
        path, todo = [start], [list(r.edges.get(start, ()))]
        while path:
            if not todo[-1]:
                done.add(path.pop())
                todo.pop()
                continue
            following = todo[-1].pop(0)
            if following in path:
                _report_circle(r, path[path.index(following) :])
            elif following not in done:
                path.append(following)
                todo.append(list(r.edges.get(following, ())))


def _report_circle(r: Resolver, circle: list[ModuleSymbol]) -> None:
    names = " -> ".join(str(module) for module in [*circle, circle[0]])
    place = r.edges[circle[-1]][circle[0]]
    r.report(
        "E1007", place, f"the modules import each other in a circle: `{names}`",
        help="write the path in full where it is used, or move what they share into a third module",
    )  # fmt: skip
