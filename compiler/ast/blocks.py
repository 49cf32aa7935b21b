"""Expressions with a body: blocks, branches, loops, closures, and what leaves them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .nodes import Decorator, Expr, Ident, Node, Pattern, Stmt, TypeExpr, annotation


@dataclass(slots=True, kw_only=True, eq=False)
class Block(Expr):
    """`{ statements; result }`; `result` is the final expression without `;`, or None."""

    statements: list[Stmt]
    result: Expr | None


@dataclass(slots=True, kw_only=True, eq=False)
class If(Expr):
    """`otherwise` is a Block, another If, or None."""

    condition: Expr
    then: Block
    otherwise: Expr | None


@dataclass(slots=True, kw_only=True, eq=False)
class MatchArm(Node):
    pattern: Pattern
    guard: Expr | None
    body: Expr


@dataclass(slots=True, kw_only=True, eq=False)
class Match(Expr):
    subject: Expr
    arms: list[MatchArm]


@dataclass(slots=True, kw_only=True, eq=False)
class For(Expr):
    label: Ident | None
    pattern: Pattern
    iterable: Expr
    body: Block
    failure: Any = annotation()  # over a Stream: the coercion of the error that cuts it, or None


@dataclass(slots=True, kw_only=True, eq=False)
class While(Expr):
    label: Ident | None
    condition: Expr
    body: Block


@dataclass(slots=True, kw_only=True, eq=False)
class Loop(Expr):
    label: Ident | None
    body: Block


@dataclass(slots=True, kw_only=True, eq=False)
class CatchClause(Node):
    """`catch`, `catch T`, `catch T(e)`."""

    type: TypeExpr | None
    name: Ident | None
    body: Block
    binding: Any = annotation()  # the Local of `name`
    caught: Any = annotation()  # checker Type it catches, None for all


@dataclass(slots=True, kw_only=True, eq=False)
class Try(Expr):
    body: Block
    catches: list[CatchClause]
    rethrow: Any = annotation()  # (type, coercion) of errors that no clause catches and that are converted on their way outward


@dataclass(slots=True, kw_only=True, eq=False)
class Parameter(Node):
    """`name: type = default`, or `self` / `mut self` (`is_self`).

    A closure parameter that takes its argument apart carries a `pattern`, and `_` as its name.
    """

    name: Ident
    type: TypeExpr | None
    default: Expr | None = None
    is_self: bool = False
    mutable: bool = False
    decorators: list[Decorator] = field(default_factory=list)
    pattern: Pattern | None = None
    binding: Any = annotation()  # its Local


@dataclass(slots=True, kw_only=True, eq=False)
class Closure(Expr):
    """`|a, b: T| body`, `|| -> T { … }`, and `fn (a: A) -> T { … }` (`function_form`)."""

    parameters: list[Parameter]
    result: TypeExpr | None
    body: Expr
    function_form: bool = False
    scope: Any = annotation()  # resolver.symbols.FunctionScope


@dataclass(slots=True, kw_only=True, eq=False)
class Return(Expr):
    value: Expr | None


@dataclass(slots=True, kw_only=True, eq=False)
class Throw(Expr):
    value: Expr


@dataclass(slots=True, kw_only=True, eq=False)
class Break(Expr):
    label: Ident | None
    value: Expr | None


@dataclass(slots=True, kw_only=True, eq=False)
class Continue(Expr):
    label: Ident | None
