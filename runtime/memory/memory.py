"""One memory of one key: the direct API of the language (M-6) and the commits of runs, over any store.

What it reads stands in `reading`. Methods are plain functions, which wait for a store that waits. A memory without steps in a
volatile store appends by only noting the message (M-14.1).
Failures are `MemoryFailure`s, wrong values `InvalidValue`. Must not know: the machine, calls, who listens to its events.
"""

from __future__ import annotations

from contextlib import suppress
from time import time

from ...vm.values.metering import FEW, paced, works_on
from ..records import Msg
from .changes import Change, Draft, filtered, prepared
from .entries import MAIN_BRANCH, MemoryFailure, Turn, ViewState, branch_of, check_units, conflict, keeps_no, memory_key, no_turn
from .facts import EPHEMERAL, PERSISTENT, SESSION, fact_of, observation_of
from .log import (
    Content,
    StoredLog,
    branch,
    branches,
    dumped,
    erase_all,
    erase_entries,
    facts_naming,
    fork,
    loaded,
    stored_facts,
    stored_seen,
)
from .policy import Policy
from .stores.operations import MustWait
from .stores.protocol import Batch, Head
from .stores.volatile import VolatileStore, index_of
from .views import view_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any, TypeVar

    from .embedding import Embedding
    from .entries import Entry, Key
    from .fact_index import FactIndex
    from .facts import Fact, Observation
    from .log import Source
    from .memories import MetVersions
    from .policy import FactAccess, Lesson
    from .stores.protocol import Store, Write
    from .stores.volatile import VolatileLog
    from .views import Recalled, View


# ----------------------------------------------------------------
# Reading one memory of one key: its log, its turns, its views, its facts (M-6.5 to M-6.15, M-10).
#
# Everything is read in one state of the log: where the store blocks, and so may be shared, it is read again when someone
# commits
# meanwhile.

if TYPE_CHECKING:
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
        from .views import pinned_in

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
        from .views import source_of

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
        from .redaction import Shown

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


# ----------------------------------------------------------------

if TYPE_CHECKING:
    Learn = Callable[["Memory", Sequence[Entry]], Lesson | None]
    Listener = Callable[[str, dict[str, Any]], None]

EXPIRED_AT_A_COMMIT = 100


class Memory(MemoryReader):
    """`views`: the policies of views derived from it, by name; their cuts and summaries are stored with it (M-9.11).
    `session`: the volatile store of the session, which holds the facts that end with it. `clock` gives seconds.
    `listener(channel, payload)` gets the events of M-6.25 ff. after their change is stored; without one none are built.
    `fixed`: the slots that are written once, as (tier, name) (M-10.2); `renamed`: the names of slots before (M-8.24);
    `lists`: the slots that are lists. `access`: who may read and write which facts (M-10.35)."""

    __slots__ = ("views", "listener", "fixed", "renamed", "lists", "access", "_known")

    def __init__(
        self,
        policy: Policy | None = None,
        *,
        name: str = "",
        store: Store | None = None,
        key: Key | None = None,
        clock: Callable[[], float] = time,
        views: Mapping[str, Policy] | None = None,
        listener: Listener | None = None,
        session: VolatileStore | None = None,
        embedding: Embedding | None = None,
        fixed: frozenset[tuple[str, str]] = frozenset(),
        lists: frozenset[tuple[str, str]] = frozenset(),
        access: FactAccess | None = None,
        met: MetVersions | None = None,
        renamed: Mapping[tuple[str, str], str] | None = None,
    ) -> None:
        super().__init__(
            policy, name=name, store=store, key=key, clock=clock, session=session, embedding=embedding, met=met
        )
        self.views = {OWN_VIEW: self.policy, **(views or {})}
        self.listener = listener
        self.fixed = fixed
        self.renamed = renamed or {}
        self.lists = lists
        self.access = access
        secrets = self.policy.secrets
        self._known: Sequence[str] = () if secrets is None else secrets.known
        plain = self.policy.stores_plainly and not views and listener is None
        if plain and isinstance(self.store, VolatileStore):
            self._log = self.store.log(self.key, self.policy.retention.fifo)

    def listen(self, listener: Listener | None) -> None:
        """From now on; what is only noted down tells nobody, so the fast lane is left."""
        self.listener = listener
        self._log = None

    def with_key(self, key: Key) -> Memory:
        """The same declaration at another key: `.key(…)` and branches."""
        derived = {name: policy for name, policy in self.views.items() if name != OWN_VIEW}
        return Memory(
            self.policy, name=self.name, store=self.store, key=key, clock=self.clock, views=derived, listener=self.listener,
            session=self.session, embedding=self.embedding, fixed=self.fixed, met=self.met, renamed=self.renamed,
            lists=self.lists, access=self.access,
        )

    # ------------------------------------------------------------ writing

    def append(self, role: str, content: str) -> None:
        """M-6.1; the caller has checked the role. A turn of its own, outside the turns of runs (O-3.9)."""
        log = self._log
        if log is not None:
            if self._known:
                content = self.policy.filtered(content)
            if not log.fresh:
                log.change()
            log.noted.append((role, content, self.clock()))
            log.fresh += 1
        else:
            self.write([Draft(Msg(role, content))])

    def append_all(self, messages: Sequence[Msg]) -> int:
        """One turn (M-6.2); the new length. Err InvalidUnit for an incomplete tool unit or an unknown role."""
        check_units(messages)
        if not messages:
            return len(self)
        head = self._written([Draft(message) for message in messages])
        assert head is not None, "only a turn with a run can be stored already"
        return head.length

    def pin(self, role: str, content: str) -> None:
        """M-6.3."""
        self.write([Draft(Msg(role, content), pinned=True)])

    def initialise(
        self, messages: Sequence[tuple[str, str, bool]], facts: Callable[[], Sequence[Fact]] | None = None
    ) -> None:
        """The initialisation statements of a declaration, as (role, content, pinned), and what makes the persistent facts of
        `remember`: one commit with run nil that makes version 1, and only on a log of version 0 (M-2.10)."""
        if (messages or facts) and self.head().version == 0:
            drafts = [Draft(Msg(role, content), pinned=pinned) for role, content, pinned in messages]
            try:
                self.write(drafts, expect=0, facts=facts() if facts is not None else ())
            except MemoryFailure as failure:
                if failure.variant != "Conflict":  # another process was first
                    raise

    def write(
        self,
        drafts: Sequence[Draft],
        turn: Turn | None = None,
        expect: int | None = None,
        facts: Sequence[Fact] = (),
        learn: Learn | None = None,
    ) -> bool:
        """One commit of messages as one turn, with facts. With `expect` a log of another version is Err Conflict; without, the
        turn goes behind whatever was committed meanwhile. False: the turn's run is stored already (M-5.10). `learn`: what
        rules make of its entries (M-10.24)."""
        return self._written(drafts, turn, expect, facts, learn) is not None

    def _written(
        self,
        drafts: Sequence[Draft],
        turn: Turn | None = None,
        expect: int | None = None,
        facts: Sequence[Fact] = (),
        learn: Learn | None = None,
    ) -> Head | None:
        """`write`, with the head it made: reading that again might fail, and the caller take what is stored for lost (M-12.7)."""
        if self._log is not None and expect is None and True not in [draft.pinned for draft in drafts]:
            ready = filtered(self.policy, drafts) if self._known else drafts
            return self._log.stored if self._log.add(ready, turn, self.now()) else None
        ready = prepared(self.policy, drafts)
        while True:
            log = self._stored()
            if expect is not None and log.head.version != expect:
                if self._knows(turn):
                    return None
                raise conflict(expect, log.head.version)
            change = self._change(log)
            change.add(ready, self.now(), turn)
            change.retain()
            batch = change.batch(self.now())
            batch.facts = facts
            learned = learn(self, change.new) if learn is not None else None
            if learned is not None:
                batch.facts = [*facts, *learned.facts]
                batch.seen, batch.unseen = learned.seen, learned.unseen
            try:
                stored = self._commit(log, batch)
            except MemoryFailure as failure:
                if failure.variant != "Conflict" or (expect is not None and self.store.head(self.key).version != expect):
                    raise
                continue
            if not stored:
                return None
            self._tell_commit(change, turn)
            if learned is not None:
                self.tell_all(learned.told)
            return batch.head

    def _knows(self, turn: Turn | None) -> bool:
        return turn is not None and turn.run is not None and bool(self.store.entries(self.key, limit=1, run=turn.run))

    def _change(self, log: StoredLog) -> Change:
        plain = all(policy.window_low is None and policy.summary is None for policy in self.views.values())
        stateless = plain and not self.policy.redact
        return Change(self.policy, self.views, log, {} if stateless or not log.head.version else self.store.views(self.key))

    def _commit(self, log: StoredLog, batch: Batch, *, scrub: bool = False) -> bool:
        """At the version of the snapshot. The key of an expired log is begun anew, and a few others are swept (M-8.9)."""
        expect = log.head.version
        if self.policy.ttl is not None:
            actual = self.store.head(self.key)
            batch.facts_anew = batch.facts_anew or self.keeps and self._is_expired()
            if log.head.version == 0 and actual.version:
                batch.everything = True
                expect = actual.version
                batch.head.version = expect + 1
        write: Write = (self.key, expect, batch)
        stored = self.store.commit([write], scrub=scrub)
        if stored and self.met is not None:
            self.met.meet(self.key, batch.head.version)
        if self.policy.ttl is not None:
            self._sweep(self.now() - self.policy.ttl)
        return stored

    def _sweep(self, before: int) -> None:
        """After the commit, which stands: what a sweep cannot delete now, that of a later commit will (M-8.9)."""
        with suppress(MemoryFailure, MustWait):
            self.store.expire(self.key[:2], before, EXPIRED_AT_A_COMMIT)

    def set_pinned(self, seq: int, on: bool) -> bool:
        """The whole unit (M-6.4); False when seq is not in the log."""
        while True:
            log = self._stored()
            unit = self._unit_at(log, seq)
            if not unit:
                return False
            batch = Batch(_next_head(log.head, self.now()), pins={entry.seq: on for entry in unit})
            if self._try(log, batch):
                return True

    def _unit_at(self, log: StoredLog, seq: int) -> list[Entry]:
        found = self.store.entries(self.key, after=seq - 1, before=min(seq + 1, log.head.next))
        if not found:
            return []
        while found[0].message.role == "tool":
            found = self.store.entries(self.key, before=found[0].seq, limit=1, newest=True) + found
        for entry in log.forward(after=found[-1].seq):
            if entry.message.role != "tool":
                break
            found.append(entry)
        return found

    def clear(self) -> None:
        """Removes all entries and summaries, pinned ones too; facts stay and seq goes on (M-6.8)."""
        while True:
            log = self._stored()
            seqs = [entry.seq for entry in log.forward()] if self.listener else []
            head = _next_head(log.head, self.now(), length=0, tokens=0)
            if self._try(log, Batch(head, everything=True)):
                return self._tell_evicted(seqs, "clear")

    def rewind(self, turn: int) -> int:
        """Removes the turns numbered above `turn`; their numbers and seqs are given again (M-6.18)."""
        if turn < -1:
            raise no_turn(turn)
        while True:
            log = self._stored()
            gone = []
            for entry in paced(self._back(log)):
                if entry.turn <= turn:
                    break
                gone.append(entry)
            if turn >= log.head.turns - 1:
                return 0
            gone.reverse()
            kept_turns = max(turn + 1, 0)
            first = gone[0].seq if gone else log.head.next
            head = _next_head(
                log.head, self.now(), next=first, turns=kept_turns, length=log.head.length - len(gone),
                tokens=log.head.tokens - sum(entry.tokens for entry in gone),
            )  # fmt: skip
            views = [_rewound(state, first) for state in self.store.views(self.key).values()]
            unseen = [one.place for one in stored_seen(self.store, self.key) if any(seq >= first for seq in one.seqs)]
            facts = facts_naming(self.store, self.key, first.__le__)
            if self._try(log, Batch(head, evict=gone, views=views, gone=facts, unseen=unseen)):
                if self.keeps:
                    self.session.keep(self.key, self.now(), [], facts_naming(self.session, self.key, first.__le__))
                self._tell_evicted([entry.seq for entry in gone], "rewind")
                return log.head.turns - kept_turns

    def _try(self, log: StoredLog, batch: Batch, *, scrub: bool = False) -> bool:
        try:
            return self._commit(log, batch, scrub=scrub)
        except MemoryFailure as failure:
            if failure.variant != "Conflict":
                raise
            return False

    def end_ephemeral(self) -> None:
        """A turn on the key ends (M-10)."""
        gone = [fact.id for fact in self.session_facts() if fact.tier == EPHEMERAL]
        if gone:
            self.session.keep(self.key, self.now(), [], gone)

    # ------------------------------------------------------------ branches, dumps, erasing

    def fork(self, name: str) -> Memory:
        """M-6.16."""
        made = self.with_key(fork(self.store, self.key, name, self.now()))
        if self.keeps:
            self.session.keep(made.key, self.now(), stored_facts(self.session, self.key), ())
        return made

    def fork_at(self, head: Head, name: str) -> Memory:
        """A branch at a snapshot (M-5.17)."""
        return self.with_key(fork(self.store, self.key, name, self.now(), below=head.next))

    def branch(self, name: str) -> Memory:
        """M-6.17."""
        return self.with_key(branch(self.store, self.key, name))

    def branches(self) -> list[str]:
        return branches(self.store, self.key)

    def dump(self) -> str:
        """M-8.10: canonical JSON."""

        def text(log: StoredLog) -> str:
            facts = [fact.as_json() for fact in self.kept_facts()]
            seen = [one.as_json() for one in sorted(self.seen(), key=lambda one: one.place)]
            if not log.head.version:
                return dumped(Content(0, 0, [], [], [], facts, seen))
            states = [state for _, state in sorted(self.store.views(self.key).items())]
            rows, head = self.store.turns(self.key), log.head
            return dumped(Content(head.next, head.turns, rows, states, list(log.forward()), facts, seen))

        return self._read(text)

    def load(self, text: str) -> None:
        """Replaces the content of the key in one commit and never evicts (M-6.19); nothing is loaded partly. Without a store
        persistent facts become those of the session."""
        content = loaded(text)
        facts = [fact_of(held) for held in content.facts]
        kept = [fact for fact in facts if fact.tier == PERSISTENT] if self.keeps else []
        rest = [fact if fact.tier == SESSION else fact.changed(tier=SESSION) for fact in facts if fact not in kept]
        while True:
            log = self._stored()
            tokens = sum(entry.tokens for entry in content.entries)
            head = Head(log.head.version + 1, content.next, content.turns, len(content.entries), tokens, self.now())
            batch = Batch(head, entries=content.entries, turns=content.rows, views=content.states, everything=True)
            if hasattr(self.store, "facts"):
                batch.facts, batch.facts_anew = kept if self.keeps else rest, True
                batch.seen = [observation_of(one) for one in content.seen]
            elif kept or content.seen:
                raise keeps_no(self.store.name, "facts")
            if self._try(log, batch, scrub=True):
                break
        if self.keeps:
            self.session.keep(self.key, self.now(), rest, [fact.id for fact in self.session_facts()])

    def erase(self, seqs: Sequence[int] | None = None, run: str | None = None) -> int:
        """M-6.20, M-8.14: these entries, those of a run, or, without either, the key; the main branch takes the
        others along."""
        if seqs is None and run is None:
            prefix = self.key[:-1] if branch_of(self.key) == MAIN_BRANCH else self.key  # a branch goes alone
            removed = erase_all(self.store, prefix, self.met)
            if self.keeps:
                erase_all(self.session, prefix)
            return removed
        wanted = frozenset(seqs or ())
        erased = erase_entries(
            self.store, self.key, lambda entry: entry.seq in wanted or (run is not None and entry.run == run), self.now()
        )
        gone = erased.get(self.key, [])
        if self.keeps:
            for key, numbers in erased.items():  # an entry has another number's place in no branch but those that copied it
                self.session.keep(key, self.now(), [], facts_naming(self.session, key, frozenset(numbers).__contains__))
        self._tell_evicted(gone, "erase")
        return len(gone)

    # ------------------------------------------------------------ events

    def tell(self, channel: str, payload: dict[str, Any]) -> None:
        if self.listener is not None:
            self.listener(channel, {"memory": self.name, "key": list(self.key), **payload})

    def tell_all(self, told: Sequence[tuple[str, dict[str, Any]]]) -> None:
        for channel, payload in told:
            self.tell(channel, payload)

    def _tell_commit(self, change: Change, turn: Turn | None) -> None:
        if self.listener is None or not change.new:
            return
        run = turn.run if turn is not None else None
        seqs = [entry.seq for entry in change.new]
        tokens = sum(entry.tokens for entry in change.new)
        self.tell("memory:commit", {"run": run, "turn": change.new[0].turn, "seqs": seqs, "tokens": tokens})
        self._tell_evicted([entry.seq for entry in change.gone], "retain")

    def _tell_evicted(self, seqs: list[int], reason: str) -> None:
        if seqs:
            self.tell("memory:evict", {"seqs": seqs, "reason": reason})


def _next_head(head: Head, at: int, **changed: int) -> Head:
    made = Head(head.version + 1, head.next, head.turns, head.length, head.tokens, at)
    for name, value in changed.items():
        setattr(made, name, value)
    return made


def _rewound(state: ViewState, first: int) -> ViewState:
    """M-9.8: a summary that covers a removed entry goes; a cut never lies behind the log."""
    kept = state if state.upto < first else state.without_summary()
    return kept.with_cut(min(kept.cut, first))
