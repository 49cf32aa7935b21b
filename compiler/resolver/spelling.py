"""The nearest known spelling of an unknown name (L-4.1.5).

Hands on `nearest`, `did_you_mean` and `listed`. Must not know: what the names denote.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def distance(a: str, b: str, limit: int) -> int:
    """Damerau-Levenshtein distance (adjacent transpositions count one), or `limit + 1` when it is larger."""
    if abs(len(a) - len(b)) > limit:
        return limit + 1
    before: list[int] = []
    previous = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        row = [i]
        for j, y in enumerate(b, 1):
            cost = min(previous[j] + 1, row[j - 1] + 1, previous[j - 1] + (x != y))
            if i > 1 and j > 1 and x == b[j - 2] and a[i - 2] == y:
                cost = min(cost, before[j - 2] + 1)
            row.append(cost)
        if min(row) > limit:
            return limit + 1
        before, previous = previous, row
    return previous[-1]


def nearest(name: str, candidates: Iterable[str]) -> str | None:
    """The candidate within max(1, length/3) edits, smallest distance first, then alphabetical. Every other one-letter name is
    near a one-letter name, which says nothing."""
    if len(name) < 2:
        return None
    limit = max(1, len(name) // 3)
    ranked = sorted((distance(name, candidate, limit), candidate) for candidate in set(candidates) if candidate != name)
    return ranked[0][1] if ranked and ranked[0][0] <= limit else None


def did_you_mean(name: str, candidates: Iterable[str]) -> str | None:
    """The help text, or None when nothing is near."""
    near = nearest(name, candidates)
    return None if near is None else f"did you mean `{near}`?"


def listed(what: str, names: Sequence[str], limit: int = 8, *, like: str = "") -> str | None:
    """`methods are: …`, the first few, those that are like what was written before the others."""
    ranked = sorted(names, key=lambda name: _unlikeness(like, name))
    shown = ", ".join(f"`{name}`" for name in ranked[:limit])
    return f"{what} are: {shown}{', …' if len(names) > limit else ''}" if names else None


def _unlikeness(name: str, candidate: str) -> int:
    """0 where one begins or ends with the other (`lenght`, `len`), then the edits, up to half of the letters; all others are
    equally unlike."""
    a, b = name.lower(), candidate.lower()
    shorter, longer = sorted((a, b), key=len)
    if len(shorter) > 2 and (longer.startswith(shorter) or longer.endswith(shorter)):
        return 0
    return distance(a, b, len(a) // 2)
