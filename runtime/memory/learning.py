"""Rules that learn facts from observations (M-10.22 to M-10.24): grouping, asking, and the facts to store with the observation.

A rule is a function of the observations alone, so that running it again stores the same. A rule that fails stores nothing.
Hands on `observe` and `of_turn`. Must not know: stores, how a function is run.
"""

from __future__ import annotations

from ...vm.bytecode.memory_steps import OBSERVED_PREFIX as PREFIX
from ...vm.panics import Panic
from .errors import InvalidValue, MemoryFailure, keeps_no
from .facts import PERSISTENT, SESSION, lowest
from .happenings import FIX, TOOL
from .observations import Observation, next_number, of_topic, surplus
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
