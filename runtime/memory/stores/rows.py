"""The forms in which entries, turns, states of views, facts and observations stand in a store (M-8, G-12.10).

Hands on to the stores that other processes write a pair of functions for each, one that makes a row and one that reads it,
`head_of` and `note_of`, which only read, and `damage_at`, which says where a row is that is none; to them, and to dumps and
recordings of stores, the checks of what was read (`check_entry` and its like), to the latter MOST too. Texts are bytes, since a
String may hold what a text column refuses (a NUL). Parts of at least 1 KiB may be deflated (M-8.8); every reader reads both
forms. What a row holds is checked when it is read, since nobody knows who wrote it: what is none is MemoryFailure("Corrupt").
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from json import dumps, loads
from json.decoder import scanstring  # type: ignore[attr-defined]
from zlib import compress, decompressobj
from zlib import error as ZlibError

from ....vm.record import record
from ...records import Msg
from ..entries import Entry, Part, Turn, ViewState, message_of, part_json, part_of, stored_json
from ..facts import PERSISTENT, Fact, Observation, fact_of, observation_of
from ..failures import DAMAGED, WAY_OUT, MemoryFailure, corrupt
from .protocol import Head

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

PLAIN, DEFLATED = b"j", b"z"
WORTH_DEFLATING = 1024
LARGEST_PARTS = 1 << 28
"""Bytes that deflated parts may have when they are inflated: no stored row can fill the memory of its reader."""
MOST = 1 << 53
"""All numbers of a store are below: up to there every kind of store, and JSON, is exact."""
ROLES = frozenset(("system", "user", "assistant", "tool"))
ORIGINS = frozenset(("program", "user", "model", "tool", "host"))
WRONG = (ValueError, KeyError, TypeError, AttributeError, IndexError, OverflowError, RecursionError, ZlibError)
"""What decoding can raise for bytes that no store wrote."""
ONE_TEXT = '[{"kind":"text","text":"'
BEFORE_TEXT = len(ONE_TEXT)


def encode_parts(entry: Entry, deflate: bool) -> bytes:
    """Return the parts of an entry as bytes: JSON behind the mark PLAIN, or with `deflate`, where it has WORTH_DEFLATING bytes or
    more and gets shorter, deflated behind DEFLATED."""
    json = dumps([part_json(part) for part in entry.parts], separators=(",", ":"), ensure_ascii=False)
    data = json.encode("utf-8", "surrogatepass")
    if deflate and len(data) >= WORTH_DEFLATING:
        smaller = compress(data)
        if len(smaller) < len(data):
            return DEFLATED + smaller
    return PLAIN + data


def entry_row(entry: Entry, deflate: bool) -> tuple[Any, ...]:
    """Return the columns of an entry, in the order of ENTRY_COLUMNS in `sql.py`; `deflate` as in `encode_parts`."""
    return (
        entry.seq, entry.turn, entry.run, entry.by, entry.role, encode_parts(entry, deflate), entry.origin, int(entry.pinned),
        entry.tokens, entry.at,
    )  # fmt: skip


@record
class damage_at:
    """A context in which whatever does not decode (an error of WRONG, or "Corrupt") becomes MemoryFailure("Corrupt") with its
    place and the way out; any other failure passes. `place` returns the place when it is needed, since every read passes here."""

    place: Callable[[], str]

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if isinstance(error, MemoryFailure):
            if error.variant == "Corrupt":
                raise corrupt(f"{self.place()}: {error.message.removeprefix(DAMAGED)}; {WAY_OUT}") from None
        elif isinstance(error, WRONG):
            raise corrupt(f"{self.place()}: a row does not decode; {WAY_OUT}") from None


def note_of(number: Any, facts: Any) -> tuple[int, str | None]:
    """Return a note of changed facts, from its two columns. Raises MemoryFailure("Corrupt")."""
    named = facts is None or (type(facts) is str and all(map(str.isdecimal, facts.split())))
    if type(number) is not int or not 0 < number < MOST or not named:
        raise corrupt("a note of changed facts does not decode")
    return number, facts


def head_of(values: Sequence[Any]) -> Head:
    """Return the row of a key. Raises MemoryFailure("Corrupt") for values that no commit has made, ValueError or TypeError for
    what is not six values (`damage_at` makes it Corrupt too)."""
    version, following, turns, length, tokens, at = values
    if not (
        type(version) is type(following) is type(turns) is type(length) is type(tokens) is type(at) is int
        and 0 <= version | following | turns | length | tokens | at < MOST  # as each of them is
    ):
        raise corrupt("the row of the log holds what is no count")
    if length > following or (not version and (following or turns or length)):
        raise corrupt("the counts of the log contradict each other")
    return Head(version, following, turns, length, tokens, at)


def entry_of_row(row: Sequence[Any]) -> Entry:
    """Return the entry of its columns, whose media may lack their contents. Raises MemoryFailure("Corrupt", or "Version" for
    media of a later version)."""
    seq, turn, run, by, role, parts, origin, pinned, tokens, at = row
    try:
        if type(parts) is not bytes:
            raise ValueError
        json = (_inflated(parts) if parts[:1] == DEFLATED else parts[1:]).decode("utf-8", "surrogatepass")
        message: Msg | None = None
        opaque: Sequence[Part] = ()
        # One text, as nearly all are, in the form of `encode_parts`: faster than decoding all of the JSON.
        if json.startswith(ONE_TEXT) and role != "tool":
            text, end = scanstring(json, BEFORE_TEXT)
            if json[end:] == "}]":
                message = Msg(role, text)
        if message is None:
            message, opaque = message_of(role, [part_of(part) for part in loads(json)])
    except WRONG:
        raise corrupt(f"entry {seq} does not decode") from None
    entry = Entry(seq, turn, message, run, by, origin, pinned == 1, tokens, at, opaque)
    return check_entry(entry)


def check_entry(entry: Entry) -> Entry:
    """Return the entry. Raises MemoryFailure("Corrupt") for one that no commit has stored."""
    seq, turn, tokens, at, run, by = entry.seq, entry.turn, entry.tokens, entry.at, entry.run, entry.by
    if not (
        type(seq) is type(turn) is type(tokens) is type(at) is int
        and 0 <= seq | turn | tokens | at < MOST  # as each of them is: MOST is a power of two
        and (run is None or type(run) is str) and (by is None or type(by) is str)
        and entry.message.role in ROLES and entry.origin in ORIGINS
    ):  # fmt: skip
        raise corrupt(f"entry {seq} is malformed")
    return entry


def _inflated(parts: bytes) -> bytes:
    inflating = decompressobj()
    data = inflating.decompress(parts[1:], LARGEST_PARTS)
    if not inflating.eof:
        raise ValueError("cut off, or larger than parts may be")
    return data


def turn_row(turn: Turn) -> tuple[Any, ...]:
    """Return the columns of a turn, in the order of TURN_COLUMNS in `sql.py`."""
    return (turn.turn, turn.run, turn.by, turn.at, turn.tokens_in, turn.tokens_out, dumps(turn.meta, sort_keys=True))


def turn_of_row(row: Sequence[Any]) -> Turn:
    """Return the turn of its columns. Raises MemoryFailure("Corrupt")."""
    turn, run, by, at, tokens_in, tokens_out, meta = row
    try:
        data = stored_json(meta)
        if type(data) is not dict:
            raise ValueError
    except WRONG:
        raise corrupt(f"the meta of turn {turn} does not decode") from None
    return check_turn(Turn(turn, run=run, by=by, at=at, tokens_in=tokens_in, tokens_out=tokens_out, meta=data))


def check_turn(turn: Turn) -> Turn:
    """Return the turn. Raises MemoryFailure("Corrupt") for one that no commit has stored."""
    counts = (turn.turn, turn.at, turn.tokens_in, turn.tokens_out)
    if any(type(count) is not int or not 0 <= count < MOST for count in counts) or type(turn.meta) is not dict:
        raise corrupt(f"turn {turn.turn} is malformed")
    if any(text is not None and type(text) is not str for text in (turn.run, turn.by)):
        raise corrupt(f"turn {turn.turn} is malformed")
    return turn


def view_row(state: ViewState) -> tuple[Any, ...]:
    """Return the columns of the state of a view, in the order of VIEW_COLUMNS in `sql.py`."""
    return (state.name, state.cut, state.text.encode("utf-8", "surrogatepass"), state.upto, state.folded, state.folded_at)


def view_of_row(row: Sequence[Any]) -> ViewState:
    """Return the state of a view of its columns. Raises MemoryFailure("Corrupt")."""
    name, cut, text, upto, folded, folded_at = row
    try:
        return check_view(ViewState(name, cut, text.decode("utf-8", "surrogatepass"), upto, folded, folded_at))
    except WRONG:
        raise corrupt(f"the view {name!r} does not decode") from None


def check_view(state: ViewState) -> ViewState:
    """Return the state. Raises MemoryFailure("Corrupt") for one that no commit has stored."""
    counts = (state.cut, state.upto, state.folded, state.folded_at)
    if any(type(count) is not int or not -1 <= count < MOST for count in counts) or type(state.name) is not str:
        raise corrupt(f"the view {state.name!r} is malformed")
    if type(state.text) is not str:
        raise corrupt(f"the view {state.name!r} is malformed")
    return state


def fact_row(fact: Fact) -> tuple[bytes, bytes]:
    """Return the name of a fact and all of it, with its vector, as bytes. Its task is left out: a persistent fact has none."""
    fields = fact.as_json()
    if fact.vector is not None:
        label, vector = fact.vector
        fields["vector"] = [label, b64encode(vector).decode()]
    data = dumps(fields, separators=(",", ":"), ensure_ascii=False)
    return fact.name.encode("utf-8", "surrogatepass"), data.encode("utf-8", "surrogatepass")


def fact_of_row(data: bytes, number: object, name: object) -> Fact:
    """Return the fact of its bytes, in a row of this number, under this name as bytes. Raises MemoryFailure("Corrupt"), also for
    a fact of another number or name, or of a tier that no store keeps: whoever writes the name would look for it in vain, and
    find it taken."""
    try:
        if type(data) is not bytes:
            raise ValueError
        fields = loads(data.decode("utf-8", "surrogatepass"))
        vector = fields.pop("vector", None)
        fact = check_fact(fact_of(fields))
        if fact.id != number or fact.name.encode("utf-8", "surrogatepass") != name or fact.tier != PERSISTENT:
            raise ValueError
        if vector is not None:
            label, encoded = vector
            fact.vector = (label, b64decode(encoded, validate=True))
            if type(label) is not str or len(fact.vector[1]) % 4:
                raise ValueError
        return fact
    except WRONG:
        raise corrupt("a fact does not decode") from None


def check_fact(fact: Fact) -> Fact:
    """Return the fact. Raises MemoryFailure("Corrupt") for one with a number that none has."""
    times = [time for element in fact.elements for time in element]
    if any(not 0 <= number < MOST for number in (fact.id, fact.created, fact.accessed, fact.refreshed, *fact.seqs, *times)):
        raise corrupt(f"the fact {fact.id} is malformed")
    return fact


def seen_row(one: Observation) -> tuple[bytes, int, bytes]:
    """Return topic, number and all of an observation, texts as bytes."""
    data = dumps(one.as_json(), separators=(",", ":"), ensure_ascii=False)
    return one.topic.encode("utf-8", "surrogatepass"), one.n, data.encode("utf-8", "surrogatepass")


def seen_of_row(data: bytes, topic: object, number: object) -> Observation:
    """Return the observation of its bytes, in a row of this topic, as bytes, and number. Raises MemoryFailure("Corrupt"), also
    for one of another place: the next one would get a number that is taken."""
    try:
        if type(data) is not bytes:
            raise ValueError
        one = check_seen(observation_of(stored_json(data.decode("utf-8", "surrogatepass"))))
        if one.n != number or one.topic.encode("utf-8", "surrogatepass") != topic:
            raise ValueError
        return one
    except WRONG:
        raise corrupt("an observation does not decode") from None


def check_seen(one: Observation) -> Observation:
    """Return the observation. Raises MemoryFailure("Corrupt") for one with a number that none has."""
    if any(not 0 <= number < MOST for number in (one.n, one.at, *one.seqs)):
        raise corrupt(f"the observation {one.n} is malformed")
    return one
