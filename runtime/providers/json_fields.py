"""Reads the JSON of providers part by part: fields by name and kind, parts that we do not know, and reports of usage (O-1.98,
O-1.105, O-1.209).

Hands on to the wires and to `sdk.py` `Fields`, which raises `Unreadable` for anything that is not what a reply must be,
`Unreadable` itself and `Usage`, a report of tokens; `Fields` to `hosted_tools.py` too; to `sdk.py` and `event_frames.py`
`fields_of`, which makes fields of a body; to both wires `object_in`, the arguments of a call; to `openai.py` `merge` and
`joined`, which put together the unknown parts of a stream, so that they can go back as they came; `Unreadable` to
`http_answers.py` and `event_frames.py` too. No value is converted; what a field means is the matter of the wires.
"""

from __future__ import annotations

from ...vm.values.text import CUT, cut_to
from ..access.secrets import clean_text
from ..schema.lenient_json import JsonRefused, parse_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence, Set
    from typing import Any, TypeVar

    Json = dict[str, Any]
    Place = str | tuple["Fields", str, int | None]
    T = TypeVar("T")

MOST_READ = 400  # bytes of a body that is no JSON
MOST_SHOWN = 60  # code points of it
KINDS = {bool: "a Bool", int: "a number", float: "a number", str: "a text", list: "a list", dict: "an object"}


class Unreadable(Exception):
    """A body that is no reply; the text says what is wrong with it (O-1.105)."""


class Fields:
    """A JSON object of a reply, read by name. `data` is the object, `place` its path in the reply, for messages; it is given as a
    text, or as the record around it, its name there, and its number in a list (None: it is no element).

    A part of another kind than asked for makes the reply Unreadable. A part that is null counts as absent: the methods `…_or`
    give another value for it, the others are Unreadable then."""

    __slots__ = ("data", "_place")

    def __init__(self, data: Any, place: Place = "") -> None:
        """Raises Unreadable unless `data` is an object."""
        self._place = place  # made a text when somebody asks: of the events of a stream nobody does
        if type(data) is not dict:
            raise Unreadable(f"{self.place or 'the reply'} is {_kind(data)}, no object")
        self.data: dict[str, Any] = data

    @property
    def place(self) -> str:
        if isinstance(self._place, str):
            return self._place
        around, name, number = self._place
        return around._at(name) if number is None else f"{around._at(name)}[{number}]"

    def has(self, name: str) -> bool:
        """Return whether there is a part of this name that is not null."""
        return self.data.get(name) is not None

    def text(self, name: str) -> str:
        """Return a text."""
        return self._required(name, str)

    def text_or(self, name: str, other: str = "") -> str:
        """Return a text; `other` when it is absent."""
        value = self.data.get(name)
        if value is None:
            return other
        return value if type(value) is str else self._refuse(name, str)

    def record(self, name: str) -> Fields:
        """Return an object."""
        return Fields(self._required(name, dict), (self, name, None))

    def record_or(self, name: str) -> Fields:
        """Return an object; an empty one when it is absent."""
        value = self.data.get(name)
        return Fields({} if value is None else value, (self, name, None))

    def records(self, name: str) -> list[Fields]:
        """Return the objects of a list."""
        return self._records(name, self._required(name, list))

    def records_or(self, name: str) -> list[Fields]:
        """Return the objects of a list; none when it is absent."""
        value = self.data.get(name)
        if value is None:
            return []
        return self._records(name, value if type(value) is list else self._refuse(name, list))

    def position(self, name: str, other: int | None = None) -> int:
        """Return a whole number of 0 or more; `other` when it is absent, unless `other` is None."""
        value = self._required(name, int) if other is None or self.has(name) else other
        if value < 0:
            raise Unreadable(f"{self._at(name)} is below 0")
        return value

    def values(self, name: str) -> list[Any]:
        """Return a list as it is: of what kinds its elements are is not looked at."""
        return self._required(name, list)

    def _records(self, name: str, values: list[Any]) -> list[Fields]:
        return [Fields(value, (self, name, number)) for number, value in enumerate(values)]

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
        place = self.place
        return f"{place}.{name}" if place else name


def fields_of(body: bytes) -> Fields:
    """Return the JSON object of a body, or of the data of an event. Unreadable when it is none."""
    try:
        return Fields(parse_json(body.decode("utf-8", "replace")))
    except JsonRefused as refused:
        raise Unreadable(f"the reply cannot be read as JSON ({refused.reason}){_beginning(body)}") from None


def _beginning(body: bytes) -> str:
    """Return the beginning of a body for a message: it shows who answered, such as a proxy with a page."""
    text = " ".join(clean_text(body[:MOST_READ].decode("utf-8", "replace")).split())
    text = cut_to(text if len(body) <= MOST_READ else text + CUT, MOST_SHOWN)
    return f"; it begins `{text}`" if text else ": it is empty"


def object_in(text: str) -> dict[str, Any] | None:
    """Return the arguments of a call from their text; None unless they are a JSON object (O-1.84)."""
    try:
        value = parse_json(text)
    except JsonRefused:
        return None
    return value if isinstance(value, dict) else None


def _kind(value: Any) -> str:
    return KINDS.get(type(value), "null")


# Texts of a stream grow with each piece, except these: every piece of one thing repeats them.
REPEATED = frozenset(("index", "id", "type", "format", "role", "name", "object"))


class GrowingText:
    """A text that is joined once, at the end: a text of many thousand pieces would else be copied with each of them."""

    __slots__ = ("pieces",)

    def __init__(self, first: str) -> None:
        self.pieces = [first]


class GrowingList:
    """A list whose elements are found by their `index`: with each piece of a stream those before it would else be looked at."""

    __slots__ = ("elements", "by_index")

    def __init__(self) -> None:
        self.elements: list[Any] = []
        self.by_index: dict[int, Json] = {}

    def merge(self, pieces: list[Any]) -> None:
        """Add elements as `merge` says."""
        for piece in pieces:
            if type(piece) is not dict:
                self.elements.append(piece)
                continue
            number = piece.get("index")
            element = self.by_index.get(number) if type(number) is int else None
            if element is None:
                element = {}
                self.elements.append(element)
                if type(number) is int:
                    self.by_index[number] = element
            merge(element, piece)


def merge(whole: Json, piece: Json, known: Set[str] = frozenset()) -> None:
    """Add to `whole`, which is changed in place, what a piece of a stream has under keys that are not `known` (keys of the piece
    itself, not of its parts). `joined` makes plain JSON of it in the end.

    Texts grow; objects, and list elements with the same `index`, are merged, and other list elements added; of anything else, and
    of the texts in REPEATED, the last one counts. A null changes nothing."""
    for key, value in piece.items():
        if key in known or value is None:
            continue
        before = whole.get(key)
        if type(value) is str and key not in REPEATED:
            if type(before) is GrowingText:
                before.pieces.append(value)
            else:
                whole[key] = GrowingText(value)
        elif type(value) is dict:
            if type(before) is not dict:
                before = whole[key] = {}
            merge(before, value)
        elif type(value) is list:
            if type(before) is not GrowingList:
                before = whole[key] = GrowingList()
            before.merge(value)
        else:
            whole[key] = value


def joined(value: Any) -> Any:
    """Return a copy of what `merge` has built as plain JSON."""
    if type(value) is GrowingText:
        return "".join(value.pieces)
    if type(value) is dict:
        return {key: joined(part) for key, part in value.items()}
    if type(value) is GrowingList:
        value = value.elements
    return [joined(part) for part in value] if type(value) is list else value


COUNTERS = ("tokens", "_requests", "_calls")  # the last two: of hosted tools
MOST_TOKENS = 100_000_000  # of one counter; the longest context there is has ten million


class Usage:
    """A provider's report of the tokens that a request used (O-1.98, G-9.7).

    When it is no object, one of its counters is no whole number from 0 to MOST_TOKENS, or a part for counters is no object, the
    whole report counts as missing."""

    __slots__ = ("_report",)

    def __init__(self, report: Any) -> None:
        self._report: dict[str, Any] = report if type(report) is dict and _is_sound(report) else {}

    def tokens(self, *names: str) -> int:
        """Return the sum of counters; one that is missing or null is 0."""
        return sum(self._report.get(name) or 0 for name in names)

    def tokens_of(self, part: str, name: str) -> int:
        """Return a counter of a part of the report, 0 when it is missing."""
        return (self._report.get(part) or {}).get(name) or 0

    def calls_of(self, part: str, **names: str) -> dict[str, int]:
        """Return counters of a part of the report by the keys that `names` gives their names for, without those that are
        missing."""
        counters = self._report.get(part) or {}
        return {key: counters[name] for key, name in names.items() if counters.get(name) is not None}

    def reports(self, inputs: Sequence[str], outputs: Sequence[str]) -> tuple[bool, bool]:
        """Return whether the report has one of the input counters, and one of the output counters."""
        return self._has(inputs), self._has(outputs)

    def _has(self, names: Sequence[str]) -> bool:
        return any(self._report.get(name) is not None for name in names)


def _is_sound(report: dict[str, Any], depth: int = 0) -> bool:
    """Return whether all counters are sound: they are the members whose names end as COUNTERS do, also in the parts `…_details`
    and `server_tool_use`."""
    for name, value in report.items():
        if value is None:
            continue
        if name.endswith(COUNTERS):
            if type(value) is not int or not 0 <= value <= MOST_TOKENS:
                return False
        elif name.endswith(("_details", "server_tool_use")) and not (depth == 0 and type(value) is dict and _is_sound(value, 1)):
            return False
    return True
