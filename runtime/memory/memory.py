"""One memory at one key, over any store: what the language's direct methods write (M-6), and the commits of runs.

Hands on `Memory` to this folder and to the effects and tools that use a memory, with the types of what it calls back: `Learn` to
`turns.py`, and `Listener` to `memories.py` and `effects/memory_callbacks.py`. What only reads is in `reader.py`, the content of a
commit in `changes.py`, branches and dumps in `log.py`; this file joins them to a store and tries again when somebody else has
committed meanwhile. A memory without steps in a volatile store appends by only noting the message (M-14.1). Facts are written by
`remembering.py`.

All methods are plain functions. Any that reads or writes the store raises `MemoryFailure` for what M-6.23 lists (a store
that fails, a damaged log, a redactor that fails), and `MustWait` (`stores/operations.py`), having changed nothing, where the
store has to be waited for and this is not the thread that may. Panics of the functions in the memory's steps, and of a run
whose limits long work exceeds, pass through.
"""

from __future__ import annotations

from contextlib import suppress
from time import time

from ...vm.values.metering import paced
from ..records import Msg
from .changes import Change, Draft, filtered, prepared
from .entries import Turn, check_units
from .facts import PERSISTENT, SESSION, TIERS, fact_of, observation_of
from .failures import MemoryFailure, conflict, keeps_no, no_turn
from .keys import MAIN_BRANCH, branch_of, memory_key
from .log import (
    Content,
    StoredLog,
    branch,
    branch_keys,
    branches,
    dumped,
    erase_entries,
    erase_keys,
    facts_naming,
    fork,
    loaded,
    rewound,
    stored_facts,
    stored_seen,
)
from .policy import Policy
from .reader import OWN_VIEW, MemoryReader
from .stores.operations import MustWait
from .stores.protocol import Batch, Head
from .stores.volatile import VolatileStore

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from .embedding import Embedding
    from .entries import Entry
    from .facts import Fact
    from .keys import Key
    from .memories import MetVersions
    from .policy import FactAccess, Lesson
    from .stores.protocol import Store, Write


# Writing.

if TYPE_CHECKING:
    Learn = Callable[["Memory", Sequence[Entry]], Lesson | None]
    Listener = Callable[[str, dict[str, Any]], None]

# How many other expired keys one commit removes: few, so that no commit pays for a large clean-up.
EXPIRED_AT_A_COMMIT = 100


class Memory(MemoryReader):
    """A memory that is read and written; attributes that do not stand here are those of `MemoryReader`.

    `views`: the policies of views derived from it, by name; their cuts and summaries are stored with it (M-9.11).
    `session`: the volatile store of the session, which holds the facts that end with it. `listener(channel, payload)` gets
    the events of M-6.25 ff. after their change is stored; without one none are built. `fixed`: the slots that are written
    once, as (tier, name) (M-10.2); `renamed`: by (tier, name), the earlier names of slots (M-8.24); `lists`: the slots that
    are lists. `access`: who may read and write which facts (M-10.35). `keyed`: whether it is one key of a memory with `per`.
    """

    __slots__ = ("views", "listener", "fixed", "renamed", "lists", "access", "keyed", "_known")

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
        keyed: bool = False,
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
        self.keyed = keyed
        secrets = self.policy.secrets
        self._known: Sequence[str] = () if secrets is None else secrets.known
        # Only where nothing has to be computed or told at an append may the message just be noted (M-14.1).
        plain = self.policy.stores_plainly and not views and listener is None
        if plain and isinstance(self.store, VolatileStore):
            self._log = self.store.log(self.key, self.policy.retention.fifo)

    def listen(self, listener: Listener | None) -> None:
        """Send the events from now on to `listener`. Messages that are only noted make no events, so the fast path is
        left."""
        self.listener = listener
        self._log = None

    def with_key(self, key: Key) -> Memory:
        """Return the same declaration at another key, for `.key(…)` and branches."""
        derived = {name: policy for name, policy in self.views.items() if name != OWN_VIEW}
        return Memory(
            self.policy, name=self.name, store=self.store, key=key, clock=self.clock, views=derived, listener=self.listener,
            session=self.session, embedding=self.embedding, fixed=self.fixed, met=self.met, renamed=self.renamed,
            lists=self.lists, access=self.access, keyed=self.keyed,
        )

    def append(self, role: str, content: str) -> None:
        """Append one message as a turn of its own, outside the turns of runs (M-6.1, O-3.9). The caller has checked the
        role."""
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
        """Append messages as one turn, none of them as no turn, and return the new length (M-6.2). Raises
        MemoryFailure("InvalidUnit") for an incomplete tool unit or an unknown role."""
        check_units(messages)
        if not messages:
            return len(self)
        head = self._written([Draft(message) for message in messages])
        assert head is not None, "only a turn with a run can be stored already"
        return head.length

    def pin(self, role: str, content: str) -> None:
        """Append one pinned message as a turn of its own (M-6.3)."""
        self.write([Draft(Msg(role, content), pinned=True)])

    def initialise(
        self, messages: Sequence[tuple[str, str, bool]], facts: Callable[[], Sequence[Fact]] | None = None
    ) -> None:
        """Write the initialisation statements of a declaration as one commit of no run, which makes version 1; do nothing on a
        log that has a version (M-2.10). `messages` are (role, content, pinned); `facts` makes the persistent facts of
        `remember`, and is called only where something is written."""
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
        """Commit messages as one turn, together with facts. Return False when the turn's run is stored already (M-5.10).

        With `expect` a log of another version raises MemoryFailure("Conflict"); without it the turn goes behind whatever
        was committed meanwhile. `turn` is the record of a run, None for a direct write. `learn` makes facts and
        observations of the new entries (M-10.24). The messages are redacted here: MemoryFailure("Redaction") where that
        fails, and nothing is stored.
        """
        return self._written(drafts, turn, expect, facts, learn) is not None

    def _written(
        self,
        drafts: Sequence[Draft],
        turn: Turn | None = None,
        expect: int | None = None,
        facts: Sequence[Fact] = (),
        learn: Learn | None = None,
    ) -> Head | None:
        """`write`, but return the head after the commit. To read it from the store again could fail, and the caller would
        take what is stored for lost (M-12.7)."""
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
            # Computed from this snapshot; a commit by somebody else makes the store refuse it, and the loop computes it
            # anew.
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
        """Commit at the version of the snapshot; False when the store has the run already. The key of an expired log
        begins anew, and a few other expired keys are removed (M-8.9)."""
        expect = log.head.version
        if self.policy.ttl is not None:
            actual = self.store.head(self.key)
            batch.facts_anew = batch.facts_anew or self.keeps and self._is_expired()
            if log.head.version == 0 and actual.version:
                # The expired content is still stored: this commit replaces it at the version that the row really has.
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
        """Remove keys that were last written before this time. The commit stands: what cannot be removed now, a later
        commit will (M-8.9)."""
        with suppress(MemoryFailure, MustWait):
            self.store.expire(self.key[:2], before, EXPIRED_AT_A_COMMIT)

    def set_pinned(self, seq: int, on: bool) -> bool:
        """Pin or unpin the whole unit that entry `seq` belongs to (M-6.4); False when `seq` is not in the log."""
        while True:
            log = self._stored()
            unit = self._unit_at(log, seq)
            if not unit:
                return False
            batch = Batch(_next_head(log.head, self.now()), pins={entry.seq: on for entry in unit})
            if self._try(log, batch):
                return True

    def _unit_at(self, log: StoredLog, seq: int) -> list[Entry]:
        unit = self.store.entries(self.key, after=seq - 1, before=min(seq + 1, log.head.next))
        if not unit:
            return []
        while unit[0].message.role == "tool":
            call = self.store.entries(self.key, before=unit[0].seq, limit=1, newest=True)
            if not call:  # stored data that somebody changed
                raise log.torn(unit[0])
            unit = call + unit
        for entry in log.forward(after=unit[-1].seq):
            if entry.message.role != "tool":
                break
            unit.append(entry)
        return unit

    def clear(self) -> None:
        """Remove all entries and summaries, pinned ones too; facts stay, and numbers go on (M-6.8)."""
        while True:
            log = self._stored()
            seqs = [entry.seq for entry in log.forward()] if self.listener else []
            head = _next_head(log.head, self.now(), length=0, tokens=0)
            if self._try(log, Batch(head, everything=True)):
                return self._tell_evicted(seqs, "clear")

    def rewind(self, turn: int) -> int:
        """Remove the turns numbered above `turn`, with the facts and observations that derive from them, and return how many
        turns; their turn and entry numbers are used again (M-6.18). -1 removes all; a lower number raises
        MemoryFailure("NotFound")."""
        if turn < -1:
            raise no_turn(turn)
        while True:
            log = self._stored()
            removed = []
            for entry in paced(self._back(log)):
                if entry.turn <= turn:
                    break
                removed.append(entry)
            if turn >= log.head.turns - 1:
                return 0
            removed.reverse()
            kept_turns = max(turn + 1, 0)
            first = removed[0].seq if removed else log.head.next
            head = _next_head(
                log.head, self.now(), next=first, turns=kept_turns, length=log.head.length - len(removed),
                tokens=log.head.tokens - sum(entry.tokens for entry in removed),
            )  # fmt: skip
            views = [rewound(state, first) for state in self.store.views(self.key).values()]
            unseen = [one.place for one in stored_seen(self.store, self.key) if any(seq >= first for seq in one.seqs)]
            facts = facts_naming(self.store, self.key, first.__le__)
            if self._try(log, Batch(head, evict=removed, views=views, gone=facts, unseen=unseen)):
                if self.keeps:
                    self.session.keep(self.key, self.now(), [], facts_naming(self.session, self.key, first.__le__))
                self._tell_evicted([entry.seq for entry in removed], "rewind")
                return log.head.turns - kept_turns

    def _try(self, log: StoredLog, batch: Batch, *, scrub: bool = False) -> bool:
        try:
            return self._commit(log, batch, scrub=scrub)
        except MemoryFailure as failure:
            if failure.variant != "Conflict":
                raise
            return False

    def end_ephemeral(self) -> None:
        """Remove the facts that live for one turn: a turn on the key has ended (M-10.1)."""
        ephemeral = [fact.id for fact in self.session.ephemeral(self.key)]
        if ephemeral:
            self.session.keep(self.key, self.now(), [], ephemeral)

    def fork(self, name: str) -> Memory:
        """Copy the log, and the facts of the session, to the new branch `name` and return its memory (M-6.16). Raises
        MemoryFailure("Exists")."""
        copy = self.with_key(fork(self.store, self.key, name, self.now()))
        if self.keeps:
            self.session.keep(copy.key, self.now(), stored_facts(self.session, self.key), ())
        return copy

    def fork_at(self, head: Head, name: str) -> Memory:
        """Copy the log as it was at the snapshot `head`, without the session's facts beside a store, to the new branch `name` and
        return its memory (M-5.17). Raises MemoryFailure("Exists")."""
        return self.with_key(fork(self.store, self.key, name, self.now(), head))

    def branch(self, name: str) -> Memory:
        """Return the memory of an existing branch; "" is the main one. Raises MemoryFailure("NotFound") (M-6.17)."""
        return self.with_key(branch(self.store, self.key, name))

    def branches(self) -> list[str]:
        """Return the names of the branches other than the main one, sorted."""
        return branches(self.store, self.key)

    def dump(self) -> str:
        """Return the whole content of the key as canonical JSON (M-8.10)."""

        def text(log: StoredLog) -> str:
            facts = [fact.as_json() for fact in self.kept_facts()]
            observations = [one.as_json() for one in sorted(self.seen(), key=lambda one: one.place)]
            if not log.head.version:
                return dumped(Content(0, 0, [], [], [], facts, observations))
            states = [state for _, state in sorted(self.store.views(self.key).items())]
            rows, head = self.store.turns(self.key), log.head
            return dumped(Content(head.next, head.turns, rows, states, list(log.forward()), facts, observations))

        return self._read(text)

    def load(self, text: str) -> None:
        """Replace the content of the key by a dump, in one commit that never evicts (M-6.19). Raises
        MemoryFailure("Corrupt" or "Version") for a text that is no dump, "Store" for persistent facts or observations in a store
        that keeps none, and changes nothing then. Ephemeral facts, and without a store persistent ones, become facts of the
        session; of two with one name that stays which is found first (M-10.7)."""
        content = loaded(text)
        facts = [fact_of(stored) for stored in content.facts]
        persistent = [fact for fact in facts if self.keeps and fact.tier == PERSISTENT]
        of_session = _as_session([fact for fact in facts if not (self.keeps and fact.tier == PERSISTENT)])
        while True:
            log = self._stored()
            tokens = sum(entry.tokens for entry in content.entries)
            head = Head(log.head.version + 1, content.next, content.turns, len(content.entries), tokens, self.now())
            batch = Batch(head, entries=content.entries, turns=content.rows, views=content.states, everything=True)
            if hasattr(self.store, "facts"):
                batch.facts, batch.facts_anew = persistent if self.keeps else of_session, True
                batch.seen = [observation_of(one) for one in content.seen]
            elif persistent or content.seen:
                raise keeps_no(self.store.name, "facts")
            if self._try(log, batch, scrub=True):
                break
        if self.keeps:
            self.session.keep(self.key, self.now(), of_session, [fact.id for fact in self.session_facts()])

    def erase(self, seqs: Sequence[int] | None = None, run: str | None = None) -> int:
        """Erase the units with these entries or of this run, here and in the branches that copied them; return the number
        that was removed here. Without either erase the whole key with its branches, on a branch that branch alone, of a memory
        without key parts also what was written when it had some (M-7.6), and return the number of all entries that were removed
        (M-6.20, M-8.14). Nothing of them stays in the files of the store."""
        if seqs is None and run is None:
            keys = self._whole(self.store)
            removed = erase_keys(self.store, keys, self.met)
            if self.keeps:
                erase_keys(self.session, [*keys, *self._whole(self.session)])
            return removed
        named = frozenset(seqs or ())
        erased = erase_entries(
            self.store, self.key, lambda entry: entry.seq in named or (run is not None and entry.run == run), self.now()
        )
        removed_seqs = erased.get(self.key, [])
        if self.keeps:
            for key, numbers in erased.items():  # an entry has another number's place in no branch but those that copied it
                self.session.keep(key, self.now(), [], facts_naming(self.session, key, frozenset(numbers).__contains__))
        self._tell_evicted(removed_seqs, "erase")
        return len(removed_seqs)

    def _whole(self, store: Store) -> list[Key]:
        """Return the stored keys that erasing this one removes. The main branch takes all branches along; a branch goes alone."""
        if branch_of(self.key) != MAIN_BRANCH:
            return [key for key in store.keys(self.key) if key == self.key]
        if self.keyed or len(self.key) > len(memory_key("", "")):
            return branch_keys(store, self.key)
        return list(store.keys(self.key[:-1]))

    def tell(self, channel: str, payload: dict[str, Any]) -> None:
        """Send one event to the listener, if there is one, with name and key of the memory."""
        if self.listener is not None:
            self.listener(channel, {"memory": self.name, "key": list(self.key), **payload})

    def tell_all(self, events: Sequence[tuple[str, dict[str, Any]]]) -> None:
        """Send events, given as (channel, payload)."""
        for channel, payload in events:
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


def _as_session(facts: Sequence[Fact]) -> list[Fact]:
    """Return facts of several tiers as facts of the session, one of each name, by number. Two of different tiers may have one
    number; the later one gets a new one."""
    by_name: dict[str, Fact] = {}
    for fact in sorted(facts, key=lambda fact: TIERS.index(fact.tier)):
        by_name.setdefault(fact.name, fact)
    kept = sorted(by_name.values(), key=lambda fact: fact.id)
    following = max((fact.id for fact in facts), default=-1) + 1
    numbers: set[int] = set()
    found = []
    for fact in kept:
        number = fact.id if fact.id not in numbers else following
        following += number == following
        numbers.add(number)
        found.append(fact if (fact.tier, fact.id) == (SESSION, number) else fact.changed(tier=SESSION, id=number))
    return found


def _next_head(head: Head, at: int, **changed: int) -> Head:
    following = Head(head.version + 1, head.next, head.turns, head.length, head.tokens, at)
    for name, value in changed.items():
        setattr(following, name, value)
    return following
