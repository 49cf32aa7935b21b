"""Reading one memory of one key: its log, its turns, its views, its facts (M-6.5 to M-6.15, M-10).

Everything is read in one state of the log: where the store blocks, and so may be shared, it is read again when someone commits
meanwhile. Must not know: what changes a log.
"""

from __future__ import annotations

from time import time

from ...vm.values.metering import FEW, paced, works_on
from .branching import stored_facts, stored_seen
from .entries import Turn, ViewState
from .errors import MemoryFailure
from .facts import EPHEMERAL
from .keys import memory_key
from .policy import Policy
from .source import StoredLog
from .stores.protocol import Head
from .stores.volatile import VolatileStore
from .stores.volatile_log import index_of
from .views import view_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import TypeVar

    from ..records import Msg
    from .embedding import Embedding
    from .entries import Entry
    from .fact_index import FactIndex
    from .facts import Fact
    from .keys import Key
    from .met_versions import MetVersions
    from .observations import Observation
    from .source import Source
    from .stores.protocol import Store
    from .stores.volatile_log import VolatileLog
    from .views import Recalled, View

    T = TypeVar("T")

OWN_VIEW = ""


class MemoryReader:
    """`_log` is the volatile log itself when the memory has no steps, else None.
    `session`: the store of the facts that end with the session; `embedding`: of the step `embed`; `met`: where versions that
    were seen in the store are kept."""

    __slots__ = ("name", "policy", "store", "key", "clock", "session", "embedding", "met", "_log")

    def __init__(
        self,
        policy: Policy | None = None,
        *,
        name: str = "",
        store: Store | None = None,
        key: Key | None = None,
        clock: Callable[[], float] = time,
        session: VolatileStore | None = None,
        embedding: Embedding | None = None,
        met: MetVersions | None = None,
    ) -> None:
        self.name = name
        self.policy = policy or Policy()
        self.store: Store = store if store is not None else VolatileStore()
        self.key = key if key is not None else memory_key("", name)
        self.clock = clock
        self.session: VolatileStore = session or (self.store if isinstance(self.store, VolatileStore) else VolatileStore())
        self.embedding = embedding
        self.met = met
        self._log: VolatileLog | None = None

    def now(self) -> int:
        """Unix milliseconds."""
        return int(self.clock() * 1000)

    @property
    def shared(self) -> bool:
        """Whether others write the store meanwhile: sessions and processes, which a store that waits for nothing may have too."""
        return not isinstance(self.store, VolatileStore)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MemoryReader) and self.store is other.store and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def head(self) -> Head:
        """The row of the key; an expired key is like one never written (M-8.9)."""
        head = self.store.head(self.key)
        if self.met is not None:
            self.met.meet(self.key, head.version)
        ttl = self.policy.ttl
        return Head() if ttl is not None and head.touched < self.now() - ttl else head

    def _stored(self) -> StoredLog:
        return StoredLog(self.store, self.key, self.head())

    def _read(self, work: Callable[[StoredLog], T]) -> T:
        """What `work` finds in one state of the log: read again when someone commits meanwhile."""
        while True:
            log = self._stored()
            try:
                if self.shared and not log.length and log.head.version:
                    log.check(len(self.store.entries(self.key, limit=1)))
                found = work(log)
            except MemoryFailure as failure:
                if failure.variant != "Corrupt" or self.head().version == log.head.version:
                    raise
                continue  # what did not fit was of two states
            if not self.shared or self.head().version == log.head.version:
                return found

    def _back(self, log: StoredLog) -> Iterator[Entry]:
        """All entries, newest first."""
        before, size, count = log.head.next, 64, 0
        while True:
            piece = self.store.entries(self.key, before=before, limit=size, newest=True) if log.length else []
            yield from reversed(piece)
            count += len(piece)
            if len(piece) < size:
                return log.check(count)
            before, size = piece[0].seq, min(2 * size, 4096)

    def __len__(self) -> int:
        return self.head().length

    def is_empty(self) -> bool:
        return len(self) == 0

    def version(self) -> int:
        return self.head().version

    def tokens(self) -> int:
        return self.head().tokens

    def messages(self) -> list[Msg]:
        """The whole log, oldest first (M-6.5)."""
        if self._log is not None:
            return list(self._log.messages())
        return [entry.message for entry in self.entries()]

    def last(self, n: int) -> list[Msg]:
        """The newest n, oldest first; costs what it returns (M-6.6, M-14.2)."""
        if n <= 0:
            return []

        return [entry.message for entry in self.newest(n)]

    def newest(self, limit: int) -> list[Entry]:
        """Oldest first."""

        def read(log: StoredLog) -> list[Entry]:
            return self.store.entries(self.key, before=log.head.next, limit=limit, newest=True) if log.length else []

        return self._read(read)

    def entries(self, after: int = -1, limit: int | None = None) -> list[Entry]:
        """M-6.9."""
        if limit is not None and limit <= 0:
            return []

        def ascending(log: StoredLog) -> list[Entry]:
            if not log.length:
                return []
            if after < 0 and limit is None and self.shared:
                return list(log.forward())
            return self.store.entries(self.key, after=max(after, -1), before=log.head.next, limit=limit)

        return self._read(ascending)

    def whole_log(self, tools_offered: bool) -> list[Msg] | None:
        """Parts 2 to 5 of a request without computing a view, None when the memory has a step or something to be rendered. The
        list belongs to the log."""
        log = self._log
        if log is None or not self.policy.shows_all or (not tools_offered and log.holds_calls()):
            return None
        return log.messages()

    def pins(self, policy: Policy, name: str = OWN_VIEW) -> list[Entry]:
        """All entries that are pinned in a view, in log order."""
        from .view_pins import pinned_in

        def found(log: StoredLog) -> list[Entry]:
            if policy.inner is None:
                return pinned_in(policy, log).pins()
            source, _ = self._source(policy, name, log)
            return pinned_in(policy, source).pins()

        return [] if policy.only_summary else self._read(found)

    def _source(self, policy: Policy, name: str, log: StoredLog) -> tuple[Source, ViewState]:
        """The log as the view takes it, and the state of the view."""
        states = self.store.views(self.key) if (policy.has_state or self.policy.redact) and log.length else {}
        source: Source = log
        if self.policy.redact:
            source, states = self._as_redacted_now(log, states, (name, *policy.inner_names))
        state = states.get(name) or ViewState(name)
        if policy.inner is None:
            return source, state
        from .inner_views import source_of

        return source_of(policy, state, source, states), state

    def turns(self, last: int | None = None) -> list[tuple[Turn, list[Entry]]]:
        """Oldest first, each with its entries; a direct write is a turn without record (M-6.10)."""
        return self._read(lambda log: self._turns(log, last))

    def _turns(self, log: StoredLog, last: int | None) -> list[tuple[Turn, list[Entry]]]:
        found: dict[int, list[Entry]] = {}
        for entry in paced(self._back(log), FEW):
            if entry.turn not in found:
                if last is not None and len(found) >= last:
                    break
                found[entry.turn] = []
            found[entry.turn].append(entry)
        numbers = sorted(found)
        rows = {row.turn: row for row in self.store.turns(self.key, numbers[0])} if numbers else {}
        return [
            (rows.get(number) or Turn(number, by=found[number][-1].by, at=found[number][-1].at), found[number][::-1])
            for number in numbers
        ]

    def appended(self, run: str | None = None) -> list[Msg]:
        """The messages tagged with a run, by default the newest committed one (M-6.11)."""

        def tagged(log: StoredLog) -> list[Msg]:
            wanted = run
            if wanted is None:
                wanted = next((entry.run for entry in paced(self._back(log)) if entry.run is not None), None)
            if wanted is None or not log.length:
                return []
            works_on(log.length)
            return [entry.message for entry in self.store.entries(self.key, run=wanted)]

        return self._read(tagged)

    def view(
        self,
        *,
        system: str | None = None,
        prompt_tokens: int = 0,
        recalled: Recalled | None = None,
        policy: Policy | None = None,
        name: str = OWN_VIEW,
        budget: int | None = None,
    ) -> tuple[View, Head]:
        """What a request would take, and the snapshot it was taken from (M-6.12). `policy` and `name` are those of a derived
        view."""
        chosen = policy or self.policy

        def shown(log: StoredLog) -> tuple[View, Head]:
            source, state = self._source(chosen, name, log)
            if any(each.prune is not None for each in chosen.chain):
                works_on(log.length)
            made = view_of(
                chosen, source, state, system=system, prompt_tokens=prompt_tokens, recalled=recalled, budget=budget
            )
            return made, log.head

        return self._read(shown)

    def _as_redacted_now(
        self, log: StoredLog, states: Mapping[str, ViewState], names: Sequence[str]
    ) -> tuple[Source, dict[str, ViewState]]:
        """What was stored under another redaction goes through this one before it goes to a model (M-8.27). `names`: of the
        views that are looked at."""
        from .older_text import Shown

        shown = Shown(self.policy, self.key, states)
        return shown.log(log), {name: shown.state(states[name]) for name in names if name in states}

    def summary(self, name: str = OWN_VIEW) -> str | None:
        """M-6.13."""
        state = self.store.views(self.key).get(name) if self.head().version else None
        return state.text if state is not None and state.text else None

    def stats(self) -> dict[str, int | float | None]:
        """Counts, then all limits (M-6.15)."""
        head = self.head()
        works_on(head.length)
        turns = len({entry.turn for entry in paced(self.entries())}) if head.length else 0
        return {
            "messages": head.length, "tokens": head.tokens, "turns": turns, "version": head.version,
            "facts": len(self.kept_facts()), **self.policy.limits(),
        }  # fmt: skip

    # ------------------------------------------------------------ facts

    @property
    def keeps(self) -> bool:
        """Whether it has a store: facts may be persistent."""
        return self.store is not self.session

    def session_facts(self) -> list[Fact]:
        return self.session.facts(self.key)

    def stored_facts(self) -> list[Fact]:
        """The persistent ones; of an expired key none (M-8.9)."""
        if not self.keeps or self._is_expired():
            return []
        if hasattr(self.store, "index"):
            return sorted(self.store.index(self.key).facts.values(), key=lambda fact: fact.id)
        return stored_facts(self.store, self.key)

    def stored_index(self) -> FactIndex:
        """Of the persistent ones; a store may keep one that follows its changes."""
        if not self.keeps or self._is_expired() or not hasattr(self.store, "facts"):
            return index_of()
        if hasattr(self.store, "index"):
            index: FactIndex = self.store.index(self.key)
            return index
        return index_of(self.stored_facts())

    def expired_facts(self) -> list[int]:
        return [fact.id for fact in stored_facts(self.store, self.key)] if self.keeps and self._is_expired() else []

    def seen(self) -> list[Observation]:
        """Observations by topic and number; of an expired key none (M-8.9)."""
        return [] if self._is_expired() else stored_seen(self.store, self.key)

    def expired_seen(self) -> list[tuple[str, int]]:
        return [one.place for one in stored_seen(self.store, self.key)] if self._is_expired() else []

    def _is_expired(self) -> bool:
        return self.policy.ttl is not None and self.store.head(self.key).touched < self.now() - self.policy.ttl

    def origins(self, seqs: Sequence[int]) -> list[str]:
        """Of these entries; one that is not in the log has none that is known."""
        held = {entry.seq: entry.origin for entry in paced(self.store.entries(self.key))} if seqs else {}
        return ["program" if held.get(seq) == "host" else held.get(seq, "tool") for seq in seqs]

    def kept_facts(self) -> list[Fact]:
        """Those of session and store, as a dump has them (M-8.10)."""
        found = [*(fact for fact in self.session_facts() if fact.tier != EPHEMERAL), *self.stored_facts()]
        return sorted(found, key=lambda fact: (fact.id, fact.tier))
