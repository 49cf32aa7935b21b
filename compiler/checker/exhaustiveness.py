"""Whether patterns cover a type, and which arms nothing can reach (L-5.8.12, W0004).

The usefulness of a row of patterns against the rows before it, by splitting on the constructors of the first column. Hands on
`uncovered` and `check_arms`. Must not know: how patterns are typed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...vm.values.errors import is_family
from .. import ast
from ..symbols import BuiltinSymbol, ConstSymbol, EnumSymbol, ErrorFamilySymbol, StructSymbol, VariantSymbol
from ..types import ANY, BOOL, NIL, Nilable, Nominal, Tuple, Type, Union
from .context import Checker
from .generics import parts_in
from .relations import generic


@dataclass(frozen=True, slots=True)
class Head:
    """The outermost constructor of a value: its name (a literal value, a variant, a shape) and the types of its parts."""

    name: object
    parts: tuple[Type, ...] = ()
    shown: str = ""


WILD = ast.WildcardPattern(span=None)  # type: ignore[arg-type]
Row = tuple[ast.Pattern, ...]


class Coverage:
    """One question about patterns over given types."""

    __slots__ = ("checker", "arrays_match", "known")

    def __init__(self, checker: Checker, arrays_match: bool) -> None:
        self.checker = checker
        self.arrays_match = arrays_match
        self.known: dict[int, tuple[Type, list[Head] | None]] = {}  # by the id of the type, which is kept for that

    def missing(self, rows: list[Row], types: tuple[Type, ...]) -> list[str] | None:
        """A vector of values, as text, that no row matches; None when every one is matched."""
        if not types:
            return None if rows else []
        rows = [flat for row in rows for flat in _alternatives(row)]
        if rows and not self._asks(rows):
            return self._missing_open(rows, types)
        heads = self.all_heads(types[0])
        if not rows:  # nothing matches, whatever the constructors: a type inside itself has no end of them
            return None if heads == [] else ["_"] * len(types)
        if heads is None:
            return self._missing_open(rows, types)
        for head in heads:
            below = self.missing(self.specialise(rows, head), (*head.parts, *types[1:]))
            if below is not None:
                return self.rebuild(head, below)
        return None

    def _asks(self, rows: list[Row]) -> bool:
        """Whether the first pattern of some row tells constructors apart."""
        return not all(self._is_catch_all(row[0]) for row in rows)

    def _missing_open(self, rows: list[Row], types: tuple[Type, ...]) -> list[str] | None:
        """Over a type without a list of constructors only the rows that begin with a catch-all count."""
        rest = [row[1:] for row in rows if self._is_catch_all(row[0])]
        below = self.missing(rest, types[1:])
        return None if below is None else ["_", *below]

    @staticmethod
    def rebuild(head: Head, below: list[str]) -> list[str]:
        count = len(head.parts)
        inside, rest = below[:count], below[count:]
        pieces = head.shown.split("{}") if count else [head.shown]
        shown = pieces[0] + "".join(part + piece for part, piece in zip(inside, pieces[1:], strict=True))
        return [shown, *rest]

    def useful(self, rows: list[Row], row: Row, types: tuple[Type, ...]) -> bool:
        """Whether `row` matches a vector that no row before it matches."""
        if not types:
            return not rows
        rows = [flat for r in rows for flat in _alternatives(r)]
        return any(self._useful_flat(rows, flat, types) for flat in _alternatives(row))

    def _useful_flat(self, rows: list[Row], row: Row, types: tuple[Type, ...]) -> bool:
        first = row[0]
        head = self.head_of(first, types[0])
        if head is not None:
            (special,) = self.specialise([row], head) or [()]
            return self.useful(self.specialise(rows, head), special, (*head.parts, *types[1:]))
        heads = self.all_heads(types[0])
        if heads is not None and self._is_catch_all(first) and self._asks(rows):
            return any(
                self.useful(self.specialise(rows, h), self.specialise([row], h)[0], (*h.parts, *types[1:])) for h in heads
            )
        rest = [r[1:] for r in rows if self._is_catch_all(r[0])]
        return self.useful(rest, row[1:], types[1:])

    def specialise(self, rows: list[Row], head: Head) -> list[Row]:
        """The rows that can match values with this head, their first pattern replaced by those of its parts."""
        found: list[Row] = []
        for row in rows:
            parts = self._parts(row[0], head)
            if parts is not None:
                found.append((*parts, *row[1:]))
        return found

    def _parts(self, pattern: ast.Pattern, head: Head) -> tuple[ast.Pattern, ...] | None:
        pattern = _inner(pattern)
        if self._is_catch_all(pattern):
            return (WILD,) * len(head.parts)
        own = _head_name(pattern)
        if own is None or not _covers(own, head.name) or self._is_narrow(pattern):
            return None
        return self._sub_patterns(pattern, len(head.parts))

    def _is_narrow(self, pattern: ast.Pattern) -> bool:
        """Errors and records have no listed parts: one with a refutable part covers nothing."""
        if isinstance(pattern, ast.TupleStructPattern) and isinstance(pattern.binding, ErrorFamilySymbol):
            return not all(map(self._is_catch_all, pattern.items))
        if isinstance(pattern, ast.StructPattern) and not isinstance(pattern.binding, (StructSymbol, VariantSymbol)):
            return not all(self._is_catch_all(entry.pattern) for entry in pattern.fields)
        return False

    def _sub_patterns(self, pattern: ast.Pattern, count: int) -> tuple[ast.Pattern, ...]:
        match pattern:
            case ast.TuplePattern() | ast.TupleStructPattern():
                items = tuple(pattern.items)
            case ast.StructPattern():
                items = self._fields(pattern, count)
            case _:
                items = ()
        return (*items, *(WILD,) * (count - len(items)))[:count]

    def _fields(self, pattern: ast.StructPattern, count: int) -> tuple[ast.Pattern, ...]:
        symbol = pattern.binding
        if not isinstance(symbol, (StructSymbol, VariantSymbol)):
            return (WILD,) * count
        given = {entry.name.text: entry.pattern for entry in pattern.fields}
        return tuple(given.get(name, WILD) for name, _, _, _ in symbol.fields)

    def _is_catch_all(self, pattern: ast.Pattern) -> bool:
        pattern = _inner(pattern)
        match pattern:
            case ast.WildcardPattern():
                return True
            case ast.BindPattern():
                return pattern.constant is None
            case ast.ArrayPattern():
                if self.arrays_match:
                    return all(self._is_catch_all(p) for p in pattern.items)
                # on Any it also asks for an Array
                return pattern.type != ANY and len(pattern.items) == 1 and isinstance(pattern.items[0], ast.RestPattern)
            case ast.RestPattern():
                return True
            case ast.StructPattern():
                return _same_record(pattern) and all(self._is_catch_all(e.pattern) for e in pattern.fields)
        return False

    def head_of(self, pattern: ast.Pattern, type_: Type) -> Head | None:
        """The constructor a pattern tests for; None for catch-alls and for patterns no other pattern can equal."""
        pattern = _inner(pattern)
        name = _head_name(pattern)
        if name is None or self._is_catch_all(pattern):
            return None
        listed = next((h for h in self.all_heads(type_) or () if _covers(name, h.name)), None)
        return Head(name, (ANY,) * _part_count(pattern)) if listed is None else listed

    def all_heads(self, type_: Type) -> list[Head] | None:
        """Every constructor of a type that has a list of them (L-5.8.12)."""
        if id(type_) not in self.known:
            self.known[id(type_)] = type_, self._heads(type_)
        return self.known[id(type_)][1]

    def _heads(self, type_: Type) -> list[Head] | None:
        if type_ == BOOL:
            return [Head(("literal", bool, True), (), "true"), Head(("literal", bool, False), (), "false")]
        if type_ == NIL:
            return [_NIL]
        if isinstance(type_, Nilable):
            inner = self.all_heads(type_.inner)
            return None if inner is None else [_NIL, *inner]
        if isinstance(type_, Union):
            return [Head(("literal", str, m), (), f'"{m}"') for m in type_.members]
        if isinstance(type_, Tuple):
            shown = "({},)" if len(type_.items) == 1 else f"({', '.join(['{}'] * len(type_.items))})"
            return [Head(("tuple", len(type_.items)), type_.items, shown)]
        return self._declared_heads(type_)

    def _declared_heads(self, type_: Type) -> list[Head] | None:
        inside = generic(type_, "Option")
        if inside:
            return [Head("Some", (inside[0],), "Some({})"), Head("None", (), "None")]
        sides = generic(type_, "Result")
        if sides:
            return [Head("Ok", (sides[0],), "Ok({})"), Head("Err", (sides[1],), "Err({})")]
        symbol = self.checker.declared(type_)
        if isinstance(symbol, EnumSymbol):
            return [_variant_head(self.checker, member, type_) for member in symbol.members]
        if isinstance(symbol, StructSymbol):
            types = tuple(t for _, t, _, _ in parts_in(self.checker, symbol, type_))
            fields = ", ".join(f"{name}: {{}}" for name, _, _, _ in symbol.fields)
            return [Head(("struct", symbol), types, f"{symbol.name} {{ {fields} }}")]
        return None


_NIL = Head(("literal", type(None), None), (), "nil")


def _variant_head(c: Checker, member: VariantSymbol, type_: Type) -> Head:
    parts = tuple(part for _, part, _, _ in parts_in(c, member, type_))
    name = f"{member.enum.name}::{member.name}"
    if member.form == "tuple":
        name += f"({', '.join(['{}'] * len(parts))})"
    elif member.form == "struct":
        name += f" {{ {', '.join(f'{field}: {{}}' for field, _, _, _ in member.fields)} }}"
    return Head(("variant", member.enum, member.name), parts, name)


def _inner(pattern: ast.Pattern) -> ast.Pattern:
    while isinstance(pattern, ast.BindPattern) and pattern.inner is not None:
        pattern = pattern.inner
    return pattern


def _same_record(pattern: ast.StructPattern) -> bool:
    """A record pattern on its own record matches every value of it."""
    type_ = pattern.type
    return isinstance(type_, Nominal) and type_.kind == "record" and isinstance(pattern.binding, BuiltinSymbol)


def _alternatives(row: Row) -> list[Row]:
    """A row whose first pattern has alternatives, as one row for each."""
    if not row:
        return [row]
    first = _inner(row[0])
    if not isinstance(first, ast.OrPattern):
        return [(first, *row[1:])]
    return [flat for option in first.alternatives for flat in _alternatives((option, *row[1:]))]


def _part_count(pattern: ast.Pattern) -> int:
    match pattern:
        case ast.TuplePattern():
            return len(pattern.items)
        case ast.TupleStructPattern():
            return 0 if isinstance(pattern.binding, ErrorFamilySymbol) else len(pattern.items)
        case ast.StructPattern(binding=StructSymbol() | VariantSymbol()):
            return len(pattern.binding.fields)
    return 0


def _covers(own: object, other: object) -> bool:
    """Whether a pattern with head `own` matches all values with head `other`: equal, or an error family above it."""
    if own == other:
        return True
    match own, other:
        case ("error", str(a), None), ("error", str(b), _):
            return is_family(b, a)
        case ("range", start, end, inclusive), ("literal", type() as kind, value) if kind in (int, float):
            return _in_range(value, start, end, bool(inclusive))
    return False


def _in_range(value: Any, start: Any, end: Any, inclusive: bool) -> bool:
    above = start is None or value >= start
    below = end is None or value < end or (inclusive and value == end)
    return above and below


def _head_name(pattern: ast.Pattern) -> object | None:
    match pattern:
        case ast.LiteralPattern():
            return ("literal", type(pattern.value), pattern.value)
        case ast.RangePattern():
            return ("range", pattern.start, pattern.end, pattern.inclusive)
        case ast.TuplePattern():
            return ("tuple", len(pattern.items))
        case ast.BindPattern(constant=constant) if constant is not None:
            return _constant_name(constant) if isinstance(constant, ConstSymbol) else _binding_name(constant)
        case ast.PathPattern() | ast.TupleStructPattern() | ast.StructPattern():
            return _binding_name(pattern.binding)
    return None


def _constant_name(symbol: ConstSymbol) -> object:
    value = symbol.value
    return ("literal", type(value), value) if isinstance(value, (str, int, float, bool)) else ("constant", id(symbol))


def _binding_name(binding: object) -> object | None:
    match binding:
        case VariantSymbol():
            return ("variant", binding.enum, binding.name)
        case ConstSymbol():
            return _constant_name(binding)
        case StructSymbol():
            return ("struct", binding)
        case ErrorFamilySymbol():
            return ("error", binding.name, binding.variant)
        case BuiltinSymbol():
            return binding.name
    return None


# ---------------------------------------------------------------- questions


def uncovered(c: Checker, patterns: list[ast.Pattern], type_: Type, *, arrays_match: bool = False) -> str | None:
    """A value of the type, as text, that no pattern matches."""
    missing = Coverage(c, arrays_match).missing([(p,) for p in patterns], (type_,))
    return None if missing is None else missing[0]


def check_arms(c: Checker, node: ast.Match, subject: Type) -> None:
    """E3001 for what no unguarded arm matches, W0004 for arms that earlier ones leave nothing to."""
    coverage = Coverage(c, arrays_match=False)
    rows: list[Row] = []
    places: list[ast.MatchArm] = []
    literals: dict[object, ast.MatchArm] | None = {}  # None once another form of pattern came
    for arm in node.arms:
        literal = _literal_key(arm.pattern)
        if literals is not None and literal is not None:
            covering = literals.get(literal)
        else:
            covering = _covering_arm(coverage, rows, places, arm, subject)
        if covering is not None:
            c.report(
                "W0004", arm.pattern.span, f"this arm can never match: {c.text(covering.pattern)} covers it",
                first=covering.pattern.span, note="covered by this one", help="remove it, or move it before the other",
            )  # fmt: skip
        if arm.guard is None:
            rows.append((arm.pattern,))
            places.append(arm)
            if literal is None:
                literals = None
            elif literals is not None:
                literals.setdefault(literal, arm)
    missing = _missing_cases(c, coverage, rows, subject)
    if missing:
        listed = ", ".join(f"`{case}`" for case in missing)
        c.report("E3001", node.subject.span, f"the match does not cover {listed}", help=_missing_help(missing))


ARMS_SHOWN = 5


def _missing_help(missing: list[str]) -> str:
    """The arms that are missing, as they may be written."""
    named = [f"`{case} => …`" for case in missing[:ARMS_SHOWN] if case not in ("_", "…")]
    if not named:
        return "add an arm `_ => …`"
    more = ", …" if len(missing) > ARMS_SHOWN else ""
    return f"add {'an arm' if len(named) == 1 else 'the arms'} {', '.join(named)}{more} or `_ => …`"


def _literal_key(pattern: ast.Pattern) -> object | None:
    """What tells a plain literal from others: many of them are compared without asking for coverage each time."""
    return (type(pattern.value), pattern.value) if isinstance(pattern, ast.LiteralPattern) else None


def _missing_cases(c: Checker, coverage: Coverage, rows: list[Row], subject: Type) -> list[str]:
    """Every missing case of the outermost level."""
    first = coverage.missing(rows, (subject,))
    if first is None:
        return []
    cases: list[str] = []
    for head in coverage.all_heads(subject) or []:
        below = coverage.missing(coverage.specialise([f for r in rows for f in _alternatives(r)], head), head.parts)
        if below is not None:
            cases.append(coverage.rebuild(head, below)[0])
    return cases or first


def _covering_arm(
    coverage: Coverage, rows: list[Row], places: list[ast.MatchArm], arm: ast.MatchArm, subject: Type
) -> ast.MatchArm | None:
    """The first arm after which nothing was left for this one, None if something is."""
    if not rows or coverage.useful(rows, (arm.pattern,), (subject,)):
        return None
    low, high = 1, len(rows)
    while low < high:
        middle = (low + high) // 2
        if coverage.useful(rows[:middle], (arm.pattern,), (subject,)):
            low = middle + 1
        else:
            high = middle
    return places[low - 1]
