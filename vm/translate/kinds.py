"""Kinds of values at translation time: those of the image's types, and of containers that a function makes (V-7.2).

A kind is the word of a type descriptor and its number: in the image, behind these for what only a function knows of, -1
where nothing is known inside, `EMPTY` for an Array or Map that nothing was put into yet. Nothing trusts a kind: what is done
for it gives a panic for values of another (V-2.6). Hands on `Kinds`. Must not know: Python text.
"""

from __future__ import annotations

from . import stack as s

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from .stack import Kind

EMPTY = -3
DEEPEST = 3  # containers in one another whose kinds are told apart
WORDS = frozenset({"int", "float", "string", "bool", "nil"})
HOLDING = {"array": 1, "option": 1, "nilable": 1, "map": 2}  # where the type of what a container holds stands


class Kinds:
    def __init__(self, image: Any) -> None:
        self.types = image.types
        self.made: list[list[Any]] = []
        self.numbers: dict[Any, int] = {}

    def descriptor(self, number: int) -> Any:
        known = len(self.types)
        return self.types[number] if number < known else self.made[number - known]

    def of_type(self, number: int) -> Kind:
        descriptor = self.descriptor(number)
        return (descriptor[0], -1) if len(descriptor) == 1 else (descriptor[0], number)

    def number(self, kind: Kind) -> int:
        """The number that stands for a kind inside another."""
        return kind[1] if kind[1] >= 0 else self._made((kind[0],))

    def _made(self, key: tuple[Any, ...]) -> int:
        if key not in self.numbers:
            self.numbers[key] = len(self.types) + len(self.made)
            self.made.append([list(part) if isinstance(part, tuple) else part for part in key])
        return self.numbers[key]

    def _depth(self, kind: Kind) -> int:
        known = len(self.types)
        if kind[1] < known:
            return 0
        parts = self.made[kind[1] - known][1:]
        inner = [number for part in parts for number in (part if isinstance(part, list) else [part])]
        return 1 + max([self._depth(self.of_type(number)) for number in inner], default=0)

    def holding(self, word: str, *inner: Kind) -> Kind:
        """A container of declared kind that holds values of these kinds."""
        if any(self._depth(kind) >= DEEPEST for kind in inner) or all(kind == s.ANY for kind in inner):
            return (word, -1)
        return (word, self._made((word, *[self.number(kind) for kind in inner])))

    def tuple(self, parts: Iterable[Kind]) -> Kind:
        parts = list(parts)
        word = "plain" if all(kind[0] in s.SCALARS for kind in parts) else "tuple"
        if any(self._depth(kind) >= DEEPEST for kind in parts):
            return (word, -1)
        return (word, self._made((word, tuple([self.number(kind) for kind in parts]))))

    def inner(self, kind: Kind, position: int = 0) -> Kind:
        """The kind of what a container holds."""
        if kind[1] < 0 or kind[0] not in HOLDING:
            return s.ANY
        return self.of_type(self.descriptor(kind[1])[position or HOLDING[kind[0]]])

    def element(self, kind: Kind, position: int) -> Kind:
        """The kind of a part of a tuple."""
        if kind[0] in ("tuple", "plain") and kind[1] >= 0:
            parts = self.descriptor(kind[1])[1]
            return self.of_type(parts[position]) if position < len(parts) else s.ANY
        return s.PLAIN if kind[0] == "plain" else s.ANY

    def field(self, kind: Kind, position: int) -> Kind:
        if kind[0] in ("struct", "schema") and kind[1] >= 0:
            fields = self.descriptor(kind[1])[2]
            return self.of_type(fields[position][1]) if position < len(fields) else s.ANY
        return s.ANY

    def payload(self, kind: Kind, variant: int, position: int) -> Kind:
        """The kind of a part of an enum value of a variant."""
        if kind[0] != "enum" or kind[1] < 0 or variant >= len(self.descriptor(kind[1])[2]):
            return s.ANY
        parts = self.descriptor(kind[1])[2][variant][1]
        return self.of_type(parts[position]) if position < len(parts) else s.ANY

    def result(self, descriptor: Any, receiver: Any, kind: Kind) -> Kind:
        """What a built-in method gives, by its signature, on a receiver of that kind."""
        word = descriptor[0]
        if word in WORDS:
            return (str(word), -1)
        if word in ("array", "option"):
            return self.holding(word, self.result(descriptor[1], receiver, kind))
        if word == "var" and receiver is not None and receiver[0] in HOLDING and receiver[HOLDING[receiver[0]]] == descriptor:
            return self.inner(kind)
        return (word, -1) if word in ("map", "result") else s.ANY

    def filled(self, kind: Kind, put: Kind, key: Kind) -> Kind:
        """The kind of an Array or Map that elements of a kind, under keys of a kind, were put into, too."""
        if kind[1] == -1:
            return kind
        inner = put if kind[1] == EMPTY else joint([self.inner(kind), put])
        if kind[0] == "array":
            return self.holding("array", inner)
        return self.holding("map", key if kind[1] == EMPTY else joint([self.inner(kind, 1), key]), inner)


def joint(kinds: Iterable[Kind]) -> Kind:
    """What holds of values of any of these kinds."""
    found = set(kinds)
    if len(found) > 1 and len({word for word, _ in found}) == 1:
        found.discard((next(iter(found))[0], EMPTY))
    if len(found) == 1:
        return found.pop()
    words = {word for word, _ in found}
    if len(words) == 1:
        return (words.pop(), -1)
    return s.PLAIN if words <= s.SCALARS else s.ANY
