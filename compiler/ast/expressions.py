"""Expressions: literals, operators, access, calls."""

from __future__ import annotations

from dataclasses import field
from typing import Any

from .nodes import Argument, Expr, Ident, Node, TypeExpr, annotation, node


@node
class IntLiteral(Expr):
    """`value` may be 2**63 only directly under unary minus (L-1.4.1)."""

    value: int


@node
class FloatLiteral(Expr):
    value: float


@node
class StringLiteral(Expr):
    """`word`: written bare, as the tier of a fact (M-2.6)."""

    value: str
    word: bool = False


@node
class BoolLiteral(Expr):
    value: bool


@node
class NilLiteral(Expr):
    pass


@node
class Interpolation(Expr):
    """A string with holes: `parts` are StringLiteral (text, may be missing between holes) and other expressions (holes)."""

    parts: list[Expr]


@node
class PathExpr(Expr):
    """A name or path: `x`, `self`, `a::b`, `Set<Int>::new`. One segment and no arguments is the plain name."""

    segments: list[Ident]
    type_arguments: list[TypeExpr] | None = None  # after the segments, before `member`
    member: Ident | None = None  # NAME of `path<T>::NAME`
    binding: Any = annotation()  # resolver.symbols.Symbol it denotes


@node
class ArrayExpr(Expr):
    items: list[Expr]


@node
class MapEntry(Node):
    """`key: value`. A key written as one bare word is a StringLiteral of that word (L-2.6.2); `(k)` keeps the expression k."""

    key: Expr
    value: Expr


@node
class MapExpr(Expr):
    entries: list[MapEntry]


@node
class TupleExpr(Expr):
    items: list[Expr]


@node
class GroupExpr(Expr):
    """`(e)`: kept for the formatter and for L-2.6.2; means what `inner` means."""

    inner: Expr


@node
class FieldInit(Node):
    """`name: value`; `x` alone is `x: x` with `shorthand` set."""

    name: Ident
    value: Expr
    shorthand: bool = False


@node
class StructExpr(Expr):
    """`Path<T> { a: 1, b, ..base }`."""

    path: list[Ident]
    type_arguments: list[TypeExpr] | None
    fields: list[FieldInit]
    base: Expr | None
    binding: Any = annotation()  # the struct, schema or variant symbol


@node
class RangeExpr(Expr):
    start: Expr | None
    end: Expr | None
    inclusive: bool


@node
class Unary(Expr):
    """`operator` is `-` or `!`."""

    operator: str
    operand: Expr


@node
class Binary(Expr):
    """Arithmetic, comparison, `&&`, `||`, `??`. `operator` is the token's text."""

    operator: str
    left: Expr
    right: Expr


@node
class Assign(Expr):
    """`target = value` (`operator` is `=`) or `target op= value` (`operator` is `+=` …)."""

    operator: str
    target: Expr
    value: Expr


@node
class Pipe(Expr):
    """`left |> …` after L-2.3.1 and L-2.3.2: `applied` is the rewritten call, which holds `left` as an argument."""

    # No child of its own: a walk meets it inside `applied`, and meeting it twice would double the work at each pipe.
    left: Expr = field(metadata={"annotation": True})
    applied: Expr


@node
class Cast(Expr):
    operand: Expr
    target: TypeExpr
    catchable: Any = annotation()  # whether a `try` around it takes its failure (L-3.5.8)


@node
class Propagate(Expr):
    """`operand?`."""

    operand: Expr
    together: Any = annotation()  # true over an Array or tuple of Results (L-3.12.10)
    failure: Any = annotation()  # the coercion of the error on its way to its target, or None


@node
class Call(Expr):
    """`callee(arguments)`. `a::b::f<T>(x)` has a PathExpr callee with type arguments."""

    callee: Expr
    arguments: list[Argument]
    target: Any = annotation()  # checker.calls.CallTarget
    tasks: Any = annotation()  # list[TaskBody]: the operands of `race`
    memory: Any = annotation()  # MemorySymbol that this chain makes a value of


@node
class MethodCall(Expr):
    """`receiver.name<T>(arguments)`."""

    receiver: Expr
    name: Ident
    type_arguments: list[TypeExpr] | None
    arguments: list[Argument]
    target: Any = annotation()  # checker.calls.CallTarget
    held: Any = annotation()  # SlotRefs of the clauses of the function that may see what it writes
    memory: Any = annotation()  # MemorySymbol that this chain makes a value of


@node
class FieldAccess(Expr):
    """`receiver.name` without a call. `receiver.name<T>` without call is refused by the checker."""

    receiver: Expr
    name: Ident
    type_arguments: list[TypeExpr] | None = None
    target: Any = annotation()  # checker.calls.FieldTarget
    held: Any = annotation()  # SlotRef of the clause that loads this slot at entry


@node
class TupleAccess(Expr):
    """`receiver.N`."""

    receiver: Expr
    index: int


@node
class Index(Expr):
    receiver: Expr
    index: Expr


@node
class ErrorExpr(Expr):
    """Stands where recovery gave up, or for a form that was refused as a whole; has type Any and causes no second diagnostic.
    `inside`: what of it is an expression all the same."""

    inside: list[Expr] = field(default_factory=list)
