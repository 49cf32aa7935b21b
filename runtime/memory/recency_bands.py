"""Facts in the order of their newest access, in bands of a few hundred: recall looks at the newest first (M-10.12, M-14.4).

A band is the set of its slots as bits and a place none of them is before. Of one time, as facts are that came together, the
shorter come first, and of one length the lower numbers, as they are worth more. Follows accesses one by one: a band that grows
too large is halved, one that got small joins its neighbour. Must not know: scores, half lives, facts.
"""

from __future__ import annotations

from bisect import bisect_right

from .slot_bits import bits_of, slots_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    Place = tuple[int, int, float]
    """Time, length and number, the latter two negated: what is larger is worth more."""

LEAST = 256
"""A band of no more slots is never halved."""
MOST = 128
"""Bands are as large as it takes for about so many, or their bits would grow with the square of the facts."""
EVER = (-(1 << 80), 0, 0)
FAR = 1 << 80


class Bands:
    """`starts[n]`: a place no slot of band n is behind, `newest[n]` one none is before; oldest band first. `shortest[n]`: a
    length that none falls short of, `lowest[n]` such a number. `at`: the place of a slot."""

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
        return max(LEAST, self.count // MOST)

    def add(self, slot: int, place: Place) -> None:
        band = bisect_right(self.starts, place) - 1
        self.bits[band] |= 1 << slot
        self.sizes[band] += 1
        self.newest[band] = max(self.newest[band], place)
        self.shortest[band] = min(self.shortest[band], -place[1])
        self.lowest[band] = min(self.lowest[band], -place[2])
        self.count += 1
        if self.sizes[band] >= self.limit:
            self._halve(band)
            if band + 2 < len(self.sizes):  # made when there were fewer facts, it may be small by now
                self._join(band + 1)

    def remove(self, slot: int, place: Place) -> None:
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
        """With the next newer one, unless both are too much for one."""
        if self.sizes[band] + self.sizes[band + 1] > self.limit // 2:
            return
        self.bits[band] |= self.bits.pop(band + 1)
        self.sizes[band] += self.sizes.pop(band + 1)
        self.newest[band] = max(self.newest[band], self.newest.pop(band + 1))
        self.shortest[band] = min(self.shortest[band], self.shortest.pop(band + 1))
        self.lowest[band] = min(self.lowest[band], self.lowest.pop(band + 1))
        del self.starts[band + 1]
