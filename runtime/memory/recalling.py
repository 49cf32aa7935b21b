"""What a query finds among facts, and in which order (M-10.8 to M-10.13): words, trigrams, a graph of entities; no I/O.

Everything is a pure function of facts, query and clock. Facts are looked at in the order of the most they can be worth, until
no other can be among the first k. Hands on `rank`, `neighbors`. Must not know: stores, tiers' life times.
"""

from __future__ import annotations

from collections import Counter
from heapq import heappush, heappushpop
from math import log

from .fact_index import FactIndex, bits_of, entities, folded, slots_in, trigrams
from .facts import PERSISTENT, archived, confidence
from .policy import HALF_LIFE
from .terms import terms

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from .facts import Decay, Fact

    Bucket = tuple[float, "_Part", int, int]
    """The most its facts can be worth, where they are, how many trigrams of the query each has, the facts as bits."""

DIGITS = 9
"""Scores are compared rounded to so many (M-10.12)."""


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


def rank(
    indexes: Sequence[FactIndex],
    query: str,
    k: int,
    now: int,
    decay: Decay | None = None,
    half_life: int = HALF_LIFE,
    *,
    near: Callable[[Fact], float] | None = None,
    accepts: Callable[[Found], bool] = lambda found: True,
) -> list[Found]:
    """The best k accepted hits, best first (M-10.12); `indexes`: all facts of the key that the caller sees, whose words say what
    is rare. `near`: what the vector of a persistent fact makes it worth."""
    asked = _Query(indexes, frozenset(terms(query)))
    parts = [_Part(index, asked) for index in indexes if len(index)]
    best: list[float] = []
    found: list[Found] = []
    for bound, part, count, bits in sorted(_buckets(parts, near), key=lambda bucket: -bucket[0]):
        if k <= 0 or (len(best) >= k and bound < best[0]):
            break
        inflected = 1 - asked.inflected(count) / 2
        for slot in slots_in(bits):
            fact, missing = part.worth(slot, inflected)
            if near is not None and fact.tier == PERSISTENT:
                missing *= 1 - near(fact)
            if missing >= 1 or (len(best) >= k and round(1 - missing, DIGITS) < best[0]):
                continue  # a score is at most the relevance
            hit = Found(fact, 1 - missing, now, decay, half_life)
            score = round(hit.score, DIGITS)
            if len(best) >= k and score < best[0]:
                continue
            if accepts(hit):
                found.append(hit)
                if len(best) < k:
                    heappush(best, score)
                else:
                    heappushpop(best, score)
    found.sort(key=lambda hit: (-round(hit.score, DIGITS), -hit.fact.accessed, hit.fact.id))
    return found[: max(0, k)]


def _buckets(parts: Sequence[_Part], near: Callable[[Fact], float] | None) -> Iterable[Bucket]:
    for part in parts:
        for count, bits in part.by_count.items():
            for bound, some in part.split(count, bits):
                if near is not None:
                    yield 1.0, part, count, some
                elif bound > 0:
                    yield bound, part, count, some


class _Query:
    """What is asked, over all facts: BM25 as a share of what the query can reach, and the share of its trigrams (M-10.9)."""

    def __init__(self, indexes: Sequence[FactIndex], asked: frozenset[str]) -> None:
        count = sum(len(index) for index in indexes)
        self.asked = asked
        self.average = sum(index.length for index in indexes) / count if count else 0.0
        self.average = self.average or 1.0
        having = {token: sum(index.frequency(token) for index in indexes) for token in sorted(asked)}
        idf = {token: log(1 + (count - n + 0.5) / (n + 0.5)) for token, n in having.items()}
        self.reach = sum(idf.values())
        self.idf = dict(sorted(idf.items(), key=lambda pair: -pair[1]))  # the rarest first
        self.trigrams = trigrams(asked)

    def inflected(self, count: int) -> float:
        """r_t of a fact with so many of the trigrams."""
        share = count / len(self.trigrams) if self.trigrams else 0.0
        return min(1.0, max(0.0, (share - 0.3) / 0.7))


class _Part:
    """One index as a query sees it."""

    def __init__(self, index: FactIndex, query: _Query) -> None:
        self.index = index
        self.query = query
        self.by_count = index.by_trigrams(query.trigrams)
        self.tokens = [(token, index.containing(token)) for token in query.idf]
        self.scored = [(idf * 2.2, index.counts[token]) for token, idf in query.idf.items() if token in index.counts]
        self.damping = 1.2 * 0.25, 1.2 * 0.75 / query.average
        self.active = self._reached()
        self.near, self.far = (
            bits_of([slot for slot, value in self.active.items() if (value > 0.5) is near], len(index.slots))
            for near in (True, False)
        )
        self.bounds = self._bounds()

    def _reached(self) -> dict[int, float]:
        """r_g of the facts of active entities."""
        graph = self.index.graph
        found: dict[int, float] = {}
        for entity, value in sorted(graph.activations(self.query.asked).items(), key=lambda pair: pair[1]):
            found.update(dict.fromkeys(graph.facts[entity], value))
        return found

    def _bounds(self) -> list[float]:
        """The most r_l of a fact whose rarest token is the first, the second, … or none."""
        damping = self.damping[0] + self.damping[1] * self.index.shortest
        most = {token: max(self.index.counts.get(token, {}).values(), default=0) for token in self.query.idf}
        rest, bounds = 0.0, [0.0]
        for token, idf in reversed(self.query.idf.items()):
            rest += idf * most[token] * 2.2 / (most[token] + damping)
            bounds.append(min(1.0, rest / self.query.reach))
        return bounds[::-1]

    def split(self, count: int, bits: int) -> Iterable[tuple[float, int]]:
        """By the rarest token and what the graph gives, with the most that is worth."""
        inflected = 1 - self.query.inflected(count) / 2
        for bound, (_, having) in zip(self.bounds, [*self.tokens, ("", bits)], strict=True):
            some, bits = bits & having, bits & ~having
            for reached, value in ((self.near, 1.0), (self.far, 0.5)):
                if some & reached:
                    yield 1 - (1 - bound) * inflected * (1 - value / 2), some & reached
            some &= ~(self.near | self.far)
            if some:
                yield 1 - (1 - bound) * inflected, some

    def worth(self, slot: int, inflected: float) -> tuple[Fact, float]:
        """The fact, and what its relevance lacks of 1 (M-10.11); `inflected`: 1 − ½·r_t."""
        fact = self.index.slots[slot]
        assert fact is not None, "only live slots are in the bits"
        return fact, (1 - self._lexical(slot)) * inflected * (1 - self.active.get(slot, 0.0) / 2)

    def _lexical(self, slot: int) -> float:
        damping = self.damping[0] + self.damping[1] * self.index.lengths[slot]
        total = 0.0
        for weight, counts in self.scored:
            count = counts.get(slot)
            if count is not None:
                total += weight * count / (count + damping)
        return min(1.0, total / self.query.reach) if total else 0.0


def neighbors(facts: Iterable[Fact], entity: str) -> list[tuple[str, int]]:
    """Entities that share a fact with this one, with the number of those facts: most first, then by name."""
    wanted = folded(entity)
    names: dict[str, str] = {}
    shared: Counter[str] = Counter()
    for fact in facts:
        held = entities(fact)
        for other, name in held.items():
            names.setdefault(other, name)
        if wanted in held:
            shared.update(other for other in held if other != wanted)
    return sorted([(names[other], weight) for other, weight in shared.items()], key=lambda pair: (-pair[1], pair[0]))
