"""A view as what another view is of: the units it shows are the log of the outer one (M-9.15, M-9.16).

Hands on `source_of`, the log as a policy takes it. Units come newest first and lazily, through every view of the chain. Must not
know: stores, summarisers, who asks.
"""

from __future__ import annotations

from heapq import merge
from itertools import islice

from .entries import ViewState, units_back
from .view_pins import pinned_in
from .views import Gate, fit, judged, least, texts_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from .entries import Entry, Unit
    from .policy import Policy
    from .source import Source


def source_of(
    policy: Policy,
    state: ViewState,
    log: Source,
    states: Mapping[str, ViewState],
    covered: int | None = None,
    budgets: bool = True,
) -> Source:
    """`states`: those of the views of the log by name. `covered`: how far summaries of views of this one have got. `budgets`:
    whether those of the views it is of count; a commit, which no budget can make fail, does without."""
    if policy.inner is None:
        return log
    name, inner = policy.inner
    at = states.get(name) or ViewState(name)
    covered = least(covered, state.upto if policy.summary is not None else None)
    return _Shown(inner, at, source_of(inner, at, log, states, covered, budgets), covered, budgets)


class _Shown:
    """What a view shows when it is read, as a log. Its pins are those of the log: a view pins for itself alone."""

    __slots__ = ("policy", "state", "source", "covered", "budgets", "length")

    def __init__(self, policy: Policy, state: ViewState, source: Source, covered: int | None, budgets: bool) -> None:
        self.policy = policy
        self.state = state
        self.source = source
        self.covered = covered
        self.budgets = budgets
        self.length = source.length

    def pins(self) -> list[Entry]:
        return self.source.pins()

    def back(self) -> Iterator[Entry]:
        source = pinned_in(self.policy, self.source)
        pins = source.pins()
        passed = self._passed(source, pins)
        if not self.policy.pins_in_view:
            shown = passed
        else:
            in_log = {pin.seq for pin in self.source.pins()}
            own = [pin.with_pinned(False) for pin in pins if pin.seq not in in_log]
            shown = merge(passed, units_back(reversed(own)), key=lambda unit: unit[0].seq, reverse=True)
        for unit in shown:
            yield from reversed(unit)

    def _passed(self, source: Source, pins: list[Entry]) -> Iterator[Unit]:
        policy, room = self.policy, None
        if policy.tokens is not None and self.budgets:
            room = policy.tokens - fit(pins, texts_of(policy, self.state, None), 0, policy.tokens, None)
        gate = Gate(policy, self.state, len(pins), self.covered)
        for unit, reason in judged(policy, source, gate, pins, room, {}):
            if reason:
                return
            yield unit

    def newest(self, limit: int) -> list[Entry]:
        return list(islice(self.back(), limit))[::-1]
