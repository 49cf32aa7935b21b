"""The facts of one memory of one key (M-10.1 to M-10.21): remembering, recalling, forgetting.

Persistent facts stand in the memory's store, session and ephemeral ones in the volatile store of the session. What is done to
facts takes effect at once and is no change of the log (M-10.5). Must not know: the machine, calls.
"""

from __future__ import annotations

from ...vm.memory_steps import HALF_LIFE
from ...vm.memory_steps import OBSERVED_PREFIX as PREFIX
from ...vm.panics import Panic
from ...vm.values.metering import works_on
from .embedding import floats_of
from .entries import FixedSlot, InvalidValue, MemoryFailure, count_text, keeps_no, unnameable
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
    lowest,
    next_number,
    of_topic,
    said_by,
    surplus,
    touched_elements,
)
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
    """`task`: whose ephemeral facts are seen and written. `by`: the model or agent that is shown what is found, None for the
    program itself. `said`: the messages that a recall among them looks at, by default those of the log. `as_now`: gives the
    stored content of a slot by the type of now, None where it does not fit."""

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

    # ------------------------------------------------------------ permissions

    def may_read(self, fact: Fact) -> bool:
        access = self.memory.access
        return access is None or self.by is None or access.reads(self.by, fact.tier, fact.name)

    def may_write(self, tier: str, name: str) -> bool:
        access = self.memory.access
        return access is None or self.by is None or access.writes(self.by, tier, name)

    # ------------------------------------------------------------ reading

    def all(self) -> list[Fact]:
        """Those the task sees, by tier and id."""
        found = [fact for fact in self.memory.session_facts() if fact.tier != EPHEMERAL or fact.task == self.task]
        found += self.memory.stored_facts()
        return sorted(found, key=lambda fact: (TIERS.index(fact.tier), fact.id))

    def _named(self, name: str) -> list[Fact]:
        indexes = self._indexes()
        found = (self._slot(indexes, tier, name) for tier in TIERS)
        return [fact for fact in found if fact is not None]

    def fact(self, name: str) -> Found | None:
        named = self._named(name)
        if not named:
            return None
        found = Found(named[0], 1.0, self.memory.now(), self.memory.policy.decay)
        self._touch([named[0]])
        return found

    def slots(self, wanted: Sequence[tuple[str, str]]) -> list[list[Any]]:
        """The contents of slots by tier and name, each in a list that is empty for a slot without value: one snapshot, and an
        access of all that are there (M-10.4, M-10.14)."""
        indexes = self._indexes()
        found = [self._slot(indexes, *at) for at in wanted]
        self._touch([fact for fact in found if fact is not None])
        return [[] if fact is None else [fact.content] for fact in found]

    def _slot(self, indexes: Sequence[FactIndex], tier: str, name: str) -> Fact | None:
        """The fact of that tier and name; of a slot that was renamed also under the name before (M-8.24)."""
        found = _named_in(indexes, tier, name)
        before = self.memory.renamed.get((tier, name))
        older = None if before is None else _named_in(indexes, tier, before)
        if found is not None and older is not None:
            message = f"the slot {name} of {self.memory.name} is stored under that name and as {before}, and none of them is read"
            raise InvalidValue(f'{message}: drop one with `forget("{before}")` or `forget("{name}")`')
        return found or older

    def seen_slot(self, tier: str, name: str) -> tuple[list[Any], str]:
        """The content of one slot, in a list as those of `slots`, and what `swap` is told of it; no access."""
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
        """`tiers` may hold `messages`; `shown`: the seqs of those that whoever asks sees anyway (M-10.40)."""
        indexes = self._indexes()
        wanted = TIERS if tiers is None else [MESSAGE if tier == MESSAGES else tier for tier in tiers]
        if MESSAGE in wanted:
            indexes.append(self._spoken())
        embeds = any(len(index) and (index.graph.facts or not self.memory.keeps) for index in indexes)
        near = self._near(query, embeds)
        among = self._candidates(query, k)

        def accepts(hit: Found) -> bool:
            return (
                hit.fact.tier in wanted
                and not (hit.fact.tier == MESSAGE and hit.fact.id in shown)
                and hit.confidence >= min_confidence
                and hit.fact.trust in trusted
                and (archived or not hit.archived)
                and self.may_read(hit.fact)
                and (among is None or hit.fact.tier != PERSISTENT or hit.fact.id in among)
            )

        memory = self.memory
        found = rank(indexes, query, k, memory.now(), memory.policy.decay, half_life, near=near, accepts=accepts)
        if touch and (found or self.degraded):
            self.recalled([hit.fact for hit in found], self.degraded)
        return found

    def _indexes(self) -> list[FactIndex]:
        """Of what the task sees: facts of the session, its ephemeral ones, those of the store."""
        memory = self.memory
        own = [fact for fact in memory.session.ephemeral(memory.key) if fact.task == self.task]
        found = [memory.session.index(memory.key), FactIndex(own), memory.stored_index()]
        if memory.lists:
            for index in found:
                index.divide(memory.lists)
        return found

    def _spoken(self) -> FactIndex:
        from .recall import items_of, spoken

        return spoken(self.memory) if self.said is None else FactIndex(items_of(self.said()))

    def _candidates(self, query: str, k: int) -> frozenset[int] | None:
        """What the index of a host's store names (M-8.16)."""
        memory = self.memory
        if not (memory.keeps and hasattr(memory.store, "candidates")):
            return None
        vector = memory.embedding.known(query) if memory.embedding is not None else None
        floats = None if vector is None else list(floats_of(vector))
        return frozenset(memory.store.candidates(memory.key, sorted(set(terms(query))), floats, max(100, 10 * k)))

    def _near(self, query: str, embeds: bool) -> Callable[[Fact], float] | None:
        """What gives the relevance of the vector of a fact (M-10.10)."""
        embedding = self.memory.embedding
        self.degraded = False
        if embedding is None or not embeds:
            return None
        asked = embedding.known(query)
        self.degraded = asked is None
        return lambda fact: embedding.relevance(asked, fact)

    def recalled(self, facts: Sequence[Fact], degraded: bool = False) -> None:
        """They were given to somebody."""
        held = [fact for fact in facts if fact.tier != MESSAGE]
        self.access(held)
        told: dict[str, Any] = {"ids": [fact.id for fact in held], "degraded": degraded}
        if len(held) < len(facts):
            told["seqs"] = [fact.id for fact in facts if fact.tier == MESSAGE]
        self.memory.tell("memory:recall", told)

    def neighbors(self, entity: str, relation: str | None = None, direction: str = "both") -> list[tuple[str, int]]:
        if direction not in DIRECTIONS:
            raise InvalidValue(f"a direction is one of Out, In, Both, found {direction}")
        facts = self.all()
        works_on(len(facts))
        if relation is None and direction == "both":
            return neighbors(facts, entity)
        return related(facts, entity, relation, direction)

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
        named: bool = True,
    ) -> Fact:
        """Checked and redacted, without a number yet. `origin`: the caller, `by` the model or agent it is; `named`: name and
        subjects are its own, and none of them what a redactor rewrites, which would make one fact of several (M-4.4)."""
        memory = self.memory
        if tier is None:
            tier = PERSISTENT if memory.keeps else SESSION
        check_fact(confidence, tier, memory.name, memory.keeps)
        redactors = memory.policy.redactors
        if redactors:
            from .redaction import redacted_json

            given = name, list(about)
            name, content, about = (redacted_json(part, redactors) for part in (name, content, list(about)))
            if named and given != (name, about):
                raise unnameable("name" if given[0] != name else "subject")
        if seqs:
            following = memory.head().next
            unknown = next((seq for seq in seqs if not 0 <= seq < following), None)
            if unknown is not None:  # a message that comes later would be taken for its source
                raise InvalidValue(f"a fact derives from messages that were written: {memory.name} has no seq {unknown} yet")
        now = memory.now()
        sources = [origin, *memory.origins(seqs)]
        return Fact(
            -1, tier, name, content, about=about, c0=float(confidence), created=now, accessed=now, refreshed=now,
            trust=lowest(sources), origin=origin, by=by, seqs=sorted(set(seqs)), task=self.task if tier == EPHEMERAL else None,
        )  # fmt: skip

    def keep(self, fact: Fact) -> None:
        """An upsert by (tier, name): the number and the time of its making stay (M-10.1)."""
        self._upsert(fact, None)

    def swap(self, fact: Fact, said: str) -> bool:
        """`keep`, where what stands under its name is still what `seen_slot` said; else False, and nothing is stored (M-8.21)."""
        return self._upsert(fact, said)

    def _upsert(self, fact: Fact, said: str | None) -> bool:
        memory = self.memory
        while True:
            older = self._older(fact)
            if (self.number(fact) or older is not None) and (fact.tier, fact.name) in memory.fixed:
                raise FixedSlot(f"the slot {fact.name} of {memory.name} is written once: it is not `mut`")
            kept = fact if memory.embedding is None else memory.embedding.with_vector(fact, embedded_tier(memory))
            store, gone = self.store_of(fact.tier), self._expired()
            name = fact.name
            if older is not None:  # it is called by its new name from now on
                kept.created, gone, name = older.created, [*gone, older.id], older.name
                if (fact.tier, fact.name) in memory.lists:
                    kept.elements = carried(older, kept.content, kept.accessed, self._written_now)
            try:
                if said is not None and hasattr(store, "swap"):
                    return bool(store.swap(memory.key, memory.now(), kept, said, gone, name))
                if said is not None and said != self.seen_slot(fact.tier, fact.name)[1]:
                    return False
                store.keep(memory.key, memory.now(), [kept], gone)
                return True
            except MemoryFailure as failure:
                if failure.variant != "Conflict":  # another process took the number
                    raise

    def _older(self, fact: Fact) -> Fact | None:
        """What a renamed slot is stored as."""
        if (fact.tier, fact.name) not in self.memory.renamed:
            return None
        found = self._slot(self._indexes(), fact.tier, fact.name)
        return found if found is not None and found.name != fact.name else None

    def number(self, fact: Fact, beside: Sequence[Fact] = ()) -> bool:
        """That of the fact it replaces, or the next one; whether it replaces one. `beside`: what is stored with it."""
        held = [*self._indexes(), FactIndex(beside)] if beside else self._indexes()
        same = next(filter(None, (index.named(fact.tier, fact.name) for index in held)), None)
        if (fact.tier, fact.name) in self.memory.lists:
            fact.elements = carried(same, fact.content, fact.accessed, self._written_now)
        if same is not None:
            fact.id, fact.created = same.id, same.created
        else:
            others = [other.id for other in self.memory.session.ephemeral(self.memory.key)]
            fact.id = max([*others, *(index.highest for index in held)], default=-1) + 1
        return same is not None

    def _written_now(self, stored: Any) -> Any:
        """The content of a slot as it would be written today."""
        found, redactors = self.as_now(stored), self.memory.policy.redactors
        if not redactors:
            return found
        from .redaction import redacted_json

        return redacted_json(found, redactors)

    def _expired(self) -> list[int]:
        """A key that has expired is begun anew (M-8.9)."""
        return self.memory.expired_facts()

    def access(self, facts: Sequence[Fact]) -> None:
        """M-10.14, M-10.19. They are read again: a call may have remembered others under their names meanwhile."""
        held = self._indexes()
        wanted: dict[tuple[str, int], list[Any]] = {}
        for fact in facts:
            wanted.setdefault((fact.tier, fact.id), []).extend([] if fact.element is None else [fact.content])
        found = [index.facts.get(number) for _, number in wanted for index in held]
        there = [fact for fact in found if fact is not None and (fact.tier, fact.id) in wanted]
        self._touch(there, wanted)

    def _touch(self, facts: Sequence[Fact], elements: Mapping[tuple[str, int], Sequence[Any]] = NOTHING) -> None:
        """Of facts that were read just now; `elements`: of lists, what was recalled of them."""
        decay, now = self.memory.policy.decay, self.memory.now()
        refreshes = decay is None or decay.refresh_on == "Access"
        made = []
        for fact in facts:
            changed = fact.changed(accessed=now, refreshed=now if refreshes else fact.refreshed)
            found = elements.get((fact.tier, fact.id))
            if found and isinstance(fact.content, list):
                changed.elements = touched_elements(fact, found, now, refreshes)
            made.append(changed)
        self.put(made)

    def confirm(self, name: str) -> bool:
        named, now = self._named(name), self.memory.now()
        made = [fact.changed(refreshed=now) for fact in named[:1]]
        for fact in made:
            fact.elements = [[created, accessed, now] for created, accessed, _ in fact.elements]
        self.put(made)
        return bool(named)

    def forget_allowed(self, name: str) -> bool | None:
        """For who is bound by permissions: None when it may not write the fact. One it may not read is not there for it, so that
        nothing tells whether it is (M-10.36)."""
        access = self.memory.access
        if access is None or self.by is None:
            return self.forget(name)
        if not access.writes_in_some_tier(self.by, name):
            return None
        seen = [fact for fact in self._stored_as(name) if self.may_read(fact)]
        if any(not self.may_write(fact.tier, fact.name) for fact in seen):
            return None
        self._drop(seen)
        return bool(seen)

    def forget(self, name: str) -> bool:
        """In all tiers."""
        named = self._stored_as(name)
        self._drop(named)
        return bool(named)

    def _stored_as(self, name: str) -> list[Fact]:
        """In all tiers; of a slot that was renamed under both of its names."""
        indexes, memory = self._indexes(), self.memory
        pairs = [(tier, one) for tier in TIERS for one in (name, memory.renamed.get((tier, name))) if one is not None]
        found = (_named_in(indexes, *pair) for pair in pairs)
        return [fact for fact in found if fact is not None]

    def _drop(self, named: Sequence[Fact]) -> None:
        for tier in TIERS:
            gone = [fact.id for fact in named if fact.tier == tier]
            if gone:
                self.store_of(tier).keep(self.memory.key, self.memory.now(), [], gone)

    def put(self, facts: Sequence[Fact]) -> None:
        """Their times and vectors, where what has their numbers still says the same: else another has written it meanwhile."""
        for tier in TIERS:
            same = [fact for fact in facts if fact.tier == tier]
            if same:
                store: Any = self.store_of(tier)
                key, now = self.memory.key, self.memory.now()
                if hasattr(store, "touch"):
                    store.touch(key, now, same)
                else:
                    store.keep(key, now, same, ())

    def store_of(self, tier: str) -> FactStore:
        memory = self.memory
        store = memory.store if tier == PERSISTENT else memory.session
        if not hasattr(store, "keep"):
            raise keeps_no(store.name, "facts")
        return store  # type: ignore[return-value]


def _named_in(indexes: Sequence[FactIndex], tier: str, name: str) -> Fact | None:
    return next(filter(None, (index.named(tier, name) for index in indexes)), None)


def embedded_tier(memory: Memory) -> str:
    """That of its facts which have vectors: the persistent ones, without a store those of the session (M-10.16)."""
    return PERSISTENT if memory.keeps else SESSION


def check_fact(confidence: float, tier: str | None, memory: str, keeps: bool) -> None:
    """InvalidValue (P452); `keeps`: whether the memory of that name has a store."""
    if tier is not None and tier not in TIERS:
        raise InvalidValue(f"a tier is one of Ephemeral, Session, Persistent, found {tier}")
    if tier == PERSISTENT and not keeps:
        raise InvalidValue(f"a persistent fact needs a store: {memory} has none")
    if not 0 <= confidence <= 1:
        raise InvalidValue(f"a confidence is a number from 0 to 1, found {confidence}")


# ----------------------------------------------------------------
# Rules that learn facts from observations (M-10.22 to M-10.24): grouping, asking, and the facts to store with the observation.
#
# A rule is a function of the observations alone, so that running it again stores the same. A rule that fails stores nothing.
# Hands on `observe` and `of_turn`.


def observe(facts: Facts, topic: str, data: dict[str, Any]) -> None:
    """Stored at once, with the facts that rules make of it (M-10.7, M-10.24)."""
    memory = facts.memory
    if topic.startswith(PREFIX):
        raise InvalidValue(f"{topic} is a topic that the runtime observes: topics of a program do not begin with {PREFIX}")
    store = facts.store_of(PERSISTENT)
    data = _redacted(memory, data)
    while True:
        made = _lesson(memory, [(topic, data)])
        gone, unseen = memory.expired_facts(), [*made.unseen, *memory.expired_seen()]
        try:
            store.keep(memory.key, memory.now(), made.facts, gone, made.seen, unseen)
        except MemoryFailure as failure:
            if failure.variant != "Conflict":  # another process observed meanwhile
                raise
        else:
            return memory.tell_all(made.told)


def of_turn(observed: Sequence[tuple[str, dict[str, Any]]], run: str) -> Callable[[Memory, Sequence[Entry]], Lesson | None]:
    """What a commit stores beside the entries of a turn, of what the runtime observed of it (M-10.22, M-10.43)."""

    def learned(memory: Memory, entries: Sequence[Entry]) -> Lesson | None:
        if not observed:
            return None
        if not hasattr(memory.store, "seen"):
            raise keeps_no(memory.store.name, "observations")
        trust = lowest(["program" if entry.origin == "host" else entry.origin for entry in entries])
        redacted = [(topic, _redacted(memory, data)) for topic, data in observed]
        return _lesson(memory, redacted, [entry.seq for entry in entries], trust, run)

    return learned


def _redacted(memory: Memory, data: dict[str, Any]) -> dict[str, Any]:
    redactors = memory.policy.redactors
    if not redactors:
        return data
    from .redaction import redacted_json

    found: dict[str, Any] = redacted_json(data, redactors)
    return found


def _lesson(
    memory: Memory, observed: Sequence[tuple[str, dict[str, Any]]], seqs: Sequence[int] = (), trust: str = "program",
    run: str | None = None,
) -> Lesson:  # fmt: skip
    """Of observations that are about to be stored, each looked at with those before it; their data is redacted."""
    held = memory.seen()
    known: dict[str, list[Observation]] = {}
    made = Lesson()
    for topic, data in observed:
        before = known[topic] if topic in known else of_topic(held, topic)
        least = trust if topic not in (TOOL, FIX) else lowest([trust, "tool"])  # they hold what tools said
        new = Observation(topic, next_number(before), data, seqs, least, memory.now())
        gone = surplus(before)
        made.seen.append(new)
        made.unseen += gone
        known[topic] = [*before[len(gone) :], new]
        for rule in memory.policy.learn:
            if rule.topic == topic:
                try:
                    _apply(memory, rule, known[topic], run, made)
                except (Panic, InvalidValue, MemoryFailure) as error:
                    made.told.append(("memory:learn_failed", {"rule": rule.name, "reason": _reason(error)}))
    return made


def _apply(memory: Memory, rule: Rule, known: list[Observation], run: str | None, made: Lesson) -> None:
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
    facts.number(fact, made.facts)
    made.facts = [other for other in made.facts if other.id != fact.id] + [fact]
    made.told.append(("memory:learn", {"rule": rule.name, "fact": fact.name}))


def _reason(error: Exception) -> str:
    return error.message if isinstance(error, (Panic, MemoryFailure)) else str(error)


# ----------------------------------------------------------------
# The step `recall`: the facts a run shows for its prompt, and their access when its turn commits (M-10.15).
#
# Hands on `Recalling`, and `recalled_for` for a view.


def recalled_for(
    element: Attached, prompt: str, task: Any, by: str | None = None, beside: Sequence[Attached] = ()
) -> Recalled | None:
    """Nothing is touched yet. `by`: who is shown them; `beside`: the other elements of its list. What may stand in the system
    message comes from the program and its user only."""
    step = element.policy.recall
    if step is None:
        return None
    trusted = TRUST[:2] if step.inject == "System" else TRUST
    facts = Facts(element.memory, task, by)
    shown = _shown(element, beside, prompt) if step.tiers is not None and MESSAGES in step.tiers else frozenset()
    found = facts.recall(
        prompt, step.k, step.tiers, step.min_confidence, touch=False, half_life=step.half_life, trusted=trusted, shown=shown
    )
    lines = [(hit.score, _line(*shown_fact(element.memory, hit.fact))) for hit in found]
    return Recalled(step.inject, lines, [hit.fact for hit in found], facts.degraded)


def shown_fact(memory: Memory, fact: Fact) -> tuple[str, Any]:
    """Name and content as they may go to a model: the redaction of now, whenever they were stored (M-8.27)."""
    if not memory.policy.redact:
        return fact.name, fact.content
    from .redaction import json_shown

    return json_shown(memory.policy, fact.name), json_shown(memory.policy, fact.content)


def _shown(element: Attached, beside: Sequence[Attached], prompt: str) -> frozenset[int]:
    """The messages of the log that the request shows where no fact takes their room (M-10.40)."""
    seqs: set[int] = set()
    for one in (element, *beside):
        if one.memory == element.memory:
            view, _ = one.memory.view(prompt_tokens=count_text(prompt), policy=one.policy, name=one.view)
            seqs.update(entry.seq for entry in view.entries)
    return frozenset(seqs)


def _line(name: str, content: Any) -> str:
    """One line, whatever they hold: a fact cannot pass for two."""
    return " ".join(f"- {name}: {content_text(content)}".split("\n")).replace("\r", " ")


def count_access(memory: Memory, recalled: Recalled, view: View, task: Any) -> None:
    """Of those a limit of tokens left in the request."""
    if view.facts or recalled.degraded:
        Facts(memory, task).recalled(recalled.facts[: view.facts], recalled.degraded)


class Recalling:
    """The recall steps of a call, for the task that makes it and the model it asks."""

    __slots__ = ("task", "by", "attached")

    def __init__(self, task: Any, by: str | None = None, attached: Sequence[Attached] = ()) -> None:
        self.task = task
        self.by = by
        self.attached = attached

    def find(self, element: Attached, prompt: str) -> Recalled | None:
        return recalled_for(element, prompt, self.task, self.by, self.attached)

    def count(self, element: Attached, recalled: Recalled, view: View) -> None:
        count_access(element.memory, recalled, view, self.task)
