"""`std::math` randomness from the host's generator, identifiers and bytes from its secure source (L-7.7.3, L-7.9.5, O-9.28)."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ...vm.effects import Effect
    from ..running import Running

FLOAT_BITS = 53


async def perform(run: Running, effect: Effect) -> Any:
    operation, *arguments = effect.payload
    if operation == "float":
        return run.host.random_bits(FLOAT_BITS) / 2**FLOAT_BITS
    if operation == "int":
        low, high = arguments
        return low + below(high - low, run.host.random_bits)
    if operation == "uuid":
        return uuid_text(run.host.secure_bytes(16))
    return run.host.secure_bytes(arguments[0]).hex()


def below(bound: int, bits: Callable[[int], int]) -> int:
    """A number from 0 up to but not including `bound`, each equally likely: what is too large is drawn again."""
    width = (bound - 1).bit_length()
    if not width:
        return 0
    found = bits(width)
    while found >= bound:
        found = bits(width)
    return found


def uuid_text(data: bytes) -> str:
    """A UUID of version 4 from 16 bytes."""
    number = int.from_bytes(data, "big") & ~(0xF000 << 64) & ~(0xC000 << 48) | 4 << 76 | 2 << 62
    digits = f"{number:032x}"
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))
