"""What a log holds, and the address it is held under: entries, units and turns (M-1, M-6), keys (M-7), token counts (M-11), and
the failures of a memory (M-6.23).

Hands on `Entry`, which has the `Part`s of its message, `Turn` and `ViewState`, with their forms in stores and dumps
(`entry_json`, `part_json`, `entry_of`, `part_of`, `message_of`) and the `FORMAT` of those; `MemoryFailure`, to indexes, tools,
the session and the journal too, with one function per failure that returns it (`conflict`, `corrupt`, `store_failed` and others)
and the texts `WAY_OUT` and `DAMAGED` of some; `InvalidValue` and `FixedSlot`; `units`, `units_back` and `check_units`; the
contents of media that entries name (`contents_of`, `hashes_of`, `filled`); the token counts (`count_message`, `count_text`,
`count_with`, `longest_prefix`), to usage of models too; and keys (`Key`, `memory_key`, `key_values`), with their branches
(MAIN_BRANCH, `branch_of`, `with_branch`) and their forms in stores and messages (`stored_values`, `declared_values`, `encode`,
`decode`, `shown`). Nearly everything else in this folder relies on it, and so do the performers of memories and the forms of the
journal (`journal/store_forms.py`); it relies on no file here, and reads and writes no store. An entry never changes, but for
`filled`, which puts the contents of its media in; its parts are the form in which stores and dumps keep the message, and a part
of a kind unknown here is kept as it came (M-8.11).
"""

from __future__ import annotations

from functools import cache
from math import isfinite

from ...vm.values import from_json
from ...vm.values.media import KINDS, Content, Refused, content_of, known, link_to
from ...vm.values.metering import FEW, paced
from ..errors import CallFailure
from ..media import MediaPart
from ..records import Call, Msg, ProviderState

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from json import JSONDecoder
    from typing import Any, TypeAlias


# Failures. Each function returns the failure of the case that its docstring or name states; the caller raises it.


class MemoryFailure(CallFailure):
    """A `MemoryError` before it becomes a value of the language: `variant` is one of M-6.23, `fields` are what a program
    can read of it."""

    def __init__(self, variant: str, message: str, **fields: Any) -> None:
        super().__init__("MemoryError", variant, message, **fields)

    @property
    def panic_code(self) -> str:
        """The code of the panic where the method gives no Result (M-6.22, M-6.33)."""
        return "P452" if self.variant == "Bound" else "P451"


class InvalidValue(Exception):
    """What M-6.23 makes panic P452: an invalid key value, number or content."""


class FixedSlot(InvalidValue):
    """A second write of a slot without `mut` (M-10.2): P453."""


def conflict(expected: int, actual: int) -> MemoryFailure:
    """Return the failure: the log has another version than the writer expected."""
    message = f"the memory was changed meanwhile: expected version {expected}, found {actual}"
    return MemoryFailure("Conflict", message, expected=expected, actual=actual)


def waited_too_long(expected: int) -> MemoryFailure:
    """Return the failure: the turn lock did not come in time (M-5.19); `expected` is the version of the log."""
    message = "another turn on this memory did not end in time"
    return MemoryFailure("Conflict", message, expected=expected, actual=expected)


def nested() -> MemoryFailure:
    """Return the failure: a change of the log inside a run that writes it (M-5.20)."""
    return MemoryFailure("Nested", "a run that writes this memory is already in progress here; attach it with `auto: false`")


def overflow(needed: int, budget: int, seqs: Sequence[int]) -> MemoryFailure:
    """Return the failure: system message and pins need `needed` tokens, which exceeds the budget; `seqs` are the numbers of the
    pinned entries (M-4.12)."""
    message = f"system message and pinned messages need {needed} tokens, the limit is {budget}"
    return MemoryFailure("Overflow", message, needed=needed, budget=budget, seqs=list(seqs))


def invalid_unit(reason: str) -> MemoryFailure:
    """Return the failure of messages that are no whole units: a call without its result, a result without its call, or an
    unknown role (M-6.2)."""
    return MemoryFailure("InvalidUnit", reason)


def reading_itself(memory: str) -> MemoryFailure:
    """Return the failure: a view function uses the memory whose messages it is asked for (M-4.33)."""
    message = f"the view of the memory {memory} is being made here: its function may read its messages, and nothing else of it"
    return MemoryFailure("Nested", message)


def view_failed(memory: str, reason: str) -> MemoryFailure:
    """Return the failure: the function that gives the messages of a view failed."""
    return MemoryFailure("View", f"the view of the memory {memory} failed: {reason}")


def exists(branch: str) -> MemoryFailure:
    """Return the failure: a branch is to be made under a name that is taken (M-6.16)."""
    return MemoryFailure("Exists", f"there is a branch {branch!r} already")


def not_found(branch: str) -> MemoryFailure:
    """Return the failure: a branch is asked for that does not exist (M-6.17)."""
    return MemoryFailure("NotFound", f"there is no branch {branch!r}")


def no_turn(turn: int) -> MemoryFailure:
    """Return the failure: a log is to be rewound to the turn `turn`, which is below -1."""
    return MemoryFailure("NotFound", f"there is no turn {turn}; to remove all turns rewind to -1")


def store_failed(store: str, reason: str) -> MemoryFailure:
    """Return the failure: a store cannot be opened, read or written; `reason` says what to do about it where that is known."""
    return MemoryFailure("Store", f"store {store}: {reason}", store=store)


def keeps_no(store: str, what: str) -> MemoryFailure:
    """Return the failure: a store that has no place for `what`: facts, or observations."""
    return store_failed(store, f"this store keeps no {what}")


def other_key_parts(memory: str, names: Sequence[str], values: Sequence[str | int]) -> MemoryFailure:
    """Return the failure: a stored key has the parts `values`, and the memory is declared with those of `names` (M-7.6)."""
    parts = ", ".join(repr(value) for value in values) or "no parts"
    message = (
        f"the memory {memory} has keys that were written under another declaration, one with {parts}; it is declared with "
        f"{', '.join(names) or 'no parts'}: declare it as it was to read them, or remove all its keys with `erase()`"
    )
    return MemoryFailure("Store", message, store=memory)


def stored_twice(memory: str, now: str, before: str) -> MemoryFailure:
    """Return the failure: data is stored under the new name or key, `now`, and under the one before; reading one would hide the
    other (M-7.10)."""
    message = (
        f"the memory {memory} has data under {now} and under {before}, and none of them is read: "
        f"declare each as a memory of its own and `erase` one, or move what it holds with `dump` and `load`"
    )
    return MemoryFailure("Store", message, store=memory)


def newer_version(found: int, supported: int) -> MemoryFailure:
    """Return the failure: what is read has the format `found`, and this program reads formats up to `supported`."""
    message = f"written by a newer version: format {found}, this program reads up to {supported}"
    return MemoryFailure("Version", message, found=found, supported=supported)


def unsupported_part(what: str, supported: int) -> MemoryFailure:
    """Return the failure: an entry has a part that only a later version knows (M-8.19)."""
    message = f"an entry holds {what}, which this version of Concerto does not carry; nothing was read"
    return MemoryFailure("Version", message, found=supported, supported=supported)


WAY_OUT = "restore the store from a copy, or erase the key"
DAMAGED = "damaged memory: "


def corrupt(reason: str) -> MemoryFailure:
    """Return the failure: what a store holds contradicts itself or does not decode (G-12.10)."""
    return MemoryFailure("Corrupt", f"{DAMAGED}{reason}")


def redaction_failed(reason: str) -> MemoryFailure:
    """Return the failure: a redactor raised or gave no text, so nothing was stored (M-4.4)."""
    return MemoryFailure("Redaction", f"the redactor failed: {reason}; nothing was stored")


def wrong_bound(message: str, bound: str) -> MemoryFailure:
    """Return the failure: a function of the key gave a value that is no bound, or panicked (M-2.17)."""
    return MemoryFailure("Bound", message, bound=bound)


def unnameable(kind: str) -> MemoryFailure:
    """Return the failure: `redact` would rewrite the name or a subject of a fact, and two facts could become one (M-4.4)."""
    message = f"the {kind} of a fact holds what is not stored (what `redact` rewrites, or a secret): nothing was stored"
    return MemoryFailure("Redaction", f"{message}; call it by something else, such as an id")


# Entries, turns, and the states of views.

if TYPE_CHECKING:
    Unit: TypeAlias = list["Entry"]

FORMAT = 3
"""The format of dumps: 2 gave entries places for the state of providers and for media, 3 gave facts `elements` (M-8.17)."""
ERROR_MARK = b"error"  # data of a result part whose tool failed
STATE_BYTES = 1 << 20  # of JSON in UTF-8; a larger state is not kept (M-8.18), and no reply is so large unless by its escapes


class Part:
    """One stored part of a message: `text`, `call`, `result`, `state` (M-8.18), `media` (M-8.19), or a kind of a later version,
    kept opaque. `text` is the text of `text` and `result`, JSON of the others. `id` is the call's of `call` and `result`, of a
    state the JSON array of connection, wire and model, of media the hash of their content. The `data` of media is that content,
    which our own stores keep apart, once for each key; that of a result is ERROR_MARK or empty."""

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
    """One message of a log. `seq` is its number in the log and `turn` that of its turn, both from 0; `run` is the id of its run,
    None for a direct write; `by` is the model or agent, None for none; `origin` says who wrote it: `program`, `user`, `model`,
    `tool` or `host`; `pinned` ones never leave by a bound; `tokens` is what it counts, `at` is Unix ms; `opaque` are parts of
    unknown kinds. Two are equal when their JSON objects are."""

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
        """The parts that store the message, and behind them those of unknown kinds."""
        return message_parts(self.message, self.opaque)

    def with_pinned(self, pinned: bool) -> Entry:
        """Return a copy that is pinned, or not."""
        return self._copy(self.seq, self.turn, pinned)

    def moved(self, seq: int, turn: int) -> Entry:
        """Return a copy at another place."""
        return self._copy(seq, turn, self.pinned)

    def showing(self, message: Msg, tokens: int) -> Entry:
        """Return a copy with another message, which counts `tokens` tokens."""
        copy = self._copy(self.seq, self.turn, self.pinned)
        copy.message, copy.tokens = message, tokens
        return copy

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
    """The record of one commit; its messages are the entries with this turn number. `tokens_in` and `tokens_out` are the
    provider's counts, `at` is Unix ms, `meta` plain data."""

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
        """Return a copy with another number."""
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
    `folded` is the turn count and `folded_at` the time, in Unix ms, of the last fold.
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
        """Return a copy with another cut."""
        return ViewState(self.name, cut, self.text, self.upto, self.folded, self.folded_at)

    def without_summary(self) -> ViewState:
        """Return a copy without summary: covered entries that are still in the log count as uncovered again (M-9.8)."""
        return ViewState(self.name, self.cut, "", -1, self.folded, self.folded_at)

    def as_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ViewState) and self.as_json() == other.as_json()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"ViewState({self.as_json()})"


def units(entries: Iterable[Entry]) -> Iterator[Unit]:
    """Yield entries in log order as units: a tool result belongs to the message before it (M-1); results before which no other
    message comes are a unit too."""
    unit: Unit = []
    for entry in paced(entries, FEW):
        if unit and entry.message.role != "tool":
            yield unit
            unit = []
        unit.append(entry)
    if unit:
        yield unit


def units_back(entries: Iterable[Entry]) -> Iterator[Unit]:
    """Yield the units of entries that come newest first; each unit itself is in log order. Tool results before which no other
    message comes are left out."""
    unit: Unit = []
    for entry in paced(entries, FEW):
        unit.append(entry)
        if entry.message.role != "tool":
            unit.reverse()
            yield unit
            unit = []


def check_units(messages: Sequence[Msg]) -> None:
    """Raise MemoryFailure("InvalidUnit") unless every role is known, only assistant messages have calls, every call has exactly
    one result right behind its message, and every result its call (M-6.2, M-12.1)."""
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


def message_parts(message: Msg, opaque: Sequence[Part] = ()) -> list[Part]:
    """Return the parts that store a message, `opaque` behind them. `message_of` is the inverse, but for a state that `state_part`
    leaves out."""
    media = [_media_part(part) for part in message.media]
    if message.role == "tool":
        result = Part("result", message.content, message.call_id or "", ERROR_MARK if message.is_error else b"")
        return [*media, result, *opaque]
    parts = [Part("text", message.content)] if message.content or not message.calls else []
    state = None if message.state is None else state_part(message.state)
    return [*media, *parts, *map(_call_part, message.calls), *([] if state is None else [state]), *opaque]


def state_part(state: ProviderState) -> Part | None:
    """Return what a provider wants back as a part of its entry; None when the message itself says as much (`more`), or it has
    more than STATE_BYTES bytes. It is plain JSON, so that the filter of secrets finds them in it (G-10.3)."""
    if not state.more:
        return None
    from ..schema.lenient_json import compact_json

    text = compact_json(state.content)
    if len(text.encode("utf-8", "surrogatepass")) > STATE_BYTES:
        return None
    return Part("state", text, compact_json([state.connection, state.wire, state.model]))


def _state(part: Part) -> ProviderState:
    from json import loads

    from ..schema.lenient_json import JsonRefused, parse_json

    try:
        connection, wire, model = loads(part.id)
        content = parse_json(part.text)
    except JsonRefused as refused:
        raise ValueError(refused.reason) from None
    if any(type(name) is not str for name in (connection, wire, model)) or len(part.text) > STATE_BYTES:
        raise ValueError("the state of a provider is malformed")
    return ProviderState(connection, wire, model, content)


def _media_part(part: MediaPart) -> Part:
    from ..schema.lenient_json import compact_json

    content = part.content
    fields = {"kind": content.kind, "mime": content.mime, "name": part.name, "tokens": part.tokens}
    text = compact_json(fields if content.url is None else {**fields, "url": content.url})
    return Part("media", text, content.hash, content.data or b"")


def _media(part: Part) -> MediaPart:
    """Return the media of a part. Its content is missing where the part has only its hash: `filled` puts it in. Raises ValueError
    or its like for another part, MemoryFailure("Version") for a content that only a later version knows."""
    fields = stored_json(part.text)
    kind, mime, name, tokens, url = (fields.get(name) for name in ("kind", "mime", "name", "tokens", "url"))
    texts = type(mime) is type(part.id) is str and type(name) in (str, type(None)) and type(url) in (str, type(None))
    if not texts or kind not in KINDS or type(tokens) is not int or not 0 <= tokens < 1 << 53:
        raise ValueError("a media is malformed")
    if url is None:
        content = _checked(kind, part.id, part.data) if part.data else Content(kind, mime, part.id, None)
    else:
        try:
            content = link_to(kind, url)
        except Refused as refused:
            raise ValueError(refused.reason) from None
    return MediaPart(content, name, tokens)


def _checked(kind: str, content_hash: str, data: bytes) -> Content:
    """Return the content of stored bytes. Raises ValueError where they are not those of the hash, MemoryFailure("Version") for a
    content that is none here."""
    try:
        content = content_of(kind, data)
    except Refused:
        raise unsupported_part(f"a {kind} of an unknown form", FORMAT) from None
    if content.hash != content_hash:
        raise ValueError("a media is not what its hash says")
    return content


def contents_of(entries: Iterable[Entry]) -> dict[str, bytes]:
    """Return the bytes of the contents that entries hold, by hash; those of links and of missing contents are not among them."""
    contents = (part.content for entry in entries if entry.message.media for part in entry.message.media)
    return {content.hash: content.data for content in contents if content.data is not None}


def hashes_of(entry: Entry) -> list[str]:
    """Return the hashes of the contents that one entry uses, missing ones too, each once; a link has none."""
    contents = [part.content for part in entry.message.media]
    return list(dict.fromkeys(content.hash for content in contents if content.url is None))


def filled(entries: list[Entry], read: Callable[[list[str]], Mapping[str, bytes]]) -> list[Entry]:
    """Put the contents that they lack into the media of these entries, in place, and return the entries; `read` gives bytes by
    hash. What this process holds already is not read. Raises MemoryFailure("Corrupt") for a content that is gone or damaged,
    "Version" as `message_of`, and what `read` raises."""
    missing = [part for entry in entries if entry.message.media for part in entry.message.media if part.content.is_missing]
    if not missing:
        return entries
    wanted = {part.content.hash for part in missing if known(part.content.kind, part.content.hash) is None}
    data_by_hash = read(sorted(wanted)) if wanted else {}
    for part in missing:
        kind, content_hash = part.content.kind, part.content.hash
        content = known(kind, content_hash)
        if content is None:
            data = data_by_hash.get(content_hash)
            if type(data) is not bytes:
                raise corrupt(f"the content of a media is gone (hash {content_hash})")
            try:
                content = _checked(kind, content_hash, data)
            except ValueError as error:
                raise corrupt(str(error)) from None
        part.content = content
    return entries


def _call_part(call: Call) -> Part:
    from ..schema.lenient_json import compact_json

    return Part("call", compact_json({"name": call.name, "arguments": call.arguments, "text": call.text}), call.id)


def message_of(role: str, parts: Sequence[Part]) -> tuple[Msg, list[Part]]:
    """Return the message of these parts, and the parts of kinds that are unknown here. Raises MemoryFailure("Version")
    for media of a later version, ValueError, KeyError, TypeError, AttributeError or RecursionError for parts that do not
    decode."""
    text, calls, call_id, failed, state = "", [], None, False, None
    opaque, media = [], []
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
            media.append(_media(part))
        else:
            opaque.append(part)
    return Msg(role, text, tuple(calls), call_id, True if failed else None, state, tuple(media)), opaque


def _call(part: Part) -> Call:
    stored = _decoder(finite=True).decode(part.text)  # what a model sent was JSON, which has no other numbers (G-9.2)
    if type(stored["name"]) is not str or type(stored["arguments"]) not in (dict, type(None)):
        raise ValueError
    return Call(part.id, stored["name"], stored["arguments"], stored.get("text", ""))


def stored_json(text: str) -> Any:
    """Return the data of JSON that a store keeps. Raises ValueError for text that is none, or that has a whole number beyond
    Float, which no program has stored, RecursionError for one that nests too deeply, and TypeError for what is no text. NaN and
    infinities pass: a program may put them into the `meta` of a turn."""
    return _decoder(finite=False).decode(text)


@cache
def _decoder(finite: bool) -> JSONDecoder:
    """Return the reader of JSON that a store or a dump keeps; `finite` refuses NaN and infinities too."""
    from json import JSONDecoder

    return JSONDecoder(parse_int=_whole, parse_float=_finite, parse_constant=_finite) if finite else JSONDecoder(parse_int=_whole)


def _finite(digits: str) -> float:
    number = float(digits)
    if not isfinite(number):
        raise ValueError("a number beyond Float")
    return number


def _whole(digits: str) -> int:
    number = int(digits)
    from_json(number)  # raises ValueError for one beyond Float
    return number


def part_json(part: Part) -> dict[str, str]:
    """Return the JSON object of a part. That of media is without the content, which stores and dumps keep apart."""
    from base64 import b64encode

    stored = {"kind": part.kind, "text": part.text}
    if part.id:
        stored["id"] = part.id
    if part.data and part.kind != "media":
        stored["data"] = b64encode(part.data).decode()
    return stored


def part_of(stored: dict[str, str]) -> Part:
    """Return the part of its JSON object. Raises ValueError, KeyError, TypeError or AttributeError for anything else."""
    from base64 import b64decode

    if type(stored["kind"]) is not str or type(stored["text"]) is not str or type(stored.get("id", "")) is not str:
        raise ValueError
    return Part(stored["kind"], stored["text"], stored.get("id", ""), b64decode(stored.get("data", ""), validate=True))


ENTRY_FIELDS = ("seq", "turn", "run", "by", "role", "origin", "pinned", "tokens", "at")


def entry_json(entry: Entry) -> dict[str, Any]:
    """Return the JSON object of an entry, as dumps have it (M-8.10)."""
    return {**{name: getattr(entry, name) for name in ENTRY_FIELDS}, "parts": [part_json(part) for part in entry.parts]}


def entry_of(stored: dict[str, Any]) -> Entry:
    """Return the entry of its JSON object; `filled` gives it its media. Raises MemoryFailure("Corrupt") when it does not decode,
    "Version" as `message_of`. The types of numbers and names are not checked here."""
    try:
        message, opaque = message_of(stored["role"], [part_of(part) for part in stored["parts"]])
        return Entry(
            stored["seq"], stored["turn"], message, run=stored["run"], by=stored["by"], origin=stored["origin"], opaque=opaque,
            pinned=bool(stored["pinned"]), tokens=stored["tokens"], at=stored["at"],
        )  # fmt: skip
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError):
        raise corrupt("an entry does not decode") from None


# Keys, the addresses of logs (M-7): namespace, memory path, key values in declared order, branch.

if TYPE_CHECKING:
    Key: TypeAlias = tuple[str | int, ...]

# In UTF-8 bytes (M-7.4).
LONGEST_VALUE = 1024
MAIN_BRANCH = ""
TEXT, NUMBER = b"s", b"i"


def memory_key(namespace: str, path: str, values: Sequence[str | int] = (), branch: str = MAIN_BRANCH) -> Key:
    """Return the address of a log; `path` is the name that its memory is stored under, `values` are its key values in declared
    order."""
    return (namespace, path, *values, branch)


def branch_of(key: Key) -> str:
    """Return the branch of a key, "" for the main one."""
    return str(key[-1])


def with_branch(key: Key, branch: str) -> Key:
    """Return the key of the same log at another branch."""
    return (*key[:-1], branch)


def key_values(names: Sequence[str], values: Mapping[str, object]) -> tuple[str | int, ...]:
    """Return the values of `.key(a: v, b: v)` in declared order. Raises InvalidValue (P452) for other names, and for a value
    that no key may have (M-7.4)."""
    if set(values) != set(names):
        raise InvalidValue(f"the key has {', '.join(names)}; given {', '.join(values) or 'nothing'}")
    return tuple(_key_value(name, values[name]) for name in names)


def stored_values(names: Sequence[str], defaults: Mapping[str, str | int], values: Key) -> Key:
    """Return the values as the store has them: without the last parts that have their default, so that the key is the one
    that was written before these parts were declared (M-7.9). More values than names are returned as they are."""
    count = len(values)
    if count > len(names):  # of another declaration, or damaged: `declared_values` reports it
        return values
    # Only from the end: a key is an ordered tuple, so a part in the middle cannot be left out.
    while count and names[count - 1] in defaults and defaults[names[count - 1]] == values[count - 1]:
        count -= 1
    return values[:count]


def longer_forms(names: Sequence[str], defaults: Mapping[str, str | int], values: Key) -> list[Key]:
    """Return the longer keys that an earlier declaration, without these defaults, would have stored the same values
    under."""
    return [values[:count] for count in range(len(stored_values(names, defaults, values)) + 1, len(values) + 1)]


def declared_values(names: Sequence[str], defaults: Mapping[str, str | int], stored: Key) -> Key | None:
    """Return the values of a stored key in declared order; None for a key of another declaration."""
    missing = names[len(stored) :]
    if len(stored) > len(names) or any(name not in defaults for name in missing):
        return None
    return (*stored, *(defaults[name] for name in missing))


def _key_value(name: str, value: object) -> str | int:
    # A bool is an int in Python, and none in the language.
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        raise InvalidValue(f"key part {name} is a String or an Int, found {type(value).__name__}")
    if isinstance(value, str) and not 0 < len(value.encode("utf-8", "surrogatepass")) <= LONGEST_VALUE:
        raise InvalidValue(f"key part {name} has 1 to {LONGEST_VALUE} bytes")
    return value


def encode(key: Key) -> bytes:
    """Return the bytes of a key (M-7.2): per part a type byte, the number of bytes of its text in 4 bytes, high byte first, and
    the text in UTF-8. No two keys have the same bytes, and the first parts of a key encode to the first of its bytes."""
    parts = []
    for part in key:
        kind = TEXT if isinstance(part, str) else NUMBER
        data = str(part).encode("utf-8", "surrogatepass")
        parts += [kind, len(data).to_bytes(4, "big"), data]
    return b"".join(parts)


def shown(key: Key) -> str:
    """Return a key as messages show it: its parts with `/` between them."""
    return "/".join(str(part) for part in key)


def decode(stored: bytes) -> Key:
    """Return the key of its bytes. Raises MemoryFailure("Corrupt") for bytes that are none; a text that is no UTF-8, or a number
    without digits, is a ValueError."""
    parts: list[str | int] = []
    if type(stored) is not bytes:
        raise corrupt("a key does not decode")
    at = 0
    while at < len(stored):
        kind, length = stored[at : at + 1], int.from_bytes(stored[at + 1 : at + 5], "big")
        data = stored[at + 5 : at + 5 + length]
        if kind not in (TEXT, NUMBER) or len(data) != length:
            raise corrupt("a key does not decode")
        text = data.decode("utf-8", "surrogatepass")
        parts.append(text if kind == TEXT else int(text))
        at += 5 + length
    return tuple(parts)


# Token counts (M-11). The default counter needs no tokenizer: 4 + a quarter of the UTF-8 bytes, rounded up, so that JSON,
# arguments and scripts other than Latin count about what a provider counts.

if TYPE_CHECKING:
    TokenCounter = Callable[[Msg, str], int]
    """A message and the name of the model or agent, empty for none."""

MESSAGE_TOKENS = 4
BYTES_PER_TOKEN = 4
CALL_ID_BYTES = 8


def text_bytes(text: str) -> int:
    """Return the length of a text in UTF-8 bytes; lone surrogates count 3."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def tokens_of_bytes(count: int) -> int:
    """Return the tokens of a message with so many UTF-8 bytes (M-11.2)."""
    return MESSAGE_TOKENS - (-count // BYTES_PER_TOKEN)


def count_text(text: str) -> int:
    """Return the tokens of a text: those of a message that holds only it."""
    return tokens_of_bytes(text_bytes(text))


def count_message(message: Msg) -> int:
    """Return the tokens of a message by the default counter (M-11.2)."""
    size = text_bytes(message.content)
    media = sum([part.tokens for part in message.media]) if message.media else 0
    for call in message.calls:
        size += text_bytes(call.name) + text_bytes(arguments_text(call)) + CALL_ID_BYTES
    if message.call_id is not None:
        size += CALL_ID_BYTES
    return tokens_of_bytes(size) + media


def arguments_text(call: Call) -> str:
    """Return the arguments of a call as they are sent: compact JSON, or the text that the model sent instead."""
    if call.arguments is None:
        return call.text
    from ..schema.lenient_json import compact_json

    return compact_json(call.arguments)


def count_with(counter: TokenCounter | None, message: Msg, by: str | None = None) -> int:
    """Return the tokens of a message, written by the model or agent `by`, by the host's counter; where there is none or it gives
    no number above 0, by the default one (M-11.3). What the counter raises passes through."""
    count = 0 if counter is None else counter(message, by or "")
    return count if count > 0 else count_message(message)


def total(messages: Iterable[Msg]) -> int:
    """Return the tokens of messages by the default counter."""
    return sum(map(count_message, messages))


def longest_prefix(text: str, limit: int, suffix: str = "") -> str:
    """Return the longest prefix of `text` that together with `suffix` counts at most `limit` tokens by the default counter,
    empty when there is no room; no character is split."""
    room = (limit - MESSAGE_TOKENS) * BYTES_PER_TOKEN - text_bytes(suffix)
    if room <= 0:
        return ""
    if text.isascii():
        return text[:room]
    cut = text.encode("utf-8", "surrogatepass")[:room]
    while cut:  # at most three steps: a character has at most four bytes
        try:
            return cut.decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            cut = cut[:-1]
    return ""
