"""The facts of one memory of one key (M-10.1 to M-10.21): remembering, recalling, forgetting.

Persistent facts stand in the memory's store, session and ephemeral ones in the volatile store of the session. What is done to
facts takes effect at once and is no change of the log (M-10.5). Must not know: the machine, calls.
"""

from __future__ import annotations

from .errors import FixedSlot, InvalidValue, MemoryFailure, store_failed
from .facts import EPHEMERAL, PERSISTENT, SESSION, TIERS, TRUST, Fact, lowest
from .policy import HALF_LIFE
from .recalling import Found, neighbors, rank

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from .memory import Memory
    from .stores.protocol import FactStore


class Facts:
    """`task`: whose ephemeral facts are seen and written."""

    __slots__ = ("memory", "task")

    def __init__(self, memory: Memory, task: Any = None) -> None:
        self.memory = memory
        self.task = task

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

    def slots(self, wanted: Sequence[tuple[str, str]]) -> list[list[Any]]:
        """The contents of slots by tier and name, each in a list that is empty for a slot without value: one snapshot, and an
        access of all that are there (M-10.4, M-10.14)."""
        found = {(fact.tier, fact.name): fact for fact in self.all()}
        held = [found[at] for at in wanted if at in found]
        self.access(held)
        return [[found[at].content] if at in found else [] for at in wanted]

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
        found = [
            hit
            for hit in rank(self.all(), query, self.memory.now(), self.memory.policy.decay, half_life)
            if (tiers is None or hit.fact.tier in tiers)
            and hit.confidence >= min_confidence
            and hit.fact.trust in trusted
            and (archived or not hit.archived)
        ][: max(0, k)]
        if touch and found:
            self.recalled([hit.fact for hit in found])
        return found

    def recalled(self, facts: Sequence[Fact]) -> None:
        """They were given to somebody."""
        self.access(facts)
        self.memory.tell("memory:recall", {"ids": [fact.id for fact in facts], "degraded": False})

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
    ) -> Fact:
        """Checked and redacted, without a number yet."""
        memory = self.memory
        if tier is None:
            tier = PERSISTENT if memory.keeps else SESSION
        check_fact(confidence, tier, memory.name, memory.keeps)
        if memory.policy.redact:
            from .redaction import redacted_json

            name, content, about = (redacted_json(part, memory.policy.redact) for part in (name, content, list(about)))
        now = memory.now()
        sources = ["program", *memory.origins(seqs)]
        return Fact(
            -1, tier, name, content, about=about, c0=float(confidence), created=now, accessed=now, refreshed=now,
            trust=lowest(sources), seqs=sorted(set(seqs)), task=self.task if tier == EPHEMERAL else None,
        )  # fmt: skip

    def keep(self, fact: Fact) -> None:
        """An upsert by (tier, name): the number and the time of its making stay (M-10.1)."""
        while True:
            held = self.all()
            same = next((other for other in held if (other.tier, other.name) == (fact.tier, fact.name)), None)
            if same is not None and (fact.tier, fact.name) in self.memory.fixed:
                raise FixedSlot(f"the slot {fact.name} of {self.memory.name} is written once: it is not `mut`")
            fact.id = self._next_id() if same is None else same.id
            fact.created = fact.created if same is None else same.created
            try:
                return self._store_of(fact.tier).keep(self.memory.key, self.memory.now(), [fact], self._expired())
            except MemoryFailure as failure:
                if failure.variant != "Conflict":  # another process took the number
                    raise

    def _next_id(self) -> int:
        held = [*self.memory.session_facts(), *self.memory.stored_facts()]
        return max((fact.id for fact in held), default=-1) + 1

    def _expired(self) -> list[int]:
        """A key that has expired is begun anew (M-8.9)."""
        return self.memory.expired_facts()

    def access(self, facts: Sequence[Fact]) -> None:
        """M-10.14, M-10.19. They are read again: a call may have remembered others under their names meanwhile."""
        wanted = {(fact.tier, fact.id) for fact in facts}
        facts = [fact for fact in self.all() if (fact.tier, fact.id) in wanted]
        decay, now = self.memory.policy.decay, self.memory.now()
        refreshes = decay is None or decay.refresh_on == "Access"
        self._put([fact.changed(accessed=now, refreshed=now if refreshes else fact.refreshed) for fact in facts])

    def confirm(self, name: str) -> bool:
        named = self._named(name)
        self._put([fact.changed(refreshed=self.memory.now()) for fact in named[:1]])
        return bool(named)

    def forget(self, name: str) -> bool:
        """In all tiers."""
        named = self._named(name)
        for tier in TIERS:
            gone = [fact.id for fact in named if fact.tier == tier]
            if gone:
                self._store_of(tier).keep(self.memory.key, self.memory.now(), [], gone)
        return bool(named)

    def _put(self, facts: Sequence[Fact]) -> None:
        for tier in TIERS:
            same = [fact for fact in facts if fact.tier == tier]
            if same:
                self._store_of(tier).keep(self.memory.key, self.memory.now(), same, ())

    def _store_of(self, tier: str) -> FactStore:
        memory = self.memory
        store = memory.store if tier == PERSISTENT else memory.session
        if not hasattr(store, "keep"):
            raise store_failed(store.name, "stores of this kind keep no facts yet")
        return store  # type: ignore[return-value]


def check_fact(confidence: float, tier: str | None, memory: str, keeps: bool) -> None:
    """InvalidValue (P452); `keeps`: whether the memory of that name has a store."""
    if tier is not None and tier not in TIERS:
        raise InvalidValue(f"a tier is one of Ephemeral, Session, Persistent, found {tier}")
    if tier == PERSISTENT and not keeps:
        raise InvalidValue(f"a persistent fact needs a store: {memory} has none")
    if not 0 <= confidence <= 1:
        raise InvalidValue(f"a confidence is a number from 0 to 1, found {confidence}")
