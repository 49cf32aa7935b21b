"""The store of memories without `store`: logs that live as long as the session (M-8.1). Must not know: policies, files."""

from __future__ import annotations

from ..errors import conflict
from ..keys import encode
from .protocol import Head
from .volatile_log import VolatileLog, index_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ..entries import Entry, Turn, ViewState
    from ..fact_index import FactIndex
    from ..facts import Fact
    from ..keys import Key
    from ..observations import Observation
    from .protocol import Write


class VolatileStore:
    """Logs by key. Nothing here waits or fails."""

    name = "volatile"
    blocking = False

    def __init__(self) -> None:
        self.logs: dict[Key, VolatileLog] = {}
        self.spoken: dict[Key, FactIndex] = {}
        """Words of the messages of logs, in this store or another one, that a recall of the session has looked through."""
        self.changed: dict[Key, VolatileLog] | None = None
        """Logs that were changed since all were written down, when they were (M-14.6)."""

    def log(self, key: Key, bound: int | None = None) -> VolatileLog:
        """The log of a key, made when it is first asked for; `bound` opens its fast lane."""
        found = self.logs.get(key)
        if found is None:
            found = self.logs[key] = VolatileLog(key, bound)
            if self.changed is not None:
                found.written(self.changed)
        elif bound is not None and found.bound != bound:
            found.limit(bound)
        return found

    def head(self, key: Key) -> Head:
        log = self.logs.get(key)
        return Head() if log is None else log.head()

    def entries(
        self,
        key: Key,
        *,
        after: int = -1,
        before: int | None = None,
        limit: int | None = None,
        newest: bool = False,
        pinned: bool | None = None,
        run: str | None = None,
    ) -> list[Entry]:
        log = self.logs.get(key)
        if log is None:
            return []
        if run is None:
            return log.range(after, before, limit, newest, pinned)
        found = [entry for entry in log.range(after, before, None, False, pinned) if entry.run == run]
        if limit is None:
            return found
        return found[max(0, len(found) - limit) :] if newest else found[:limit]

    def turns(self, key: Key, since: int = 0) -> list[Turn]:
        log = self.logs.get(key)
        return [] if log is None else [row for number, row in sorted(log.rows.items()) if number >= since]

    def views(self, key: Key) -> dict[str, ViewState]:
        log = self.logs.get(key)
        return {} if log is None else dict(log.states)

    def facts(self, key: Key) -> list[Fact]:
        log = self.logs.get(key)
        return [] if log is None or not log.facts else [fact for _, fact in sorted(log.facts.items())]

    def index(self, key: Key) -> FactIndex:
        """What recall looks through (M-14.4)."""
        log = self.logs.get(key)
        return index_of() if log is None or not log.facts else log.index()

    def ephemeral(self, key: Key) -> list[Fact]:
        log = self.logs.get(key)
        return [] if log is None else [log.facts[number] for number in sorted(log.passing)]

    def seen(self, key: Key) -> list[Observation]:
        log = self.logs.get(key)
        return [] if log is None or not log.seen else [one for _, one in sorted(log.seen.items())]

    def keep(
        self,
        key: Key,
        at: int,
        facts: Sequence[Fact],
        gone: Sequence[int],
        seen: Sequence[Observation] = (),
        unseen: Sequence[tuple[str, int]] = (),
    ) -> None:
        log = self.log(key)
        log.refuse(facts, gone, seen, unseen)
        log.keep(facts, gone, seen, unseen)
        head = log.head()
        log.stored = Head(head.version, head.next, head.turns, head.length, head.tokens, at)

    def commit(self, writes: Sequence[Write], *, scrub: bool = False) -> bool:
        for key, expect, batch in writes:
            log = self.logs.get(key)
            if log is not None and not log.runs.keys().isdisjoint({t.run for t in batch.turns}) and not batch.everything:
                return False
            actual = self.head(key).version
            if actual != expect:
                raise conflict(expect, actual)
            if log is not None and batch.has_facts and not batch.facts_anew:
                log.refuse(batch.facts, batch.gone, batch.seen, batch.unseen)
        for key, _, batch in writes:
            self.log(key).apply(batch)
        return True

    def remove(self, keys: Sequence[Key]) -> None:
        """A log that a memory holds is emptied rather than replaced."""
        for key in keys:
            if key in self.logs:
                self.logs[key].reset()

    def give_up(self, keys: Sequence[Key]) -> None:
        """Logs that nobody can reach any more: unlike `remove` nothing is told of them, nor written down."""
        for key in keys:
            self.logs.pop(key, None)
            if self.changed is not None:
                self.changed.pop(key, None)

    def keys(self, prefix: Key) -> Iterator[Key]:
        under = [(key, log) for key, log in self.logs.items() if key[: len(prefix)] == prefix]
        found = [key for key, log in under if not log.is_blank()]
        return iter(sorted(found, key=encode))

    def expire(self, prefix: Key, before: int, limit: int) -> None:
        old = [key for key in self.keys(prefix) if self.logs[key].head().touched < before]
        self.remove(old[:limit])

    def written(self) -> None:
        """All logs, or those that were changed since the last time, stand somewhere as they are now."""
        if self.changed is None:
            self.changed = dict(self.logs)
        for log in self.changed.values():
            log.written(self.changed)
        self.changed.clear()

    def close(self) -> None:
        """Nothing is held open."""
