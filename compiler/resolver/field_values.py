"""Values of fields that are Strings of known words, written without quotes (L-4.1.5).

Hands on `visit_field`, and `visit_step` for steps of memories that take names of tables. Must not know: which fields there are.
"""

from __future__ import annotations

from collections.abc import Collection

from .. import ast
from ..field_words import FIELD_WORDS
from .names import find
from .scopes import ErroneousSymbol
from .state import Resolver


def visit_field(r: Resolver, name: str, value: ast.Expr) -> None:
    """The value of a field, or of the fields of an object that is one."""
    if isinstance(value, ast.MapExpr):
        for entry in value.entries:
            if isinstance(entry.key, ast.StringLiteral):
                visit_field(r, entry.key.value, entry.value)
            else:
                r.visit(entry)
    elif name == "tools" and isinstance(value, ast.ArrayExpr):
        for item in value.items:
            _visit_named(r, item, "tool")
    elif name == "memory":
        for item in value.items if isinstance(value, ast.ArrayExpr) else [value]:
            _visit_named(r, item, "memory")
    else:
        _visit(r, name, value, FIELD_WORDS.get(name, ()))


def _visit_named(r: Resolver, value: ast.Expr, what: str) -> None:
    """A value that names a declaration: E4003 where there is none (O-1.40, O-1.42)."""
    is_name = isinstance(value, ast.PathExpr) and len(value.segments) == 1 and value.member is None
    if isinstance(value, ast.PathExpr) and is_name and find(r, value.segments[0]) is None:
        name = value.segments[0]
        value.binding = ErroneousSymbol(name.text)
        r.unknown_name(name, "E4003", what)
    else:
        r.visit(value)


def visit_step(r: Resolver, step: str, value: ast.Expr) -> None:
    """An argument of `store` or `embed` without a name."""
    tables = r.project.memory_tables
    _visit(r, step, value, {"store": tables.stores, "embed": tables.embedders}.get(step, ()))


def _visit(r: Resolver, name: str, value: ast.Expr, words: Collection[str]) -> None:
    """One of the words is a name only if something in scope has it."""
    if isinstance(value, ast.PathExpr) and len(value.segments) == 1 and value.member is None:
        bare = value.segments[0]
        if bare.text in words and find(r, bare) is None:
            value.binding = ErroneousSymbol(bare.text)
            help = f'`{name}` takes a String: write `"{bare.text}"` in quotes'
            r.report("E1001", bare.span, f"undefined name `{bare.text}`", help=help)
            return
    r.visit(value)
