"""What was stored under another redaction, as it goes to a model: through the redactors of now (M-8.27).

A key notes with its views under which redaction its entries are written from which on; those before, texts of summaries made
before and all recalled facts are rewritten when they are shown, each once. Hands on `marked`, `Shown`. Must not know: what a view
takes of a log, models.
"""

from __future__ import annotations

from .entries import Entry, ViewState
from .errors import MemoryFailure
from .redaction import redacted, redacted_json
from .tokens import count_with

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any

    from ..records import Msg
    from .keys import Key
    from .policy import Policy
    from .source import Source

MARK = ":redaction"
"""Among the views of a key, where no view has such a name: `text` says which redaction, `cut` from which entry on."""
KEPT = 4_096
"""Texts that a declaration keeps as they are shown."""


def redaction_text(redactors: Sequence[Callable[[str], str]]) -> str:
    """What tells one redaction from another."""
    return " ".join(str(getattr(one, "mark", None) or getattr(one, "__name__", type(one).__name__)) for one in redactors)


def marked(policy: Policy, states: Mapping[str, ViewState], first: int, at: int) -> list[ViewState]:
    """What a commit notes whose entries begin at `first`: nothing where that is noted already."""
    if not policy.redact:
        return []
    said = redaction_text(policy.redact)
    held = states.get(MARK)
    return [] if held is not None and held.text == said else [ViewState(MARK, first, said, folded_at=at)]


class Shown:
    """What a key holds, as its memory's redaction of now shows it."""

    __slots__ = ("policy", "key", "mark")

    def __init__(self, policy: Policy, key: Key, states: Mapping[str, ViewState]) -> None:
        self.policy = policy
        self.key = key
        held = states.get(MARK)
        self.mark = held if held is not None and held.text == redaction_text(policy.redact) else None

    def entry(self, entry: Entry) -> Entry:
        if self.mark is not None and entry.seq >= self.mark.cut:
            return entry
        known: dict[Any, Any] = self.policy.shown
        place, said = (self.key, entry.seq), _said(entry.message)
        held = known.get(place)
        if held is None or held[0] != said:
            message = _shown(lambda: redacted(entry.message, self.policy.redact))
            same = _said(message) == said
            tokens = entry.tokens if same else count_with(self.policy.counter, message, entry.by or "")
            held = _keep(known, place, (said, message, tokens))
        return entry.showing(held[1], held[2])

    def state(self, state: ViewState) -> ViewState:
        """With the text of a summary that was made before."""
        if not state.text or (self.mark is not None and state.folded_at > self.mark.folded_at):
            return state
        text = json_shown(self.policy, state.text)
        return ViewState(state.name, state.cut, text, state.upto, state.folded, state.folded_at)

    def log(self, source: Source) -> Source:
        return _Log(source, self)


def json_shown(policy: Policy, value: Any) -> Any:
    """A text, or the name or content of a fact; a redactor gives of what it gave the same."""
    if not policy.redact:
        return value
    from json import dumps

    place = dumps(value, ensure_ascii=False)
    found = policy.shown.get(place)
    return (found or _keep(policy.shown, place, (_shown(lambda: redacted_json(value, policy.redact)),)))[0]


def _said(message: Msg) -> Any:
    return (message.content, [call.as_json() for call in message.calls]) if message.calls else message.content


def _shown(rewritten: Callable[[], Any]) -> Any:
    """A redactor that fails sends nothing."""
    try:
        return rewritten()
    except MemoryFailure as failure:
        message = str(failure.message).replace("nothing was stored", "nothing was sent")
        raise MemoryFailure(str(failure.variant), message) from None


def _keep(known: dict[Any, Any], place: Any, value: Any) -> Any:
    if len(known) >= KEPT:
        del known[next(iter(known))]
    known[place] = value
    return value


class _Log:
    """A snapshot of a log whose older entries are shown as they may go to a model."""

    __slots__ = ("_source", "_shown", "length")

    def __init__(self, source: Source, shown: Shown) -> None:
        self._source = source
        self._shown = shown
        self.length = source.length

    def pins(self) -> list[Entry]:
        return [self._shown.entry(entry) for entry in self._source.pins()]

    def back(self) -> Iterator[Entry]:
        return map(self._shown.entry, self._source.back())

    def newest(self, limit: int) -> list[Entry]:
        return [self._shown.entry(entry) for entry in self._source.newest(limit)]
