"""Argument guards: bodies take arguments whose static type may be Any, so each says what it expects (L-3.3.3).

Hands on one guard per kind; each gives the argument back or panics with P007.
"""

from __future__ import annotations

from ..panics import Panic
from ..values.containers import Array, Map
from ..values.typeof import typeof

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn


def mismatch(expected: str, found: Any) -> NoReturn:
    raise Panic("P007", f"expected {expected}, found {typeof(found)}")


def text(value: Any) -> str:
    return value if type(value) is str else mismatch("String", value)


def boolean(value: Any) -> bool:
    return value if type(value) is bool else mismatch("Bool", value)


def integer(value: Any) -> int:
    return value if type(value) is int else mismatch("Int", value)


def number(value: Any) -> Any:
    return value if type(value) is int or type(value) is float else mismatch("Int or Float", value)


def float_of(value: Any) -> float:
    """A Float, or an Int made one (L-3.3.4)."""
    return float(number(value))


def array(value: Any) -> list[Any]:
    """The elements of an Array."""
    return value.items if type(value) is Array else mismatch("Array", value)


def table(value: Any) -> dict[Any, Any]:
    """The entries of a Map by dict key."""
    return value.items if type(value) is Map else mismatch("Map", value)


def binary(value: Any) -> bytes:
    return value if type(value) is bytes else mismatch("Bytes", value)
