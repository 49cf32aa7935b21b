"""Rolling summaries (M-9.1 to M-9.10): when a fold is due, what it covers, and what storing it does.

A fold runs between a commit and the return of its call, never while reading. The summariser is handed in and may wait; a failure
changes nothing and is tried again after the next commit. Must not know: models, who reports failures.
"""

from __future__ import annotations

from .changes import leaving
from .entries import Entry, ViewState, units
from .errors import MemoryFailure
from .source import StoredLog
from .stages import of_roles
from .stores.operations import IN_PLACE
from .stores.protocol import Batch, Head
from .tokens import count_text, longest_prefix
from .views import view_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from .memory import Memory
    from .policy import Policy
    from .stores.operations import Operations

    Summarise = Callable[[str, list[Entry]], Awaitable[str]]
    """Previous text and new entries to the new text (M-9.1)."""


class Fold:
    """One due fold of a view: `previous` and `entries` go to the summariser; `upto` is covered when it has answered."""

    __slots__ = ("view", "state", "head", "entries", "upto")

    def __init__(self, view: str, state: ViewState, head: Head, entries: list[Entry], upto: int) -> None:
        self.view = view
        self.state = state
        self.head = head
        self.entries = entries
        self.upto = upto

    @property
    def previous(self) -> str:
        return self.state.text


def due_fold(memory: Memory, view: str = "") -> Fold | None:
    """The fold that is due now for a view, None for none (M-9.3, M-9.4)."""
    policy = memory.views[view]
    if policy.summary is None:
        return None
    head = memory.head()
    log = StoredLog(memory.store, memory.key, head)
    state = (memory.store.views(memory.key).get(view) if head.length else None) or ViewState(view)
    uncovered = list(units(log.forward(after=state.upto)))
    if not uncovered:
        return None
    outside = _outside(policy, memory.policy, log, state, uncovered)
    if policy.summary.on_evict:
        folded = outside
    else:
        folded = uncovered if outside or _is_time(policy, state, head, uncovered[0][0].at, memory.now()) else []
    if not folded:
        return None
    shown = folded if policy.roles is None else [of_roles(policy.roles, unit) for unit in folded]
    entries = [entry for unit in shown for entry in unit]
    if memory.policy.redact:
        from .older_text import Shown

        now = Shown(memory.policy, memory.key, memory.store.views(memory.key))
        entries, state = [now.entry(entry) for entry in entries], now.state(state)
    return Fold(view, state, head, entries, folded[-1][-1].seq)


def _is_time(policy: Policy, state: ViewState, head: Head, oldest: int, now: int) -> bool:
    summary = policy.summary
    assert summary is not None
    if summary.every_turns is not None:
        return head.turns - state.folded >= summary.every_turns
    return summary.every_ms is not None and now - (state.folded_at or oldest) >= summary.every_ms


def _outside(policy: Policy, own: Policy, log: StoredLog, state: ViewState, uncovered: list[list[Entry]]) -> list[list[Entry]]:
    """Uncovered unpinned units outside the window, or that must leave the log: a prefix of the uncovered ones."""
    bare = policy.replaced(summary=None, tokens=None, shape=None, clip=None)
    view = view_of(bare, log, state)
    first = next((entry.seq for entry in view.entries if not entry.pinned), log.head.next)
    pinned = {entry.seq for entry in view.entries if entry.pinned}
    going = leaving(own, log.length, log.head.tokens, log.forward(pinned=False), [], None)
    last = max((entry.seq for entry in going), default=-1)
    return [unit for unit in uncovered if (unit[0].seq < first and unit[0].seq not in pinned) or unit[0].seq <= last]


def store_fold(memory: Memory, fold: Fold, text: str) -> bool:
    """Text and coverage in one transaction, and with them the units that waited for it leave the log (M-9.5). False when the log
    was changed meanwhile: the fold is due again."""
    summary = memory.views[fold.view].summary
    assert summary is not None
    if summary.max_tokens is not None and count_text(text) > summary.max_tokens:
        text = longest_prefix(text, summary.max_tokens)
    state = ViewState(fold.view, fold.state.cut, text, fold.upto, fold.head.turns, memory.now())
    log = StoredLog(memory.store, memory.key, fold.head)
    gone = _released(memory, log, state)
    head = fold.head
    after = Head(
        head.version + bool(gone), head.next, head.turns, head.length - len(gone),
        head.tokens - sum(entry.tokens for entry in gone), head.touched,
    )  # fmt: skip
    try:
        memory.store.commit([(memory.key, head.version, Batch(after, evict=gone, views=[state]))])
    except MemoryFailure as failure:
        if failure.variant != "Conflict":
            raise
        return False
    memory.tell("memory:summary", {"upto": fold.upto, "tokens": count_text(text)})
    if gone:
        memory.tell("memory:evict", {"seqs": [entry.seq for entry in gone], "reason": "retain"})
    return True


def _released(memory: Memory, log: StoredLog, folded: ViewState) -> list[Entry]:
    states = {**memory.store.views(memory.key), folded.name: folded}
    upto = [(states.get(name) or ViewState(name)).upto for name, policy in memory.views.items() if policy.summary is not None]
    return list(leaving(memory.policy, log.length, log.head.tokens, log.forward(pinned=False), [], min(upto)))


async def refresh(memory: Memory, view: str, summarise: Summarise, operations: Operations = IN_PLACE) -> str | None:
    """Fold if due. The reason when it failed, else None (M-9.6)."""
    try:
        fold = await operations.use(lambda: due_fold(memory, view))
        if fold is None:
            return None
        text = await summarise(fold.previous, fold.entries)
        if not text:
            raise ValueError("the summariser gave no text")
        await operations.use(lambda: store_fold(memory, fold, text))
        return None
    except Exception as error:
        reason = str(error) or type(error).__name__
        memory.tell("memory:summary_failed", {"reason": reason})
        return reason
