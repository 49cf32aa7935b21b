"""The ranking of documents by the cosines of their vectors (O-1.241): bits of all of them first, then the floats of a few.

Hands on to `index.py` `Vectors`, which has the bits of one label in the process and follows what others write, `check_vector`
and `bits_of`. A vector's bits are the signs of its numbers after a rotation; the fewer bits two vectors differ in, the smaller
their angle is likely to be. One XOR and one count a document rank 100,000 of them in some milliseconds of plain Python. The
candidates that come out first are compared exactly.

The rotation gives each bit its share of all numbers: of vectors that are 0 in most places, or long in a few directions, plain
signs would say little (`benches/README.md`). It is a Hadamard transform behind fixed changes of sign. To take the mean of all
vectors away as well was measured, and gained nothing.
"""

from __future__ import annotations

from collections import Counter
from functools import cache
from hashlib import shake_256
from math import isfinite
from operator import add, mul, sub
from struct import pack

from ..memory.embedding import floats_of
from .search_tables import refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from .search_tables import SearchTables, State

CANDIDATES = 800
PER_RANK = 4
FLOATS = 320_000
"""Compared exactly are at least CANDIDATES, PER_RANK for each rank of a list, and of short vectors, whose bits say less, as many
as have so many numbers together."""
AT_ONCE = 1_000
SLACK = 0.01
"""By how much the square of a vector's length may be off 1: floats of 32 bits are rounded."""
DIGITS = bytes(48 + (byte >> 7) for byte in range(256))  # "1" for a byte with a sign, "0" for one without


def check_vector(vector: bytes, what: str) -> None:
    """Raise SearchFailure("Invalid") unless the vector is one of whole 32-bit floats, and of length 1."""
    if not vector or len(vector) % 4:
        raise refused(f"the vector of {what} has {len(vector)} bytes, which are no 32-bit floats")
    square = sum(part * part for part in floats_of(vector))
    if not isfinite(square) or abs(square - 1) > SLACK:
        raise refused(f"the vector of {what} is not of length 1")


def candidates(length: int, depth: int) -> int:
    """Return how many vectors of `length` numbers are compared exactly for a list of `depth` ranks."""
    return max(CANDIDATES, PER_RANK * depth, FLOATS // length)


def bits_of(vector: bytes) -> bytes:
    """Return the bits of a vector in their stored form."""
    numbers = _rotated(vector)
    return _signs(numbers).to_bytes((len(numbers) + 7) // 8, "big")


def _rotated(vector: bytes) -> list[float]:
    """Return the numbers of the rotated vector, as many as the next power of two, and all longer by the same factor. Sums are
    taken in one order, so that the signs are the same in every process."""
    numbers = list(map(mul, floats_of(vector), _changes(len(vector) // 4)))
    size = 1 << (len(numbers) - 1).bit_length()
    numbers += [0.0] * (size - len(numbers))
    for _ in range(size.bit_length() - 1):
        even, odd = numbers[::2], numbers[1::2]
        numbers = [*map(add, even, odd), *map(sub, even, odd)]
    return numbers


@cache
def _changes(count: int) -> tuple[int, ...]:
    """Return so many fixed numbers 1 and -1."""
    drawn = int.from_bytes(shake_256(b"signs of a search index").digest((count + 7) // 8), "little")
    return tuple(1 - 2 * (drawn >> place & 1) for place in range(count))


def _signs(numbers: list[float]) -> int:
    return int(pack(f">{len(numbers)}d", *numbers)[::8].translate(DIGITS), 2)  # the first byte of each has the sign


class Vectors:
    """The bits of the vectors of one label, as this process knows them; of another label from the next search with it on."""

    def __init__(self, tables: SearchTables) -> None:
        self._tables = tables
        self._space: tuple[str, int] | None = None
        self._bits: dict[int, int] = {}  # by row
        self._newest = 0
        self._removals = 0

    def ranked(self, label: str, vector: bytes, state: State, depth: int) -> list[int]:
        """Return the rows of the `depth` documents whose vectors of this label are nearest to `vector`, nearest first and of
        equals the earlier one; none where no document has the label. They are the nearest of the `candidates` that differ in the
        fewest bits, so one of many may be missed. Within a transaction of the index, whose state it is. Raises SearchFailure:
        "Invalid" when the vectors of the label have another length, "Corrupt" for damaged tables."""
        number = self._number(label, vector)
        if number is None:
            return []
        self._follow(label, number, state)
        rows = self._candidates(_signs(_rotated(vector)), candidates(len(vector) // 4, depth))
        scored: list[tuple[float, int]] = []
        for at in range(0, len(rows), AT_ONCE):
            scored += self._scored(vector, rows[at : at + AT_ONCE])
        return [row for _, row in sorted(scored)[:depth]]

    def _scored(self, vector: bytes, rows: list[int]) -> list[tuple[float, int]]:
        """Return the cosines, negated, and rows."""
        floats = floats_of(vector)
        listed = ", ".join(map(str, rows))  # whole numbers, see `_add`; a statement a row would take twice the time
        found = self._tables.rows(f"SELECT row, vector FROM {{vector}} WHERE row IN ({listed})")
        if len(found) != len(rows) or any(type(each) is not bytes or len(each) != len(vector) for _, each in found):
            raise self._tables.damaged("a vector is missing")
        return [(-sum(map(mul, floats, floats_of(each))), row) for row, each in found]

    def _number(self, label: str, vector: bytes) -> int | None:
        rows = self._tables.rows("SELECT number, length FROM {space} WHERE label = ?", (label.encode("utf-8", "surrogatepass"),))
        if not rows:
            return None
        number, length = rows[0]
        if type(number) is not int or type(length) is not int:
            raise self._tables.damaged(f"the label {label} has no length")
        if length != len(vector) and self._tables.rows("SELECT 1 FROM {bits} WHERE space = ? LIMIT 1", (number,)):
            raise refused(f"the query's vector has {len(vector) // 4} numbers, those of {label} have {length // 4}")
        return number

    def _follow(self, label: str, number: int, state: State) -> None:
        """Take over what was written since the last search. A row's number is never given twice, so new rows are those
        behind the newest one known; the log says which are gone or have another vector, as long as it reaches back."""
        gone: list[tuple[int]] = []
        known = self._space == (label, number) and self._newest <= state.newest
        if known and self._removals != state.removals:
            gone = self._tables.rows("SELECT row FROM {removed} WHERE number > ?", (self._removals,))
            known = len(gone) == state.removals - self._removals
        if not known:
            self._space, self._bits, self._newest, gone = (label, number), {}, 0, []
        found = []
        for (row,) in gone:
            self._bits.pop(row, None)
        if gone:
            again = "SELECT row, bits FROM {bits} WHERE row IN (EACH) AND space = " + str(number)
            found += self._tables.rows_of(again, [row for (row,) in gone])
        if self._newest != state.newest or not known:
            found += self._tables.rows("SELECT row, bits FROM {bits} WHERE space = ? AND row > ?", (number, self._newest))
        if found:
            self._add(found)
        self._newest, self._removals = state.newest, state.removals

    def _add(self, rows: Iterable[tuple[int, bytes]]) -> None:
        from_bytes = int.from_bytes
        for row, bits in rows:
            if type(row) is not int or type(bits) is not bytes:
                raise self._tables.damaged("a vector has no bits")
            self._bits[row] = from_bytes(bits, "big")

    def _candidates(self, query: int, most: int) -> list[int]:
        """Return the rows of the `most` vectors that differ from the query in the fewest bits, of equals the earlier ones."""
        if len(self._bits) <= most:
            return list(self._bits)
        distances = [(query ^ bits).bit_count() for bits in self._bits.values()]
        counts = Counter(distances)
        limit, near_enough = 0, counts[0]
        while near_enough < most:
            limit += 1
            near_enough += counts[limit]
        near = [(distance, row) for row, distance in zip(self._bits, distances, strict=True) if distance <= limit]
        return [row for _, row in sorted(near)[:most]]
