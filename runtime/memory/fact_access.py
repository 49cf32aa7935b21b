"""Which facts a model or agent may read and write: the steps `allow` with `facts` (M-10.35).

What no rule covers is open to whoever attaches the memory. The program itself is bound by none. Must not know: how a fact is
shown, who attaches a memory.
"""

from __future__ import annotations

from .facts import TIERS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    Pattern = tuple[str, str]
    """A tier, or "" for every tier; a name, or with `*` at its end what names begin with."""


class FactAccess:
    """`rules` in the form of an image: patterns, readers, writers. A fact that several rules cover is open to those whom each of
    them names. `renamed`: the names of slots before, which stand for the same fact as those of now (M-8.24)."""

    __slots__ = ("rules", "_same")

    def __init__(self, rules: Sequence[Any], renamed: Mapping[tuple[str, str], str] | None = None) -> None:
        pairs = [(tier, name, before) for (tier, name), before in (renamed or {}).items()]
        self._same = {(tier, name): before for tier, name, before in pairs}
        self._same |= {(tier, before): name for tier, name, before in pairs}
        self.rules = [
            ([(tier, name) for tier, name in patterns], frozenset(readers) | frozenset(writers), frozenset(writers))
            for patterns, readers, writers in rules
        ]

    def reads(self, by: str, tier: str, name: str) -> bool:
        """Who writes a fact may read it."""
        return all(by in readers for patterns, readers, _ in self.rules if self._covers(patterns, tier, name))

    def writes(self, by: str, tier: str, name: str) -> bool:
        return all(by in writers for patterns, _, writers in self.rules if self._covers(patterns, tier, name))

    def writes_in_some_tier(self, by: str, name: str) -> bool:
        return any(self.writes(by, tier, name) for tier in TIERS)

    def _covers(self, patterns: Sequence[Pattern], tier: str, name: str) -> bool:
        names = (name, self._same.get((tier, name), name))
        return any(pattern[0] in ("", tier) and any(_is_named(pattern[1], one) for one in names) for pattern in patterns)


def _is_named(pattern: str, name: str) -> bool:
    return name.startswith(pattern[:-1]) if pattern.endswith("*") else name == pattern
