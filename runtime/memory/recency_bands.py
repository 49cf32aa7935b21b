"""Facts in the order of their newest access, in bands of a few hundred: recall looks at the newest first (M-10.12, M-14.4).

A band is the set of its slots as bits and a time none of them is newer than. Follows accesses one by one: a band that grows too
large is halved, one that got small joins its neighbour. Must not know: scores, half lives, facts.
"""

from __future__ import annotations

from bisect import bisect_right

from .slot_bits import bits_of, slots_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

LEAST = 256
"""A band of no more slots is never halved."""
MOST = 128
"""Bands are as large as it takes for about so many, or their bits would grow with the square of the facts."""
EVER = -(1 << 80)


class Bands:
    """`starts[n]`: a time all slots of band n are as new as, `newest[n]` one none is newer than; oldest band first. `at`: the
    time of a slot."""

    __slots__ = ("starts", "newest", "bits", "sizes", "count", "at")

    def __init__(self, at: Callable[[int], int]) -> None:
        self.at = at
        self.starts = [EVER]
        self.newest = [EVER]
        self.bits = [0]
        self.sizes = [0]
        self.count = 0

    @property
    def limit(self) -> int:
        return max(LEAST, self.count // MOST)

    def add(self, slot: int, time: int) -> None:
        band = bisect_right(self.starts, time) - 1
        self.bits[band] |= 1 << slot
        self.sizes[band] += 1
        self.newest[band] = max(self.newest[band], time)
        self.count += 1
        if self.sizes[band] % self.limit == 0:  # one that cannot be halved, all of one time, is not tried each time
            self._halve(band)

    def remove(self, slot: int, time: int) -> None:
        band = bisect_right(self.starts, time) - 1
        self.bits[band] &= ~(1 << slot)
        self.sizes[band] -= 1
        self.count -= 1
        if len(self.sizes) > 1 and self.sizes[band] < self.limit // 4:
            self._join(band - 1 if band else 0)

    def _halve(self, band: int) -> None:
        slots = list(slots_in(self.bits[band]))
        times = sorted(map(self.at, slots))
        middle = times[len(times) // 2]
        if middle == times[0]:
            return
        newer = [slot for slot in slots if self.at(slot) >= middle]
        taken = bits_of(newer, newer[-1])
        self.starts.insert(band + 1, middle)
        self.newest[band : band + 1] = [middle - 1, times[-1]]
        self.sizes[band : band + 1] = [len(slots) - len(newer), len(newer)]
        self.bits[band : band + 1] = [self.bits[band] & ~taken, taken]

    def _join(self, band: int) -> None:
        """With the next newer one, unless both are too much for one."""
        if self.sizes[band] + self.sizes[band + 1] > self.limit // 2:
            return
        self.bits[band] |= self.bits.pop(band + 1)
        self.sizes[band] += self.sizes.pop(band + 1)
        self.newest[band] = max(self.newest[band], self.newest.pop(band + 1))
        del self.starts[band + 1]
