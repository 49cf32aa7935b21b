"""An index of facts for recall, so that a query looks at few of many facts (M-10.9, M-14.4): their words and trigrams, beside the
graph of their entities and the bands of their accesses.

It holds facts by their numbers and follows their changes one by one; what a query looks through follows when it is asked, so that
who only writes facts or reads them by name does not pay for their words. What contains a term is also a set of bits, one per slot
of a fact, so that counting the trigrams of a query over all facts is arithmetic on long integers.
Must not know: scores, clocks, stores.
"""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from functools import lru_cache
from threading import RLock

from ...vm.values.metering import FEW, paced
from .fact_graph import Graph, entities
from .facts import PERSISTENT
from .list_slots import elements_of
from .recency_bands import Bands
from .slot_bits import Term
from .terms import terms

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from .facts import Fact
    from .recency_bands import Place


@lru_cache(maxsize=1_024)  # a fact that is written again; those of all facts would take more than the index
def words(text: str) -> tuple[Counter[str], int, frozenset[str]]:
    """Tokens with their counts, how many, and their trigrams."""
    found = terms(text)
    return Counter(found), len(found), trigrams(found)


def trigrams(tokens: Iterable[str]) -> frozenset[str]:
    return frozenset().union(*map(_trigrams_of, tokens))


@lru_cache(maxsize=16_384)
def _trigrams_of(token: str) -> frozenset[str]:
    """Of a token shorter than three characters: itself."""
    return frozenset([token[at : at + 3] for at in range(len(token) - 2)] or [token])


def _words_of(fact: Fact) -> tuple[str, str, list[str], str]:
    """What the index has of a fact."""
    return fact.tier, fact.name, fact.about, fact.text


class FactIndex:
    """Facts by number. `stamp`: the change of a store it was read after. `divided`: slots that are lists, by tier and name, whose
    elements each take a place (M-10.38). Of what is asked, `len` comes first: all else is as of then."""

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
        self._alone = RLock()  # sessions of other threads may share the store
        self._clear()
        self.change(facts, ())

    def _clear(self) -> None:
        self.slots: list[Fact | None] = []
        self.lengths = array("I")
        self.length = 0
        self.shortest = 1 << 30
        self.tokens = defaultdict[str, Term](Term)
        self.often = defaultdict[str, Term](Term)  # of facts that contain a token more than once
        self.counts = defaultdict[str, dict[int, int]](dict)
        self.trigrams = defaultdict[str, Term](Term)
        self.graph = Graph(self._entities)
        self.live = 0
        self.bands = Bands(self._place)
        self.items = 0
        self._placed: dict[int, Fact] = {}
        self._slots_of: dict[int, tuple[int, ...]] = {}

    def __len__(self) -> int:
        """What recall looks at: facts, and elements of lists."""
        self._settle()
        return self.items

    @property
    def highest(self) -> int:
        """The largest number of a fact, or -1."""
        if self._highest is None:
            self._highest = max(self.facts, default=-1)
        return self._highest

    def named(self, tier: str, name: str) -> Fact | None:
        number = self._names.get((tier, name))
        return None if number is None else self.facts[number]

    def change(self, facts: Iterable[Fact], gone: Iterable[int]) -> None:
        with self._alone:
            for number in gone:
                fact = self.facts.pop(number, None)
                if fact is not None:
                    self._drop_name(fact)
                    self._highest = None
                    self._waiting[number] = None
            for fact in facts:
                held = self.facts.get(fact.id)
                if held is not None:
                    self._drop_name(held)
                self.facts[fact.id] = fact
                self._names[fact.tier, fact.name] = fact.id
                self._highest = None if self._highest is None else max(self._highest, fact.id)
                self._waiting[fact.id] = None

    def _drop_name(self, fact: Fact) -> None:
        if self._names.get((fact.tier, fact.name)) == fact.id:  # or another number has the name since
            del self._names[fact.tier, fact.name]

    def divide(self, names: frozenset[tuple[str, str]]) -> None:
        """From now on these are looked at by their elements."""
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
        """These and no others are there now."""
        there = {fact.id for fact in facts}
        self.change(facts, [number for number in self.facts if number not in there])
        self.stamp = stamp

    def _settle(self) -> None:
        """What has changed takes the places that it has now."""
        if not self._waiting:
            return
        with self._alone:
            for number in paced(list(self._waiting), FEW):
                held, fact = self._placed.get(number), self.facts.get(number)
                if held is None or fact is None or _words_of(held) != _words_of(fact):
                    self._withdraw(number)
                    if fact is not None:
                        self._add(fact)
                else:
                    self._replace(fact)
                del self._waiting[number]
            if len(self.slots) > 64 and len(self.slots) > 2 * self.items:
                kept = list(self._placed.values())
                self._clear()
                for fact in kept:
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
        """By one of the same words."""
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
        found, length, parts = words(fact.text)
        self.items += 1
        self.slots.append(fact)
        self.lengths.append(length)
        self.length += length
        self.shortest = min(self.shortest, length)
        self.live |= 1 << slot
        self.bands.add(slot, self._place_of(slot, fact))
        for token, count in found.items():
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
        found, length, parts = words(fact.text)
        self.items -= 1
        self.bands.remove(slot, self._place_of(slot, fact))
        self.slots[slot] = None
        self.length -= length
        self.live &= ~(1 << slot)
        for token, count in found.items():
            self.tokens[token].live -= 1
            if count > 1:
                self.often[token].live -= 1
            del self.counts[token][slot]
        for part in parts:
            self.trigrams[part].live -= 1
        if fact.tier == PERSISTENT:
            self.graph.remove(slot, entities(fact))

    # ------------------------------------------------------------ asking

    def frequency(self, token: str) -> int:
        """How many facts contain it."""
        return len(self.counts.get(token, ()))

    def containing(self, token: str) -> int:
        """As bits."""
        return self._bits(self.tokens.get(token))

    def repeating(self, token: str) -> tuple[int, int]:
        """The facts that contain it more than once, as bits, and how often they do at most."""
        found = self.often.get(token)
        return (self._bits(found), found.most) if found is not None and found.live else (0, 1)

    def _bits(self, term: Term | None) -> int:
        return term.bits(len(self.slots)) & self.live if term is not None and term.live else 0

    def about(self, names: Iterable[str]) -> int:
        """The persistent facts of these entities, as bits."""
        return self.graph.bits(names, len(self.slots)) & self.live

    def by_trigrams(self, asked: Iterable[str]) -> dict[int, int]:
        """Number of these trigrams to the facts, as bits, that contain so many."""
        planes: list[int] = []
        for part in asked:
            found = self.trigrams.get(part)
            if found is not None and found.live:
                _count(planes, found.bits(len(self.slots)))
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
    """Adds one to the counters of these slots; plane n holds digit n of all of them."""
    for at in range(len(planes)):
        planes[at], bits = planes[at] ^ bits, planes[at] & bits
        if not bits:
            return
    planes.append(bits)
