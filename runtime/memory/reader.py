"""What is read of one memory at one key, over any store (M-6.5 to M-6.15, M-10): its log, turns, views, facts and observations.

Hands on `MemoryReader` to `memory.py`, whose `Memory` writes too, and to `recall.py`; and OWN_VIEW, the name of the memory's own
view, to the former. What a view shows is computed by `views.py`, and nothing is written here.

All methods are plain functions. Any that reads the store raises `MemoryFailure` for a store that fails and for a damaged log, and
`MustWait` (`stores/operations.py`) where the store has to be waited for and this is not the thread that may. Panics of the
functions in the memory's steps, and of a run whose limits long work exceeds, pass through.
"""

from __future__ import annotations

from time import time

from ...vm.values.metering import FEW, paced, works_on
from .entries import Turn, ViewState
from .facts import EPHEMERAL
from .failures import MemoryFailure
from .keys import memory_key
from .log import StoredLog, stored_facts, stored_seen
from .policy import Policy
from .stores.protocol import Head
from .stores.volatile import VolatileStore, index_of
from .views import view_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import TypeVar

    from ..records import Msg
    from .embedding import Embedding
    from .entries import Entry
    from .fact_index import FactIndex
    from .facts import Fact, Observation
    from .keys import Key
    from .log import Source
    from .memories import MetVersions
    from .stores.protocol import Store
    from .stores.volatile import VolatileLog
    from .views import Recalled, View

    T = TypeVar("T")


OWN_VIEW = ""


class MemoryReader:
    """A memory that is only read. `name` and `policy` are those of its declaration, `key` is the address of its log in `store`
    (by default a new volatile one), `clock` gives seconds since 1970, `session` is the store of the facts that end with the
    session, which may be the same, `embedding` that of the step `embed`, None without it, `met` keeps the versions that were seen
    in the store. `_log` is the volatile log itself where messages may only be noted (`Memory`), else None.

    The messages, entries, turns or view that one method returns are of one state of the log: a shared store is read again when
    somebody commits meanwhile. `stats`, `summary`, `origins` and the methods of facts and observations read one thing after
    another.
    """

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
        """Return the time of the memory's clock in Unix milliseconds."""
        return int(self.clock() * 1000)

    @property
    def shared(self) -> bool:
        """Whether other sessions or processes may write the store meanwhile; only a volatile store has this session
        alone."""
        return not isinstance(self.store, VolatileStore)

    # Two objects of one log are equal: a memory may be opened several times, as by `with_key`.
    def __eq__(self, other: object) -> bool:
        return isinstance(other, MemoryReader) and self.store is other.store and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def head(self) -> Head:
        """Return the row of the key: its version and counters. That of an expired key is empty, as if it was never written
        (M-8.9). `met` notes the version."""
        head = self.store.head(self.key)
        if self.met is not None:
            self.met.meet(self.key, head.version)
        ttl = self.policy.ttl
        return Head() if ttl is not None and head.touched < self.now() - ttl else head

    def _stored(self) -> StoredLog:
        return StoredLog(self.store, self.key, self.head())

    def _read(self, work: Callable[[StoredLog], T]) -> T:
        """Return what `work` computes from one state of the log; it is called again when somebody commits meanwhile."""
        while True:
            log = self._stored()
            try:
                # An empty count beside stored entries is damage that no view would notice, since it reads nothing.
                if self.shared and not log.length and log.head.version:
                    log.check(len(self.store.entries(self.key, limit=1)))
                result = work(log)
            except MemoryFailure as failure:
                if failure.variant != "Corrupt" or self.head().version == log.head.version:
                    raise
                continue  # it read one part before and one part after another commit
            if not self.shared or self.head().version == log.head.version:
                return result

    def _back(self, log: StoredLog) -> Iterator[Entry]:
        """Yield all entries, newest first, in pieces that grow: a caller that stops early has read little."""
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
        """Return whether the log has no entries."""
        return len(self) == 0

    def version(self) -> int:
        """Return the number of changes of the log so far, 0 for an expired key (M-6.14)."""
        return self.head().version

    def tokens(self) -> int:
        """Return the tokens of all entries of the log (M-6.14)."""
        return self.head().tokens

    def messages(self) -> list[Msg]:
        """Return the messages of the whole log, oldest first (M-6.5)."""
        if self._log is not None:
            return list(self._log.messages())
        return [entry.message for entry in self.entries()]

    def last(self, n: int) -> list[Msg]:
        """Return the newest messages, at most `n` of them, oldest first; its cost grows with `n`, not with the log (M-6.6,
        M-14.2)."""
        if n <= 0:
            return []

        return [entry.message for entry in self.newest(n)]

    def newest(self, limit: int) -> list[Entry]:
        """Return the newest entries, at most `limit` of them, which is 1 or more, oldest first."""

        def read(log: StoredLog) -> list[Entry]:
            return self.store.entries(self.key, before=log.head.next, limit=limit, newest=True) if log.length else []

        return self._read(read)

    def entries(self, after: int = -1, limit: int | None = None) -> list[Entry]:
        """Return the entries with a `seq` above `after`, oldest first, at most `limit` of them (M-6.9)."""
        if limit is not None and limit <= 0:
            return []

        def ascending(log: StoredLog) -> list[Entry]:
            if not log.length:
                return []
            if after < 0 and limit is None and self.shared:
                return list(log.forward())
            return self.store.entries(self.key, after=max(after, -1), before=log.head.next, limit=limit)

        return self._read(ascending)

    def whole_log(self, tools_offered: bool) -> tuple[list[Msg], int] | None:
        """Return what a request has between system message and prompt (parts 2 to 5 of M-4.17) where no view has to be computed:
        all messages of the log, and the sum of their `Msg.length`. None when the memory has a step that changes what is shown or
        acts when a message is stored (`retain` by messages does not count), a token counter of the host, a derived view, a store
        or a listener, or when it holds tool calls that must be rendered as text, since the request offers no tools. The list
        belongs to the log: do not change it."""
        log = self._log
        return None if log is None or not self.policy.shows_all else log.shown(tools_offered)

    def pins(self, policy: Policy, name: str = OWN_VIEW) -> list[Entry]:
        """Return the entries that are pinned in the view `name` with this policy, in log order; none where the view shows its
        summary alone."""
        from .views import pinned_in

        def pinned(log: StoredLog) -> list[Entry]:
            if policy.inner is None:
                return pinned_in(policy, log).pins()
            source, _ = self._source(policy, name, log)
            return pinned_in(policy, source).pins()

        return [] if policy.only_summary else self._read(pinned)

    def _source(self, policy: Policy, name: str, log: StoredLog) -> tuple[Source, ViewState]:
        """Return the log as the view takes it (redacted, through the views it is of) and the stored state of the view."""
        states = self.store.views(self.key) if (policy.has_state or self.policy.redact) and log.length else {}
        source: Source = log
        if self.policy.redact:
            source, states = self._as_redacted_now(log, states, (name, *policy.inner_names))
        state = states.get(name) or ViewState(name)
        if policy.inner is None:
            return source, state
        from .views import source_of

        return source_of(policy, state, source, states), state

    def turns(self, last: int | None = None) -> list[tuple[Turn, list[Entry]]]:
        """Return the turns, or the newest `last` of them, oldest first, each with its entries. A direct write is a turn
        without a stored record (M-6.10)."""
        return self._read(lambda log: self._turns(log, last))

    def _turns(self, log: StoredLog, last: int | None) -> list[tuple[Turn, list[Entry]]]:
        by_turn: dict[int, list[Entry]] = {}
        for entry in paced(self._back(log), FEW):
            if entry.turn not in by_turn:
                if last is not None and len(by_turn) >= last:
                    break
                by_turn[entry.turn] = []
            by_turn[entry.turn].append(entry)
        numbers = sorted(by_turn)
        rows = {row.turn: row for row in self.store.turns(self.key, numbers[0])} if numbers else {}
        return [
            (rows.get(number) or Turn(number, by=by_turn[number][-1].by, at=by_turn[number][-1].at), by_turn[number][::-1])
            for number in numbers
        ]

    def appended(self, run: str | None = None) -> list[Msg]:
        """Return the messages of a run that was committed, by its id, by default of the newest one; an empty list where the log
        has none of it. Of a run in progress `turns.Frame` gives them (M-6.11)."""

        def tagged(log: StoredLog) -> list[Msg]:
            run_id = run
            if run_id is None:
                run_id = next((entry.run for entry in paced(self._back(log)) if entry.run is not None), None)
            if run_id is None or not log.length:
                return []
            works_on(log.length)
            return [entry.message for entry in self.store.entries(self.key, run=run_id)]

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
        """Return what a request would take, and the head of the log that it was computed from (M-6.12). `policy` and `name`
        choose a derived view, by default the memory's own; `system` is the system message, None without one; `prompt_tokens` are
        those of the prompt, `recalled` what the step `recall` has found, `budget` a limit in tokens in which system message and
        prompt do not count, None for that of the policy, in which they do. Raises MemoryFailure("Overflow") when system message
        and pins alone exceed the budget, "InvalidUnit" when the function of `shape` gives no whole units, "Redaction" when older
        text cannot be redacted as now."""
        chosen = policy or self.policy

        def compute(log: StoredLog) -> tuple[View, Head]:
            source, state = self._source(chosen, name, log)
            if any(each.prune is not None for each in chosen.chain):
                works_on(log.length)
            view = view_of(
                chosen, source, state, system=system, prompt_tokens=prompt_tokens, recalled=recalled, budget=budget
            )
            return view, log.head

        return self._read(compute)

    def _as_redacted_now(
        self, log: StoredLog, states: Mapping[str, ViewState], names: Sequence[str]
    ) -> tuple[Source, dict[str, ViewState]]:
        """Return log and states rewritten by the redaction of now: what was stored under another one must not reach a
        model as it is (M-8.27). `names` are the views that are looked at."""
        from .redaction import Shown

        redaction = Shown(self.policy, self.key, states)
        return redaction.log(log), {name: redaction.state(states[name]) for name in names if name in states}

    def summary(self, name: str = OWN_VIEW) -> str | None:
        """Return the stored summary of a view, None when it has none (M-6.13)."""
        state = self.store.views(self.key).get(name) if self.head().version else None
        return state.text if state is not None and state.text else None

    def stats(self) -> dict[str, int | float | None]:
        """Return the counts of the key and then all bounds of the policy, None for one that is not set, by the names of `stats()`
        (M-6.15)."""
        head = self.head()
        works_on(head.length)
        turns = len({entry.turn for entry in paced(self.entries())}) if head.length else 0
        return {
            "messages": head.length, "tokens": head.tokens, "turns": turns, "version": head.version,
            "facts": len(self.kept_facts()), **self.policy.limits(),
        }  # fmt: skip

    @property
    def keeps(self) -> bool:
        """Whether the memory has a store beside the session's, so that its facts may be persistent."""
        return self.store is not self.session

    def session_facts(self) -> list[Fact]:
        """Return the facts of the key that end with the session, ephemeral ones too."""
        return self.session.facts(self.key)

    def stored_facts(self) -> list[Fact]:
        """Return the persistent facts; an expired key has none (M-8.9)."""
        if not self.keeps or self._is_expired():
            return []
        if hasattr(self.store, "index"):
            return sorted(self.store.index(self.key).facts.values(), key=lambda fact: fact.id)
        return stored_facts(self.store, self.key)

    def stored_index(self) -> FactIndex:
        """Return an index of the persistent facts, an empty one where there are none. A store may keep one that follows its
        changes, which the caller must not change; else it is built for this call."""
        if not self.keeps or self._is_expired() or not hasattr(self.store, "facts"):
            return index_of()
        if hasattr(self.store, "index"):
            index: FactIndex = self.store.index(self.key)
            return index
        return index_of(self.stored_facts())

    def expired_facts(self) -> list[int]:
        """Return the numbers of the facts of an expired key, which the next write has to remove; an empty list for any other
        key."""
        return [fact.id for fact in stored_facts(self.store, self.key)] if self.keeps and self._is_expired() else []

    def seen(self) -> list[Observation]:
        """Return the observations, by topic and number; an expired key has none (M-8.9)."""
        return [] if self._is_expired() else stored_seen(self.store, self.key)

    def expired_seen(self) -> list[tuple[str, int]]:
        """Return topic and number of the observations of an expired key, which the next write has to remove; an empty list for
        any other key."""
        return [one.place for one in stored_seen(self.store, self.key)] if self._is_expired() else []

    def _is_expired(self) -> bool:
        return self.policy.ttl is not None and self.store.head(self.key).touched < self.now() - self.policy.ttl

    def origins(self, seqs: Sequence[int]) -> list[str]:
        """Return, for each of these numbers, where its entry came from: a word of TRUST. What the host wrote counts as the
        program; an entry that is no longer in the log counts as a tool, the least trusted origin."""
        by_seq = {entry.seq: entry.origin for entry in paced(self.store.entries(self.key))} if seqs else {}
        return ["program" if by_seq.get(seq) == "host" else by_seq.get(seq, "tool") for seq in seqs]

    def kept_facts(self) -> list[Fact]:
        """Return the facts of session and store that a dump holds: all but ephemeral ones (M-8.10)."""
        facts = [*(fact for fact in self.session_facts() if fact.tier != EPHEMERAL), *self.stored_facts()]
        return sorted(facts, key=lambda fact: (fact.id, fact.tier))
