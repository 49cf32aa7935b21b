"""What a query finds among facts, and in which order (M-10.8 to M-10.13): words, trigrams, a graph of entities; no I/O.

Everything is a pure function of facts, query and clock. Facts are looked at in the order of the most they can be worth, until
no other can be among the first k. Hands on `rank`, `neighbors`. Must not know: stores, tiers' life times.
"""

from __future__ import annotations

from collections import Counter
from heapq import heappop, heappush, heappushpop
from math import log

from .fact_graph import entities, folded
from .fact_index import FactIndex, trigrams
from .facts import PERSISTENT, archived, confidence
from .policy import HALF_LIFE
from .slot_bits import slots_in
from .terms import terms

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from .facts import Decay, Fact

    Bucket = tuple[float, "_Part", int, int]
    """The most its facts can be worth, where they are, how many trigrams of the query each has, the facts as bits."""

DIGITS = 9
"""Scores are compared rounded to so many (M-10.12)."""


SLACK = 1e-12
"""A limit and what it limits are computed in another order: so much their roundings may differ."""
SMALL = 64
"""A bucket of no more facts is looked at in one piece."""


def recency(fact: Fact, now: int, half_life: int) -> float:
    """M-10.12."""
    return recency_at(fact.accessed, now, half_life)


def recency_at(accessed: int, now: int, half_life: int) -> float:
    return float(0.5 + 0.5 * 2.0 ** (-max(0, now - accessed) / half_life))


class Found:
    """A fact with what made it a hit, as it was when it was found."""

    __slots__ = ("fact", "relevance", "recency", "confidence", "archived")

    def __init__(self, fact: Fact, relevance: float, now: int, decay: Decay | None, half_life: int = HALF_LIFE) -> None:
        self.fact = fact
        self.relevance = relevance
        self.recency = recency(fact, now, half_life)
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
    least = -1.0  # what a hit must reach, once there are k
    for bound, most, part, count, bits in _newest_first(_buckets(parts, near), now, half_life):
        if k <= 0 or round(most + SLACK, DIGITS) < least:
            break
        inflected = 1 - asked.inflected(count) / 2
        for slot in slots_in(bits):
            fact = part.fact(slot)
            factor = recency(fact, now, half_life) * fact.c0
            if round(bound * factor + SLACK, DIGITS) < least:  # nearly all end here
                continue
            missing = part.missing(slot, fact, inflected)
            if near is not None and fact.tier == PERSISTENT:
                missing *= 1 - near(fact)
            if missing >= 1 or round((1 - missing) * factor + SLACK, DIGITS) < least:
                continue
            hit = Found(fact, 1 - missing, now, decay, half_life)
            score = round(hit.score, DIGITS)
            if score < least:
                continue
            if accepts(hit):
                found.append(hit)
                if len(best) < k:
                    heappush(best, score)
                else:
                    heappushpop(best, score)
                least = best[0] if len(best) >= k else least
    found.sort(key=lambda hit: (-round(hit.score, DIGITS), -hit.fact.accessed, hit.fact.id))
    return found[: max(0, k)]


def _newest_first(buckets: Iterable[Bucket], now: int, half_life: int) -> Iterator[tuple[float, float, _Part, int, int]]:
    """Buckets in pieces: relevance and score that no fact of a piece exceeds, and no fact of the later ones that score. A large
    bucket is taken band by band, and only as far as somebody asks; `left`: the bands that are, 0 for a bucket in one piece."""
    queue: list[tuple[float, int, Bucket, int]] = []

    def put(number: int, bucket: Bucket, left: int) -> None:
        newest = bucket[1].index.bands.newest[left - 1]
        heappush(queue, (-bucket[0] * recency_at(newest, now, half_life), number, bucket, left))

    for number, bucket in enumerate(buckets):
        put(number, bucket, len(bucket[1].index.bands.bits) if bucket[3].bit_count() > SMALL else 0)
    while queue:
        most, number, bucket, left = heappop(queue)
        bound, part, count, bits = bucket
        if left > 1:
            put(number, bucket, left - 1)
        yield bound, -most, part, count, bits & part.index.bands.bits[left - 1] if left else bits


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
        having_it = Counter(part for token in asked for part in trigrams([token]))
        self.own = {token: sum(having_it[part] == 1 for part in trigrams([token])) for token in asked}

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
        self.tokens = [index.containing(token) for token in query.idf]
        self.repeated = 0
        for token in query.idf:
            self.repeated |= index.repeating(token)[0]
        self.scored = [(idf * 2.2, index.counts[token]) for token, idf in query.idf.items() if token in index.counts]
        self.damping = 1.2 * 0.25, 1.2 * 0.75 / query.average
        self.active = index.graph.activations(query.asked)
        self.near = index.about(entity for entity, value in self.active.items() if value > 0.5)
        self.far = index.about(entity for entity, value in self.active.items() if value <= 0.5) & ~self.near
        self.worths = [self._worths(False), self._worths(True)]

    def split(self, count: int, bits: int) -> Iterable[tuple[float, int]]:
        """By the rarest token, whether a token is repeated, and what the graph gives, with the most that is worth."""
        inflected = 1 - self.query.inflected(count) / 2
        for at, having in enumerate([*self.tokens, bits]):
            some, bits = bits & having, bits & ~having
            for repeats, each in ((True, some & self.repeated), (False, some & ~self.repeated)):
                if not each:
                    continue
                missing = inflected * (1 - self._most(at, count, repeats))
                for reached, value in ((self.near, 1.0), (self.far, 0.5)):
                    if each & reached:
                        yield 1 - missing * (1 - value / 2), each & reached
                rest = each & ~(self.near | self.far)
                if rest:
                    yield 1 - missing, rest

    def _most(self, at: int, count: int, repeats: bool) -> float:
        """The most r_l of a fact with so many trigrams of the query whose rarest token is that one. What more it contains has
        trigrams of its own: as much as there is room for, the most valuable first."""
        tokens = self.worths[repeats]
        if at == len(tokens):
            return 0.0
        total, own = tokens[at]
        room = float(count - own)
        for worth, own in sorted(tokens[at + 1 :], key=lambda pair: -pair[0] / max(pair[1], 0.01)):
            part = 1.0 if own <= room else max(0.0, room / own)
            total += worth * part
            room -= own * part
        return min(1.0, total / self.query.reach)

    def _worths(self, repeats: bool) -> list[tuple[float, int]]:
        """Per token the most it adds to BM25 here, in the shortest fact, and the trigrams no other token of the query has."""
        damping = self.damping[0] + self.damping[1] * self.index.shortest
        found = []
        for token, idf in self.query.idf.items():
            most = self.index.repeating(token)[1] if repeats else 1
            found.append((idf * 2.2 * most / (most + damping), self.query.own[token]))
        return found

    def fact(self, slot: int) -> Fact:
        fact = self.index.slots[slot]
        assert fact is not None, "only live slots are in the bits"
        return fact

    def missing(self, slot: int, fact: Fact, inflected: float) -> float:
        """What the relevance of its fact lacks of 1 (M-10.11); `inflected`: 1 − ½·r_t."""
        return (1 - self._lexical(slot)) * inflected * (1 - self._reached(fact) / 2)

    def _reached(self, fact: Fact) -> float:
        """r_g."""
        if not self.active or fact.tier != PERSISTENT:
            return 0.0
        return max((self.active.get(entity, 0.0) for entity in entities(fact)), default=0.0)

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
