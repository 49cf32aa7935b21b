"""How entries, turns and view states stand in columns: what SQL stores share (M-8).

Texts are bytes, since a String may hold what a text column refuses. Parts of at least 1 KiB may be deflated (M-8.8); every
reader reads both. Must not know: connections, statements.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from json import dumps, loads
from json.decoder import scanstring  # type: ignore[attr-defined]
from zlib import compress, decompress
from zlib import error as ZlibError

from ...records import Msg
from ..entries import Entry, Turn, ViewState, message_of, part_json, part_of
from ..errors import corrupt
from ..facts import Fact, fact_of
from ..observations import Observation, observation_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

PLAIN, DEFLATED = b"j", b"z"
WORTH_DEFLATING = 1024
ONE_TEXT = '[{"kind":"text","text":"'


def encode_parts(entry: Entry, deflate: bool) -> bytes:
    held = dumps([part_json(part) for part in entry.parts], separators=(",", ":"), ensure_ascii=False)
    data = held.encode("utf-8", "surrogatepass")
    if deflate and len(data) >= WORTH_DEFLATING:
        smaller = compress(data)
        if len(smaller) < len(data):
            return DEFLATED + smaller
    return PLAIN + data


def entry_row(entry: Entry, deflate: bool) -> tuple[Any, ...]:
    return (
        entry.seq, entry.turn, entry.run, entry.by, entry.role, encode_parts(entry, deflate), entry.origin, int(entry.pinned),
        entry.tokens, entry.at,
    )  # fmt: skip


def entry_of_row(row: Sequence[Any]) -> Entry:
    seq, turn, run, by, role, parts, origin, pinned, tokens, at = row
    try:
        data = bytes(parts)
        held = (decompress(data[1:]) if data[:1] == DEFLATED else data[1:]).decode("utf-8", "surrogatepass")
        text = _only_text(held) if role != "tool" else None
        if text is not None:
            return Entry(seq, turn, Msg(role, text), run=run, by=by, origin=origin, pinned=bool(pinned), tokens=tokens, at=at)
        message, opaque = message_of(role, [part_of(part) for part in loads(held)])
    except (ValueError, KeyError, TypeError, AttributeError, ZlibError):
        raise corrupt(f"entry {seq} does not decode") from None
    return Entry(seq, turn, message, run=run, by=by, origin=origin, pinned=bool(pinned), tokens=tokens, at=at, opaque=opaque)


def _only_text(held: str) -> str | None:
    """Of a message that is one text, as nearly all are, and is written as `encode_parts` does it."""
    if not held.startswith(ONE_TEXT):
        return None
    text, end = scanstring(held, len(ONE_TEXT))
    return text if held[end:] == "}]" else None


def turn_row(turn: Turn) -> tuple[Any, ...]:
    return (turn.turn, turn.run, turn.by, turn.at, turn.tokens_in, turn.tokens_out, dumps(turn.meta, sort_keys=True))


def turn_of_row(row: Sequence[Any]) -> Turn:
    turn, run, by, at, tokens_in, tokens_out, meta = row
    try:
        held = loads(meta)
    except ValueError:
        raise corrupt(f"the meta of turn {turn} does not decode") from None
    return Turn(turn, run=run, by=by, at=at, tokens_in=tokens_in, tokens_out=tokens_out, meta=held)


def view_row(state: ViewState) -> tuple[Any, ...]:
    return (state.name, state.cut, state.text.encode("utf-8", "surrogatepass"), state.upto, state.folded, state.folded_at)


def view_of_row(row: Sequence[Any]) -> ViewState:
    name, cut, text, upto, folded, folded_at = row
    return ViewState(name, cut, bytes(text).decode("utf-8", "surrogatepass"), upto, folded, folded_at)


def fact_row(fact: Fact) -> tuple[bytes, bytes]:
    """Its name and all of it, a vector too; a persistent fact has no task."""
    held = fact.as_json()
    if fact.vector is not None:
        label, vector = fact.vector
        held["vector"] = [label, b64encode(vector).decode()]
    data = dumps(held, separators=(",", ":"), ensure_ascii=False)
    return fact.name.encode("utf-8", "surrogatepass"), data.encode("utf-8", "surrogatepass")


def fact_of_row(data: bytes) -> Fact:
    try:
        held = loads(bytes(data).decode("utf-8", "surrogatepass"))
        vector = held.pop("vector", None)
        fact = fact_of(held)
        if vector is not None:
            fact.vector = (vector[0], b64decode(vector[1]))
        return fact
    except (ValueError, KeyError, TypeError):
        raise corrupt("a fact does not decode") from None


def seen_row(one: Observation) -> tuple[bytes, int, bytes]:
    """Topic, number, all of it."""
    data = dumps(one.as_json(), separators=(",", ":"), ensure_ascii=False)
    return one.topic.encode("utf-8", "surrogatepass"), one.n, data.encode("utf-8", "surrogatepass")


def seen_of_row(data: bytes) -> Observation:
    try:
        return observation_of(loads(bytes(data).decode("utf-8", "surrogatepass")))
    except (ValueError, KeyError, TypeError):
        raise corrupt("an observation does not decode") from None
