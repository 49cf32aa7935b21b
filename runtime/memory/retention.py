"""Which messages leave a log (M-4.2, M-9.5): `leaving` decides it for every log and every store.

What leaves together is a *unit*: a message with the tool results behind it. A *pinned* entry does not leave so.

A log whose one bound is its number of messages is a queue; `Retention.fifo` says so. A volatile log then takes the fast forms
of the same rule: the length of a deque for the notes that it keeps in place of entries, and `end_of_front` for a list of entries.

Hands on `Retention` and `RETAINING` to `policy.py`, `Index` and `leaving` to `changes.py` and `summaries.py`, which compute
what a commit or a new summary removes, and `end_of_front` to `stores/volatile.py`. Nothing is removed here. A new bound
gets its row in `vm/memory_steps.py` and its rule here.
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

# The names that bounds of a log have in an image, low bounds too; and that of the bound which alone makes the log a queue.
RETAINING = [row.image for row in rows() if row.retains]
(FIFO,) = [row.image for row in rows() if row.fifo]


class Index:
    """A log at a commit, whose row before it is `head`. `messages` and `tokens` count what it holds together with `new`, the
    entries that come; `leave` counts them down. `turns` is the number that the turn after `new` gets.

    `unpinned` gives the entries that are not pinned, those of `new` too, oldest first; it is read lazily, a little further than
    what leaves, and what it raises passes through. `covered` is the entry number up to which every summary covers the log, None
    where nothing has to be covered.
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
        """Return the unit that leaves next, None for none: the newest unit stays, and so does one that a summary still has to
        cover, with all that are newer. The same unit is returned until `leave` takes it out."""
        if self._next is None:
            self._next = self._following or next(self._units, None)
            self._following = next(self._units, None)
        unit = self._next
        if unit is None:
            return None
        newest = unit[-1].seq >= self._newest if self._newest is not None else self._following is None
        return None if newest or (self._covered is not None and unit[-1].seq > self._covered) else unit

    def leave(self, unit: Unit) -> None:
        """Count out the unit that `oldest` returned last."""
        self.messages -= len(unit)
        self.tokens -= sum(entry.tokens for entry in unit)
        self._next = None


RULES: dict[str, Rule] = {}


def rule(name: str) -> Callable[[Rule], Rule]:
    """Return a decorator that enters a function in RULES as the rule of the row with this name in an image. The function is
    given the log and the bound, and returns whether the log exceeds it. It may look at `log.oldest()`."""

    def enter(function: Rule) -> Rule:
        RULES[name] = function
        return function

    return enter


@rule("retain")
def messages(log: Index, most: int) -> bool:
    """Return whether there are more messages than the bound: the rule of `retain`."""
    return log.messages > most


@rule("retain_tokens")
def tokens(log: Index, most: int) -> bool:
    """Return whether there are more tokens than the bound: the rule of `retain(tokens:)`."""
    return log.tokens > most


class Retention:
    """The bounds of a log, made from the values of `RETAINING` by name (None: no such bound). When one of `bounds` is exceeded,
    units leave until none of `targets` is, which have the low bounds in place of their bounds.

    `fifo`: the largest number of messages, of a log that has no other bound, not even a low one; None for any other log.
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
    """Yield the entries that leave, oldest first, by whole units; none when no bound is exceeded. The counts of `log` go down
    meanwhile. More than the bounds may stay: pinned entries, the newest unit, and what a summary still has to cover."""
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
    """Return the index of the first entry that stays in a queue: what is before it is what `leaving` would give. `entries` are
    its unpinned entries in log order, those before the index `start` have left already, and `over` messages are too many."""
    newest = len(entries) - 1
    while newest > start and entries[newest].message.role == "tool":
        newest -= 1
    end = start + over
    if end > newest:
        return max(start, newest)
    while start < end < newest and entries[end].message.role == "tool":
        end += 1
    return end


def _exceeds(log: Index, bounds: Bounds) -> bool:
    return any(exceeded(log, most) for exceeded, most in bounds)


def _newest_unit(new: Sequence[Entry]) -> int | None:
    """Return the number at which the unit begins that a commit brings last; None without new entries."""
    at = len(new) - 1
    while at > 0 and new[at].message.role == "tool":
        at -= 1
    return new[at].seq if new else None
