"""Enum values (L-5.1.9).

Hands on `EnumType`, the declaration, and `EnumValue`. Enum values are immutable; nothing inside one is a place.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any


class Variant:
    """One variant: `fields` are the names of a struct variant, else empty; `arity` is the payload's length."""

    __slots__ = ("name", "arity", "fields", "types")

    def __init__(self, name: str, arity: int = 0, fields: tuple[str, ...] = (), types: tuple[Any, ...] = ()) -> None:
        self.name = name
        self.arity = len(fields) or arity
        self.fields = fields
        self.types = types


class EnumType:
    """The declaration behind enum values; `key` is unique in a program, `name` is what programs see."""

    __slots__ = ("name", "key", "variants", "is_error", "index")

    def __init__(
        self, name: str, variants: Iterable[Variant | str], *, key: str = "", is_error: bool = False
    ) -> None:
        self.name = name
        self.key = key or name
        self.variants = tuple(Variant(v) if isinstance(v, str) else v for v in variants)
        self.is_error = is_error
        self.index = {variant.name: position for position, variant in enumerate(self.variants)}


class EnumValue:
    """A variant by its number and its payload, None for a variant without one.

    `shared` says that the payload has been marked already (see `sharing.share`).
    """

    __slots__ = ("decl", "variant", "payload", "shared")

    def __init__(self, decl: EnumType, variant: int, payload: tuple[Any, ...] | None = None) -> None:
        self.decl = decl
        self.variant = variant
        self.payload = payload
        self.shared = False

    @property
    def type_name(self) -> str:
        return self.decl.name

    def __repr__(self) -> str:
        return f"{self.decl.name}::{self.decl.variants[self.variant].name}{self.payload or ''}"
