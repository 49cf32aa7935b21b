"""Option and Result: Some, NONE, Ok, Err (L-3.1.7, V-5.5).

Hands on four immutable kinds matched by class. A payload may be a container of a place: whoever takes it out of a
value that stays alive marks it with `share`, which notes in `shared`, unset till then, that it has been here.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final

    # Where an error was made and what it passed, of vm/ways.py: places, and a number for those left out
    Way = tuple[Any, ...]


class Some:
    """An Option that holds a value."""

    __slots__ = ("value", "shared")
    type_name = "Option"

    def __init__(self, value: Any) -> None:
        self.value = value

    def __repr__(self) -> str:
        return f"Some({self.value!r})"


class NoneOption:
    """The kind of the empty Option; its one value is `NONE`, which is not `nil` (L-5.3.1)."""

    __slots__ = ()
    type_name = "Option"

    def __repr__(self) -> str:
        return "NONE"


NONE: Final = NoneOption()


class Ok:
    """A Result that succeeded."""

    __slots__ = ("value", "shared")
    type_name = "Result"

    def __init__(self, value: Any = None) -> None:
        self.value = value

    def __repr__(self) -> str:
        return f"Ok({self.value!r})"


class Err:
    """A Result that failed; `value` is the error. `way` belongs to no value: nothing compares, shows or writes it (L-5.11.3)."""

    __slots__ = ("value", "shared", "way")
    type_name = "Result"

    def __init__(self, value: Any = None, way: Way = ()) -> None:
        self.value = value
        self.way = way

    def __repr__(self) -> str:
        return f"Err({self.value!r})"
