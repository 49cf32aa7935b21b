"""Patterns."""

from __future__ import annotations

from typing import Any

from .nodes import Ident, Node, Pattern, annotation, node


@node
class WildcardPattern(Pattern):
    pass


@node
class LiteralPattern(Pattern):
    """String, Int, Float, Bool or nil; a negative number carries its sign in `value`."""

    value: str | int | float | bool | None


@node
class RangePattern(Pattern):
    start: int | float | None
    end: int | float | None
    inclusive: bool


@node
class BindPattern(Pattern):
    """`x`, `mut x`, `x @ p`. A bare `x` may turn out to be a constant or a unit variant (L-5.8.2): then `constant` is set."""

    name: Ident
    mutable: bool
    inner: Pattern | None = None
    binding: Any = annotation()  # its Local
    constant: Any = annotation()  # the ConstSymbol or VariantSymbol it denotes instead


@node
class PathPattern(Pattern):
    """`E::V` or another path of two or more segments, without arguments."""

    path: list[Ident]
    binding: Any = annotation()


@node
class TupleStructPattern(Pattern):
    """`E::V(p, q)`, `Some(p)`, `Ok(p)`."""

    path: list[Ident]
    items: list[Pattern]
    binding: Any = annotation()


@node
class FieldPattern(Node):
    """`x`, `mut x` (pattern is the BindPattern of the name, `shorthand` set) or `x: p`."""

    name: Ident
    pattern: Pattern
    shorthand: bool


@node
class StructPattern(Pattern):
    path: list[Ident]
    fields: list[FieldPattern]
    rest: bool
    binding: Any = annotation()


@node
class TuplePattern(Pattern):
    items: list[Pattern]


@node
class RestPattern(Pattern):
    """`..` or `..name`, only among the items of an ArrayPattern."""

    name: Ident | None
    binding: Any = annotation()


@node
class ArrayPattern(Pattern):
    items: list[Pattern]


@node
class OrPattern(Pattern):
    alternatives: list[Pattern]
