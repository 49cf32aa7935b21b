"""A walk over the headers of a msgpack value before any of it is built (G-2.5, G-3.3).

A few bytes can claim gigabytes, and a byte can become a hundred; this walk refuses both, so that what msgpack then
allocates is bounded by the file. Hands on `survey`. Must not know: what an image holds.
"""

from __future__ import annotations

from .image import ImageError

# What a header byte begins: fixed size, length-prefixed bytes, an array, a map, or nothing legal here.
_FIXED, _BYTES, _ARRAY, _MAP, _ILLEGAL = range(5)


def _heads() -> tuple[tuple[int, int, int], ...]:
    """Per header byte (form, bytes of the length field, size or count if there is no such field)."""
    heads = [(_FIXED, 0, 0)] * 256
    heads[0x80:0x90] = [(_MAP, 0, n) for n in range(16)]
    heads[0x90:0xA0] = [(_ARRAY, 0, n) for n in range(16)]
    heads[0xA0:0xC0] = [(_FIXED, 0, n) for n in range(32)]
    heads[0xC1] = (_ILLEGAL, 0, 0)
    heads[0xC4:0xC7] = [(_BYTES, n, 0) for n in (1, 2, 4)]
    heads[0xC7:0xCA] = [(_ILLEGAL, 0, 0)] * 3
    heads[0xCA:0xD4] = [(_FIXED, 0, n) for n in (4, 8, 1, 2, 4, 8, 1, 2, 4, 8)]
    heads[0xD4:0xD9] = [(_ILLEGAL, 0, 0)] * 5
    heads[0xD9:0xDC] = [(_BYTES, n, 0) for n in (1, 2, 4)]
    heads[0xDC:0xE0] = [(_ARRAY, 2, 0), (_ARRAY, 4, 0), (_MAP, 2, 0), (_MAP, 4, 0)]
    return tuple(heads)


_HEADS = _heads()

# What a value costs in memory beside its bytes, at most: an object and its place; an empty array; an entry of a map.
_VALUE, _ARRAY_COST, _MAP_COST = 64, 72, 240
FREE = 32 << 20


def survey(data: bytes, nesting: int, free: int = FREE) -> None:
    """ImageError V006 unless `data` is one whole value of plain kinds, at most `nesting` deep, cheap to build: of no more bytes
    than twice its own and `free`."""
    at, end, cost, most = 0, len(data), 0, free + 2 * len(data)
    open_counts: list[int] = []  # values still to come in each open array or map
    left, heads = 1, _HEADS
    while True:
        while left == 0:
            if not open_counts:
                if at != end:
                    raise ImageError("V006", f"{end - at} bytes follow the value")
                return
            left = open_counts.pop()
        if at >= end:
            raise ImageError("V006", "the value is cut off")
        form, prefix, size = heads[data[at]]
        at += 1
        if prefix:
            size = int.from_bytes(data[at : at + prefix], "big")
            at += prefix
        left -= 1
        cost += _VALUE
        if form <= _BYTES:
            at += size
        elif form == _ILLEGAL:
            raise ImageError("V006", f"byte {at - 1}: a kind of value that no image holds")
        else:
            open_counts.append(left)
            left = size if form == _ARRAY else 2 * size
            cost += _ARRAY_COST if form == _ARRAY else _MAP_COST
            if left > end - at:
                raise ImageError("V006", f"byte {at}: {left} values claimed, {end - at} bytes left")
            if len(open_counts) > nesting:
                raise ImageError("V006", f"byte {at}: values nest deeper than {nesting}")
        if cost > most or at > end:
            raise ImageError("V006", f"byte {at}: the value is " + ("cut off" if at > end else "too costly to decode"))
