"""The facts of one memory of one key (M-10.1 to M-10.21): remembering, recalling, forgetting.

Persistent facts stand in the memory's store, session and ephemeral ones in the volatile store of the session. What is done to
facts takes effect at once and is no change of the log (M-10.5). Must not know: the machine, calls.
"""

from __future__ import annotations

from .errors import InvalidValue, MemoryFailure, store_failed
from .facts import EPHEMERAL, PERSISTENT, SESSION, TIERS, TRUST, Fact, lowest
from .policy import HALF_LIFE
from .recalling import Found, neighbors, rank

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from .memory import Memory
    from .stores.protocol import FactStore


class Facts:
    """`task`: whose ephemeral facts are seen and written."""

    __slots__ = ("memory", "task", "degraded")

    def __init__(self, memory: Memory, task: Any = None) -> None:
        self.memory = memory
        self.task = task
        self.degraded = False
        """Whether the newest query was ranked without the vectors it should have (M-10.16)."""

    # ------------------------------------------------------------ reading

    def all(self) -> list[Fact]:
        """Those the task sees, by tier and id."""
        found = [fact for fact in self.memory.session_facts() if fact.tier != EPHEMERAL or fact.task is self.task]
        found += self.memory.stored_facts()
        return sorted(found, key=lambda fact: (TIERS.index(fact.tier), fact.id))

    def _named(self, name: str) -> list[Fact]:
        return [fact for fact in self.all() if fact.name == name]

    def fact(self, name: str) -> Found | None:
        named = self._named(name)
        if not named:
            return None
        found = Found(named[0], 1.0, self.memory.now(), self.memory.policy.decay)
        self.access([named[0]])
        return found

    def recall(
        self,
        query: str,
        k: int,
        tiers: Sequence[str] | None = None,
        min_confidence: float = 0.0,
        archived: bool = False,
        touch: bool = True,
        half_life: int = HALF_LIFE,
        trusted: Sequence[str] = TRUST,
    ) -> list[Found]:
        held = self.all()
        found = [
            hit
            for hit in rank(held, query, self.memory.now(), self.memory.policy.decay, half_life, self._near(query, held))
            if (tiers is None or hit.fact.tier in tiers)
            and hit.confidence >= min_confidence
            and hit.fact.trust in trusted
            and (archived or not hit.archived)
        ][: max(0, k)]
        if touch and (found or self.degraded):
            self.recalled([hit.fact for hit in found], self.degraded)
        return found

    def _near(self, query: str, held: Sequence[Fact]) -> Callable[[Fact], float] | None:
        """What gives the relevance of the vector of a fact (M-10.10)."""
        embedding = self.memory.embedding
        self.degraded = False
        if embedding is None or not any(fact.tier == PERSISTENT for fact in held):
            return None
        asked = embedding.known(query)
        self.degraded = asked is None
        return lambda fact: embedding.relevance(asked, fact)

    def recalled(self, facts: Sequence[Fact], degraded: bool = False) -> None:
        """They were given to somebody."""
        self.access(facts)
        self.memory.tell("memory:recall", {"ids": [fact.id for fact in facts], "degraded": degraded})

    def neighbors(self, entity: str) -> list[tuple[str, int]]:
        return neighbors(self.all(), entity)

    # ------------------------------------------------------------ writing

    def drafted(
        self,
        name: str,
        content: Any,
        confidence: float = 1.0,
        tier: str | None = None,
        about: Sequence[str] = (),
        seqs: Sequence[int] = (),
        *,
        origin: str = "program",
        by: str | None = None,
    ) -> Fact:
        """Checked and redacted, without a number yet. `origin`: the caller, `by` the model or agent it is."""
        memory = self.memory
        if tier is None:
            tier = PERSISTENT if memory.keeps else SESSION
        check_fact(confidence, tier, memory.name, memory.keeps)
        if memory.policy.redact:
            from .redaction import redacted_json

            name, content, about = (redacted_json(part, memory.policy.redact) for part in (name, content, list(about)))
        now = memory.now()
        sources = [origin, *memory.origins(seqs)]
        return Fact(
            -1, tier, name, content, about=about, c0=float(confidence), created=now, accessed=now, refreshed=now,
            trust=lowest(sources), origin=origin, by=by, seqs=sorted(set(seqs)), task=self.task if tier == EPHEMERAL else None,
        )  # fmt: skip

    def keep(self, fact: Fact) -> None:
        """An upsert by (tier, name): the number and the time of its making stay (M-10.1)."""
        while True:
            self.number(fact)
            if self.memory.embedding is not None:
                self.memory.embedding.with_vector(fact)
            try:
                return self._store_of(fact.tier).keep(self.memory.key, self.memory.now(), [fact], self._expired())
            except MemoryFailure as failure:
                if failure.variant != "Conflict":  # another process took the number
                    raise

    def number(self, fact: Fact, beside: Sequence[Fact] = ()) -> None:
        """That of the fact it replaces, or the next one; `beside`: what is stored with it."""
        held = [*self.all(), *beside]
        same = next((other for other in held if (other.tier, other.name) == (fact.tier, fact.name)), None)
        if same is not None:
            fact.id, fact.created = same.id, same.created
        else:
            every = [*self.memory.session_facts(), *self.memory.stored_facts(), *beside]
            fact.id = max((other.id for other in every), default=-1) + 1

    def observe(self, topic: str, data: dict[str, Any]) -> None:
        """Stored at once, with the facts that rules make of it (M-10.7, M-10.24)."""
        from .learning import lesson

        memory = self.memory
        if memory.policy.redact:
            from .redaction import redacted_json

            data = redacted_json(data, memory.policy.redact)
        store = self._store_of(PERSISTENT)
        while True:
            made = lesson(memory, topic, data)
            gone, unseen = self._expired(), [*made.unseen, *memory.expired_seen()]
            try:
                store.keep(memory.key, memory.now(), made.facts, gone, [made.seen], unseen)
            except MemoryFailure as failure:
                if failure.variant != "Conflict":  # another process observed meanwhile
                    raise
            else:
                return made.tell(memory)

    def _expired(self) -> list[int]:
        """A key that has expired is begun anew (M-8.9)."""
        return self.memory.expired_facts()

    def access(self, facts: Sequence[Fact]) -> None:
        """M-10.14, M-10.19. They are read again: a call may have remembered others under their names meanwhile."""
        wanted = {(fact.tier, fact.id) for fact in facts}
        facts = [fact for fact in self.all() if (fact.tier, fact.id) in wanted]
        decay, now = self.memory.policy.decay, self.memory.now()
        refreshes = decay is None or decay.refresh_on == "Access"
        self.put([fact.changed(accessed=now, refreshed=now if refreshes else fact.refreshed) for fact in facts])

    def confirm(self, name: str) -> bool:
        named = self._named(name)
        self.put([fact.changed(refreshed=self.memory.now()) for fact in named[:1]])
        return bool(named)

    def forget(self, name: str) -> bool:
        """In all tiers."""
        named = self._named(name)
        for tier in TIERS:
            gone = [fact.id for fact in named if fact.tier == tier]
            if gone:
                self._store_of(tier).keep(self.memory.key, self.memory.now(), [], gone)
        return bool(named)

    def put(self, facts: Sequence[Fact]) -> None:
        """In place of what has their numbers."""
        for tier in TIERS:
            same = [fact for fact in facts if fact.tier == tier]
            if same:
                self._store_of(tier).keep(self.memory.key, self.memory.now(), same, ())

    def _store_of(self, tier: str) -> FactStore:
        memory = self.memory
        store = memory.store if tier == PERSISTENT else memory.session
        if not hasattr(store, "keep"):
            raise store_failed(store.name, "this store keeps no facts")
        return store  # type: ignore[return-value]


def check_fact(confidence: float, tier: str | None, memory: str, keeps: bool) -> None:
    """InvalidValue (P452); `keeps`: whether the memory of that name has a store."""
    if tier is not None and tier not in TIERS:
        raise InvalidValue(f"a tier is one of Ephemeral, Session, Persistent, found {tier}")
    if tier == PERSISTENT and not keeps:
        raise InvalidValue(f"a persistent fact needs a store: {memory} has none")
    if not 0 <= confidence <= 1:
        raise InvalidValue(f"a confidence is a number from 0 to 1, found {confidence}")
