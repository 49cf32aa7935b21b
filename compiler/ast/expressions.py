"""Expressions: literals, operators, access, calls."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .nodes import Argument, Expr, Ident, Node, TypeExpr, annotation


@dataclass(slots=True, kw_only=True, eq=False)
class IntLiteral(Expr):
    """`value` may be 2**63 only directly under unary minus (L-1.4.1)."""

    value: int


@dataclass(slots=True, kw_only=True, eq=False)
class FloatLiteral(Expr):
    value: float


@dataclass(slots=True, kw_only=True, eq=False)
class StringLiteral(Expr):
    """`word`: written bare, as the tier of a fact (M-2.6)."""

    value: str
    word: bool = False


@dataclass(slots=True, kw_only=True, eq=False)
class BoolLiteral(Expr):
    value: bool


@dataclass(slots=True, kw_only=True, eq=False)
class NilLiteral(Expr):
    pass


@dataclass(slots=True, kw_only=True, eq=False)
class Interpolation(Expr):
    """A string with holes: `parts` are StringLiteral (text, may be missing between holes) and other expressions (holes)."""

    parts: list[Expr]


@dataclass(slots=True, kw_only=True, eq=False)
class PathExpr(Expr):
    """A name or path: `x`, `self`, `a::b`, `Set<Int>::new`. One segment and no arguments is the plain name."""

    segments: list[Ident]
    type_arguments: list[TypeExpr] | None = None  # after the segments, before `member`
    member: Ident | None = None  # NAME of `path<T>::NAME`
    binding: Any = annotation()  # resolver.symbols.Symbol it denotes


@dataclass(slots=True, kw_only=True, eq=False)
class ArrayExpr(Expr):
    items: list[Expr]


@dataclass(slots=True, kw_only=True, eq=False)
class MapEntry(Node):
    """`key: value`. A key written as one bare word is a StringLiteral of that word (L-2.6.2); `(k)` keeps the expression k."""

    key: Expr
    value: Expr


@dataclass(slots=True, kw_only=True, eq=False)
class MapExpr(Expr):
    entries: list[MapEntry]


@dataclass(slots=True, kw_only=True, eq=False)
class TupleExpr(Expr):
    items: list[Expr]


@dataclass(slots=True, kw_only=True, eq=False)
class GroupExpr(Expr):
    """`(e)`: kept for the formatter and for L-2.6.2; means what `inner` means."""

    inner: Expr


@dataclass(slots=True, kw_only=True, eq=False)
class FieldInit(Node):
    """`name: value`; `x` alone is `x: x` with `shorthand` set."""

    name: Ident
    value: Expr
    shorthand: bool = False


@dataclass(slots=True, kw_only=True, eq=False)
class StructExpr(Expr):
    """`Path<T> { a: 1, b, ..base }`."""

    path: list[Ident]
    type_arguments: list[TypeExpr] | None
    fields: list[FieldInit]
    base: Expr | None
    binding: Any = annotation()  # the struct, schema or variant symbol


@dataclass(slots=True, kw_only=True, eq=False)
class RangeExpr(Expr):
    start: Expr | None
    end: Expr | None
    inclusive: bool


@dataclass(slots=True, kw_only=True, eq=False)
class Unary(Expr):
    """`operator` is `-` or `!`."""

    operator: str
    operand: Expr


@dataclass(slots=True, kw_only=True, eq=False)
class Binary(Expr):
    """Arithmetic, comparison, `&&`, `||`, `??`. `operator` is the token's text."""

    operator: str
    left: Expr
    right: Expr


@dataclass(slots=True, kw_only=True, eq=False)
class Assign(Expr):
    """`target = value` (`operator` is `=`) or `target op= value` (`operator` is `+=` …)."""

    operator: str
    target: Expr
    value: Expr


@dataclass(slots=True, kw_only=True, eq=False)
class Pipe(Expr):
    """`left |> …` after L-2.3.1 and L-2.3.2: `applied` is the rewritten call, which holds `left` as an argument."""

    # No child of its own: a walk meets it inside `applied`, and meeting it twice would double the work at each pipe.
    left: Expr = field(metadata={"annotation": True})
    applied: Expr


@dataclass(slots=True, kw_only=True, eq=False)
class Cast(Expr):
    operand: Expr
    target: TypeExpr


@dataclass(slots=True, kw_only=True, eq=False)
class Propagate(Expr):
    """`operand?`."""

    operand: Expr
    failure: Any = annotation()  # the coercion of the error on its way to its target, or None


@dataclass(slots=True, kw_only=True, eq=False)
class Call(Expr):
    """`callee(arguments)`. `a::b::f<T>(x)` has a PathExpr callee with type arguments."""

    callee: Expr
    arguments: list[Argument]
    target: Any = annotation()  # checker.calls.CallTarget
    tasks: Any = annotation()  # list[TaskBody]: the operands of `race`


@dataclass(slots=True, kw_only=True, eq=False)
class MethodCall(Expr):
    """`receiver.name<T>(arguments)`."""

    receiver: Expr
    name: Ident
    type_arguments: list[TypeExpr] | None
    arguments: list[Argument]
    target: Any = annotation()  # checker.calls.CallTarget
    held: Any = annotation()  # SlotRefs of the clauses of the function that may see what it writes


@dataclass(slots=True, kw_only=True, eq=False)
class FieldAccess(Expr):
    """`receiver.name` without a call. `receiver.name<T>` without call is refused by the checker."""

    receiver: Expr
    name: Ident
    type_arguments: list[TypeExpr] | None = None
    target: Any = annotation()  # checker.calls.FieldTarget
    held: Any = annotation()  # SlotRef of the clause that loads this slot at entry


@dataclass(slots=True, kw_only=True, eq=False)
class TupleAccess(Expr):
    """`receiver.N`."""

    receiver: Expr
    index: int


@dataclass(slots=True, kw_only=True, eq=False)
class Index(Expr):
    receiver: Expr
    index: Expr


@dataclass(slots=True, kw_only=True, eq=False)
class ErrorExpr(Expr):
    """Stands where recovery gave up; has type Any and causes no second diagnostic."""
