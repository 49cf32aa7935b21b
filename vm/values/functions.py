"""Function values: closures and the cells they share with their makers (L-5.9.3, L-5.1.15).

Hands on `Cell` and `Closure`. The function inside belongs to the linked program; all that is asked of it here is the
attribute `name`, empty for an anonymous one.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Cell:
    """A captured variable."""

    __slots__ = ("value",)

    def __init__(self, value: Any = None) -> None:
        self.value = value


class Closure:
    """A function value, compared by identity (L-5.3.1)."""

    __slots__ = ("function", "cells")
    type_name = "Function"

    def __init__(self, function: Any, cells: list[Cell] | tuple[Cell, ...] = ()) -> None:
        self.function = function
        self.cells = cells
