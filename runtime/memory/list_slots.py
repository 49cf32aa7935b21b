"""The elements of a slot that is a list, each a fact of its own for recall (M-10.38).

The slot is stored as one fact; beside it stand the times of its elements, which stay with an element while the list changes
around it. Must not know: how facts are ranked and stored.
"""

from __future__ import annotations

from collections import defaultdict

from .facts import content_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from .facts import Fact

    Times = list[int]
    """When it was written, last recalled, refreshed: Unix ms."""


def elements_of(fact: Fact) -> list[Fact]:
    """A fact for each element: the text, the times are its own, all else is that of the slot. Itself, when it is no list."""
    if not isinstance(fact.content, list):
        return [fact]
    made = []
    for at, (content, (created, accessed, refreshed)) in enumerate(zip(fact.content, times_of(fact), strict=True)):
        one = fact.changed(content=content, created=created, accessed=accessed, refreshed=refreshed, elements=[])
        one.element, one.vector = at, fact.vector
        made.append(one)
    return made


def times_of(fact: Fact) -> Sequence[Times]:
    """Of each element; those of the slot for a list that was stored without."""
    if len(fact.elements) == len(fact.content):
        return fact.elements
    return [[fact.created, fact.accessed, fact.refreshed] for _ in fact.content]


def carried(before: Fact | None, content: Any, now: int) -> list[Times]:
    """The times of the elements of a list that takes the place of another one: an element that was there keeps its own."""
    if not isinstance(content, list):
        return []
    known: dict[str, list[Times]] = defaultdict(list)
    if before is not None and isinstance(before.content, list):
        for element, times in zip(before.content, times_of(before), strict=True):
            known[content_text([element])].append(times)
    made = []
    for element in content:
        held = known.get(content_text([element]))
        made.append(held.pop(0) if held else [now, now, now])
    return made


def touched(fact: Fact, found: Sequence[Any], now: int, refreshes: bool) -> list[Times]:
    """The times of all elements when those with these contents were given to somebody."""
    wanted = {content_text([content]) for content in found}
    made = []
    for element, (created, accessed, refreshed) in zip(fact.content, times_of(fact), strict=True):
        if content_text([element]) in wanted:
            accessed, refreshed = now, now if refreshes else refreshed
        made.append([created, accessed, refreshed])
    return made
