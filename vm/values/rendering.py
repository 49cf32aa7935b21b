"""The engine that writes a value as text: one walk with an explicit stack for Display, debug form and JSON (G-6.1).

Hands on `render`. A form is a table from class to a function that gives text for a leaf, or the pieces of a whole:
text as it stands and inner wholes still to be walked. The walk needs no Python recursion and stops at the limits.
"""

from __future__ import annotations

from .limits import check_string_size, limits, nesting_too_deep, string_too_long, utf8_size
from .metering import STRIDE, look
from .records import Struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

    Form = dict[type, Callable[[Any], Any]]


class Whole:
    """An inner value whose pieces come later."""

    __slots__ = ("pieces",)

    def __init__(self, pieces: Iterable[Any]) -> None:
        self.pieces = pieces


def write(value: Any, form: Form) -> Any:
    """Text when `value` is a leaf of `form`, else a `Whole`."""
    writer = form.get(type(value))
    if writer is None:
        # Generated struct classes are not in the table; every other class that may appear falls under `object`.
        writer = form[Struct if isinstance(value, Struct) else object]
    written = writer(value)
    return written if type(written) is str else Whole(written)


def listed(values: Iterable[Any], form: Form, separator: str = ", ") -> Iterator[Any]:
    """The pieces of `values` with `separator` between them."""
    first = True
    for value in values:
        if not first:
            yield separator
        first = False
        yield write(value, form)


def render(value: Any, form: Form) -> str:
    """`value` in `form`; P103 beyond the limits on String size and nesting."""
    first = write(value, form)
    if type(first) is str:
        check_string_size(utf8_size(first))
        return first
    text = "".join(_walk(first))
    look()
    if len(text) * 4 > limits.surely:
        check_string_size(utf8_size(text))
    return text


def fits(value: Any, form: Form, most: int) -> bool:
    """Whether `value` in `form` has at most so many bytes; no more than that is written."""
    first = write(value, form)
    if type(first) is str:
        return utf8_size(first) <= most
    size = 0
    for piece in _walk(first):
        size += utf8_size(piece)
        if size > most:
            return False
    return True


def _walk(first: Whole) -> Iterator[str]:
    """Every piece in order; a code point takes at least one byte, so counting them stops an oversized text early."""
    size = pace = 0
    stack = [iter(first.pieces)]
    while stack:
        pace += 1
        if pace == STRIDE:
            pace = 0
            look()
        piece = next(stack[-1], None)
        if piece is None:
            stack.pop()
        elif type(piece) is str:
            size += len(piece)
            if size > limits.surely and size > limits.string:
                string_too_long()
            yield piece
        else:
            if len(stack) >= limits.nesting:
                nesting_too_deep()
            stack.append(iter(piece.pieces))


def render_brief(value: Any, form: Form, cut: int = 200) -> str:
    """`value` in `form` cut to `cut` code points, for messages: it never panics and never costs much."""
    first = write(value, form)
    if type(first) is str:
        return first if len(first) <= cut else first[:cut] + "…"
    parts: list[str] = []
    stack = [iter(first.pieces)]
    while stack and sum(map(len, parts)) <= cut:
        piece = next(stack[-1], None)
        if piece is None:
            stack.pop()
        elif type(piece) is str:
            parts.append(piece)
        else:
            stack.append(iter(piece.pieces))
    text = "".join(parts)
    return text if len(text) <= cut else text[:cut] + "…"
