"""What one commit does to a log, computed before anything is written: entry numbers, pins, eviction, and cuts, the entry numbers
at which the windows of views begin (M-4.2, M-4.4, M-4.6, M-4.10).

Hands on to `memory.py` `prepared` and `filtered` (drafts ready to be stored) and `Change`, whose `batch` a store applies as a
whole or refuses; and `Draft` (a message before it has a number) to `turns.py` and `stores/volatile.py` too. Nothing is written
here, and everything is a function of the policy and a snapshot of the log, so a commit that lost a race is simply computed again.
"""

from __future__ import annotations

from .entries import Entry, Turn, ViewState, count_with
from .log import Changed
from .retention import Index, leaving
from .stores.protocol import Batch, Head
from .views import advanced, pins_message, source_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from ..records import Msg
    from .log import StoredLog
    from .policy import Policy


class Draft:
    """A message that is about to be stored. `origin` and `by` are those of its `Entry`. `tokens` is the provider's count; None or
    0 lets the counter count it (M-11.1). `pinned` pins it whatever the policy says."""

    __slots__ = ("message", "origin", "by", "tokens", "pinned")

    def __init__(
        self, message: Msg, origin: str = "program", by: str | None = None, tokens: int | None = None, pinned: bool = False
    ) -> None:
        self.message = message
        self.origin = origin
        self.by = by
        self.tokens = tokens
        self.pinned = pinned


def prepared(policy: Policy, drafts: Sequence[Draft]) -> list[Draft]:
    """Return copies of the drafts, redacted, counted and pinned: all that does not depend on the log, so that it is done
    once however often the commit is tried. Raises MemoryFailure("Redaction"), and the panic of a function of `pin`."""
    ready = []
    for draft in drafts:
        message = _redacted(draft.message, policy)
        # The provider counted the text before redaction, so its count holds only for an unchanged text.
        rewritten = message is not draft.message and message.content != draft.message.content
        tokens = draft.tokens if draft.tokens and not rewritten else count_with(policy.counter, message, draft.by)
        ready.append(Draft(message, draft.origin, by=draft.by, tokens=tokens, pinned=draft.pinned))
    return _with_pins(policy, ready)


def filtered(policy: Policy, drafts: Sequence[Draft]) -> list[Draft]:
    """Return copies of the drafts, redacted and nothing else; `tokens` is None where the text was rewritten, so that it is
    counted anew. Raises MemoryFailure("Redaction")."""
    ready = []
    for draft in drafts:
        message = _redacted(draft.message, policy)
        same = message.content == draft.message.content
        ready.append(Draft(message, draft.origin, by=draft.by, tokens=draft.tokens if same else None, pinned=draft.pinned))
    return ready


def _redacted(message: Msg, policy: Policy) -> Msg:
    redactors = policy.redactors
    if not redactors:
        return message
    from .redaction import redacted

    return redacted(message, redactors)


def _with_pins(policy: Policy, drafts: list[Draft]) -> list[Draft]:
    """Pin each whole unit one of whose messages is pinned: a call and its results stay together (M-4.6)."""
    if not (policy.pin_roles or policy.pin_when or any(draft.pinned for draft in drafts)):
        return drafts
    at = 0
    while at < len(drafts):
        end = at + 1
        while end < len(drafts) and drafts[end].message.role == "tool":
            end += 1
        pinned = any(draft.pinned or pins_message(policy, draft.message) for draft in drafts[at:end])
        for draft in drafts[at:end]:
            draft.pinned = pinned
        at = end
    return drafts


def entries_at(head: Head, drafts: Sequence[Draft], turn: int, run: str | None, at: int) -> list[Entry]:
    """Return the entries that drafts, as `prepared` returns them, become behind `head`, as turn `turn` of the run `run`, None for
    a direct write, stored at `at` (Unix ms)."""
    return [
        Entry(head.next + number, turn, draft.message, run, draft.by, draft.origin, draft.pinned, draft.tokens or 0, at)
        for number, draft in enumerate(drafts)
    ]


class Change:
    """One commit on the snapshot `log`: call `add`, then `retain`, then `batch`, which gives what is to be written. `policy` is
    that of the memory; `views` are this and the policies of its views by name, that of the memory under the empty name; `states`
    are all that the store keeps as `views` of the key, by name: the states of these views and the note of the redaction, without
    which `batch` writes a new one (M-8.27). `new` are the entries that come, after `add`, and `turn` the record of their run,
    None without one; `gone` those that the bounds evict, stored ones and some of `new`, after `retain`.

    `retain` and `batch` read the log, and `batch` calls functions of steps: what these raise passes through."""

    __slots__ = ("policy", "views", "log", "states", "new", "turn", "gone")

    def __init__(
        self,
        policy: Policy,
        views: Mapping[str, Policy],
        log: StoredLog,
        states: Mapping[str, ViewState],
    ) -> None:
        self.policy = policy
        self.views = views
        self.log = log
        self.states = states
        self.new: list[Entry] = []
        self.turn: Turn | None = None
        self.gone: list[Entry] = []

    def add(self, drafts: Sequence[Draft], at: int, turn: Turn | None = None) -> None:
        """Take in the messages of one turn, stored at `at` (Unix ms). `turn` is the record of a run; a direct write has
        none."""
        head = self.log.head
        self.turn = turn.moved(head.turns) if turn is not None else None
        self.new = entries_at(head, drafts, head.turns, turn.run if turn is not None else None, at)

    def retain(self) -> None:
        """Decide which entries the bounds of the log evict (M-4.2); what a summary still has to cover stays (M-9.5)."""
        if self.policy.retention.bounds:
            index = Index(self.log.head, self._unpinned(), self.new, self.covered())
            self.gone = list(leaving(self.policy.retention, index))

    def _unpinned(self) -> Iterator[Entry]:
        yield from self.log.forward(pinned=False)
        yield from (entry for entry in self.new if not entry.pinned)

    def covered(self) -> int | None:
        """Return the entry number up to which every summary covers the log, -1 where one covers nothing; None where no view has
        the step `summary`."""
        upto = [self.state(name).upto for name, policy in self.views.items() if policy.summary is not None]
        return min(upto) if upto else None

    def state(self, name: str) -> ViewState:
        """Return the stored state of a view, or that of a new view."""
        return self.states.get(name) or ViewState(name)

    def batch(self, at: int) -> Batch:
        """Return what the store has to write, with the head of the log after it; `at` is in Unix ms."""
        head = self.log.head
        # What leaves is partly stored (evict) and partly new (never written).
        dropped = {entry.seq for entry in self.gone}
        staying = [entry for entry in self.new if entry.seq not in dropped]
        evict = [entry for entry in self.gone if entry.seq < head.next]
        after = Head(
            head.version + 1,
            head.next + len(self.new),
            head.turns + bool(self.new),
            head.length + len(staying) - len(evict),
            head.tokens + _tokens(staying) - _tokens(evict),
            at,
        )
        # A turn whose own entries leave at once (a bound smaller than the turn) leaves no record either.
        turns = [self.turn] if self.turn is not None and staying else []
        views = self._moved_cuts(staying, evict, after)
        if self.policy.redact and self.new:
            from .redaction import redaction_note

            views += redaction_note(self.policy, self.states, head.next, at)
        return Batch(after, entries=staying, turns=turns, evict=evict, views=views)

    def _moved_cuts(self, new: list[Entry], evict: list[Entry], after: Head) -> list[ViewState]:
        """Return the states of views whose cut moves with this commit. A view stands in `views` behind the one it is of, so
        that an outer one sees the moved cut of its inner one."""
        moved: dict[str, ViewState] = {}
        for name, policy in self.views.items():
            if policy.window_low is None:
                continue
            state, log = self.state(name), Changed(self.log, new, evict)
            source = source_of(policy, state, log, {**self.states, **moved}, budgets=False)
            moved_state = advanced(policy, source, state, after.next)
            if moved_state is not state:
                moved[name] = moved_state
        return list(moved.values())


def _tokens(entries: Iterable[Entry]) -> int:
    return sum(entry.tokens for entry in entries)
