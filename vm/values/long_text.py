"""Work on long Strings in blocks, with a look at the run between two (G-6.3).

Python does each of these operations in one call, which a run cannot interrupt. `split`, `replace`, `strip`, `lstrip`, `rstrip`
and `find` return exactly what Python's own methods return; the others (`pieces`, `blocks`, `mapped`, `at_blanks`) work on a text
piece by piece. Hands them on to built-ins, which call them for Strings that may be long, `strip` and `lstrip` to arithmetic, and
`blocks` to the stores of `interp/`. Positions and sizes are code points. What ends the run (P102 for its time, P103 for its
memory, or what the host has set: `metering.py`) may come out of each. Nothing is charged here: the built-ins charge the run for
their work.
"""

from __future__ import annotations

from .limits import check_items, check_string_size, join, limits, utf8_size
from .metering import BLOCK, look

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def pieces(text: str, separator: str) -> Iterator[list[str]]:
    """Yield the parts between separators, in lists of one or more at a time; between two lists is a separator too. Raises
    ValueError for an empty separator, as Python does."""
    start, size = 0, BLOCK
    while start + size < len(text):
        look()
        parts = text[start : start + size].split(separator)
        rest = parts.pop()  # the separator may go on behind the block
        if not parts:
            size *= 2
            continue
        yield parts
        start, size = start + size - len(rest), BLOCK
    look()
    yield text[start:].split(separator)


def split(text: str, separator: str) -> list[str]:
    """Return what `text.split(separator)` gives. Raises P103 for more parts than an Array may have, ValueError for an empty
    separator."""
    parts: list[str] = []
    for some in pieces(text, separator):
        parts += some
        if len(parts) > limits.items:
            check_items(len(parts))
    return parts


def replace(text: str, old: str, new: str) -> str:
    """Return what `text.replace(old, new)` gives. Raises P103 where the result is too long, before it is made."""
    added = utf8_size(new) - utf8_size(old)
    size = utf8_size(text)
    results: list[str] = []
    if not old:
        check_string_size(size + (len(text) + 1) * added)
        return new + "".join([new.join([*block, ""]) for block in blocks(text)])
    for parts in pieces(text, old):
        results.append(new.join(parts))
        size += (len(parts) - (len(results) == 1)) * added  # between two lists of parts is one separator too
        if added > 0:
            check_string_size(size)
    check_string_size(size)
    return join(new, results)


def blocks(text: str) -> Iterator[str]:
    """Yield the text in blocks of BLOCK characters, the last with what is left, with a look at the run before each."""
    for at in range(0, len(text), BLOCK):
        look()
        yield text[at : at + BLOCK]


def mapped(text: str, work: Callable[[str], str]) -> str:
    """Return `work(text)`, done block by block, for work that treats every character by itself. Raises P103 where the result is
    too long, and what `work` raises."""
    results = []
    size = 0
    for block in blocks(text):
        results.append(work(block))
        size += len(results[-1])
        check_string_size(size)
    return join("", results)


def strip(text: str, characters: str) -> str:
    """Return what `text.strip(characters)` gives."""
    return rstrip(lstrip(text, characters), characters)


def lstrip(text: str, characters: str) -> str:
    """Return what `text.lstrip(characters)` gives."""
    if len(text) <= BLOCK:
        return text.lstrip(characters)
    start = 0
    for block in blocks(text):
        rest = block.lstrip(characters)
        start += len(block) - len(rest)
        if rest:
            break
    return text[start:]


def rstrip(text: str, characters: str) -> str:
    """Return what `text.rstrip(characters)` gives."""
    end = len(text)
    while end > BLOCK:
        look()
        block = text[end - BLOCK : end]
        rest = block.rstrip(characters)
        end -= len(block) - len(rest)
        if rest:
            return text[:end]
    return text[:end].rstrip(characters)


def at_blanks(text: str) -> Iterator[str]:
    """Yield the text in blocks of about BLOCK characters that end behind a blank or line end, larger ones where there is none;
    the last ends with the text."""
    start, size = 0, BLOCK
    while start + size < len(text):
        look()
        end = max(text.rfind(" ", start, start + size), text.rfind("\n", start, start + size)) + 1
        if end <= start:
            size *= 2
            continue
        yield text[start:end]
        start, size = end, BLOCK
    look()
    yield text[start:]


def find(text: str, part: str) -> int:
    """Return what `text.find(part)` gives: the position, from 0, of the first `part`, -1 when there is none."""
    size = max(16 * BLOCK, 4 * len(part))
    for start in range(0, len(text), size):
        look()
        at = text.find(part, start, start + size + len(part) - 1)
        if at >= 0:
            return at
    return -1 if part else 0
