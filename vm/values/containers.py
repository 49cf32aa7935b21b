"""The containers with value semantics: a `shared` mark and copy on write (V-5.7, L-5.5.2, L-6.7).

Hands on Array, Map, Set, Queue and Stack and the Map's key encoding; `sharing` says when the mark is set and what a write does.
Knows nothing of types, display or the methods of the language.
"""

from __future__ import annotations

from collections import deque

from ..panics import Panic
from .metering import LARGE, paced
from .typeof import typeof

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any


class Array:
    """Ordered elements (L-3.1.4)."""

    __slots__ = ("items", "shared")
    type_name = "Array"

    def __init__(self, items: list[Any]) -> None:
        self.items = items
        self.shared = False

    def __repr__(self) -> str:
        return f"Array({self.items!r})"


class BoolKey:
    """Stands for a Bool key in a dict, where Python would take True for 1."""

    __slots__ = ("value",)

    def __init__(self, value: bool) -> None:
        self.value = value

    def __repr__(self) -> str:
        return f"BoolKey({self.value})"


TRUE_KEY = BoolKey(True)
FALSE_KEY = BoolKey(False)


def key_of(key: Any) -> Any:
    """The dict key for a Concerto key; String, Int, Bool and Bytes only, else P007 (L-3.1.5)."""
    kind = type(key)
    if kind is str or kind is int or kind is bytes:
        return key
    if kind is bool:
        return TRUE_KEY if key else FALSE_KEY
    raise Panic("P007", f"expected a key of type String, Int, Bool or Bytes, found {typeof(key)}")


def unkey(key: Any) -> Any:
    """The Concerto key a dict key stands for."""
    return key.value if type(key) is BoolKey else key


class Map:
    """Insertion-ordered entries; `items` is keyed by `key_of` (L-3.1.5)."""

    __slots__ = ("items", "shared")
    type_name = "Map"

    def __init__(self, items: dict[Any, Any]) -> None:
        self.items = items
        self.shared = False

    @classmethod
    def of(cls, entries: list[Any]) -> Map:
        """A Map from alternating keys and values; a later equal key wins and keeps the first position (L-6.5.11)."""
        return cls({key_of(entries[at]): entries[at + 1] for at in range(0, len(entries), 2)})

    def key_list(self) -> list[Any]:
        """The Concerto keys in insertion order."""
        return [unkey(key) for key in (paced(self.items) if len(self.items) >= LARGE else self.items)]

    def entries(self) -> Iterator[tuple[Any, Any]]:
        """`(key, value)` in insertion order, with Concerto keys."""
        if TRUE_KEY in self.items or FALSE_KEY in self.items:
            return iter([(unkey(key), value) for key, value in self.items.items()])
        return iter(self.items.items())

    def __repr__(self) -> str:
        return f"Map({self.items!r})"


class Set:
    """Distinct values in insertion order; `items` is keyed by `structural.set_key` (L-6.7.3)."""

    __slots__ = ("items", "shared")
    type_name = "Set"

    def __init__(self, items: dict[Any, Any]) -> None:
        self.items = items
        self.shared = False

    def __repr__(self) -> str:
        return f"Set({list(self.items.values())!r})"


class Queue:
    """First in, first out; the front is the first item (L-6.7.5)."""

    __slots__ = ("items", "shared")
    type_name = "Queue"

    def __init__(self, items: deque[Any]) -> None:
        self.items = items
        self.shared = False

    def __repr__(self) -> str:
        return f"Queue({list(self.items)!r})"


class Stack:
    """Last in, first out; the bottom is the first item (L-6.7.5)."""

    __slots__ = ("items", "shared")
    type_name = "Stack"

    def __init__(self, items: list[Any]) -> None:
        self.items = items
        self.shared = False

    def __repr__(self) -> str:
        return f"Stack({self.items!r})"


def elements(container: Any) -> Any:
    """What an Array, Set, Queue or Stack holds, in the order of iteration (L-5.7.4)."""
    return container.items.values() if type(container) is Set else container.items
