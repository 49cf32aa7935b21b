"""What a method tells the loop instead of a value: enter a function, or the slice is over."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Invoke:
    """Enter `code` with these arguments and captured cells."""

    __slots__ = ("code", "arguments", "cells")

    def __init__(self, code: Any, arguments: list[Any], cells: Any) -> None:
        self.code = code
        self.arguments = arguments
        self.cells = list(cells)


class Suspended:
    __slots__ = ()


SUSPENDED = Suspended()
