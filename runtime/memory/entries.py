"""What a log holds: entries, their turns, and what a store keeps beside them (M-1, M-6).

An entry is a message with its place and origin and never changes. Its parts are the form in which stores and dumps keep the
message; a part of a kind unknown here is kept as it came (M-8.11). Must not know: stores, policies, views, what a provider's
state means.
"""

from __future__ import annotations

from ...vm.values.metering import FEW, paced
from ..records import Call, Msg, ProviderState
from .errors import corrupt, invalid_unit, unsupported_part

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any, TypeAlias

    Unit: TypeAlias = list["Entry"]

FORMAT = 3
"""Of entries in dumps: 1 had no state of providers (M-8.17)."""
ERROR_MARK = b"error"  # data of a result part whose tool failed
STATE_BYTES = 1 << 20  # what is larger is not kept (M-8.18): no reply is, but for what its escapes add


class Part:
    """One stored part of a message: `text`, `call`, `result`, `state` (M-8.18), or a kind of a later version, kept opaque.
    `media` has its place and is refused until media are built (M-8.19)."""

    __slots__ = ("kind", "text", "id", "data")

    def __init__(self, kind: str, text: str = "", id: str = "", data: bytes = b"") -> None:
        self.kind = kind
        self.text = text
        self.id = id
        self.data = data

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Part):
            return NotImplemented
        return (self.kind, self.text, self.id, self.data) == (other.kind, other.text, other.id, other.data)

    def __hash__(self) -> int:
        return hash((self.kind, self.text, self.id, self.data))

    def __repr__(self) -> str:
        return f"Part({self.kind!r}, {self.text!r})"


class Entry:
    """One message of a log. `run` is nil for a direct write; `at` is Unix ms; `opaque` are parts of unknown kinds."""

    __slots__ = ("seq", "turn", "run", "by", "message", "origin", "pinned", "tokens", "at", "opaque")

    def __init__(
        self,
        seq: int,
        turn: int,
        message: Msg,
        *,
        run: str | None = None,
        by: str | None = None,
        origin: str = "program",
        pinned: bool = False,
        tokens: int = 0,
        at: int = 0,
        opaque: Sequence[Part] = (),
    ) -> None:
        self.seq = seq
        self.turn = turn
        self.message = message
        self.run = run
        self.by = by
        self.origin = origin
        self.pinned = pinned
        self.tokens = tokens
        self.at = at
        self.opaque = opaque

    @property
    def role(self) -> str:
        return self.message.role

    @property
    def parts(self) -> list[Part]:
        return message_parts(self.message, self.opaque)

    def with_pinned(self, pinned: bool) -> Entry:
        return self._copy(self.seq, self.turn, pinned)

    def moved(self, seq: int, turn: int) -> Entry:
        return self._copy(seq, turn, self.pinned)

    def showing(self, message: Msg, tokens: int) -> Entry:
        """In its place, another text."""
        made = self._copy(self.seq, self.turn, self.pinned)
        made.message, made.tokens = message, tokens
        return made

    def _copy(self, seq: int, turn: int, pinned: bool) -> Entry:
        return Entry(
            seq, turn, self.message, run=self.run, by=self.by, origin=self.origin, pinned=pinned, tokens=self.tokens,
            at=self.at, opaque=self.opaque,
        )  # fmt: skip

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Entry):
            return NotImplemented
        return entry_json(self) == entry_json(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Entry({self.seq}, {self.turn}, {self.message!r})"


class Turn:
    """The record of one commit; its messages are the entries with this number."""

    __slots__ = ("turn", "run", "by", "at", "tokens_in", "tokens_out", "meta")

    def __init__(
        self,
        turn: int,
        *,
        run: str | None = None,
        by: str | None = None,
        at: int = 0,
        tokens_in: int = 0,
        tokens_out: int = 0,
        meta: dict[str, Any] | None = None,
    ) -> None:
        self.turn = turn
        self.run = run
        self.by = by
        self.at = at
        self.tokens_in = tokens_in
        self.tokens_out = tokens_out
        self.meta = meta or {}

    def moved(self, turn: int) -> Turn:
        return Turn(
            turn, run=self.run, by=self.by, at=self.at, tokens_in=self.tokens_in, tokens_out=self.tokens_out, meta=self.meta
        )

    def as_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Turn) and self.as_json() == other.as_json()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Turn({self.turn}, run={self.run!r})"


class ViewState:
    """What one view keeps in the store: the cut of its window, its summary, and how far and when it was folded.

    `cut` and `upto` are seqs: the window starts at `cut`; entries up to `upto` are covered by `text` (-1: none).
    `folded` is the turn count and `folded_at` the time of the last fold.
    """

    __slots__ = ("name", "cut", "text", "upto", "folded", "folded_at")

    def __init__(self, name: str = "", cut: int = 0, text: str = "", upto: int = -1, folded: int = 0, folded_at: int = 0) -> None:
        self.name = name
        self.cut = cut
        self.text = text
        self.upto = upto
        self.folded = folded
        self.folded_at = folded_at

    def with_cut(self, cut: int) -> ViewState:
        return ViewState(self.name, cut, self.text, self.upto, self.folded, self.folded_at)

    def without_summary(self) -> ViewState:
        """M-9.8: covered entries that are still in the log count as uncovered again."""
        return ViewState(self.name, self.cut, "", -1, self.folded, self.folded_at)

    def as_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ViewState) and self.as_json() == other.as_json()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"ViewState({self.as_json()})"


# ---------------------------------------------------------------- units


def units(entries: Iterable[Entry]) -> Iterator[Unit]:
    """Entries in log order as units: a tool result belongs to the message before it (M-1)."""
    unit: Unit = []
    for entry in paced(entries, FEW):
        if unit and entry.message.role != "tool":
            yield unit
            unit = []
        unit.append(entry)
    if unit:
        yield unit


def units_back(entries: Iterable[Entry]) -> Iterator[Unit]:
    """The same for entries newest first; each unit itself is in log order."""
    unit: Unit = []
    for entry in paced(entries, FEW):
        unit.append(entry)
        if entry.message.role != "tool":
            unit.reverse()
            yield unit
            unit = []


def check_units(messages: Sequence[Msg]) -> None:
    """InvalidUnit unless every call has exactly one result right behind it and every result its call (M-6.2, M-12.1)."""
    waiting: set[str] = set()
    for message in messages:
        if message.role == "tool":
            if message.call_id not in waiting:
                raise invalid_unit(f"a tool result without its call: {message.call_id}")
            waiting.discard(message.call_id)
            continue
        if waiting:
            raise invalid_unit(f"a tool call without result: {', '.join(sorted(waiting))}")
        if message.role not in ("system", "user", "assistant"):
            raise invalid_unit(f"unknown role {message.role}")
        waiting = {call.id for call in message.calls}
        if len(waiting) != len(message.calls) or (waiting and message.role != "assistant"):
            raise invalid_unit("tool calls with one id, or outside an assistant message")
    if waiting:
        raise invalid_unit(f"a tool call without result: {', '.join(sorted(waiting))}")


# ---------------------------------------------------------------- stored forms


def message_parts(message: Msg, opaque: Sequence[Part] = ()) -> list[Part]:
    if message.role == "tool":
        return [Part("result", message.content, message.call_id or "", ERROR_MARK if message.is_error else b""), *opaque]
    parts = [Part("text", message.content)] if message.content or not message.calls else []
    state = None if message.state is None else state_part(message.state)
    return [*parts, *map(_call_part, message.calls), *([] if state is None else [state]), *opaque]


def state_part(state: ProviderState) -> Part | None:
    """What a provider wants back as an entry keeps it; None when that is nothing, or too large. It stands there as plain JSON,
    so that the filter of secrets finds them in it (G-10.3)."""
    if not state.more:
        return None
    from ..schema.json_text import compact_json

    text = compact_json(state.content)
    if len(text.encode("utf-8", "surrogatepass")) > STATE_BYTES:
        return None
    return Part("state", text, compact_json([state.connection, state.wire, state.model]))


def _state(part: Part) -> ProviderState:
    from json import loads

    from ..schema.json_text import JsonRefused, parse_json

    try:
        connection, wire, model = loads(part.id)
        content = parse_json(part.text)
    except JsonRefused as refused:
        raise ValueError(refused.reason) from None
    if any(type(name) is not str for name in (connection, wire, model)) or len(part.text) > STATE_BYTES:
        raise ValueError("the state of a provider is malformed")
    return ProviderState(connection, wire, model, content)


def _call_part(call: Call) -> Part:
    from ..schema.json_text import compact_json

    return Part("call", compact_json({"name": call.name, "arguments": call.arguments, "text": call.text}), call.id)


def message_of(role: str, parts: Sequence[Part]) -> tuple[Msg, list[Part]]:
    """The message, and the parts of kinds unknown here."""
    text, calls, call_id, failed, state = "", [], None, False, None
    opaque = []
    for part in parts:
        if part.kind == "text":
            text += part.text
        elif part.kind == "call":
            calls.append(_call(part))
        elif part.kind == "result":
            text, call_id, failed = part.text, part.id, part.data == ERROR_MARK
        elif part.kind == "state":
            state = _state(part)
        elif part.kind == "media":
            raise unsupported_part("media", FORMAT)
        else:
            opaque.append(part)
    return Msg(role, text, tuple(calls), call_id, True if failed else None, state), opaque


def _call(part: Part) -> Call:
    from json import loads

    held = loads(part.text)
    if type(held["name"]) is not str or type(held["arguments"]) not in (dict, type(None)):
        raise ValueError
    return Call(part.id, held["name"], held["arguments"], held.get("text", ""))


def part_json(part: Part) -> dict[str, str]:
    from base64 import b64encode

    made = {"kind": part.kind, "text": part.text}
    if part.id:
        made["id"] = part.id
    if part.data:
        made["data"] = b64encode(part.data).decode()
    return made


def part_of(held: dict[str, str]) -> Part:
    from base64 import b64decode

    if type(held["kind"]) is not str or type(held["text"]) is not str or type(held.get("id", "")) is not str:
        raise ValueError
    return Part(held["kind"], held["text"], held.get("id", ""), b64decode(held.get("data", ""), validate=True))


ENTRY_FIELDS = ("seq", "turn", "run", "by", "role", "origin", "pinned", "tokens", "at")


def entry_json(entry: Entry) -> dict[str, Any]:
    return {**{name: getattr(entry, name) for name in ENTRY_FIELDS}, "parts": [part_json(part) for part in entry.parts]}


def entry_of(held: dict[str, Any]) -> Entry:
    """The entry of its stored form; Corrupt when it has not got that form."""
    try:
        message, opaque = message_of(held["role"], [part_of(part) for part in held["parts"]])
        return Entry(
            held["seq"], held["turn"], message, run=held["run"], by=held["by"], origin=held["origin"], opaque=opaque,
            pinned=bool(held["pinned"]), tokens=held["tokens"], at=held["at"],
        )  # fmt: skip
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError):
        raise corrupt("an entry does not decode") from None
