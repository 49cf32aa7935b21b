"""The graph of persistent facts: entities, and how many facts each pair of them shares (M-10.10).

Most entities of many facts are those of one fact alone. Such a one hands on less than the others of its fact give each other
directly, so edges are kept only between entities that several facts share; it counts when the query names it.
Must not know: scores, stores.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import chain
from unicodedata import normalize

from .slot_bits import Term, bits_of
from .terms import terms

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from .facts import Fact

HOPS = 2
FUNCTION_WORDS = frozenset(
    (
        "a", "an", "and", "are", "as", "at", "be", "but", "by", "for", "from", "has", "have", "in", "is", "it", "its", "no",
        "not", "of", "on", "or", "that", "the", "their", "this", "to", "was", "were", "will", "with",
    )
)  # fmt: skip
"""Tokens of a name that name nothing (M-10.10)."""


def folded(name: str) -> str:
    return normalize("NFKC", name).casefold()


def entities(fact: Fact) -> dict[str, str]:
    """Those of a fact, by their folded names, with the form they are written in (M-10.10)."""
    found = {folded(name): name for name in fact.about}
    if relation_of(fact) is None:
        for token in terms(fact.name):
            if token not in FUNCTION_WORDS:
                found.setdefault(token, token)
    return found


def relation_of(fact: Fact) -> str | None:
    """What `relate` said of the two its fact is about; None for every other fact (M-10.41)."""
    if len(fact.about) != 2 or fact.content != fact.name:
        return None
    a, b = fact.about
    begins, ends = f"{a} ", f" {b}"
    if not fact.name.startswith(begins) or not fact.name.endswith(ends) or len(fact.name) <= len(begins) + len(ends):
        return None
    return fact.name[len(begins) : -len(ends)]


class Graph:
    """`held`: the entities of a slot, none when it was given up. A key of `edges` is an entity that several facts share."""

    __slots__ = ("edges", "by_word", "facts", "held")

    def __init__(self, held: Callable[[int], Iterable[str]]) -> None:
        self.held = held
        self.edges: dict[str, Counter[str]] = {}
        self.by_word = defaultdict[str, set[str]](set)
        self.facts = defaultdict[str, Term](Term)

    def add(self, slot: int, names: Iterable[str]) -> None:
        names = list(names)
        for entity in names:
            if entity not in self.facts:
                for word in terms(entity):
                    self.by_word[word].add(entity)
            self.facts[entity].add(slot)
        for entity in names:
            if entity not in self.edges and self.facts[entity].live > 1:
                self.edges[entity] = Counter()
                self._weigh(entity, self._only_slot(entity, slot), 1)
        shared = [entity for entity in names if entity in self.edges]
        for entity in shared:
            self.edges[entity].update(other for other in shared if other != entity)

    def remove(self, slot: int, names: Iterable[str]) -> None:
        """The slot is given up already."""
        shared = [entity for entity in names if entity in self.edges]
        for entity in shared:
            for other in shared:
                if other != entity:
                    self._lighten(entity, other)
        for entity in names:
            self.facts[entity].live -= 1
            if entity in self.edges and self.facts[entity].live == 1:
                self._weigh(entity, self._only_slot(entity, slot), -1)
                del self.edges[entity]
            elif not self.facts[entity].live:
                del self.facts[entity]
                for word in terms(entity):
                    self.by_word[word].discard(entity)

    def _only_slot(self, entity: str, beside: int) -> int:
        """The one of its two facts that is not that one, or its last."""
        return next(slot for slot in self.facts[entity].slots if slot != beside and entity in self.held(slot))

    def _weigh(self, entity: str, slot: int, by: int) -> None:
        """Its edges within one fact, when it comes to be shared or ends to be."""
        for other in self.held(slot):
            if other != entity and other in self.edges:
                if by > 0:
                    self.edges[entity][other] += 1
                    self.edges[other][entity] += 1
                else:
                    self._lighten(other, entity)

    def _lighten(self, entity: str, other: str) -> None:
        edges = self.edges[entity]
        edges[other] -= 1
        if not edges[other]:
            del edges[other]

    def bits(self, names: Iterable[str], width: int) -> int:
        """Facts of these entities, perhaps with slots that were given up since."""
        held = [self.facts[entity] for entity in names]
        made = bits_of(chain.from_iterable(term.slots for term in held if not term.is_dense(width)), width)
        for term in held:
            if term.is_dense(width):
                made |= term.bits(width)
        return made

    def activations(self, asked: frozenset[str]) -> dict[str, float]:
        """Of what the query names, and of what is at most two hops away and shared."""
        named = {entity for word in asked for entity in self.by_word.get(word, ())}
        active = {entity: 1.0 for entity in named if all(word in asked for word in terms(entity))}
        newest = dict(active)
        for _ in range(HOPS):
            newest = self._spread(newest, active)
        return active

    def _spread(self, sources: dict[str, float], active: dict[str, float]) -> dict[str, float]:
        reached: dict[str, float] = {}
        for entity, value in sources.items():
            edges = self._edges_of(entity)
            most = max(edges.values(), default=1)
            for other, weight in edges.items():
                given = value * 0.5 * weight / most
                if given > active.get(other, 0.0):
                    active[other] = reached[other] = given
        return reached

    def _edges_of(self, entity: str) -> Mapping[str, int]:
        shared = self.edges.get(entity)
        if shared is not None:
            return shared
        return {other: 1 for other in self.held(self._only_slot(entity, -1)) if other in self.edges}
