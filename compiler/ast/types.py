"""Types as written."""

from __future__ import annotations

from typing import Any

from .nodes import Ident, TypeExpr, annotation, node


@node
class NamedType(TypeExpr):
    """`a::B<C, D>`; `arguments` is None without angle brackets."""

    path: list[Ident]
    arguments: list[TypeExpr] | None
    binding: Any = annotation()  # resolver.symbols.Symbol it denotes


@node
class NilableType(TypeExpr):
    inner: TypeExpr


@node
class FunctionType(TypeExpr):
    parameters: list[TypeExpr]
    result: TypeExpr | None


@node
class TupleType(TypeExpr):
    """`()`, `(A,)`, `(A, B)`. `(A)` is grouping and gives A itself."""

    items: list[TypeExpr]


@node
class LiteralType(TypeExpr):
    """A string literal as a type."""

    value: str


@node
class UnionType(TypeExpr):
    members: list[TypeExpr]
