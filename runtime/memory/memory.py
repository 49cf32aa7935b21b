"""One memory of one key: the direct API of the language (M-6) and the commits of runs, over any store.

Methods are plain functions. Those of a memory whose `blocking` is true wait for its store and belong on the thread of that store.
A memory without steps in a volatile store appends by only noting the message (M-14.1). Failures are `MemoryFailure`s, wrong
values `InvalidValue`. Must not know: the machine, calls, who listens to its events.
"""

from __future__ import annotations

from time import time

from ..records import Msg
from .branching import branch, branches, erase_all, erase_entries, fork
from .changes import Change, Draft, prepared
from .dumps import Content, dumped, loaded
from .entries import Turn, ViewState, check_units
from .errors import MemoryFailure, conflict
from .keys import MAIN_BRANCH, branch_of, memory_key
from .policy import Policy
from .source import StoredLog
from .stores.protocol import Batch, Head
from .stores.volatile import VolatileStore
from .views import view_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any, TypeVar

    from .entries import Entry
    from .keys import Key
    from .stores.protocol import Store, Write
    from .views import Recalled, View

    T = TypeVar("T")
    Listener = Callable[[str, dict[str, Any]], None]

OWN_VIEW = ""
EXPIRED_AT_A_COMMIT = 100


class Memory:
    """`views`: the policies of views derived from it, by name; their cuts and summaries are stored with it (M-9.11).
    `clock` gives seconds. `listener(channel, payload)` gets the events of M-6.25 ff. after their change is stored; without one
    none are built."""

    __slots__ = ("name", "policy", "store", "key", "clock", "views", "listener", "_log")

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
    ) -> None:
        self.name = name
        self.policy = policy or Policy()
        self.store: Store = store if store is not None else VolatileStore()
        self.key = key if key is not None else memory_key("", name)
        self.clock = clock
        self.views = {OWN_VIEW: self.policy, **(views or {})}
        self.listener = listener
        plain = self.policy.stores_plainly and not views and listener is None
        self._log = self.store.log(self.key, self.policy.retain) if plain and isinstance(self.store, VolatileStore) else None

    def now(self) -> int:
        """Unix milliseconds."""
        return int(self.clock() * 1000)

    @property
    def blocking(self) -> bool:
        return self.store.blocking

    def with_key(self, key: Key) -> Memory:
        """The same declaration at another key: `.key(…)` and branches."""
        derived = {name: policy for name, policy in self.views.items() if name != OWN_VIEW}
        return Memory(
            self.policy, name=self.name, store=self.store, key=key, clock=self.clock, views=derived, listener=self.listener
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Memory) and self.store is other.store and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    # ------------------------------------------------------------ writing

    def append(self, role: str, content: str) -> None:
        """M-6.1; the caller has checked the role. A turn of its own, outside the turns of runs (O-3.9)."""
        log = self._log
        if log is not None:
            log.noted.append((role, content, self.clock()))
            log.fresh += 1
        else:
            self.write([Draft(Msg(role, content))])

    def append_all(self, messages: Sequence[Msg]) -> int:
        """One turn (M-6.2); the new length. Err InvalidUnit for an incomplete tool unit or an unknown role."""
        check_units(messages)
        if messages:
            self.write([Draft(message) for message in messages])
        return len(self)

    def pin(self, role: str, content: str) -> None:
        """M-6.3."""
        self.write([Draft(Msg(role, content), pinned=True)])

    def initialise(self, messages: Sequence[tuple[str, str, bool]]) -> None:
        """The initialisation statements of a declaration, as (role, content, pinned): one commit with run nil that makes
        version 1, and only on a log of version 0 (M-2.10)."""
        head = self.head()
        if head.version == 0 and messages:
            drafts = [Draft(Msg(role, content), pinned=pinned) for role, content, pinned in messages]
            try:
                self.write(drafts, expect=0)
            except MemoryFailure as failure:
                if failure.variant != "Conflict":  # another process was first
                    raise

    def write(self, drafts: Sequence[Draft], turn: Turn | None = None, expect: int | None = None) -> bool:
        """One commit of messages as one turn. With `expect` a log of another version is Err Conflict; without, the turn goes
        behind whatever was committed meanwhile. False: the turn's run is stored already (M-5.10)."""
        ready = prepared(self.policy, drafts)
        while True:
            log = self._stored()
            if expect is not None and log.head.version != expect:
                if self._knows(turn):
                    return False
                raise conflict(expect, log.head.version)
            change = self._change(log)
            change.add(ready, self.now(), turn)
            change.retain()
            try:
                stored = self._commit(log, change.batch(self.now()))
            except MemoryFailure as failure:
                if failure.variant != "Conflict" or expect is not None:
                    raise
                continue
            if stored:
                self._tell_commit(change, turn)
            return stored

    def _knows(self, turn: Turn | None) -> bool:
        return turn is not None and turn.run is not None and bool(self.store.entries(self.key, limit=1, run=turn.run))

    def _change(self, log: StoredLog) -> Change:
        stateless = all(policy.window_low is None and policy.summary is None for policy in self.views.values())
        return Change(self.policy, self.views, log, {} if stateless or not log.head.version else self.store.views(self.key))

    def _commit(self, log: StoredLog, batch: Batch, *, scrub: bool = False) -> bool:
        """At the version of the snapshot. The key of an expired log is begun anew, and a few others are swept (M-8.9)."""
        expect = log.head.version
        if self.policy.ttl is not None:
            actual = self.store.head(self.key)
            if log.head.version == 0 and actual.version:
                batch.everything = True
                expect = actual.version
                batch.head.version = expect + 1
        write: Write = (self.key, expect, batch)
        stored = self.store.commit([write], scrub=scrub)
        if self.policy.ttl is not None:
            self.store.expire(self.key[:2], self.now() - self.policy.ttl, EXPIRED_AT_A_COMMIT)
        return stored

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
        while True:
            log = self._stored()
            gone = []
            for entry in self._back(log):
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
            if self._try(log, Batch(head, evict=gone, views=views)):
                self._tell_evicted([entry.seq for entry in gone], "rewind")
                return log.head.turns - kept_turns

    def _try(self, log: StoredLog, batch: Batch, *, scrub: bool = False) -> bool:
        try:
            return self._commit(log, batch, scrub=scrub)
        except MemoryFailure as failure:
            if failure.variant != "Conflict":
                raise
            return False

    # ------------------------------------------------------------ reading

    def head(self) -> Head:
        """The row of the key; an expired key is like one never written (M-8.9)."""
        head = self.store.head(self.key)
        ttl = self.policy.ttl
        return Head() if ttl is not None and head.touched < self.now() - ttl else head

    def _stored(self) -> StoredLog:
        return StoredLog(self.store, self.key, self.head())

    def _read(self, work: Callable[[StoredLog], T]) -> T:
        """What `work` finds in one state of the log: read again when someone commits meanwhile."""
        while True:
            log = self._stored()
            found = work(log)
            if not self.store.blocking or self.head().version == log.head.version:
                return found

    def _back(self, log: StoredLog) -> Iterator[Entry]:
        """All entries, newest first."""
        before, size = log.head.next, 64
        while True:
            piece = self.store.entries(self.key, before=before, limit=size, newest=True) if log.length else []
            yield from reversed(piece)
            if len(piece) < size:
                return
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

        def newest(log: StoredLog) -> list[Msg]:
            found = self.store.entries(self.key, before=log.head.next, limit=n, newest=True) if log.length else []
            return [entry.message for entry in found]

        return self._read(newest)

    def entries(self, after: int = -1, limit: int | None = None) -> list[Entry]:
        """M-6.9."""
        if limit is not None and limit <= 0:
            return []

        def ascending(log: StoredLog) -> list[Entry]:
            if not log.length:
                return []
            return self.store.entries(self.key, after=max(after, -1), before=log.head.next, limit=limit)

        return self._read(ascending)

    def pins(self) -> list[Entry]:
        """All pinned entries in log order."""
        return self._read(lambda log: log.pins())

    def turns(self, last: int | None = None) -> list[tuple[Turn, list[Entry]]]:
        """Oldest first, each with its entries; a direct write is a turn without record (M-6.10)."""
        return self._read(lambda log: self._turns(log, last))

    def _turns(self, log: StoredLog, last: int | None) -> list[tuple[Turn, list[Entry]]]:
        found: dict[int, list[Entry]] = {}
        for entry in self._back(log):
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
                wanted = next((entry.run for entry in self._back(log) if entry.run is not None), None)
            if wanted is None or not log.length:
                return []
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
        taken: frozenset[int] = frozenset(),
    ) -> tuple[View, Head]:
        """What a request would take, and the snapshot it was taken from (M-6.12). `policy` and `name` are those of a derived
        view."""
        chosen = policy or self.policy

        def shown(log: StoredLog) -> tuple[View, Head]:
            stateful = chosen.window_low is not None or chosen.summary is not None
            state = (self.store.views(self.key).get(name) if stateful and log.length else None) or ViewState(name)
            made = view_of(
                chosen, log, state, system=system, prompt_tokens=prompt_tokens, recalled=recalled, budget=budget, taken=taken
            )
            return made, log.head

        return self._read(shown)

    def summary(self, name: str = OWN_VIEW) -> str | None:
        """M-6.13."""
        state = self.store.views(self.key).get(name) if self.head().version else None
        return state.text if state is not None and state.text else None

    def stats(self) -> dict[str, int | None]:
        """M-6.15; `facts` is added by who keeps them."""
        head = self.head()
        turns = len({entry.turn for entry in self.entries()}) if head.length else 0
        return {
            "messages": head.length, "tokens": head.tokens, "turns": turns, "version": head.version,
            "retain": self.policy.retain, "window": self.policy.window, "token_limit": self.policy.tokens,
        }  # fmt: skip

    # ------------------------------------------------------------ branches, dumps, erasing

    def fork(self, name: str) -> Memory:
        """M-6.16."""
        return self.with_key(fork(self.store, self.key, name, self.now()))

    def fork_at(self, head: Head, name: str) -> Memory:
        """A branch at a snapshot (M-5.17)."""
        return self.with_key(fork(self.store, self.key, name, self.now(), below=head.next))

    def branch(self, name: str) -> Memory:
        """M-6.17."""
        return self.with_key(branch(self.store, self.key, name))

    def branches(self) -> list[str]:
        return branches(self.store, self.key)

    def dump(self, facts: Sequence[Any] = (), seen: Sequence[Any] = ()) -> str:
        """M-8.10: canonical JSON; facts and observations come from who keeps them."""

        def text(log: StoredLog) -> str:
            if not log.head.version:
                return dumped(Content(0, 0, [], [], [], facts, seen))
            states = [state for _, state in sorted(self.store.views(self.key).items())]
            rows, head = self.store.turns(self.key), log.head
            return dumped(Content(head.next, head.turns, rows, states, list(log.forward()), facts, seen))

        return self._read(text)

    def load(self, text: str) -> Content:
        """Replaces the content of the key in one commit and never evicts (M-6.19); nothing is loaded partly. The content, for its
        facts and observations."""
        content = loaded(text)
        while True:
            log = self._stored()
            tokens = sum(entry.tokens for entry in content.entries)
            head = Head(log.head.version + 1, content.next, content.turns, len(content.entries), tokens, self.now())
            batch = Batch(head, entries=content.entries, turns=content.rows, views=content.states, everything=True)
            if self._try(log, batch, scrub=True):
                return content

    def erase(self, seqs: Sequence[int] | None = None, run: str | None = None) -> int:
        """M-6.20, M-8.14: these entries, those of a run, or, without either, the key; the main branch takes the
        others along."""
        if seqs is None and run is None:
            whole = branch_of(self.key) == MAIN_BRANCH  # a branch goes alone
            return erase_all(self.store, self.key[:-1] if whole else self.key)
        wanted = frozenset(seqs or ())
        gone = erase_entries(
            self.store, self.key, lambda entry: entry.seq in wanted or (run is not None and entry.run == run), self.now()
        )
        self._tell_evicted(gone, "erase")
        return len(gone)

    # ------------------------------------------------------------ events

    def tell(self, channel: str, payload: dict[str, Any]) -> None:
        if self.listener is not None:
            self.listener(channel, {"memory": self.name, "key": list(self.key), **payload})

    def _tell_commit(self, change: Change, turn: Turn | None) -> None:
        if self.listener is None:
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
