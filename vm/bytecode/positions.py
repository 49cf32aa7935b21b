"""The line table of a function: from a code offset to file, line and column (V-3.3, V122).

A run is `offset delta, line word, [file,] column`, each one LEB128 number; the line word is the zigzag line delta,
doubled, and odd if a file follows, as it does in the first run and wherever the file changes. A run holds up to the
next run's offset. Hands on `encode_lines`, `decode_lines`, `position_at`. Must not know: instructions, source texts.
"""

from __future__ import annotations

from . import leb128

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    Position = tuple[int, int, int]  # file, line, column
    Run = tuple[int, int, int, int]  # offset, file, line, column


def encode_lines(runs: Iterable[Run]) -> bytes:
    """Runs in ascending order of offset; one that repeats its predecessor's position is left out."""
    numbers: list[int] = []
    at, last_file, last_line, last_column = 0, -1, 0, 0
    for offset, file, line, column in runs:
        if column == last_column and line == last_line and file == last_file:
            continue
        if offset < at or (numbers and offset == at):
            raise ValueError(f"line table: offset {offset} after {at}")
        word = leb128.zigzag(line - last_line) * 2
        numbers += (offset - at, word, column) if file == last_file else (offset - at, word + 1, file, column)
        at, last_file, last_line, last_column = offset, file, line, column
    return leb128.write_all(numbers)


def walk_lines(lines: bytes) -> Iterator[Run]:
    """The runs one by one; ValueError for a malformed table, at the run concerned."""
    numbers = leb128.read_all(lines)
    next_, end = 0, len(numbers)
    at = line = 0
    file = -1
    while next_ < end:
        at += numbers[next_]
        word = numbers[next_ + 1] if next_ + 1 < end else 0
        next_ += 2
        if word & 1:
            file = numbers[next_] if next_ < end else -1
            next_ += 1
        line += -((word >> 1) + 1) // 2 if word & 2 else word >> 2
        if file < 0 or line < 0 or next_ >= end:
            raise ValueError("line table: a run is cut off, or without file or line")
        yield at, file, line, numbers[next_]
        next_ += 1


def decode_lines(lines: bytes) -> list[Run]:
    return list(walk_lines(lines))


def position_at(lines: bytes, offset: int) -> Position:
    """(file, line, column) of the instruction at or around `offset`; (0, 0, 0) before the first run."""
    found = (0, 0, 0)
    for at, file, line, column in walk_lines(lines):
        if at > offset:
            break
        found = (file, line, column)
    return found
