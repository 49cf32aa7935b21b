"""Modules and imports: which modules a program has, what each `use` brings in, in which order they come (L-8.1, L-8.2, L-5.14.1).

Hands on `declare_module`, `declare_imports`, `settle_imports`, `order_modules` and `warn_unused_imports`. Must not know:
the other items of a module.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from ..project import module_files
from ..source import Span
from ..symbols import ModuleSymbol, Symbol
from ..syntax import ast
from .names import imported, written
from .state import ErroneousSymbol, Import, Resolver, Scope

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
            r.report("W0002", one.name.span, f"unused import `{what}`", help=f"remove `{what}` from its `use`")


# ---------------------------------------------------------------- order


def order_modules(r: Resolver) -> None:
    """Ranks modules so that each comes after those it imports (L-5.14.1), submodules before the module around them where imports
    leave the choice; circles are E1007."""
    _report_circles(r)
    inner: dict[ModuleSymbol, list[ModuleSymbol]] = {}
    for module in r.module.modules:
        if module.home is not None:
            inner.setdefault(module.home, []).append(module)
    wished = _postorder([r.root], {m: [*r.edges.get(m, ()), *inner.get(m, ())] for m in r.module.modules})
    ordered = _postorder(wished, {m: list(r.edges.get(m, ())) for m in r.module.modules})
    for rank, module in enumerate(ordered):
        module.rank = rank
    r.module.modules = ordered


def _postorder(starts: list[ModuleSymbol], below: dict[ModuleSymbol, list[ModuleSymbol]]) -> list[ModuleSymbol]:
    """Each of `starts` after all that it leads to."""
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
    """Files may not wait for each other; what stands in one file begins together (L-8.1.3)."""
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
    for together in _tied(r):
        if len({module.file for module in together}) > 1 and not reported & together:
            _report_circle(r, _circle_of_files(r, together))


def _tied(r: Resolver) -> Iterator[set[ModuleSymbol]]:
    """The largest sets of modules of which each leads to each other."""
    order = _postorder(r.module.modules, {m: list(r.edges.get(m, ())) for m in r.module.modules})
    above: dict[ModuleSymbol, list[ModuleSymbol]] = {m: [] for m in r.module.modules}
    for module, imports in r.edges.items():
        for other in imports:
            above[other].append(module)
    seen: set[ModuleSymbol] = set()
    for start in reversed(order):
        together: set[ModuleSymbol] = set()
        waiting = [start]
        while waiting:
            module = waiting.pop()
            if module not in seen:
                seen.add(module)
                together.add(module)
                waiting.extend(above[module])
        if len(together) > 1:
            yield together


def _circle_of_files(r: Resolver, together: set[ModuleSymbol]) -> list[ModuleSymbol]:
    """The shortest circle through an import from one file to another."""
    imports = [(a, b) for a in r.module.modules if a in together for b in r.edges.get(a, ()) if b in together]
    start, goal = next((a, b) for a, b in imports if a.file != b.file)
    came: dict[ModuleSymbol, ModuleSymbol] = {goal: goal}
    waiting = deque([goal])
    while start not in came:
        at = waiting.popleft()
        for following in r.edges.get(at, ()):
            if following in together and following not in came:
                came[following] = at
                waiting.append(following)
    circle = [start]
    while circle[-1] is not goal:
        circle.append(came[circle[-1]])
    circle.reverse()
    return circle


CIRCLE_SHOWN = 20


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
