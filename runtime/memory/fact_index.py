"""An index of facts for recall, so that a query looks at few of many facts (M-10.9, M-14.4).

Hands on `FactIndex` (facts by number, with their words and trigrams, the graph of their entities and the bands of their accesses)
to stores, memories, recall and the journal (`journal/store_calls.py`), and `entities`, `folded`, `relation_of`, `slots_in` and
`trigrams` to `recall.py`, which computes the scores. A store keeps one index per key and tells it of every change. The words of
changed facts are read when a query comes, so that a program that only writes facts does not pay for it.

A *slot* is here the number, from 0, under which the index has a fact, or an element of a list; it is not a slot of a context. A
set of facts is a long integer with one bit per slot, so that counting the trigrams of a query over all facts is arithmetic on
such integers. Nothing here reads a store or ranks what a query finds.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections import Counter, defaultdict
from functools import lru_cache
from itertools import chain
from threading import RLock
from unicodedata import normalize

from ...vm.values.metering import FEW, paced
from .facts import PERSISTENT, elements_of
from .terms import terms

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from .facts import Fact


BLOCK = 128
"""Bytes of a set that are scanned at a time: few enough for taking out bit by bit, many enough that there are few blocks."""
NOTHING = bytes(BLOCK)
DENSE = 256
"""A term that more than one in so many slots has keeps its set of bits; that of any other is built for each query."""


def slots_in(bits: int) -> Iterator[int]:
    """Yield the slots of a set of bits, lowest first."""
    data = bits.to_bytes((bits.bit_length() + 7) // 8, "little")
    for start in range(0, len(data), BLOCK):
        piece = data[start : start + BLOCK]
        if piece != NOTHING:
            block, before = int.from_bytes(piece, "little"), 8 * start - 1
            while block:
                lowest = block & -block
                yield before + lowest.bit_length()
                block ^= lowest


def bits_of(slots: Iterable[int], width: int) -> int:
    """Return the set of these slots as bits. `width` is a number of bits, at least the highest slot."""
    data = bytearray(width // 8 + 1)
    for slot in slots:
        data[slot >> 3] |= 1 << (slot & 7)
    return int.from_bytes(data, "little")


class Term:
    """The slots of facts that contain a term. Slots that were given up stay in the list; `live` counts the others.
    `most`: how often one fact contains the term, at most. A `width` is the number of slots of the index."""

    __slots__ = ("slots", "live", "most", "_bits")

    def __init__(self) -> None:
        self.slots = array("I")
        self.live = 0
        self.most = 1
        self._bits: int | None = None

    def add(self, slot: int) -> None:
        """Note that the fact of a new slot contains the term."""
        self.slots.append(slot)
        self.live += 1
        if self._bits is not None:
            self._bits |= 1 << slot

    def bits(self, width: int) -> int:
        """Return the slots as bits, given-up ones too."""
        if self._bits is not None:
            return self._bits
        bits = bits_of(self.slots, width)
        if self.is_dense(width):
            self._bits = bits
        return bits

    def is_dense(self, width: int) -> bool:
        """Return whether more than one in DENSE of the slots has the term."""
        return self.live * DENSE > width


# The graph of persistent facts: entities, and how many facts each pair of them shares (M-10.10). Most entities belong to one
# fact alone. What such an entity would pass on is less than the others of its fact pass to each other directly, so edges are
# kept only between entities that several facts share.

HOPS = 2
FUNCTION_WORDS = frozenset(
    (
        "a", "an", "and", "are", "as", "at", "be", "but", "by", "for", "from", "has", "have", "in", "is", "it", "its", "no",
        "not", "of", "on", "or", "that", "the", "their", "this", "to", "was", "were", "will", "with",
    )
)  # fmt: skip
"""Tokens of a name that name nothing (M-10.10)."""


def folded(name: str) -> str:
    """Return the form by which names of entities are compared."""
    return normalize("NFKC", name).casefold()


def entities(fact: Fact) -> dict[str, str]:
    """Return the entities of a fact by their folded names, with the form that they are written in (M-10.10)."""
    names = {folded(name): name for name in fact.about}
    if relation_of(fact) is None:
        for token in terms(fact.name):
            if token not in FUNCTION_WORDS:
                names.setdefault(token, token)
    return names


def relation_of(fact: Fact) -> str | None:
    """Return the relation between the two subjects of a fact that has the form of `relate`: name and content are "A RELATION B";
    None for any other fact (M-10.41)."""
    if len(fact.about) != 2 or fact.content != fact.name:
        return None
    a, b = fact.about
    begins, ends = f"{a} ", f" {b}"
    if not fact.name.startswith(begins) or not fact.name.endswith(ends) or len(fact.name) <= len(begins) + len(ends):
        return None
    return fact.name[len(begins) : -len(ends)]


class Graph:
    """Entities, by their folded names, and their edges. `of_slot` returns the entities of a slot, none of a slot that was given
    up. A key of `edges` is an entity that several facts share; the weight is the number of shared facts. `facts` are the slots
    of each entity, `by_word` the entities whose name has a word."""

    __slots__ = ("edges", "by_word", "facts", "of_slot")

    def __init__(self, of_slot: Callable[[int], Iterable[str]]) -> None:
        self.of_slot = of_slot
        self.edges: dict[str, Counter[str]] = {}
        self.by_word = defaultdict[str, set[str]](set)
        self.facts = defaultdict[str, Term](Term)

    def add(self, slot: int, names: Iterable[str]) -> None:
        """Add a fact with these entities."""
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
        """Remove a fact with these entities, whose slot is given up already."""
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
        """Return the slot of the one fact of an entity that is not `beside`."""
        return next(slot for slot in self.facts[entity].slots if slot != beside and entity in self.of_slot(slot))

    def _weigh(self, entity: str, slot: int, by: int) -> None:
        """Add or remove the edges of an entity within one fact, when it begins or ceases to be shared."""
        for other in self.of_slot(slot):
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
        """Return the facts of these entities as bits, perhaps with slots that were given up since. A name that the graph has not
        has none."""
        terms_of_names = [self.facts[entity] for entity in names if entity in self.facts]
        bits = bits_of(chain.from_iterable(term.slots for term in terms_of_names if not term.is_dense(width)), width)
        for term in terms_of_names:
            if term.is_dense(width):
                bits |= term.bits(width)
        return bits

    def activations(self, tokens: frozenset[str]) -> dict[str, float]:
        """Return the activation of each entity that the tokens of a query name (1.0), and of shared ones at most HOPS hops
        away: half per hop, times the weight of the edge over that of the heaviest edge (r_g of M-10.10)."""
        named = {entity for word in tokens for entity in self.by_word.get(word, ())}
        active = {entity: 1.0 for entity in named if all(word in tokens for word in terms(entity))}
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
                passed_on = value * 0.5 * weight / most
                if passed_on > active.get(other, 0.0):
                    active[other] = reached[other] = passed_on
        return reached

    def _edges_of(self, entity: str) -> Mapping[str, int]:
        shared = self.edges.get(entity)
        if shared is not None:
            return shared
        return {other: 1 for other in self.of_slot(self._only_slot(entity, -1)) if other in self.edges}


# Facts in the order of their newest access, in bands of a few hundred: recall looks at the newest first (M-10.12, M-14.4). Facts
# of one time are ordered by length and then by number, as shorter ones and lower numbers rank higher. A band that grows too
# large is halved, one that gets small joins its neighbour.

if TYPE_CHECKING:
    Place = tuple[int, int, float]
    """The newest access in Unix ms, the length in tokens and the number of a fact, the latter two negated: a larger place ranks
    higher."""

LEAST = 256
"""A band of fewer slots is never halved."""
MOST = 128
"""A larger band is halved at one in so many of all slots: with more bands their bits would grow with the square of the facts."""
EVER = (-(1 << 80), 0, 0)
FAR = 1 << 80


class Bands:
    """The bands, the oldest first, in lists with one item per band. Of band n every slot lies between the places `starts[n]`
    and `newest[n]`; none has fewer than `shortest[n]` tokens or a number below `lowest[n]`; `bits[n]` are its slots and
    `sizes[n]` is their number; `count` is that of all bands. The bounds may be wider than needed, never narrower, so recall
    may stop at a band that cannot hold a better fact. `at` returns the place of a slot."""

    __slots__ = ("starts", "newest", "shortest", "lowest", "bits", "sizes", "count", "at")

    def __init__(self, at: Callable[[int], Place]) -> None:
        self.at = at
        self.starts: list[Place] = [EVER]
        self.newest: list[Place] = [EVER]
        self.shortest = [FAR]
        self.lowest: list[float] = [FAR]
        self.bits = [0]
        self.sizes = [0]
        self.count = 0

    @property
    def limit(self) -> int:
        """The number of slots at which a band is halved."""
        return max(LEAST, self.count // MOST)

    def add(self, slot: int, place: Place) -> None:
        """Add a slot at this place."""
        band = bisect_right(self.starts, place) - 1
        self.bits[band] |= 1 << slot
        self.sizes[band] += 1
        self.newest[band] = max(self.newest[band], place)
        self.shortest[band] = min(self.shortest[band], -place[1])
        self.lowest[band] = min(self.lowest[band], -place[2])
        self.count += 1
        if self.sizes[band] >= self.limit:
            self._halve(band)
            if band + 2 < len(self.sizes):  # it was made when there were fewer facts, and may be small by now
                self._join(band + 1)

    def remove(self, slot: int, place: Place) -> None:
        """Remove a slot from this place, where it was added."""
        band = bisect_right(self.starts, place) - 1
        self.bits[band] &= ~(1 << slot)
        self.sizes[band] -= 1
        self.count -= 1
        if len(self.sizes) > 1 and self.sizes[band] < self.limit // 4:
            self._join(band - 1 if band else 0)

    def _halve(self, band: int) -> None:
        slots = list(slots_in(self.bits[band]))
        places = sorted(map(self.at, slots))
        half = len(places) // 2
        middle = places[half]
        newer = [slot for slot in slots if self.at(slot) >= middle]
        taken = bits_of(newer, newer[-1])
        parts = places[:half], places[half:]
        self.starts.insert(band + 1, middle)
        self.newest[band : band + 1] = [part[-1] for part in parts]
        self.shortest[band : band + 1] = [min(-length for _, length, _ in part) for part in parts]
        self.lowest[band : band + 1] = [min(-number for _, _, number in part) for part in parts]
        self.sizes[band : band + 1] = [len(slots) - len(newer), len(newer)]
        self.bits[band : band + 1] = [self.bits[band] & ~taken, taken]

    def _join(self, band: int) -> None:
        """Join a band with the next newer one, unless both are too large for one."""
        if self.sizes[band] + self.sizes[band + 1] > self.limit // 2:
            return
        self.bits[band] |= self.bits.pop(band + 1)
        self.sizes[band] += self.sizes.pop(band + 1)
        self.newest[band] = max(self.newest[band], self.newest.pop(band + 1))
        self.shortest[band] = min(self.shortest[band], self.shortest.pop(band + 1))
        self.lowest[band] = min(self.lowest[band], self.lowest.pop(band + 1))
        del self.starts[band + 1]


@lru_cache(maxsize=1_024)  # small: for facts that are written again. All texts would take more room than the index
def words(text: str) -> tuple[Counter[str], int, frozenset[str]]:
    """Return the tokens of a text with their counts, how many tokens it has, and their trigrams. The result is kept for the next
    call, and must not be changed."""
    tokens = terms(text)
    return Counter(tokens), len(tokens), trigrams(tokens)


def trigrams(tokens: Iterable[str]) -> frozenset[str]:
    """Return the runs of three characters in tokens; a shorter token counts as one itself."""
    return frozenset().union(*map(_trigrams_of, tokens))


@lru_cache(maxsize=16_384)
def _trigrams_of(token: str) -> frozenset[str]:
    """Return the runs of three characters in one token, of a shorter one the token itself."""
    return frozenset([token[at : at + 3] for at in range(len(token) - 2)] or [token])


def _same_words(one: Fact, other: Fact) -> bool:
    """Return whether the index has the same of both facts."""
    if one.tier != other.tier or one.name != other.name or one.about != other.about:
        return False
    return one.content is other.content or one.text == other.text


class FactIndex:
    """Facts by number, ready to be searched.

    `stamp`: the change of a store after which it was read. `divided`: facts that are lists (slots of a context), by tier and
    name, whose elements are searched each for itself (M-10.38). Take `len` before any other question but `facts`, `named` and
    `highest`: it reads the words of what has changed.

    An item is a fact or an element of a list; each has a slot. `slots` gives the item of a slot, None for one that was given
    up; `lengths` its number of tokens, `length` that of all items, `shortest` the least so far; `live` are the slots in use, as
    bits; `counts` says, by token and slot, how often an item contains a token. `tokens` and `trigrams` have the Term of each,
    `often` that of tokens which an item contains more than once; `graph` is of the persistent items, `bands` of all, whose number
    is `items`. Only `change`, `divide` and `reconcile` change which facts a query finds; several threads may call these.
    """

    __slots__ = (
        "facts", "stamp", "slots", "lengths", "length", "shortest", "tokens", "often", "counts", "trigrams", "graph", "live",
        "bands", "items", "divided", "_placed", "_waiting", "_slots_of", "_names", "_highest", "_alone",
    )  # fmt: skip

    def __init__(self, facts: Iterable[Fact] = (), stamp: int = 0) -> None:
        self.stamp = stamp
        self.divided: frozenset[tuple[str, str]] = frozenset()
        self.facts: dict[int, Fact] = {}
        self._names: dict[tuple[str, str], int] = {}
        self._highest: int | None = None
        self._waiting: dict[int, None] = {}
        self._alone = RLock()  # sessions in other threads may share the store
        self._clear()
        self.change(facts, ())

    def _clear(self) -> None:
        self.slots: list[Fact | None] = []
        self.lengths = array("I")
        self.length = 0
        self.shortest = 1 << 30
        self.tokens = defaultdict[str, Term](Term)
        self.often = defaultdict[str, Term](Term)  # facts that contain a token more than once
        self.counts = defaultdict[str, dict[int, int]](dict)
        self.trigrams = defaultdict[str, Term](Term)
        self.graph = Graph(self._entities)
        self.live = 0
        self.bands = Bands(self._place)
        self.items = 0
        self._placed: dict[int, Fact] = {}
        self._slots_of: dict[int, tuple[int, ...]] = {}

    def __len__(self) -> int:
        """Return how many items recall searches: facts, and elements of lists. Reads the words of what has changed before; what
        ends a run (`metering.look`) passes through, and the next call goes on with the rest."""
        self._settle()
        return self.items

    @property
    def highest(self) -> int:
        """The largest number of a fact, -1 without facts."""
        if self._highest is None:
            self._highest = max(self.facts, default=-1)
        return self._highest

    def named(self, tier: str, name: str) -> Fact | None:
        """Return the fact of that tier and name, None for none."""
        number = self._names.get((tier, name))
        return None if number is None else self.facts[number]

    def change(self, facts: Iterable[Fact], gone: Iterable[int]) -> None:
        """Remove the facts with the numbers `gone`, as far as they are there, then add `facts`, in place of those of the same
        numbers."""
        with self._alone:
            for number in gone:
                fact = self.facts.pop(number, None)
                if fact is not None:
                    self._drop_name(fact)
                    self._highest = None
                    self._waiting[number] = None
            for fact in facts:
                replaced = self.facts.get(fact.id)
                if replaced is not None:
                    self._drop_name(replaced)
                self.facts[fact.id] = fact
                self._names[fact.tier, fact.name] = fact.id
                self._highest = None if self._highest is None else max(self._highest, fact.id)
                self._waiting[fact.id] = None

    def _drop_name(self, fact: Fact) -> None:
        if self._names.get((fact.tier, fact.name)) == fact.id:  # else another number has taken the name since
            del self._names[fact.tier, fact.name]

    def divide(self, names: frozenset[tuple[str, str]]) -> None:
        """Search the facts with these tiers and names by their elements from now on, where they are lists."""
        with self._alone:
            more = names - self.divided
            self.divided |= more
            for at in more:
                number = self._names.get(at)
                if number is not None:
                    self._withdraw(number)
                    self._waiting[number] = None

    def _parts(self, fact: Fact) -> list[Fact]:
        return elements_of(fact) if (fact.tier, fact.name) in self.divided else [fact]

    def reconcile(self, facts: Sequence[Fact], stamp: int) -> None:
        """Make these the facts of the index, and no others, as they were at the change `stamp` of their store."""
        numbers = {fact.id for fact in facts}
        self.change(facts, [number for number in self.facts if number not in numbers])
        self.stamp = stamp

    def _settle(self) -> None:
        """Read the words of what has changed since the last query."""
        if not self._waiting:
            return
        with self._alone:
            for number in paced(list(self._waiting), FEW):
                placed, fact = self._placed.get(number), self.facts.get(number)
                if placed is None or fact is None or not _same_words(placed, fact):
                    self._withdraw(number)
                    if fact is not None:
                        self._add(fact)
                else:
                    self._replace(fact)
                del self._waiting[number]
            # Slots are never reused, so after many changes the index is built anew: constant cost per change on
            # average.
            if len(self.slots) > 64 and len(self.slots) > 2 * self.items:
                remaining = list(self._placed.values())
                self._clear()
                for fact in remaining:
                    self._add(fact)

    def _place(self, slot: int) -> Place:
        fact = self.slots[slot]
        assert fact is not None, "only live slots are in the bands"
        return self._place_of(slot, fact)

    def _place_of(self, slot: int, fact: Fact) -> Place:
        return fact.accessed, -self.lengths[slot], -fact.order

    def _entities(self, slot: int) -> Iterable[str]:
        fact = self.slots[slot]
        return () if fact is None else entities(fact)

    def _replace(self, fact: Fact) -> None:
        """Replace a fact by one with the same words: only its place in the bands may differ."""
        self._placed[fact.id] = fact
        for slot, part in zip(self._slots_of[fact.id], self._parts(fact), strict=True):
            before = self.slots[slot]
            assert before is not None, "a fact that is there has its places"
            moves = before.accessed != part.accessed
            if moves:
                self.bands.remove(slot, self._place_of(slot, before))
            self.slots[slot] = part
            if moves:
                self.bands.add(slot, self._place_of(slot, part))

    def _add(self, fact: Fact) -> None:
        self._placed[fact.id] = fact
        self._slots_of[fact.id] = tuple([self._take_place(part) for part in self._parts(fact)])

    def _take_place(self, fact: Fact) -> int:
        slot = len(self.slots)
        tokens, length, parts = words(fact.text)
        self.items += 1
        self.slots.append(fact)
        self.lengths.append(length)
        self.length += length
        self.shortest = min(self.shortest, length)
        self.live |= 1 << slot
        self.bands.add(slot, self._place_of(slot, fact))
        for token, count in tokens.items():
            self.tokens[token].add(slot)
            self.counts[token][slot] = count
            if count > 1:
                often = self.often[token]
                often.add(slot)
                often.most = max(often.most, count)
        for part in parts:
            self.trigrams[part].add(slot)
        if fact.tier == PERSISTENT:
            self.graph.add(slot, entities(fact))
        return slot

    def _withdraw(self, number: int) -> None:
        if self._placed.pop(number, None) is None:
            return
        for slot in self._slots_of.pop(number):
            part = self.slots[slot]
            assert part is not None, "a fact that is there has its places"
            self._give_up_place(slot, part)

    def _give_up_place(self, slot: int, fact: Fact) -> None:
        tokens, length, parts = words(fact.text)
        self.items -= 1
        self.bands.remove(slot, self._place_of(slot, fact))
        self.slots[slot] = None
        self.length -= length
        self.live &= ~(1 << slot)
        for token, count in tokens.items():
            self.tokens[token].live -= 1
            if count > 1:
                self.often[token].live -= 1
            del self.counts[token][slot]
        for part in parts:
            self.trigrams[part].live -= 1
        if fact.tier == PERSISTENT:
            self.graph.remove(slot, entities(fact))

    def frequency(self, token: str) -> int:
        """Return how many items contain the token."""
        return len(self.counts.get(token, ()))

    def containing(self, token: str) -> int:
        """Return the items that contain the token, as bits."""
        return self._bits(self.tokens.get(token))

    def repeating(self, token: str) -> tuple[int, int]:
        """Return the items that contain the token more than once, as bits, and the most that one has contained it so far; (0, 1)
        where there is none."""
        term = self.often.get(token)
        return (self._bits(term), term.most) if term is not None and term.live else (0, 1)

    def _bits(self, term: Term | None) -> int:
        return term.bits(len(self.slots)) & self.live if term is not None and term.live else 0

    def about(self, names: Iterable[str]) -> int:
        """Return the persistent facts of these entities, by their folded names, as bits."""
        return self.graph.bits(names, len(self.slots)) & self.live

    def by_trigrams(self, wanted: Iterable[str]) -> dict[int, int]:
        """Return the items by how many of these trigrams they contain, as bits; a number that no item has may be missing. The
        counts of all items are kept as binary digits: bit n of every count is one long integer."""
        planes: list[int] = []
        for part in wanted:
            term = self.trigrams.get(part)
            if term is not None and term.live:
                _count(planes, term.bits(len(self.slots)))
        sets = {0: self.live}
        for plane in reversed(planes):
            split = {}
            for number, bits in sets.items():
                for digit, part_bits in ((1, bits & plane), (0, bits & ~plane)):
                    if part_bits:
                        split[2 * number + digit] = part_bits
            sets = split
        return sets


def _count(planes: list[int], bits: int) -> None:
    """Add one to the counter of each slot in `bits`; plane n holds digit n of all counters."""
    for at in range(len(planes)):
        planes[at], bits = planes[at] ^ bits, planes[at] & bits
        if not bits:
            return
    planes.append(bits)
