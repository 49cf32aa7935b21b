"""What a log holds: entries, units and turns (M-1, M-6), the states of its views, and token counts (M-11).

Hands on `Entry`, which has the `Part`s of its message, `Turn` and `ViewState`, with their forms in stores and dumps
(`entry_json`, `part_json`, `stored_json`, `entry_of`, `part_of`, `message_of`, `state_part`) and the `FORMAT` of those; `Unit`,
`units`, `units_back` and `check_units`; the contents of media that entries name (`contents_of`, `hashes_of`, `filled`); and the
token counts (`TokenCounter`, `count_message`, `count_text`, `count_with`, `total`, `arguments_text`, `longest_prefix`), to
usage of models and embedders too. Nearly everything else in this folder relies on it, and so do summarisers
(`effects/summarisers.py`) and the forms of the journal (`journal/store_forms.py`). It reads and writes no store, and of the
memory it knows only `failures.py`; addresses of logs are in `keys.py`. An entry never changes, but for `filled`, which puts the
contents of its media in; its parts are the form in which stores and dumps keep the message, and a part of a kind unknown here
is kept as it came (M-8.11).
"""

from __future__ import annotations

from functools import cache
from math import isfinite
from operator import attrgetter

from ...vm.values import from_json
from ...vm.values.media import KINDS, Content, Refused, content_of, known, link_to
from ...vm.values.metering import FEW, paced
from ..media import MediaPart
from ..records import Call, Msg, ProviderState
from .failures import corrupt, invalid_unit, unsupported_part

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from json import JSONDecoder
    from typing import Any, TypeAlias


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
        """The role of the message."""
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
    """The record of one commit; its messages are the entries with this turn number. `run` and `by` are those of its entries,
    `tokens_in` and `tokens_out` the provider's counts, `at` is Unix ms, `meta` plain data."""

    __slots__ = ("turn", "run", "by", "at", "tokens_in", "tokens_out", "meta")

    def __init__(
        self,
        turn: int,
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
        """Return the JSON object of a record, by the names of its fields."""
        return {name: getattr(self, name) for name in self.__slots__}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Turn) and self.as_json() == other.as_json()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Turn({self.turn}, run={self.run!r})"


class ViewState:
    """What one view keeps in the store: the cut of its window, its summary, and how far and when it was folded. `name` is that of
    the view, "" for the memory itself.

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

    def not_folded_after(self, turns: int) -> ViewState:
        """Return a copy for a log with so many turns: its last fold was not behind them."""
        return ViewState(self.name, self.cut, self.text, self.upto, min(self.folded, turns), self.folded_at)

    def without_summary(self) -> ViewState:
        """Return a copy without summary: covered entries that are still in the log count as uncovered again (M-9.8)."""
        return ViewState(self.name, self.cut, "", -1, self.folded, self.folded_at)

    def as_json(self) -> dict[str, Any]:
        """Return the JSON object of a state, by the names of its fields."""
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
_fields_of = attrgetter(*ENTRY_FIELDS)


def entry_json(entry: Entry) -> dict[str, Any]:
    """Return the JSON object of an entry, as dumps have it (M-8.10)."""
    stored = dict(zip(ENTRY_FIELDS, _fields_of(entry), strict=True))
    stored["parts"] = [part_json(part) for part in entry.parts]
    return stored


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
    text = message.content
    size = len(text) if text.isascii() else text_bytes(text)
    if not message.calls and not message.media and message.call_id is None:  # most messages
        return MESSAGE_TOKENS - (-size // BYTES_PER_TOKEN)
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
