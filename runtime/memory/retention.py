"""Which messages leave a log (M-4.2, M-9.5): `leaving` decides it for every log and every store.

A log whose one bound is its number of messages is a queue; `Retention.fifo` says so. A volatile log then takes the fast forms
of the same rule: the length of a deque for the notes that it keeps in place of entries, and `end_of_front` for a list of entries.
"""

from __future__ import annotations

from ...vm.memory_steps import LOWS, rows
from .entries import units

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from .entries import Entry, Unit
    from .stores.protocol import Head

    Rule = Callable[["Index", int], bool]
    Bounds = list[tuple[Rule, int]]

RETAINING = [row.image for row in rows() if row.retains]
(FIFO,) = [row.image for row in rows() if row.fifo]


class Index:
    """A log at a commit: `messages`, `tokens` and `turns` count what it holds with the entries that come, `new`.

    `unpinned` gives its entries that are not pinned, oldest first and read only as far as they leave. `covered` is the number up
    to which every summary covers the log, None without summaries.
    """

    __slots__ = ("messages", "tokens", "turns", "_newest", "_covered", "_units", "_next", "_following")

    def __init__(self, head: Head, unpinned: Iterable[Entry], new: Sequence[Entry] = (), covered: int | None = None) -> None:
        self.messages = head.length + len(new)
        self.tokens = head.tokens + sum(entry.tokens for entry in new)
        self.turns = head.turns + bool(new)
        self._newest = _newest_unit(new)
        self._covered = covered
        self._units = units(unpinned)
        # One unit of look-ahead: without new entries the newest unit is the one that nothing follows.
        self._next: Unit | None = None
        self._following: Unit | None = None

    def oldest(self) -> Unit | None:
        """The unit that leaves next: never the newest one, nor one that a summary still has to cover. None for none."""
        if self._next is None:
            self._next = self._following or next(self._units, None)
            self._following = next(self._units, None)
        unit = self._next
        if unit is None:
            return None
        newest = unit[-1].seq >= self._newest if self._newest is not None else self._following is None
        return None if newest or (self._covered is not None and unit[-1].seq > self._covered) else unit

    def leave(self, unit: Unit) -> None:
        """Count out a unit that `oldest` returned."""
        self.messages -= len(unit)
        self.tokens -= sum(entry.tokens for entry in unit)
        self._next = None


RULES: dict[str, Rule] = {}


def rule(name: str) -> Callable[[Rule], Rule]:
    """Enter the rule of one row: whether a log exceeds the bound. It may look at `log.oldest()`."""

    def enter(function: Rule) -> Rule:
        RULES[name] = function
        return function

    return enter


@rule("retain")
def messages(log: Index, most: int) -> bool:
    """The rule of `retain`: more messages than the bound."""
    return log.messages > most


@rule("retain_tokens")
def tokens(log: Index, most: int) -> bool:
    """The rule of `retain(tokens:)`: more tokens than the bound."""
    return log.tokens > most


class Retention:
    """The bounds of a log. When one of `bounds` is exceeded, units leave until none of `targets` is, which have the low bounds in
    place of their bounds.

    `fifo`: the largest number of messages, of a log that has no other bound; None for any other log.
    Raises NotImplementedError for a bound that has no rule.
    """

    __slots__ = ("bounds", "targets", "fifo")

    def __init__(self, fields: Mapping[str, int | None]) -> None:
        limits = {name: value for name, value in fields.items() if value is not None}
        lows = {LOWS[name]: value for name, value in limits.items() if name in LOWS}
        most = {name: value for name, value in limits.items() if name not in LOWS}
        self.bounds: Bounds = [(_rule_of(name), value) for name, value in most.items()]
        self.targets: Bounds = [(_rule_of(name), lows.get(name, value)) for name, value in most.items()]
        self.fifo = limits[FIFO] if [*limits] == [FIFO] else None


def _rule_of(name: str) -> Rule:
    if name not in RULES:
        raise NotImplementedError(f"runtime/memory/retention.py has no rule for `{name}`")
    return RULES[name]


def leaving(retention: Retention, log: Index) -> Iterator[Entry]:
    """Entries that leave, oldest first, by whole units."""
    # Two sets of bounds give hysteresis: with `low` many units leave at once, and then none for many turns (prompt
    # caches).
    if not _exceeds(log, retention.bounds):
        return
    while _exceeds(log, retention.targets):
        unit = log.oldest()
        if unit is None:
            return
        log.leave(unit)
        yield from unit


def end_of_front(entries: Sequence[Entry], start: int, over: int) -> int:
    """Where those end that leave a queue: of `entries` from `start` on, of which `over` are too many, what `leaving` gives."""
    newest = len(entries) - 1
    while newest > start and entries[newest].message.role == "tool":
        newest -= 1
    end = min(start + over, newest)
    while start < end < newest and entries[end].message.role == "tool":
        end += 1
    return max(start, end)


def _exceeds(log: Index, bounds: Bounds) -> bool:
    return any(exceeded(log, most) for exceeded, most in bounds)


def _newest_unit(new: Sequence[Entry]) -> int | None:
    """The number at which the unit begins that a commit brings last; None without new entries."""
    at = len(new) - 1
    while at > 0 and new[at].message.role == "tool":
        at -= 1
    return new[at].seq if new else None
