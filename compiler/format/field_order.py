"""The order of the fields of memory blocks (docs/spec/format.md, 7.3): the one part of a layout that moves tokens.

Hands on `in_order`, which returns the text of a file with the fields of its blocks in the order in which they act, before
anything is printed; `blocks` and `ordered` say of which and in which. A field takes along the comments before it and those
behind it on its line. Where all fields stand in order the text stays as it is, so that formatting twice changes nothing.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence

from ...vm.memory_steps import field_rank
from ..syntax import ast
from ..syntax.ast import Comment
from ..syntax.lexer import TokenList


def in_order(text: str, tokens: TokenList, program: ast.Program) -> str:
    """Return the text with the fields of all memory blocks in order. `tokens` and `program` are those of the text."""
    for block in reversed([*blocks(program)]):  # the last one first, so that offsets before it stay right
        ranks = [field_rank(entry.key.text) for entry in block.entries]
        if ranks != sorted(ranks):
            text = _moved(text, tokens, block)
    return text


def ordered(entries: Sequence[ast.ConfigEntry]) -> list[ast.ConfigEntry]:
    """Return the fields of a block in the order in which they act; those of one name stay in the order of the writer."""
    return sorted(entries, key=lambda entry: field_rank(entry.key.text))


def blocks(program: ast.Program) -> Iterator[ast.MemoryBlock]:
    """Yield the memory blocks of a file in the order of the source."""
    pending: list[ast.Node] = [*reversed(program.items)]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.MemoryBlock):
            yield node
        elif isinstance(node, ast.Module):
            pending += reversed(node.items or ())


def _moved(text: str, tokens: TokenList, block: ast.MemoryBlock) -> str:
    """Return the text with the fields of one block in order."""
    comments = [comment for comment in tokens.comments if block.span.start <= comment.span.start < block.span.end]
    brace = bisect_left(tokens.starts, block.entries[0].span.start) - 1
    start = at = _end_of_line(text, tokens.ends[brace], comments)
    parts: dict[ast.ConfigEntry, str] = {}
    for entry in block.entries:
        behind, row = entry.span.end, bisect_left(tokens.starts, entry.span.end)
        is_comma = tokens.types[row] == "COMMA"
        end = _end_of_line(text, tokens.ends[row] if is_comma else behind, comments)
        parts[entry] = text[at:behind] + ("" if is_comma else ",") + text[behind:end]
        at = end
    moved = text[:start]
    for part in [*(parts[entry] for entry in ordered(block.entries)), text[at:]]:
        # A comment may end a line: what follows it begins a new one.
        begins_line = part.lstrip(" \t").startswith("\n")
        moved += part if begins_line or moved.endswith((",", "{")) else "\n" + part
    return moved


def _end_of_line(text: str, at: int, comments: Sequence[Comment]) -> int:
    """Return the offset behind the comments that stand behind `at` and end its line; `at` itself where there are none."""
    end = at
    for comment in comments:
        if comment.span.start >= end and not text[end : comment.span.start].strip(" \t"):
            end = comment.span.end
    return end if text[end:].lstrip(" \t").startswith(("\n", "}")) else at
