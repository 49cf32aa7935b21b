"""The order of the fields of memory blocks (docs/spec/format.md, 7.3): the one part of a layout that moves tokens.

Hands on `in_order`, which returns the text of a file with the fields of its blocks in the order in which they act, before
anything is printed. Tests call `blocks` and `sort_fields` as well. The order itself is `field_rank` of `vm/memory_steps.py`. A
field takes along the comments before it and those behind it on its line. Where all fields stand in order the text stays as it
is, so that formatting twice changes nothing.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence

from ...vm.memory_steps import field_rank
from ..syntax import ast
from ..syntax.lexer import TokenList


def in_order(text: str, tokens: TokenList, program: ast.Program) -> str:
    """Return the text with the fields of all memory blocks in order. `tokens` and `program` are those of the text, which must
    parse without an error."""
    source = _SourceText(text, tokens)
    pieces, at = [], 0
    for block in blocks(program):
        if sort_fields(block.entries) != block.entries:
            start, end, fields = source.fields_in_order(block)
            pieces += [text[at:start], fields]
            at = end
    return "".join([*pieces, text[at:]])


def sort_fields(entries: Sequence[ast.ConfigEntry]) -> list[ast.ConfigEntry]:
    """Return the fields of a block in the order in which they act; those of one name, and names of no field, which come last,
    stay in the order of the writer."""
    return sorted(entries, key=lambda entry: field_rank(entry.key.text))


def blocks(program: ast.Program) -> Iterator[ast.MemoryBlock]:
    """Yield the memory blocks of a file in the order of the source."""
    return (item for item in ast.items_of(program.items) if isinstance(item, ast.MemoryBlock))


class _SourceText:
    """A file as it is written: which comments and commas belong to a field."""

    def __init__(self, text: str, tokens: TokenList) -> None:
        self.text = text
        self.tokens = tokens
        self.comments = tokens.comments
        self.comment_starts = [comment.span.start for comment in tokens.comments]

    def fields_in_order(self, block: ast.MemoryBlock) -> tuple[int, int, str]:
        """Return the offsets at which the fields of a block begin and end, and their text in order."""
        text, tokens = self.text, self.tokens
        brace = bisect_left(tokens.starts, block.entries[0].span.start) - 1
        start = at = self.end_of_line(tokens.ends[brace])
        parts: dict[ast.ConfigEntry, str] = {}
        for entry in block.entries:
            behind, row = entry.span.end, bisect_left(tokens.starts, entry.span.end)
            is_comma = tokens.types[row] == "COMMA"
            end = self.end_of_line(tokens.ends[row] if is_comma else behind)
            parts[entry] = text[at:behind] + ("" if is_comma else ",") + text[behind:end]
            at = end
        fields, last = [], text[start - 1]
        for part in [*(parts[entry] for entry in sort_fields(block.entries)), ""]:
            # A comment may end a line: what follows it begins a new one.
            begins_line = (part or text[at : block.span.end]).lstrip(" \t").startswith("\n")
            fields.append(part if begins_line or last in (",", "{") else "\n" + part)
            last = part[-1:]
        return start, at, "".join(fields)

    def end_of_line(self, at: int) -> int:
        """Return the offset behind the comments that stand behind `at` and end its line; `at` itself where there are none."""
        end, number = at, bisect_left(self.comment_starts, at)
        while number < len(self.comments) and self.end_of_blanks(end) == self.comment_starts[number]:
            end = self.comments[number].span.end
            number += 1
        return end if self.text[self.end_of_blanks(end)] in "\n}" else at

    def end_of_blanks(self, at: int) -> int:
        """Return the offset of the first character from `at` on that is no blank."""
        while self.text[at : at + 1] in (" ", "\t"):
            at += 1
        return at
