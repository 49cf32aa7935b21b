"""Expressions with a body: blocks, branches, loops, closures, and what leaves them."""

from __future__ import annotations

from dataclasses import field
from typing import Any

from .nodes import Decorator, Expr, Ident, Node, Pattern, Stmt, TypeExpr, annotation, node


@node
class Block(Expr):
    """`{ statements; result }`; `result` is the final expression without `;`, or None."""

    statements: list[Stmt]
    result: Expr | None


@node
class If(Expr):
    """`otherwise` is a Block, another If, or None."""

    condition: Expr
    then: Block
    otherwise: Expr | None


@node
class MatchArm(Node):
    pattern: Pattern
    guard: Expr | None
    body: Expr


@node
class Match(Expr):
    subject: Expr
    arms: list[MatchArm]


@node
class For(Expr):
    label: Ident | None
    pattern: Pattern
    iterable: Expr
    body: Block
    failure: Any = annotation()  # over a Stream: the coercion of the error that cuts it, or None


@node
class While(Expr):
    label: Ident | None
    condition: Expr
    body: Block


@node
class Loop(Expr):
    label: Ident | None
    body: Block


@node
class CatchClause(Node):
    """`catch`, `catch T`, `catch T(e)`."""

    type: TypeExpr | None
    name: Ident | None
    body: Block
    binding: Any = annotation()  # the Local of `name`
    caught: Any = annotation()  # checker Type it catches, None for all


@node
class Try(Expr):
    body: Block
    catches: list[CatchClause]
    rethrow: Any = annotation()  # (type, coercion) of errors that no clause catches and that are converted on their way outward


@node
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


@node
class Closure(Expr):
    """`|a, b: T| body`, `|| -> T { … }`, and `fn (a: A) -> T { … }` (`function_form`)."""

    parameters: list[Parameter]
    result: TypeExpr | None
    body: Expr
    function_form: bool = False
    scope: Any = annotation()  # resolver.symbols.FunctionScope


@node
class Return(Expr):
    value: Expr | None


@node
class Throw(Expr):
    value: Expr


@node
class Break(Expr):
    label: Ident | None
    value: Expr | None


@node
class Continue(Expr):
    label: Ident | None
