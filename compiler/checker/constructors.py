"""The constructors that a type has a list of, and the one a pattern asks for (L-5.8.12).

Hands on to `exhaustiveness`, which finds what several patterns together cover, `Head` (the outermost constructor of a value),
`Heads` (all that a type has), `Reading` (what one pattern asks of a value), WILD, `covers` and `is_loose`; `alternatives` to
`patterns` too. A type that a match can cover without `_` is a case of `_list_heads` or `_list_declared`. The name of a
constructor is a tuple that begins with its kind, or the name of a built-in one, such as `Some`; `head_name` makes it of a
pattern. Patterns were checked before: nothing is reported here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ...vm.values.errors import is_family
from ..source import quoted
from ..symbols import BuiltinSymbol, ConstSymbol, EnumSymbol, ErrorFamilySymbol, StructSymbol, VariantSymbol
from ..syntax import ast
from ..types import ANY, BOOL, NIL, Nilable, Nominal, Tuple, Type, Union, absent_as_nil
from .relations import generic
from .state import Checker
from .types import parts_in


@dataclass(frozen=True, slots=True)
class Head:
    """The outermost constructor of a value: its name (a literal value, a variant, a shape), the types of its parts, and its
    text in messages with `{}` for each part."""

    name: object
    parts: tuple[Type, ...] = ()
    template: str = ""


class Heads:
    """Every constructor of one type, in order, and by name."""

    __slots__ = ("all", "by_name")

    def __init__(self, all: list[Head]) -> None:
        self.all = all
        self.by_name = {head.name: head for head in all}


# The pattern for parts that a pattern does not name.
WILD = ast.WildcardPattern(span=None)  # type: ignore[arg-type]


class Reading:
    """How patterns are read in one question. `arrays_match`: an array pattern counts as matching every length, as in `let`.
    `wraps`: some pattern `Some(…)` stands on a `T?`, so that the values of T count as held by one constructor. `known`: by type
    what `heads` has returned."""

    __slots__ = ("checker", "arrays_match", "wraps", "known", "_matches_all")

    def __init__(self, checker: Checker, arrays_match: bool, wraps: bool) -> None:
        self.checker = checker
        self.arrays_match = arrays_match
        self.wraps = wraps
        self.known: dict[Type, Heads | None] = {} if wraps else checker.heads
        self._matches_all: dict[ast.Pattern, bool] = {}

    def heads(self, type_: Type) -> Heads | None:
        """Return the constructors of a type; None for one that has no list of them, as Int."""
        if type_ not in self.known:
            listed = self._list_heads(type_)
            self.known[type_] = None if listed is None else Heads(listed)
        return self.known[type_]

    def head_of(self, pattern: ast.Pattern, type_: Type) -> Head | None:
        """Return the constructor that a pattern names; None for one that matches all, and for an array, which no other pattern
        equals. `pattern` is one that `alternatives` yields: no `x @ p` and no `a | b`."""
        name = head_name(pattern)
        if name is None or self.matches_all(pattern):
            return None
        # Absence has one name in a type, whichever of its two words a pattern writes.
        if name == "None" and absent_as_nil(type_):
            name = _NIL.name
        elif name == _NIL.name and generic(type_, "Option"):
            name = "None"
        if self.wraps and isinstance(type_, Nilable) and absent_as_nil(type_) and name != _NIL.name:
            name = PRESENT
        heads = self.heads(type_)
        listed = None if heads is None else heads.by_name.get(name)
        return Head(name, (ANY,) * _part_count(pattern)) if listed is None else listed

    def matches_all(self, pattern: ast.Pattern) -> bool:
        """Return whether a pattern asks for no constructor, so that it matches every value of its type. False for others, also
        for those that match everything all the same, as `(_, _)` and `true | false`: the search finds that."""
        pattern = inner(pattern)
        if isinstance(pattern, (ast.WildcardPattern, ast.RestPattern)):
            return True
        if isinstance(pattern, ast.BindPattern):
            return pattern.constant is None
        if not isinstance(pattern, (ast.ArrayPattern, ast.StructPattern, ast.OrPattern)):
            return False
        known = self._matches_all.get(pattern)
        if known is None:
            known = self._matches_all[pattern] = self.checker.nesting.call(self._asks_nothing, pattern)
        return known

    def _asks_nothing(self, pattern: ast.ArrayPattern | ast.StructPattern | ast.OrPattern) -> bool:
        if isinstance(pattern, ast.OrPattern):
            return any(self.matches_all(option) for option in pattern.alternatives)
        if isinstance(pattern, ast.StructPattern):
            return _same_record(pattern) and all(self.matches_all(entry.pattern) for entry in pattern.fields)
        if self.arrays_match:
            return all(self.matches_all(item) for item in pattern.items)
        # on Any it also asks for an Array
        return pattern.type != ANY and len(pattern.items) == 1 and isinstance(pattern.items[0], ast.RestPattern)

    def parts(self, pattern: ast.Pattern, head: Head) -> tuple[ast.Pattern, ...]:
        """Return one pattern for each part of a value with this head; those that the pattern does not name match all."""
        count = len(head.parts)
        if head.name is PRESENT and head_name(pattern) != "Some":
            return (pattern,)
        match pattern:
            case ast.TuplePattern() | ast.TupleStructPattern():
                items = tuple(pattern.items)
            case ast.StructPattern(binding=StructSymbol() | VariantSymbol()):
                by_name = {entry.name.text: entry.pattern for entry in pattern.fields}
                items = tuple([by_name.get(name, WILD) for name, _, _, _ in pattern.binding.fields])
            case _:
                items = ()
        return (*items, *(WILD,) * (count - len(items)))[:count]

    def is_narrow(self, pattern: ast.Pattern, head: Head) -> bool:
        """Return whether a pattern of an error or record compares a part: it then does not cover its constructor in full, as
        these have no listed parts."""
        if head.name is PRESENT:
            return False
        if isinstance(pattern, ast.TupleStructPattern) and isinstance(pattern.binding, ErrorFamilySymbol):
            return not all(self.matches_all(item) for item in pattern.items)
        if isinstance(pattern, ast.StructPattern) and not isinstance(pattern.binding, (StructSymbol, VariantSymbol)):
            return not all(self.matches_all(entry.pattern) for entry in pattern.fields)
        return False

    def _list_heads(self, type_: Type) -> list[Head] | None:
        if type_ == BOOL:
            return [Head(("literal", bool, True), (), "true"), Head(("literal", bool, False), (), "false")]
        if type_ == NIL:
            return [_NIL]
        if isinstance(type_, Nilable):
            # `T?` has the constructors of T and nil.
            if self.wraps and absent_as_nil(type_):
                return [_NIL, Head(PRESENT, (type_.inner,), "{}")]
            inside = self.heads(type_.inner)
            return None if inside is None else [_NIL, *inside.all]
        if isinstance(type_, Union):
            return [Head(("literal", str, m), (), quoted(m)) for m in type_.members]
        if isinstance(type_, Tuple):
            template = "({},)" if len(type_.items) == 1 else f"({', '.join(['{}'] * len(type_.items))})"
            return [Head(("tuple", len(type_.items)), type_.items, template)]
        return self._list_declared(type_)

    def _list_declared(self, type_: Type) -> list[Head] | None:
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
PRESENT = ("present",)  # the name of the constructor that holds the values of T in `T?`, where a pattern is `Some(…)`


def _variant_head(c: Checker, member: VariantSymbol, type_: Type) -> Head:
    parts = tuple(part for _, part, _, _ in parts_in(c, member, type_))
    name = f"{member.enum.name}::{member.name}"
    if member.form == "tuple":
        name += f"({', '.join(['{}'] * len(parts))})"
    elif member.form == "struct":
        name += f" {{ {', '.join(f'{field}: {{}}' for field, _, _, _ in member.fields)} }}"
    return Head(("variant", member.enum, member.name), parts, name)


def inner(pattern: ast.Pattern) -> ast.Pattern:
    """Return what stands behind the names of `x @ p`."""
    while isinstance(pattern, ast.BindPattern) and pattern.inner is not None:
        pattern = pattern.inner
    return pattern


def alternatives(pattern: ast.Pattern) -> Iterator[ast.Pattern]:
    """Yield the pattern, or each of its alternatives, from left to right."""
    waiting = [pattern]
    while waiting:
        at = inner(waiting.pop())
        if isinstance(at, ast.OrPattern):
            waiting.extend(reversed(at.alternatives))
        else:
            yield at


def _same_record(pattern: ast.StructPattern) -> bool:
    """Return whether a record pattern stands on its own record, of which it then matches every value."""
    type_ = pattern.type
    return isinstance(type_, Nominal) and type_.kind == "record" and isinstance(pattern.binding, BuiltinSymbol)


def _part_count(pattern: ast.Pattern) -> int:
    match pattern:
        case ast.TuplePattern():
            return len(pattern.items)
        case ast.TupleStructPattern():
            return 0 if isinstance(pattern.binding, ErrorFamilySymbol) else len(pattern.items)
        case ast.StructPattern(binding=StructSymbol() | VariantSymbol()):
            return len(pattern.binding.fields)
    return 0


def is_loose(name: object) -> bool:
    """Return whether a pattern with a head of this name may match values of other heads: ranges, error families."""
    return isinstance(name, tuple) and name[0] in ("range", "error")


def covers(own: object, other: object) -> bool:
    """Return whether a pattern whose head has the name `own` matches all values whose head has the name `other`: equal, an error
    family above it, or a range around it."""
    if own == other:
        return True
    match own, other:
        # A family without variant covers its variants and the families below it.
        case ("error", str(a), None), ("error", str(b), _):
            return is_family(b, a)
        case ("range", start, end, inclusive), ("literal", type() as kind, value) if kind in (int, float):
            return _in_range(value, start, end, bool(inclusive))
    return False


def _in_range(value: Any, start: Any, end: Any, inclusive: bool) -> bool:
    above = start is None or value >= start
    below = end is None or value < end or (inclusive and value == end)
    return above and below


def head_name(pattern: ast.Pattern) -> object | None:
    """Return the name of the constructor that a pattern names, equal for patterns of the same one; None for one that names
    none."""
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
    # A constant of a simple type is the literal; of others the symbol tells it apart.
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
