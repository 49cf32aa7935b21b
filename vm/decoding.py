"""`json::parse_as<T>` for the loop: from a text to a Result and the fields that its defaults have still to fill (L-7.1.2).

Hands on `parse_json` and `fill`. A hole is a tuple of struct, field position and the function that gives the default. Must not
know: how JSON becomes values of types (`builtins/std/json_types`), which is loaded when the first program asks for it.
"""

from __future__ import annotations

from .panics import Panic
from .values import Array, Struct, typeof

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class DeclaredTypes:
    """The declared types of a program as the builder of values asks for them; `defaults` is a Map by `key.position`."""

    __slots__ = ("classes", "defaults")

    def __init__(self, classes: dict[str, Any], defaults: Any) -> None:
        self.classes = classes
        self.defaults = defaults

    def struct_class(self, key: str) -> Any:
        return self.classes[key]

    def enum_type(self, key: str) -> Any:
        return self.classes[key]

    def has_default(self, key: str, position: int) -> bool:
        return f"{key}.{position}" in self.defaults.items


def parse_json(text: Any, defaults: Any, operand: Any) -> tuple[Any, Any]:
    """(Ok or Err, Array of holes)."""
    from .builtins.std.json_types import parse_as

    descriptor, classes = operand
    result, holes = parse_as(text, descriptor, DeclaredTypes(classes, defaults))
    default_of = defaults.items
    return result, Array([(h.struct, h.position, default_of[f"{h.struct.decl.key}.{h.position}"]) for h in holes])


def fill(hole: Any, value: Any) -> None:
    struct, position, _ = hole
    if not isinstance(struct, Struct):
        raise Panic("P007", f"expected a struct to fill, found {typeof(struct)}")
    setattr(struct, f"f{position}", value)
