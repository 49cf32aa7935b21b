"""Types as written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .nodes import Ident, TypeExpr, annotation


@dataclass(slots=True, kw_only=True, eq=False)
class NamedType(TypeExpr):
    """`a::B<C, D>`; `arguments` is None without angle brackets."""

    path: list[Ident]
    arguments: list[TypeExpr] | None
    binding: Any = annotation()  # resolver.symbols.Symbol it denotes


@dataclass(slots=True, kw_only=True, eq=False)
class NilableType(TypeExpr):
    inner: TypeExpr


@dataclass(slots=True, kw_only=True, eq=False)
class FunctionType(TypeExpr):
    parameters: list[TypeExpr]
    result: TypeExpr | None


@dataclass(slots=True, kw_only=True, eq=False)
class TupleType(TypeExpr):
    """`()`, `(A,)`, `(A, B)`. `(A)` is grouping and gives A itself."""

    items: list[TypeExpr]


@dataclass(slots=True, kw_only=True, eq=False)
class LiteralType(TypeExpr):
    """A string literal as a type."""

    value: str


@dataclass(slots=True, kw_only=True, eq=False)
class UnionType(TypeExpr):
    members: list[TypeExpr]
