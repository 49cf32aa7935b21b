"""What a query finds among facts, and in which order (M-10.8 to M-10.13): words, trigrams, a graph of entities.

Hands on to `remembering.py`: `rank` (the best k of some indexes), `Found` (a hit with its scores; to `fact_methods.py` too),
`neighbors` and `related` (the graph, with its `DIRECTIONS`), and `spoken` and `items_of` (messages as items to search). All but
`spoken`, which reads a log and keeps its index, is a function of its arguments alone: nothing here notes an access or asks for
a vector. `rank` visits facts in groups, in the order of the highest score that one of the group can have, until no other can be
among the best k. What ends a run (`metering.look`) passes through.
"""

from __future__ import annotations

from collections import Counter
from heapq import heappop, heappush, heappushpop
from itertools import accumulate
from math import log

from ...vm.memory_steps import HALF_LIFE
from ...vm.values.metering import FEW, look, paced, works_on
from .fact_index import FactIndex, entities, folded, relation_of, slots_in, trigrams
from .facts import MESSAGE, PERSISTENT, Fact, archived, confidence
from .terms import terms

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from .entries import Entry
    from .policy import Decay
    from .reader import MemoryReader

    Worth = tuple[float, float, int]
    """The most r_l, not cut at 1, of the shortest fact there is; what the rest of the relevance leaves of 1; how often a token is
    repeated at most."""
    Bucket = tuple["_Part", int, int, Worth]
    """Where its facts are, how many trigrams of the query each has, the facts as bits, the most they can be worth."""
    # The most relevance and the most score of its facts, where they are, and how many bands of the bucket remain (0: it is
    # whole).
    Piece = tuple[float, float, Bucket, int]

DIGITS = 9
"""Scores are compared rounded to so many decimals (M-10.12)."""
DIRECTIONS = ("out", "in", "both")

SLACK = 1e-12
"""By how much the rounding of a bound and of the score it bounds may differ: they are computed in different orders."""
SMALL = 64
"""A bucket of no more facts is not divided into bands."""
TOLD_APART = 8
"""Facts are put into buckets by so many tokens of the query, the rarest."""


def recency(fact: Fact, now: int, half_life: int) -> float:
    """Return the factor for the age of the last access at the time `now` (Unix ms), from 1 down to 0.5; it falls halfway
    within `half_life` ms, which are above 0 (M-10.12). An access after `now` counts as one at `now`."""
    return recency_at(fact.accessed, now, half_life)


def recency_at(accessed: int, now: int, half_life: int) -> float:
    """Return the factor of `recency` for a last access at the time `accessed` (Unix ms)."""
    return float(0.5 + 0.5 * 2.0 ** (-max(0, now - accessed) / half_life))


class Found:
    """A fact with the scores that made it a hit, as they were at the query: `relevance`, `recency` and `confidence`, each from 0
    to 1, and whether it is `archived`. `now` is in Unix ms, `half_life`, of the recency, in ms; with `decay` None confidences
    are those that were stored, and nothing is archived."""

    __slots__ = ("fact", "relevance", "recency", "confidence", "archived")

    def __init__(self, fact: Fact, relevance: float, now: int, decay: Decay | None, half_life: int = HALF_LIFE) -> None:
        self.fact = fact
        self.relevance = relevance
        self.recency = recency(fact, now, half_life)
        self.confidence = confidence(fact, decay, now)
        self.archived = archived(fact, decay, now)

    @property
    def score(self) -> float:
        """Relevance times recency times confidence (M-10.12)."""
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
    accepts: Callable[[Found], bool] = lambda hit: True,
) -> list[Found]:
    """Return the best `k` accepted hits, best first (M-10.12); scores that are equal when rounded to DIGITS go by access, the
    newest first, then by number, the lowest first. A fact of relevance 0 is no hit; for a `k` below 1 the list is empty.

    `indexes`: all facts of the key that the caller sees; their words decide what is rare. `now` is in Unix ms, `half_life` in
    ms, `decay` as in `Found`. `near`: returns what the vector of a fact adds to its relevance, r_v of M-10.10, from 0 to 1; it is
    asked of facts with a vector only; None without vectors. `accepts` filters hits before they count among the `k`.
    """
    works_on(sum(map(len, indexes)))
    parsed = _Query(indexes, frozenset(terms(query)))
    parts = [_Part(index, parsed) for index in indexes if len(index)]
    best: list[tuple[float, int, float]] = []
    hits: list[tuple[tuple[float, int, float], Found]] = []
    least = (-1.0, 0, 0.0)  # what a hit must exceed, once there are k: score, time, number negated
    for bound, most, (part, count, bits, _), bands in _newest_first(_buckets(parts, near), now, half_life):
        look()
        limit = round(most + SLACK, DIGITS)
        # Pieces come with falling bounds: no later piece can hold a better hit.
        if k <= 0 or limit < least[0]:
            break
        # At an equal score the newer access wins, and this band has none that is new enough.
        if (limit, *part.first(bands)) <= least:
            continue
        inflected = 1 - parsed.inflected(count) / 2
        piece = bits & part.index.bands.bits[bands - 1] if bands else bits
        slots = slots_in(piece)
        for slot in slots if piece.bit_count() < FEW else paced(slots, FEW):
            fact = part.fact(slot)
            factor = recency_at(fact.accessed, now, half_life) * fact.c0
            reachable = round(bound * factor + SLACK, DIGITS)
            if reachable < least[0]:  # nearly all end here
                continue
            order = -fact.order
            if (reachable, fact.accessed, order) <= least:
                continue
            missing = part.missing(slot, fact, inflected)
            if near is not None and fact.vector is not None:
                missing *= 1 - near(fact)
            if missing >= 1 or round((1 - missing) * factor + SLACK, DIGITS) < least[0]:
                continue
            # Only here is the whole score computed; most facts were ruled out by the cheaper bounds above.
            hit = Found(fact, 1 - missing, now, decay, half_life)
            place = round(hit.score, DIGITS), fact.accessed, order
            if place <= least:
                continue
            if accepts(hit):
                hits.append((place, hit))
                if len(best) < k:
                    heappush(best, place)
                else:
                    heappushpop(best, place)
                least = best[0] if len(best) >= k else least
    hits.sort(key=lambda pair: pair[0], reverse=True)
    return [hit for _, hit in hits[: max(0, k)]]


def _newest_first(buckets: Iterable[Bucket], now: int, half_life: int) -> Iterator[Piece]:
    """Yield buckets in pieces: the relevance and score that no fact of a piece exceeds, nor any fact of a later piece
    that score. A large bucket is taken band by band, only as far as the caller asks; `left` is the number of its bands
    that remain, 0 for a bucket in one piece."""
    queue: list[tuple[float, float, int, Bucket, int]] = []

    def put(number: int, bucket: Bucket, left: int) -> None:
        part = bucket[0]
        bound = part.bound(bucket[3], left)
        newest = part.index.bands.newest[left - 1][0]
        heappush(queue, (-bound * recency_at(newest, now, half_life), bound, number, bucket, left))

    for number, bucket in enumerate(buckets):
        put(number, bucket, len(bucket[0].index.bands.bits) if bucket[2].bit_count() > SMALL else 0)
    while queue:
        most, bound, number, bucket, left = heappop(queue)
        if left > 1:
            put(number, bucket, left - 1)
        yield bound, -most, bucket, left


def _buckets(parts: Sequence[_Part], near: Callable[[Fact], float] | None) -> Iterable[Bucket]:
    for part in parts:
        for count, bits in part.by_count.items():
            for worth, some in part.split(count, bits):
                if near is not None:
                    yield part, count, some, (1.0, 0.0, 1)
                elif part.bound(worth, 0) > 0:
                    yield part, count, some, worth


class _Query:
    """A query over all facts: BM25 (Robertson's formula, k1 = 1.2, b = 0.75) as a share of what the query can reach, and
    the share of its trigrams (M-10.9)."""

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
        """Return r_t of a fact that has so many of the trigrams."""
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
        self.dearest: dict[tuple[int, bool], list[tuple[float, int]]] = {}
        self.often = max((index.repeating(token)[1] for token in query.idf), default=1)
        self.shortest = list(accumulate(index.bands.shortest, min))  # of a band and all older ones

    def first(self, left: int) -> tuple[int, float]:
        """Return time and negated number that no fact of the band exceeds; of all bands for 0."""
        bands = self.index.bands
        return bands.newest[left - 1][0], -bands.lowest[left - 1] if left else 0

    def bound(self, worth: Worth, left: int) -> float:
        """The most relevance in that band, and in the older ones: longer facts are worth less, and one that repeats its tokens
        loses least by that. In all, for 0."""
        lexical, missing, often = worth
        if left:
            base, each = self.damping
            lexical *= (often + base + each * self.index.shortest) / (often + base + each * self.shortest[left - 1])
        return 1 - missing * (1 - min(1.0, lexical))

    def split(self, count: int, bits: int) -> Iterable[tuple[Worth, int]]:
        """By the tokens they contain, as long as there are many, whether a token is repeated, and what the graph gives, with the
        most that is worth."""
        inflected = 1 - self.query.inflected(count) / 2
        for each, at, held in self._by_tokens(bits):
            for repeats, some in ((True, each & self.repeated), (False, each & ~self.repeated)):
                if not some:
                    continue
                lexical, often = self._most(at, held, count, repeats), self.often if repeats else 1
                for reached, value in ((self.near, 1.0), (self.far, 0.5)):
                    if some & reached:
                        yield (lexical, inflected * (1 - value / 2), often), some & reached
                rest = some & ~(self.near | self.far)
                if rest:
                    yield (lexical, inflected, often), rest

    def _by_tokens(self, bits: int) -> Iterable[tuple[int, int, tuple[int, ...]]]:
        """Facts as bits, how many of the rarest tokens were looked at, and which of those they contain."""
        waiting: list[tuple[int, int, tuple[int, ...]]] = [(bits, 0, ())]
        while waiting:
            some, at, contained = waiting.pop()
            if at == min(len(self.tokens), TOLD_APART) or (at and some.bit_count() <= SMALL):
                yield some, at, contained
                continue
            for having, inside in ((some & self.tokens[at], (*contained, at)), (some & ~self.tokens[at], contained)):
                if having:
                    waiting.append((having, at + 1, inside))

    def _most(self, at: int, contained: Sequence[int], count: int, repeats: bool) -> float:
        """The most r_l, not cut at 1, of a fact with so many trigrams of the query that contains these of the first tokens. What
        more it contains has trigrams of its own: as much as there is room for, the most valuable first."""
        tokens = self.worths[repeats]
        total = sum(tokens[number][0] for number in contained)
        room = float(count - sum(tokens[number][1] for number in contained))
        others = self.dearest.get((at, repeats))
        if others is None:
            others = self.dearest[at, repeats] = sorted(tokens[at:], key=lambda pair: -pair[0] / max(pair[1], 0.01))
        for worth, own in others:
            part = 1.0 if own <= room else max(0.0, room / own)
            total += worth * part
            room -= own * part
        return total / self.query.reach if total else 0.0

    def _worths(self, repeats: bool) -> list[tuple[float, int]]:
        """Per token the most it adds to BM25 here, in the shortest fact, and the trigrams no other token of the query has."""
        damping = self.damping[0] + self.damping[1] * self.index.shortest
        worths = []
        for token, idf in self.query.idf.items():
            most = self.index.repeating(token)[1] if repeats else 1
            worths.append((idf * 2.2 * most / (most + damping), self.query.own[token]))
        return worths

    def fact(self, slot: int) -> Fact:
        fact = self.index.slots[slot]
        assert fact is not None, "only live slots are in the bits"
        return fact

    def missing(self, slot: int, fact: Fact, inflected: float) -> float:
        """What the relevance of its fact lacks of 1, vectors left aside (M-10.11); `inflected`: 1 − ½·r_t."""
        return (1 - self._lexical(slot)) * inflected * (1 - self._reached(fact) / 2)

    def _reached(self, fact: Fact) -> float:
        """Return r_g: the highest activation of an entity of the fact."""
        if not self.active or fact.tier != PERSISTENT:
            return 0.0
        return max((self.active.get(entity, 0.0) for entity in entities(fact)), default=0.0)

    def _lexical(self, slot: int) -> float:
        base, each = self.damping
        damping = base + each * self.index.lengths[slot]
        total = 0.0
        for weight, counts in self.scored:
            count = counts.get(slot)
            if count is not None:
                total += weight * count / (count + damping)
        return min(1.0, total / self.query.reach) if total else 0.0


def neighbors(facts: Iterable[Fact], entity: str) -> list[tuple[str, int]]:
    """Return the entities that share a fact with this one, by their names as first written among `facts`, with the number of
    those facts: most first, then by name. Names that differ in case or Unicode form alone are one entity (`folded`)."""
    target = folded(entity)
    names: dict[str, str] = {}
    shared: Counter[str] = Counter()
    for fact in paced(facts, FEW):
        of_fact = entities(fact)
        for other, name in of_fact.items():
            names.setdefault(other, name)
        if target in of_fact:
            shared.update(other for other in of_fact if other != target)
    return sorted([(names[other], weight) for other, weight in shared.items()], key=lambda pair: (-pair[1], pair[0]))


def related(facts: Iterable[Fact], entity: str, relation: str | None, direction: str) -> list[tuple[str, int]]:
    """Return the entities that a relation (None: any) leads to from this one (`direction` "out"), those from which it leads here
    ("in"), or "both", with the number of such facts, named and ordered as by `neighbors` (M-10.41). Only facts that state a
    relation count (`relation_of`), and relations are compared as names of entities are."""
    target = folded(entity)
    names: dict[str, str] = {}
    counts: Counter[str] = Counter()
    for fact in paced(facts, FEW):
        stated = relation_of(fact)
        if stated is None or (relation is not None and folded(stated) != folded(relation)):
            continue
        a, b = fact.about
        leads_out = folded(a) == target and direction in ("out", "both")
        leads_in = folded(b) == target and direction in ("in", "both")
        # Of an entity with itself it is one fact in both directions.
        for other in {folded(name): name for leads, name in ((leads_in, a), (leads_out, b)) if leads}.values():
            names.setdefault(folded(other), other)
            counts[folded(other)] += 1
    return sorted([(names[other], count) for other, count in counts.items()], key=lambda pair: (-pair[1], pair[0]))


# The messages of a log as items beside facts (M-10.40).

MOST = 10_000
"""So many entries of a log, the newest, are looked at for messages to search."""
ROLES = ("user", "assistant", "tool")
"""Whose messages are searched: a system message is an instruction, no part of the conversation."""


def spoken(memory: MemoryReader) -> FactIndex:
    """Return the index of the items (`items_of`) among the newest MOST entries of a memory. It is kept until the session ends,
    the key is erased or the logs of the session are replaced; after a change of the log only the words of what differs are read
    again. Raises MemoryFailure and MustWait of the store."""
    *counts, _ = memory.head().values()  # an access of facts changes the time alone
    known = memory.session.spoken.get(memory.key)
    index = FactIndex() if known is None else known[1]
    if known is None or known[0] != counts:
        index.reconcile(items_of(memory.newest(MOST)), counts[0])
        memory.session.spoken[memory.key] = counts, index
    return index


def items_of(entries: Iterable[Entry]) -> list[Fact]:
    """Return a fact of the tier MESSAGE, numbered by its `seq`, for each entry that can be searched: of one of ROLES, with
    text that is not all white space."""
    return [_item(entry) for entry in entries if entry.message.role in ROLES and entry.message.content.strip()]


def _item(entry: Entry) -> Fact:
    origin = "program" if entry.origin == "host" else entry.origin
    return Fact(
        entry.seq, MESSAGE, entry.message.role, entry.message.content, created=entry.at, accessed=entry.at, refreshed=entry.at,
        trust=origin, origin=origin, by=entry.by, run=entry.run, seqs=[entry.seq],
    )  # fmt: skip
