"""A JSON object from a provider, read by name: each part is of the kind that was asked for, or the reply is none (O-1.105).

Hands on `Fields`, and `Unreadable` for what is no reply. Must not know: wires.
"""

from __future__ import annotations

from ..outside_text import clean_text
from ..schema.json_text import JsonRefused, parse_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeVar

    T = TypeVar("T")

MOST_SHOWN = 60  # characters of a body that is no JSON
KINDS = {bool: "a Bool", int: "a number", float: "a number", str: "a text", list: "a list", dict: "an object"}


class Unreadable(Exception):
    """A reply that is no reply; the text says what is wrong with it (O-1.105)."""


class Fields:
    """`data` is the object itself, `place` where it stands in the reply. A part that is null counts as absent."""

    __slots__ = ("data", "place")

    def __init__(self, data: Any, place: str = "") -> None:
        """Unreadable unless `data` is an object."""
        if type(data) is not dict:
            raise Unreadable(f"{place or 'the reply'} is {_kind(data)}, no object")
        self.data: dict[str, Any] = data
        self.place = place

    def has(self, name: str) -> bool:
        return self.data.get(name) is not None

    def text(self, name: str) -> str:
        return self._required(name, str)

    def text_or(self, name: str, other: str = "") -> str:
        value = self.data.get(name)
        if value is None:
            return other
        return value if type(value) is str else self._refuse(name, str)

    def record(self, name: str) -> Fields:
        return Fields(self._required(name, dict), self._at(name))

    def record_or(self, name: str) -> Fields:
        """An empty one in the place of an absent one."""
        value = self.data.get(name)
        return Fields({} if value is None else value, self._at(name))

    def records(self, name: str) -> list[Fields]:
        return self._records(name, self._required(name, list))

    def records_or(self, name: str) -> list[Fields]:
        """None at all in the place of an absent list."""
        value = self.data.get(name)
        if value is None:
            return []
        return self._records(name, value if type(value) is list else self._refuse(name, list))

    def position(self, name: str, other: int | None = None) -> int:
        """A number of 0 or more by which something is counted."""
        value = self._required(name, int) if other is None or self.has(name) else other
        if value < 0:
            raise Unreadable(f"{self._at(name)} is below 0")
        return value

    def values(self, name: str) -> list[Any]:
        return self._required(name, list)

    def _records(self, name: str, values: list[Any]) -> list[Fields]:
        place = self._at(name)
        return [Fields(value, f"{place}[{number}]") for number, value in enumerate(values)]

    def _required(self, name: str, kind: type[T]) -> T:
        value = self.data.get(name)
        if type(value) is kind:
            return value
        return self._refuse(name, kind)

    def _refuse(self, name: str, kind: type[T]) -> T:
        value = self.data.get(name)
        if value is None:
            raise Unreadable(f"{self.place or 'the reply'} has no {name}")
        raise Unreadable(f"{self._at(name)} is {_kind(value)}, not {KINDS[kind]}")

    def _at(self, name: str) -> str:
        return f"{self.place}.{name}" if self.place else name


def fields_of(body: bytes) -> Fields:
    """The object that a body, or the data of an event, is; Unreadable otherwise."""
    try:
        return Fields(parse_json(body.decode("utf-8", "replace")))
    except JsonRefused as refused:
        raise Unreadable(f"the reply cannot be read as JSON ({refused.reason}){_beginning(body)}") from None


def _beginning(body: bytes) -> str:
    """So that somebody who reads the message sees who answered: a page of a proxy, another protocol."""
    text = " ".join(clean_text(body[:400].decode("utf-8", "replace")).split())[:MOST_SHOWN]
    return f"; it begins `{text}`" if text else ": it is empty"


def object_in(text: str) -> dict[str, Any] | None:
    """The arguments of a call; None unless they are a JSON object (O-1.84)."""
    try:
        value = parse_json(text)
    except JsonRefused:
        return None
    return value if isinstance(value, dict) else None


def _kind(value: Any) -> str:
    return KINDS.get(type(value), "null")
