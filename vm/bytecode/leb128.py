"""Unsigned LEB128 numbers and the zigzag form of signed ones, as code and line tables hold them (V-3.3).

Hands on reading and writing of one number or many. Only the shortest form of a number below 2**32 is legal (V102). Must not
know: what the numbers mean.
"""

from __future__ import annotations

LARGEST = 0xFFFF_FFFF
_WIDEST = 5  # bytes of LARGEST
_GOES_ON = bytes(byte >> 7 for byte in range(256))


def append(out: bytearray, number: int) -> None:
    """Write one number at the end of `out`."""
    if not 0 <= number <= LARGEST:
        raise ValueError(f"{number} is outside 0..{LARGEST}")
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)


def width(number: int) -> int:
    """Bytes that `number` takes."""
    return max(1, (number.bit_length() + 6) // 7)


def read(data: bytes, at: int) -> tuple[int, int]:
    """(number, offset behind it); ValueError for a number that is cut off, too large or longer than it need be."""
    number = shift = 0
    for end in range(at, at + _WIDEST):
        if end >= len(data):
            raise ValueError("a number is cut off")
        byte = data[end]
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            if byte == 0 and shift:
                raise ValueError("a number is longer than it need be")
            if number > LARGEST:
                break
            return number, end + 1
        shift += 7
    raise ValueError(f"a number is above {LARGEST}")


def read_all(data: bytes) -> list[int]:
    """All numbers in `data`; ValueError as above."""
    if not data or max(data) < 0x80:
        return list(data)
    found: list[int] = []
    goes_on = data.translate(_GOES_ON)
    at = 0
    while (long := goes_on.find(1, at)) >= 0:
        found += data[at:long]
        number, at = read(data, long)
        found.append(number)
    found += data[at:]
    return found


def write_all(numbers: list[int]) -> bytes:
    """All numbers one after the other."""
    if not numbers or (min(numbers) >= 0 and max(numbers) <= 0x7F):
        return bytes(numbers)
    out = bytearray()
    add = out.append
    for number in numbers:
        if 0 <= number <= 0x7F:
            add(number)
        else:
            append(out, number)
    return bytes(out)


def zigzag(number: int) -> int:
    """A signed number as an unsigned one: 0 -1 1 -2 become 0 1 2 3."""
    return number * 2 if number >= 0 else -number * 2 - 1
