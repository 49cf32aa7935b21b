"""The declared types of a program with the types of their parts, for what builds values from text (L-7.1.2).

Hands on `DeclaredTypes`. Must not know: texts, tasks.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any


class DeclaredTypes:
    """Struct classes and enum types by key; asking for one tells it the descriptors of its fields or payloads. `types` are the
    entries of the image, `classes` and `descriptors` what the linker made of them."""

    __slots__ = ("types", "classes", "descriptors", "numbers")

    def __init__(self, types: Sequence[Any], classes: Sequence[Any], descriptors: Sequence[Any]) -> None:
        self.types = types
        self.classes = classes
        self.descriptors = descriptors
        self.numbers = {entry[1]: number for number, entry in enumerate(types) if classes[number] is not None}

    def struct_class(self, key: str) -> Any:
        number = self.numbers[key]
        cls = self.classes[number]
        if not cls.decl.types:
            cls.decl.types = self._descriptors(field[1] for field in self.types[number][2])
        return cls

    def field_defaults(self, key: str) -> dict[str, int]:
        """The functions that give the defaults of a struct's fields, by field."""
        return {row[0]: row[3] for row in self._rows(key) if len(row) > 3 and type(row[3]) is int}

    def names_before(self, key: str) -> dict[str, str]:
        """What fields of a struct were called before, by field (M-8.24)."""
        return {row[0]: row[-1] for row in self._rows(key) if len(row) > 3 and type(row[-1]) is str}

    def _rows(self, key: str) -> Any:
        return self.types[self.numbers[key]][2]

    def enum_type(self, key: str) -> Any:
        number = self.numbers[key]
        decl = self.classes[number]
        for variant, row in zip(decl.variants, self.types[number][2], strict=True):
            variant.types = variant.types or self._descriptors(row[1])
        return decl

    def _descriptors(self, numbers: Iterable[int]) -> tuple[Any, ...]:
        return tuple(self.descriptors[number] for number in numbers)
