"""Rules that learn facts from observations (M-10.22 to M-10.24): grouping, asking, and the facts to store with the observation.

A rule is a function of the observations alone, so that running it again stores the same. A rule that fails stores nothing.
Hands on `Rule`, `Group`, `Lesson` and `lesson`. Must not know: stores, how a function is run.
"""

from __future__ import annotations

from contextlib import suppress

from ...vm.panics import Panic
from .errors import InvalidValue, MemoryFailure
from .facts import PERSISTENT, SESSION, lowest
from .observations import Observation, next_number, of_topic, surplus
from .remembering import Facts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from .facts import Fact
    from .memory import Memory

    Learned = tuple[Any, float, list[str]]
    """Content, confidence, `about`."""

GROUPS_KNOWN = 4_096


class Rule:
    """One step `learn`. `by` gives the group of an observation, by its data alone, or None; `when` and `store` are given a
    group."""

    __slots__ = ("name", "topic", "by", "when", "store", "_groups")

    def __init__(
        self,
        *,
        name: str,
        on: str,
        by: Callable[[Observation], str | None],
        when: Callable[[Group], bool],
        store: Callable[[Group], Learned],
    ) -> None:
        self.name = name
        self.topic = on
        self.by = by
        self.when = when
        self.store = store
        self._groups: dict[str, str | None] = {}

    def group(self, observation: Observation) -> str | None:
        """`by` is a function of the data: what it gave once, it gives again."""
        text = observation.text
        if text not in self._groups:
            if len(self._groups) >= GROUPS_KNOWN:
                self._groups.clear()
            self._groups[text] = None  # what it fails for is in no group, and was reported when it was observed
            self._groups[text] = self.by(observation)
        return self._groups[text]

    def members(self, key: str, known: Sequence[Observation]) -> list[Observation]:
        found = []
        for one in known:
            if one.text not in self._groups:
                with suppress(Panic):
                    self.group(one)
            if self._groups[one.text] == key:
                found.append(one)
        return found

    def __eq__(self, other: object) -> bool:
        same = ("name", "topic", "by", "when", "store")
        return isinstance(other, Rule) and all(getattr(self, name) == getattr(other, name) for name in same)

    __hash__ = None  # type: ignore[assignment]


class Group:
    """The observations of one group, oldest first; `shown` as there."""

    __slots__ = ("key", "members", "shown")

    def __init__(self, key: str, members: list[Observation]) -> None:
        self.key = key
        self.members = members
        self.shown: Any = None


class Lesson:
    """What one observation stores: itself, what leaves for it, and the facts that rules made; `told` are the events of that."""

    __slots__ = ("seen", "unseen", "facts", "told")

    def __init__(self, seen: Observation, unseen: list[tuple[str, int]]) -> None:
        self.seen = seen
        self.unseen = unseen
        self.facts: list[Fact] = []
        self.told: list[tuple[str, dict[str, Any]]] = []

    def tell(self, memory: Memory) -> None:
        for channel, payload in self.told:
            memory.tell(channel, payload)


def lesson(
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
    fact = facts.drafted(f"{rule.name}/{key}", content, confidence, PERSISTENT if memory.keeps else SESSION, about)
    fact.origin, fact.rule, fact.run = "rule", rule.name, run
    fact.seqs = sorted({seq for one in group.members for seq in one.seqs})
    fact.trust = lowest([fact.trust, *(one.trust for one in group.members)])
    facts.number(fact, made.facts)
    made.facts = [other for other in made.facts if other.id != fact.id] + [fact]
    made.told.append(("memory:learn", {"rule": rule.name, "fact": fact.name}))


def _reason(error: Exception) -> str:
    return error.message if isinstance(error, (Panic, MemoryFailure)) else str(error)
