"""`std::text` (O-1.242): long texts as passages for embedders, indexes and prompts.

A Passage has its text, the offset where it starts, and the headings above it. Where a text is cut is the matter of `passages.py`.
Hands on its rows only. Lengths and offsets are code points. Bodies panic with P007 for an argument of another type or another
word, with P013 for a size below 1 and for an overlap that is negative or not below the size, and with P103 for more passages than
an Array has, or passages of more code points together than a String may have bytes. What ends the run may come out of them.
"""

from __future__ import annotations

from ..panics import Panic
from ..values.containers import Array
from ..values.limits import check_items, check_string_size
from ..values.metering import LARGE, spend
from ..values.objects import Passage
from ..values.text import brief
from .registry import integer, std, text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


@std(
    "text", 'chunks(text: String, size: Int, overlap: Int = 0, by: "sentence" | "paragraph" | "markdown" = "paragraph") '
    "-> Array<Passage>", clause="O-1.242", linear=True,
)  # fmt: skip
def chunks(source: Any, size: Any, overlap: Any, by: Any) -> Array:
    """The text in passages of at most so many characters, cut at the largest unit that fits; the overlap repeats the last."""
    from .passages import WAYS, cuts

    if integer(size) < 1:
        raise Panic("P013", f"size of a passage must be at least 1, not {size}")
    if not 0 <= integer(overlap) < size:
        raise Panic("P013", f"overlap must be from 0 to less than the size of {size}, not {overlap}")
    if text(by) not in WAYS:
        raise Panic("P007", f'expected "sentence" | "paragraph" | "markdown", found {brief(by)}')
    if len(text(source)) >= LARGE:
        spend(len(source))
    passages: list[Any] = []
    length = 0
    for start, end, headings in cuts(source, size, overlap, by):
        length += end - start
        check_string_size(length)
        passages.append(Passage.of((source[start:end], start, Array(list(headings)))))
        check_items(len(passages))
    if length - len(source) >= LARGE:
        spend(length - len(source))  # what overlaps repeat
    return Array(passages)
