"""Rules that learn facts from observations (M-10.22 to M-10.24): grouping, asking, and the facts to store with the observation.

A rule is a function of the observations alone, so that running it again stores the same. A rule that fails stores nothing.
Hands on `observe` and `of_turn`. Must not know: stores, how a function is run.
"""

from __future__ import annotations

from ...vm.panics import Panic
from .errors import InvalidValue, MemoryFailure, keeps_no
from .facts import PERSISTENT, SESSION, lowest
from .observations import TURN, Observation, next_number, of_topic, surplus
from .remembering import Facts
from .rules import Group, Lesson, Rule

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from .entries import Entry
    from .memory import Memory


def observe(facts: Facts, topic: str, data: dict[str, Any]) -> None:
    """Stored at once, with the facts that rules make of it (M-10.7, M-10.24)."""
    memory = facts.memory
    store = facts.store_of(PERSISTENT)
    data = _redacted(memory, data)
    while True:
        made = _lesson(memory, topic, data)
        gone, unseen = memory.expired_facts(), [*made.unseen, *memory.expired_seen()]
        try:
            store.keep(memory.key, memory.now(), made.facts, gone, [made.seen], unseen)
        except MemoryFailure as failure:
            if failure.variant != "Conflict":  # another process observed meanwhile
                raise
        else:
            return memory.tell_all(made.told)


def of_turn(told: dict[str, Any], run: str) -> Callable[[Memory, Sequence[Entry]], Lesson | None]:
    """What a commit stores beside the entries of a turn, when a rule asks for turns (M-10.22)."""

    def learned(memory: Memory, entries: Sequence[Entry]) -> Lesson | None:
        if not any(rule.topic == TURN for rule in memory.policy.learn):
            return None
        if not hasattr(memory.store, "seen"):
            raise keeps_no(memory.store.name, "observations")
        trust = lowest(["program" if entry.origin == "host" else entry.origin for entry in entries])
        return _lesson(memory, TURN, _redacted(memory, told), [entry.seq for entry in entries], trust, run)

    return learned


def _redacted(memory: Memory, data: dict[str, Any]) -> dict[str, Any]:
    redactors = memory.policy.redactors
    if not redactors:
        return data
    from .redaction import redacted_json

    found: dict[str, Any] = redacted_json(data, redactors)
    return found


def _lesson(
    memory: Memory, topic: str, data: dict[str, Any], seqs: Sequence[int] = (), trust: str = "program", run: str | None = None
) -> Lesson:
    """Of an observation that is about to be stored; `data` is redacted."""
    held = of_topic(memory.seen(), topic)
    new = Observation(topic, next_number(held), data, seqs, trust, memory.now())
    made = Lesson(new, surplus(held))
    known = held[len(made.unseen) :]
    for rule in memory.policy.learn:
        if rule.topic == topic:
            try:
                _apply(memory, rule, [*known, new], run, made)
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
