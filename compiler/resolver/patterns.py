"""Names in patterns: new locals, or the constants and variants that a pattern compares with (L-5.8.2).

Hands on to `expressions` and `items` `bind_pattern`, which declares the locals of a pattern in the present scope and sets the
`binding` of its parts, to `program` the HANDLERS, and to `checker/patterns.py` `names_missing` and, for what only types can
decide, the messages `bound_twice` and `alternatives_differ` with their helps IN_A_GUARD and SAME_NAMES. `r` is the state of the
resolution, to which what is wrong is reported. The alternatives of `a | b` share their locals, so that the arm behind them reads
one variable whichever of them fits. A new kind of pattern is a case of `_bind` and a row of HANDLERS. Types and exhaustiveness
are the checker's (`checker/patterns.py`).
"""

from __future__ import annotations

from collections import ChainMap, Counter
from collections.abc import Sequence

from ...vm.values.errors import FAMILIES
from ..hints.names import did_you_mean, patient
from ..symbols import BuiltinSymbol, ConstSymbol, Local, Symbol, VariantSymbol
from ..syntax import ast
from .names import find, find_item
from .paths import literal_head, resolve_path
from .state import ErroneousSymbol, Handler, Resolver

# The locals of one pattern by name. `names` are those bound so far; `reuse` those that an earlier alternative of `a | b` bound,
# which a later one takes over instead of declaring its own. The first map is of the present alternative, the others are of what
# is around it.
Names = ChainMap[str, Local]

_FAMILY_VARIANTS = {variant for family in FAMILIES.values() for variant in family.variants}


def bind_pattern(r: Resolver, pattern: ast.Pattern) -> None:
    """Declare the names of a whole pattern in the present scope; report a name bound twice (E3005), alternatives that bind
    different names (E3004), and paths that name nothing. A name that some enum has for a variant is left to the checker, which
    knows whether it is one here."""
    _bind(r, pattern, ChainMap(), ChainMap())


def _bind(r: Resolver, pattern: ast.Pattern, names: Names, reuse: Names) -> None:
    match pattern:
        case ast.BindPattern():
            _bind_name(r, pattern, names, reuse)
        case ast.PathPattern():
            pattern.binding = resolve_path(r, pattern.path)
        case ast.TupleStructPattern():
            pattern.binding = _head(r, pattern.path)
            _bind_all(r, pattern.items, names, reuse)
        case ast.StructPattern():
            pattern.binding = _head(r, pattern.path)
            for entry in pattern.fields:
                _bind_field(r, entry, names, reuse)
        case ast.TuplePattern() | ast.ArrayPattern():
            _bind_all(r, pattern.items, names, reuse)
        case ast.RestPattern() if pattern.name is not None:
            pattern.binding = _declare(r, pattern.name, pattern, False, names, reuse)
        case ast.OrPattern():
            _bind_alternatives(r, pattern, names, reuse)


def _head(r: Resolver, path: list[ast.Ident]) -> Symbol | None:
    """Return what the path of a pattern with parts names; None for a single name that nothing visible has, but some variant:
    which one the type of the matched value says (L-5.8.14)."""
    if len(path) == 1:
        symbol = find_item(r, path[0])
        if isinstance(symbol, ErroneousSymbol):
            return symbol
        if symbol is None and may_be_variant(r, path[0].text):
            return None  # also for what is nearly the name of a variant, which the checker can tell better
    return literal_head(r, path) or ErroneousSymbol(path[0].text)


def may_be_variant(r: Resolver, name: str) -> bool:
    """Return whether an enum of the program or an error family has a variant of that name, or an enum one nearly of it; the
    latter is not looked for after many reports (`patient`)."""
    return name in r.variants or name in _FAMILY_VARIANTS or (patient() and did_you_mean(name, r.variants) is not None)


def _bind_all(r: Resolver, patterns: list[ast.Pattern], names: Names, reuse: Names) -> None:
    for pattern in patterns:
        r.nesting.call(_bind, r, pattern, names, reuse)


def _bind_name(r: Resolver, pattern: ast.BindPattern, names: Names, reuse: Names) -> None:
    # A bare name that a constant or variant has is compared with; `mut x` and `x @ …` always declare.
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
        pattern.is_field = True
    else:
        r.nesting.call(_bind, r, pattern, names, reuse)


def _declare(
    r: Resolver, name: ast.Ident, place: ast.Node, mutable: bool, names: Names, reuse: Names
) -> Local | None:
    if name.text == "_":
        return None
    if name.text in names:
        first = names[name.text].declared_at
        if isinstance(place, ast.BindPattern) and first is not None and name.text in r.variants:
            place.again = first.span  # a variant by its bare name may stand twice
        else:
            r.report("E3005", name.span, bound_twice(name.text), first=first.span if first else None, help=IN_A_GUARD)
        return names[name.text]
    local = reuse.get(name.text) or r.declare(name.text, place, mutable)
    names[name.text] = local
    return local


def _bind_alternatives(r: Resolver, pattern: ast.OrPattern, names: Names, reuse: Names) -> None:
    pool = reuse.new_child()
    bound: list[set[str]] = []  # by each alternative
    every: dict[str, Local] = {}
    for alternative in pattern.alternatives:
        own = names.new_child()
        r.nesting.call(_bind, r, alternative, own, pool)
        bound.append(set(own.maps[0]))
        pool.update(own.maps[0])
        every.update(own.maps[0])
    names.update(every)
    missing = names_missing(bound)
    # A variant by its bare name binds nothing, which only the type can tell.
    pattern.doubtful = {name for name in missing if name in r.variants}
    if certain := missing - pattern.doubtful:
        r.report("E3004", pattern.span, alternatives_differ(certain), help=SAME_NAMES)


IN_A_GUARD = "rename one of them and compare in a guard: `if a == b`"
SAME_NAMES = "bind the same names in each, or write an arm for each"


def names_missing(bound: Sequence[set[str]]) -> set[str]:
    """Return the names that some alternatives of a pattern bind and others do not; `bound`: the names of each."""
    counts = Counter(name for own in bound for name in own)
    return {name for name, count in counts.items() if count < len(bound)}


def bound_twice(name: str) -> str:
    """Return the message for a name that a pattern binds twice (E3005)."""
    return f"`{name}` is bound twice in this pattern"


def alternatives_differ(names: set[str]) -> str:
    """Return the message for names that not every alternative of a pattern binds (E3004), in alphabetical order."""
    return f"not every alternative binds {', '.join(f'`{name}`' for name in sorted(names))}"


def visit_pattern(r: Resolver, pattern: ast.Pattern) -> None:
    """Bind a pattern that the walk over the tree meets by itself, as `bind_pattern` does."""
    bind_pattern(r, pattern)


HANDLERS: dict[type[ast.Node], Handler] = dict.fromkeys(
    (
        ast.BindPattern, ast.PathPattern, ast.TupleStructPattern, ast.StructPattern, ast.TuplePattern, ast.ArrayPattern,
        ast.RestPattern, ast.OrPattern, ast.WildcardPattern, ast.LiteralPattern, ast.RangePattern,
    ),
    visit_pattern,
)  # fmt: skip
