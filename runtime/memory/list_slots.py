"""The elements of a slot that is a list, each a fact of its own for recall (M-10.38).

The slot is stored as one fact; beside it stand the times of its elements, which stay with an element while the list changes
around it. Must not know: how facts are ranked and stored.
"""

from __future__ import annotations

from collections import defaultdict

from .facts import content_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from .facts import Fact

    Times = list[int]
    """When it was written, last recalled, refreshed: Unix ms."""


def elements_of(fact: Fact) -> list[Fact]:
    """A fact for each element: the text, the times are its own, all else is that of the slot. Itself, when it is no list."""
    if not isinstance(fact.content, list):
        return [fact]
    made, like = [], fact.changed(content=None, elements=())  # all times for each would be their square
    for at, (content, (created, accessed, refreshed)) in enumerate(zip(fact.content, times_of(fact), strict=True)):
        one = like.changed(content=content, created=created, accessed=accessed, refreshed=refreshed)
        one.element, one.vector = at, fact.vector
        made.append(one)
    return made


def times_of(fact: Fact) -> Sequence[Times]:
    """Of each element; those of the slot for a list that was stored without."""
    if len(fact.elements) == len(fact.content):
        return fact.elements
    return [[fact.created, fact.accessed, fact.refreshed] for _ in fact.content]


def carried(before: Fact | None, content: Any, now: int, as_now: Callable[[Any], Any] = lambda stored: None) -> list[Times]:
    """The times of the elements of a list that takes the place of another one: an element that was there keeps its own. `as_now`
    gives what is stored as it is written today, by the type and the redaction of now; no list where it cannot be."""
    if not isinstance(content, list):
        return []
    made: list[Times | None] = [None] * len(content)
    if before is not None and isinstance(before.content, list):
        kept = len(before.content)
        if content_text(content[:kept]) == content_text(before.content):  # a push: nothing to look for
            made[:kept] = times_of(before)
        else:
            left = _given(before.content, content, made, dict(enumerate(times_of(before))))
            if left and None in made and isinstance(again := as_now(before.content), list) and len(again) == len(before.content):
                _given(again, content, made, left)
    return [times or [now, now, now] for times in made]


def _given(held: Sequence[Any], content: Sequence[Any], made: list[Times | None], left: dict[int, Times]) -> dict[int, Times]:
    """Puts the times of elements that are held into `made`, in order; `left`: those of elements that nothing took yet."""
    known: dict[str, list[int]] = defaultdict(list)
    for place in left:
        known[content_text([held[place]])].append(place)
    for at, element in enumerate(content):
        places = known.get(content_text([element])) if made[at] is None else None
        if places:
            made[at] = left.pop(places.pop(0))
    return left


def touched(fact: Fact, found: Sequence[Any], now: int, refreshes: bool) -> list[Times]:
    """The times of all elements when those with these contents were given to somebody."""
    wanted = {content_text([content]) for content in found}
    made = []
    for element, (created, accessed, refreshed) in zip(fact.content, times_of(fact), strict=True):
        if content_text([element]) in wanted:
            accessed, refreshed = now, now if refreshes else refreshed
        made.append([created, accessed, refreshed])
    return made
