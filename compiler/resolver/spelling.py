"""The nearest known spelling of an unknown name (L-4.1.5).

Hands on `nearest`, `did_you_mean` and `listed`. Must not know: what the names denote.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar


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


LONGEST = 100  # letters of a name that is compared with others
PATIENCE = 1_000_000  # letters that are compared for one program, and candidates looked at


# What is left of that; a hundred errors are shown (L-4.1.4), so tens of thousands need no help each.
_patience: ContextVar[list[int] | None] = ContextVar("patience", default=None)


@contextmanager
def limited_patience() -> Iterator[None]:
    """Inside, names are compared until PATIENCE is used up; later unknown names get no suggestion (G-5.11)."""
    token = _patience.set([PATIENCE])
    try:
        yield
    finally:
        _patience.reset(token)


def patient() -> bool:
    """Whether names are still compared."""
    left = _patience.get()
    return left is None or left[0] > 0


def nearest(name: str, candidates: Iterable[str]) -> str | None:
    """The candidate within max(1, length/3) edits, smallest distance first, then alphabetical. Every other one-letter name is
    near a one-letter name, which says nothing."""
    if not 2 <= len(name) <= LONGEST or not patient():
        return None
    limit = max(1, len(name) // 3)
    known = set(candidates)
    _spend(len(known))
    ranked: list[tuple[int, str]] = []
    for candidate in known:
        if candidate != name and abs(len(candidate) - len(name)) <= limit:
            edits = distance(name, candidate, limit)
            _spend(len(candidate) * min(len(name), 2 * limit + 2))
            if edits <= limit:
                ranked.append((edits, candidate))
    return min(ranked)[1] if ranked else None


def _spend(letters: int) -> None:
    left = _patience.get()
    if left is not None:
        left[0] -= letters


def did_you_mean(name: str, candidates: Iterable[str]) -> str | None:
    """The help text, or None when nothing is near."""
    near = nearest(name, candidates)
    return None if near is None else f"did you mean `{near}`?"


def listed(what: str, names: Sequence[str], limit: int = 8, *, like: str = "") -> str | None:
    """`methods are: …`, the first few, those that are like what was written before the others."""
    ranked = sorted(names, key=lambda name: _unlikeness(like, name)) if len(like) <= LONGEST and patient() else names
    shown = ", ".join(f"`{name}`" for name in ranked[:limit])
    return f"{what} are: {shown}{', …' if len(names) > limit else ''}" if names else None


def _unlikeness(name: str, candidate: str) -> int:
    """0 where one begins or ends with the other (`lenght`, `len`), then the edits, up to half of the letters; all others are
    equally unlike."""
    a, b = name.lower(), candidate.lower()
    _spend(1 + len(a) * min(len(b), LONGEST))
    if len(b) > LONGEST:
        return len(a)
    shorter, longer = sorted((a, b), key=len)
    if len(shorter) > 2 and (longer.startswith(shorter) or longer.endswith(shorter)):
        return 0
    return distance(a, b, len(a) // 2)
