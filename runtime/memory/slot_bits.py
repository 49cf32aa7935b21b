"""Sets of slots as the bits of an Int: from their numbers and back.

Must not know: what stands in a slot.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

BLOCK = 128
"""Bytes: small enough that taking its ones out one by one is quick, large enough that few blocks are looked at."""
NOTHING = bytes(BLOCK)


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
