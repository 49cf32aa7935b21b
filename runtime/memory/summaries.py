"""Rolling summaries (M-9.1 to M-9.10): when a fold is due, what it covers, and what storing it does.

To *fold* entries of a log is to write them into the summary of a view: the summariser gets the summary so far and the entries,
and returns the new summary. Entries are folded, shown and evicted by *units*: a message with the tool results behind it. The
entries up to the number that the state of the view has as `upto` are *covered*: the summary stands for them, so that the view
need not show them and, under a policy that folds on eviction, the log may drop them.

Hands on `refresh`, which a conversation (`conversation.py`) calls after a commit, and to it and `effects/summarisers.py`
`Summarise`, the type of a summariser; only tests use the parts of `refresh`, `due_fold` and `store_fold` by themselves. A fold
runs between a commit and the return of its call, never while reading. The summariser is an argument and may wait
(`effects/summarisers.py` makes it); when it fails nothing changes, and it is tried again after the next commit.
"""

from __future__ import annotations

from ...vm.record import record
from .entries import Entry, ViewState, count_text, longest_prefix, units
from .failures import MemoryFailure
from .log import StoredLog
from .retention import Index, leaving
from .stages import of_roles
from .stores.operations import IN_PLACE
from .stores.protocol import Batch, Head
from .views import pins_unit, source_of, view_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from .entries import Unit
    from .memory import Memory
    from .policy import Policy
    from .stores.operations import Operations

    Summarise = Callable[[str, list[Entry]], Awaitable[str]]
    """Returns the new summary, of the previous one and the entries to fold into it (M-9.1)."""


@record
class Fold:
    """A fold of the view `view` that is due: `previous` and `entries` go to the summariser; when its answer is stored, entries
    up to the number `upto`, that one included, are covered. `state` and `head` are those of the view and of the log when
    the fold became due: `store_fold` stores nothing in a log that has changed since."""

    view: str
    state: ViewState
    head: Head
    entries: list[Entry]
    upto: int

    @property
    def previous(self) -> str:
        """The summary so far, empty for none; `entries` and it are as the redaction of now shows them."""
        return self.state.text


def due_fold(memory: Memory, view: str = "") -> Fold | None:
    """Return the fold that is due now for the view of this name, "" for the memory itself; None for none (M-9.3, M-9.4). Raises
    MemoryFailure when the log cannot be read or a redactor fails, what functions of steps raise, and MustWait."""
    policy = memory.views[view]
    if policy.summary is None:
        return None
    head = memory.head()
    log = StoredLog(memory.store, memory.key, head)
    state = (memory.store.views(memory.key).get(view) if head.length else None) or ViewState(view)
    uncovered = list(units(log.forward(after=state.upto)))
    if not uncovered:
        return None
    # A view of the log itself needs no other states.
    states = memory.store.views(memory.key) if policy.inner is not None else {}
    shown, outside = _outside(policy, memory.policy, log, state, states, uncovered)
    if policy.summary.on_evict:
        folded = outside
    else:
        folded = uncovered if outside or _is_time(policy, state, head, uncovered[0][0].at, memory.now()) else []
    if not folded:
        return None
    entries = [entry for unit in folded for entry in _of_roles(policy, unit)]
    if not policy.summary.whole:
        return _fold(memory, view, state, head, entries, folded[-1][-1].seq)
    by_seq = {unit[0].seq: unit for unit in units(shown)}
    for unit in uncovered:
        by_seq.setdefault(unit[0].seq, _of_roles(policy, unit))
    buffer = [entry for seq in sorted(by_seq) for entry in by_seq[seq]]
    return _fold(memory, view, state, head, buffer, uncovered[-1][-1].seq)


def _fold(memory: Memory, view: str, state: ViewState, head: Head, entries: list[Entry], upto: int) -> Fold:
    """Return the fold with texts as the redaction of now shows them (M-8.27): the summariser may be a model."""
    if memory.policy.redact:
        from .redaction import Shown

        now = Shown(memory.policy, memory.key, memory.store.views(memory.key))
        entries, state = [now.entry(entry) for entry in entries], now.state(state)
    return Fold(view, state, head, entries, upto)


def _of_roles(policy: Policy, unit: Unit) -> Unit:
    """Return what the view, and those it is of, leave of a unit (M-9.4). What one of these pins it shows in any case
    (M-9.16)."""
    for each in policy.chain:
        if each.roles is not None and unit and (each is policy or not pins_unit(each, unit)):
            unit = of_roles(each.roles, unit)
    return unit


def _is_time(policy: Policy, state: ViewState, head: Head, oldest: int, now: int) -> bool:
    summary = policy.summary
    assert summary is not None
    if summary.every_turns is not None:
        return head.turns - state.folded >= summary.every_turns
    return summary.every_ms is not None and now - (state.folded_at or oldest) >= summary.every_ms


def _outside(
    policy: Policy, log_policy: Policy, log: StoredLog, state: ViewState, states: Mapping[str, ViewState], uncovered: list[Unit]
) -> tuple[list[Entry], list[Unit]]:
    """Return the entries that the windows of the view, and of the views it is of, let it show, and of the `uncovered` units those
    that a window leaves out or that are about to leave the log. `log_policy` is the policy of the log itself, whose retention
    decides that."""
    # Which units the windows leave out must not depend on what is covered, or a fold would change its own input.
    bare = _bare(policy)
    shown, first = [], 0
    for each, at in [*_levels(bare.inner, states), (bare, state)]:
        shown = view_of(each, source_of(each, at, log, states), at).entries
        first = max(first, next((entry.seq for entry in shown if not entry.pinned), log.head.next))
    inside = {entry.seq for entry in shown}
    going = leaving(log_policy.retention, Index(log.head, log.forward(pinned=False)))
    last = max((entry.seq for entry in going), default=-1)
    outside = [unit for unit in uncovered if (unit[0].seq < first and unit[0].seq not in inside) or unit[0].seq <= last]
    return shown, outside


def _bare(policy: Policy) -> Policy:
    """Return the policy with only the steps that decide which units are shown, whatever is covered; likewise for the
    views it is of."""
    inner = None if policy.inner is None else (policy.inner[0], _bare(policy.inner[1]))
    return policy.replaced(summary=None, tokens=None, shape=None, clip=None, only_summary=False, inner=inner)


def _levels(inner: tuple[str, Policy] | None, states: Mapping[str, ViewState]) -> list[tuple[Policy, ViewState]]:
    """Return the views that another one is of with their states, the innermost first."""
    if inner is None:
        return []
    name, policy = inner
    return [*_levels(policy.inner, states), (policy, states.get(name) or ViewState(name))]


def store_fold(memory: Memory, fold: Fold, text: str) -> bool:
    """Store the new summary `text` and what it covers in one transaction, in which the units that waited for it leave the log
    (M-9.5). A text of more tokens than the policy allows is cut. Return False, with nothing stored, when the log was changed
    meanwhile: the fold is due again. Raises MemoryFailure when the store fails, and MustWait."""
    summary = memory.views[fold.view].summary
    assert summary is not None
    if summary.max_tokens is not None and count_text(text) > summary.max_tokens:
        text = longest_prefix(text, summary.max_tokens)
    state = ViewState(fold.view, fold.state.cut, text, fold.upto, fold.head.turns, memory.now())
    log = StoredLog(memory.store, memory.key, fold.head)
    evicted = _released(memory, log, state)
    head = fold.head
    after = Head(
        head.version + bool(evicted), head.next, head.turns, head.length - len(evicted),
        head.tokens - sum(entry.tokens for entry in evicted), head.touched,
    )  # fmt: skip
    try:
        memory.store.commit([(memory.key, head.version, Batch(after, evict=evicted, views=[state]))])
    except MemoryFailure as failure:
        if failure.variant != "Conflict":
            raise
        return False
    if fold.entries:
        memory.tell("memory:summary", {"upto": fold.upto, "tokens": count_text(text)})
    if evicted:
        memory.tell("memory:evict", {"seqs": [entry.seq for entry in evicted], "reason": "retain"})
    return True


def _released(memory: Memory, log: StoredLog, folded: ViewState) -> list[Entry]:
    """Return the entries that leave the log when the state `folded` is stored: what the retention drops, as far as every view
    with a summary has covered it."""
    states = {**memory.store.views(memory.key), folded.name: folded}
    upto = [(states.get(name) or ViewState(name)).upto for name, policy in memory.views.items() if policy.summary is not None]
    return list(leaving(memory.policy.retention, Index(log.head, log.forward(pinned=False), covered=min(upto))))


async def refresh(memory: Memory, view: str, summarise: Summarise, operations: Operations = IN_PLACE) -> str | None:
    """Fold a view if that is due. Return the reason when it failed (M-9.6), which the event `memory:summary_failed` tells too;
    else None, also when the log has changed meanwhile and nothing was stored. No Exception passes, only what cancels the task."""
    try:
        fold = await operations.use(lambda: due_fold(memory, view))
        if fold is None:
            return None
        text = await summarise(fold.previous, fold.entries) if fold.entries else fold.previous  # `roles` left nothing
        if not text and fold.entries:
            raise ValueError("the summariser gave no text")
        await operations.use(lambda: store_fold(memory, fold, text))
        return None
    except Exception as error:
        reason = str(error) or type(error).__name__
        memory.tell("memory:summary_failed", {"reason": reason})
        return reason
