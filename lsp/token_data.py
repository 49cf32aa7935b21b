"""Semantic tokens as the numbers of the protocol, and what changed between two answers.

Hands on `encoded` and `change`. Must not know: where tokens come from.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..compiler.source import Source
from .positions import position_at, units
from .semantic import MODIFIERS, TYPES, Token

_TYPE = {name: number for number, name in enumerate(TYPES)}
_BIT = {name: 1 << number for number, name in enumerate(MODIFIERS)}
FIVE = 5  # numbers of a token: line and character since the one before, length, type, modifiers


def encoded(tokens: Sequence[Token], source: Source, encoding: str) -> list[int]:
    data: list[int] = []
    line = character = 0
    for token in tokens:
        at_line, at = position_at(source, token.start, encoding)
        data += [
            at_line - line, at - character if at_line == line else at, units(source.text[token.start : token.end], encoding),
            _TYPE[token.type], sum(_BIT[name] for name in token.modifiers),
        ]  # fmt: skip
        line, character = at_line, at
    return data


def change(before: list[int], after: list[int]) -> tuple[int, int, list[int]] | None:
    """Where to delete how many numbers, and what to put there; None if nothing changed. Whole tokens, so that what reads it may
    count in them."""
    if before == after:
        return None
    shorter = min(len(before), len(after)) // FIVE * FIVE
    start = 0
    while start < shorter and before[start : start + FIVE] == after[start : start + FIVE]:
        start += FIVE
    end = 0
    while end < shorter - start and before[len(before) - end - FIVE :][:FIVE] == after[len(after) - end - FIVE :][:FIVE]:
        end += FIVE
    return start, len(before) - end - start, after[start : len(after) - end]
