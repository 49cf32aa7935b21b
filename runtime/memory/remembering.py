"""The facts of one memory at one key (M-10.1 to M-10.24): remembering, recalling, forgetting, and the rules that learn
facts.

Hands on `Facts` (all of it for one task) to methods, tools and performers of memories and to `vectors.py`; for learning `observe`
to `fact_methods.py` and `of_turn` to `turns.py`; for the step `recall` `recalled_for` to `methods.py` and `Recalling` to
`effects/conversations.py`; and to those who need the same rule `check_fact` (`fact_methods.py`), `embedded_tier` (`vectors.py`)
and `shown_fact` (`tools/memory_tools.py`). Persistent facts are in the memory's store, session and ephemeral ones in the volatile
store of the session. A change of facts takes effect at once and is no change of the log (M-10.5); what a turn teaches is stored
with its commit. Ranking is in `recall.py`, the index in `fact_index.py`.

The *tier* of a fact says how long it lives: `ephemeral` to the end of the turn, `session`, `persistent` in the store. An *access*
is the time at which a fact was last given to somebody; it counts in its rank.
"""

from __future__ import annotations

from ...vm.memory_steps import HALF_LIFE
from ...vm.memory_steps import OBSERVED_PREFIX as PREFIX
from ...vm.panics import Panic
from ...vm.record import record
from ...vm.values.metering import works_on
from .embedding import floats_of
from .entries import count_text
from .fact_index import FactIndex
from .facts import (
    EPHEMERAL,
    FIX,
    MESSAGE,
    PERSISTENT,
    SESSION,
    TIERS,
    TOOL,
    TRUST,
    Fact,
    Observation,
    carried,
    content_text,
    cut,
    lowest,
    next_number,
    of_topic,
    said_by,
    surplus,
    touched_elements,
)
from .failures import FixedSlot, InvalidValue, MemoryFailure, keeps_no, unnameable
from .policy import Group, Lesson, Rule
from .recall import DIRECTIONS, Found, neighbors, rank, related
from .terms import terms
from .views import Recalled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from typing import Any

    from .entries import Entry
    from .memory import Memory
    from .stores.protocol import FactStore
    from .turns import Attached
    from .views import View


MESSAGES = "messages"
NOTHING: Mapping[tuple[str, int], Sequence[Any]] = {}


class Facts:
    """The facts of one memory as one task sees and writes them.

    `task`: the path of the task, whose ephemeral facts are seen and written. `by`: the model or agent that is shown the result,
    None for the program itself, which no permission binds. `said`: returns the messages that a recall searches besides facts, by
    default those of the log. `as_now`: returns the stored content of a slot in the type of now, None where it does not fit.
    Permissions bind `recall` and `forget_allowed` alone; for the other methods the caller asks `may_read` and `may_write`. Wrong
    values raise InvalidValue; so do `fact`, `slots`, `seen_slot`, `confirm`, `keep` and `swap` for a renamed slot that is stored
    under both names. Stores raise MemoryFailure, and MustWait, having changed nothing, where one has to be waited for.
    """

    __slots__ = ("memory", "task", "by", "said", "degraded", "as_now")

    def __init__(
        self, memory: Memory, task: Any = None, by: str | None = None, said: Callable[[], Sequence[Entry]] | None = None
    ) -> None:
        self.memory = memory
        self.task = task
        self.by = by
        self.said = said
        self.as_now: Callable[[Any], Any] = lambda stored: stored
        self.degraded = False
        """Whether the newest query was ranked without the vectors it should have (M-10.16)."""

    def may_read(self, fact: Fact) -> bool:
        """Return whether the model or agent may read the fact (M-10.35)."""
        access = self.memory.access
        return access is None or self.by is None or access.reads(self.by, fact.tier, fact.name)

    def may_write(self, tier: str, name: str) -> bool:
        """Return whether the model or agent may write a fact of that tier and name (M-10.35)."""
        access = self.memory.access
        return access is None or self.by is None or access.writes(self.by, tier, name)

    def all(self) -> list[Fact]:
        """Return the facts that the task sees, in the order of TIERS and then by number."""
        facts = [fact for fact in self.memory.session_facts() if fact.tier != EPHEMERAL or fact.task == self.task]
        facts += self.memory.stored_facts()
        return sorted(facts, key=lambda fact: (TIERS.index(fact.tier), fact.id))

    def _named(self, name: str) -> list[Fact]:
        """Return the facts of that name, in the order of the tiers."""
        indexes = self._indexes()
        by_tier = (self._slot(indexes, tier, name) for tier in TIERS)
        return [fact for fact in by_tier if fact is not None]

    def fact(self, name: str) -> Found | None:
        """Return the fact of that name with its scores, its relevance being 1, from the first of TIERS that has one, and note an
        access; None without one (M-10.7)."""
        named = self._named(name)
        if not named:
            return None
        hit = Found(named[0], 1.0, self.memory.now(), self.memory.policy.decay)
        self._touch([named[0]])
        return hit

    def slots(self, places: Sequence[tuple[str, str]]) -> list[list[Any]]:
        """Return the contents of slots, given by tier and name, each in a list that is empty for a slot without value. All are
        of one snapshot, and count as accessed (M-10.4, M-10.14). Raises InvalidValue for a renamed slot that is stored
        under both names."""
        indexes = self._indexes()
        facts = [self._slot(indexes, *place) for place in places]
        self._touch([fact for fact in facts if fact is not None])
        return [[] if fact is None else [fact.content] for fact in facts]

    def _slot(self, indexes: Sequence[FactIndex], tier: str, name: str) -> Fact | None:
        """Return the fact of that tier and name, or of the name before when the slot was renamed (M-8.24). Raises
        InvalidValue when both are stored."""
        current = _named_in(indexes, tier, name)
        before = self.memory.renamed.get((tier, name))
        older = None if before is None else _named_in(indexes, tier, before)
        if current is not None and older is not None:
            message = f"the slot {name} of {self.memory.name} is stored under that name and as {before}, and none of them is read"
            raise InvalidValue(f'{message}: drop one with `forget("{before}")` or `forget("{name}")`')
        return current or older

    def seen_slot(self, tier: str, name: str) -> tuple[list[Any], str]:
        """Return the content of one slot, in a list as `slots` has it, and the text by which `swap` recognises it. It is no
        access. Raises as `slots`."""
        fact = self._slot(self._indexes(), tier, name)
        return ([] if fact is None else [fact.content], said_by(fact))

    def recall(
        self,
        query: str,
        k: int,
        tiers: Collection[str] | None = None,
        min_confidence: float = 0.0,
        archived: bool = False,
        touch: bool = True,
        half_life: int = HALF_LIFE,
        trusted: Sequence[str] = TRUST,
        shown: frozenset[int] = frozenset(),
    ) -> list[Found]:
        """Return the best `k` facts for the query that `by` may read, best first; with `touch` note their access as `recalled`
        does, where something was found or `degraded` is set (M-10.9 to M-10.14).

        `tiers` None searches all tiers of facts; `messages` in it searches the log (M-10.40), without the entries in `shown`,
        which the asker sees anyway. Facts below `min_confidence` are left out, and archived ones unless `archived` is set.
        `half_life` is in ms; `trusted` are the trusts that count. A query whose vector is not known yet (`memory/embedding.py:
        Embedding.fill`) is ranked without vectors, and sets `degraded` where a fact might have one.
        """
        indexes = self._indexes()
        searched = TIERS if tiers is None else [MESSAGE if tier == MESSAGES else tier for tier in tiers]
        if MESSAGE in searched:
            indexes.append(self._spoken())
        # Without a fact of the tier that has vectors the query needs none.
        embeds = any(len(index) and (index.graph.facts or not self.memory.keeps) for index in indexes)
        near = self._near(query, embeds)
        among = self._candidates(query, k)

        def accepts(hit: Found) -> bool:
            return (
                hit.fact.tier in searched
                and not (hit.fact.tier == MESSAGE and hit.fact.id in shown)
                and hit.confidence >= min_confidence
                and hit.fact.trust in trusted
                and (archived or not hit.archived)
                and self.may_read(hit.fact)
                and (among is None or hit.fact.tier != PERSISTENT or hit.fact.id in among)
            )

        memory = self.memory
        hits = rank(indexes, query, k, memory.now(), memory.policy.decay, half_life, near=near, accepts=accepts)
        if touch and (hits or self.degraded):
            self.recalled([hit.fact for hit in hits], self.degraded)
        return hits

    def _indexes(self) -> list[FactIndex]:
        """Return indexes of the facts that the task sees: of the session, its ephemeral ones, those of the store."""
        memory = self.memory
        indexes = [memory.session.index(memory.key)]
        own = [fact for fact in memory.session.ephemeral(memory.key) if fact.task == self.task]
        if own:
            indexes.append(FactIndex(own))
        indexes.append(memory.stored_index())
        if memory.lists:
            for index in indexes:
                index.divide(memory.lists)
        return indexes

    def _spoken(self) -> FactIndex:
        """Return the index of messages that a recall searches."""
        from .recall import items_of, spoken

        return spoken(self.memory) if self.said is None else FactIndex(items_of(self.said()))

    def _candidates(self, query: str, k: int) -> frozenset[int] | None:
        """Return the numbers of the facts that the index of a host's store names (M-8.16); None for a store without one."""
        memory = self.memory
        if not (memory.keeps and hasattr(memory.store, "candidates")):
            return None
        vector = memory.embedding.known(query) if memory.embedding is not None else None
        floats = None if vector is None else list(floats_of(vector))
        return frozenset(memory.store.candidates(memory.key, sorted(set(terms(query))), floats, max(100, 10 * k)))

    def _near(self, query: str, embeds: bool) -> Callable[[Fact], float] | None:
        """Return the function that rates the vector of a fact for the query (M-10.10), None without vectors. Sets
        `degraded` when the query has no vector."""
        embedding = self.memory.embedding
        self.degraded = False
        if embedding is None or not embeds:
            return None
        query_vector = embedding.known(query)
        self.degraded = query_vector is None
        return lambda fact: embedding.relevance(query_vector, fact)

    def recalled(self, facts: Sequence[Fact], degraded: bool = False) -> None:
        """Note that facts and messages were given to somebody: an access, and the event `memory:recall`. `degraded` goes into
        the event."""
        remembered = [fact for fact in facts if fact.tier != MESSAGE]
        self.access(remembered)
        payload: dict[str, Any] = {"ids": [fact.id for fact in remembered], "degraded": degraded}
        if len(remembered) < len(facts):
            payload["seqs"] = [fact.id for fact in facts if fact.tier == MESSAGE]
        self.memory.tell("memory:recall", payload)

    def neighbors(self, entity: str, relation: str | None = None, direction: str = "both") -> list[tuple[str, int]]:
        """Return the entities that share a fact with this one; with a `relation`, or a direction other than `both`, those that
        such a relation (None: any) connects with it. Each comes with the number of such facts, as `recall.neighbors` orders
        them (M-10.41). Raises InvalidValue for a direction that is none of DIRECTIONS."""
        if direction not in DIRECTIONS:
            raise InvalidValue(f"a direction is one of Out, In, Both, found {direction}")
        facts = self.all()
        works_on(len(facts))
        if relation is None and direction == "both":
            return neighbors(facts, entity)
        return related(facts, entity, relation, direction)

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
        named: bool = True,
    ) -> Fact:
        """Return a fact that is checked and redacted, but has no number yet. Nothing is stored.

        `tier` None is persistent, in a memory without a store that of the session. `origin` is the caller, `by` the model
        or agent it is. `named`: name and subjects are the caller's own, and a redactor may rewrite none of them, which
        would make one fact of several (M-4.4). Raises MemoryFailure("Redaction") if it does, or fails, and InvalidValue for
        values that no fact has, such as a `seq` that no entry has had.
        """
        memory = self.memory
        if tier is None:
            tier = PERSISTENT if memory.keeps else SESSION
        check_fact(confidence, tier, memory.name, memory.keeps)
        redactors = memory.policy.redactors
        if redactors:
            from .redaction import redacted_json

            before_redaction = name, list(about)
            name, content, about = (redacted_json(part, redactors) for part in (name, content, list(about)))
            if named and before_redaction != (name, about):
                raise unnameable("name" if before_redaction[0] != name else "subject")
        if seqs:
            following = memory.head().next
            unknown = next((seq for seq in seqs if not 0 <= seq < following), None)
            if unknown is not None:  # else a later message would count as its source
                raise InvalidValue(f"a fact derives from messages that were written: {memory.name} has no seq {unknown} yet")
        now = memory.now()
        sources = [origin, *memory.origins(seqs)]
        return Fact(
            -1, tier, name, content, about=about, c0=float(confidence), created=now, accessed=now, refreshed=now,
            trust=lowest(sources), origin=origin, by=by, seqs=sorted(set(seqs)), task=self.task if tier == EPHEMERAL else None,
        )  # fmt: skip

    def keep(self, fact: Fact) -> None:
        """Store the fact in place of the one with its tier and name; that one's number and creation time stay (M-10.1), of a
        renamed slot that is stored under the name before only the creation time. The fact is given its number, in place. Raises
        FixedSlot for a slot without `mut` that has a value."""
        self._upsert(fact, None)

    def keep_all(self, facts: Sequence[Fact], gone: Collection[str]) -> None:
        """Store persistent facts, each in place of the one with its name, and remove those with the names `gone`, if there are
        such; all of it in one transaction, and again when another process took a number. The facts are given their numbers, in
        place. Nothing is asked of slots: neither `mut` nor a name before."""
        memory = self.memory
        while True:
            index, beside = memory.stored_index(), FactIndex()
            among = self.numbered_by(beside)
            for fact in facts:
                self.number(fact, among)
                beside.change([fact], ())
            removed = [older.id for name in gone if (older := index.named(PERSISTENT, name)) is not None]
            try:
                self.store_of(PERSISTENT).keep(memory.key, memory.now(), facts, [*self._expired(), *removed])
                return
            except MemoryFailure as failure:
                if failure.variant != "Conflict":
                    raise

    def swap(self, fact: Fact, said: str) -> bool:
        """Store the fact as `keep` does, and return True, if the content under its name is still what `seen_slot` returned as
        `said`; return False and store nothing if not (M-8.21). Raises as `keep`."""
        return self._upsert(fact, said)

    def _upsert(self, fact: Fact, said: str | None) -> bool:
        memory = self.memory
        while True:
            older = self._older(fact)
            # `number` first: it also gives the fact its number.
            if (self.number(fact) or older is not None) and (fact.tier, fact.name) in memory.fixed:
                raise FixedSlot(f"the slot {fact.name} of {memory.name} is written once: it is not `mut`")
            stored = fact if memory.embedding is None else memory.embedding.with_vector(fact, embedded_tier(memory))
            store, leaving = self.store_of(fact.tier), self._expired()
            name = fact.name
            if older is not None:  # it is called by its new name from now on
                stored.created, leaving, name = older.created, [*leaving, older.id], older.name
                if (fact.tier, fact.name) in memory.lists:
                    stored.elements = carried(older, stored.content, stored.accessed, self._written_now)
            try:
                if said is not None and hasattr(store, "swap"):
                    return bool(store.swap(memory.key, memory.now(), stored, said, leaving, name))
                if said is not None and said != self.seen_slot(fact.tier, fact.name)[1]:
                    return False
                store.keep(memory.key, memory.now(), [stored], leaving)
                return True
            except MemoryFailure as failure:
                if failure.variant != "Conflict":  # another process took the number
                    raise

    def _older(self, fact: Fact) -> Fact | None:
        """Return the fact that a renamed slot is stored as under its name before, None when it has the new name."""
        if (fact.tier, fact.name) not in self.memory.renamed:
            return None
        stored = self._slot(self._indexes(), fact.tier, fact.name)
        return stored if stored is not None and stored.name != fact.name else None

    def numbered_by(self, beside: FactIndex) -> list[FactIndex]:
        """Return the indexes by which `number` numbers several facts of session or store that are stored together; `beside` has
        those that were numbered before."""
        return [*self._indexes(), FactIndex(self.memory.session.ephemeral(self.memory.key)), beside]

    def number(self, fact: Fact, among: Sequence[FactIndex] = ()) -> bool:
        """Give the fact, in place, the number and creation time of the one it replaces, or the next free number, and where it
        is a list the times of its elements; return whether it replaces one. `among`: what `numbered_by` has returned, of a fact
        that is stored alone nothing."""
        indexes = among or self._indexes()
        same = next(filter(None, (index.named(fact.tier, fact.name) for index in indexes)), None)
        if (fact.tier, fact.name) in self.memory.lists:
            fact.elements = carried(same, fact.content, fact.accessed, self._written_now)
        if same is not None:
            fact.id, fact.created = same.id, same.created
        else:
            others = [] if among else [other.id for other in self.memory.session.ephemeral(self.memory.key)]
            fact.id = max([*others, *(index.highest for index in indexes)], default=-1) + 1
        return same is not None

    def _written_now(self, stored: Any) -> Any:
        """Return the stored content of a slot as it would be written today, by its type and the redaction of now."""
        content, redactors = self.as_now(stored), self.memory.policy.redactors
        if not redactors:
            return content
        from .redaction import redacted_json

        return redacted_json(content, redactors)

    def _expired(self) -> list[int]:
        """Return the numbers of the facts of an expired key: it begins anew (M-8.9)."""
        return self.memory.expired_facts()

    def access(self, facts: Sequence[Fact]) -> None:
        """Note an access of facts (M-10.14, M-10.19). They are read again, since a call may have stored others under
        their numbers meanwhile."""
        indexes = self._indexes()
        elements: dict[tuple[str, int], list[Any]] = {}
        for fact in facts:
            elements.setdefault((fact.tier, fact.id), []).extend([] if fact.element is None else [fact.content])
        stored = [index.facts.get(number) for _, number in elements for index in indexes]
        self._touch([fact for fact in stored if fact is not None and (fact.tier, fact.id) in elements], elements)

    def _touch(self, facts: Sequence[Fact], elements: Mapping[tuple[str, int], Sequence[Any]] = NOTHING) -> None:
        """Store the access of facts that were read just now. `elements`: of facts that are lists, the contents that were
        recalled, by tier and number."""
        decay, now = self.memory.policy.decay, self.memory.now()
        refreshes = decay is None or decay.refresh_on == "Access"
        touched_facts = []
        for fact in facts:
            changed = fact.changed(accessed=now, refreshed=now if refreshes else fact.refreshed)
            recalled = elements.get((fact.tier, fact.id))
            if recalled and isinstance(fact.content, list):
                changed.elements = touched_elements(fact, recalled, now, refreshes)
            touched_facts.append(changed)
        self.put(touched_facts)

    def confirm(self, name: str) -> bool:
        """Refresh the confidence of the fact of that name, in the first of TIERS that has one; return whether there is one
        (M-10.19)."""
        named, now = self._named(name), self.memory.now()
        confirmed = [fact.changed(refreshed=now) for fact in named[:1]]
        for fact in confirmed:
            fact.elements = [[created, accessed, now] for created, accessed, _ in fact.elements]
        self.put(confirmed)
        return bool(named)

    def forget_allowed(self, name: str) -> bool | None:
        """Forget as `forget` does for a model or agent; return None, and remove nothing, when it may write that name in no tier,
        or may not write one of the facts. A fact that it may not read does not exist for it, and stays, so that the answer tells
        nothing of it (M-10.36)."""
        access = self.memory.access
        if access is None or self.by is None:
            return self.forget(name)
        if not access.writes_in_some_tier(self.by, name):
            return None
        readable = [fact for fact in self._stored_as(name) if self.may_read(fact)]
        if any(not self.may_write(fact.tier, fact.name) for fact in readable):
            return None
        self._drop(readable)
        return bool(readable)

    def forget(self, name: str) -> bool:
        """Remove the facts of that name in all tiers, of a renamed slot under both names; return whether there was one."""
        named = self._stored_as(name)
        self._drop(named)
        return bool(named)

    def _stored_as(self, name: str) -> list[Fact]:
        """Return the facts of that name in all tiers; of a renamed slot under both of its names."""
        indexes, memory = self._indexes(), self.memory
        pairs = [(tier, one) for tier in TIERS for one in (name, memory.renamed.get((tier, name))) if one is not None]
        by_name = (_named_in(indexes, *pair) for pair in pairs)
        return [fact for fact in by_name if fact is not None]

    def _drop(self, named: Sequence[Fact]) -> None:
        for tier in reversed(TIERS):  # the store first: where it fails or has to be waited for, nothing is removed
            numbers = [fact.id for fact in named if fact.tier == tier]
            if numbers:
                self.store_of(tier).keep(self.memory.key, self.memory.now(), [], numbers)

    def put(self, facts: Sequence[Fact]) -> None:
        """Store times and vectors of facts, in a store with `touch` only where the stored fact of that number still says the
        same: another may have written it meanwhile. A store without `touch` gets the facts as they are."""
        for tier in reversed(TIERS):  # the store first, which may have to be waited for
            same = [fact for fact in facts if fact.tier == tier]
            if same:
                store: Any = self.store_of(tier)
                key, now = self.memory.key, self.memory.now()
                if hasattr(store, "touch"):
                    store.touch(key, now, same)
                else:
                    store.keep(key, now, same, ())

    def store_of(self, tier: str) -> FactStore:
        """Return the store of a tier: the memory's for PERSISTENT, else the session's. Raises MemoryFailure("Store") when it
        keeps no facts."""
        memory = self.memory
        store = memory.store if tier == PERSISTENT else memory.session
        if not hasattr(store, "keep"):
            raise keeps_no(store.name, "facts")
        return store  # type: ignore[return-value]


def _named_in(indexes: Sequence[FactIndex], tier: str, name: str) -> Fact | None:
    return next(filter(None, (index.named(tier, name) for index in indexes)), None)


def embedded_tier(memory: Memory) -> str:
    """Return the tier whose facts have vectors: the persistent ones, or those of the session in a memory without a store
    (M-10.16)."""
    return PERSISTENT if memory.keeps else SESSION


def check_fact(confidence: float, tier: str | None, memory: str, keeps: bool) -> None:
    """Raise InvalidValue (P452) for a confidence or tier that no fact has; a `tier` of None passes. `keeps`: whether the memory
    of the name `memory` has a store."""
    if tier is not None and tier not in TIERS:
        raise InvalidValue(f"a tier is one of Ephemeral, Session, Persistent, found {tier}")
    if tier == PERSISTENT and not keeps:
        raise InvalidValue(f"a persistent fact needs a store: {memory} has none")
    if not 0 <= confidence <= 1:
        raise InvalidValue(f"a confidence is a number from 0 to 1, found {confidence}")


# Rules that learn facts from observations (M-10.22 to M-10.24). A rule is a function of the observations alone, so that running
# it again stores the same; a rule that fails stores nothing.


def observe(facts: Facts, topic: str, data: dict[str, Any]) -> None:
    """Store an observation of the program at once, with the facts that rules make of it (M-10.7, M-10.24). A rule that fails
    stores and raises nothing: it is told as the event `memory:learn_failed`. Raises InvalidValue for a topic of the runtime,
    MemoryFailure("Store") where the store keeps no facts, "Redaction" where the data cannot be redacted, any other of the store,
    and MustWait."""
    memory = facts.memory
    if topic.startswith(PREFIX):
        raise InvalidValue(f"{topic} is a topic that the runtime observes: topics of a program do not begin with {PREFIX}")
    store = facts.store_of(PERSISTENT)
    data = _redacted(memory, data)
    while True:
        lesson = _lesson(memory, [(topic, data)])
        expired, unseen = memory.expired_facts(), [*lesson.unseen, *memory.expired_seen()]
        try:
            store.keep(memory.key, memory.now(), lesson.facts, expired, lesson.seen, unseen)
        except MemoryFailure as failure:
            if failure.variant != "Conflict":  # another process observed meanwhile
                raise
        else:
            return memory.tell_all(lesson.told)


def of_turn(observed: Sequence[tuple[str, dict[str, Any]]], run: str) -> Callable[[Memory, Sequence[Entry]], Lesson | None]:
    """Return the function that makes, at a commit, the observations and facts of a turn, from what the runtime observed
    of it (M-10.22, M-10.43): `observed` has topic and data of each, `run` is the id of the run. The function takes the memory and
    the entries of the turn; it stores nothing, returns None when nothing was observed, and raises MemoryFailure as `observe`
    ("Store" where the store keeps no observations)."""

    def learn(memory: Memory, entries: Sequence[Entry]) -> Lesson | None:
        if not observed:
            return None
        if not hasattr(memory.store, "seen"):
            raise keeps_no(memory.store.name, "observations")
        trust = lowest(["program" if entry.origin == "host" else entry.origin for entry in entries])
        redacted = [(topic, cut(topic, _redacted(memory, data))) for topic, data in observed]
        return _lesson(memory, redacted, [entry.seq for entry in entries], trust, run)

    return learn


def _redacted(memory: Memory, data: dict[str, Any]) -> dict[str, Any]:
    redactors = memory.policy.redactors
    if not redactors:
        return data
    from .redaction import redacted_json

    clean: dict[str, Any] = redacted_json(data, redactors)
    return clean


def _lesson(
    memory: Memory, observed: Sequence[tuple[str, dict[str, Any]]], seqs: Sequence[int] = (), trust: str = "program",
    run: str | None = None,
) -> Lesson:  # fmt: skip
    """Return what observing these stores; each observation is looked at with those before it. Their data is redacted
    already."""
    stored = memory.seen()
    by_topic: dict[str, list[Observation]] = {}
    lesson = Lesson()
    for topic, data in observed:
        before = by_topic[topic] if topic in by_topic else of_topic(stored, topic)
        least = trust if topic not in (TOOL, FIX) else lowest([trust, "tool"])  # their data comes from tools
        new = Observation(topic, next_number(before), data, seqs, least, memory.now())
        leaving = surplus(before)
        lesson.seen.append(new)
        lesson.unseen += leaving
        by_topic[topic] = [*before[len(leaving) :], new]
        for rule in memory.policy.learn:
            if rule.topic == topic:
                try:
                    _apply(memory, rule, by_topic[topic], run, lesson)
                except (Panic, InvalidValue, MemoryFailure) as error:
                    lesson.told.append(("memory:learn_failed", {"rule": rule.name, "reason": _reason(error)}))
    return lesson


def _apply(memory: Memory, rule: Rule, known: list[Observation], run: str | None, lesson: Lesson) -> None:
    """Apply a rule to the newest of `known`, all observations of its topic, and add its fact to the lesson."""
    key = rule.group(known[-1])
    if key is None:
        return
    group = Group(key, rule.members(key, known))
    if not rule.when(group):
        return
    content, confidence, about = rule.store(group)
    facts = Facts(memory)
    tier = PERSISTENT if memory.keeps else SESSION
    fact = facts.drafted(f"{rule.name}/{key}", content, confidence, tier, about, named=False)
    fact.origin, fact.rule, fact.run = "rule", rule.name, run
    fact.seqs = sorted({seq for one in group.members for seq in one.seqs})
    fact.trust = lowest([fact.trust, *(one.trust for one in group.members)])
    # Two rules of one turn may make facts of one name; the later one replaces the earlier.
    facts.number(fact, facts.numbered_by(FactIndex(lesson.facts)))
    lesson.facts = [other for other in lesson.facts if other.id != fact.id] + [fact]
    lesson.told.append(("memory:learn", {"rule": rule.name, "fact": fact.name}))


def _reason(error: Exception) -> str:
    return error.message if isinstance(error, (Panic, MemoryFailure)) else str(error)


# The step `recall`: the facts that a run shows for its prompt, and their access when its turn commits (M-10.15).


def recalled_for(
    element: Attached, prompt: str, task: Any, by: str | None = None, beside: Sequence[Attached] = ()
) -> Recalled | None:
    """Return what the step `recall` of an element finds for the prompt, None without the step; no access is noted yet. `task`:
    the path of the task that calls; `by`: the model that is shown the facts; `beside`: all elements of its list. In a system
    message only facts of the trust `program` or `user` may stand. Raises the MemoryFailure of the store, or of a redactor,
    MustWait, and where the step searches messages what a view of the element raises (`MemoryReader.view`)."""
    step = element.policy.recall
    if step is None:
        return None
    trusted = TRUST[:2] if step.inject == "System" else TRUST
    facts = Facts(element.memory, task, by)
    shown = _shown(element, beside, prompt) if step.tiers is not None and MESSAGES in step.tiers else frozenset()
    hits = facts.recall(
        prompt, step.k, step.tiers, step.min_confidence, touch=False, half_life=step.half_life, trusted=trusted, shown=shown
    )
    lines = [(hit.score, _line(*shown_fact(element.memory, hit.fact))) for hit in hits]
    return Recalled(step.inject, lines, [hit.fact for hit in hits], facts.degraded)


def shown_fact(memory: Memory, fact: Fact) -> tuple[str, Any]:
    """Return name and content of a fact as they may go to a model: by the redaction of now, whenever they were stored
    (M-8.27). Raises MemoryFailure("Redaction") when a redactor fails."""
    if not memory.policy.redact:
        return fact.name, fact.content
    from .redaction import json_shown

    return json_shown(memory.policy, fact.name), json_shown(memory.policy, fact.content)


def _shown(element: Attached, beside: Sequence[Attached], prompt: str) -> frozenset[int]:
    """Return the numbers of the entries that the request shows where no fact takes their room (M-10.40)."""
    seqs: set[int] = set()
    for one in (element, *beside):
        if one.memory == element.memory:
            view, _ = one.memory.view(prompt_tokens=count_text(prompt), policy=one.policy, name=one.view)
            seqs.update(entry.seq for entry in view.entries)
    return frozenset(seqs)


def _line(name: str, content: Any) -> str:
    """Return a fact as one line, whatever it holds, so that no fact can look like two."""
    return " ".join(f"- {name}: {content_text(content)}".split("\n")).replace("\r", " ")


def count_access(memory: Memory, recalled: Recalled, view: View, task: Any) -> None:
    """Note an access of the facts that a limit of tokens left in the request, for the task of that path. Raises the MemoryFailure
    of the store, and MustWait."""
    if view.facts or recalled.degraded:
        Facts(memory, task).recalled(recalled.facts[: view.facts], recalled.degraded)


@record
class Recalling:
    """The recall steps of a call, for the task of that path that makes it and the model that it asks, `by`. `attached` are all
    elements of its list. It is the `Recall` of `turns.py`."""

    task: Any
    by: str | None = None
    attached: Sequence[Attached] = ()

    def find(self, element: Attached, prompt: str) -> Recalled | None:
        """Return the facts for one element of the call, perhaps none; None for an element without the step. Raises as
        `recalled_for`."""
        return recalled_for(element, prompt, self.task, self.by, self.attached)

    def count(self, element: Attached, recalled: Recalled, view: View) -> None:
        """Note the access of the facts that the request showed. Raises the MemoryFailure of the store, and MustWait."""
        count_access(element.memory, recalled, view, self.task)
