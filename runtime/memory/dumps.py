"""The text form of a key's content (M-8.10, M-8.11): canonical JSON, read back whole or not at all.

Only data is rebuilt, never code. Facts and observations are handed in and out by who keeps them. Must not know: stores, policies.
"""

from __future__ import annotations

from ...vm.panics import Panic
from ...vm.values import INT_MAX, from_json
from ...vm.values.metering import FEW, paced, works_on
from .entries import FORMAT, Turn, ViewState, check_units, entry_json, entry_of
from .errors import MemoryFailure, corrupt, newer_version
from .facts import fact_of
from .observations import observation_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from .entries import Entry

INTEGERS = ("seq", "turn", "tokens", "at")


class Content:
    """Everything a dump holds."""

    __slots__ = ("next", "turns", "rows", "states", "entries", "facts", "seen")

    def __init__(
        self,
        next: int,
        turns: int,
        rows: Sequence[Turn],
        states: Sequence[ViewState],
        entries: Sequence[Entry],
        facts: Sequence[Any] = (),
        seen: Sequence[Any] = (),
    ) -> None:
        self.next = next
        self.turns = turns
        self.rows = rows
        self.states = states
        self.entries = entries
        self.facts = facts
        self.seen = seen


def dumped(content: Content) -> str:
    from json import JSONEncoder

    encode = JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode

    def listed(items: Iterable[Any]) -> str:
        """Piece by piece: a log may be long."""
        return f"[{','.join([encode(item) for item in paced(items, FEW)])}]"

    held = {
        "v": encode(FORMAT),
        "next": encode(content.next),
        "turns": encode(content.turns),
        "runs": listed(row.as_json() for row in sorted(content.rows, key=lambda row: row.turn)),
        "views": encode({state.name: state.as_json() for state in content.states}),
        "log": listed(entry_json(entry) for entry in content.entries),
        "facts": listed(content.facts),
        "seen": listed(content.seen),
    }
    text = f"{{{','.join([f'{encode(name)}:{held[name]}' for name in sorted(held)])}}}"
    works_on(len(text))
    return text


def loaded(text: str) -> Content:
    """The content of a dump; Err Version for a newer format, Corrupt for anything that is none."""
    works_on(len(text))
    held = _parsed(text)
    version = held.get("v")
    if type(version) is not int or version < 1:
        raise corrupt("it names no format")
    if version > FORMAT:
        raise newer_version(version, FORMAT)
    try:
        content = Content(
            _count(held["next"]),
            _count(held["turns"]),
            [_turn(row) for row in held["runs"]],
            [_state(name, state) for name, state in held["views"].items()],
            [entry_of(entry) for entry in paced(held["log"], FEW)],
            [fact_of(fact).as_json() for fact in paced(held["facts"], FEW)],
            [observation_of(one).as_json() for one in paced(held["seen"], FEW)],
        )
        _check(content)
        _check_values(content)
    except (KeyError, TypeError, ValueError, AttributeError, Panic):
        raise corrupt("the dump does not decode") from None
    return content


def _parsed(text: str) -> dict[str, Any]:
    from json import loads

    try:
        held = loads(text)
    except (ValueError, RecursionError):
        raise corrupt("the dump is no JSON") from None
    if not isinstance(held, dict):
        raise corrupt("the dump is no object")
    return held


def _is_said(entry: Entry) -> bool:
    """Whether its parts are texts where a message has texts."""
    texts = [entry.message.content, entry.message.role, entry.origin, *(part.text for part in entry.opaque)]
    texts += [text for call in entry.message.calls for text in (call.id, call.name, call.text)]
    texts += [text for text in (entry.run, entry.by, entry.message.call_id) if text is not None]
    arguments = [call.arguments for call in entry.message.calls]
    return all(type(text) is str for text in texts) and all(type(given) in (dict, type(None)) for given in arguments)


def _check_values(content: Content) -> None:
    """What programs are given has a form in the language: no number beyond Float, no deeper nesting than values have."""
    from_json([call.arguments for entry in content.entries for call in entry.message.calls])
    from_json([row.meta for row in content.rows])
    from_json([fact["content"] for fact in content.facts])
    from_json([one["data"] for one in content.seen])


def _count(value: Any) -> int:
    if type(value) is not int or not 0 <= value <= INT_MAX:
        raise ValueError
    return value


def _turn(row: dict[str, Any]) -> Turn:
    for name in ("turn", "at", "tokens_in", "tokens_out"):
        _count(row[name])
    if type(row["meta"]) is not dict or any(type(row[name]) not in (str, type(None)) for name in ("run", "by")):
        raise ValueError
    return Turn(**row)


def _state(name: str, held: dict[str, Any]) -> ViewState:
    for field in ("cut", "folded", "folded_at"):
        _count(held[field])
    if type(held["text"]) is not str or type(held["upto"]) is not int or held["name"] != name:
        raise ValueError
    return ViewState(**held)


def _check(content: Content) -> None:
    """What every log keeps: numbers ascend below the counters, units are whole."""
    seq = turn = -1
    for entry in paced(content.entries, FEW):
        if not _is_said(entry) or any(_count(getattr(entry, name)) < 0 for name in INTEGERS):
            raise ValueError
        if not seq < entry.seq < content.next or not turn <= entry.turn < content.turns:
            raise corrupt(f"entry {entry.seq} is out of order")
        seq, turn = entry.seq, entry.turn
    try:
        check_units([entry.message for entry in content.entries])
    except MemoryFailure as failure:
        raise corrupt(failure.message) from None
