"""The declared types of a program with the types of their parts, for what builds values from text (L-7.1.2).

Hands on `DeclaredTypes`. Must not know: texts, tasks.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .link import Program


class DeclaredTypes:
    """Struct classes and enum types by key; asking for one tells it the descriptors of its fields or payloads."""

    __slots__ = ("program", "numbers")

    def __init__(self, program: Program) -> None:
        self.program = program
        self.numbers = {entry[1]: number for number, entry in enumerate(program.types) if program.classes[number] is not None}

    def struct_class(self, key: str) -> Any:
        number = self.numbers[key]
        cls = self.program.classes[number]
        if not cls.decl.types:
            cls.decl.types = self._descriptors(field[1] for field in self.program.types[number][2])
        return cls

    def enum_type(self, key: str) -> Any:
        number = self.numbers[key]
        decl = self.program.classes[number]
        for variant, row in zip(decl.variants, self.program.types[number][2], strict=True):
            variant.types = variant.types or self._descriptors(row[1])
        return decl

    def _descriptors(self, numbers: Any) -> tuple[Any, ...]:
        return tuple(self.program.descriptors[number] for number in numbers)
