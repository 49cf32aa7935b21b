"""Names in patterns: new locals, or the constants and variants a pattern tests for (L-5.8.2).

Must not know: types; whether a pattern can match its value is the checker's business.
"""

from __future__ import annotations

from .. import ast
from ..symbols import BuiltinSymbol, ConstSymbol, Local, VariantSymbol
from .names import find
from .paths import literal_head, resolve_path
from .state import Handler, Resolver

# Names one pattern binds so far. `reuse` holds what an earlier alternative of an or-pattern bound.
Names = dict[str, Local]


def bind_pattern(r: Resolver, pattern: ast.Pattern) -> None:
    """Declares the names of a whole pattern in the present scope."""
    _bind(r, pattern, {}, {})


def _bind(r: Resolver, pattern: ast.Pattern, names: Names, reuse: Names) -> None:
    match pattern:
        case ast.BindPattern():
            _bind_name(r, pattern, names, reuse)
        case ast.PathPattern():
            pattern.binding = resolve_path(r, pattern.path)
        case ast.TupleStructPattern():
            pattern.binding = literal_head(r, pattern.path)
            _bind_all(r, pattern.items, names, reuse)
        case ast.StructPattern():
            pattern.binding = literal_head(r, pattern.path)
            for entry in pattern.fields:
                _bind_field(r, entry, names, reuse)
        case ast.TuplePattern() | ast.ArrayPattern():
            _bind_all(r, pattern.items, names, reuse)
        case ast.RestPattern() if pattern.name is not None:
            pattern.binding = _declare(r, pattern.name, pattern, False, names, reuse)
        case ast.OrPattern():
            _bind_alternatives(r, pattern, names, reuse)


def _bind_all(r: Resolver, patterns: list[ast.Pattern], names: Names, reuse: Names) -> None:
    for pattern in patterns:
        r.nesting.call(_bind, r, pattern, names, reuse)


def _bind_name(r: Resolver, pattern: ast.BindPattern, names: Names, reuse: Names) -> None:
    if not pattern.mutable and pattern.inner is None:
        symbol = find(r, pattern.name)
        if isinstance(symbol, (ConstSymbol, VariantSymbol)) or (isinstance(symbol, BuiltinSymbol) and symbol.name == "None"):
            pattern.constant = symbol
            return
    if pattern.inner is not None:
        r.nesting.call(_bind, r, pattern.inner, names, reuse)
    pattern.binding = _declare(r, pattern.name, pattern, pattern.mutable, names, reuse)


def _bind_field(r: Resolver, entry: ast.FieldPattern, names: Names, reuse: Names) -> None:
    pattern = entry.pattern
    if entry.shorthand and isinstance(pattern, ast.BindPattern):
        pattern.binding = _declare(r, pattern.name, pattern, pattern.mutable, names, reuse)
    else:
        r.nesting.call(_bind, r, pattern, names, reuse)


def _declare(
    r: Resolver, name: ast.Ident, place: ast.Node, mutable: bool, names: Names, reuse: Names
) -> Local | None:
    if name.text == "_":
        return None
    if name.text in names:
        first = names[name.text].declared_at
        r.report(
            "E3005", name.span, f"`{name.text}` is bound twice in this pattern", first=first.span if first else None
        , help="rename one of them and compare in a guard: `if a == b`")
        return names[name.text]
    local = reuse.get(name.text) or r.declare(name.text, place, mutable)
    names[name.text] = local
    return local


def _bind_alternatives(r: Resolver, pattern: ast.OrPattern, names: Names, reuse: Names) -> None:
    outer = dict(names)
    pool = dict(reuse)
    sets: list[set[str]] = []
    for alternative in pattern.alternatives:
        mine = dict(outer)
        r.nesting.call(_bind, r, alternative, mine, pool)
        sets.append(set(mine) - set(outer))
        pool.update(mine)
        names.update(mine)
    missing = {name for mine in sets for name in mine if not all(name in other for other in sets)}
    if missing:
        listed = ", ".join(f"`{name}`" for name in sorted(missing))
        r.report(
            "E3004", pattern.span, f"not every alternative binds {listed}",
            help="bind the same names in each, or write an arm for each",
        )


def visit_pattern(r: Resolver, pattern: ast.Pattern) -> None:
    bind_pattern(r, pattern)


HANDLERS: dict[type[ast.Node], Handler] = dict.fromkeys(
    (
        ast.BindPattern, ast.PathPattern, ast.TupleStructPattern, ast.StructPattern, ast.TuplePattern, ast.ArrayPattern,
        ast.RestPattern, ast.OrPattern, ast.WildcardPattern, ast.LiteralPattern, ast.RangePattern,
    ),
    visit_pattern,
)  # fmt: skip
