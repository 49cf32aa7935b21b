"""What a query finds among facts, and in which order (M-10.8 to M-10.13): words, trigrams, a graph of entities; no I/O.

Everything is a pure function of facts, query and clock. Hands on `rank`, `neighbors`. Must not know: stores, tiers' life times.
"""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from math import log
from unicodedata import normalize

from .facts import PERSISTENT, archived, confidence
from .policy import HALF_LIFE
from .terms import terms

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from .facts import Decay, Fact

HOPS = 2


class Found:
    """A fact with what made it a hit, as it was when it was found."""

    __slots__ = ("fact", "relevance", "recency", "confidence", "archived")

    def __init__(self, fact: Fact, relevance: float, now: int, decay: Decay | None, half_life: int = HALF_LIFE) -> None:
        self.fact = fact
        self.relevance = relevance
        self.recency = 0.5 + 0.5 * pow(2.0, -max(0, now - fact.accessed) / half_life)
        self.confidence = confidence(fact, decay, now)
        self.archived = archived(fact, decay, now)

    @property
    def score(self) -> float:
        return float(self.relevance * self.recency * self.confidence)


@lru_cache(maxsize=32_768)
def _words(text: str) -> tuple[Counter[str], int, frozenset[str]]:
    """Tokens with their counts, how many, and their trigrams."""
    found = terms(text)
    return Counter(found), len(found), _trigrams(found)


def _trigrams(tokens: Iterable[str]) -> frozenset[str]:
    """Of a token shorter than three characters: itself."""
    return frozenset(part for t in tokens for part in ([t[at : at + 3] for at in range(len(t) - 2)] or [t]))


def rank(
    facts: Sequence[Fact],
    query: str,
    now: int,
    decay: Decay | None = None,
    half_life: int = HALF_LIFE,
    near: Callable[[Fact], float] | None = None,
) -> list[Found]:
    """All hits, best first (M-10.12); `facts`: all of the key that the caller sees, whose words say what is rare. `near`: what
    the vector of a persistent fact makes it worth."""
    asked = frozenset(terms(query))
    if not facts or (not asked and near is None):
        return []
    lexical = _Lexical(facts, asked)
    graph = Graph(fact for fact in facts if fact.tier == PERSISTENT).activations(asked)
    found = []
    for fact in facts:
        counts, length, trigrams = _words(fact.text)
        missing = 1 - lexical.relevance(counts, length)
        missing *= 1 - lexical.inflected(trigrams) / 2
        if fact.tier == PERSISTENT:
            missing *= 1 - max((graph.get(entity, 0.0) for entity in entities(fact)), default=0.0) / 2
            if near is not None:
                missing *= 1 - near(fact)
        if missing < 1:
            found.append(Found(fact, 1 - missing, now, decay, half_life))
    found.sort(key=lambda hit: (-round(hit.score, 9), -hit.fact.accessed, hit.fact.id))
    return found


class _Lexical:
    """BM25 as a share of what the query can reach, and the share of its trigrams (M-10.9)."""

    def __init__(self, facts: Sequence[Fact], asked: frozenset[str]) -> None:
        held = [_words(fact.text) for fact in facts]
        self.average = sum(length for _, length, _ in held) / len(held) or 1.0
        self.idf = {token: _idf(len(held), sum(token in counts for counts, _, _ in held)) for token in sorted(asked)}
        self.reach = sum(self.idf.values())
        self.trigrams = _trigrams(asked)

    def relevance(self, counts: Counter[str], length: int) -> float:
        damping = 1.2 * (0.25 + 0.75 * length / self.average)
        total = sum(idf * counts[q] * 2.2 / (counts[q] + damping) for q, idf in self.idf.items() if q in counts)
        return min(1.0, total / self.reach) if self.reach else 0.0

    def inflected(self, trigrams: frozenset[str]) -> float:
        share = len(self.trigrams & trigrams) / len(self.trigrams) if self.trigrams else 0.0
        return min(1.0, max(0.0, (share - 0.3) / 0.7))


def _idf(facts: int, with_it: int) -> float:
    return log(1 + (facts - with_it + 0.5) / (with_it + 0.5))


def _folded(name: str) -> str:
    return normalize("NFKC", name).casefold()


def entities(fact: Fact) -> dict[str, str]:
    """Those of a fact, by their folded names, with the form they are written in (M-10.10)."""
    found = {_folded(name): name for name in fact.about}
    for token in terms(fact.name):
        found.setdefault(token, token)
    return found


class Graph:
    """Entities and the number of facts each pair of them shares."""

    def __init__(self, facts: Iterable[Fact]) -> None:
        self.names: dict[str, str] = {}
        self.edges: dict[str, Counter[str]] = {}
        for fact in facts:
            held = entities(fact)
            for entity, name in held.items():
                self.names.setdefault(entity, name)
                self.edges.setdefault(entity, Counter()).update(other for other in held if other != entity)

    def activations(self, asked: frozenset[str]) -> dict[str, float]:
        """Of what the query names, and of what is at most two hops away."""
        active: dict[str, float] = {}
        for entity in self.edges:
            words = terms(entity)
            if words and all(word in asked for word in words):
                active[entity] = 1.0
        newest = dict(active)
        for _ in range(HOPS):
            newest = self._spread(newest, active)
        return active

    def _spread(self, sources: dict[str, float], active: dict[str, float]) -> dict[str, float]:
        reached: dict[str, float] = {}
        for entity, value in sources.items():
            edges = self.edges[entity]
            most = max(edges.values(), default=1)
            for other, weight in edges.items():
                given = value * 0.5 * weight / most
                if given > active.get(other, 0.0):
                    active[other] = reached[other] = given
        return reached


def neighbors(facts: Iterable[Fact], entity: str) -> list[tuple[str, int]]:
    """Entities that share a fact with this one, with the number of those facts: most first, then by name."""
    graph = Graph(facts)
    found = [(graph.names[other], weight) for other, weight in graph.edges.get(_folded(entity), Counter()).items()]
    return sorted(found, key=lambda pair: (-pair[1], pair[0]))
