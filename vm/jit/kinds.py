"""Kinds: the static types that the translator reckons with (V-7.2).

A kind is the word of a type descriptor and the number of that descriptor: in the image, behind the image's for containers that
only the translator tells apart, `UNKNOWN` where nothing is known of what is inside, `EMPTY` for an Array or Map that nothing was
put into yet, `MOVED` for an Option whose payload was taken out of a container. An image may state a type wrongly. So a kind
chooses a form and proves nothing: for a value of another kind a form gives a value or a panic, and nothing else (V-2.6, V-7.2).

Hands on `Kinds` to `liveness`, and the kinds that have names (ANY, INT, STRING …), the sets of their words (SCALARS, CONTAINERS),
`join` and the type `Kind` to all that translates. The word "" (of ANY) says nothing, `plain` that a value has no mark of sharing;
`values` has words of its own for an Ok, an Err and a built-in error that the function itself has made. Nothing here looks at
values or writes text; a question about a kind that cannot be answered gives ANY.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    Kind = tuple[str, int]

UNKNOWN = -1
MOVED = -2  # of an Option: its payload was taken out of an Array or Map, where nobody reads it again unless it is marked
EMPTY = -3  # of an Array or Map, that nothing was put into it yet; of an Option, that it is None
ANY: Kind = ("", UNKNOWN)
UNSTORED: Kind = ("unstored", UNKNOWN)  # in the first passes of the fixpoint, of what no store has been seen of yet
INT: Kind = ("int", UNKNOWN)
FLOAT: Kind = ("float", UNKNOWN)
STRING: Kind = ("string", UNKNOWN)
BOOL: Kind = ("bool", UNKNOWN)
NIL: Kind = ("nil", UNKNOWN)
PLAIN: Kind = ("plain", UNKNOWN)  # some value without a mark of sharing
MAP: Kind = ("map", UNKNOWN)
OPTION: Kind = ("option", UNKNOWN)
NONE: Kind = ("option", EMPTY)
MOVED_OPTION: Kind = ("option", MOVED)
WORDS = frozenset({"int", "float", "string", "bool", "nil"})
SCALARS = WORDS | {"plain"}  # kinds of values that carry no mark of sharing
UNMARKED = SCALARS | {"range", "bytes", "fn", "union", "error", "handle"}
WRAPPERS = frozenset({"tuple", "option", "nilable", "result", "enum"})  # kinds that need a mark only for what they hold
CONTAINERS = frozenset({"array", "map", "struct", "schema", "set", "queue", "stack"})  # kinds that do, in the slot `shared`
# Where in a descriptor the type of what a container holds stands.
HOLDERS = {"array": 1, "option": 1, "nilable": 1, "map": 2, "set": 1, "queue": 1, "stack": 1}
DEEPEST = 3  # containers in one another whose kinds are told apart


class Kinds:
    """The kinds of one image, and of the containers that its functions build. `types`: the descriptors of the image; `built`:
    those made here, numbered behind them, and `numbers` their numbers. `unknown`: what is said of locals, and of what containers
    hold, of which nothing is known: ANY, but UNSTORED in the first passes of the fixpoint."""

    def __init__(self, image: Any) -> None:
        self.unknown = ANY
        self.types = image.types
        self.built: list[list[Any]] = []
        self.numbers: dict[Any, int] = {}
        self._marked: dict[int, bool] = {}  # by number of a wrapper: whether it may hold something with a mark
        self._words: dict[int, str] = {}  # by number of a type: its word, where it was asked for

    def descriptor(self, number: int) -> Any:
        """Return the type descriptor of a number, of the image or made here."""
        count = len(self.types)
        return self.types[number] if number < count else self.built[number - count]

    def of_type(self, number: int) -> Kind:
        """Return the kind of a type of the image, or of a container that was numbered here."""
        descriptor = self.descriptor(number)
        if descriptor[0] == "any":
            return ANY
        if descriptor[0] != "tuple" or len(descriptor) == 1:
            return (descriptor[0], UNKNOWN) if len(descriptor) == 1 else (descriptor[0], number)
        if number not in self._words:
            self._words[number] = "tuple"  # while its parts are looked at
            plain = all(self.of_type(part)[0] in SCALARS for part in descriptor[1])
            self._words[number] = "plain" if plain else "tuple"
        return (self._words[number], number)

    def number(self, kind: Kind) -> int:
        """Return the number that stands for a kind inside the descriptor of another; what `EMPTY` and `MOVED` say is lost."""
        return kind[1] if kind[1] >= 0 else self._numbered((kind[0],))

    def _numbered(self, descriptor: tuple[Any, ...]) -> int:
        if descriptor not in self.numbers:
            self.numbers[descriptor] = len(self.types) + len(self.built)
            self.built.append([list(part) if isinstance(part, tuple) else part for part in descriptor])
        return self.numbers[descriptor]

    def _nesting(self, kind: Kind) -> int:
        count = len(self.types)
        if kind[1] < count:
            return 0
        parts = self.built[kind[1] - count][1:]
        inner = [number for part in parts for number in (part if isinstance(part, list) else [part])]
        return 1 + max([self._nesting(self.of_type(number)) for number in inner], default=0)

    def container(self, word: str, *inner: Kind) -> Kind:
        """Return the kind of a container that holds values of these kinds, of a Map the keys first. It tells nothing of what is
        inside where all of that is ANY, or containers are nested deeper than DEEPEST."""
        if any(self._nesting(kind) >= DEEPEST or kind == UNSTORED for kind in inner) or all(kind == ANY for kind in inner):
            return (word, UNKNOWN)
        return (word, self._numbered((word, *[self.number(kind) for kind in inner])))

    def tuple(self, parts: Iterable[Kind]) -> Kind:
        """Return the kind of a tuple of parts of these kinds, in order: `plain` where all parts are SCALARS."""
        parts = list(parts)
        word = "plain" if all(kind[0] in SCALARS for kind in parts) else "tuple"
        if UNSTORED in parts:
            return UNSTORED
        if any(self._nesting(kind) >= DEEPEST for kind in parts):
            return (word, UNKNOWN)
        return (word, self._numbered((word, tuple([self.number(kind) for kind in parts]))))

    def is_marked(self, kind: Kind) -> bool:
        """Return whether a value of a kind may need the mark of sharing, by itself or inside: not a scalar, nor a tuple, an
        Option, a Result or an enum value that holds nothing else."""
        if kind == NONE:
            return False
        word, number = kind
        if word in UNMARKED or number < 0 or word not in WRAPPERS:
            return word not in UNMARKED
        if number not in self._marked:
            self._marked[number] = self._holds_marked(number)
        return self._marked[number]

    def _holds_marked(self, number: int) -> bool:
        """Return whether a wrapper may hold something with a mark; what holds itself is looked at once."""
        known, pending = {number}, [number]
        while pending:
            word, *parts = self.descriptor(pending.pop())
            if word in UNMARKED:
                continue
            if word not in WRAPPERS or not parts:
                return True
            inside = parts if word in ("option", "nilable", "result") else parts[0]
            if word == "enum":
                inside = [part for variant in parts[1] for part in variant[1]]
            pending += [part for part in inside if part not in known]
            known.update(inside)
        return False

    def inner(self, kind: Kind, position: int = 0) -> Kind:
        """Return the kind of what a container holds; `position` 1 asks for the keys of a Map. ANY where it is not known."""
        if kind[1] < 0 or kind[0] not in HOLDERS:
            return self.unknown if kind[0] in ("array", "map") else self._within(kind)
        return self.of_type(self.descriptor(kind[1])[position or HOLDERS[kind[0]]])

    def _within(self, kind: Kind) -> Kind:
        """Return the kind of a part of a value that does not tell it."""
        return UNSTORED if kind == UNSTORED else ANY

    def element(self, kind: Kind, position: int) -> Kind:
        """Return the kind of a part of a tuple, by its position from 0; ANY where it is not known."""
        if kind[0] in ("tuple", "plain") and kind[1] >= 0:
            parts = self.descriptor(kind[1])[1]
            return self.of_type(parts[position]) if position < len(parts) else ANY
        return PLAIN if kind[0] == "plain" else self._within(kind)

    def parts(self, kind: Kind) -> list[Kind]:
        """Return the kinds of the parts of a tuple, in order; none where they are not known."""
        if kind[0] not in ("tuple", "plain") or kind[1] < 0:
            return []
        return [self.of_type(number) for number in self.descriptor(kind[1])[1]]

    def field(self, kind: Kind, position: int) -> Kind:
        """Return the kind of a field of a struct or schema, by its position from 0; ANY where it is not known."""
        if kind[0] in ("struct", "schema") and kind[1] >= 0:
            fields = self.descriptor(kind[1])[2]
            return self.of_type(fields[position][1]) if position < len(fields) else ANY
        return self._within(kind)

    def payload(self, kind: Kind, variant: int, position: int) -> Kind:
        """Return the kind of a part, by its position from 0, of an enum value that is of the variant with this number; ANY where
        it is not known."""
        if kind[0] != "enum" or kind[1] < 0 or not 0 <= variant < len(self.descriptor(kind[1])[2]):
            return self._within(kind)
        parts = self.descriptor(kind[1])[2][variant][1]
        return self.of_type(parts[position]) if position < len(parts) else ANY

    def payload_size(self, kind: Kind, variant: int) -> int:
        """Return the number of parts of an enum value that is of the variant with this number; 0 where it is not known."""
        if kind[0] != "enum" or kind[1] < 0 or not 0 <= variant < len(self.descriptor(kind[1])[2]):
            return 0
        return len(self.descriptor(kind[1])[2][variant][1])

    def success(self, kind: Kind) -> Kind:
        """Return the kind of what the Ok of a Result or the Some of an Option holds; ANY where it is not known."""
        known = kind[0] in ("result", "option") and kind[1] >= 0
        return self.of_type(self.descriptor(kind[1])[1]) if known else self._within(kind)

    def result(self, descriptor: Any, receiver: Any, kind: Kind) -> Kind:
        """Return the kind of what a built-in method gives: `descriptor` is the type of the result in its signature, `receiver`
        that of its receiver, None without one, and `kind` the kind of the receiver of this call."""
        word = descriptor[0]
        if word in WORDS:
            return (str(word), UNKNOWN)
        if word in ("array", "option", "map", "result"):
            return self.container(word, *[self.result(part, receiver, kind) for part in descriptor[1:]])
        if word == "tuple":
            return self.tuple([self.result(part, receiver, kind) for part in descriptor[1]])
        if word == "var" and receiver is not None and receiver[0] in HOLDERS and receiver[HOLDERS[receiver[0]]] == descriptor:
            return self.inner(kind)
        if word == "var" and receiver is not None and receiver[0] == "map" and receiver[1] == descriptor:
            return self.inner(kind, 1)
        if word == "var" and receiver is not None and receiver[0] == "result" and receiver[1] == descriptor:
            return self.success(kind)
        return ANY

    def stated(self, descriptor: Any, named: dict[str, Kind]) -> Kind:
        """Return the kind of a type in a signature, whose type parameters are of the kinds `named`; ANY where it is not known."""
        word = descriptor[0]
        if word == "var":
            return named.get(descriptor[1], ANY)
        if word in ("array", "map", "option"):
            return self.container(word, *[self.stated(part, named) for part in descriptor[1:]])
        return (word, UNKNOWN) if word in WORDS or word == "range" else ANY

    def filled(self, kind: Kind, element: Kind, key: Kind) -> Kind:
        """Return the kind of an Array or Map of kind `kind` after elements of one kind, under keys of another, were put into it;
        the kind of the keys is not used for an Array."""
        if kind[1] == UNKNOWN:
            return kind
        inner = element if kind[1] == EMPTY else join([self.inner(kind), element])
        if kind[0] == "array":
            return self.container("array", inner)
        return self.container("map", key if kind[1] == EMPTY else join([self.inner(kind, 1), key]), inner)


def join(kinds: Iterable[Kind]) -> Kind:
    """Return a kind that includes all of these, one or more: what is known of a value that may be of any of them. What different
    containers hold is not joined."""
    different = set(kinds)
    if len(different) > 1:
        different.discard(UNSTORED)
    if len(different) > 1 and len({word for word, _ in different}) == 1:
        different.discard((next(iter(different))[0], EMPTY))
    if len(different) == 1:
        return different.pop()
    words = {word for word, _ in different}
    if len(words) == 1:
        return (words.pop(), UNKNOWN)
    return PLAIN if words <= SCALARS else ANY
