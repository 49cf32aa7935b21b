"""Sets of slots as the bits of an Int: from their numbers and back, and the slots of a term.

Must not know: what stands in a slot.
"""

from __future__ import annotations

from array import array

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

BLOCK = 128
"""Bytes: small enough that taking its ones out one by one is quick, large enough that few blocks are looked at."""
NOTHING = bytes(BLOCK)
DENSE = 256
"""The bits of a term that more than one in so many facts contains are kept; those of others are made when asked for."""


def slots_in(bits: int) -> Iterator[int]:
    """The places of the ones, lowest first."""
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
    made = bytearray(width // 8 + 1)
    for slot in slots:
        made[slot >> 3] |= 1 << (slot & 7)
    return int.from_bytes(made, "little")


class Term:
    """The slots whose facts contain it, some of which may be given up; `live` counts the others. `most`: how often one of them
    contains it, at most."""

    __slots__ = ("slots", "live", "most", "_bits")

    def __init__(self) -> None:
        self.slots = array("I")
        self.live = 0
        self.most = 1
        self._bits: int | None = None

    def add(self, slot: int) -> None:
        self.slots.append(slot)
        self.live += 1
        if self._bits is not None:
            self._bits |= 1 << slot

    def bits(self, width: int) -> int:
        if self._bits is not None:
            return self._bits
        made = bits_of(self.slots, width)
        if self.is_dense(width):
            self._bits = made
        return made

    def is_dense(self, width: int) -> bool:
        return self.live * DENSE > width
