"""Name resolution: what every name of a file denotes.

`resolve` fills the `binding`, `scope` and `symbol` fields of the tree, marks captured locals, and hands on a `Module`: all
symbols in source order. Must not know: types.
"""

from __future__ import annotations

from .. import ast
from ..diagnostics import Diagnostics
from ..source import Span
from ..symbols import FunctionSymbol, Local
from . import expressions, paths, patterns
from .items import declare_items, visit_items
from .predeclared import outermost
from .scopes import Scope
from .state import Module, Resolver

HANDLERS = {**paths.HANDLERS, **patterns.HANDLERS, **expressions.HANDLERS}


def resolve(program: ast.Program, diagnostics: Diagnostics) -> Module:
    r = Resolver(diagnostics, outermost(), HANDLERS)
    r.scope = Scope(r.scope)
    declare_items(r, program.items)
    visit_items(r, program.items)
    r.module.sort()
    main = r.scope.names.get("main")
    r.module.main = main if isinstance(main, FunctionSymbol) else None
    return r.module


def warn_unused(module: Module, diagnostics: Diagnostics) -> None:
    """W0001 for locals that nothing reads; W0011 for `mut` that nothing needs. Needs the checker's marks. After an error the
    marks are incomplete, so nothing is said then."""
    if diagnostics.has_errors:
        return
    shadowing = {found.span for found in diagnostics.found if found.code == "W0010"}
    for local in module.locals:
        place = local.declared_at
        if place is None or local.name == "self":
            continue
        span = _name_span(place, local)
        if span in shadowing:
            continue
        if not local.read and not local.name.startswith("_"):
            diagnostics.report(
                "W0001", span, f"unused variable `{local.name}`", help=f"write `_{local.name}` if that is meant"
            )
        elif local.mutable and not local.changed:
            diagnostics.report("W0011", span, f"`{local.name}` need not be `mut`", help="remove `mut`")


def _name_span(place: ast.Node, local: Local) -> Span:
    name = getattr(place, "name", None)
    return name.span if isinstance(name, ast.Ident) else place.span
