"""Rules of `learn` (M-10.22): their functions, and which observations are of one group.

Hands on `Rule`, `Group`, and the `Lesson` that an observation gives. Must not know: memories, when a rule runs, how its functions
are run.
"""

from __future__ import annotations

from contextlib import suppress

from ...vm.panics import Panic

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from .facts import Fact
    from .observations import Observation

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
    """What observations store: themselves, what leaves for them, and the facts that rules made; `told` are the events of that."""

    __slots__ = ("seen", "unseen", "facts", "told")

    def __init__(self) -> None:
        self.seen: list[Observation] = []
        self.unseen: list[tuple[str, int]] = []
        self.facts: list[Fact] = []
        self.told: list[tuple[str, dict[str, Any]]] = []
